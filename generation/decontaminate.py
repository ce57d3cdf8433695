"""Decontamination: of each paradigm, the pairs that no model seems to have seen (RuBLiMP, section 2.4)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from ucurve.errors import UserError, refuse_missing_folder
from ucurve.fields import STRICT
from ucurve.generation.maker import Drawn, Made, Outcome
from ucurve.storage.run_folder import EVAL, STEPS, parse_step

SCORERS = ("mink", "pll_mink")


@checked(frozen=True, config=STRICT, kw_only=True)
class FilterSettings:
    """Which stored scores decide; conf/generate.yaml describes the keys. Of a run, its last checkpoint counts."""

    scores: tuple[Path, ...]
    percent: Annotated[int, Field(ge=1, le=100)]


Familiarity = Mapping[str, float]
"""By good sentence, the highest MIN-K% PROB that a model gives it."""


def read_familiarity(settings: FilterSettings) -> Familiarity:
    """Read the stored scores of all models; a sentence counts only where every model has scored it.

    Raises:
        UserError: when a folder has no scores by MIN-K% PROB, or not those of ``percent``.
    """
    tables = [pd.concat(_read(folder, settings.percent)) for folder in settings.scores]
    # A sentence may be the good one of several pairs.
    models = pd.DataFrame({number: table.groupby(level=0).max() for number, table in enumerate(tables)})
    highest = models.dropna().max(axis=1)  # a sentence is as familiar as to the model that knows it best
    return {str(good): float(value) for good, value in highest.items()}


def filtered(made: Made, familiarity: Familiarity) -> Made:
    """Return what a maker gave, with candidates taken from the least familiar one on; equal ones keep their order.

    Raises:
        UserError: for a paradigm whose pairs are drawn, or with a candidate that some model has not scored.
    """
    paradigms = []
    for paradigm in made.paradigms:
        if isinstance(paradigm, Drawn):
            raise UserError(
                f"filter.scores: the pairs of {paradigm.name} are drawn and not chosen from a list; make a benchmark, "
                "score it with scorer=mink, and filter it by source=folder benchmark=DIR"
            )
        without = [candidate.good for candidate in paradigm.candidates if candidate.good not in familiarity]
        if without:
            raise UserError(
                f"filter.scores: {len(without)} of {len(paradigm.candidates)} candidates of {paradigm.name} are not "
                f"scored by every model, such as {without[0]!r}; make the candidates with pairs=all, score them, then "
                "filter"
            )
        paradigms.append(
            replace(paradigm, order=lambda pairs, _rng: sorted(pairs, key=lambda pair: familiarity[pair.good]))
        )
    return replace(made, paradigms=paradigms)


def threshold(outcome: Outcome, familiarity: Familiarity) -> float | None:
    """Return the t of a paradigm: for every model, the pairs that were kept have a value of at most t."""
    return max((familiarity[pair.good] for pair in outcome.pairs), default=None)


def _read(folder: Path, percent: int) -> list[pd.Series]:
    """Return the values by good sentence, a part for each benchmark in the folder."""
    from ucurve.eval.store.scores import StoredScores

    refuse_missing_folder("filter.scores", folder)
    root = folder / EVAL
    found: dict[tuple[str, str], int] = {}
    for scorer in SCORERS:
        for path in root.rglob(f"{scorer}/{STEPS}.parquet"):
            place = (path.parent.parent.relative_to(root).as_posix(), scorer)
            step = parse_step(path.stem)
            if step is not None:
                found[place] = max(step, found.get(place, step))  # the last checkpoint of a run counts
    if not found:
        raise UserError(f"filter.scores: no scores of the scorer {' or '.join(SCORERS)} in {root}")
    parts = []
    for (benchmark, scorer), step in sorted(found.items()):
        pairs = StoredScores(folder, folder.name, step, benchmark, scorer).pairs()
        name = f"mink{percent}_good"
        if name not in pairs:
            held = ", ".join(sorted(column for column in pairs.columns if column.startswith("mink")))
            raise UserError(
                f"filter.percent: no column {name} in the scores of {root / benchmark}; there are {held}"
            )
        parts.append(pairs.set_index("good")[name])
    return parts
