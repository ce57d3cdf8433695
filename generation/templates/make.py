"""The source ``templates``: templates, a vocabulary and phrases in the language of the ZhoBLiMP platform."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.maker import Drawn, Made
from ucurve.templates.engine import draw_pair
from ucurve.templates.grammar import Grammar, TiedTemplate, draws_words
from ucurve.templates.template import all_or_error, read_phrases, read_templates
from ucurve.templates.vocabulary import LEMMA, Vocabulary, read_vocabulary


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """What pairs are made from; conf/source/templates.yaml describes every key."""

    templates: Path
    vocabulary: Path
    phrases: Path
    language: str


def make(settings: Settings, seed: int) -> Made:
    """Tie templates to vocabulary and phrases.

    Where several templates have one uid, the last in the order of file names makes the pairs; notes name the others.

    Raises:
        UserError: naming everything in the templates that does not fit vocabulary and phrases.
    """
    del seed  # all that is random is drawn by the paradigms
    vocabulary, phrases = read_vocabulary(settings.vocabulary), read_phrases(settings.phrases)
    grammar = Grammar(vocabulary, phrases, str(settings.phrases))
    tied = all_or_error(read_templates(settings.templates), grammar.tie)
    used = {one.template.uid: one for one in tied}
    notes = [
        f"{Path(one.template.file).name}: not used: {Path(used[one.template.uid].template.file).name} has the same uid"
        for one in tied
        if used[one.template.uid] is not one
    ]
    taken = [one for one in tied if used[one.template.uid] is one]
    return Made(
        paradigms=[
            Drawn(name=one.template.uid, phenomenon=one.template.phenomenon, draw=partial(draw_pair, one))
            for one in taken
        ],
        card={"language": settings.language},
        lemmas=vocabulary.lemmas(),
        inputs=[settings.vocabulary, settings.phrases, *(Path(one.template.file) for one in tied)],
        default_pairs=300,  # ZhoBLiMP has as many of a paradigm
        notes=[*notes, *describe_free_words(taken, vocabulary)],
    )


def describe_free_words(templates: Sequence[TiedTemplate], vocabulary: Vocabulary) -> list[str]:
    """Say of templates with spaces between words where the bad sentence may have another word, and not another form.

    Nothing is said where the vocabulary has lemmas, by which the pairs themselves can be looked at.
    """
    named = [one.template.uid for one in templates if one.template.separator and draws_words(one)]
    if vocabulary.lemmas() is not None or not named:
        return []
    return [
        f"{', '.join(named)}: a word of the bad sentence is drawn anew and need not be a form of the good sentence's "
        f"word. With a column {LEMMA!r} in the vocabulary, keep:{LEMMA} change:PROPERTY in that slot makes it one"
    ]
