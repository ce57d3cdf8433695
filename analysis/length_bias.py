"""How far accuracy and length bias hang on the alpha of SLLN-LP (ZhoBLiMP, section 4.5, Figure 2)."""

from typing import cast

import numpy as np
import pandas as pd

from analysis.runs import Run
from analysis.study import Scored
from eval.alpha import alpha_curve, best_alpha
from eval.linking import parse_linking, slor
from eval.metrics import TiesRule, items

SAMPLES = 200  # of the bootstrap: bounds on a grid of 0.05 need no more
_CURVE = ("accuracy", "accuracy_unequal", "delta_acc")


def alpha_tables(scored: Scored) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute from the stored scores of the last scored checkpoint of every run what alpha does.

    Args:
        scored: the benchmark.

    Returns:
        The curves: a row per run and alpha with ``benchmark, run, group, variant, alpha``, the accuracy of each
        length split, ``accuracy_unequal`` (mean of the two unequal splits) and ``delta_acc``. And a row per run with
        ``model, budget, tokenizer, data``, for each criterion the best alpha with its interval (``delta_acc_alpha,
        delta_acc_low, delta_acc_high``, ...) and ``sign_flipped`` of ``sign_flips``. Runs without stored scores are in
        neither.
    """
    curves, best = [], []
    rule = cast(TiesRule, str(scored.rows["ties_rule"].iloc[0]))
    linking = parse_linking("slln_lp")
    for one in scored.last_scores(scored.linking):
        run, pairs, scores = one.run, one.pairs, one.scores
        if linking.missing(scores):
            continue
        named = {"benchmark": scored.benchmark, "run": run.label, "group": run.group, "step": one.step}
        curve = alpha_curve(pairs, scores, ties_rule=rule)
        curves.append(curve.assign(benchmark=scored.benchmark, run=run.label, group=run.group, variant=run.variant))
        best.append({**named, **_facts(run), **_best(pairs, scores, rule), "sign_flipped": sign_flips(pairs, scores)})
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(), pd.DataFrame(best)


def alpha_bands(curves: pd.DataFrame) -> pd.DataFrame:
    """Average the curves over models.

    Args:
        curves: of ``alpha_tables``, of any number of benchmarks.

    Returns:
        One row per benchmark, ``variant`` (tokenizer and text, or a model from elsewhere) and alpha: ``models``, mean
        and sample standard deviation over models of ``accuracy``, ``accuracy_unequal`` and ``delta_acc`` (``_sd``, NaN
        for one model). A model is a line of runs; its seeds are averaged first.
    """
    keys = ["benchmark", "variant", "alpha"]
    models = curves.groupby([*keys, "group"], as_index=False, sort=False)[list(_CURVE)].mean()
    means = {name: (name, "mean") for name in _CURVE} | {f"{name}_sd": (name, "std") for name in _CURVE}
    return models.groupby(keys, as_index=False, sort=False).agg(models=("group", "nunique"), **means)


def best_of_means(bands: pd.DataFrame) -> pd.DataFrame:
    """Find the alpha at which the mean curve of each line is best.

    Returns:
        ``benchmark``, ``variant``, ``models``, ``accuracy_alpha`` (highest accuracy over all pairs),
        ``accuracy_unequal_alpha`` (highest on the unequal ones) and ``delta_acc_alpha`` (lowest); NaN where a split has
        no pairs.
    """
    rows = []
    for (benchmark, variant), part in bands.groupby(["benchmark", "variant"], sort=False):
        best = {f"{name}_alpha": _at_best(part, name) for name in _CURVE}
        rows.append({"benchmark": benchmark, "variant": variant, "models": part["models"].iloc[0], **best})
    return pd.DataFrame(rows)


def sign_flips(pairs: pd.DataFrame, scores: pd.DataFrame) -> float:
    """Return the share of sentences whose sign SLOR turns (ZhoBLiMP, footnote 6).

    A log probability is negative; less its log unigram probability it may be positive, and then dividing by the length
    lowers the value of a longer sentence instead of raising it.

    Args:
        pairs: the pairs; both members count, those of identical pairs do not.
        scores: their scores.

    Returns:
        The share with SLOR above 0, a fraction; NaN without unigram probabilities.
    """
    merged = items(pairs, scores)
    linking = parse_linking("slor")
    if linking.missing(merged) or merged.empty:
        return float("nan")
    sides = (tuple(merged[f"{name}_{side}"].to_numpy(np.float64) for name in linking.reads) for side in ("good", "bad"))
    return float(np.mean([slor(*side) > 0 for side in sides]))


def _best(pairs: pd.DataFrame, scores: pd.DataFrame, rule: TiesRule) -> dict[str, float]:
    found = best_alpha(pairs, scores, ties_rule=rule, samples=SAMPLES)
    return {
        f"{one.criterion}_{name}": value
        for one in found
        for name, value in (("alpha", one.alpha), ("low", one.low), ("high", one.high))
    }


def _facts(run: Run) -> dict[str, object]:
    record = run.record
    named = {key: record.get(key) or "" for key in ("tokenizer", "data")}
    return {"model": run.model, "parameters": run.parameters, "budget": record.get("tokens_budget"), **named}


def _at_best(part: pd.DataFrame, name: str) -> float:
    values = part[name].to_numpy(dtype=np.float64) * (-1 if name == "delta_acc" else 1)
    return float("nan") if np.isnan(values).any() else float(part["alpha"].iloc[int(np.argmax(values))])
