"""Lines of one size and budget that differ in architecture, objective, corpus or learning rate, side by side.

They are read where their runs are equal: in training tokens, in FLOPs, or in the loss in bits per byte.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.curves.mean import interpolate_run
from ucurve.analysis.data.frames import stack, with_gaps
from ucurve.analysis.data.look import describe_unknown, unknown_mark
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, describe_scorers
from ucurve.analysis.lines.over_seeds import (
    ROUGHNESS,
    SLOPE,
    contrast,
    differences_between,
    moderate_table,
    of_curve,
)
from ucurve.analysis.scaling.section import checkpoint_bits
from ucurve.gather import gather
from ucurve.storage.facts import HeldOutFacts

Array = npt.NDArray[np.float64]
TOKENS, FLOPS, LOSS = "tokens", "FLOPs", "bits per byte"
LEVEL_STEP = 0.25  # bits per byte between the levels at which accuracies are compared
LEVELS = 3
_SAME_COST = 1.001  # runs whose FLOPs per token differ less are equal in FLOPs where they are equal in tokens
Levels = list[tuple[float, dict[str, float]]]  # each with the tokens of every run there, by its label
_LEVEL = ["size", "budget", "equal_in", "level"]
RUN_COLUMNS = (*_LEVEL, "last", "phenomenon", "line", "run", "tokens", "accuracy")
LINE_COLUMNS = (*_LEVEL, "phenomenon", "line", "runs", "tokens", "accuracy", "low", "high")
DIFFERENCE_COLUMNS = (*_LEVEL, "phenomenon", "of", "difference", "low", "high", "p", "p_holm")


def equal_in_tokens(spans: Mapping[str, tuple[float, float]]) -> Levels:
    """Choose numbers of tokens that every run has, from its first to its last tokens: 1, 3, 10, ... and the largest."""
    return [(level, dict.fromkeys(spans, level)) for level in _amounts(spans.values())]


def equal_in_flops(spans: Mapping[str, tuple[float, float]], runs: Sequence[Run]) -> Levels:
    """Choose numbers of FLOPs that every run has; none where the runs need the same FLOPs for a token.

    FLOPs are those of matrix products (``flops_per_token``) or, where a run lacks its checkpoints, 6ND.
    """
    exact = all(run.flops_per_token for run in runs)
    cost = {run.label: (run.flops_per_token if exact else 6.0 * (run.parameters or 0)) or np.nan for run in runs}
    per_token = np.array(list(cost.values()))
    if not per_token.max() > _SAME_COST * per_token.min():  # also where parameters are not known
        return []
    of_run = {label: (first * cost[label], last * cost[label]) for label, (first, last) in spans.items()}
    return [
        # Rounding may put the tokens beyond the last checkpoint, where the curve has no value.
        (level, {label: min(level / cost[label], last) for label, (_, last) in spans.items()})
        for level in _amounts(of_run.values())
    ]


def equal_in_loss(bits: pd.DataFrame) -> Levels:
    """Choose levels of bits per byte (``shared_levels``), with the tokens at which each run comes down to them."""
    curves = {
        str(label): (rows["tokens"].to_numpy(np.float64), rows["bits_per_byte"].to_numpy(np.float64))
        for label, rows in bits.sort_values("tokens").groupby("run", observed=True)
    }
    return [
        (level, {label: tokens_at_bits(*curve, level) for label, curve in curves.items()})
        for level in shared_levels(bits)
    ]


def _amounts(spans: Iterable[tuple[float, float]]) -> list[float]:
    """Return 1, 3, 10, ... within all spans, and the largest amount that all of them reach; none where they part."""
    firsts, lasts = zip(*spans, strict=True)
    first, last = max(firsts), min(lasts)
    # Round amounts are the same in every report, so that reports can be compared.
    rounded = [digit * 10.0**power for power in range(30) for digit in (1, 3)]
    return [*(amount for amount in rounded if first <= amount < last), *([last] if last >= first else [])]


def tokens_at_bits(tokens: Array, bits: Array, level: float) -> float:
    """Return the tokens at which a loss curve first comes down to a level, between checkpoints on the log axis.

    NaN where the curve does not come down to it, or is below it from the first checkpoint on.

    ``tokens``, ascending and above 0, and ``bits`` per byte are float64[checkpoints].
    """
    below = np.flatnonzero(bits <= level)
    # The loss before the first checkpoint is not known, so the time at which it came down cannot be read.
    if not len(below) or below[0] == 0:
        return float("nan")
    after = below[0]
    # A loss falls about evenly with the logarithm of the tokens, so it is interpolated linearly there.
    share = (bits[after - 1] - level) / (bits[after - 1] - bits[after])
    left, right = np.log(tokens[after - 1 : after + 1])
    return float(np.exp(left + share * (right - left)))


def shared_levels(bits: pd.DataFrame) -> list[float]:
    """Choose levels of bits per byte that every run reaches: the lowest such level, and two above it."""
    lowest = bits.groupby("run", observed=True)["bits_per_byte"].min().max()
    first = np.ceil(lowest * 100) / 100  # upwards, so that every run still reaches it
    return [round(first + place * LEVEL_STEP, 2) for place in reversed(range(LEVELS))]


@dataclass(frozen=True)
class SideBySide:
    """Accuracies of lines where they are equal in something."""

    runs: pd.DataFrame  # RUN_COLUMNS, a row for each run; ``last`` is the largest level, or the lowest loss
    lines: pd.DataFrame  # LINE_COLUMNS, with 95 % intervals over the runs of a line (``over_seeds``)
    differences: pd.DataFrame  # DIFFERENCE_COLUMNS, of ``differences_between``
    loss: str  # of the levels of bits per byte: ``held-out`` or ``training``; empty where there are none
    flops: str  # how FLOPs are counted; empty where no lines differ in them
    notes: tuple[str, ...]  # how masked models were scored, and which lines are not compared at equal loss


def set_side_by_side(scored: BenchmarkScores) -> SideBySide | None:
    """Read every run of lines that can be compared where all of them are equal; None where no lines can be."""
    rows, notes = scored.curve_rows(), describe_scorers(scored.scorer, scored.scorers[1:])
    there = {str(label) for label in rows.loc[rows["step"] > 0, "run"]}
    sets = list(comparable_lines([run for run in scored.study.runs if run.label in there]))
    if not sets:
        return None
    curves = with_gaps(rows, scored.study.runs)
    found, losses = [], set[str]()
    for runs in sets:
        bits = checkpoint_bits(scored.study.metrics, scored.study.held_out, runs)
        # Losses compare where they are of the same held-out text or, without one, of the same training text.
        measured = [run.facts for run in runs if run.facts and run.label in set(bits["run"])]
        held_out = set(bits["loss"]) == {"held-out"}
        texts = {_held_out_text(facts.held_out) if held_out else facts.data for facts in measured}
        if len(texts) > 1:
            bits = bits[:0]
            lines = f"Lines of the size {runs[0].size} that were trained on {runs[0].budget} tokens"
            notes.append(
                f"{lines} are not compared at equal loss: their losses were measured on different texts."
            )
        losses |= set(bits["loss"])
        found.append(_read_runs(curves, runs, bits))
    of_runs = stack(found, (*RUN_COLUMNS, ROUGHNESS, SLOPE))
    if of_runs.empty:  # names differ, but not lines; or no amount is reached by all
        return None
    if LOSS in set(of_runs["equal_in"]):
        notes += describe_unknown([run for runs in sets for run in runs])
    counted = "matrix products" if all(run.flops_per_token for runs in sets for run in runs) else "6ND"
    keys = [*_LEVEL, "phenomenon", "line"]
    cells, table = moderate_table(of_runs, keys), []
    for key, part in of_runs.groupby(keys, sort=False):
        estimate = contrast([cells[key]], [1.0])
        table.append((*key, len(part), part["tokens"].mean(), estimate.value, *np.clip(estimate[1:], 0, 1)))
    return SideBySide(
        runs=of_runs[list(RUN_COLUMNS)],
        lines=pd.DataFrame(table, columns=list(LINE_COLUMNS)),
        differences=_compare_lines(of_runs),
        loss=" and ".join(sorted(losses)),
        flops=counted if FLOPS in set(of_runs["equal_in"]) else "",
        notes=tuple(notes),
    )


def comparable_lines(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Yield the runs of one size and budget, where they differ in another factor than the tokenizer."""
    alike = gather(((run.size, run.budget), run) for run in runs if run.facts)
    for members in alike.values():
        if len({run.line_without("tokenizer") for run in members}) > 1:
            yield members


