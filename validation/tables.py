"""The folder of tables that is written, and the tables that are printed."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ucurve.config import plain
from ucurve.provenance import code_revision, versions
from ucurve.storage.files import disk_faults, sha256_file, write_json
from ucurve.storage.locks import new_output
from ucurve.text_table import format_table
from ucurve.validation.answer_files import CHOICES
from ucurve.validation.judging.agreement import fleiss_kappa, interval_alpha, krippendorff_alpha, raw_agreement
from ucurve.validation.judging.paradigms import Rule, wilson_interval
from ucurve.validation.judging.people import PeopleTest
from ucurve.validation.judging.raters import rating_matrix

Summary = Mapping[str, Any]  # of summary.json: numbers, names, and None for what is not defined


@dataclass(frozen=True)
class Findings:
    """The csv files by name, what ``summary.json`` says, and the lines that are printed."""

    tables: Mapping[str, pd.DataFrame]
    summary: Summary
    lines: Sequence[str]


def agreement_summary(
    judged: pd.DataFrame, paradigms: pd.DataFrame, annotators: pd.DataFrame, people: PeopleTest
) -> Summary:
    """Summarize all answers that count; what is not defined is None."""
    counts = judged[list(CHOICES)].to_numpy(dtype="float64")  # float64[items, choices]
    correct, total = int(paradigms["correct"].sum()), int(paradigms["total"].sum())
    low, high = wilson_interval(correct, total)
    return {
        "annotators": len(annotators), "excluded": int(annotators["excluded"].sum()),
        "items": len(judged), "answers": total, "correct": correct, "accuracy": correct / total,
        "wilson_low": low, "wilson_high": high,
        "raw": _or_none(raw_agreement(counts)), "fleiss_kappa": _or_none(fleiss_kappa(counts)),
        "krippendorff_alpha": _or_none(krippendorff_alpha(counts)),
        "people": people.sentence, "people_chi_square": people.statistic, "people_freedom": people.freedom,
        "people_p": _or_none(people.p),
        "paradigms": len(paradigms), "dropped": paradigms.loc[~paradigms["keep"], "paradigm"].tolist(),
        "lowest_agreement": paradigms.nsmallest(3, "raw")["paradigm"].tolist(),
    }  # fmt: skip


def rating_summary(ratings: pd.DataFrame, annotators: pd.DataFrame) -> Summary:
    """Summarize all ratings that count; what is not defined is None."""
    return {
        "annotators": len(annotators), "excluded": int(annotators["excluded"].sum()),
        "sentences": int(ratings["item"].nunique()), "ratings": len(ratings),
        "krippendorff_alpha_interval": _or_none(interval_alpha(rating_matrix(ratings).to_numpy("float64"))),
    }  # fmt: skip


def write_folder(folder: Path, findings: Findings, settings: Mapping[str, object], inputs: Sequence[Path]) -> None:
    """Write each table as csv, and ``summary.json`` with what they were made from; all of it or nothing."""
    record = {
        **findings.summary,
        "settings": plain(dict(settings)),
        "inputs": {str(path): sha256_file(path) for path in inputs},
        "versions": versions(),
        "code": code_revision(),
    }
    with new_output(folder) as temporary, disk_faults():
        for name, table in findings.tables.items():
            # Line ends are the same on every system.
            table.to_csv(temporary / f"{name}.csv", index=False, lineterminator="\n")
        write_json(temporary / "summary.json", record)


def choice_lines(annotators: pd.DataFrame, paradigms: pd.DataFrame, rule: Rule, summary: Summary) -> list[str]:
    """Say who is excluded, what is found of each paradigm, the lowest agreement first, and over all answers."""
    # Where no item has two answers there is no agreement; such paradigms come last.
    ordered = paradigms.sort_values(["raw", "paradigm"], na_position="last").to_dict("records")
    return [
        *_people_lines(annotators),
        "",
        format_table([_printed(row, rule) for row in ordered]),
        "",
        f"rule: the share of {rule.words}; a paradigm is kept from {rule.limit:.0%}",
        "95 %: Wilson, all answers as independent; clustered: items and people drawn again",
        f"all: {summary['correct']:,} of {summary['answers']:,} answers right, {_percent(summary['accuracy'])} %; "
        f"agreement {_percent(summary['raw'])} %, kappa {_number(summary['fleiss_kappa'])}, alpha "
        f"{_number(summary['krippendorff_alpha'])}",
        summary["people"],
        f"lowest agreement: {', '.join(summary['lowest_agreement'])}",
        f"dropped: {', '.join(summary['dropped']) or 'none'}",
    ]


def rating_lines(annotators: pd.DataFrame, summary: Summary) -> list[str]:
    """Say who is excluded, how each person's ratings go with the others', the lowest first, and the agreement."""
    rows = [
        {
            "annotator": row["annotator"], "sentences": str(row["answers"]), "mean": _number(row["mean"]),
            "spread": _number(row["spread"]), "r with others": _number(row["others"]),
        }
        for row in annotators.sort_values(["others", "annotator"]).to_dict("records")
    ]  # fmt: skip
    return [
        *_people_lines(annotators),
        "",
        format_table(rows),
        "",
        f"all: {summary['ratings']:,} ratings of {summary['sentences']:,} sentences, alpha for numbers "
        f"{_number(summary['krippendorff_alpha_interval'])}",
    ]


def _people_lines(annotators: pd.DataFrame) -> list[str]:
    excluded = [f"  {row.annotator}: {row.reason}" for row in annotators.itertuples() if row.excluded]
    kept = len(annotators) - len(excluded)
    return [f"{kept} of {len(annotators)} people count" + ("; excluded:" if excluded else ""), *excluded]


def _printed(row: Mapping[Hashable, Any], rule: Rule) -> dict[str, str]:
    return {
        "paradigm": row["paradigm"], "items": str(row["items"]), "answers": str(row["total"]),
        "right %": _percent(row["accuracy"]), "95 %": f"{_percent(row['low'])}-{_percent(row['high'])}",
        "clustered": f"{_percent(row['clustered_low'])}-{_percent(row['clustered_high'])}",
        "agreement %": _percent(row["raw"]), "alpha": _number(row["alpha"]), "wawa %": _percent(row["wawa"]),
        "rule %": _percent(row[rule.share]), "kept": "yes" if row["keep"] else "no",
    }  # fmt: skip


def _or_none(number: float) -> float | None:
    # JSON has no NaN.
    return None if math.isnan(number) else number


def _percent(share: float | None) -> str:
    return "-" if share is None or math.isnan(share) else f"{100 * share:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"
