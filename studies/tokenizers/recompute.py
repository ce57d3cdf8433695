"""Compute the numbers of the study's page again, from the score files alone, and compare them with its CSV files.

python -m studies.tokenizers.recompute --runs 'runs/tokenizers_small/*' [--docs docs]

It shares no code with the program that makes the page: it reads the Parquet files of scores, the held-out losses and
the pairs with pandas, and applies the definitions of the documentation (tests of shape: ``studies.recomputed.shape``).
It prints what it compared of each CSV file and ends with 1 where a number differs by more than rounding, or where it is
made of random draws by more than Monte Carlo error, or a class that this error does not explain. The last lines say
which columns nothing was compared with.
"""

import argparse
import json
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, starmap
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from studies.recomputed import levels, seed_variances
from studies.recomputed.changes import LOSS, changes_of, of_accuracy, of_loss
from studies.recomputed.compare import Comparison
from studies.recomputed.intervals import intervals, vertices
from studies.recomputed.ngrams import (
    ALL_RUNS,
    ORDERS,
    account,
    agreement,
    check_dips,
    compare_accounts,
    counts_of_named,
    found_dips,
    kappa,
)
from studies.recomputed.shape import (
    LEVEL,
    Scored,
    alone,
    classify,
    deepest,
    dips_of_runs,
    holm,
    report,
    scored_curves,
    smoothing,
    testable,
)
from studies.recomputed.words import labels

Array = npt.NDArray[np.float64]
Rows = Iterable[dict[str, object]]
SHOWN = "slln_lp"  # the linking function of the page
EXPONENTS = {  # LP is divided by the length to this power
    "lp": 0.0, "mean_lp": 1.0, "slln_lp": 0.5, "slln_lp:0.1": 0.1, "slln_lp:0.3": 0.3, "slln_lp:0.7": 0.7,
    "slln_lp:0.9": 0.9,
}  # fmt: skip
LINKINGS = (*EXPONENTS, "pen_lp", "slor")
ALPHAS = np.arange(21) / 20
SEEDS = 3
SPLITS = ("equal", "good_longer", "bad_longer")
Setting = tuple[float, str, str]  # bits per byte, phenomenon, tokenizer
_SETTING = ["bits_per_byte", "phenomenon", "tokenizer"]


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
        self.facts, self.tokenizer = facts, str(facts["tokenizer"])
        self.held_out = pd.read_csv(folder / "held_out.csv").sort_values("step")
        self.tokens = dict(zip(self.held_out["step"], self.held_out["tokens"].astype(float), strict=True))
        self.eval = next(
            path for path in sorted((folder / "eval").iterdir()) if (path / "pairs.parquet").is_file()
        )
        pairs = pd.read_parquet(self.eval / "pairs.parquet")
        self.pairs = pairs[pairs["good"] != pairs["bad"]].reset_index(drop=True)
        self.checkpoints = list(self.read("sentence"))
        self.credits = {name: np.stack([one.credit(name) for one in self.checkpoints]) for name in LINKINGS}

    def read(self, scorer: str) -> Iterator[Checkpoint]:
        """Read the scores of all checkpoints, the first one first."""
        for path in sorted((self.eval / scorer).glob("step*[0-9].parquet")):
            yield self.read_step(scorer, int(path.stem.removeprefix("step")))

    def read_step(self, scorer: str, step: int) -> Checkpoint:
        """Read the scores of one checkpoint."""
        columns = ["pair", *(f"{name}_{side}" for name in _READ for side in ("good", "bad"))]
        table = pd.read_parquet(self.eval / scorer / f"step{step:08d}.parquet", columns=columns)
        table = table.set_index("pair").loc[self.pairs["pair"]]
        lp, n, unigram = (
            (table[f"{name}_good"].to_numpy(float), table[f"{name}_bad"].to_numpy(float)) for name in _READ
        )
        return Checkpoint(step, self.tokens[step], lp, n, unigram)

    @property
    def steps(self) -> list[int]:
        """The steps of its checkpoints."""
        return [one.step for one in self.checkpoints]

    def margin_parts(self) -> dict[str, Array]:
        """Return the margins under LP of the last checkpoint in bits, from the log probabilities of the tokens."""
        sentences = pd.read_parquet(next(self.eval.glob("sentences-*.parquet")))
        lps = pd.read_parquet(self.eval / "sentence" / f"tokens-step{self.steps[-1]:08d}.parquet")["lp"].tolist()
        tokens = sentences["token"].tolist()
        of_pair = {
            side: {pair: row for row, pairs in enumerate(sentences[f"{side}_of"]) for pair in pairs}
            for side in ("good", "bad")
        }  # fmt: skip
        found = []
        for pair in self.pairs["pair"]:
            good, bad = of_pair["good"][pair], of_pair["bad"][pair]
            before, after = split_regions(tokens[good], tokens[bad])
            of_tokens = [lp[: len(lp) - after][before:].sum() for lp in (lps[good], lps[bad])]
            ends = [lp[len(lp) - after :].sum() for lp in (lps[good], lps[bad])]
            critical, last = of_tokens[0] - of_tokens[1], ends[0] - ends[1]
            starts = lps[good][:before].sum() - lps[bad][:before].sum()
            found.append((starts + critical + last, critical, last))
        names = ("margin", "margin_critical", "margin_after")
        return dict(zip(names, np.array(found, dtype=float).T / np.log(2), strict=True))

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


