"""Compute the comparisons of the page of architectures again, from its accuracies and with none of its code.

Read are ``run_curves.csv``, ``runs_at_equal.csv`` and ``runs.csv``. The readings of each run where runs are equal in
tokens and in FLOPs are computed again too; those at equal loss need the losses of single runs, which no file has.

python -m studies.recomputed.architectures [--docs docs]
"""

import argparse
from collections.abc import Hashable, Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import statsmodels.api as sm
from scipy.stats import chi2
from statsmodels.stats.multitest import multipletests

from studies.recomputed import seed_variances
from studies.recomputed.compare import Comparison

Array = npt.NDArray[np.float64]
Times = dict[tuple[str, str, str, str], list[float]]  # of phenomenon, two lines and one of them: log10 of tokens
WIDTH = 0.15  # decades of tokens, of the smoothing
SHARED = 0.05  # of accuracy that two lines must share
DRAWS, BLOCKS = 200_000, 50
_PROGRAM_DRAWS = 4_000
_AT = ["equal_in", "level", "phenomenon"]


def smooth(places: Array, values: Array) -> Array:
    """Fit a weighed line around each place and read it there."""
    found = []
    for place in places:
        weights = np.exp(-(((places - place) / WIDTH) ** 2) / 2)
        found.append(sm.WLS(values, sm.add_constant(places - place), weights).fit().params[0])
    return np.array(found)


def readings(curves: pd.DataFrame, at: pd.DataFrame, cost: pd.Series) -> pd.DataFrame:
    """Read each run at the tokens and FLOPs of the page, between checkpoints on the log axis."""
    rows = at[at["equal_in"] != "bits per byte"].copy()
    of_run = {key: own.sort_values("tokens") for key, own in curves.groupby(["run", "phenomenon"])}
    ends = curves.groupby("run")["tokens"].max()
    places = np.where(rows["equal_in"] == "tokens", rows["level"], rows["level"] / rows["line"].map(cost))
    rows["tokens"] = np.minimum(places, rows["run"].map(ends))
    rows["accuracy"] = [
        np.interp(np.log(tokens), np.log(of_run[key]["tokens"]), of_run[key]["accuracy"])
        for tokens, key in zip(rows["tokens"], zip(rows["run"], rows["phenomenon"], strict=True), strict=True)
    ]
    return rows


def settings(curves: pd.DataFrame, at: pd.DataFrame) -> dict[Hashable, seed_variances.Setting]:
    """Moderate the seeds of each line in each phenomenon at each amount, those of all pairs apart."""
    of_run = {key: own.sort_values("tokens") for key, own in curves.groupby(["run", "phenomenon"])}
    found: dict[Hashable, seed_variances.Setting] = {}
    for _, part in at.groupby(at["phenomenon"] == "all"):
        seeds, courses = dict[Hashable, list[float]](), dict[Hashable, list[float]]()
        for key, own in part.groupby([*_AT, "line"]):
            seeds[key] = own["accuracy"].tolist()
            each = []
            for run, tokens in zip(own["run"], own["tokens"], strict=True):
                curve = of_run[run, key[2]]
                each.append(
                    seed_variances.of_curve(curve["tokens"].to_numpy(), curve["accuracy"].to_numpy(), tokens)
                )
            courses[key] = np.mean(each, axis=0).tolist()
        found |= seed_variances.read(seeds, courses)
    return found


def at_equal(at: pd.DataFrame, cells: dict[Hashable, seed_variances.Setting]) -> pd.DataFrame:
    """Average the seeds, with 95 %."""
    means = at.groupby([*_AT, "line"], as_index=False).agg(runs=("run", "size"), tokens=("tokens", "mean"))
    bounds = pd.DataFrame([seed_variances.weigh([cells[key]], [1]) for key in _keys(means, [*_AT, "line"])])
    return means.assign(accuracy=bounds["value"], low=bounds["low"].clip(0, 1), high=bounds["high"].clip(0, 1))


