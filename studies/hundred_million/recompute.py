"""Compute the numbers of the page again from the score files, with numpy, pandas and scipy alone.

python -m studies.hundred_million.recompute --runs 'runs/hundred_million/*' [--docs docs] [--benchmark zhoblimp]

Nothing of ``analysis`` is imported. Every column that is a mean, change, interval over seeds, loss, agreement or place
of a dip is compared. The p values and classes of the tests of shape are compared for phenomena under SLLN-LP
(``studies.second_shape``); those under other linking functions and of paradigms, the mean over sizes and the n-gram
models are not.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student
from scipy.stats import ttest_ind

from studies.second_shape import report, scored_curves, tested_again

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Row = dict[str, object]
SHOWN = "slln_lp"
TOLERANCE = 2e-5  # relative: the CSV files have six significant digits
SMOOTHING = 0.15  # decades
TIE = 1e-6
_KEYS = ("line", "phenomenon", "paradigm", "linking", "run", "step", "model", "unit", "amount", "of", "tokens")


@dataclass(frozen=True, eq=False)
class Line:
    """The runs of one size with one tokenizer, read without the code that the page is made with."""

    name: str
    model: str
    tokenizer: str
    parameters: int
    corpus_tokens: int
    bytes_per_token: float  # of the held-out text; NaN without one
    runs: list[str]
    losses: Array  # float64[runs, steps after 0], bits per byte
    loss_steps: npt.NDArray[np.int64]
    loss_tokens: Array
    steps: npt.NDArray[np.int64]  # of the checkpoints with scores
    tokens: Array
    credits: dict[str, Array]  # by linking function, float64[runs, steps, pairs]: 1 right, 0 wrong, 0.5 a tie

    @property
    def trained(self) -> Mask:
        """Which checkpoints are after step 0."""
        return self.tokens > 0

    def accuracies(self, chosen: Mask, linking: str = SHOWN) -> Array:
        """Return the accuracy of each run at each checkpoint over some pairs, float64[runs, steps]."""
        return np.asarray(self.credits[linking][:, :, chosen].mean(axis=2))

    def mean(self, chosen: Mask, linking: str = SHOWN) -> Array:
        """Return the mean over runs at the trained checkpoints."""
        return np.asarray(self.accuracies(chosen, linking).mean(axis=0)[self.trained])


def read_lines(folders: Iterable[Path], benchmark: str, linkings: Sequence[str]) -> tuple[pd.DataFrame, list[Line]]:
    """Read the pairs whose sentences differ, and the runs of each size with each tokenizer."""
    lines: dict[tuple[str, str], list[Path]] = {}
    for folder in folders:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        lines.setdefault((facts["model"], facts["tokenizer"]), []).append(folder)
    first = next(iter(lines.values()))[0]
    pairs = pd.read_parquet(first / "eval" / benchmark / "pairs.parquet")
    pairs = pairs[pairs["good"] != pairs["bad"]].astype({"phenomenon": str, "paradigm": str}).reset_index(drop=True)
    return pairs, [_read_line(own, benchmark, linkings, pairs) for own in lines.values()]


def _read_line(folders: list[Path], benchmark: str, linkings: Sequence[str], pairs: pd.DataFrame) -> Line:
    facts = json.loads((folders[0] / "run.json").read_text(encoding="utf-8"))
    losses = [pd.read_csv(folder / "held_out.csv").query("step > 0") for folder in folders]
    held_out = facts.get("held_out") or {"bytes": np.nan, "tokens": 1}
    tables = [_read_scores(folder / "eval" / benchmark / "sentence", pairs) for folder in folders]
    steps = np.array(sorted(set.intersection(*(set(of_run) for of_run in tables))))
    tokens_of = dict(zip(losses[0]["step"], losses[0]["tokens"], strict=True)) | {0: 0}
    credits_ = {
        name: np.array([[credit_of(of_run[step], name) for step in steps] for of_run in tables]) for name in linkings
    }
    return Line(
        f"{facts['model']} {facts['tokenizer']}", facts["model"], facts["tokenizer"], facts["parameters"]["total"],
        facts["corpus"]["tokens"], held_out["bytes"] / held_out["tokens"], [folder.name for folder in folders],
        np.array([one["bits_per_byte"] for one in losses]), losses[0]["step"].to_numpy(),
        losses[0]["tokens"].to_numpy(float), steps, np.array([tokens_of[step] for step in steps], dtype=float),
        credits_,
    )  # fmt: skip


def _read_scores(folder: Path, pairs: pd.DataFrame) -> dict[int, pd.DataFrame]:
    files = sorted(folder.glob("step*.parquet"))
    return {
        int(file.stem.removeprefix("step")): pd.read_parquet(file).set_index("pair").loc[pairs["pair"]]
        for file in files
    }


def credit_of(scores: pd.DataFrame, linking: str) -> Array:
    """Return 1 for a right pair, 0 for a wrong one and one half for a tie."""
    good, bad = (_linked(scores, linking, side) for side in ("good", "bad"))
    tied = np.abs(good - bad) <= TIE * np.maximum(1, np.maximum(np.abs(good), np.abs(bad)))
    return np.where(tied, 0.5, good > bad)


def _linked(scores: pd.DataFrame, linking: str, side: str) -> Array:
    lp, n = scores[f"lp_{side}"].to_numpy(float), scores[f"n_{side}"].to_numpy(float)
    name, _, alpha = linking.partition(":")
    if name == "pen_lp":
        return np.asarray(lp / ((n + 5) / 6) ** 0.8)
    if name == "slor":
        return np.asarray((lp - scores[f"unigram_{side}"].to_numpy(float)) / n)
    return np.asarray(lp / n ** {"lp": 0.0, "mean_lp": 1.0}.get(name, float(alpha or 0.5)))


def smooth(tokens: Array, accuracy: Array) -> Array:
    """Smooth a curve on the log axis by a normal kernel."""
    logs = np.log10(tokens)
    weights = np.exp(-(((logs[:, None] - logs) / SMOOTHING) ** 2) / 2)
    return np.asarray((weights / weights.sum(axis=1, keepdims=True)) @ accuracy)


def deepest_dip(tokens: Array, curve: Array) -> Row:
    """Find where the smaller of the fall before and the rise after is largest, and its bottom by a parabola."""
    sides = _sides(curve)
    place = int(sides.argmax())
    return {
        "dip": sides[place], "bottom": _bottom(np.log10(tokens), curve, place), "bump": _sides(-curve).max(),
        "start": curve[0], "end": curve[-1], "falls_from": tokens[np.argmax(curve[: place + 1])],
        "rises_to": tokens[place + np.argmax(curve[place:])],
    }  # fmt: skip


def _sides(curve: Array) -> Array:
    """Return at each checkpoint the smaller of the fall before it and the rise after it."""
    sides = [min(curve[: at + 1].max() - curve[at], curve[at:].max() - curve[at]) for at in range(len(curve))]
    return np.where(np.array(sides) < 1e-9, 0, sides)


def _bottom(logs: Array, curve: Array, place: int) -> float:
    if not 0 < place < len(curve) - 1:
        return 10 ** float(logs[place])
    around = slice(place - 1, place + 2)
    from_place = logs[around] - logs[place]
    square, slope, _ = np.polyfit(from_place, curve[around] - curve[place], 2)
    moved = np.clip(-slope / (2 * square), from_place[0], from_place[2]) if square > 0 else 0.0
    return 10 ** float(logs[place] + moved)


def over_seeds(values: Array, name: str) -> Row:
    """Average with 95 % by Student's t."""
    count = len(values)
    half = student.ppf(0.975, count - 1) * np.std(values, ddof=1) / count**0.5 if count > 1 else np.nan
    return {name: values.mean(), f"{name}_low": values.mean() - half, f"{name}_high": values.mean() + half}


