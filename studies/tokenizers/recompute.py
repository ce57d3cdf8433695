"""Compute the numbers of the study's page again, from the score files alone, and compare them with its CSV files.

python -m studies.tokenizers.recompute --runs 'runs/tokenizers_small/*' [--docs docs]

It shares no code with the program that makes the page: it reads the Parquet files of scores, the held-out losses and
the pairs with pandas, and applies the definitions of the documentation. It prints the largest difference by CSV file
and ends with 1 where one is more than rounding. The tests of shape under SLLN-LP are made again too
(``studies.second_shape``), and it ends with 1 where a p value differs by more than Monte Carlo error, or a class that
this error does not explain. What it does not compute is at the end of what it prints: other p values and what is
decided by them, the intervals that are bootstrapped or of Welch's t, the change points, the critical regions and what
n-gram models account for of the dips.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, starmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from studies.second_shape import report, scored_curves, tested_again

Array = npt.NDArray[np.float64]
Rows = Iterable[dict[str, object]]
ROUNDING = 1e-5  # relative: the CSV files have six significant digits
SHOWN = "slln_lp"  # the linking function of the page
EXPONENTS = {  # LP is divided by the length to this power
    "lp": 0.0, "mean_lp": 1.0, "slln_lp": 0.5, "slln_lp:0.1": 0.1, "slln_lp:0.3": 0.3, "slln_lp:0.7": 0.7,
    "slln_lp:0.9": 0.9,
}  # fmt: skip
LINKINGS = (*EXPONENTS, "pen_lp", "slor")
ALPHAS = np.arange(21) / 20
SEEDS = 3
SPLITS = ("equal", "good_longer", "bad_longer")
NOT_COMPUTED = {
    "study_differences_at_equal_loss.csv": "low, high, p, p_holm",
    "study_best_alpha_changes.csv": "intervals of differences and of the mean of all tokenizers",
    "study_below_chance.csv": "below, holm_below",
    "study_onsets.csv": "whether a curve ends above 55 % beyond chance, so whether there is an onset",
    "study_learned_first.csv": "first, chance",
    "study_critical_regions.csv": "margin_critical and margin_after with their intervals",
    "study_dips.csv": "depth_low, depth_high; of linking functions other than slln_lp what tests decide",
    "study_ngram_dips.csv": "kappa_start, kappa_bottom and the account of each order",
    "study_ngram_named.csv": "everything",
    "study_change_points.csv": "everything",
}


def linked(linking: str | float, lp: Array, n: Array, unigram: Array) -> Array:
    """Apply a linking function, or SLLN-LP with an alpha (ZhoBLiMP, sections 4.1 and 4.3)."""
    if linking == "slor":
        return (lp - unigram) / n
    if linking == "pen_lp":
        return np.asarray(lp / ((5 + n) / (5 + 1)) ** 0.8)
    return np.asarray(lp / n ** (EXPONENTS[linking] if isinstance(linking, str) else linking))


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of a run with the scores of its pairs."""

    step: int
    tokens: float
    lp: tuple[Array, Array]  # of the good and of the bad sentences
    n: tuple[Array, Array]
    unigram: tuple[Array, Array]

    def margin(self, linking: str | float) -> tuple[Array, Array]:
        """Return the value of the good sentences less that of the bad ones, and how far apart two tied ones may be."""
        good, bad = (linked(linking, self.lp[side], self.n[side], self.unigram[side]) for side in (0, 1))
        return good - bad, 1e-6 * np.maximum(1, np.maximum(abs(good), abs(bad)))

    def credit(self, linking: str | float) -> Array:
        """Return 1 for a pair that is right, 0 for a wrong one and one half for a tie."""
        margin, tie = self.margin(linking)
        return np.where(abs(margin) <= tie, 0.5, margin > 0)