def differences(page: pd.DataFrame, cells: dict[Hashable, seed_variances.Setting]) -> pd.DataFrame:
    """Compare the pairs of lines of the page."""
    sides = [[cells[*key, name] for name in str(of).split(" - ")] for *key, of in _keys(page, [*_AT, "of"])]
    found = pd.DataFrame([seed_variances.weigh(two, [1, -1]) for two in sides]).rename(
        columns={"value": "difference"}
    )
    table = pd.concat([page[[*_AT, "of"]].reset_index(drop=True), found], axis=1)
    return with_holm(table, [table["equal_in"], table["phenomenon"] == "all"])


def with_holm(table: pd.DataFrame, family: list[pd.Series]) -> pd.DataFrame:
    """Adjust p within each family."""
    known = table.dropna(subset="p").groupby(family)["p"]
    return table.assign(p_holm=known.transform(lambda p: multipletests(p, method="holm")[1]))


def time_ratios(curves: pd.DataFrame) -> pd.DataFrame:
    """Find the tokens at which every two lines come half way, and their ratio."""
    levels, times = dict[tuple[str, str, str], float](), dict[tuple[str, str, str, str], list[float]]()
    for phenomenon, part in curves.groupby("phenomenon"):
        lines = {line: list(map(_course, runs)) for line, runs in _lines(part).items()}
        start = {line: float(np.mean([run[2] for run in own])) for line, own in lines.items()}
        end = {line: float(np.mean([run[1][-1] for run in own])) for line, own in lines.items()}
        for two in combinations(lines, 2):
            starts, ends = [start[one] for one in two], [end[one] for one in two]
            up = min(ends) - max(starts) >= SHARED
            if not up and min(starts) - max(ends) < SHARED:
                continue
            level = (max(starts) + min(ends)) / 2 if up else (min(starts) + max(ends)) / 2
            levels[str(phenomenon), *two] = level
            for line in two:
                times[str(phenomenon), *two, line] = [_passes(run, level, up) for run in lines[line]]
    cells: dict[Hashable, seed_variances.Setting] = {}
    for is_all in (True, False):
        own = {key: seeds for key, seeds in times.items() if (key[0] == "all") == is_all}
        cells |= seed_variances.read(
            {key: seeds if np.isfinite(seeds).all() else [] for key, seeds in own.items()}
        )
    table = pd.DataFrame([_ratio(*key, level, times, cells) for key, level in levels.items()])
    return with_holm(table, [table["phenomenon"] == "all"])


def _ratio(
    phenomenon: str,
    line: str,
    other: str,
    level: float,
    times: Times,
    cells: dict[Hashable, seed_variances.Setting],
) -> dict[str, object]:
    """Compare two lines by the times of their runs, and count the runs that pass the level."""
    two = [(phenomenon, line, other, one) for one in (line, other)]
    found = seed_variances.weigh([cells[key] for key in two], [1, -1])
    passed = [int(np.isfinite(times[key]).sum()) for key in two]
    return {
        "phenomenon": phenomenon, "line": line, "other": other, "level": level, "ratio": 10 ** found["value"],
        "low": 10 ** found["low"], "high": 10 ** found["high"], "p": found["p"], "tokens": 10 ** cells[two[0]].mean,
        "tokens_other": 10 ** cells[two[1]].mean, "passed": passed[0], "passed_other": passed[1],
        "runs": len(times[two[0]]), "runs_other": len(times[two[1]]),
    }  # fmt: skip


def _lines(part: pd.DataFrame) -> dict[str, list[pd.DataFrame]]:
    """Return the runs of each line, in the order of the page."""
    return {str(line): [run for _, run in own.groupby("run")] for line, own in part.groupby("line", sort=False)}


def _course(run: pd.DataFrame) -> tuple[Array, Array, float]:
    """Return where a run is read, its smoothed curve there, and its accuracy before training."""
    tokens, accuracy = run.sort_values("tokens")[["tokens", "accuracy"]].to_numpy(float).T
    places = np.log10(tokens[tokens > 0])
    return places, smooth(places, accuracy[tokens > 0]), accuracy[0]


