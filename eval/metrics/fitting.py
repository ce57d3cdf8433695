"""Parameters of linking functions, fitted on stated data: some of the paradigms, or human ratings of sentences.

A function fitted on the pairs it is then judged by looks better than it is. So the fit sees one part of the paradigms
and the accuracy is of the other part, or it sees ratings and no pair; a search over all pairs is labeled ``oracle``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass as plain_dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import pandas as pd
from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, unknown_name
from ucurve.eval.linking import Linking, linking_name, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, delta_acc, items, pair_credits, split_masks
from ucurve.eval.metrics.clusters import Mask
from ucurve.eval.metrics.levels import Array
from ucurve.eval.metrics.ratings import rating_correlation

_TENTHS = tuple(round(tenth / 10, 1) for tenth in range(1, 11))
# ZhoBLiMP: alpha of Table 5, beta and gamma of the published code (110 points). PenLP has alphas up to 1 as well.
GRIDS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    "slln_lp": tuple((alpha,) for alpha in _TENTHS[:-1]),
    "pen_lp": tuple((alpha,) for alpha in _TENTHS),
    "morcela": tuple(product(_TENTHS, (float(gamma) for gamma in range(0, 21, 2)))),
}
FIT_COLUMNS = (
    "family", "linking", "label", "fitted_on", "objective", "objective_value", "n_fitted", "accuracy_fitted",
    "n_held_out", "accuracy_held_out", "delta_acc", "ties_rule",
)  # fmt: skip


def _known_families(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in GRIDS:
            raise ValueError(str(unknown_name("family to fit", name, GRIDS)))
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class FitSettings:
    """Which parameters to fit, and on what; conf/eval/default.yaml describes every key."""

    families: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_known_families)]
    on: Literal["paradigms", "ratings", "oracle"]
    share: Annotated[float, Field(gt=0, lt=1)]
    seed: Annotated[int, Field(ge=0)]
    ratings: Path | None

    @model_validator(mode="after")
    def _ratings_where_needed(self) -> Self:
        if (self.on == "ratings") != (self.ratings is not None):
            raise ValueError("fit.on=ratings and fit.ratings=FILE.csv go together")
        return self


@plain_dataclass(frozen=True, eq=False)
class _Search:
    """One way to choose parameters."""

    objective: str  # name of what is maximized
    value: Callable[[Linking], float]
    fitted: Mask  # which pairs the search sees, bool[pairs]
    judged: Mask  # which pairs the chosen parameters are judged on, bool[pairs]
    label: str  # `held_out`, `ratings` or `oracle`
    fitted_on: str  # the data of the search, in words


def fit(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    settings: FitSettings,
    rated: pd.DataFrame | None = None,
    ties_rule: TiesRule = "half",
) -> pd.DataFrame:
    """Fit the parameters of linking functions and judge the result on other data: ``FIT_COLUMNS``, one row a family.

    On pairs the objective is the accuracy over pairs, on ratings Pearson's correlation of the linked values with them
    (ZhoBLiMP, appendix A); the first of equally good parameters is taken. ``rated`` is the score table of
    ``rating_pairs`` with the column ``rating``. The label ``oracle`` holds nothing out, ``ratings`` all pairs.
    """
    merged = items(pairs, scores)
    search = _search(merged, settings, rated, ties_rule)
    rows = [_fitted(family, merged, search, rated, ties_rule) for family in settings.families]
    return pd.DataFrame(rows, columns=list(FIT_COLUMNS))


def fit_paradigms(paradigms: Iterable[str], settings: FitSettings) -> list[str]:
    """Draw the paradigms to fit on, independent of their order; one at least is held out."""
    names = sorted(set(paradigms))
    if len(names) < 2:
        raise UserError(
            f"fit.on=paradigms: two paradigms are needed, one to fit on and one to judge by; got {names}"
        )
    size = min(max(1, round(settings.share * len(names))), len(names) - 1)
    # With one seed, the paradigms of a smaller share are among those of a larger one.
    chosen = np.random.default_rng(settings.seed).permutation(len(names))[:size]
    return sorted(names[place] for place in chosen)


def _search(merged: pd.DataFrame, settings: FitSettings, rated: pd.DataFrame | None, rule: TiesRule) -> _Search:
    """Say what is maximized, and which pairs the search sees and which it is judged on."""
    everything, nothing = np.ones(len(merged), dtype=bool), np.zeros(len(merged), dtype=bool)
    if settings.on == "ratings":
        assert rated is not None, "on=ratings needs the scores of the rated sentences"
        fitted_on = f"ratings of {len(rated)} sentences in {settings.ratings}"
        return _Search("pearson", partial(rating_correlation, rated), nothing, everything, "ratings", fitted_on)
    if settings.on == "oracle":
        fitted_on = f"all {len(merged)} pairs, which are those it is judged by"
        return _Search("accuracy", _make_accuracy(merged, rule), everything, nothing, "oracle", fitted_on)
    names = fit_paradigms(merged["paradigm"], settings)
    fitted = merged["paradigm"].isin(names).to_numpy()
    fitted_on = (
        f"{len(names)} of {merged['paradigm'].nunique()} paradigms (share {settings.share:g}, seed {settings.seed}), "
        f"{fitted.sum()} pairs; judged on the others"
    )
    return _Search("accuracy", _make_accuracy(merged[fitted], rule), fitted, ~fitted, "held_out", fitted_on)


def _make_accuracy(part: pd.DataFrame, rule: TiesRule) -> Callable[[Linking], float]:
    return lambda linking: float(pair_credits(part, linking, rule).mean())


def _fitted(
    family: str, merged: pd.DataFrame, search: _Search, rated: pd.DataFrame | None, rule: TiesRule
) -> dict[str, object]:
    """Search the grid of a family, and judge what is best there: a row of ``FIT_COLUMNS``."""
    tables = [merged] if rated is None else [merged, rated]
    if missing := {name for table in tables for name in parse_linking(family).missing(table)}:
        raise UserError(f"fit: {family} needs {', '.join(sorted(missing))}, which the scores do not have")
    grid = [parse_linking(linking_name(family, point)) for point in GRIDS[family]]
    values = np.array([search.value(linking) for linking in grid])
    place = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
    best = grid[place]
    credit = pair_credits(merged, best, rule)
    judged = search.judged if search.judged.any() else search.fitted
    masks = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    splits = [_mean(credit[judged & masks[split]]) for split in ("good_longer", "bad_longer", "equal")]
    return {
        "family": family,
        "linking": best.name,
        "label": search.label,
        "fitted_on": search.fitted_on,
        "objective": search.objective,
        "objective_value": float(values[place]),
        "n_fitted": int(search.fitted.sum()),
        "accuracy_fitted": _mean(credit[search.fitted]),
        "n_held_out": int(search.judged.sum()),
        "accuracy_held_out": _mean(credit[search.judged]),
        "delta_acc": delta_acc(*splits),
        "ties_rule": rule,
    }


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")