class RunScores:
    """What is stored of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.tokenizer = str(facts["tokenizer"])
        self.held_out = pd.read_csv(folder / "held_out.csv").sort_values("step")
        self.tokens = dict(zip(self.held_out["step"], self.held_out["tokens"].astype(float), strict=True))
        self.eval = next(path for path in sorted((folder / "eval").iterdir()) if (path / "pairs.parquet").is_file())
        pairs = pd.read_parquet(self.eval / "pairs.parquet")
        self.pairs = pairs[pairs["good"] != pairs["bad"]].reset_index(drop=True)
        self.checkpoints = list(self.read("sentence"))
        self.credits = {name: np.stack([one.credit(name) for one in self.checkpoints]) for name in LINKINGS}

    def read(self, scorer: str) -> Iterator[Checkpoint]:
        """Read the scores of all checkpoints, the first one first."""
        for path in sorted((self.eval / scorer).glob("step*[0-9].parquet")):
            table = pd.read_parquet(path).set_index("pair").loc[self.pairs["pair"]]
            lp, n, unigram = (
                (table[f"{name}_good"].to_numpy(float), table[f"{name}_bad"].to_numpy(float)) for name in _READ
            )
            step = int(path.stem.removeprefix("step"))
            yield Checkpoint(step, self.tokens[step], lp, n, unigram)

    @property
    def steps(self) -> list[int]:
        """The steps of its checkpoints."""
        return [one.step for one in self.checkpoints]

    def parts(self) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """Yield all pairs and each phenomenon, with the pairs that belong to it."""
        yield "all", np.ones(len(self.pairs), dtype=bool)
        for name in self.pairs["phenomenon"].unique():
            yield str(name), (self.pairs["phenomenon"] == name).to_numpy()

    def tokens_at_bits(self, level: float) -> float:
        """Return the tokens at which the held-out loss first comes down to a level, NaN where it does not."""
        loss = self.held_out[self.held_out["step"] > 0]
        bits, logs = loss["bits_per_byte"].to_numpy(), np.log(loss["tokens"].to_numpy(float))
        after = int(np.argmax(bits <= level))
        if after == 0:
            return float("nan")
        share = (bits[after - 1] - level) / (bits[after - 1] - bits[after])
        return float(np.exp(logs[after - 1] + share * (logs[after] - logs[after - 1])))


_READ = ("lp", "n", "unigram")


def interval(values: Iterable[float], name: str) -> dict[str, float]:
    """Average numbers of seeds; the bounds are those of Student's t where there are three, otherwise left out."""
    known = np.array([value for value in values if not np.isnan(value)])
    mean = float(known.mean()) if len(known) else float("nan")
    if len(known) != SEEDS:
        return {name: mean}
    # The quantile of Student's t with two degrees of freedom has a formula.
    half = 0.95 * np.sqrt(2 / (1 - 0.95**2)) * known.std(ddof=1) / np.sqrt(SEEDS)
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


@lru_cache
def smoothing(tokens: tuple[float, ...], width: float) -> Array:
    """Return the weights of a normal kernel over log10 tokens (docs/shape.md)."""
    logs = np.log10(tokens)
    kernel = np.exp(-(((logs[:, None] - logs) / width) ** 2) / 2)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


def by_tokenizer(runs: list[RunScores]) -> dict[str, list[RunScores]]:
    """Gather the runs of each tokenizer."""
    return {name: [run for run in runs if run.tokenizer == name] for name in dict.fromkeys(r.tokenizer for r in runs)}


