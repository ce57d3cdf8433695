"""Compute the numbers of the page again from the score files, with numpy, pandas and scipy alone.

python -m studies.hundred_million.recompute --runs 'runs/hundred_million/*' [--docs docs] [--benchmark zhoblimp]

Nothing of ``analysis`` is imported: the tests of shape and what follows from them are those of ``studies/recomputed``.
It prints what it compared of each CSV file, and ends with 1 where a number differs by more than rounding, or where it
is made of random draws by more than Monte Carlo error, or a class that this error does not explain. The last lines say
which columns nothing was compared with.
"""

import argparse
import json
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, starmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from studies.recomputed import seed_variances
from studies.recomputed.compare import Comparison
from studies.recomputed.intervals import intervals, of_bands
from studies.recomputed.lines import compare_lines
from studies.recomputed.ngrams import (
    ALL_RUNS,
    DIP,
    ORDERS,
    account,
    agreement,
    check_dips,
    compare_accounts,
    counts_of_named,
    found_dips,
    kappa,
    one_order_of_each,
)
from studies.recomputed.power import limits_of
from studies.recomputed.shape import (
    NOT_TESTED,
    Scored,
    alone,
    classify,
    dips_of_runs,
    holm,
    report,
    scored_curves,
    testable,
)
from studies.recomputed.words import OPEN, labels

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Row = dict[str, object]
SHOWN = "slln_lp"
SMOOTHING = 0.15  # decades
TIE = 1e-6
_SEEDS, _CURVE = "seeds", "curve"  # columns of rows whose intervals need those of all rows


@dataclass(frozen=True, eq=False)
class Line:
    """The runs of one size with one tokenizer, read without the code that the page is made with."""

    name: str
    model: str
    tokenizer: str
    over_sizes: str  # what the sizes that are averaged have in common
    facts: dict[str, int]  # what is told of the runs
    corpus_tokens: int
    bytes_per_token: float  # of the held-out text; NaN without one
    folders: list[Path]  # with the scores of the benchmark
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


def read_lines(
    folders: Iterable[Path], benchmark: str, linkings: Sequence[str]
) -> tuple[pd.DataFrame, list[Line]]:
    """Read the pairs whose sentences differ, and the runs of each size with each tokenizer."""
    lines: dict[tuple[str, str], list[Path]] = {}
    for folder in folders:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        lines.setdefault((facts["model"], facts["tokenizer"]), []).append(folder)
    first = next(iter(lines.values()))[0]
    pairs = pd.read_parquet(first / "eval" / benchmark / "pairs.parquet")
    pairs = (
        pairs[pairs["good"] != pairs["bad"]].astype({"phenomenon": str, "paradigm": str}).reset_index(drop=True)
    )
    return pairs, [_read_line(own, benchmark, linkings, pairs) for own in lines.values()]


def _read_line(folders: list[Path], benchmark: str, linkings: Sequence[str], pairs: pd.DataFrame) -> Line:
    facts = json.loads((folders[0] / "run.json").read_text(encoding="utf-8"))
    losses = [pd.read_csv(folder / "held_out.csv").query("step > 0") for folder in folders]
    held_out = facts.get("held_out") or {"bytes": np.nan, "tokens": 1}
    tables = [_read_scores(folder / "eval" / benchmark / "sentence", pairs) for folder in folders]
    steps = np.array(sorted(set.intersection(*(set(of_run) for of_run in tables))))
    tokens_of = dict(zip(losses[0]["step"], losses[0]["tokens"], strict=True)) | {0: 0}
    credits_ = {
        name: np.array([[credit_of(of_run[step], name) for step in steps] for of_run in tables])
        for name in linkings
    }
    return Line(
        f"{facts['model']} {facts['tokenizer']}", facts["model"], facts["tokenizer"],
        folders[0].name.removeprefix(f"{facts['model']}-").rpartition("-")[0],
        _counts(facts["parameters"], facts["vocabulary"], folders),
        facts["corpus"]["tokens"], held_out["bytes"] / held_out["tokens"],
        [folder / "eval" / benchmark for folder in folders], [folder.name for folder in folders],
        np.array([one["bits_per_byte"] for one in losses]), losses[0]["step"].to_numpy(),
        losses[0]["tokens"].to_numpy(float), steps, np.array([tokens_of[step] for step in steps], dtype=float),
        credits_,
    )  # fmt: skip


