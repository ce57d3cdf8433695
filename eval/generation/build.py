"""Makes a benchmark folder from a folder of templates: one file of pairs a paradigm, and a report."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from eval.generation.engine import Reason, Yield, generate, pair_record
from eval.generation.grammar import Grammar, Paradigm
from eval.generation.template import Template, all_or_error, read_phrases, read_templates
from eval.generation.vocabulary import read_vocabulary
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.progress import ProgressBar, say
from ucurve.storage.files import new_folder, write_json

REPORT_NAME = "report.json"


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class GenerateSettings:
    """The arguments of ``build_benchmark``."""

    templates: Path
    vocabulary: Path
    phrases: Path
    out: Path
    pairs: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What became of one template.

    Attributes:
        pairs: how many pairs were made.
        wanted: how many were asked for.
        draws: how many draws that took.
        failures: draws that gave no pair, by reason.
        note: empty when all is well, else what is wrong with the template.
    """

    file: str
    uid: str
    phenomenon: str
    pairs: int
    wanted: int
    draws: int
    failures: dict[str, int]
    note: str


def generate_command(values: dict[str, Any]) -> None:
    """Make a benchmark folder and log what is in it.

    Raises:
        UserError: as ``build_benchmark``, or when the configuration is not well formed.
    """
    settings = check(GenerateSettings, values)
    outcomes = build_benchmark(**vars(settings))
    for outcome in outcomes:
        if outcome.note:
            say(f"{outcome.file}: {outcome.note}")
    made = sum(outcome.pairs for outcome in outcomes)
    complete = sum(outcome.pairs == outcome.wanted for outcome in outcomes)
    uids = len({outcome.uid for outcome in outcomes})
    say(f"{made} pairs; {complete} of {uids} paradigms complete; see {settings.out / REPORT_NAME}")


def build_benchmark(
    templates: Path, vocabulary: Path, phrases: Path, out: Path, pairs: int, seed: int
) -> list[Outcome]:
    """Write ``out/<uid>.jsonl`` for every paradigm, and ``out/report.json`` on all templates.

    Where several templates have one uid, the last in the order of file names makes the pairs; the report names the
    others. A paradigm whose draws run out keeps the pairs it has.

    Args:
        templates: a folder of ``*.json`` templates.
        phrases: the JSON file of phrases.
        out: the folder to make; it must not exist, or be empty.
        seed: the same seed gives the same pairs.

    Returns:
        The outcome of every template.

    Raises:
        UserError: a file is missing or broken, a template does not fit vocabulary or phrases (all such templates in one
            message), ``pairs`` is not positive, or ``out`` holds something; nothing is written then.
    """
    if pairs < 1:
        raise UserError(f"pairs must be at least 1, not {pairs}")
    if any(path.is_file() for path in out.parents):
        raise UserError(f"{out} lies below a file; name a folder that does not exist")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UserError(f"{out} exists already; name a folder that does not")
    grammar = Grammar(read_vocabulary(vocabulary), read_phrases(phrases), str(phrases))
    paradigms = all_or_error(read_templates(templates), grammar.tie)
    outcomes = []
    with new_folder(out) as folder, ProgressBar("paradigms", len(paradigms)) as bar:
        for paradigm, winner in zip(paradigms, _winners(paradigms), strict=True):
            outcomes.append(_make(paradigm, winner, folder, pairs, seed))
            bar.advance(note=paradigm.template.uid)
        write_json(folder / REPORT_NAME, [asdict(outcome) for outcome in outcomes])
    return outcomes


def _winners(paradigms: Sequence[Paradigm]) -> list[Template]:
    last = {paradigm.template.uid: paradigm.template for paradigm in paradigms}
    return [last[paradigm.template.uid] for paradigm in paradigms]


def _make(paradigm: Paradigm, winner: Template, folder: Path, pairs: int, seed: int) -> Outcome:
    template = paradigm.template
    if template is not winner:
        return _outcome(template, pairs, Yield(), f"not used: {Path(winner.file).name} has the same uid")
    result = generate(paradigm, pairs, seed)
    records = (pair_record(template, number, pair) for number, pair in enumerate(result.pairs))
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    (folder / f"{template.uid}.jsonl").write_text("".join(lines), encoding="utf-8")
    return _outcome(template, pairs, result, _note(result, pairs))


def _outcome(template: Template, wanted: int, result: Yield, note: str) -> Outcome:
    failures = {reason.value: count for reason, count in result.failures.most_common()}
    name, made = Path(template.file).name, len(result.pairs)
    return Outcome(name, template.uid, template.phenomenon, made, wanted, result.draws, failures, note)


def _note(result: Yield, wanted: int) -> str:
    if len(result.pairs) == wanted:
        return ""
    reason, count = result.failures.most_common(1)[0]
    cause = "vocabulary too small" if reason is Reason.DUPLICATE else f"most often {reason.value}"
    return f"only {len(result.pairs)} of {wanted} pairs in {result.draws} draws: {cause} ({count} draws)"
