"""Tables of the shape of learning: from the credits of many runs to classes, onsets and smoothed curves."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.shape.classify import (
    ALTERNATIVES,
    NOT_TESTED,
    TEST_OF,
    TURNS,
    Row,
    change_tests,
    classify,
    shape_test,
)
from ucurve.analysis.shape.onset import onset, saturation
from ucurve.analysis.shape.pooled import SizeContrast
from ucurve.analysis.shape.smoothing import (
    Curve,
    drawn_together,
    with_known_error,
    without_pair_error,
    without_seed_error,
)
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS

SEEN = 0.05  # the depth, as a fraction, from which a reader sees a dip in a drawing and asks about it
ITEMS_ONLY, ITEMS_AND_SEEDS, SEEDS_ONLY = "items", "items and seeds", "seeds"
# The scopes of a class beside the widest one, which is other pairs and other seeds, with their curves: these runs and
# other pairs; these pairs and other seeds. Only lines of several runs have them.
SCOPES: dict[str, Callable[[Curve], Curve]] = {
    "these_runs": without_seed_error,
    "these_pairs": without_pair_error,
}
_NARROWER = tuple(f"p_{name}_{scope}" for scope in SCOPES for name in ALTERNATIVES)
NUMBERS = (
    *(f"p_{name}" for name in ALTERNATIVES), *_NARROWER,
    *(f"{turn}{part}" for turn in ("dip", "bump") for part in
      ("", "_start", "_place", "_end", "_depth_low", "_depth_high", "_place_low", "_place_high")),
    "onset", "onset_low", "onset_high", "saturation", "saturation_low", "saturation_high", "effective_items",
    "clusters",
)  # fmt: skip
_RESERVATIONS = {  # the words of ``reading``, and what they mean
    "these pairs": "These pairs: shown for these pairs in other seeds, not for other pairs.",
    "these runs": "These runs: shown for these runs on other pairs, not for other seeds.",
    "this run": "This run: of one run only, which says nothing about other seeds.",
    "indicative": "Indicative: two runs say little about how much seeds differ.",
    "unproven": "Unproven: the smoothed curve does so, which may be chance.",
    "too few": f"Too few: fewer than {FEWEST_CLUSTERS} clusters of pairs do not allow any claim about other pairs.",
}


@dataclass(frozen=True)
class Shapes:
    """What the credits of a benchmark say of the shape of learning."""

    classes: pd.DataFrame  # one row per line and phenomenon (all: the whole benchmark), see shape_table
    # one row per line and paradigm, with end (smoothed accuracy) and the columns of name_below
    paradigms: pd.DataFrame
    curves: pd.DataFrame  # see lay_out_curve
    run_onsets: pd.DataFrame  # name (label of the run), phenomenon, onset
    notes: tuple[str, ...]  # what could not be tested, and why, a sentence each
    estimates: Mapping[tuple[str, str], Curve]  # the curves that were tested, by line and phenomenon
    # of means, whether the cells differ in a turn: by line and phenomenon, then dip or bump
    contrasts: Mapping[tuple[str, str], Mapping[str, SizeContrast]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CurvePairs:
    """The pairs of one curve."""

    phenomenon: str  # all for the whole benchmark
    paradigm: str  # empty for a whole phenomenon
    chosen: npt.NDArray[np.bool_]  # bool[pairs], which pairs of the benchmark they are
    strata: Ids  # int64[chosen]
    clusters: Ids  # int64[chosen], what is drawn together
    drawn: str  # what that is, for people


def shape_table(tests: pd.DataFrame) -> pd.DataFrame:
    """Classify curves, say what their classes mean, and give each the depth and place of its own turn.

    ``tests`` has a row per curve, with the numbers of ``classify``, and p values over pairs only and over seeds only,
    whose names end in ``_these_runs`` and ``_these_pairs``. To the columns of ``classify``, with its class as
    ``class``, come ``class_these_runs``, which is about other pairs and not about other seeds, and
    ``class_these_pairs``, which is about other seeds and not about other pairs (one run: not tested); and in ``shape``
    the widest class that is shown, with its reservations, such as ``U-shaped (this run)``, ``U-shaped (2 runs:
    indicative)``, ``rising (these pairs)``, ``undetermined (dips, unproven)`` and ``undetermined (too few edits)``.
    Then ``p``, the adjusted p of the test that named the shape (of an undetermined curve the smaller one of rise and
    fall), and of the dip of a U or the bump of an inverted U, where the class is one, ``depth`` and its interval
    (fractions), ``turn_from``, ``place`` with its interval and ``turn_to`` (tokens), NaN for other classes.
    """
    table = classify(tests.drop(columns=[*_NARROWER])).rename(columns={"shape": "class"})
    # In a narrower scope lines of several runs are a family of Holm's procedure too.
    own_p = {scope: {f"p_{name}": tests[f"p_{name}_{scope}"] for name in ALTERNATIVES} for scope in SCOPES}
    within = {scope: classify(tests.assign(**p)) for scope, p in own_p.items()}
    table["class_these_runs"] = within["these_runs"]["shape"].where(tests["runs"] > 1, table["class"])
    table["class_these_pairs"] = within["these_pairs"]["shape"].where(tests["runs"] > 1, NOT_TESTED)
    rows = table.to_dict("records")
    narrower = {scope: own.to_dict("records") for scope, own in within.items()}
    p = [_p_of_shape(row, {name: own[at] for name, own in narrower.items()}) for at, row in enumerate(rows)]
    table = table.assign(shape=[reading(row) for row in rows], p=p)
    return pd.concat([table, pd.DataFrame([_turn_of_class(row) for row in rows], index=table.index)], axis=1)


def unproven_turn(row: Row) -> str:
    """Say ``dips`` or ``bulges`` of a smoothed curve that visibly does so where no turn is shown; otherwise nothing."""
    if row["class"] in (*TURNS, NOT_TESTED) or max(row["dip"], row["bump"]) < SEEN:
        return ""
    return "dips" if row["dip"] >= row["bump"] else "bulges"


def reading(row: Row) -> str:
    """Say the widest class of a row of ``shape_table`` that is shown, and how far it goes."""
    if row["class"] == NOT_TESTED:
        return NOT_TESTED
    name, scope = _widest_class(row)
    # Both turns may be significant, as in a curve like a W. The class names only the deeper one.
    other = (
        ", also " + ("inverted-U" if name == "U-shaped" else "U-shaped")
        if row["both"] and name == row["class"]
        else ""
    )
    indicative = "2 runs: indicative" if row["runs"] == 2 and name in TURNS and scope != "these runs" else ""
    alone = "this run" if row["runs"] == 1 and name != "undetermined" else indicative
    said = "; ".join(filter(None, [alone, scope, _besides(row, name, scope)]))
    return f"{name}{other} ({said})" if said else f"{name}{other}"


def explain_reservations(shapes: Iterable[str]) -> list[str]:
    """Return a sentence for each kind of words that ``reading`` put in brackets after some of the shapes."""
    every = list(shapes)
    found = (meaning for words, meaning in _RESERVATIONS.items() if any(words in shape for shape in every))
    return list(dict.fromkeys(found))


def _widest_class(row: Row) -> tuple[str, str]:
    """Return the class of a row, or of an undetermined one that of a narrower scope, a turn first; with the scope."""
    if row["class"] != "undetermined":
        return row["class"], "these pairs" if row["variation"] == SEEDS_ONLY else ""
    narrower = [(row[f"class_{scope}"], scope.replace("_", " ")) for scope in ("these_pairs", "these_runs")]
    shown = [one for one in narrower if one[0] not in ("undetermined", NOT_TESTED)]
    return min(shown, key=lambda one: one[0] not in TURNS, default=("undetermined", ""))


def _besides(row: Row, name: str, scope: str) -> str:
    """Say what else is to be known: a turn of these pairs, one that is seen, or that nothing could be shown."""
    if name in TURNS:
        return ""
    if row["class_these_pairs"] in TURNS and not scope:
        return f"these pairs: {row['class_these_pairs']}"
    if turn := unproven_turn(row):
        return f"{turn}, unproven"
    # Without a p of an undetermined curve there were too few clusters to judge other pairs, and one run.
    return f"too few {row['drawn']}" if name == "undetermined" and np.isnan(row["p_rise"]) else ""


def lay_out_curve(
    line: str, phenomenon: str, curve: Curve, bands: pd.DataFrame, untrained: float = np.nan
) -> pd.DataFrame:
    """Lay out a curve: ``line, phenomenon, tokens, accuracy, smoothed, low, high, band_low, band_high``.

    ``bands`` are those of ``curve_bands``. ``untrained`` is the accuracy at step 0, which has no place on the log axis:
    where it is not NaN it has a row of its own at 0 tokens.
    """
    named = {"line": line, "phenomenon": phenomenon}
    frame = pd.DataFrame({**named, "tokens": curve.tokens, "accuracy": curve.mean}).join(bands)
    if np.isnan(untrained):
        return frame
    at_step_0 = pd.DataFrame({**named, "tokens": [0.0], "accuracy": [untrained]})
    return pd.concat([at_step_0, frame], ignore_index=True)


def curve_statistics(curve: Curve, margin: float) -> dict[str, float]:
    """Test a curve and find its milestones: the numbers that ``shape_table`` takes, by column."""
    statistics = {**shape_test(curve, margin=margin), **dict.fromkeys(_NARROWER, np.nan)}
    for scope, narrowed in SCOPES.items() if curve.seeds > 1 else ():
        values = change_tests(narrowed(curve), margin=margin)
        for name, p in zip(ALTERNATIVES, values, strict=True):
            # What is shown for other pairs and seeds is shown for these too.
            whole = statistics[f"p_{name}"] if curve.has_error else np.nan
            statistics[f"p_{name}_{scope}"] = float(np.fmin(p, whole))
    told = with_known_error(curve)
    for name, found in (("onset", onset(told)), ("saturation", saturation(told))):
        low, high = (found.low, found.high) if told.has_error else (np.nan, np.nan)
        statistics |= {name: found.tokens, f"{name}_low": low, f"{name}_high": high}
    return statistics | {"effective_items": curve.effective_items, "clusters": curve.clusters}


def variation_of(curve: Curve) -> str:
    """Say over what the intervals of a curve are; its p values are over pairs, and with several seeds over seeds."""
    if curve.seeds == 1:
        return ITEMS_ONLY
    return ITEMS_AND_SEEDS if curve.has_error else SEEDS_ONLY


def split_pairs(pairs: pd.DataFrame, cluster: str) -> Iterator[CurvePairs]:
    """Yield the whole benchmark and each phenomenon."""
    phenomena = pairs["phenomenon"].to_numpy()
    yield _choose_pairs(pairs, "all", "", np.ones(len(pairs), dtype=bool), cluster)
    # A phenomenon called "all" would be taken for the whole benchmark.
    for name in sorted(set(phenomena) - {"", "all"}, key=str.casefold):
        yield _choose_pairs(pairs, name, "", phenomena == name, cluster)


def split_paradigms(pairs: pd.DataFrame, cluster: str) -> Iterator[CurvePairs]:
    """Yield each paradigm in the order in which they come."""
    names = pairs[["phenomenon", "paradigm"]].drop_duplicates()
    for phenomenon, paradigm in names.itertuples(index=False, name=None):
        chosen = ((pairs["phenomenon"] == phenomenon) & (pairs["paradigm"] == paradigm)).to_numpy()
        yield _choose_pairs(pairs, phenomenon, paradigm, chosen, cluster)


def _choose_pairs(
    pairs: pd.DataFrame, phenomenon: str, paradigm: str, chosen: npt.NDArray[np.bool_], cluster: str
) -> CurvePairs:
    """Return chosen pairs with what the bootstrap draws together."""
    paradigms = pd.factorize(pairs["paradigm"][chosen])[0].astype(np.int64)
    clusters = pairs["cluster"][chosen].to_numpy(np.int64)
    return CurvePairs(phenomenon, paradigm, chosen, *drawn_together(paradigms, clusters, cluster))


def _turn_of_class(row: Row) -> dict[str, float]:
    """Return depth and places of the turn that a class names; NaN where it names none."""
    turn = {"U-shaped": "dip", "inverted-U": "bump"}.get(row["class"])
    names = {
        "depth": "", "depth_low": "_depth_low", "depth_high": "_depth_high", "turn_from": "_start", "place": "_place",
        "place_low": "_place_low", "place_high": "_place_high", "turn_to": "_end",
    }  # fmt: skip
    return {name: row[turn + part] if turn else np.nan for name, part in names.items()}


def _p_of_shape(row: Row, narrower: Mapping[str, Row]) -> float:
    """Return the adjusted p of the test that named the shape, in the scope in which it did."""
    if row["class"] == NOT_TESTED:
        return np.nan
    name, scope = _widest_class(row)
    if name == "undetermined":
        return float(min(row["holm_rise"], row["holm_fall"]))
    source = narrower[scope.replace(" ", "_")] if row["class"] == "undetermined" else row
    return float(source[f"holm_{TEST_OF[name]}"])