def _counts(parameters: dict[str, int], vocabulary: int, folders: list[Path]) -> dict[str, int]:
    """Return what ``run.json`` and the folders tell of runs, as far as they do."""
    saved = min(len(list((folder / "checkpoints").glob("step*"))) for folder in folders)
    counts = {
        "parameters": parameters["total"], "non_embedding": parameters.get("non_embedding"), "vocabulary": vocabulary,
        "checkpoints": saved or None,
    }  # fmt: skip
    return {name: count for name, count in counts.items() if count is not None}


def _read_scores(folder: Path, pairs: pd.DataFrame) -> dict[int, pd.DataFrame]:
    files = sorted(folder.glob("step*.parquet"))
    return {int(file.stem.removeprefix("step")): _read_file(file, pairs) for file in files}


def _read_file(file: Path, pairs: pd.DataFrame) -> pd.DataFrame:
    return pd.read_parquet(file).set_index("pair").loc[pairs["pair"]]


@dataclass(frozen=True, eq=False)
class Beside:
    """The scores of n-gram models of the runs of a line, which are read where they are asked for."""

    line: Line
    pairs: pd.DataFrame

    def scores(self, run: int, order: int, step: int) -> pd.DataFrame:
        """Return the scores of the n-gram model of an order of what a run had seen at a step."""
        return _read_file(self.line.folders[run] / f"ngram-{order}" / f"step{step:08d}.parquet", self.pairs)


def scored_beside(line: Line) -> bool:
    """Say whether all runs of a line were compared with n-gram models of all orders."""
    return all((folder / f"ngram-{order}").is_dir() for folder in line.folders for order in ORDERS)


def of_ngrams(line: Line, pairs: pd.DataFrame) -> Iterator[Row]:
    """Compare the runs with n-gram models of the same tokens at each checkpoint, mean over runs."""
    beside = Beside(line, pairs)
    for place, (step, tokens) in enumerate(zip(line.steps, line.tokens, strict=True)):
        own = [_read_file(folder / "sentence" / f"step{step:08d}.parquet", pairs) for folder in line.folders]
        for order in ORDERS:
            found = []
            for run, scores in enumerate(own):
                theirs = beside.scores(run, order, step)
                credits_ = line.credits[SHOWN][run, place], credit_of(theirs, SHOWN)
                found.append(agreement(credits_, (margin_of(scores, SHOWN), margin_of(theirs, SHOWN))))
            where = {"line": line.name, "order": order, "step": step, "tokens": tokens, "runs": len(own)}
            yield where | {str(name): float(value) for name, value in pd.DataFrame(found).mean().items()}


def margin_of(scores: pd.DataFrame, linking: str) -> Array:
    """Return the value of the good sentences less that of the bad ones."""
    return _linked(scores, linking, "good") - _linked(scores, linking, "bad")


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
        "bytes_per_token": line.bytes_per_token, **line.facts,
        **over_seeds(line.losses[:, -1], "bits_per_byte"),
    }  # fmt: skip


def of_held_out(line: Line) -> Iterator[Row]:
    """Average the losses at each checkpoint."""
    for step, tokens, bits in zip(line.loss_steps, line.loss_tokens, line.losses.T, strict=True):
        epochs = tokens / line.corpus_tokens
        where = {"line": line.name, "step": step, "tokens": tokens, "runs": len(bits), "epochs": epochs}
        yield where | over_seeds(bits, "bits_per_byte")


def of_held_out_changes(line: Line) -> Iterator[Row]:
    """Compare the loss at the end with its lowest value."""
    rises = line.losses[:, -1] - line.losses.min(axis=1)
    yield {
        "line": line.name, "runs": len(line.runs), "lowest": line.losses.min(axis=1).mean(),
        "lowest_at": line.loss_tokens[line.losses.argmin(axis=1)].mean(), "end": line.losses[:, -1].mean(),
        "rising": (rises > 0).sum(), **over_seeds(rises, "rise"),
    }  # fmt: skip