def contrast(sides: Sequence[Iterable[float]], weights: Sequence[float], name: str) -> dict[str, float]:
    """Weigh the means of the seeds of several tokenizers, 95 % by Student's t (degrees of freedom by Welch 1947)."""
    known = [np.array([value for value in side if not np.isnan(value)]) for side in sides]
    mean = sum(weight * side.mean() if len(side) else np.nan for weight, side in zip(weights, known, strict=True))
    if any(len(side) < 2 for side in known):
        return {name: mean}
    parts = [
        (weight**2 * side.var(ddof=1) / len(side), len(side) - 1)
        for weight, side in zip(weights, known, strict=True)
    ]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts) if variance else 1.0
    half = float(student.isf(0.025, freedom)) * variance**0.5
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def interval(values: Iterable[float], name: str) -> dict[str, float]:
    """Average numbers of seeds, 95 % by Student's t."""
    return contrast([values], [1.0], name)


def by_tokenizer(runs: list[RunScores]) -> dict[str, list[RunScores]]:
    """Gather the runs of each tokenizer."""
    return {
        name: [run for run in runs if run.tokenizer == name] for name in dict.fromkeys(r.tokenizer for r in runs)
    }


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


def accuracy_at_equal_loss(runs: list[RunScores], levels: Iterable[float]) -> pd.DataFrame:
    """Read accuracies where the loss comes down to a level, with the standard deviation of the seeds and 95 %."""
    levels = list(levels)
    read = [(level, *found) for level in levels for found in _accuracies_at(runs, level)]
    means = pd.DataFrame([
        {
            "bits_per_byte": level, "phenomenon": phenomenon, "tokenizer": tokenizer, "tokens": np.mean(tokens),
            "runs": len(values), "accuracy": np.mean(values), "sd": np.std(values, ddof=1),
        }
        for level, tokenizer, phenomenon, tokens, values in read
    ])  # fmt: skip
    return with_intervals(means, {(level, name, one): values for level, one, name, _, values in read})


def with_intervals(means: pd.DataFrame, read: dict[Setting, list[float]]) -> pd.DataFrame:
    """Add 95 % over the seeds that were read at each level, with moderated variances."""
    cells = _moderated(read)
    bounds = [
        seed_variances.weigh([cells[key]], [1.0]) for key in means[_SETTING].itertuples(index=False, name=None)
    ]
    return means.assign(**{end: np.clip([one[end] for one in bounds], 0, 1) for end in ("low", "high")})


