"""Pairs of a template as it is typed, and for what cannot be read or drawn the slot where that is so."""

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.templates.engine import DrawFailed, Reason, draw_pair
from eval.templates.grammar import Grammar, Paradigm
from eval.templates.template import parse_template
from eval.templates.vocabulary import Vocabulary, parse_vocabulary
from ucurve.errors import UserError
from workbench.write.phrase_text import parse_phrase_text
from workbench.write.words import Table, version

SHOWN = 10  # pairs
_DRAWS = 500
_SECONDS = 2.0  # after which no further pair is drawn
_MOST_SLOTS = 500  # of a member; tying more takes longer than a page should wait
_LONGEST = 2000  # characters of a sentence or a message that are shown
_AT_SLOT = re.compile(r"(?P<before>^| in )template: (?P<member>good|bad)_rule(?:\[(?P<slot>\d+)\])?(?P<colon>: )?")
_MEANINGS = {
    Reason.NO_SAMPLE: "no word is left that meets the conditions",
    Reason.NO_SHARED_VALUE: "no value is shared with the slot it is related to",
    Reason.REPEATED_WORD: "the word stands in the sentence already",
    Reason.EQUAL: "both members are the same",
    Reason.LENGTH: "the members are of unequal length",
    Reason.DUPLICATE: "the same good sentence was drawn before",
    Reason.TOO_LONG: "its phrases make a sentence of more than ten thousand parts",
}


@dataclass
class Grammars:
    """The grammars that were made last, since making one of a large vocabulary takes a second."""

    _vocabulary: tuple[str, Vocabulary] | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def grammar(self, words: Table, phrases: str) -> Grammar:
        """Make a grammar of a vocabulary and lines of phrases.

        Raises:
            UserError: when there is no word, or a phrase cannot be read, is unknown or can never end.
        """
        with self._lock:
            named = version(words)
            if self._vocabulary is None or self._vocabulary[0] != named:
                self._vocabulary = named, parse_vocabulary(words.text(), "the vocabulary")
            return Grammar(self._vocabulary[1], parse_phrase_text(phrases), "phrases")


def read_record(text: str) -> Any:
    """Read the JSON value of a template.

    Raises:
        UserError: naming the line that is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"template, line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"template: not JSON ({str(error)[:200]})") from error


def preview(grammars: Grammars, words: Table, phrases: str, text: str, seed: int = 0) -> dict[str, Any]:
    """Draw pairs of a template.

    Returns:
        ``pairs`` of ``good`` and ``bad``, ten at most; ``draws``; ``failures``, how many draws failed and why, each
        with ``member`` and ``slot`` where it has one; ``problems``, what is wrong with the template or what it uses,
        likewise with ``member`` and ``slot``.
    """
    try:
        template = parse_template(read_record(text), "template")
        if len(template.good) > _MOST_SLOTS:
            raise UserError(f"template: {len(template.good):,} slots; pairs of at most {_MOST_SLOTS} are shown")
        paradigm = grammars.grammar(words, phrases).tie(template)
    except UserError as error:
        return {"pairs": [], "draws": 0, "failures": [], "problems": placed(str(error))}
    return {**_draw(paradigm, seed), "problems": []}


def placed(message: str) -> list[dict[str, Any]]:
    """Part a message into its lines, each with the member and the slot that it names."""
    found: list[dict[str, Any]] = []
    for line in (_cut(line) for line in message.split("\n")[:_MOST_SLOTS]):
        at = _AT_SLOT.search(line)
        if at is None or at["slot"] is None:
            found.append({"member": None, "slot": None, "text": line})
        else:
            text = line[: at.start()] + line[at.end() :]
            found.append({"member": at["member"], "slot": int(at["slot"]), "text": text})
    return found


def describe_failures(failures: Counter[tuple[str | None, int | None, Reason]]) -> list[dict[str, Any]]:
    """Say of failed draws where and why, the most frequent first."""
    return [
        {"member": member, "slot": slot, "reason": reason.value, "text": _MEANINGS[reason], "count": count}
        for (member, slot, reason), count in failures.most_common()
    ]


def _draw(paradigm: Paradigm, seed: int) -> dict[str, Any]:
    rng = random.Random(f"{paradigm.template.uid}:{seed}")  # noqa: S311 - reproducible sampling, no secret
    failures: Counter[tuple[str | None, int | None, Reason]] = Counter()
    pairs: list[dict[str, str]] = []
    draws, end = 0, time.monotonic() + _SECONDS
    while len(pairs) < SHOWN and draws < _DRAWS and time.monotonic() < end:
        draws += 1
        try:
            pair = draw_pair(paradigm, rng)
        except DrawFailed as failure:
            failures[failure.member, failure.slot, failure.reason] += 1
            continue
        if any(_cut(pair.good) == earlier["good"] for earlier in pairs):
            failures[None, None, Reason.DUPLICATE] += 1
        else:
            pairs.append({"good": _cut(pair.good), "bad": _cut(pair.bad)})
    return {"pairs": pairs, "draws": draws, "failures": describe_failures(failures)}


def validate(
    grammars: Grammars, words: Table, phrases: str, templates: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Try every template of a project.

    Args:
        templates: name and text of each.

    Returns:
        A row for each: ``template``, ``uid``, ``phenomenon``, ``pairs`` (how many of ten were drawn), ``draws``,
        ``problem`` (empty where there is none).
    """
    rows, uids = [], Counter(_field(text, "uid") for _, text in templates)
    for name, text in templates:
        found = preview(grammars, words, phrases, text)
        problems = [_where(one) + one["text"] for one in found["problems"]]
        if not problems and not found["pairs"]:
            problems = [_where(one) + one["text"] for one in found["failures"][:1]]
        uid = _field(text, "uid")
        if uid and uids[uid] > 1:
            problems.append(f"uid {uid!r} is that of another template too")
        rows.append({
            "template": name, "uid": uid, "phenomenon": _field(text, "phenomenon"), "pairs": len(found["pairs"]),
            "draws": found["draws"], "problem": "; ".join(problems),
        })  # fmt: skip
    return rows


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _where(problem: dict[str, Any]) -> str:
    return f"{problem['member']}, slot {problem['slot']}: " if problem["slot"] is not None else ""


def _field(text: str, name: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(value.get(name, "")) if isinstance(value, dict) else ""
