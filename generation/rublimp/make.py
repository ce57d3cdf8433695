"""The maker of Russian pairs from treebanks and plain text by the rules of RuBLiMP.

Source: Taktasheva and others 2024, RuBLiMP: Russian Benchmark of Linguistic Minimal Pairs.
"""

import random
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, PositiveInt
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, unknown_name
from ucurve.fields import STRICT, as_tuple
from ucurve.generation.maker import Listed, Made
from ucurve.generation.order import stratified
from ucurve.generation.rublimp.resources import Resources, read_resources
from ucurve.generation.rublimp.rule import Rule
from ucurve.generation.rublimp.rules import (
    anaphors,
    argument_structure,
    aspect,
    government,
    inflection,
    negation,
    noun_phrases,
    predicates,
    quantifiers,
    reflexives,
    tense,
    word_formation,
)
from ucurve.generation.rublimp.text import read_text
from ucurve.generation.treebank import find_treebanks, read_treebank
from ucurve.templates.pair import Pair

PAIRS: Final = 1000  # the published files have as many of a paradigm
SHORTEST, LONGEST = 6, 50  # tokens of a sentence, appendix A of the paper
# The rules of all 45 paradigms, in the order of the paper's tables.
_MODULES: Final = (
    word_formation, inflection, government, predicates, anaphors, noun_phrases, quantifiers, reflexives, negation,
    argument_structure, aspect, tense,
)  # fmt: skip
RULES: Final = tuple(rule for module in _MODULES for rule in module.RULES)

_CARD: Final[dict[str, object]] = {
    "language": "rus",
    "citation": "rules after Taktasheva et al. 2024, RuBLiMP: Russian Benchmark of Linguistic Minimal Pairs",
    "quirks": [
        "Word lists that were never published are small lists of the project's own.",
        "No person has judged these pairs.",
    ],
}


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """What pairs are made from; conf/source/rublimp.yaml describes every key."""

    treebanks: Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
    texts: Annotated[tuple[Path, ...], BeforeValidator(as_tuple)]
    resources: Path | None
    paradigms: Annotated[tuple[str, ...] | None, BeforeValidator(as_tuple)]
    words_per_place: PositiveInt  # of a sentence at most so many pairs are kept, too
    license: str


def make(settings: Settings, seed: int) -> Made:
    """Parse all sentences once and apply all rules to each."""
    rules = _rules(settings.paradigms)
    if not settings.treebanks and not settings.texts:
        raise UserError("no sentences to make pairs from: give 'treebanks=[FILE,...]' or 'texts=[FILE,...]'")
    few, treebanks = settings.words_per_place, find_treebanks(settings.treebanks)
    given = settings.resources
    resources = Resources(words_per_place=few) if given is None else read_resources(given, few)
    candidates: dict[str, list[Pair]] = {rule.paradigm: [] for rule in rules}
    dropped: dict[str, Counter[str]] = {rule.paradigm: Counter() for rule in rules}
    sentences = chain(*map(read_treebank, treebanks), *map(read_text, settings.texts))
    for sentence in (one for one in sentences if SHORTEST <= len(one.words) <= LONGEST):
        for rule in rules:
            made = list(rule.find(sentence, resources))
            pairs = [found for found in made if isinstance(found, Pair)]
            # by chance, as only one pair of a sentence can be written in the end
            rng = random.Random(f"{rule.paradigm}:{sentence.id}:{seed}")  # noqa: S311 - no secret
            kept = pairs if len(pairs) <= few else rng.sample(pairs, few)
            candidates[rule.paradigm] += kept
            dropped[rule.paradigm].update(found for found in made if isinstance(found, str))
            dropped[rule.paradigm]["more of the same sentence"] += len(pairs) - len(kept)
    paradigms = [
        Listed(
            name=rule.paradigm,
            phenomenon=rule.phenomenon,
            note=_lacks(rule, resources),
            candidates=candidates[rule.paradigm],
            dropped=+dropped[rule.paradigm],  # the plus leaves out reasons that never came
            order=stratified(("domain", "length_group", "subtype")),
        )
        for rule in rules
    ]
    return Made(
        paradigms=paradigms,
        card={**_CARD, "license": settings.license},
        inputs=[*treebanks, *settings.texts, *(sorted(given.glob("*.gz")) if given is not None else [])],
        libraries=(
            "pymorphy3",
            "pymorphy3-dicts-ru",
            *(("slovnet", "razdel", "navec") if settings.texts else ()),
        ),
        default_pairs=PAIRS,
    )


def _lacks(rule: Rule, resources: Resources) -> str:
    """Return what a rule needs and was not given."""
    needed = {
        "Aspect": ("aspect pairs", resources.aspect_pairs),
        "add_new_suffix": ("suffixes of roots", resources.suffixes),
        "change_verb_prefixes_order": ("prefixes of roots", resources.prefixes),
    }
    what, there = needed.get(rule.phenomenon) or needed.get(rule.paradigm) or ("", {})
    return f"needs the published {what}: resources=DIR" if what and not there else ""


def _rules(names: tuple[str, ...] | None) -> list[Rule]:
    known = [rule.paradigm for rule in RULES]
    for name in names or ():
        if name not in known:
            raise unknown_name("paradigm", name, known)
    return [rule for rule in RULES if names is None or rule.paradigm in names]
