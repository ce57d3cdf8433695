"""Rules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from eval.generation.candidate import Candidate
from eval.generation.rublimp.morphology import Morphology
from eval.generation.rublimp.resources import Resources
from eval.generation.treebank import Sentence


@dataclass(frozen=True)
class Tools:
    morphology: Morphology
    resources: Resources


@dataclass(frozen=True)
class Rule:
    paradigm: str
    phenomenon: str
    level: str
    find: Callable[[Sentence, Tools], Iterator[Candidate | str]]


def change(sentence: Sentence, forms: Mapping[int, str], *, source_word: str, target_word: str, feature: str, source_value: str, target_value: str, subtype: str) -> Candidate | str:
    return Candidate(sentence.text, sentence.replaced(forms), {"source_word": source_word, "target_word": target_word, "feature": feature, "source_value": source_value, "target_value": target_value, "subtype": subtype, "domain": sentence.source, "sentence_id": sentence.id, "length": len(sentence.words)})