def of_run_curves(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Return the accuracy of each run at each checkpoint."""
    for run, own in zip(line.runs, line.accuracies(chosen), strict=True):
        where = {"line": line.name, "phenomenon": phenomenon, "run": run}
        for step, tokens, accuracy in zip(line.steps, line.tokens, own, strict=True):
            yield where | {"step": step, "tokens": tokens, "accuracy": accuracy}


def of_linking_curves(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Average the runs at each checkpoint under each linking function: all pairs, and what the paper names."""
    for linking in line.credits if phenomenon in ("all", *NAMED) else ():
        where = {"line": line.name, "phenomenon": phenomenon, "linking": linking, "runs": len(line.runs)}
        means = line.accuracies(chosen, linking).mean(axis=0)
        for step, tokens, accuracy in zip(line.steps, line.tokens, means, strict=True):
            yield {**where, "step": step, "tokens": tokens, "accuracy": accuracy}


def of_smoothed(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Smooth the mean over runs; step 0 has no place on the log axis."""
    tokens, mean = line.tokens[line.trained], line.mean(chosen)
    for accuracy in line.accuracies(chosen).mean(axis=0)[~line.trained]:
        yield {
            "line": line.name,
            "phenomenon": phenomenon,
            "tokens": 0.0,
            "accuracy": accuracy,
            "smoothed": np.nan,
        }
    for at, accuracy, value in zip(tokens, mean, smooth(tokens, mean), strict=True):
        yield {"line": line.name, "phenomenon": phenomenon, "tokens": at, "accuracy": accuracy, "smoothed": value}


def of_shapes(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Find the deepest dip under each linking function."""
    tokens = line.tokens[line.trained]
    for linking in line.credits:
        dip = deepest_dip(tokens, smooth(tokens, line.mean(chosen, linking)))
        where = {"line": line.name, "phenomenon": phenomenon, "linking": linking, "named": phenomenon in NAMED}
        yield where | {"runs": len(line.runs), "items": chosen.sum(), "shown": linking == SHOWN, **dip}


def of_last_decade(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Compare the end of each run with a tenth of its tokens."""
    accuracies, tokens = line.accuracies(chosen)[:, line.trained], line.tokens[line.trained]
    places = [tokens[-1] / 10, tokens[-1]]
    before, end = (accuracies[:, abs(np.log10(tokens / place)) <= 0.15].mean(axis=1) for place in places)
    curves = [seed_variances.of_curve(tokens, own, place) for own in accuracies for place in places]
    yield {
        "line": line.name, "phenomenon": phenomenon, "named": phenomenon in NAMED, "runs": len(end),
        "tokens": line.tokens[-1], "before": before.mean(), "end": end.mean(), "falling": (end < before).sum(),
        _SEEDS: end - before, _CURVE: np.mean(curves, axis=0),
    }  # fmt: skip


def of_seed_agreement(line: Line, phenomenon: str, chosen: Mask) -> Iterator[Row]:
    """Compare every two runs: Cohen's kappa, and on how many pairs they agree."""
    right = line.credits[SHOWN][:, :, chosen] == 1
    for place, step in enumerate(line.steps if len(right) > 1 else ()):
        every_two = list(combinations(right[:, place], 2))
        known = [one for one in starmap(kappa, every_two) if not np.isnan(one)] or [np.nan]
        yield {
            "line": line.name, "phenomenon": phenomenon, "step": step, "tokens": line.tokens[place],
            "runs": len(right), "n": chosen.sum(),
            "kappa": np.mean(known), "kappa_low": min(known), "kappa_high": max(known),
            "agreement": np.mean([(one == other).mean() for one, other in every_two]),
        }  # fmt: skip


def of_paradigms(line: Line, pairs: pd.DataFrame) -> Iterator[Row]:
    """Find the deepest dip of each paradigm."""
    tokens = line.tokens[line.trained]
    for name in pairs["paradigm"].unique():
        chosen = (pairs["paradigm"] == name).to_numpy()
        where = {"line": line.name, "paradigm": name, "phenomenon": pairs.loc[chosen, "phenomenon"].iloc[0]}
        dip = deepest_dip(tokens, smooth(tokens, line.mean(chosen)))
        yield where | {"runs": len(line.runs), "items": chosen.sum(), **dip}


def of_equal_text(lines: Sequence[Line], parts: dict[str, Mask]) -> Iterator[Row]:
    """Read the tokenizers of each size at equal tokens and bytes."""
    for unit in ("tokens", "bytes"):
        for one, other in combinations(lines, 2):
            known = [line.bytes_per_token for line in (one, other)]
            if one.model != other.model or (unit == "bytes" and np.isnan(known).any()):
                continue
            alike = [line for line in lines if line.model == one.model]
            sizes = {line.name: line.tokens * (line.bytes_per_token if unit == "bytes" else 1) for line in alike}
            largest = min(size[-1] for size in sizes.values())
            rounded = [first * 10.0**power for power in range(6, 13) for first in (1, 3)]
            for amount in [*(value for value in rounded if value < largest), largest]:
                for phenomenon, chosen in parts.items():
                    for line in (one, other):
                        read, curve = _at(line, sizes[line.name], amount, chosen)
                        yield {
                            "model": one.model, "unit": unit, "amount": amount, "phenomenon": phenomenon,
                            "of": f"{one.tokenizer} - {other.tokenizer}", "tokenizer": line.tokenizer,
                            _SEEDS: read, _CURVE: curve,
                        }  # fmt: skip


def _at(line: Line, size: Array, amount: float, chosen: Mask) -> tuple[Array, Array]:
    """Read each run where it has had so much text, and how its curve goes there."""
    logs, accuracies = np.log(size[line.trained]), line.accuracies(chosen)[:, line.trained]
    curves = [seed_variances.of_curve(size[line.trained], own, amount) for own in accuracies]
    return np.array([np.interp(np.log(amount), logs, own) for own in accuracies]), np.mean(curves, axis=0)


def moderated(table: pd.DataFrame, keys: Sequence[str]) -> dict[Hashable, seed_variances.Setting]:
    """Read the seeds in each row, the mean over all pairs apart from phenomena."""
    found: dict[Hashable, seed_variances.Setting] = {}
    of_all = table["phenomenon"] == "all"
    for part in (table[of_all], table[~of_all]):
        places = list(part[list(keys)].itertuples(index=False, name=None))
        seeds: dict[Hashable, Sequence[float]] = dict(zip(places, part[_SEEDS], strict=True))
        curves: dict[Hashable, Sequence[float]] = dict(zip(places, part[_CURVE], strict=True))
        found |= seed_variances.read(seeds, curves)
    return found


def with_intervals(table: pd.DataFrame, keys: Sequence[str], name: str) -> pd.DataFrame:
    """Put the mean of the seeds in each row in their place, with its moderated interval."""
    cells = moderated(table, keys)
    bounds = pd.DataFrame(
        [
            seed_variances.weigh([cells[key]], [1.0])
            for key in table[list(keys)].itertuples(index=False, name=None)
        ]
    )
    return table.drop(columns=[_SEEDS, _CURVE]).assign(
        **{name: bounds["value"], f"{name}_low": bounds["low"], f"{name}_high": bounds["high"], "p": bounds["p"]}
    )


def differences(read: pd.DataFrame) -> pd.DataFrame:
    """Compare what ``of_equal_text`` read of every two tokenizers; Holm over the phenomena of an amount."""
    keys = ["model", "unit", "amount", "phenomenon"]
    cells = moderated(read.drop_duplicates([*keys, "tokenizer"]), [*keys, "tokenizer"])
    rows = []
    for key in read[[*keys, "of"]].drop_duplicates().itertuples(index=False, name=None):
        sides = [cells[*key[:-1], tokenizer] for tokenizer in key[-1].split(" - ")]
        rows.append({**dict(zip([*keys, "of"], key, strict=True)), **seed_variances.weigh(sides, [1, -1])})
    table = pd.DataFrame(rows).rename(columns={"value": "difference"})
    return with_holm(table, [table["model"], table["unit"], table["amount"], table["phenomenon"] == "all"])


def with_holm(table: pd.DataFrame, family: list[pd.Series]) -> pd.DataFrame:
    """Adjust the p values of each family."""
    return table.assign(
        p_holm=table.dropna(subset="p").groupby(family)["p"].transform(lambda p: holm(p.to_numpy()))
    )


BY_LINE = {"runs": of_runs, "held_out": of_held_out, "held_out_changes": of_held_out_changes}
BY_PHENOMENON = {
    "run_curves": of_run_curves, "linking_curves": of_linking_curves, "smoothed": of_smoothed, "shapes": of_shapes,
    "last_decade": of_last_decade, "seed_agreement": of_seed_agreement,
}  # fmt: skip
KEYS = {
    "runs": ["line"], "held_out": ["line", "step"], "held_out_changes": ["line"],
    "run_curves": ["line", "phenomenon", "run", "step"], "linking_curves": ["line", "phenomenon", "linking", "step"],
    "smoothed": ["line", "phenomenon", "tokens"], "shapes": ["line", "phenomenon", "linking"],
    "last_decade": ["line", "phenomenon"], "seed_agreement": ["line", "phenomenon", "step"],
    "paradigms": ["line", "paradigm"], "equal_text": ["model", "unit", "amount", "phenomenon", "of"],
    "over_sizes": ["line", "phenomenon"], "ngrams": ["line", "order", "step"],
    "ngram_dips": ["line", "of", "phenomenon", "linking"], "ngram_named": ["line", "phenomenon"],
}  # fmt: skip
NAMED = ("fci_licensing", "topicalization")  # in ZhoBLiMP, section 5.3
LATE = 10**7.5  # tokens
_COURSES = {"inverted-U": "rises, then falls", "falling": "falls", "rising": "rises", "flat": "stays"}
_SCOPE_WORDS = {
    "class": "these runs, other seeds and other pairs", "class_these_pairs": "other seeds, on these pairs",
    "class_these_runs": "these runs, on other pairs",
}  # fmt: skip
_P = {"p_dip": "p", "p_dip_holm": "p_holm"}
_CLASSES = ("class", "class_these_pairs", "class_these_runs")


def recompute(pairs: pd.DataFrame, lines: Sequence[Line]) -> dict[str, pd.DataFrame]:
    """Make tables with the columns of those in the CSV files, as far as they are computed here."""
    parts = {"all": np.ones(len(pairs), dtype=bool)}
    parts |= {name: (pairs["phenomenon"] == name).to_numpy() for name in pairs["phenomenon"].unique()}
    tables = {name: [row for line in lines for row in make(line)] for name, make in BY_LINE.items()}
    for name, of_part in BY_PHENOMENON.items():
        tables[name] = [
            row for line in lines for part, chosen in parts.items() for row in of_part(line, part, chosen)
        ]
    tables["paradigms"] = [row for line in lines for row in of_paradigms(line, pairs)]
    found = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    changes = with_intervals(found["last_decade"], KEYS["last_decade"], "change")
    found["last_decade"] = with_holm(changes, [changes["named"], changes["phenomenon"] == "all"])
    equal = pd.DataFrame(of_equal_text(lines, parts))
    return found | {"equal_text": differences(equal) if len(equal) else equal}


@dataclass(frozen=True, eq=False)
class Tested:
    """The tests of the curves of all phenomena under all linking functions, and what follows from them."""

    lines: pd.DataFrame  # of ``classify``, with runs_with_dip
    alone: pd.DataFrame  # of single runs
    turns: pd.DataFrame
    bands: pd.DataFrame
    limits: pd.DataFrame


def test_again(pairs: pd.DataFrame, lines: Sequence[Line]) -> Tested:
    """Test the curves of all lines under each linking function."""
    of_lines, of_runs, turns, bands, found = [], [], [], list[Row](), pd.DataFrame()
    for linking in lines[0].credits:
        curves = testable(
            curve
            for line in lines
            for curve in scored_curves(line.name, pairs, line.tokens, line.credits[linking])
        )
        single = alone(curves).assign(linking=linking)
        of_lines.append(
            classify(curves).join(dips_of_runs(single), on=["line", "phenomenon"]).assign(linking=linking)
        )
        of_runs.append(single)
        turns.append(intervals(curves).assign(linking=linking))
        if linking == SHOWN:
            bands = of_bands(curves)
            found = limits_of(curves)
    tested, single, places = (pd.concat(parts, ignore_index=True) for parts in (of_lines, of_runs, turns))
    return Tested(tested, single, places, pd.DataFrame(bands), found)


def paradigm_curves(pairs: pd.DataFrame, lines: Sequence[Line]) -> list[Scored]:
    """Return the curves of paradigms, and those of all pairs, which are in their family of Holm's procedure."""
    return testable(
        curve
        for line in lines
        for curve in scored_curves(line.name, pairs, line.tokens, line.credits[SHOWN], "paradigm")
    )


def size_curves(pairs: pd.DataFrame, lines: Sequence[Line]) -> list[Scored]:
    """Return the mean curves of the sizes that were trained alike, at their common checkpoints."""
    labels = dict.fromkeys(line.over_sizes for line in lines)
    found = []
    for label in labels:
        alike = [line for line in lines if line.over_sizes == label]
        if len(alike) > 1 and all(np.array_equal(line.tokens, alike[0].tokens) for line in alike):
            credits_ = np.concatenate([line.credits[SHOWN] for line in alike])
            sizes = np.repeat(np.arange(len(alike)), [len(line.runs) for line in alike])
            found += list(scored_curves(label, pairs, alike[0].tokens, credits_, sizes=sizes))
    return testable(found)


def of_sizes(curve: Scored) -> Row:
    """Find the deepest dip of a mean over sizes."""
    sizes = np.zeros(0) if curve.sizes is None else np.unique(curve.sizes)
    return {
        "line": curve.line, "phenomenon": curve.phenomenon, "named": curve.phenomenon in NAMED, "sizes": len(sizes),
        "runs": len(curve.credits), "items": curve.credits.shape[2],
        **deepest_dip(curve.tokens, smooth(curve.tokens, curve.mean)),
    }  # fmt: skip


def compare_classes(
    name: str, again: pd.DataFrame, turns: pd.DataFrame, page: pd.DataFrame, comparison: Comparison
) -> None:
    """Compare p values, classes and intervals of a table, and the words that are made of its classes."""
    keys = KEYS[name]
    tested = page[page["class"] != NOT_TESTED].rename(columns=_P)
    shown = [one for one in (*_P.values(), "runs_with_dip", "runs_with_dip_each", *_CLASSES) if one in tested]
    as_tests = dict(zip(keys, ("line", "phenomenon", "linking"), strict=False))
    sys.stdout.write(f"{name}: ")
    numbers, differ = report(again, tested[[*keys, *shown]].rename(columns=as_tests))
    comparison.add(name, [*keys, *_P, *shown], numbers, differ)
    as_page = {own: key for key, own in as_tests.items()}
    turns = turns.rename(columns=as_page).merge(page[keys])  # without the curves of all pairs beside paradigms
    comparison.tables(name, turns.drop(columns=["dip", "bump"]), page, keys)
    own = page[[*keys, "bottom", "runs", *_CLASSES]].merge(turns[[*keys, "dip", "bump", "these_pairs"]], on=keys)
    own = own.merge(again.rename(columns=as_page)[[*keys, "both"]], on=keys)
    if name == "over_sizes":  # the sizes of so many runs are tested as a line with as many degrees of freedom
        own["runs"] = own["runs"] - page["sizes"] + 1
    found = pd.DataFrame([course(row) for row in own.to_dict("records")], columns=["found", "scope"])
    comparison.tables(name, own[keys].join(found).assign(shape=labels(own)), page, keys)


def course(row: Mapping[Hashable, object]) -> tuple[str, str]:
    """Say what the classes of a row mean beside the paper, and for what that is shown."""
    scopes = dict(list(_SCOPE_WORDS.items())[bool(row["these_pairs"]) :])
    shown = [(str(row[name]), words) for name, words in scopes.items() if row[name] not in OPEN]
    for said, words in shown:
        if said == "U-shaped":
            return "falls and rises again" + ("" if float(str(row["bottom"])) >= LATE else ", earlier"), words
    return (_COURSES[shown[0][0]], shown[0][1]) if shown else ("undetermined", "")


def main() -> None:
    """Compare the CSV files of the page with what is computed here; exit with 1 where a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="the run folders of the page, or patterns")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/hundred_million/")
    parser.add_argument("--benchmark", default="zhoblimp", help="which of the scored benchmarks")
    arguments = parser.parse_args()
    data = arguments.docs / "data" / "hundred_million"
    stored = {path.stem: pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in data.glob("*.csv")}
    folders = [
        path for pattern in map(Path, arguments.runs) for path in sorted(pattern.parent.glob(pattern.name))
    ]
    scored = [path for path in folders if (path / "eval" / arguments.benchmark).is_dir()]
    if not scored:
        parser.error(f"--runs={' '.join(arguments.runs)}: no run folder with scores of {arguments.benchmark}")
    pairs, lines = read_lines(scored, arguments.benchmark, list(stored["shapes"]["linking"].unique()))
    comparison = Comparison()
    for name, own in recompute(pairs, lines).items():
        if len(own):
            comparison.tables(name, own, stored[name], KEYS[name])
    compare_tests(pairs, lines, stored, comparison)
    compare_lines(stored, comparison)
    comparison.end(stored)


def compare_tests(
    pairs: pd.DataFrame, lines: Sequence[Line], stored: dict[str, pd.DataFrame], comparison: Comparison
) -> None:
    """Test the curves of phenomena, of paradigms and of means over sizes again, and compare all that follows."""
    tested = test_again(pairs, lines)
    compare_classes("shapes", tested.lines, tested.turns, stored["shapes"], comparison)
    compare_limits(tested.limits, stored["shapes"], comparison)
    trained = stored["smoothed"][stored["smoothed"]["tokens"] > 0]
    comparison.tables("smoothed", tested.bands, trained, KEYS["smoothed"])
    compare_ngrams(pairs, [line for line in lines if scored_beside(line)], stored, tested, comparison)
    for name, curves in (("paradigms", paradigm_curves(pairs, lines)), ("over_sizes", size_curves(pairs, lines))):
        if len(stored[name]):
            compare_classes(name, classify(curves), intervals(curves), stored[name], comparison)
        if name == "over_sizes" and curves:
            comparison.tables(name, pd.DataFrame([of_sizes(one) for one in curves]), stored[name], KEYS[name])


def compare_ngrams(
    pairs: pd.DataFrame,
    lines: Sequence[Line],
    stored: dict[str, pd.DataFrame],
    tested: Tested,
    comparison: Comparison,
) -> None:
    """Compare the models with n-gram models again, and what these account for of dips."""
    if not lines:
        return
    comparison.tables(
        "ngrams",
        pd.DataFrame([row for line in lines for row in of_ngrams(line, pairs)]),
        stored["ngrams"],
        KEYS["ngrams"],
    )
    page = stored["ngram_dips"]
    shown = list(page[DIP].itertuples(index=False, name=None))
    found = found_dips(tested.lines, tested.alone, {line.name: line.runs for line in lines})
    wrong = check_dips(found, shown)
    comparison.add("ngram_dips", DIP, len(found), len(wrong))
    sys.stdout.writelines(f"  ngram_dips: {one}\n" for one in wrong)
    if not shown:
        return
    by_name = {line.name: line for line in lines}
    accounts = pd.concat([account_again(by_name[name], pairs, *rest) for name, *rest in shown], ignore_index=True)
    compare_accounts(comparison, "ngram_dips", one_order_of_each(accounts), page, KEYS["ngram_dips"])
    comparison.tables("ngram_named", counts_of_named(accounts), stored["ngram_named"], KEYS["ngram_named"])


def compare_limits(limits: pd.DataFrame, shapes: pd.DataFrame, comparison: Comparison) -> None:
    """Compare the smallest dips that would be found; what limits them where the page says it and draws tell it."""
    keys = ["line", "phenomenon"]
    page = shapes[(shapes["linking"] == SHOWN) & (shapes["class"] != NOT_TESTED)]
    comparison.tables("shapes", limits.drop(columns="limited_by"), page, keys)
    said = page.dropna(subset=["limited_by"])
    told = limits[limits["limited_by"] != ""].drop(
        columns=[name for name in limits if str(name).startswith("detectable")]
    )
    comparison.tables("shapes", told.merge(said[keys]), said.merge(told[keys]), keys)


def account_again(line: Line, pairs: pd.DataFrame, of: str, phenomenon: str, linking: str) -> pd.DataFrame:
    """Say what n-gram models account for of the dip of the mean of the runs, or of one run."""
    runs = list(range(len(line.runs))) if of == ALL_RUNS else [line.runs.index(of)]
    chosen = ((pairs["phenomenon"] == phenomenon) | (phenomenon == "all")).to_numpy()
    steps, beside = line.steps[line.trained], Beside(line, pairs)
    own = line.credits[linking][runs][:, :, chosen]
    curve = next(scored_curves(line.name, pairs[chosen], line.tokens, own))  # of all pairs that are chosen

    def credit_beside(run: int, order: int, place: int) -> Array:
        return credit_of(beside.scores(runs[run], order, steps[place]), linking)[chosen]

    found = account(curve.tokens, curve.credits, credit_beside, curve.paradigms, curve.clusters)
    return found.assign(line=line.name, of=of, phenomenon=phenomenon, linking=linking)


if __name__ == "__main__":
    main()
