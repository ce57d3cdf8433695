"""What the makers of MultiBLiMP set for single languages: languages.yaml."""

import re
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

    left_out: tuple[str, ...] = ()  # the names of these treebanks begin so
    marks: Literal["keep", "remove"] = "keep"  # these are diacritics and other combining marks
    # A finite verb must have these features, by the feature that is looked at.
    verb: dict[str, dict[str, str]] = Field(default_factory=dict)
    no_agreement_after: tuple[str, ...] = ()  # after these auxiliaries a participle does not agree
    subject: dict[str, str] = Field(default_factory=dict)  # a subject must have these features
    no_agreement_with: tuple[str, ...] = ()  # dependents with these relations take agreement away
    one: tuple[str, ...] = ()  # lemmas of such dependents that do not count
    quantities: tuple[str, ...] = ()  # the verb may agree with what these nouns count
    comitative: tuple[str, ...] = ()  # these adpositions join a second subject
    saying: tuple[str, ...] = ()  # these are verbs of saying
    # UniMorph's forms have these further features, by those that it gives them.
    also: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    treebank_script: Literal["", "Translit", "san"] = ""
    unimorph_script: Literal["", "uig", "tat"] = ""


@cache
def language_settings(language: str) -> LanguageSettings:
    """Return what is set for a language, the defaults where nothing is."""
    languages = read_yaml(Path(__file__).parent / "languages.yaml", dict[str, LanguageSettings])
    return languages.get(language, LanguageSettings())


def prepared(sentence: Sentence, language: LanguageSettings) -> Sentence:
    """Return a sentence without the diacritics that its language is read without, and in its script."""
    if language.marks == "keep" and not language.treebank_script:
        return sentence
    text, words, at = "", [], 0
    for word in sentence.words:
        if word.start is not None and word.end is not None:
            text += _respelled(sentence.text[at : word.start], language)
            form, at = _respelled(word.form, language, word.misc.get("Translit")), word.end
            lemma = _respelled(word.lemma, language, word.misc.get("LTranslit"))
            words.append(replace(word, form=form, lemma=lemma, start=len(text), end=len(text) + len(form)))
            text += form
        else:
            words.append(word)
    return replace(sentence, text=text + _respelled(sentence.text[at:], language), words=tuple(words))


def _respelled(text: str, language: LanguageSettings, transliterated: str | None = None) -> str:
    if language.treebank_script == "Translit":
        return transliterated or text
    return without_marks(text) if language.marks == "remove" else in_script(text, language.treebank_script)


def in_script(text: str, script: str) -> str:
    """Write a text in the script that scripts.yaml has for a language; an empty name leaves it as it is."""
    for table, pattern in _tables(script) if script else ():
        text = "".join(table.get(part, part) for part in pattern.split(text.lower()))
    return text


@cache
def _tables(script: str) -> list[tuple[dict[str, str], re.Pattern[str]]]:
    """Return the steps of a transliteration: the signs that are written otherwise, and a pattern that finds them."""
    tables = read_yaml(Path(__file__).parent / "scripts.yaml", dict[str, list[dict[str, str]]])[script]
    return [
        # Longer signs come first, because a pattern takes the first alternative that fits.
        (table, re.compile(f"({'|'.join(map(re.escape, sorted(table, key=len, reverse=True)))})"))
        for table in tables
    ]


def without_marks(text: str) -> str:
    """Remove combining marks, such as accents and vowel points."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if not unicodedata.combining(sign)))
