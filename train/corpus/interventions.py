"""Interventions: named steps that change the documents of a corpus before they are tokenized, and what each changed."""

import functools
import hashlib
import io
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT, Seed, Texts
from ucurve.storage.facts import InterventionFacts, TextSize
from ucurve.storage.files import read_utf8
from ucurve.training.corpus.files import hash_file
from ucurve.training.corpus.readers import Continuation, cut_document

_SHA256 = re.compile(r"[0-9a-f]{64}")
# A word may have apostrophes and hyphens inside.
_PIECES = {"word": re.compile(r"\w+(?:['’-]\w+)*"), "character": re.compile(r"\w")}
_UNITS = {
    "drop": ("document", "sentence"),
    "keep": ("document", "sentence"),
    "repeat": ("document", "sentence"),
    "shuffle": ("sentence", "word", "character"),
}

Dropped = Callable[[str, int, str], None]  # name of the step, number of the document, and the text that went


@dataclass(frozen=True, config=STRICT)
class Intervention:
    """One step; docs/corpora.md describes every key."""

    name: Annotated[str, Field(pattern=r"^\w+$")]  # in the names of runs
    do: Literal["drop", "keep", "repeat", "shuffle"]
    unit: Literal["document", "sentence", "word", "character"]
    pattern: str | None = None
    contains: Texts | None = None
    file: str | None = None
    times: Annotated[int, Field(ge=2)] | None = None
    seed: Seed | None = None

    @field_validator("pattern")
    @classmethod
    def _pattern_is_one(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        # Python raises the latter two for a huge repetition and for brackets nested very deep.
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"'{pattern}' is not a regular expression of Python ({error})") from error
        return pattern

    @field_validator("contains")
    @classmethod
    def _texts_have_characters(cls, texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if texts is not None and not (texts and all(texts)):
            raise ValueError("an empty text is in everything; a text or a list of texts is expected")
        return texts

    @model_validator(mode="after")
    def _keys_fit(self) -> "Intervention":
        if self.unit not in _UNITS[self.do]:
            raise ValueError(f"unit={self.unit} is not for do={self.do}; allowed: {', '.join(_UNITS[self.do])}")
        chosen = [key for key in ("pattern", "contains", "file") if getattr(self, key) is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are given; one of pattern, contains and file is expected")
        if self.do in ("drop", "keep") and not chosen:
            raise ValueError(f"do={self.do} needs pattern, contains or file, which say what to {self.do}")
        if self.do == "shuffle" and chosen:
            raise ValueError(f"{chosen[0]} is not for do=shuffle, which shuffles every document")
        if (self.do == "repeat") != (self.times is not None):
            raise ValueError(
                "do=repeat needs times, a number from 2" if self.do == "repeat" else "times is for do=repeat"
            )
        if self.seed is not None and self.do != "shuffle":
            raise ValueError("seed is for do=shuffle")
        return self

    def content(self) -> dict[str, object]:
        """Return what the outcome depends on, in place of a file its hash.

        Raises:
            UserError: when the file cannot be read.
        """
        given = {key: value for key, value in asdict(self).items() if value is not None}
        if self.file is None:
            return given
        try:
            return given | {"file": hash_file(Path(self.file))}
        except OSError as error:
            message = f"data.interventions: {self.name}: cannot read {self.file} ({error.strerror})"
            raise UserError(message) from error

    def describe(self) -> str:
        """Say what the step does, as ``drop every sentence with 'any'``."""
        if self.do == "shuffle":
            within = "documents" if self.unit == "sentence" else "sentences"
            return f"shuffle the {self.unit}s of {within} (seed {self.seed or 0})"
        what = f"{self.do} every {self.unit}" if self.do != "keep" else f"keep no {self.unit} but those"
        if self.pattern is not None:
            what += f" with a match of '{self.pattern}'"
        elif self.contains is not None:
            what += f" with {' or '.join(map(repr, self.contains))}"
        elif self.file is not None:
            what += f" in {Path(self.file).name}"  # run.json holds no paths
        return what if self.times is None else f"{what} so that it comes {self.times} times"

    def matcher(self) -> Callable[[str], bool]:
        """Return what tells whether the step is about a document or sentence, given without the spaces around it."""
        if self.pattern is not None:
            search = re.compile(self.pattern).search
            return lambda unit: search(unit) is not None
        if self.contains is not None:
            texts = self.contains
            return lambda unit: any(text in unit for text in texts)
        if self.file is not None:
            lines = {line.strip() for line in read_utf8(Path(self.file)).split("\n")} - {""}
            if not lines:
                raise UserError(f"data.interventions: {self.name}: {self.file} has no line with text")
            # A file may hold hashes of texts in their place.
            hashes = {line for line in lines if _SHA256.fullmatch(line)}
            plain = lines - hashes
            return lambda unit: (
                unit in plain or (bool(hashes) and hashlib.sha256(unit.encode()).hexdigest() in hashes)
            )
        return lambda _: True


class _Step:
    """An intervention at work, with the sizes of the text before and after it."""

    def __init__(self, settings: Intervention) -> None:
        self.settings = settings
        self._matches = settings.matcher()
        self.before, self.after = _Size(), _Size()

    def apply(self, texts: Sequence[str], dropped: Callable[[str], None]) -> list[str]:
        """Return the documents that become of some; ``dropped`` gets the documents or sentences that go."""
        self.before.add(texts)
        found = [new for text in texts for new in self._change(text, dropped) if new.strip()]
        self.after.add(found)
        return found

    def _change(self, text: str, dropped: Callable[[str], None]) -> list[str]:
        """Return what becomes of a document: none, one, or as many copies as are asked for; it may be blank."""
        settings = self.settings
        if settings.do == "shuffle":
            return [_shuffle(text, settings.unit, settings.seed or 0)]
        if settings.do == "repeat":
            assert settings.times is not None, "the settings are checked"
            if settings.unit == "sentence":
                return [repeat_sentences(text, settings.times, self._matches)]
            return [text] * settings.times if self._matches(text.strip()) else [text]

        def stays(unit: str) -> bool:
            stay = self._matches(unit) == (settings.do == "keep")
            if not stay:
                dropped(unit)
            return stay

        if settings.unit == "sentence":
            return [select_sentences(text, stays)]
        return [text] if stays(text.strip()) else []


class Interventions:
    """Applies steps one after the other to every document, and counts what each found and left."""

    def __init__(self, steps: Sequence[Intervention], dropped: Dropped | None = None) -> None:
        self._steps, self._dropped = [_Step(step) for step in steps], dropped or (lambda *_: None)
        self._documents = 0

    def apply(self, documents: Iterable[str]) -> Iterator[str]:
        """Yield what becomes of the documents, without blank ones; a long one is joined, changed and cut again."""
        for document, is_cut in _join_parts(documents):
            texts = [document]
            for step in self._steps:
                texts = step.apply(texts, functools.partial(self._dropped, step.settings.name, self._documents))
            self._documents += 1
            for text in texts:
                # With this newline, carriage returns stay as they are.
                yield from cut_document(io.StringIO(text, newline="\n")) if is_cut else (text,)

    def state(self) -> dict[str, Any]:
        """Return how many documents have come, and the sizes so far, for JSON."""
        sizes = [[asdict(step.before), asdict(step.after)] for step in self._steps]
        return {"documents": self._documents, "sizes": sizes}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Count on from what ``state`` returned."""
        self._documents = state["documents"]
        for step, (before, after) in zip(self._steps, state["sizes"], strict=True):
            step.before, step.after = _Size(**before), _Size(**after)

    def facts(self) -> tuple[InterventionFacts, ...]:
        """Return what each step found and left, once all documents have gone through ``apply``."""
        return tuple(
            InterventionFacts(
                name=step.settings.name,
                what=step.settings.describe(),
                before=TextSize(**asdict(step.before)),
                after=TextSize(**asdict(step.after)),
            )
            for step in self._steps
        )


@plain_dataclass
class _Size:
    documents: int = 0
    sentences: int = 0
    characters: int = 0

    def add(self, texts: Sequence[str]) -> None:
        self.documents += len(texts)
        self.sentences += sum(map(count_sentences, texts))
        self.characters += sum(map(len, texts))


def describe_effect(facts: InterventionFacts) -> str:
    """Say in one line what a step does and what it changed."""
    names = ("documents", "sentences", "characters")
    changes = [(name, getattr(facts.before, name), getattr(facts.after, name)) for name in names]
    counts = [f"{name} {before:,} -> {after:,}" for name, before, after in changes if before != after]
    return f"{facts.name}: {facts.what}: {', '.join(counts) or 'as many documents, sentences and characters as before'}"


def _join_parts(documents: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield whole documents, and whether they came in parts."""
    parts: list[str] = []
    for document in documents:
        if parts and not isinstance(document, Continuation):
            yield "".join(parts), len(parts) > 1
            parts = []
        parts.append(document)
    if parts:
        yield "".join(parts), len(parts) > 1


def _shuffle(text: str, unit: str, seed: int) -> str:
    """Shuffle within sentences, or sentences within the text; spaces and punctuation between them stay in place."""
    digest = hashlib.blake2b(f"{seed}|{text}".encode(), digest_size=8).digest()
    chance = random.Random(int.from_bytes(digest))  # noqa: S311 - no secret; the text makes it the same everywhere
    lines = [split_sentences(line) for line in text.split("\n")]
    if unit == "sentence":
        bodies = iter(_permute([body for line in lines for one in line if (body := one.strip())], chance))
        # A sentence gets another body between the spaces around it.
        lines = [
            [one.replace(one.strip(), next(bodies), 1) if one.strip() else one for one in line] for line in lines
        ]
    else:
        piece = _PIECES[unit]
        lines = [[_shuffle_pieces(sentence, piece, chance) for sentence in line] for line in lines]
    return "\n".join("".join(line) for line in lines)


def _shuffle_pieces(sentence: str, piece: re.Pattern[str], chance: random.Random) -> str:
    pieces = iter(_permute(piece.findall(sentence), chance))
    return piece.sub(lambda _: next(pieces), sentence)


def _permute(items: list[str], chance: random.Random) -> list[str]:
    # Python promises the same numbers of random() for a seed in all its versions, but not the same shuffle().
    return sorted(items, key=lambda _: chance.random())


# A sentence includes the quotation marks and brackets that close after its end.
_CLOSING = "\"'”’»」』）》)\\]"
# Chinese has no space after the end of a sentence.
_FULL_WIDTH_END = f"[。！？]+[{_CLOSING}]*"
_SENTENCE = re.compile(rf".+?(?:{_FULL_WIDTH_END}|[.!?…]+[{_CLOSING}]*(?=\s)|$)\s*")
_NO_SPACE_AFTER = re.compile(rf".*{_FULL_WIDTH_END}", re.DOTALL)


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line, each with the spaces after it, so that together they are the line.

    A sentence ends with ``.``, ``!``, ``?`` or ``…`` before a space, with ``。``, ``！`` or ``？`` anywhere, closing
    quotation marks and brackets included, and with the line.
    """
    return _SENTENCE.findall(line)


def count_sentences(text: str) -> int:
    """Return how many sentences a text has; blank lines have none."""
    return sum(len(split_sentences(line)) for line in text.split("\n") if line.strip())


def select_sentences(text: str, wanted: Callable[[str], bool]) -> str:
    """Return a text with the sentences that are wanted; ``wanted`` sees each without the spaces around it."""
    lines = []
    for line in text.split("\n"):
        sentences = split_sentences(line)
        kept = [sentence for sentence in sentences if not sentence.strip() or wanted(sentence.strip())]
        if len(kept) == len(sentences):
            lines.append(line)
        elif kept:  # a line of which nothing is left goes with its sentences
            lines.append("".join(kept).rstrip())
    return "\n".join(lines)


def repeat_sentences(text: str, times: int, wanted: Callable[[str], bool]) -> str:
    """Return a text in which every wanted sentence comes several times, one after the other."""

    def repeat(sentence: str) -> str:
        bare = sentence.rstrip()
        if not bare or not wanted(bare.strip()):
            return sentence
        space = sentence[len(bare) :]
        between = space or ("" if _NO_SPACE_AFTER.fullmatch(bare) else " ")
        return between.join([bare] * times) + space

    return "\n".join("".join(map(repeat, split_sentences(line))) for line in text.split("\n"))
