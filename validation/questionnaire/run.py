"""The command ``ucurve questionnaire``: from a benchmark to a questionnaire for people."""

import hashlib
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal, Self

import pandas as pd
from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import UserError, unknown_name
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.eval.pairs import data_hash, in_accuracies
from ucurve.fields import STRICT, Folder, Seed, Texts, as_tuple
from ucurve.provenance import versions
from ucurve.storage.files import sha256_json, write_json, write_text
from ucurve.storage.locks import new_output
from ucurve.validation.questionnaire.lists import Design, Trial, items_table, make_lists
from ucurve.validation.questionnaire.page import (
    FARM_COLUMNS,
    farm_script,
    label_studio_config,
    label_studio_tasks,
    write_page,
)
from ucurve.validation.questionnaire.questions import Pool, draw_items, find_catch, find_controls, find_training
from ucurve.validation.questionnaire.wording import find_wording

Format = Literal["jspsych", "pcibex", "labelstudio"]
Formats = Annotated[tuple[Format, ...], BeforeValidator(as_tuple), Field(min_length=1)]
CountOrFile = NonNegativeInt | Path


@dataclass(frozen=True, config=STRICT, kw_only=True)
class QuestionnaireSettings:
    """What to ask and how; conf/questionnaire.yaml describes every key."""

    benchmark: Folder
    out: Path
    formats: Formats
    question: Literal["choose", "accept"]
    benchmark_root: Path | None
    per_paradigm: PositiveInt
    paradigms: Texts
    lists: PositiveInt
    shares: PositiveInt
    pairs_per_page: PositiveInt
    catch_per_page: NonNegativeInt
    catch: Path | None
    controls: CountOrFile
    training: CountOrFile
    min_seconds: Annotated[float, Field(ge=0, le=3600)]
    instructions: Path | None
    post: Annotated[str, Field(pattern=r"^https?://[^\s/'\";,]+[^\s'\";,]*$")] | None
    seed: Seed

    @field_validator("shares")
    @classmethod
    def _divides_lists(cls, shares: int, info: ValidationInfo) -> int:
        lists = info.data.get("lists", shares)
        if lists % shares:
            raise ValueError(
                f"lists={lists} is no multiple of {shares}, so some items would stand in fewer lists"
            )
        return shares

    @field_validator("catch_per_page")
    @classmethod
    def _leaves_room(cls, catch: int, info: ValidationInfo) -> int:
        pairs = info.data.get("pairs_per_page", catch + 1)
        if catch >= pairs:
            raise ValueError(f"catch_per_page={catch} leaves none of the pairs_per_page={pairs} for an item")
        return catch

    @model_validator(mode="after")
    def _knows_what_to_accept(self) -> Self:
        """Refuse tests of which nobody has said whether they are to be accepted."""
        tests = {"catch": self.catch or self.catch_per_page, "controls": self.controls, "training": self.training}
        unknown = [name for name, value in tests.items() if value and not isinstance(value, Path)]
        if self.question == "accept" and unknown:
            raise ValueError(
                f"question=accept: {unknown[0]} needs a file of pairs, which says in plausible yes or no"
            )
        if self.question == "accept" and self.formats != ("jspsych",):
            raise ValueError(
                f"question=accept is asked by formats=jspsych alone, not by {', '.join(self.formats)}"
            )
        return self


def questionnaire_command(given: dict[str, object]) -> None:
    """Make a questionnaire and say what is in it."""
    settings = check(QuestionnaireSettings, given)
    trials = make_questionnaire(settings)
    counts = Counter(trial.question.kind for trial in trials if trial.list == 1)
    print(  # noqa: T201 - what came out
        f"{settings.out}: {settings.lists} lists; list 1 has {counts['item']} items, {counts['catch']} catch trials, "
        f"{counts['control']} controls and {counts['training']} pairs of training on "
        f"{max(trial.page for trial in trials if trial.list == 1)} pages"
    )


