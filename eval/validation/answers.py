"""``python -m eval.validation.answers``: what people's answers to a questionnaire say about a benchmark."""

from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from eval.validation.answer_files import BAD, GOOD, Answer, Columns, read_paradigms, read_table
from eval.validation.items import ITEM, items_of_answers, read_items
from eval.validation.judging.exclusion import Exclusion, judge_annotators
from eval.validation.judging.human_files import human_table, rating_tables
from eval.validation.judging.paradigms import RULES, Rule, RuleName, judge_items, judge_paradigms, people_skills
from eval.validation.platform_files import is_pcibex, read_label_studio, read_pcibex
from eval.validation.tables import agreement_summary, print_tables, write_folder
from ucurve.cli import run
from ucurve.config import check
from ucurve.errors import UserError, did_you_mean
from ucurve.fields import STRICT, Seed, Share


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, config=STRICT, kw_only=True)
class AnswerSettings:
    """Which answers to read and how to judge them; conf/answers.yaml describes every key."""

    answers: Annotated[tuple[Path, ...], BeforeValidator(_as_list), Field(min_length=1)]
    out: Path
    items: Path | None = None
    rule: RuleName = "tse"
    limit: Share | None = None
    seed: Seed = 0
    exclude: Exclusion = field(default_factory=Exclusion)
    columns: Columns = field(default_factory=Columns)


def answers_command(given: dict[str, Any]) -> None:
    """Judge people, items and paradigms, print the tables and write them.

    Raises:
        UserError: when something that was given is missing, broken or not allowed, or no answer is left.
    """
    settings = check(AnswerSettings, given)
    if settings.out.exists():
        raise UserError(f"out: {settings.out} is there already; give another name or remove it")
    items = load_items(settings)
    answers = load_answers(settings, items)
    annotators = judge_annotators(answers, settings.exclude)
    counted = _counted(answers, annotators)
    judged = judge_items(counted)
    paradigms = judge_paradigms(counted, judged, items, _rule(settings), settings.seed)
    annotators["skill"] = annotators["annotator"].map(people_skills(counted))
    summary = agreement_summary(judged, paradigms, annotators)
    inputs = [*settings.answers, *([settings.items] if settings.items else [])]
    tables = {
        "annotators": annotators,
        "items_judged": items.drop(columns=[GOOD, BAD]).merge(judged, on="item", validate="one_to_one"),
        "paradigms": paradigms,
        "human": human_table(paradigms),
        **rating_tables(counted, items),
    }
    write_folder(settings.out, tables, summary, asdict(settings), inputs)
    print_tables(annotators, paradigms, summary)


def load_items(settings: AnswerSettings) -> pd.DataFrame:
    """Read the items, of their own file or of the tables of answers.

    Raises:
        UserError: when there is no file of either kind, or it is broken.
    """
    if settings.items is not None:
        return read_items(settings.items)
    if settings.columns.paradigm is None:
        raise UserError("items: no file given; give the questionnaire's items.csv, or the column of the answers that "
                        "names the paradigm (columns.paradigm=NAME)")  # fmt: skip
    return items_of_answers(read_paradigms(settings.answers, settings.columns))


def load_answers(settings: AnswerSettings, items: pd.DataFrame) -> pd.DataFrame:
    """Read all answers, each with the kind and the paradigm of its item.

    Raises:
        UserError: when a file is broken, an item is not known, or a person answered an item twice.
    """
    known = set(items["item"])
    seen: dict[tuple[str, str], str] = {}
    answers = [answer for path in settings.answers for answer in read_answers(path, settings.columns)]
    for answer in answers:
        key = answer.annotator, answer.item
        if answer.item not in known:
            hint = did_you_mean(answer.item, known)
            raise UserError(f"{answer.place}: the item {answer.item!r} is not in {settings.items}.{hint}")
        if key in seen:
            raise UserError(f"{answer.place}: {key[0]!r} answered the item {key[1]!r} in {seen[key]} already")
        seen[key] = answer.place
    table = pd.DataFrame([asdict(answer) for answer in answers]).drop(columns="place")
    return table.merge(items[["item", "kind", "paradigm"]], on="item", validate="many_to_one")


def read_answers(path: Path, columns: Columns) -> list[Answer]:
    """Read a file of answers; its form is told from its name and how it begins.

    Raises:
        UserError: naming file and place of what is broken.
    """
    if path.suffix == ".json":
        return read_label_studio(path)
    return read_pcibex(path) if is_pcibex(path) else read_table(path, columns)


def _counted(answers: pd.DataFrame, annotators: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to judged items of people who are not excluded."""
    kept = annotators.loc[~annotators["excluded"], "annotator"]
    counted = answers[(answers["kind"] == ITEM) & answers["annotator"].isin(kept)]
    if counted.empty:
        named = "; ".join(f"{row.annotator}: {row.reason}" for row in annotators.itertuples() if row.excluded)
        raise UserError(f"no answers are left: {named or 'nobody answered an item that is judged'}")
    return counted


def _rule(settings: AnswerSettings) -> Rule:
    rule = RULES[settings.rule]
    return rule if settings.limit is None else Rule(rule.share, settings.limit, rule.words)


if __name__ == "__main__":
    run("answers")
