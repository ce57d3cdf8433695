"""A perfective verb where only an imperfective one can stand (paradigms 40 to 42)."""

from functools import partial
from itertools import pairwise
from typing import Final, Literal

from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import analyses
from ucurve.generation.rublimp.grammar.verbs import form_like, lexeme_of, verb_parses
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_word, rules
from ucurve.generation.treebank import Sentence, Word

NO_PARTNER: Final = "the verb has no perfective partner in the list"
NO_FORM: Final = "the partner has no such form"
NOT: Final = "не"  # this is the negative particle


def _perfective(sentence: Sentence, resources: Resources, verb: Word, subtype: str) -> Found:
    """Yield the sentence with the perfective partner of an imperfective verb, in the same form."""
    parses = verb_parses(verb, "impf")
    if not parses:
        return
    pairs = resources.aspect_pairs
    parse = next((parse for parse in parses if parse.normal_form in pairs), None)
    if parse is None:
        yield NO_PARTNER
        return
    lexeme = lexeme_of(pairs[parse.normal_form], "perf")
    form = None if lexeme is None else form_like(parse, lexeme)
    if form is None or form == verb.form.lower():
        yield NO_FORM
        return
    yield replace_word(sentence, verb, form, "Aspect", ("Imp", "Perf"), subtype)


def _verb_of(sentence: Sentence, cue: Word) -> Word | None:
    """Return the verb that a cue belongs to: its head, or the head of that where it is no verb."""
    word = sentence.head_of(cue)
    for _ in range(2):
        if word is None or word.upos == "VERB":
            return word
        word = sentence.head_of(word)
    return word if word is not None and word.upos == "VERB" else None


def _cued(sentence: Sentence, resources: Resources, kind: Literal["duration", "repetition"]) -> Found:
    """Yield the sentence with a perfective past; the future may be a plan, and after "budu" no perfective is good."""
    lists = read_list("aspect")
    done: set[int] = set()
    for cue in sentence.words:
        before = sentence.words[cue.id - 2] if kind == "repetition" and cue.id > 1 else None
        is_period = (  # a noun of time after "every"
            before is not None
            and any(parse.normal_form == lists["every"] for parse in analyses(before.form))
            and any(parse.normal_form in lists["periods"] for parse in analyses(cue.form))
        )
        if cue.form.lower() in lists[kind] or is_period:
            verb = _verb_of(sentence, cue)
            # The aspect is changed in the past alone, as in 97 % of the published pairs.
            if verb is not None and verb.id not in done and verb_parses(verb, "past"):
                done.add(verb.id)
                yield from _perfective(sentence, resources, verb, f"change_{kind}_aspect")


def _deontic(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with a perfective infinitive after a negated word for what is needed or allowed."""
    words = read_list("aspect")["deontic"]
    for cue in (word for particle, word in pairwise(sentence.words) if particle.form.lower() == NOT):
        readings = [parse.tag for parse in analyses(cue.form) if parse.normal_form in words]
        # Only impersonal uses count: a predicative, or a verb in the third person or the neuter.
        is_deontic = any(
            tag.POS == "PRED" or tag.person == "3per" or "neut" in tag or "Impe" in tag for tag in readings
        )
        if not is_deontic:
            continue
        # Some parsers let the infinitive depend on the cue, others the cue on the infinitive.
        family = [*sentence.children[cue.id]] + ([sentence.words[cue.head - 1]] if cue.head else [])
        for verb in family:
            if verb.feats.get("VerbForm") == "Inf":
                yield from _perfective(sentence, resources, verb, "deontic_imp")


RULES: Final = rules(
    "Aspect",
    change_duration_aspect=partial(_cued, kind="duration"),
    change_repetition_aspect=partial(_cued, kind="repetition"),
    deontic_imperative_aspect=_deontic,
)