def name_lines(runs: Sequence[Run]) -> dict[str, str]:
    """Name the line of each run, by its label, after the factors in which these runs differ."""
    lines = runs[0].design.among(run.label for run in runs).lines()
    return {run.label: run.label if run.is_alone else lines[run.label] for run in runs}


def _held_out_text(facts: HeldOutFacts | None) -> tuple[object, ...]:
    """Return what tells held-out texts apart; their hash is of tokens, which each tokenizer makes others of."""
    return (facts.source, facts.documents, facts.bytes) if facts else ()


def _read_runs(curves: pd.DataFrame, runs: Sequence[Run], bits: pd.DataFrame) -> pd.DataFrame:
    """Read the runs of one size and budget where they are equal: ``RUN_COLUMNS``, and how rough and steep they are."""
    line, marks = name_lines(runs), {run.label: unknown_mark(run) for run in runs}
    own = curves[curves["run"].isin(line) & (curves["step"] > 0)]
    known = own[own["accuracy"].notna()].groupby("run", sort=False)["tokens"]
    spans = {str(label): (float(tokens.min()), float(tokens.max())) for label, tokens in known}
    levels = {TOKENS: equal_in_tokens(spans), FLOPS: equal_in_flops(spans, runs), LOSS: equal_in_loss(bits)}
    of_runs = {str(label): rows for label, rows in own.groupby("run", sort=False)}
    of_curves = [  # in the order of the runs, as lines are elsewhere
        (run.label, phenomenon, curve)
        for run in runs
        for phenomenon, curve in of_runs[run.label].groupby("phenomenon", sort=False)
        if curve["accuracy"].notna().any()
    ]
    parts = []
    for equal_in, of_levels in levels.items():
        if len({line[label] for _, places in of_levels for label in places}) < 2:
            continue  # a line alone compares with none
        for label, phenomenon, curve in of_curves:
            read = _at_levels(curve, of_levels, label)
            named = line[label] + (marks[label] if equal_in == LOSS else "")
            parts.append(read.assign(equal_in=equal_in, phenomenon=str(phenomenon), line=named, run=label))
    found = stack(parts, ["accuracy"])
    found = found[found["accuracy"].notna()].assign(size=runs[0].size, budget=runs[0].budget)
    return found.reindex(columns=[*RUN_COLUMNS, ROUGHNESS, SLOPE])


def _at_levels(curve: pd.DataFrame, levels: Levels, label: str) -> pd.DataFrame:
    """Read the curve of a run in a phenomenon at each level."""
    tokens = np.array([places.get(label, np.nan) for _, places in levels])
    scored = curve.dropna(subset="accuracy").sort_values("tokens")
    places, values = (scored[name].to_numpy(np.float64) for name in ("tokens", "accuracy"))
    return pd.DataFrame(
        {
            "level": [level for level, _ in levels],
            "last": np.arange(len(levels)) == len(levels) - 1,
            "tokens": tokens,
            "accuracy": interpolate_run(curve, tokens),
            **of_curve(places, values, tokens),
        }
    )


def _compare_lines(of_runs: pd.DataFrame) -> pd.DataFrame:
    sets = of_runs.groupby(_LEVEL[:3], sort=False)  # each with lines of its own
    tables = [differences_between(part, _LEVEL, "line") for _, part in sets]
    return stack(tables, DIFFERENCE_COLUMNS).dropna(subset="difference").reset_index(drop=True)
