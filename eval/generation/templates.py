"""Makes a benchmark folder from a folder of templates: one file of pairs a paradigm, and a report."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from eval.templates.engine import Reason, Yield, generate, pair_record
from eval.templates.grammar import Grammar, Paradigm
from eval.templates.template import Template, all_or_error, read_phrases, read_templates
from eval.templates.vocabulary import read_vocabulary
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.progress import ProgressBar, say
from ucurve.storage.files import new_folder, write_json

REPORT_NAME = "report.json"


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class GenerateSettings:
    """What ``build_benchmark`` makes pairs from.

    Attributes:
        templates: a folder of ``*.json`` templates.
        phrases: the JSON file of phrases.
        out: the folder to make; it must not exist, or be empty.
        pairs: how many to make of each template.
        seed: the same seed gives the same pairs.
    """

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
        pairs: how many pairs were made in ``draws`` draws.
        wanted: how many were asked for.
        failures: draws that gave no pair, by reason.
        note: what is wrong with the template; empty when nothing is.
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
    """Make a benchmark folder and log what is in it."""
    settings = check(GenerateSettings, values)
    outcomes = build_benchmark(settings)
    for outcome in outcomes:
        if outcome.note:
            say(f"{outcome.file}: {outcome.note}")
    made = sum(outcome.pairs for outcome in outcomes)
    complete = sum(outcome.pairs == outcome.wanted for outcome in outcomes)
    uids = len({outcome.uid for outcome in outcomes})
    say(f"{made} pairs; {complete} of {uids} paradigms complete; see {settings.out / REPORT_NAME}")


def build_benchmark(settings: GenerateSettings) -> list[Outcome]:
    """Write ``out/<uid>.jsonl`` for every paradigm, and ``out/report.json`` on all templates.

    Where several templates have one uid, the last in the order of file names makes the pairs; the report names the
    others. A paradigm whose draws run out keeps the pairs it has.

    Raises:
        UserError: a file is missing or broken, a template does not fit vocabulary or phrases (all such templates in one
            message), ``pairs`` is not positive, or ``out`` holds something; nothing is written then.
    """
    out = settings.out
    if settings.pairs < 1:
        raise UserError(f"pairs must be at least 1, not {settings.pairs}")
    if any(path.is_file() for path in out.parents):
        raise UserError(f"{out} lies below a file; name a folder that does not exist")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UserError(f"{out} exists already; name a folder that does not")
    vocabulary, phrases = read_vocabulary(settings.vocabulary), read_phrases(settings.phrases)
    grammar = Grammar(vocabulary, phrases, str(settings.phrases))
    paradigms = all_or_error(read_templates(settings.templates), grammar.tie)
    used = {paradigm.template.uid: paradigm.template for paradigm in paradigms}
    outcomes = []
    with new_folder(out) as folder, ProgressBar("paradigms", len(paradigms)) as bar:
        for paradigm in paradigms:
            outcomes.append(_make_pairs(paradigm, used[paradigm.template.uid], folder, settings))
            bar.advance(note=paradigm.template.uid)
        write_json(folder / REPORT_NAME, [asdict(outcome) for outcome in outcomes])
    return outcomes


def _make_pairs(paradigm: Paradigm, used: Template, folder: Path, settings: GenerateSettings) -> Outcome:
    template, result = paradigm.template, Yield()
    if template is used:
        result = generate(paradigm, settings.pairs, settings.seed)
        records = (pair_record(template, number, pair) for number, pair in enumerate(result.pairs))
        lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
        (folder / f"{template.uid}.jsonl").write_text("".join(lines), encoding="utf-8")
        note = _note(result, settings.pairs)
    else:
        note = f"not used: {Path(used.file).name} has the same uid"
    failures = {reason.value: count for reason, count in result.failures.most_common()}
    facts = (template.uid, template.phenomenon, len(result.pairs), settings.pairs, result.draws, failures, note)
    return Outcome(Path(template.file).name, *facts)


def _note(result: Yield, wanted: int) -> str:
    if len(result.pairs) == wanted:
        return ""
    reason, count = result.failures.most_common(1)[0]
    cause = "vocabulary too small" if reason is Reason.DUPLICATE else f"most often {reason.value}"
    return f"only {len(result.pairs)} of {wanted} pairs in {result.draws} draws: {cause} ({count} draws)"