def make_questionnaire(settings: QuestionnaireSettings) -> list[Trial]:
    """Make a questionnaire, write it into its folder and return its trials.

    Raises:
        UserError: when the folder is there, or the benchmark has too few pairs.
    """
    if settings.out.is_file() or (settings.out.is_dir() and any(settings.out.iterdir())):
        raise UserError(f"out={settings.out} exists already; name a folder that does not")
    pairs = load_benchmark(find_benchmark(settings.benchmark), settings.benchmark_root)
    asked = _only(pairs, settings.paradigms)
    wording = find_wording(str(asked["language"].iloc[0]), settings.instructions, settings.question)
    trials = _lay_out(asked, settings)
    about = _describe(settings, pairs, trials)
    with new_output(settings.out) as folder:
        write_text(folder / "items.csv", items_table(trials))
        write_json(folder / "questionnaire.json", about)
        if "jspsych" in settings.formats:
            page = write_page(trials, wording, str(about["id"]), settings.min_seconds, settings.post)
            write_text(folder / "index.html", page)
        if "pcibex" in settings.formats:
            farm = folder / "pcibex"
            farm.mkdir()
            write_text(farm / "pairs.csv", items_table(trials, FARM_COLUMNS))
            # It shows one pair at a time, so the time of a page is divided by its pairs.
            seconds = settings.min_seconds / settings.pairs_per_page
            training = any(trial.question.kind == "training" for trial in trials)
            write_text(farm / "main.js", farm_script(wording, seconds, training=training))
        if "labelstudio" in settings.formats:
            studio = folder / "labelstudio"
            studio.mkdir()
            write_text(studio / "config.xml", label_studio_config(wording))
            for number, own in groupby(trials, lambda trial: trial.list):  # they stand list by list
                write_json(studio / f"list-{number}.json", label_studio_tasks(list(own)))
    return trials


def _only(pairs: pd.DataFrame, paradigms: tuple[str, ...]) -> pd.DataFrame:
    """Keep the pairs that count, of the paradigms that are asked for."""
    names = pairs["paradigm"].unique().tolist()
    for name in paradigms:
        if name not in names:
            raise unknown_name("paradigm", name, names, "paradigms")
    kept = pairs[in_accuracies(pairs) & pairs["paradigm"].isin(list(paradigms) or names)]
    if kept.empty:
        raise UserError("benchmark: none of its pairs counts, or both sentences of every pair are equal")
    return kept


def _lay_out(pairs: pd.DataFrame, settings: QuestionnaireSettings) -> list[Trial]:
    """Draw what is asked and lay it out in lists, the trials list by list."""
    pool = Pool(pairs, settings.seed)
    # Items are taken first; training, controls and catch trials get what is left.
    items = draw_items(pool, settings.per_paradigm)
    if len(items) < settings.shares:
        raise UserError(f"shares={settings.shares}: there are only {len(items)} items, and each share needs one")
    training = find_training(pool, settings.training)
    controls = find_controls(pool, settings.controls, settings.seed)
    design = Design(
        lists=settings.lists, shares=settings.shares, pairs_per_page=settings.pairs_per_page,
        catch_per_page=settings.catch_per_page, seed=settings.seed,
    )  # fmt: skip
    catch = find_catch(pool, settings.catch, design.catch_trials(len(items), len(controls)), settings.seed)
    return make_lists({"item": items, "control": controls, "catch": catch, "training": training}, design)


def _describe(settings: QuestionnaireSettings, pairs: pd.DataFrame, trials: list[Trial]) -> dict[str, object]:
    """Return what questionnaire.json holds; its ``id`` stands in the answers of the page."""
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(settings).items()
        # The id does not depend on where the questionnaire is written.
        if not name.startswith("_") and name != "out"
    }
    table = items_table(trials)
    kinds = {trial.question.item: trial.question.kind for trial in trials}
    return {
        "id": sha256_json({"items": table, "settings": given})[:16],
        "settings": given,
        "counts": dict(Counter(kinds.values())),
        "benchmark": str(pairs["benchmark"].iloc[0]),
        "data_hash": data_hash(pairs),
        "items_sha256": hashlib.sha256(table.encode()).hexdigest(),
        "versions": versions(),
    }