def of_runs(line: Line) -> Iterator[Row]:
    """Describe a line."""
    tokens = line.loss_tokens[-1]
    yield {
        "line": line.name, "tokens": tokens, "epochs": tokens / line.corpus_tokens, "runs": len(line.runs),
        "bytes_per_token": line.bytes_per_token, "parameters": line.parameters,
        **over_seeds(line.losses[:, -1], "bits_per_byte"),
    }  # fmt: skip


def of_held_out(line: Line) -> Iterator[Row]:
    """Average the losses at each checkpoint."""
    for step, tokens, bits in zip(line.loss_steps, line.loss_tokens, line.losses.T, strict=True):
        epochs = tokens / line.corpus_tokens
        yield {"line": line.name, "step": step, "epochs": epochs, **over_seeds(bits, "bits_per_byte")}


def of_held_out_changes(line: Line) -> Iterator[Row]:
    """Compare the loss at the end with its lowest value."""
    rises = line.losses[:, -1] - line.losses.min(axis=1)
    yield {
        "line": line.name, "lowest": line.losses.min(axis=1).mean(),
        "lowest_at": line.loss_tokens[line.losses.argmin(axis=1)].mean(), "end": line.losses[:, -1].mean(),
        "rising": (rises > 0).sum(), **over_seeds(rises, "rise"),
    }  # fmt: skip


