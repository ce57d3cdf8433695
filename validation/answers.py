"""``ucurve answers``: what people's answers to a questionnaire say about a benchmark."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from ucurve.cli import run
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.fields import STRICT, Seed, Share, as_tuple
from ucurve.validation.answer_files import BAD, GOOD, Columns
from ucurve.validation.items import ITEM
from ucurve.validation.judging.paradigms import (
    find_rule,
    human_table,
    judge_items,
    judge_paradigms,
    people_skills,
    rating_tables,
)
from ucurve.validation.judging.people import compare_people
from ucurve.validation.judging.raters import Exclusion, judge_annotators, judge_raters, rating_file
from ucurve.validation.loading import asked_to_accept, load_answers, load_items, load_ratings
from ucurve.validation.tables import (
    Findings,
    agreement_summary,
    choice_lines,
    rating_lines,
    rating_summary,
    write_folder,
)


def _known_rule(name: str) -> str:
    try:
        find_rule(name)
    except UserError as error:
        raise ValueError(str(error)) from error
    return name


@dataclass(frozen=True, config=STRICT, kw_only=True)
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
        # Who accepted a pair chose no sentence, so sentences have no ratings then.
        **({} if asked_to_accept(settings.items) else _of_sentences(counted, items, paradigms)),
    }
    return Findings(tables, summary, choice_lines(annotators, paradigms, rule, summary))


def _of_sentences(answers: pd.DataFrame, items: pd.DataFrame, paradigms: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the files for ``analyze.py``, of people who chose a sentence."""
    return {"human": human_table(paradigms), **rating_tables(answers, items)}


def _judge_ratings(settings: AnswerSettings) -> Findings:
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


if __name__ == "__main__":
    run("answers")