def curves(runs: list[RunScores]) -> Rows:
    """Average accuracies and losses over the seeds."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            for place, step in enumerate(own[0].steps):
                if step == 0:
                    continue
                accuracies = [run.credits[SHOWN][place][chosen].mean() for run in own]
                bits = [run.held_out.set_index("step")["bits_per_byte"][step] for run in own]
                mean, spread = np.mean(accuracies), np.std(accuracies, ddof=1)
                yield {
                    "tokenizer": tokenizer, "phenomenon": phenomenon, "step": step, "tokens": own[0].tokens[step],
                    "runs": len(own), "bits_per_byte": np.mean(bits), "accuracy": mean, "low": mean - spread,
                    "high": mean + spread,
                }  # fmt: skip


def _accuracies_at(runs: list[RunScores], level: float) -> Iterator[tuple[str, str, list[float], list[float]]]:
    for tokenizer, own in by_tokenizer(runs).items():
        tokens = [run.tokens_at_bits(level) for run in own]
        for phenomenon, chosen in own[0].parts():
            found = []
            for run, place in zip(own, tokens, strict=True):
                trained = [one for one in run.steps if one > 0]
                logs = np.log([run.tokens[one] for one in trained])
                accuracies = run.credits[SHOWN][-len(trained) :, chosen].mean(axis=1)
                found.append(float(np.interp(np.log(place), logs, accuracies)))
            yield tokenizer, phenomenon, tokens, found


def accuracy_at_equal_loss(runs: list[RunScores], levels: Iterable[float]) -> Rows:
    """Read accuracies where the loss comes down to a level."""
    for level in levels:
        for tokenizer, phenomenon, tokens, found in _accuracies_at(runs, level):
            bounds = interval(found, "accuracy")
            row = {"bits_per_byte": level, "phenomenon": phenomenon, "tokenizer": tokenizer, "tokens": np.mean(tokens)}
            low_high = {end: np.clip(bounds[f"accuracy_{end}"], 0, 1) for end in ("low", "high")}
            yield row | {"runs": len(found), "accuracy": bounds["accuracy"]} | low_high


def differences_at_equal_loss(runs: list[RunScores], levels: Iterable[float]) -> Rows:
    """Subtract the accuracies of two tokenizers."""
    for level in levels:
        means = {(name, phenomenon): np.mean(found) for name, phenomenon, _, found in _accuracies_at(runs, level)}
        for one, other in combinations(by_tokenizer(runs), 2):
            for phenomenon, _ in runs[0].parts():
                apart = means[one, phenomenon] - means[other, phenomenon]
                yield {
                    "bits_per_byte": level, "phenomenon": phenomenon, "of": f"{one} - {other}", "difference": apart,
                }  # fmt: skip


def _best_alphas(run: RunScores) -> Iterator[tuple[Checkpoint, dict[str, float]]]:
    splits = _splits(run.checkpoints[0])
    for one in run.checkpoints:
        accuracies, biases = [], []
        for alpha in ALPHAS:
            credit = one.credit(float(alpha))
            accuracies.append(credit.mean())
            biases.append(_bias([credit[split].mean() for split in splits]))
        best = {"accuracy": np.argmax(np.round(accuracies, 9)), "delta_acc": np.argmin(np.round(biases, 9))}
        yield one, {name: float(ALPHAS[place]) for name, place in best.items()}


def _splits(checkpoint: Checkpoint) -> list[npt.NDArray[np.bool_]]:
    good, bad = checkpoint.n
    return [good == bad, good > bad, good < bad]


def _bias(of_splits: list[float]) -> float:
    equal, good_longer, bad_longer = of_splits
    return (abs(good_longer - equal) + abs(bad_longer - equal)) / 2


def best_alpha(alphas: pd.DataFrame) -> Rows:
    """Average the best alphas over the seeds."""
    for (criterion, tokenizer, step, tokens), part in alphas.groupby(["criterion", "tokenizer", "step", "tokens"]):
        bounds = interval(part["alpha"], "alpha")
        row = {"criterion": criterion, "tokenizer": tokenizer, "step": step, "tokens": tokens, "runs": len(part)}
        low_high = {end: np.clip(bounds[f"alpha_{end}"], 0, 1) for end in ("low", "high")}
        yield row | {"alpha": bounds["alpha"]} | low_high


def best_alpha_changes(alphas: pd.DataFrame) -> Rows:
    """Find the slope over the last decade of tokens and the alpha at the end."""
    for criterion, own in alphas.groupby("criterion"):
        numbers: dict[str, dict[str, list[float]]] = {}
        for (tokenizer, _), part in own.groupby(["tokenizer", "run"], sort=False):
            late = part[part["tokens"] >= part["tokens"].max() / 10]
            places = np.log10(late["tokens"]) - np.log10(late["tokens"]).mean()
            found = numbers.setdefault(str(tokenizer), {"slope": [], "end": []})
            found["slope"].append(float((places * late["alpha"]).sum() / (places**2).sum()))
            found["end"].append(float(part["alpha"].iloc[-1]))
        means = {name: {key: float(np.mean(values)) for key, values in one.items()} for name, one in numbers.items()}
        for tokenizer, of_runs in numbers.items():
            slope, end = interval(of_runs["slope"], "slope"), interval(of_runs["end"], "end")
            end |= {bound: np.clip(end[bound], 0, 1) for bound in ("end_low", "end_high") if bound in end}
            yield {"criterion": criterion, "of": tokenizer, **slope, **end}
        every = {key: np.mean([mean[key] for mean in means.values()]) for key in ("slope", "end")}
        yield {"criterion": criterion, "of": "all", **every}
        for one, other in combinations(means, 2):
            apart = {key: means[one][key] - means[other][key] for key in ("slope", "end")}
            yield {"criterion": criterion, "of": f"{one} - {other}", **apart}


def linking_functions(runs: list[RunScores]) -> Rows:
    """Find the accuracies of each linking function at the last checkpoint, by length."""
    for linking in LINKINGS:
        row: dict[str, object] = {"linking": linking}
        for tokenizer, own in by_tokenizer(runs).items():
            of_runs = [
                [run.credits[linking][-1][split].mean() for split in _splits(run.checkpoints[-1])] for run in own
            ]
            row |= {f"{tokenizer}_{name}": np.mean([one[i] for one in of_runs]) for i, name in enumerate(SPLITS)}
            row[f"{tokenizer}_accuracy"] = np.mean([run.credits[linking][-1].mean() for run in own])
            row[f"{tokenizer}_delta_acc"] = np.mean([_bias(one) for one in of_runs])
        yield row


def pairs_by_length(runs: list[RunScores]) -> Rows:
    """Count the pairs by length."""
    for tokenizer, own in by_tokenizer(runs).items():
        counts = dict(zip(SPLITS, [int(split.sum()) for split in _splits(own[0].checkpoints[0])], strict=True))
        yield {"tokenizer": tokenizer, **counts, "all": len(own[0].pairs)}


def single_pairs(runs: list[RunScores]) -> Rows:
    """Say what becomes of single pairs."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            shares: dict[str, list[float]] = {}
            for run in own:
                right = run.credits[SHOWN][:, chosen] == 1
                learned = right[0].astype(int) + (right[1:] & ~right[:-1]).sum(axis=0)
                of_pairs = {
                    "ever_right": right.any(axis=0), "always_right": right.all(axis=0), "right_for_good": right[-1],
                    "lost": right.any(axis=0) & ~right[-1], "relearned": learned > 1,
                }  # fmt: skip
                for name, values in of_pairs.items():
                    shares.setdefault(name, []).append(float(values.mean()))
            row = {"tokenizer": tokenizer, "phenomenon": phenomenon, "runs": len(own), "n": int(chosen.sum())}
            yield row | {key: value for name, one in shares.items() for key, value in interval(one, name).items()}