def differences_at_equal_loss(runs: list[RunScores], levels: Iterable[float]) -> pd.DataFrame:
    """Subtract the accuracies of two tokenizers where the loss comes down to a level."""
    levels = list(levels)
    return differences_of({
        (level, phenomenon, name): values
        for level in levels for name, phenomenon, _, values in _accuracies_at(runs, level)
    })  # fmt: skip


def differences_of(read: dict[Setting, list[float]]) -> pd.DataFrame:
    """Subtract the seeds of every two tokenizers; variances moderated, Holm over the phenomena of a level."""
    cells, rows = _moderated(read), []
    names = list(dict.fromkeys(name for _, _, name in read))
    for level, phenomenon in dict.fromkeys((level, phenomenon) for level, phenomenon, _ in read):
        for one, other in combinations(names, 2):
            bounds = seed_variances.weigh([cells[level, phenomenon, name] for name in (one, other)], (1.0, -1.0))
            where = {"bits_per_byte": level, "phenomenon": phenomenon, "of": f"{one} - {other}"}
            rows.append({**where, "difference": bounds.pop("value"), **bounds})
    table = pd.DataFrame(rows)
    family = [table["bits_per_byte"], table["phenomenon"] == "all"]
    return table.assign(
        p_holm=table.dropna(subset="p").groupby(family)["p"].transform(lambda p: holm(p.to_numpy()))
    )


def _moderated(read: dict[Setting, list[float]]) -> dict[Hashable, seed_variances.Setting]:
    cells = seed_variances.read({key: values for key, values in read.items() if key[1] == "all"})
    return cells | seed_variances.read({key: values for key, values in read.items() if key[1] != "all"})


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
    for (criterion, tokenizer, step, tokens), part in alphas.groupby(
        ["criterion", "tokenizer", "step", "tokens"]
    ):
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
        for tokenizer, of_runs in numbers.items():
            yield {
                "criterion": criterion,
                "of": tokenizer,
                **interval(of_runs["slope"], "slope"),
                **_end([of_runs], [1]),
            }
        every, even = list(numbers.values()), [1 / len(numbers)] * len(numbers)
        slope = contrast([one["slope"] for one in every], even, "slope")
        yield {"criterion": criterion, "of": "all", **slope, **_end(every, even)}
        for one, other in combinations(numbers, 2):
            sides = [numbers[one], numbers[other]]
            slope, end = (contrast([side[name] for side in sides], (1, -1), name) for name in ("slope", "end"))
            yield {"criterion": criterion, "of": f"{one} - {other}", **slope, **end}


def _end(sides: list[dict[str, list[float]]], weights: Sequence[float]) -> dict[str, float]:
    """Return the alpha at the end, whose interval is kept within the grid."""
    end = contrast([side["end"] for side in sides], weights, "end")
    return {name: value if name == "end" else float(np.clip(value, 0, 1)) for name, value in end.items()}


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


