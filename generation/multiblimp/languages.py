"""What the makers of MultiBLiMP set for single languages: languages.yaml."""

import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.treebank import Sentence
from ucurve.yaml_files import read_yaml


@dataclass(frozen=True, config=STRICT, kw_only=True)
class LanguageSettings:
    """What is set for a language; languages.yaml describes it."""

    left_out: tuple[str, ...] = ()
    marks: Literal["keep", "remove"] = "keep"
    verb: dict[str, dict[str, str]] = Field(default_factory=dict)
    no_agreement_after: tuple[str, ...] = ()
    subject: dict[str, str] = Field(default_factory=dict)
    no_agreement_with: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    comitative: tuple[str, ...] = ()
    saying: tuple[str, ...] = ()


@cache
def language_settings(language: str) -> LanguageSettings:
    """Return what is set for a language, the defaults where nothing is."""
    languages = read_yaml(Path(__file__).parent / "languages.yaml", dict[str, LanguageSettings])
    return languages.get(language, LanguageSettings())


def prepared(sentence: Sentence, language: LanguageSettings) -> Sentence:
    """Return a sentence without the diacritics that its language is read without."""
    if language.marks == "keep":
        return sentence
    parts = [(without_marks(sentence.text[: word.start]), word) for word in sentence.words]
    words = [
        replace(word, form=without_marks(word.form), lemma=without_marks(word.lemma), start=len(before),
                end=len(before) + len(without_marks(word.form)))
        if word.start is not None else word
        for before, word in parts
    ]  # fmt: skip
    return replace(sentence, text=without_marks(sentence.text), words=tuple(words))


def without_marks(text: str) -> str:
    """Remove combining marks, such as accents and vowel points."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if not unicodedata.combining(sign)))