def _passes(run: tuple[Array, Array, float], level: float, up: bool) -> float:
    """Return log10 of the tokens from which a run is on the other side of a level to its end."""
    places, course, _ = run
    ahead = course >= level if up else course <= level
    if ahead.all() or not ahead[-1]:
        return np.inf
    last = len(ahead) - 1 - int(np.argmin(ahead[::-1]))
    share = (level - course[last]) / (course[last + 1] - course[last])
    return float(places[last] + share * (places[last + 1] - places[last]))


def along(curves: pd.DataFrame) -> pd.DataFrame:
    """Compare every two lines along their curves; what depends on draws has ``_least`` and ``_most``."""
    rows, quantiles = [], dict[float, Array]()
    for phenomenon, part in curves[curves["tokens"] > 0].groupby("phenomenon"):
        tokens = np.sort(part["tokens"].unique())  # of all runs: they are scored at the same ones
        read = {line: np.array(list(map(_smoothed, runs))) for line, runs in _lines(part).items()}
        for one, other in combinations(read, 2):
            value, error, freedom = _compare(np.log10(tokens), [read[one], read[other]])
            if freedom not in quantiles:
                quantiles[freedom] = _largest(np.log10(tokens), freedom)
            told = _told(value, error, tokens, quantiles[freedom])
            rows.append({"phenomenon": phenomenon, "of": f"{one} - {other}", **told})
    return pd.DataFrame(rows)


def _compare(places: Array, runs: list[Array]) -> tuple[Array, Array, float]:
    """Return the difference of two lines at each place, its error, and the degrees of freedom of the band."""
    slopes = [np.gradient(own.mean(axis=0), places) for own in runs]
    keys = [(side, place) for side in (0, 1) for place in range(len(places))]
    seeds: dict[Hashable, list[float]] = {(side, place): runs[side][:, place].tolist() for side, place in keys}
    cells = seed_variances.read(seeds, {(side, place): [slopes[side][place] ** 2 + 4e-4] for side, place in keys})
    sides = [(cells[0, place], cells[1, place]) for place in range(len(places))]
    freedom = min(
        (one.variance + other.variance) ** 2 / sum(each.variance**2 / each.freedom for each in (one, other))
        for one, other in sides
    )
    difference = np.array([one.mean - other.mean for one, other in sides])
    error = np.sqrt([one.variance + other.variance for one, other in sides])
    return difference, error, round(min(freedom, 2 * sum(len(own) - 1 for own in runs)), 6)


def _smoothed(run: pd.DataFrame) -> Array:
    tokens, accuracy = run.sort_values("tokens")[["tokens", "accuracy"]].to_numpy(float).T
    return smooth(np.log10(tokens), accuracy)