def seed_agreement(runs: list[RunScores]) -> Rows:
    """Compare every two seeds on which pairs are right."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            for place, step in enumerate(own[0].steps):
                right = [run.credits[SHOWN][place][chosen] == 1 for run in own]
                kappas = [one for one in starmap(kappa, combinations(right, 2)) if not np.isnan(one)]
                agreed = [(one == other).mean() for one, other in combinations(right, 2)]
                yield {
                    "tokenizer": tokenizer, "phenomenon": phenomenon, "step": step, "tokens": own[0].tokens[step],
                    "runs": len(own), "n": int(chosen.sum()), "kappa": np.mean(kappas or np.nan),
                    "kappa_low": min(kappas, default=np.nan), "kappa_high": max(kappas, default=np.nan),
                    "agreement": np.mean(agreed),
                }  # fmt: skip


def _mean_curve(own: list[RunScores], linking: str, chosen: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    trained = [place for place, step in enumerate(own[0].steps) if step > 0]
    tokens = np.array([own[0].checkpoints[place].tokens for place in trained])
    return tokens, np.mean([run.credits[linking][trained][:, chosen].mean(axis=1) for run in own], axis=0)


def dips(runs: list[RunScores]) -> Rows:
    """Find the deepest dip of the smoothed mean curves: the lowest place with the largest smaller side."""
    for tokenizer, own in by_tokenizer(runs).items():
        for phenomenon, chosen in own[0].parts():
            for linking in LINKINGS:
                tokens, mean = _mean_curve(own, linking, chosen)
                smooth = smoothing(tokens) @ mean
                depth, place = deepest(smooth)
                bottom = vertices(np.log10(tokens), smooth[None], np.array([place]))[0]
                yield {
                    "tokenizer": tokenizer, "phenomenon": phenomenon, "linking": linking, "depth": depth,
                    "turn_from": tokens[int(np.argmax(smooth[: place + 1]))], "place": 10**bottom,
                    "turn_to": tokens[place + int(np.argmax(smooth[place:]))],
                }  # fmt: skip


def shape_curves(runs: list[RunScores], linking: str = SHOWN, column: str = "phenomenon") -> list[Scored]:
    """Return the curves of all tokenizers."""
    return testable(
        curve
        for tokenizer, own in by_tokenizer(runs).items()
        for curve in scored_curves(
            tokenizer, own[0].pairs, np.array([one.tokens for one in own[0].checkpoints]),
            np.stack([run.credits[linking] for run in own]), column,
        )
    )  # fmt: skip


def below_chance(runs: list[RunScores]) -> pd.DataFrame:
    """Test which curves, and which paradigms, end below chance; paradigms are a family of Holm's procedure."""
    phenomenon_of = runs[0].pairs.groupby("paradigm")["phenomenon"].first()
    curves = levels.below_chance(shape_curves(runs)).assign(paradigm="all")
    paradigms = [one for one in shape_curves(runs, column="paradigm") if one.phenomenon != "all"]
    table = levels.below_chance(paradigms)
    table = table.assign(paradigm=table["phenomenon"], phenomenon=table["phenomenon"].map(phenomenon_of))
    both = pd.concat([curves, table], ignore_index=True).rename(columns={"line": "tokenizer"})
    return both.assign(runs=both["tokenizer"].map({name: len(own) for name, own in by_tokenizer(runs).items()}))


def onsets(runs: list[RunScores], page: pd.DataFrame) -> pd.DataFrame:
    """Find where the curve of each run last comes above 55 %, if its end is above that beyond chance.

    Where 1,000 draws leave open whether it is, the page decides.
    """
    shown = page.set_index(["run", "phenomenon"])["onset"].notna()
    rows = []
    for run in runs:
        loss = run.held_out[run.held_out["step"] > 0]
        for curve in shape_curves([run]):
            if curve.phenomenon == "all":
                continue
            place, is_open = levels.onset(curve)
            if is_open and not shown[run.name, curve.phenomenon]:
                place = np.nan
            from_start = bool(place <= curve.tokens[0])
            bits = np.interp(np.log(place), np.log(loss["tokens"].astype(float)), loss["bits_per_byte"])
            rows.append({
                "run": run.name, "tokenizer": run.tokenizer, "phenomenon": curve.phenomenon, "onset": place,
                "from_start": from_start, "bits_per_byte": np.nan if from_start or np.isnan(place) else bits,
            })  # fmt: skip
    return pd.DataFrame(rows)


def learned_first(onsets: pd.DataFrame) -> Rows:
    """Average the losses at the onsets, and say which tokenizer is before all others in every seed."""
    for phenomenon, part in onsets.groupby("phenomenon", sort=False):
        row: dict[str, object] = {"phenomenon": phenomenon, "first": ""}
        sides = {
            str(name): own["bits_per_byte"].to_numpy(float) for name, own in part.groupby("tokenizer", sort=False)
        }
        for name, values in sides.items():
            from_start = part.loc[part["tokenizer"] == name, "from_start"].sum()
            mean = values[~np.isnan(values)].mean() if (~np.isnan(values)).any() else np.nan
            row |= {name: mean, f"{name}_runs": (~np.isnan(values)).sum(), f"{name}_from_start": from_start}
            others = np.concatenate([side for key, side in sides.items() if key != name])
            # More bits per byte are earlier; a run without an onset comes last.
            if not part["from_start"].any() and values.min() > np.nan_to_num(others, nan=-np.inf).max():
                row["first"] = name
        orders = comb(len(part), SEEDS)
        yield row | {"chance": len(sides) / orders}


