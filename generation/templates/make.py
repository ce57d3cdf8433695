"""The source ``templates``: templates, a vocabulary and phrases in the language of the ZhoBLiMP platform."""

import random
from functools import partial
from pathlib import Path

from pydantic.dataclasses import dataclass

from eval.templates.engine import DrawFailed, draw_pair
from eval.templates.grammar import Grammar, Paradigm
from eval.templates.template import all_or_error, read_phrases, read_templates
from eval.templates.vocabulary import read_vocabulary
from generation.candidate import Candidate, Rejected
from generation.maker import Drawn, Made
from ucurve.fields import STRICT

_DEFAULT_PAIRS = 300


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """What pairs are made from.

    Attributes:
        templates: a folder of ``*.json`` templates.
        vocabulary: words with properties.
        phrases: the JSON file of phrases.
        language: of the sentences, as its ISO 639-3 code.
    """

    templates: Path
    vocabulary: Path
    phrases: Path
    language: str = "zho"


def make(settings: Settings, seed: int) -> Made:
    """Tie templates to vocabulary and phrases.

    Where several templates have one uid, the last in the order of file names makes the pairs; notes name the others.

    Raises:
        UserError: a file is missing or broken, or templates do not fit vocabulary or phrases, all in one message.
    """
    del seed  # all that is random is drawn by the paradigms
    vocabulary, phrases = read_vocabulary(settings.vocabulary), read_phrases(settings.phrases)
    grammar = Grammar(vocabulary, phrases, str(settings.phrases))
    paradigms = all_or_error(read_templates(settings.templates), grammar.tie)
    used = {paradigm.template.uid: paradigm for paradigm in paradigms}
    notes = [
        f"{Path(paradigm.template.file).name}: not used: "
        f"{Path(used[paradigm.template.uid].template.file).name} has the same uid"
        for paradigm in paradigms
        if used[paradigm.template.uid] is not paradigm
    ]
    files = [Path(paradigm.template.file) for paradigm in paradigms]
    return Made(
        paradigms=[
            Drawn(
                name=paradigm.template.uid,
                phenomenon=paradigm.template.phenomenon,
                draw=partial(_draw, paradigm),
            )
            for paradigm in paradigms
            if used[paradigm.template.uid] is paradigm
        ],
        card={"language": settings.language},
        inputs=[settings.vocabulary, settings.phrases, *files],
        default_pairs=_DEFAULT_PAIRS,
        notes=notes,
    )


def _draw(paradigm: Paradigm, rng: random.Random) -> Candidate:
    try:
        pair = draw_pair(paradigm, rng)
    except DrawFailed as failure:
        raise Rejected(failure.reason.value) from failure
    return Candidate(pair.good, pair.bad)