def _largest(places: Array, freedom: float) -> Array:
    """Draw the largest t of all places, for errors that only the smoothing makes alike, in ascending order."""
    random = np.random.default_rng(20_261_128)
    alike = np.exp(-((places - places[:, None]) ** 2) / (4 * WIDTH**2))
    found = []
    for _ in range(BLOCKS):
        normal = random.multivariate_normal(np.zeros(len(places)), alike, DRAWS // BLOCKS, method="svd")
        scale = np.sqrt(chi2.rvs(freedom, size=len(normal), random_state=random) / freedom)
        found.append(abs(normal).max(axis=1) / scale)
    return np.sort(np.concatenate(found))


def _told(value: Array, error: Array, tokens: Array, largest: Array) -> dict[str, object]:
    """Say where a difference is shown and where it is largest, as far as the draws of the program leave it open."""
    most = int(np.argmax(abs(value) / error))
    beyond = 1 - np.searchsorted(largest, abs(value[most]) / error[most]) / len(largest)
    apart = 4 * np.sqrt(max(beyond, 1 / _PROGRAM_DRAWS) / _PROGRAM_DRAWS)
    at = 0.95 + 4 * np.sqrt(0.95 * 0.05 / _PROGRAM_DRAWS) * np.linspace(-1, 1, 41)
    halves = [quantile * error for quantile in np.quantile(largest, at)]
    row: dict[str, object] = {"largest": value[most], "at": tokens[most], "p": beyond}
    row |= {"p_least": max(0, beyond - apart), "p_most": beyond + apart + 2 / _PROGRAM_DRAWS}
    for name, sign in (("low", -1), ("high", 1)):
        ends = sorted(value[most] + sign * half[most] for half in (halves[0], halves[-1]))
        row |= {name: value[most] + sign * halves[20][most], f"{name}_least": ends[0], f"{name}_most": ends[1]}
    for name, side in (("higher", value), ("lower", -value)):
        row[name] = {_stretches(tokens, side > half) for half in halves}
    return row


def _stretches(tokens: Array, holds: npt.NDArray[np.bool_]) -> str:
    """Name the stretches of checkpoints at which something holds, as the page does."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int)))
    spans = [
        (_count(tokens[first]), _count(tokens[after - 1])) for first, after in zip(*[iter(ends)] * 2, strict=True)
    ]
    return ", ".join(f"from {first} to {last}" if first != last else f"at {first}" for first, last in spans)


def _count(tokens: float) -> str:
    """Write three digits of a number of tokens, with the largest unit that leaves no fraction."""
    rounded = int(float(f"{tokens:.3g}"))
    for unit, size in (("M", 1_000_000), ("K", 1_000)):
        if rounded % size == 0:
            return f"{rounded // size}{unit}"
    return f"{rounded / 1000:g}K" if rounded >= 1000 else str(rounded)


def _as_on_page(again: pd.DataFrame, page: pd.DataFrame) -> pd.DataFrame:
    """Take the stretches of the page where they are among those that the draws leave open; add Holm's p."""
    for name in ("higher", "lower"):
        shown = dict(zip(_keys(page, ["phenomenon", "of"]), page[name].astype(str), strict=True))
        options = zip(_keys(again, ["phenomenon", "of"]), again[name], strict=True)
        again[name] = [shown[key] if shown[key] in own else " or ".join(sorted(own)) for key, own in options]
    family = again["phenomenon"] == "all"
    for end in ("", "_least", "_most"):
        adjusted = again.groupby(family)[f"p{end}"].transform(lambda p: multipletests(p, method="holm")[1])
        again[f"p_holm{end}"] = adjusted
    return again


def _keys(table: pd.DataFrame, names: list[str]) -> Iterable[tuple[Hashable, ...]]:
    return table[names].itertuples(index=False, name=None)


def main() -> None:
    """Compare the CSV files of the page with what is computed here; exit with 1 where a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/architectures/")
    data = parser.parse_args().docs / "data" / "architectures"
    page = {path.stem: pd.read_csv(path) for path in data.glob("*.csv")}
    for name in ("higher", "lower"):
        page["along"][name] = page["along"][name].fillna("").astype(str)
    curves, at = page["run_curves"], page["runs_at_equal"]
    cost = page["runs"].set_index("line")["flops_per_token"]
    trained = curves[curves["tokens"] > 0]
    cells = settings(trained, at)
    causal = curves[curves["scorer"] == "sentence"]
    comparison = Comparison()
    keys = [*_AT, "line"]
    again = readings(trained, at, cost)
    shown = at[at["equal_in"] != "bits per byte"]
    comparison.tables("runs_at_equal", again, shown, [*keys, "run"])
    comparison.tables("at_equal", at_equal(at, cells), page["at_equal"], keys)
    comparison.tables("differences", differences(page["differences"], cells), page["differences"], [*_AT, "of"])
    comparison.tables("time_ratios", time_ratios(causal), page["time_ratios"], ["phenomenon", "line", "other"])
    comparison.tables("along", _as_on_page(along(causal), page["along"]), page["along"], ["phenomenon", "of"])
    comparison.end(
        {name: page[name] for name in ("runs_at_equal", "at_equal", "differences", "time_ratios", "along")}
    )


if __name__ == "__main__":
    main()