def ngrams(runs: list[RunScores]) -> pd.DataFrame:
    """Compare the runs with n-gram models of the same tokens."""
    rows = []
    for run in runs:
        for order in ORDERS:
            for own, beside in zip(run.checkpoints, run.read(f"ngram-{order}"), strict=True):
                credits_ = own.credit(SHOWN), beside.credit(SHOWN)
                row = {"tokenizer": run.tokenizer, "order": order, "step": own.step, "tokens": own.tokens}
                rows.append(row | agreement(credits_, (own.margin(SHOWN)[0], beside.margin(SHOWN)[0])))
    groups = pd.DataFrame(rows).groupby(["tokenizer", "order", "step", "tokens"], sort=False)
    return groups.mean().assign(runs=groups.size()).reset_index()


def critical_regions(runs: list[RunScores]) -> Rows:
    """Average the margins under LP at the last checkpoint, in bits, and what lies in the critical regions of it."""
    for tokenizer, own in by_tokenizer(runs).items():
        parts = [run.margin_parts() for run in own]
        for phenomenon, chosen in own[0].parts():
            row = {
                "tokenizer": tokenizer, "phenomenon": phenomenon, "step": own[0].steps[-1], "runs": len(own),
                "tokens": own[0].checkpoints[-1].tokens, "pairs": int(chosen.sum()),
            }  # fmt: skip
            for name in ("margin", "margin_critical", "margin_after"):
                row |= interval([of_run[name][chosen].mean() for of_run in parts], name)
            yield row


def split_regions(good: Sequence[int], bad: Sequence[int]) -> tuple[int, int]:
    """Return how many tokens both sentences begin with, and how many of the others both end with."""
    shorter = min(len(good), len(bad))
    before = next((at for at in range(shorter) if good[at] != bad[at]), shorter)
    after = next((at for at in range(shorter - before) if good[-1 - at] != bad[-1 - at]), shorter - before)
    return before, after


def run_facts(runs: list[RunScores]) -> Rows:
    """Describe the runs of each tokenizer, with the mean of the last losses."""
    for tokenizer, own in by_tokenizer(runs).items():
        facts = own[0].facts
        last = interval((run.held_out["bits_per_byte"].iloc[-1] for run in own), "bits_per_byte")
        yield {
            "tokenizer": tokenizer, "runs": len(own), "vocabulary": facts["vocabulary"],
            "parameters": facts["parameters"]["total"], "tokens": own[0].held_out["tokens"].max(),
            "bytes_per_token": facts["held_out"]["bytes"] / facts["held_out"]["tokens"],
            "checkpoints": min(len(list((run.folder / "checkpoints").glob("step*"))) for run in own),
            "bits_per_byte": last["bits_per_byte"], "low": last["bits_per_byte_low"],
            "high": last["bits_per_byte_high"],
        }  # fmt: skip


KEYS = {
    "runs": ["tokenizer"], "curves": ["tokenizer", "phenomenon", "step"],
    "accuracy_at_equal_loss": ["bits_per_byte", "tokenizer", "phenomenon"],
    "differences_at_equal_loss": ["bits_per_byte", "phenomenon", "of"],
    "best_alpha": ["criterion", "tokenizer", "step"],
    "best_alpha_changes": ["criterion", "of"], "linking_functions": ["linking"], "pairs_by_length": ["tokenizer"],
    "pairs": ["tokenizer", "phenomenon"], "seed_agreement": ["tokenizer", "phenomenon", "step"],
    "dips": ["tokenizer", "phenomenon", "linking"], "below_chance": ["tokenizer", "phenomenon", "paradigm"],
    "onsets": ["run", "phenomenon"], "learned_first": ["phenomenon"], "critical_regions": ["tokenizer", "phenomenon"],
    "ngrams": ["tokenizer", "order", "step"], "ngram_named": ["tokenizer", "phenomenon"],
    "ngram_dips": ["tokenizer", "of", "phenomenon", "linking", "order"],
    "change_points": ["tokenizer", "measure", "phenomenon", "change"],
}  # fmt: skip