def _kappa(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    by_chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float(((one == other).mean() - by_chance) / (1 - by_chance)) if by_chance < 1 else float("nan")


def seed_agreement(runs: list[RunScores]) -> Rows:
    """Compare every two seeds on which pairs are right."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            for place, step in enumerate(own[0].steps):
                right = [run.credits[SHOWN][place][chosen] == 1 for run in own]
                kappas = [one for one in starmap(_kappa, combinations(right, 2)) if not np.isnan(one)]
                agreed = [(one == other).mean() for one, other in combinations(right, 2)]
                yield {
                    "tokenizer": tokenizer, "phenomenon": phenomenon, "step": step, "tokens": own[0].tokens[step],
                    "runs": len(own), "n": int(chosen.sum()), "kappa": np.mean(kappas or np.nan),
                    "kappa_low": min(kappas, default=np.nan), "kappa_high": max(kappas, default=np.nan),
                    "agreement": np.mean(agreed),
                }  # fmt: skip


def _mean_curve(own: list[RunScores], linking: str, chosen: npt.NDArray[np.bool_]) -> tuple[tuple[float, ...], Array]:
    trained = [place for place, step in enumerate(own[0].steps) if step > 0]
    tokens = tuple(own[0].checkpoints[place].tokens for place in trained)
    return tokens, np.mean([run.credits[linking][trained][:, chosen].mean(axis=1) for run in own], axis=0)


def dips(runs: list[RunScores]) -> Rows:
    """Find the deepest dip of the smoothed mean curves: the lowest place with the largest smaller side."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            for linking in LINKINGS:
                tokens, mean = _mean_curve(own, linking, chosen)
                smooth = smoothing(tokens, 0.15) @ mean
                sides = [
                    min(smooth[: place + 1].max(), smooth[place:].max()) - smooth[place] for place in range(len(smooth))
                ]
                place = int(np.argmax(sides))
                logs = np.log10(tokens)
                lowest = logs[place]
                if 0 < place < len(smooth) - 1:
                    square, slope, _ = np.polyfit(logs[place - 1 : place + 2], smooth[place - 1 : place + 2], 2)
                    lowest = -slope / (2 * square) if square > 0 else lowest
                yield {
                    "tokenizer": tokenizer, "phenomenon": phenomenon, "linking": linking, "depth": sides[place],
                    "turn_from": tokens[int(np.argmax(smooth[: place + 1]))], "place": 10**lowest,
                    "turn_to": tokens[place + int(np.argmax(smooth[place:]))],
                }  # fmt: skip


def compare_tests(runs: list[RunScores], table: pd.DataFrame) -> int:
    """Test the shapes of all curves again, and print and return how many p values and classes of the page differ."""
    curves = (
        curve
        for tokenizer, own in by_tokenizer(runs).items()
        for curve in scored_curves(
            tokenizer, own[0].pairs, np.array([one.tokens for one in own[0].checkpoints]),
            np.stack([run.credits[SHOWN] for run in own]),
        )
    )  # fmt: skip
    page = table[table["linking"] == SHOWN].rename(columns={"tokenizer": "line"})
    page["class"] = page["shape"].str.split(r" \(|, also", regex=True).str[0]
    for scope in ("these_pairs", "these_runs"):
        page[f"class_{scope}"] = np.where(page[f"in_{scope}"], "U-shaped", "other than U-shaped")
    names = ["line", "phenomenon", "p", "p_holm", "runs_with_dip", "class", "class_these_pairs", "class_these_runs"]
    return report(tested_again(curves), page[names])[1]


def below_chance(runs: list[RunScores]) -> Rows:
    """Find where the smoothed curves end, and since when those that end below chance have been there."""
    paradigms = runs[0].pairs["paradigm"]
    phenomena = runs[0].pairs.groupby("paradigm")["phenomenon"].first()
    parts = [(name, "all", chosen) for name, chosen in runs[0].parts()]
    parts += [(str(phenomena[name]), name, (paradigms == name).to_numpy()) for name in paradigms.unique()]
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, paradigm, chosen in parts:
            tokens, mean = _mean_curve(own, SHOWN, chosen)
            smooth = smoothing(tokens, 0.15) @ mean
            last_above = max(np.flatnonzero(smooth >= 0.5), default=-1)
            since = tokens[last_above + 1] if last_above + 1 < len(tokens) else np.nan
            row = {"tokenizer": tokenizer, "phenomenon": phenomenon, "paradigm": paradigm, "runs": len(own)}
            yield row | {"end": smooth[-1], "below_from": since}


def onsets(runs: list[RunScores]) -> Rows:
    """Find where the curve of each run last comes above 55 %, if its end is above that."""
    for run in runs:
        loss = run.held_out[run.held_out["step"] > 0]
        for phenomenon, chosen in run.parts():
            tokens, mean = _mean_curve([run], SHOWN, chosen)
            logs, height = np.log10(tokens), smoothing(tokens, 0.05) @ mean - 0.55
            last_below = max(np.flatnonzero(height < 0), default=-1)
            if last_below == len(height) - 1:
                continue
            place = logs[0]
            if last_below >= 0:
                left, right = height[last_below : last_below + 2]
                place = logs[last_below] - left / (right - left) * (logs[last_below + 1] - logs[last_below])
            bits = np.interp(place, np.log10(loss["tokens"]), loss["bits_per_byte"]) if last_below >= 0 else np.nan
            yield {"run": run.name, "phenomenon": phenomenon, "onset": 10**place, "bits_per_byte": bits}


def learned_first(onsets: pd.DataFrame) -> Rows:
    """Average the losses at the onsets; the file says which runs have one."""
    for phenomenon, part in onsets.groupby("phenomenon", sort=False):
        row: dict[str, object] = {"phenomenon": phenomenon}
        for tokenizer, own in part.groupby("tokenizer", sort=False):
            row |= {str(tokenizer): own["bits_per_byte"].mean(), f"{tokenizer}_runs": own["bits_per_byte"].count()}
        yield row


def ngrams(runs: list[RunScores]) -> pd.DataFrame:
    """Compare the runs with n-gram models of the same tokens."""
    rows = []
    for run in runs:
        for order in range(1, 6):
            for own, beside in zip(run.checkpoints, run.read(f"ngram-{order}"), strict=True):
                credit, theirs = own.credit(SHOWN), beside.credit(SHOWN)
                wrong = theirs == 0
                margins = own.margin(SHOWN)[0], beside.margin(SHOWN)[0]
                rows.append({
                    "tokenizer": run.tokenizer, "order": order, "step": own.step, "tokens": own.tokens,
                    "accuracy": credit.mean(), "ngram_accuracy": theirs.mean(),
                    "pearson": np.corrcoef(*margins)[0, 1], "kappa": _kappa(credit == 1, theirs == 1),
                    "accuracy_where_wrong": credit[wrong].mean(),
                })  # fmt: skip
    keys = ["tokenizer", "order", "step", "tokens"]
    return pd.DataFrame(rows).groupby(keys, as_index=False, sort=False).mean()


def critical_regions(runs: list[RunScores]) -> Rows:
    """Average the margins under LP at the last checkpoint, in bits."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            margins = [run.checkpoints[-1].margin("lp")[0][chosen].mean() / np.log(2) for run in own]
            row = {"tokenizer": tokenizer, "phenomenon": phenomenon, "step": own[0].steps[-1], "runs": len(own)}
            yield row | {"pairs": int(chosen.sum()), **interval(margins, "margin")}


def losses(runs: list[RunScores]) -> Rows:
    """Average the last losses."""
    for tokenizer, own in by_tokenizer(runs).items():
        last = interval((run.held_out["bits_per_byte"].iloc[-1] for run in own), "bits_per_byte")
        low_high = {end: last[f"bits_per_byte_{end}"] for end in ("low", "high")}
        yield {"tokenizer": tokenizer, "runs": len(own), "bits_per_byte": last["bits_per_byte"]} | low_high


def ngram_dips(runs: list[RunScores], table: pd.DataFrame) -> Rows:
    """Measure the falls between the checkpoints that the file names."""
    parts = dict(runs[0].parts())
    for row in table.drop_duplicates(["tokenizer", "of", "phenomenon", "linking"]).to_dict("records"):
        own = [run for run in runs if row["of"] in (run.name, "all runs") and run.tokenizer == row["tokenizer"]]
        tokens, mean = _mean_curve(own, row["linking"], parts[row["phenomenon"]])
        smooth = smoothing(tokens, 0.15) @ mean
        start, bottom = (int(np.abs(np.array(tokens) - row[place]).argmin()) for place in ("start", "bottom"))
        found = {name: row[name] for name in ("tokenizer", "of", "phenomenon", "linking")}
        yield found | {"fall": smooth[start] - smooth[bottom]}


def largest_difference(page: pd.DataFrame, again: Rows | pd.DataFrame, keys: list[str]) -> tuple[float, str, int]:
    """Return the largest difference, relative where a number is above 1, its column, and how many were compared.

    A number that the page does not have, because it shows none there, is not compared; one that is missing here is.
    """
    found = pd.DataFrame(again)
    both = page.merge(found, on=keys, how="left", suffixes=("", "_again"), validate="many_to_one")
    worst, column, compared = 0.0, "", 0
    for name in (one for one in map(str, found.columns) if one not in keys):
        ours, theirs = both[name].astype(float), both[f"{name}_again"].astype(float)
        shown = ours.notna() if name not in _INTERVALS_LEFT_OUT else ours.notna() & theirs.notna()
        apart = ((ours - theirs).abs() / ours.abs().clip(lower=1))[shown].fillna(np.inf)
        compared += int(shown.sum())
        if len(apart) and apart.max() > worst:
            worst, column = float(apart.max()), name
    return worst, column, compared


_INTERVALS_LEFT_OUT = ("slope_low", "slope_high", "end_low", "end_high")


def compare(runs: list[RunScores], page: dict[str, pd.DataFrame]) -> Iterator[tuple[str, float, str, int]]:
    """Compute each CSV file again; yield its name and what ``largest_difference`` says."""
    levels = page["study_accuracy_at_equal_loss.csv"]["bits_per_byte"].unique().tolist()
    alphas = pd.DataFrame(
        {"run": run.name, "tokenizer": run.tokenizer, "step": one.step, "tokens": one.tokens, "criterion": name,
         "alpha": alpha}
        for run in runs for one, best in _best_alphas(run) for name, alpha in best.items()
    )  # fmt: skip
    curve = ["tokenizer", "phenomenon"]
    again: dict[str, tuple[Rows | pd.DataFrame, list[str]]] = {
        "runs": (losses(runs), ["tokenizer"]),
        "curves": (curves(runs), [*curve, "step"]),
        "accuracy_at_equal_loss": (accuracy_at_equal_loss(runs, levels), ["bits_per_byte", *curve]),
        "differences_at_equal_loss": (differences_at_equal_loss(runs, levels), ["bits_per_byte", "phenomenon", "of"]),
        "best_alpha": (best_alpha(alphas), ["criterion", "tokenizer", "step"]),
        "best_alpha_changes": (best_alpha_changes(alphas), ["criterion", "of"]),
        "linking_functions": (linking_functions(runs), ["linking"]),
        "pairs_by_length": (pairs_by_length(runs), ["tokenizer"]),
        "pairs": (single_pairs(runs), curve),
        "seed_agreement": (seed_agreement(runs), [*curve, "step"]),
        "dips": (dips(runs), [*curve, "linking"]),
        "below_chance": (below_chance(runs), [*curve, "paradigm"]),
        "onsets": (onsets(runs), ["run", "phenomenon"]),
        "learned_first": (learned_first(page["study_onsets.csv"]), ["phenomenon"]),
        "critical_regions": (critical_regions(runs), curve),
        "ngrams": (ngrams(runs), ["tokenizer", "order", "step"]),
        "ngram_dips": (ngram_dips(runs, page["study_ngram_dips.csv"]), ["tokenizer", "of", "phenomenon", "linking"]),
    }
    for name, (rows, keys) in again.items():
        yield f"study_{name}.csv", *largest_difference(page[f"study_{name}.csv"], rows, keys)


def main() -> None:
    """Print the differences; end with 1 where one is more than rounding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="the run folders of the page, or patterns")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/study_*.csv")
    arguments = parser.parse_args()
    found = (path for pattern in map(Path, arguments.runs) for path in sorted(pattern.parent.glob(pattern.name)))
    folders = [path for path in found if (path / "run.json").is_file()]
    page = {path.name: pd.read_csv(path) for path in sorted((arguments.docs / "data").glob("study_*.csv"))}
    order = page["study_runs.csv"]["tokenizer"].tolist()
    runs = sorted((RunScores(folder) for folder in folders), key=lambda run: order.index(run.tokenizer))
    differs = False
    for name, worst, column, compared in compare(runs, page):
        differs |= worst > ROUNDING
        sys.stdout.write(f"{name}: {compared} numbers, largest difference {worst:.1e} {column}\n")
    differs |= compare_tests(runs, page["study_dips.csv"]) > 0
    for name, columns in NOT_COMPUTED.items():
        sys.stdout.write(f"not computed, {name}: {columns}\n")
    sys.exit(int(differs))


if __name__ == "__main__":
    main()
