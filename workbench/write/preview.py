"""Pairs of a template as it is typed, and for what cannot be read or drawn the slot where that is so."""

import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypedDict

from ucurve.errors import UserError
from ucurve.generation.differences import Member, describe_differences
from ucurve.generation.templates.make import describe_free_words
from ucurve.templates.engine import draw_pair
from ucurve.templates.grammar import Grammar
from ucurve.templates.pair import Pair, Reason, draw_pairs, seeded
from ucurve.templates.template import parse_template
from ucurve.templates.vocabulary import Vocabulary, parse_vocabulary
from ucurve.workbench.write.phrase_text import parse_phrase_text
from ucurve.workbench.write.words import Table

SHOWN = 10  # pairs
_SECONDS = 2.0  # after which no further pair is drawn
_MOST_SLOTS = 500  # of a member; tying more takes longer than a page should wait
_LONGEST = 2000  # characters of a sentence or a message that are shown
_AT_SLOT = re.compile(r"(^| in )template: (?P<member>good|bad)_rule\[(?P<slot>\d+)\](: )?")
_MEANINGS = {
    Reason.NO_SAMPLE: "no word is left that meets the conditions",
    Reason.NO_SHARED_VALUE: "no value is shared with the slot it is related to",
    Reason.REPEATED_WORD: "the word is in the sentence already",
    Reason.EQUAL: "both members are the same",
    Reason.LENGTH: "the members are of unequal length",
    Reason.DUPLICATE: "the same good sentence was drawn before",
    Reason.TOO_LONG: "its phrases make a sentence of more than ten thousand parts",
}


class Problem(TypedDict):
    """What is wrong with a template, with the member and the slot where it is so."""

    member: str | None
    slot: int | None
    text: str


class Failure(Problem):
    """How often draws failed for a reason."""

    reason: str
    count: int


class Preview(TypedDict):
    """Pairs of ``good`` and ``bad``, the failed draws, and what is wrong with the template or what it uses.

    ``differences`` are sentences on pairs that differ in more than the form of one word.
    """

    pairs: list[dict[str, str]]
    draws: int
    failures: list[Failure]
    problems: list[Problem]
    differences: list[str]


@dataclass
class Grammars:
    """The grammars that were made last, since making one of a large vocabulary takes a second."""

    _vocabulary: tuple[str, Vocabulary] | None = field(default=None, init=False)  # with the text it was read from
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def grammar(self, words: Table, phrases: str) -> Grammar:
        """Make a grammar of a vocabulary and lines of phrases."""
        with self._lock:
            text = words.text()
            if self._vocabulary is None or self._vocabulary[0] != text:
                self._vocabulary = text, parse_vocabulary(text, "the vocabulary")
            return Grammar(self._vocabulary[1], parse_phrase_text(phrases), "phrases")


def read_record(text: str) -> object:
    """Read the JSON value of a template."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"template, line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"template: not JSON ({str(error)[:200]})") from error


def preview(grammars: Grammars, words: Table, phrases: str, text: str, seed: int = 0) -> Preview:
    """Draw ten pairs of a template, or as many as it gives in two seconds."""
    try:
        template = parse_template(read_record(text), "template")
        if len(template.good) > _MOST_SLOTS:
            raise UserError(f"template: {len(template.good):,} slots; pairs of at most {_MOST_SLOTS} are shown")
        grammar = grammars.grammar(words, phrases)
        tied = grammar.tie(template)
    except UserError as error:
        return {"pairs": [], "draws": 0, "failures": [], "problems": placed(str(error)), "differences": []}
    failures: Counter[tuple[str | None, int | None, Reason]] = Counter()
    pairs: dict[str, Pair] = {}
    end = time.monotonic() + _SECONDS
    for drawn in draw_pairs(partial(draw_pair, tied), SHOWN, seeded(tied.template.uid, seed), pairs):
        if isinstance(drawn, Pair):
            pairs[drawn.good] = drawn
        else:
            failures[drawn.member, drawn.slot, Reason(drawn.reason)] += 1
        if time.monotonic() > end:
            break
    shown = [{"good": _cut(pair.good), "bad": _cut(pair.bad)} for pair in pairs.values()]
    described: list[Failure] = [
        {"member": member, "slot": slot, "reason": reason.value, "text": _MEANINGS[reason], "count": count}
        for (member, slot, reason), count in failures.most_common()
    ]
    members = [Member(tied.template.uid, **pair) for pair in shown]
    differences = describe_differences(members, grammar.vocabulary.lemmas())
    differences += describe_free_words([tied], grammar.vocabulary)
    return {
        "pairs": shown,
        "draws": len(pairs) + failures.total(),
        "failures": described,
        "problems": [],
        "differences": [_cut(one) for one in differences],
    }


def placed(message: str) -> list[Problem]:
    """Part a message into its lines, each with the member and the slot that it names."""
    problems: list[Problem] = []
    for line in map(_cut, message.split("\n")[:_MOST_SLOTS]):
        at = _AT_SLOT.search(line)
        if at is None:
            problems.append({"member": None, "slot": None, "text": line})
        else:
            text = line[: at.start()] + line[at.end() :]
            problems.append({"member": at["member"], "slot": int(at["slot"]), "text": text})
    return problems


def validate(
    grammars: Grammars, words: Table, phrases: str, templates: Sequence[tuple[str, str]]
) -> list[dict[str, str | int]]:
    """Try every template of a project, given as name and text; an empty ``problem`` is a template that gives pairs."""
    rows: list[dict[str, str | int]] = []
    uids = Counter(_field(text, "uid") for _, text in templates)
    for name, text in templates:
        found, uid = preview(grammars, words, phrases, text), _field(text, "uid")
        wrong = found["problems"] or ([] if found["pairs"] else found["failures"][:1])
        problems = [
            one["text"] if one["slot"] is None else f"{one['member']}, slot {one['slot']}: {one['text']}"
            for one in wrong
        ]
        if uid and uids[uid] > 1:
            problems.append(f"uid {uid!r} is that of another template too")
        rows.append({
            "template": name, "uid": uid, "phenomenon": _field(text, "phenomenon"), "pairs": len(found["pairs"]),
            "draws": found["draws"], "problem": "; ".join(problems),
        })  # fmt: skip
    return rows


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _field(text: str, name: str) -> str:
    with contextlib.suppress(UserError):
        record = read_record(text)
        return str(record.get(name, "")) if isinstance(record, dict) else ""
    return ""
