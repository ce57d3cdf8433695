"""The table of change points: every change of every curve of a line, of accuracy and of loss, in order."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from ucurve.analysis.change_points.bends import Changes, can_bend, find_changes, noise_covariance
from ucurve.analysis.curves.loss import loss_by_run
from ucurve.analysis.data.study import Study
from ucurve.analysis.shape.classify import LEVEL, Row, adjust_by_runs
from ucurve.analysis.shape.smoothing import Array, Curve, with_known_error

ACCURACY, HELD_OUT_LOSS, TRAINING_LOSS = "accuracy", "held-out loss", "training loss"
NOT_APART = "not told apart"
_OF_A_CHANGE = ("tokens", "tokens_low", "tokens_high", "level", "slope_before", "slope_after")
_COLUMNS = (
    "line", "measure", "phenomenon", "runs", "change", *_OF_A_CHANGE, "p", "p_holm", "significant", "may_be_more",
    "beside_loss",
)  # fmt: skip
_LEAST_VARIANCE = 1e-12  # of a loss: what is left where nothing varies


def change_table(estimates: Mapping[tuple[str, str], Curve], losses: Mapping[str, tuple[str, Curve]]) -> pd.DataFrame:
    """Find the changes of curves of accuracy, by line and phenomenon (``all``: every pair), and of ``loss_curves``.

    There is a row for each change, ordered by line and place, and one without a place for each curve that has none.
    ``phenomenon`` is empty for a loss; ``change`` counts from 1, and 0 says that there is none; slopes are per decade
    of tokens, in fractions or bits per byte; ``p_holm`` is over all curves of lines of one run, and over all of lines
    of several; ``may_be_more`` says that a curve has as many changes as are looked for. ``beside_loss`` is such as
    ``after 1, before 2``: the interval of a change of accuracy lies after that of the first change of the loss and
    before that of the second. Curves of too few edits have the changes that these pairs have in other seeds, and with
    one run they are left out.
    """
    curves = [(line, kind, "", curve) for line, (kind, curve) in losses.items()]
    curves += [(line, ACCURACY, phenomenon, with_known_error(curve)) for (line, phenomenon), curve in estimates.items()]
    curves = [one for one in curves if can_bend(one[-1].tokens) and one[-1].has_error]
    if not curves:
        return pd.DataFrame(columns=list(_COLUMNS))
    found = [find_changes(curve) for *_, curve in curves]
    adjusted = adjust_by_runs(pd.Series([one.p for one in found]), pd.Series([curve.seeds for *_, curve in curves]))
    rows = []
    for (line, measure, phenomenon, curve), changes, p in zip(curves, found, adjusted.tolist(), strict=True):
        of_curve = {
            "line": line, "measure": measure, "phenomenon": phenomenon, "runs": curve.seeds, "p": changes.p,
            "p_holm": p, "significant": p <= LEVEL, "may_be_more": p <= LEVEL and changes.may_be_more,
        }  # fmt: skip
        rows += [{**of_curve, **change} for change in _lay_out(changes, significant=p <= LEVEL)]
    table = pd.DataFrame(rows)
    table["beside_loss"] = [_beside_loss(row, table) for row in table.to_dict("records")]
    table["place"] = pd.factorize(table["line"])[0]
    return table.sort_values(["place", "tokens"], kind="stable", ignore_index=True)[list(_COLUMNS)]


def _lay_out(changes: Changes, *, significant: bool) -> Iterator[dict[str, float]]:
    """Lay out the changes, or that there are none."""
    if not significant:
        yield {"change": 0, **dict.fromkeys(_OF_A_CHANGE, np.nan)}
        return
    places = zip(changes.tokens, changes.low, changes.high, changes.levels, pairwise(changes.slopes), strict=True)
    for number, (*place, slopes) in enumerate(places, start=1):
        yield {"change": number, **dict(zip(_OF_A_CHANGE, (*place, *slopes), strict=True))}


def _beside_loss(row: Row, table: pd.DataFrame) -> str:
    """Say between which changes of the loss of its line a change of accuracy lies, by their intervals."""
    if row["measure"] != ACCURACY or not row["change"]:
        return ""
    losses = table[(table["line"] == row["line"]) & (table["measure"] != ACCURACY) & (table["change"] > 0)]
    if losses.empty:
        return ""
    earlier = losses.loc[losses["tokens_high"] < row["tokens_low"], "change"]
    later = losses.loc[losses["tokens_low"] > row["tokens_high"], "change"]
    parts = [f"after {earlier.max()}"] if len(earlier) else []
    parts += [f"before {later.min()}"] if len(later) else []
    return ", ".join(parts) or NOT_APART


def loss_curves(study: Study) -> dict[str, tuple[str, Curve]]:
    """Return the curve of the loss of every line, in bits per byte: held-out where it was measured, else training."""
    found = {}
    held_out, training = loss_by_run(study.held_out), loss_by_run(study.metrics)
    for line in dict.fromkeys(run.line for run in study.runs):
        for kind, rows in ((HELD_OUT_LOSS, held_out), (TRAINING_LOSS, training)):
            curve = _loss_of_line(rows[rows["line"] == line])
            if line not in found and curve is not None:
                found[line] = (kind, curve)
    return found


def _loss_of_line(rows: pd.DataFrame) -> Curve | None:
    """Estimate a loss from rows of ``loss_by_run``; None where too few checkpoints are shared by all runs."""
    by_run = rows.pivot_table(index="run", columns="bin", values="bits_per_byte", observed=True).dropna(axis=1)
    if by_run.empty:
        return None
    tokens = rows.groupby("bin")["tokens"].mean()[by_run.columns].to_numpy(np.float64)
    if not can_bend(tokens):
        return None
    return loss_curve(tokens, by_run.to_numpy(np.float64))


def loss_curve(tokens: Array, losses: Array) -> Curve:
    """Return the mean of losses, float64[S, T], one row for each run, with its error.

    The error has two parts: the noise of each run beside its own line with the most bends, and the seeds.
    """
    seeds, steps = losses.shape
    noise, freedom = noise_covariance(tokens, losses)
    mean = losses.mean(axis=0)
    own = (noise + np.eye(steps) * _LEAST_VARIANCE) / seeds
    nothing = np.zeros_like(own)
    if seeds == 1:
        return Curve(tokens, mean, 1, 0, own, nothing, nothing, freedom)
    apart = losses - mean
    return Curve(tokens, mean, seeds, 0, own, apart.T @ apart / (seeds * (seeds - 1)), own, freedom)