def compute(runs: list[RunScores], page: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Compute the CSV files again that need no test of shape, each with its name."""
    levels = page["accuracy_at_equal_loss"]["bits_per_byte"].unique().tolist()
    alphas = pd.DataFrame(
        {"run": run.name, "tokenizer": run.tokenizer, "step": one.step, "tokens": one.tokens, "criterion": name,
         "alpha": alpha}
        for run in runs for one, best in _best_alphas(run) for name, alpha in best.items()
    )  # fmt: skip
    again: dict[str, Rows | pd.DataFrame] = {
        "runs": run_facts(runs), "curves": curves(runs), "accuracy_at_equal_loss": accuracy_at_equal_loss(runs, levels),
        "differences_at_equal_loss": differences_at_equal_loss(runs, levels), "best_alpha": best_alpha(alphas),
        "best_alpha_changes": best_alpha_changes(alphas), "linking_functions": linking_functions(runs),
        "pairs_by_length": pairs_by_length(runs), "pairs": single_pairs(runs), "seed_agreement": seed_agreement(runs),
        "below_chance": below_chance(runs), "critical_regions": critical_regions(runs), "ngrams": ngrams(runs),
    }  # fmt: skip
    yield from ((name, pd.DataFrame(rows)) for name, rows in again.items())
    found = onsets(runs, page["onsets"])
    yield "onsets", found
    yield "learned_first", pd.DataFrame(learned_first(found))


def compare_tests(runs: list[RunScores], page: dict[str, pd.DataFrame], comparison: Comparison) -> None:
    """Test the shapes of all curves again, and compare what the page says of dips."""
    tested, of_runs, turns = [], [], []
    for linking in LINKINGS:
        curves_ = shape_curves(runs, linking)
        single = alone(curves_).assign(linking=linking)
        tested.append(
            classify(curves_).join(dips_of_runs(single), on=["line", "phenomenon"]).assign(linking=linking)
        )
        of_runs.append(single)
        turns.append(intervals(curves_).assign(linking=linking))
    lines, singles, places = (pd.concat(tables, ignore_index=True) for tables in (tested, of_runs, turns))
    _compare_dips(runs, page["dips"], lines, places, comparison)
    _compare_accounts(runs, page, lines, singles, comparison)


def compare_changes(runs: list[RunScores], table: pd.DataFrame, comparison: Comparison) -> None:
    """Find the change points of losses and accuracies again.

    A curve of which draws leave open how many it has, and where the page says another number, is only named.
    """
    curves_ = []
    for tokenizer, own in by_tokenizer(runs).items():
        trained = own[0].held_out["step"] > 0
        losses = np.array([run.held_out.loc[trained, "bits_per_byte"] for run in own])
        curves_.append(of_loss(tokenizer, own[0].held_out.loc[trained, "tokens"].to_numpy(float), losses))
    curves_ += [of_accuracy(curve) for curve in shape_curves(runs)]
    again = changes_of(curves_)
    again["beside_loss"] = [_beside_loss(row, again) for row in again.to_dict("records")]
    page = table.assign(phenomenon=table["phenomenon"].fillna(""))
    keys = ["tokenizer", "measure", "phenomenon"]
    found, shown = (rows.groupby(keys)["change"].agg(["max", "size"]) for rows in (again, page))
    differs = (found != shown.reindex(found.index)).any(axis=1) & again.groupby(keys)["is_open"].any()
    for one in found.index[differs]:
        sys.stdout.write(f"  change_points: how many there are differs within Monte Carlo error: {one}\n")
    again, page = (
        rows[~pd.MultiIndex.from_frame(rows[keys]).isin(found.index[differs])] for rows in (again, page)
    )  # fmt: skip
    again = again.drop(columns="is_open")
    comparison.tables("change_points", again, page, KEYS["change_points"])


def _beside_loss(row: Mapping[Hashable, object], table: pd.DataFrame) -> str:
    """Say after and before which changes of the loss the interval of a change of accuracy lies."""
    losses = table[(table["tokenizer"] == row["tokenizer"]) & (table["measure"] == LOSS) & (table["change"] > 0)]
    if row["measure"] == LOSS or not row["change"] or losses.empty:
        return ""
    earlier = losses[losses["tokens_high"] < row["tokens_low"]]["change"].tolist()
    later = losses[losses["tokens_low"] > row["tokens_high"]]["change"].tolist()
    found = [f"after {one}" for one in earlier[-1:]] + [f"before {one}" for one in later[:1]]
    return ", ".join(found) or "not told apart"


def _compare_dips(
    runs: list[RunScores], table: pd.DataFrame, lines: pd.DataFrame, places: pd.DataFrame, comparison: Comparison
) -> None:
    """Compare the table of dips, which has every curve that dips under a linking function under each of them."""
    shown = table.rename(columns={"tokenizer": "line"})
    for scope in ("these_pairs", "these_runs"):
        shown[f"class_{scope}"] = np.where(shown[f"in_{scope}"], "U-shaped", "other than U-shaped")
    counted = [name for name in ("p", "p_holm", "runs_with_dip", "runs_with_dip_each") if name in shown]
    names = [*counted, "class", "class_these_pairs", "class_these_runs"]
    keys = ["line", "phenomenon", "linking"]
    numbers, differ = report(lines, shown[[*keys, *names]])
    columns = ["tokenizer", *keys[1:], *counted, "shape", "in_these_pairs", "in_these_runs", "stands"]
    comparison.add("dips", columns, numbers, differ)
    in_mean = table[["stands", "in_these_runs", "in_these_pairs"]].any(axis=1)
    places = places.rename(columns={"line": "tokenizer", "dip_low": "depth_low", "dip_high": "depth_high"})
    places = places.rename(
        columns=lambda name: name.replace("dip_low_", "depth_low_").replace("dip_high_", "depth_high_")
    )
    own = pd.DataFrame(dips(runs)).merge(places, on=KEYS["dips"])
    numbers_of = ["depth", "turn_from", "place", "turn_to"]
    numbers_of += [f"depth_{bound}{end}" for bound in ("low", "high") for end in ("", "_least", "_most")]
    with_dip = table.loc[in_mean, KEYS["dips"]]
    comparison.tables("dips", own[[*KEYS["dips"], *numbers_of]].merge(with_dip), table[in_mean], KEYS["dips"])
    _check_words(lines, places, table, comparison)
    _check_rows(lines, table, comparison)


def _check_words(lines: pd.DataFrame, places: pd.DataFrame, table: pd.DataFrame, comparison: Comparison) -> None:
    """Compare the words for a curve, as far as the draws leave one class in each scope."""
    own = lines.rename(columns={"line": "tokenizer"}).merge(places, on=KEYS["dips"])
    decided = [
        all(len(row[f"possible{scope}"]) == 1 for scope in ("", "_these_pairs", "_these_runs"))
        for row in own.to_dict("records")
    ]
    own = own[decided].merge(table[KEYS["dips"]])
    page = table.merge(own[KEYS["dips"]])
    stands = (own["p_holm"] <= LEVEL).to_numpy()
    comparison.tables(
        "dips", own[[*KEYS["dips"], "runs"]].assign(shape=labels(own), stands=stands),
        page[[*KEYS["dips"], "runs", "shape", "stands"]], KEYS["dips"],
    )  # fmt: skip


def _check_rows(lines: pd.DataFrame, table: pd.DataFrame, comparison: Comparison) -> None:
    """Check that the table has the curves with a dip under at least one linking function, and no other ones."""
    can_be = (lines["p_holm_low"] <= LEVEL) | (lines["runs_with_dip_low"] > 0)
    must_be = (lines["p_holm_high"] <= LEVEL) | (lines["runs_with_dip_high"] > 0)
    for scope in ("possible_these_pairs", "possible_these_runs"):
        can_be |= lines[scope].map(lambda one: "U-shaped" in one)
        must_be |= lines[scope].map(lambda one: one == {"U-shaped"})
    curve = [lines["line"], lines["phenomenon"]]
    shown = set(zip(table["tokenizer"], table["phenomenon"], strict=True))
    none = shown - set(can_be.groupby(curve).any().loc[lambda one: one].index)
    missing = set(must_be.groupby(curve).any().loc[lambda one: one].index) - shown
    comparison.add("dips", [], len(shown), len(none) + len(missing))
    sys.stdout.write(
        f"dips: {len(shown)} curves dip somewhere; {len(none)} of them do not, {len(missing)} are missing\n"
    )


def _compare_accounts(
    runs: list[RunScores], page: dict[str, pd.DataFrame], lines: pd.DataFrame, singles: pd.DataFrame,
    comparison: Comparison,
) -> None:  # fmt: skip
    """Compare what n-gram models account for of the dips of mean curves and of single runs."""
    table = page["ngram_dips"]
    key = ["tokenizer", "of", "phenomenon", "linking"]
    shown = list(dict.fromkeys(table[key].itertuples(index=False, name=None)))
    names = {tokenizer: [run.name for run in own] for tokenizer, own in by_tokenizer(runs).items()}
    found = found_dips(lines, singles, names)
    wrong = check_dips(found, shown)
    comparison.add("ngram_dips", key, len(found), len(wrong))
    sys.stdout.writelines(f"  ngram_dips: {one}\n" for one in wrong)
    accounts = pd.concat([account_again(runs, *one) for one in shown], ignore_index=True)
    accounts = accounts.rename(columns={"line": "tokenizer"})
    compare_accounts(comparison, "ngram_dips", accounts, table, KEYS["ngram_dips"])
    named = counts_of_named(accounts.rename(columns={"tokenizer": "line"})).rename(columns={"line": "tokenizer"})
    comparison.tables("ngram_named", named, page["ngram_named"], KEYS["ngram_named"])


def account_again(runs: list[RunScores], tokenizer: str, of: str, phenomenon: str, linking: str) -> pd.DataFrame:
    """Say what n-gram models account for of the dip of the mean of the runs of a tokenizer, or of one run."""
    own = [run for run in runs if run.tokenizer == tokenizer and of in (run.name, ALL_RUNS)]
    chosen = dict(own[0].parts())[phenomenon]
    trained = [step for step in own[0].steps if step > 0]
    credits_ = np.stack([run.credits[linking][:, chosen] for run in own])
    tokens = np.array([one.tokens for one in own[0].checkpoints])
    curve = next(scored_curves(tokenizer, own[0].pairs[chosen], tokens, credits_))  # of all pairs that are chosen

    def credit_beside(run: int, order: int, place: int) -> Array:
        return own[run].read_step(f"ngram-{order}", trained[place]).credit(linking)[chosen]

    found = account(curve.tokens, curve.credits, credit_beside, curve.paradigms, curve.clusters)
    return found.assign(line=tokenizer, of=of, phenomenon=phenomenon, linking=linking)


def main() -> None:
    """Print what was compared; end with 1 where a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="the run folders of the page, or patterns")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/study_*.csv")
    arguments = parser.parse_args()
    found = (path for pattern in map(Path, arguments.runs) for path in sorted(pattern.parent.glob(pattern.name)))
    folders = [path for path in found if (path / "run.json").is_file()]
    files = sorted((arguments.docs / "data").glob("study_*.csv"))
    page = {path.stem.removeprefix("study_"): pd.read_csv(path) for path in files}
    order = page["runs"]["tokenizer"].tolist()
    runs = sorted((RunScores(folder) for folder in folders), key=lambda run: order.index(run.tokenizer))
    comparison = Comparison()
    for name, table in compute(runs, page):
        comparison.tables(name, table, page[name], KEYS[name])
    compare_changes(runs, page["change_points"], comparison)
    compare_tests(runs, page, comparison)
    comparison.end(page)


if __name__ == "__main__":
    main()
