"""Tables of the shape of learning: from the credits of many runs to classes, onsets and smoothed curves."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from analysis.items import Items
from analysis.onset import Milestone, onset, saturation
from analysis.runs import Run
from analysis.shapes import NOT_TESTED, classify, is_testable, shape_test, turn_columns
from analysis.smoothing import Array, Curve, errors, estimate_curve, smoothing_weights
from eval.metrics import CONFIDENCE

ITEMS_ONLY, ITEMS_AND_SEEDS = "items", "items and seeds"
_NUMBERS = (
    "p_rise", "p_fall", "p_u", "p_inverted_u",
    *(f"{turn}{part}" for turn in ("dip", "bump") for part in
      ("", "_start", "_place", "_end", "_depth_low", "_depth_high", "_place_low", "_place_high")),
    "onset", "onset_low", "onset_high", "saturation", "saturation_low", "saturation_high",
)  # fmt: skip


@dataclass(frozen=True)
class Shapes:
    """What the credits of a benchmark say of the shape of learning.

    Attributes:
        classes: one row per line and phenomenon (``all`` is the whole benchmark): see ``shape_table``.
        curves: the curves: see ``curve_rows``.
        run_onsets: ``name`` (label of the run), ``phenomenon``, ``onset``.
        notes: what could not be tested, and why, a sentence each.
    """

    classes: pd.DataFrame
    curves: pd.DataFrame
    run_onsets: pd.DataFrame
    notes: tuple[str, ...]


@dataclass
class _Gathered:
    """Rows as they come in."""

    classes: list[dict[str, Any]] = field(default_factory=list)
    curves: list[pd.DataFrame] = field(default_factory=list)
    onsets: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_shapes(items: Iterable[tuple[Run, Items | None]]) -> Shapes:
    """Estimate and classify the curves of every line of runs, overall and by phenomenon.

    Args:
        items: runs with their credits, one at a time; the runs of a line need not stand together.

    Returns:
        The tables. The p values are adjusted over all curves of ``classes``.
    """
    lines: dict[str, list[tuple[Run, Items]]] = {}
    gathered = _Gathered()
    without = []
    for run, half_points in items:
        if half_points is None:
            without.append(run.label)
        else:
            lines.setdefault(run.group, []).append((run, half_points))
    if without:
        gathered.notes.append(
            "Shapes are not tested without the scores of each pair, with what the linking function reads; there are "
            f"none of {_listed(without)}."
        )
    for group, members in lines.items():
        _add_line(gathered, group, [one for _, one in members])
    classes = pd.DataFrame(gathered.classes)
    return Shapes(
        shape_table(classes) if len(classes) else classes,
        pd.concat(gathered.curves, ignore_index=True) if gathered.curves else pd.DataFrame(),
        pd.DataFrame(gathered.onsets, columns=["name", "phenomenon", "onset"]),
        tuple(gathered.notes),
    )


def shape_table(tests: pd.DataFrame) -> pd.DataFrame:
    """Classify curves, and give each the depth and place of its own turn.

    Args:
        tests: one row per curve: ``group``, ``phenomenon``, ``runs``, ``items``, ``checkpoints``, ``variation`` (what
            the intervals are over), ``start`` and ``end`` (smoothed accuracy), and the numbers of ``shapes`` and
            ``onset``.

    Returns:
        The columns of ``classify``, then ``p`` (adjusted p of the class; of a flat curve the smaller one of rise and
        fall), and of the dip of a U or the bump of an inverted U ``depth`` and its interval (fractions), ``turn_from``,
        ``place`` with its interval and ``turn_to`` (tokens), NaN for other classes.
    """
    table = classify(tests)
    own = [_own_turn(row) for row in table.to_dict("records")]
    return pd.concat([table, pd.DataFrame(own, index=table.index)], axis=1)


def curve_rows(group: str, phenomenon: str, curve: Curve, untrained: float) -> pd.DataFrame:
    """Lay out a curve.

    Args:
        group: the line.
        phenomenon: its name.
        curve: the trained checkpoints.
        untrained: accuracy at step 0, NaN when it has no score.

    Returns:
        ``group``, ``phenomenon``, ``tokens``, ``accuracy``, ``smoothed``, ``low``, ``high`` (95 % at each checkpoint by
        itself); a first row at 0 tokens holds the accuracy of step 0 alone, which has no place on the log axis.
    """
    weights = smoothing_weights(curve.log_tokens)
    smooth = weights @ curve.mean
    found = errors(curve, weights)
    half = student.ppf((1 + CONFIDENCE) / 2, found.freedom) * np.sqrt(found.variance)
    low, high = smooth - half, smooth + half
    columns = {"tokens": curve.tokens, "accuracy": curve.mean, "smoothed": smooth, "low": low, "high": high}
    frame = pd.DataFrame(columns)
    if not np.isnan(untrained):
        frame = pd.concat([pd.DataFrame({"tokens": [0.0], "accuracy": [untrained]}), frame], ignore_index=True)
    frame[["low", "high"]] = frame[["low", "high"]].clip(0, 1)
    return frame.assign(group=group, phenomenon=phenomenon)[["group", "phenomenon", *columns]]


def _add_line(gathered: _Gathered, group: str, members: Sequence[Items]) -> None:
    first = members[0]
    if any(not first.pairs.equals(other.pairs) for other in members[1:]):
        gathered.notes.append(f"{group}: its runs were scored on different pairs, so its shapes are not tested.")
        return
    shared = np.array(sorted(set.intersection(*(set(one.steps.tolist()) for one in members))), dtype=np.int64)
    left_out = len(set().union(*(one.steps.tolist() for one in members))) - len(shared)
    if left_out:
        gathered.notes.append(
            f"{group}: {left_out} checkpoint{'s' if left_out > 1 else ''} scored in some of its runs only "
            f"{'are' if left_out > 1 else 'is'} left out of the tests."
        )
    for phenomenon, chosen, strata in _parts(first.pairs):
        _add_curve(gathered, group, phenomenon, _credits(members, shared, chosen), _tokens(first, shared), strata)
        if phenomenon != "all":
            _add_run_onsets(gathered, phenomenon, members, chosen, strata)


def _add_curve(
    gathered: _Gathered, group: str, phenomenon: str, half_points: npt.NDArray[np.uint8], tokens: Array,
    strata: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    trained = tokens > 0
    row: dict[str, Any] = {
        "group": group, "phenomenon": phenomenon, "runs": len(half_points), "items": half_points.shape[2],
        "checkpoints": int(trained.sum()), "variation": ITEMS_AND_SEEDS if len(half_points) > 1 else ITEMS_ONLY,
        "start": np.nan, "end": np.nan, **dict.fromkeys(_NUMBERS, np.nan),
    }  # fmt: skip
    if is_testable(tokens[trained]):
        curve = estimate_curve(tokens[trained], half_points[:, trained], strata)
        untrained = float(half_points[:, ~trained].mean() / 2) if not trained.all() else np.nan
        rows = curve_rows(group, phenomenon, curve, untrained)
        gathered.curves.append(rows)
        smooth = rows["smoothed"].dropna()
        row |= {"start": smooth.iloc[0], "end": smooth.iloc[-1], **_numbers(curve)}
    gathered.classes.append(row)


def _numbers(curve: Curve) -> dict[str, float]:
    test = shape_test(curve)
    p = {name: getattr(test, name) for name in ("p_rise", "p_fall", "p_u", "p_inverted_u")}
    return {
        **p, **turn_columns("dip", test.dip), **turn_columns("bump", test.bump),
        **_milestone("onset", onset(curve)), **_milestone("saturation", saturation(curve)),
    }  # fmt: skip


def _milestone(name: str, found: Milestone) -> dict[str, float]:
    return {name: found.tokens, f"{name}_low": found.low, f"{name}_high": found.high}


def _add_run_onsets(
    gathered: _Gathered, phenomenon: str, members: Sequence[Items], chosen: npt.NDArray[np.bool_],
    strata: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    for one in members:
        trained = one.steps > 0
        if is_testable(one.tokens[trained]):
            curve = estimate_curve(one.tokens[trained], one.half_points[trained][None, :, chosen], strata)
            gathered.onsets.append({"name": one.run, "phenomenon": phenomenon, "onset": onset(curve).tokens})


def _parts(pairs: pd.DataFrame) -> Iterator[tuple[str, npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """Yield the whole benchmark and each phenomenon: name, which items are of it, the paradigm of each of those."""
    phenomena = pairs["phenomenon"].to_numpy()
    named = sorted(set(phenomena) - {"", "all"}, key=str.casefold)
    for name in ["all", *named]:
        chosen = np.ones(len(pairs), dtype=bool) if name == "all" else phenomena == name
        yield name, chosen, pd.factorize(pairs["paradigm"][chosen])[0].astype(np.int64)


def _credits(
    members: Sequence[Items], steps: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint8]:
    return np.stack([one.half_points[np.searchsorted(one.steps, steps)][:, chosen] for one in members])


def _tokens(one: Items, steps: npt.NDArray[np.int64]) -> Array:
    return one.tokens[np.searchsorted(one.steps, steps)]


def _own_turn(row: Mapping[Any, Any]) -> dict[str, float]:
    turn = {"U-shaped": "dip", "inverted-U": "bump"}.get(row["shape"])
    names = {
        "depth": "", "depth_low": "_depth_low", "depth_high": "_depth_high", "turn_from": "_start", "place": "_place",
        "place_low": "_place_low", "place_high": "_place_high", "turn_to": "_end",
    }  # fmt: skip
    values = {name: row[turn + part] if turn else np.nan for name, part in names.items()}
    return {"p": _own_p(row), **values}


def _own_p(row: Mapping[Any, Any]) -> float:
    of_shape = {"rising": "holm_rise", "falling": "holm_fall", "U-shaped": "holm_u", "inverted-U": "holm_inverted_u"}
    if row["shape"] == NOT_TESTED:
        return np.nan
    name = of_shape.get(row["shape"])
    return float(row[name] if name else min(row["holm_rise"], row["holm_fall"]))


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
