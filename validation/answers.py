"""``ucurve answers``: what people's answers to a questionnaire say about a benchmark, as tables and on the terminal."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass as checked

from ucurve.cli import run
from ucurve.config import check, plain
from ucurve.errors import UserError
from ucurve.fields import STRICT, Seed, Share, as_tuple
from ucurve.provenance import code_revision, versions
from ucurve.storage.files import disk_faults, sha256_file, write_json
from ucurve.storage.locks import new_output
from ucurve.text_table import format_table
from ucurve.validation.answer_files import BAD, CHOICES, GOOD, Columns
from ucurve.validation.items import ITEM
from ucurve.validation.judging.agreement import fleiss_kappa, interval_alpha, krippendorff_alpha, raw_agreement
from ucurve.validation.judging.paradigms import (
    Rule,
    find_rule,
    human_table,
    judge_items,
    judge_paradigms,
    people_skills,
    rating_tables,
    wilson_interval,
)
from ucurve.validation.judging.people import PeopleTest, compare_people
from ucurve.validation.judging.raters import Exclusion, judge_annotators, judge_raters, rating_file, rating_matrix
from ucurve.validation.loading import asked_to_accept, load_answers, load_items, load_ratings

Summary = Mapping[str, Any]  # of summary.json: numbers, names, and None for what is not defined


@dataclass(frozen=True)
class Findings:
    """The csv files by name, what ``summary.json`` says, and the lines that are printed."""

    tables: Mapping[str, pd.DataFrame]
    summary: Summary
    lines: Sequence[str]


def _known_rule(name: str) -> str:
    try:
        find_rule(name)
    except UserError as error:
        raise ValueError(str(error)) from error
    return name


@checked(frozen=True, config=STRICT, kw_only=True)
class AnswerSettings:
    """Which answers to read and how to judge them; conf/answers.yaml describes every key."""

    answers: Annotated[tuple[Path, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    out: Path
    items: Path | None
    rule: Annotated[str, AfterValidator(_known_rule)]
    limit: Share | None
    seed: Seed
    exclude: Exclusion
    columns: Columns


def answers_command(given: dict[str, object]) -> None:
    """Judge people, items and paradigms, or people's ratings, print what was found and write the tables."""
    settings = check(AnswerSettings, given)
    if settings.out.exists():
        raise UserError(f"out={settings.out} exists already; name a folder that does not")
    print("\n".join(judge_answers(settings).lines))  # noqa: T201 - what came out


def judge_answers(settings: AnswerSettings) -> Findings:
    """Judge people, items and paradigms, or people's ratings, and write the tables; an older folder is replaced.

    Raises:
        UserError: when a file cannot be read, or nobody's answers count.
    """
    findings = _judge_choices(settings) if settings.columns.rating is None else _judge_ratings(settings)
    inputs = [*settings.answers, *([settings.items] if settings.items else [])]
    write_folder(settings.out, findings, asdict(settings), inputs)
    return findings


def _judge_choices(settings: AnswerSettings) -> Findings:
    """Judge choices between two sentences: people, items and paradigms, and the files for ``analyze.py``."""
    items = load_items(settings.answers, settings.items, settings.columns)
    answers = load_answers(settings.answers, settings.items, settings.columns, items)
    annotators = judge_annotators(answers, settings.exclude)
    # Catch trials, controls and training are about people; they say nothing of a paradigm.
    counted = _counted(answers[answers["kind"] == ITEM], annotators)
    judged = judge_items(counted)
    rule = find_rule(settings.rule)
    rule = rule if settings.limit is None else replace(rule, limit=settings.limit)
    paradigms = judge_paradigms(counted, judged, items, rule, settings.seed)
    annotators["skill"] = annotators["annotator"].map(people_skills(counted))
    people = compare_people(counted)
    annotators["expected"] = annotators["annotator"].map(people.expected)
    summary = agreement_summary(judged, paradigms, annotators, people)
    tables = {
        "annotators": annotators,
        # In what was judged, columns of these names hold the votes.
        "items_judged": items.drop(columns=[GOOD, BAD, "right"]).merge(judged, on="item", validate="one_to_one"),
        "paradigms": paradigms,
    }
    # Who accepted a pair chose no sentence, so sentences have no ratings then.
    if not asked_to_accept(settings.items):
        tables |= {"human": human_table(paradigms), **rating_tables(counted, items)}
    return Findings(tables, summary, choice_lines(annotators, paradigms, rule, summary))


def _judge_ratings(settings: AnswerSettings) -> Findings:
    """Judge ratings of single sentences: the raters, and the file for ``analyze.py``."""
    ratings = load_ratings(settings.answers, settings.columns)
    annotators = judge_raters(ratings, settings.exclude.item_seconds)
    counted = _counted(ratings, annotators)
    summary = rating_summary(counted, annotators)
    tables = {"annotators": annotators, "ratings": rating_file(counted)}
    return Findings(tables, summary, rating_lines(annotators, summary))


def _counted(answers: pd.DataFrame, annotators: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of people who are not excluded."""
    counted = answers[answers["annotator"].isin(annotators.loc[~annotators["excluded"], "annotator"])]
    if counted.empty:
        named = "; ".join(f"{row.annotator}: {row.reason}" for row in annotators.itertuples() if row.excluded)
        raise UserError(f"no answers are left: {named or 'nobody answered an item that is judged'}")
    return counted


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


def write_folder(
    folder: Path, findings: Findings, settings: Mapping[str, object], inputs: Sequence[Path]
) -> None:
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
    """Write the row of a paradigm for the terminal."""
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


if __name__ == "__main__":
    run("answers")
