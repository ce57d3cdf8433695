"""The best alpha of SLLN-LP at every checkpoint, and whether it falls with training (ZhoBLiMP, section 4.5)."""

from itertools import combinations

import numpy as np
import pandas as pd

from studies.seeds import of_all_runs
from studies.tokenizers.at_equal_loss import tokenizer_of
from ucurve.analysis.data.files import stored_scores
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.over_seeds import Estimate, contrast, mean_over_seeds, seeds_alone
from ucurve.analysis.linking.length_bias import ALPHAS, alpha_curve, best_of_curve
from ucurve.eval.linking import parse_linking

CRITERIA = ("delta_acc", "accuracy")
ALL = "all"
_RANGE = (min(ALPHAS), max(ALPHAS))
_LAST_TOKENS = 0.1  # the slope is over the checkpoints of the last decade of tokens


def alpha_by_checkpoint(scored: BenchmarkScores) -> pd.DataFrame:
    """Find the best alpha of each run at each scored checkpoint, on the pairs that it is evaluated on.

    ``alpha_<criterion>`` is where the length bias (``delta_acc``) is lowest, and where accuracy is highest.
    """
    tokenizers, reads = tokenizer_of(scored.study.runs), parse_linking("slln_lp")
    known = scored.curve_rows()[["run", "step", "tokens"]].drop_duplicates(["run", "step"])
    found = []
    for run in scored.study.runs:
        pairs = scored.study.pairs(run, scored.benchmark)
        for step, tokens in known.loc[known["run"] == run.label, ["step", "tokens"]].itertuples(index=False):
            scores = stored_scores(run.folder, scored.benchmark, scored.scorer, int(step))
            if pairs is None or scores is None or reads.missing(scores):
                continue
            best = best_of_curve(alpha_curve(pairs, scores, ties_rule=scored.ties_rule))
            found.append((run.label, tokenizers[run.label], step, tokens, *(best[name] for name in CRITERIA)))
    names = ["run", "tokenizer", "step", "tokens", *(f"alpha_{name}" for name in CRITERIA)]
    return pd.DataFrame(found, columns=names)


def alpha_over_seeds(alphas: pd.DataFrame) -> pd.DataFrame:
    """Average the best alphas of a tokenizer at each checkpoint of all its seeds, 95 % by Student's t over seeds."""
    table = []
    for name in CRITERIA:
        for (tokenizer, step), part in alphas.groupby(["tokenizer", "step"], sort=False):
            alpha, low, high = _within_grid(mean_over_seeds(part[f"alpha_{name}"].tolist()))
            row = {"criterion": name, "tokenizer": tokenizer, "step": step, "tokens": part["tokens"].iloc[0]}
            table.append({**row, "runs": len(part), "alpha": alpha, "low": low, "high": high})
    return of_all_runs(pd.DataFrame(table))


def alpha_changes(alphas: pd.DataFrame) -> pd.DataFrame:
    """Say how the best alpha changes over the last decade of tokens, and how tokenizers differ in it.

    There are rows for each tokenizer, all of them (the mean of their means) and every two (``char - word``): ``slope``
    (least squares, per decade of tokens) and ``end`` (at the last checkpoint), each with its 95 % interval over seeds.
    """
    table = []
    for name in CRITERIA:
        slopes, ends = _slopes_and_ends(alphas, f"alpha_{name}")
        found = [(of, mean_over_seeds(slopes[of]), _within_grid(mean_over_seeds(ends[of]))) for of in slopes]
        if len(slopes) > 1:
            weights = [1 / len(slopes)] * len(slopes)
            slope, end = (contrast(list(map(seeds_alone, one.values())), weights) for one in (slopes, ends))
            found.append((ALL, slope, _within_grid(end)))
        for one, other in combinations(slopes, 2):
            slope, end = (
                contrast([seeds_alone(of[one]), seeds_alone(of[other])], [1, -1]) for of in (slopes, ends)
            )
            found.append((f"{one} - {other}", slope, end))
        for of, slope, end in found:
            table.append({"criterion": name, "of": of, **slope.columns("slope"), **end.columns("end")})
    return pd.DataFrame(table)


def _within_grid(alpha: Estimate) -> Estimate:
    low, high = np.clip((alpha.low, alpha.high), *_RANGE)
    return Estimate(alpha.value, float(low), float(high))


def _slopes_and_ends(alphas: pd.DataFrame, name: str) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    slopes, ends = dict[str, list[float]](), dict[str, list[float]]()
    for (tokenizer, _), part in alphas.groupby(["tokenizer", "run"], sort=False):
        late = part[part["tokens"] >= _LAST_TOKENS * part["tokens"].max()].dropna(subset=[name])
        slope = np.polyfit(np.log10(late["tokens"]), late[name], 1)[0] if len(late) > 1 else np.nan
        slopes.setdefault(str(tokenizer), []).append(float(slope))
        ends.setdefault(str(tokenizer), []).append(float(part.sort_values("tokens")[name].iloc[-1]))
    return slopes, ends