def of_run_curves(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Return the accuracy of each run at each checkpoint."""
    for run, own in zip(line.runs, line.accuracies(chosen), strict=True):
        for step, accuracy in zip(line.steps, own, strict=True):
            yield {"line": line.name, "phenomenon": phenomenon, "run": run, "step": step, "accuracy": accuracy}


def of_linking_curves(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Average the runs at each checkpoint under each linking function."""
    for linking in line.credits:
        where = {"line": line.name, "phenomenon": phenomenon, "linking": linking}
        for step, accuracy in zip(line.steps, line.accuracies(chosen, linking).mean(axis=0), strict=True):
            yield {**where, "step": step, "accuracy": accuracy}


def of_smoothed(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Smooth the mean over runs."""
    tokens, mean = line.tokens[line.trained], line.mean(chosen)
    for at, accuracy, value in zip(tokens, mean, smooth(tokens, mean), strict=True):
        yield {"line": line.name, "phenomenon": phenomenon, "tokens": at, "accuracy": accuracy, "smoothed": value}


def of_shapes(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Find the deepest dip under each linking function."""
    tokens = line.tokens[line.trained]
    for linking in line.credits:
        dip = deepest_dip(tokens, smooth(tokens, line.mean(chosen, linking)))
        yield {"line": line.name, "phenomenon": phenomenon, "linking": linking, **dip}


def of_last_decade(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Compare the end of each run with a tenth of its tokens."""
    accuracies, logs = line.accuracies(chosen)[:, line.trained], np.log(line.tokens[line.trained])
    before = np.array([np.interp(logs[-1] - np.log(10), logs, own) for own in accuracies])
    change = accuracies[:, -1] - before
    yield {
        "line": line.name, "phenomenon": phenomenon, "before": before.mean(), "end": accuracies[:, -1].mean(),
        "falling": (change < 0).sum(), **over_seeds(change, "change"),
    }  # fmt: skip


def of_seed_agreement(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Average Cohen's kappa over every two runs."""
    right = line.credits[SHOWN][:, :, chosen] == 1
    for place, step in enumerate(line.steps if len(right) > 1 else ()):
        kappas = [kappa(one[place], other[place]) for one, other in combinations(right, 2)]
        known = [one for one in kappas if not np.isnan(one)]
        mean = np.mean(known) if known else np.nan
        yield {"line": line.name, "phenomenon": phenomenon, "step": step, "kappa": mean}


def kappa(one: Mask, other: Mask) -> float:
    """Return Cohen's kappa of two runs on which pairs are right."""
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float(((one == other).mean() - chance) / (1 - chance)) if chance < 1 else np.nan


def of_paradigms(line: Line, pairs: pd.DataFrame) -> Iterator[Row]:
    """Find the deepest dip of each paradigm."""
    tokens = line.tokens[line.trained]
    for name in pairs["paradigm"].unique():
        chosen = (pairs["paradigm"] == name).to_numpy()
        yield {"line": line.name, "paradigm": name, **deepest_dip(tokens, smooth(tokens, line.mean(chosen)))}


def of_equal_text(lines: Sequence[Line], parts: dict[str, Mask]) -> Iterator[Row]:
    """Compare the tokenizers of each size at equal tokens and bytes by Welch's t."""
    for unit in ("tokens", "bytes"):
        for one, other in combinations(lines, 2):
            if one.model != other.model:
                continue
            alike = [line for line in lines if line.model == one.model]
            sizes = {line.name: line.tokens * (line.bytes_per_token if unit == "bytes" else 1) for line in alike}
            largest = min(size[-1] for size in sizes.values())
            rounded = [first * 10.0**power for power in range(6, 13) for first in (1, 3)]
            for amount in [*(value for value in rounded if value < largest), largest]:
                for phenomenon, chosen in parts.items():
                    sides = [_at(line, sizes[line.name], amount, chosen) for line in (one, other)]
                    yield {
                        "model": one.model, "unit": unit, "amount": amount, "phenomenon": phenomenon,
                        "of": f"{one.tokenizer} - {other.tokenizer}", **_welch(*sides),
                    }  # fmt: skip


def _at(line: Line, size: Array, amount: float, chosen: Mask) -> Array:
    logs = np.log(size[line.trained])
    return np.array([np.interp(np.log(amount), logs, own[line.trained]) for own in line.accuracies(chosen)])


def _welch(one: Array, other: Array) -> Row:
    difference = one.mean() - other.mean()
    if min(len(one), len(other)) < 2:
        return {"difference": difference}
    test = ttest_ind(one, other, equal_var=False)
    bounds = test.confidence_interval(0.95)
    return {"difference": difference, "low": bounds.low, "high": bounds.high, "p": test.pvalue}


BY_LINE = {"runs": of_runs, "held_out": of_held_out, "held_out_changes": of_held_out_changes}
BY_PHENOMENON = {
    "run_curves": of_run_curves, "linking_curves": of_linking_curves, "smoothed": of_smoothed, "shapes": of_shapes,
    "last_decade": of_last_decade, "seed_agreement": of_seed_agreement,
}  # fmt: skip


def recompute(pairs: pd.DataFrame, lines: Sequence[Line]) -> dict[str, pd.DataFrame]:
    """Make tables with the columns of those in the CSV files, as far as they are computed here."""
    parts = {"all": np.ones(len(pairs), dtype=bool)}
    parts |= {name: (pairs["phenomenon"] == name).to_numpy() for name in pairs["phenomenon"].unique()}
    tables = {name: [row for line in lines for row in make(line)] for name, make in BY_LINE.items()}
    for name, of_part in BY_PHENOMENON.items():
        tables[name] = [row for line in lines for part, chosen in parts.items() for row in of_part(line, part, chosen)]
    tables["paradigms"] = [row for line in lines for row in of_paradigms(line, pairs)]
    tables["equal_text"] = list(of_equal_text(lines, parts))
    return {name: pd.DataFrame(rows) for name, rows in tables.items()}


def compare(name: str, own: pd.DataFrame, stored: pd.DataFrame) -> tuple[int, int]:
    """Print how many numbers of a table were compared, and the first of those that differ; return both counts."""
    keys = [key for key in _KEYS if key in own and key in stored]
    rounded = {
        key: lambda table, key=key: table[key].map(lambda value: f"{value:.5g}") for key in keys if key in _LARGE
    }
    joined = stored.assign(**rounded).merge(own.assign(**rounded), on=keys, suffixes=("", "_again"))
    columns = [column for column in own if column not in keys and column in stored]
    differ = 0
    for column in columns:
        first, again = joined[column].to_numpy(float), joined[f"{column}_again"].to_numpy(float)
        same = np.isclose(first, again, rtol=TOLERANCE, atol=1e-9, equal_nan=True)
        differ += int((~same).sum())
        for row in joined[~same].head(3).to_dict("records"):
            where = [row[key] for key in keys]
            sys.stdout.write(f"  {name}.{column} of {where}: {row[column]} and {row[f'{column}_again']}\n")
    count, left_out = len(joined) * len(columns), len(stored) - len(joined)
    sys.stdout.write(
        f"{name}: {count} numbers ({', '.join(map(str, columns))}), {differ} differ; {left_out} rows are not compared\n"
    )
    return count, differ


def compare_tests(pairs: pd.DataFrame, lines: Sequence[Line], shapes: pd.DataFrame) -> tuple[int, int]:
    """Test the shapes of the curves again, and print and return how many p values and classes differ."""
    curves = (
        curve for line in lines for curve in scored_curves(line.name, pairs, line.tokens, line.credits[SHOWN])
    )  # fmt: skip
    page = shapes[(shapes["linking"] == SHOWN) & (shapes["class"] != "not tested")]
    names = {"p_dip": "p", "p_dip_holm": "p_holm"} | {name: name for name in _TESTED}
    return report(tested_again(curves), page[["line", "phenomenon", *names]].rename(columns=names))


_TESTED = ("runs_with_dip", "class", "class_these_pairs", "class_these_runs")
_LARGE = ("amount", "tokens")  # numbers that are keys, rounded in the CSV files


def main() -> None:
    """Compare the CSV files of the page with what is computed here; exit with 1 where a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="the run folders of the page, or patterns")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/hundred_million/")
    parser.add_argument("--benchmark", default="zhoblimp", help="which of the scored benchmarks")
    arguments = parser.parse_args()
    data = arguments.docs / "data" / "hundred_million"
    stored = {path.stem: pd.read_csv(path) for path in data.glob("*.csv")}
    folders = [path for pattern in map(Path, arguments.runs) for path in sorted(pattern.parent.glob(pattern.name))]
    scored = [path for path in folders if (path / "eval" / arguments.benchmark).is_dir()]
    if not scored:
        parser.error(f"--runs={' '.join(arguments.runs)}: no run folder with scores of {arguments.benchmark}")
    pairs, lines = read_lines(scored, arguments.benchmark, list(stored["shapes"]["linking"].unique()))
    tables = recompute(pairs, lines)
    counts = [compare(name, own, stored[name]) for name, own in tables.items() if len(own)]
    counts.append(compare_tests(pairs, lines, stored["shapes"]))
    count, differ = np.sum(counts, axis=0)
    sys.stdout.write(f"{count} numbers and classes were computed again, {differ} differ\n")
    sys.exit(int(differ > 0))


if __name__ == "__main__":
    main()
