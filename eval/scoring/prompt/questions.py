"""The two questions put to chat models, in the languages of our benchmarks, and how a letter is read from an answer.

Swe-BLiMP (section 5) asks for "the grammatically correct" sentence and for the one that is "most natural in everyday
usage", in Swedish, and wants a single letter; it does not print its prompts. The wording here is ours.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from ucurve.errors import UserError, unknown_name

Letter = Literal["A", "B"]
Question = Literal["grammaticality", "acceptability"]
QUESTIONS: tuple[Question, ...] = ("grammaticality", "acceptability")
FALLBACK = "eng"
EXCLUDED_ABOVE = 10  # percent of invalid answers
_SLOT = re.compile(r"\{([ab])\}")
_LIKE_LATIN = str.maketrans("АВав", "ABab")  # Cyrillic letters that look the same


@dataclass(frozen=True)
class PromptWording:
    """One language's words."""

    opening: str  # says that two sentences follow
    grammaticality: str  # asks which one is grammatically correct
    acceptability: str  # asks which one is most natural in everyday use
    letter: str  # asks for a single letter
    answer: tuple[str, ...]  # what an answer may be announced with, before a colon


_FILE = Path(__file__).with_name("wordings.yaml")
WORDINGS = {
    language: PromptWording(**{**words, "answer": tuple(words["answer"])})
    for language, words in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}


@dataclass(frozen=True)
class PromptQuestions:
    """Both questions as they are put."""

    language: str  # ISO 639-3 code of the language that was asked for
    source: str  # the language whose text is used, or `own` for a user's text
    texts: Mapping[Question, str]  # with `{a}` and `{b}` where the sentences go
    answer: tuple[str, ...]  # what an answer may be announced with, before a colon

    def ask(self, question: Question, first: str, second: str) -> str:
        """Put two sentences into a question; braces within a sentence stay as they are."""
        sentences = {"a": first, "b": second}
        return _SLOT.sub(lambda slot: sentences[slot[1]], self.texts[question])


def questions_for(language: str, own: Mapping[str, str] | None = None) -> PromptQuestions:
    """Return the questions for a language, in English if it has none here, or a user's ``own`` texts by their names."""
    source = language if language in WORDINGS else FALLBACK
    words = WORDINGS[source]
    answer = tuple(dict.fromkeys((*words.answer, *WORDINGS[FALLBACK].answer)))
    if own is not None:
        for name in own:
            if name not in QUESTIONS:
                raise unknown_name("question", name, QUESTIONS, "the texts of the scorer 'prompt'")
        for name in QUESTIONS:
            if name not in own:
                raise UserError(f"the texts of the scorer 'prompt' have no {name!r}; both questions are needed")
            if sorted(_SLOT.findall(own[name])) != ["a", "b"]:
                raise UserError(
                    f"the text of {name!r} must hold {{a}} and {{b}}, once each, not as in {own[name]!r}"
                )
        return PromptQuestions(language, "own", {question: own[question] for question in QUESTIONS}, answer)
    begin = f"{words.opening}\n\nA: {{a}}\nB: {{b}}\n\n"
    texts = {question: f"{begin}{getattr(words, question)} {words.letter}" for question in QUESTIONS}
    return PromptQuestions(language, source, texts, answer)


def read_letter(answer: str, announced: tuple[str, ...]) -> Letter | None:
    """Read the one letter a model answered with; None for an invalid answer.

    The rule: signs and white space may precede the letter, and so may a word that announces it with a colon, any number
    of times. The letter is A or B, small or capital, full-width or a Cyrillic one of the same shape. The end, a sign or
    a new line comes after it, no word; and not, signs apart, the other letter read in the same way ("A/B").
    """
    text = unicodedata.normalize("NFKC", answer)
    words = "|".join(re.escape(unicodedata.normalize("NFKC", word)) for word in announced)
    rest = re.sub(rf"^[\W_]*(?:(?:{words})\s*:[\W_]*)*", "", text, flags=re.IGNORECASE).translate(_LIKE_LATIN)
    found = _alone("AB", rest)
    if found is None or _alone("BA"[found == "B"], re.sub(r"^[\W_]*", "", rest[1:])) is not None:
        return None
    return found


def _alone(letters: str, text: str) -> Letter | None:
    """Return the letter a text begins with, if what follows on the line is not a word."""
    match = re.match(rf"([{letters}])(?=[^\S\n]*(?:$|\n|[^\w\s]|_))", text, flags=re.IGNORECASE)
    if match is None:
        return None
    return "A" if match[1].upper() == "A" else "B"
