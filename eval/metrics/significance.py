"""Uncertainty of accuracies: bootstrap intervals, tests against chance and between two scores, and certainty."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import betainc, betaincinv

from ucurve.errors import UserError
from ucurve.eval.linking import Linking, nll_per_token
from ucurve.eval.metrics.accuracy import TiesRule, decisions, items, pair_credits
from ucurve.eval.metrics.bootstrap import LENGTH_BIASES, SAMPLES, bootstrap_interval, length_biases
from ucurve.eval.metrics.levels import MEANS, Array, Levels, levels_of
from ucurve.eval.metrics.sampling import (
    CONFIDENCE,
    FEWEST_CLUSTERS,
    Clusters,
    clusters_of,
    effective_size,
    samples_by_level,
    spread_of,
)

CHANCE = 0.5
STATISTICS_COLUMNS = (
    "linking", "phenomenon", "paradigm", "n", "clusters", "right", "ties", "ties_rule", "accuracy", "boot_low",
    "boot_high", "p_two_sided", "p_above", "p_below", "p_holm", "p_bonferroni", "p_exact",
    *(f"{bias}{bound}" for bias in LENGTH_BIASES for bound in ("", "_low", "_high")),
    "n_distinct", "accuracy_distinct", "delta_lp", "delta_nll", "unk",
)  # fmt: skip
COMPARISON_COLUMNS = (
    "first", "second", "phenomenon", "paradigm", "n", "clusters", "ties_rule", "accuracy_first", "accuracy_second",
    "difference", "boot_low", "boot_high", "first_better", "second_better", "p_mcnemar", "p_holm", "p_bonferroni",
    "p_exact",
)  # fmt: skip


def statistics_table(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    linkings: Sequence[Linking],
    ties_rule: TiesRule = "half",
    samples: int = SAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute the uncertainty of every accuracy of one scored benchmark over all lengths: ``STATISTICS_COLUMNS``.

    Rows and what is left out are as in ``accuracy_table``. ``boot_*`` is a 95 % interval, ``p_*`` are of
    ``binomial_tests`` at the effective sample size; both are over clusters of pairs and NaN where these are fewer than
    4. ``p_holm`` and ``p_bonferroni`` are over all paradigms that have a p and NaN in other rows. ``p_exact`` is
    two-sided and takes pairs as independent. ``*_distinct`` leave out every pair that the benchmark has once more
    before.
    """
    merged = items(pairs, scores)
    readable = [linking for linking in linkings if not linking.missing(merged)]
    if not len(merged) or not readable:
        return pd.DataFrame(columns=list(STATISTICS_COLUMNS))
    levels = levels_of(merged)
    clusters = clusters_of(merged, levels)
    facts = {name: levels.means(levels.sums(values), levels.n) for name, values in certainty(merged).items()}
    unknown = levels.totals(levels.sums((merged["unk_good"] + merged["unk_bad"]).to_numpy())).astype(np.int64)
    tables = [
        _statistics_rows(clusters, merged, linking, ties_rule, samples, seed).assign(**facts, unk=unknown)
        for linking in readable
    ]
    return pd.concat(tables, ignore_index=True)[list(STATISTICS_COLUMNS)]


def comparison_table(
    pairs: pd.DataFrame,
    first: tuple[pd.DataFrame, Linking],
    second: tuple[pd.DataFrame, Linking],
    ties_rule: TiesRule = "half",
) -> pd.DataFrame:
    """Compare two models, or two linking functions of one model, on the same pairs: ``COMPARISON_COLUMNS``.

    ``difference`` is first minus second, with the 95 % interval of ``bootstrap_interval``; ``first_better`` and
    ``second_better`` count pairs, ``p_mcnemar`` tests them over clusters of pairs (NaN where these are fewer than 4),
    and ``p_exact`` as if pairs were independent; both are NaN for the two means.
    """
    tables = [_checked(pairs, scores, linking) for scores, linking in (first, second)]
    if not len(tables[0]):
        return pd.DataFrame(columns=list(COMPARISON_COLUMNS))
    levels = levels_of(tables[0])
    clusters = clusters_of(tables[0], levels)
    linkings = (first[1], second[1])
    each = [pair_credits(table, linking, ties_rule) for table, linking in zip(tables, linkings, strict=True)]
    n, difference = levels.n, each[0] - each[1]
    accuracies = [levels.means(levels.sums(credit), n) for credit in each]
    better = [levels.totals(levels.sums(sign * difference > 0)) for sign in (1, -1)]
    squares = levels.totals(clusters.by_paradigm(clusters.sums(np.sign(difference)) ** 2))
    spread = spread_of(clusters, clusters.sums(difference), clusters.sums(np.ones(len(difference))))
    means = levels.labels["paradigm"].isin(MEANS).to_numpy()
    tests = (cluster_mcnemar(better[0], better[1], squares, spread.clusters), mcnemar(better[0], better[1]))
    p, p_exact = (np.where(means, np.nan, each) for each in tests)
    low, high = bootstrap_interval(spread, accuracies[0] - accuracies[1])
    table = levels.labels.assign(
        first=first[1].name,
        second=second[1].name,
        n=levels.totals(n).astype(np.int64),
        ties_rule=ties_rule,
        accuracy_first=accuracies[0],
        accuracy_second=accuracies[1],
        difference=accuracies[0] - accuracies[1],
        boot_low=low,
        boot_high=high,
        first_better=better[0].astype(np.int64),
        second_better=better[1].astype(np.int64),
        p_mcnemar=p,
        **_adjusted(levels, p),
        p_exact=p_exact,
        clusters=spread.clusters.astype(np.int64),
    )
    return table[list(COMPARISON_COLUMNS)]


def binomial_tests(right: Array, n: Array) -> tuple[Array, Array, Array]:
    """Test ``right`` out of ``n`` against chance, one half, exactly: p of two sides, above chance, below chance.

    Both may be fractional (ties, effective sizes), which the beta integrals of the tails extend to.
    """
    wrong = n - right
    above, below = _tail(right, wrong), _tail(wrong, right)
    return np.minimum(1, 2 * np.minimum(above, below)), above, below


def mcnemar(first_better: Array, second_better: Array) -> Array:
    """Return the two-sided p of McNemar's exact test on the pairs that two scores judge differently, 1 without any.

    A pair counts for the score that gets more credit for it, also when the other ties on it.
    """
    return binomial_tests(first_better, first_better + second_better)[0]


def cluster_mcnemar(first_better: Array, second_better: Array, squares: Array, clusters: Array) -> Array:
    """Return the two-sided p of McNemar's test where pairs come in clusters, NaN with fewer than 4 of them.

    Under the null hypothesis the variance of the difference of both counts is the sum of the squared differences
    within clusters, ``squares`` (Durkalski et al. 2003, "Analysis of clustered matched-pair data", Statistics in
    Medicine 22). The exact test is made with both counts divided by what that is of the variance of independent pairs,
    their number (Rao and Scott 1992, "A simple method for the analysis of clustered binary data", Biometrics 48), if
    it is more. With clusters of one pair the test is ``mcnemar``.
    """
    apart = np.maximum(1, first_better + second_better)
    inflation = np.maximum(1, squares / apart)
    return np.where(
        clusters >= FEWEST_CLUSTERS, mcnemar(first_better / inflation, second_better / inflation), np.nan
    )


def holm(p: Array) -> Array:
    """Adjust p values of one family of tests by Holm's step-down procedure (Holm 1979); NaN is no test."""
    order = np.argsort(p)  # not by statsmodels, which collects the garbage of the whole process in every call
    order = order[: np.isfinite(p).sum()]
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted


def bonferroni(p: Array) -> Array:
    """Adjust p values of one family of tests by their number; NaN is no test."""
    return np.asarray(np.minimum(1, p * float(np.isfinite(p).sum())))


def least_prevalence(shown: int, tested: int, level: float = 1 - CONFIDENCE) -> float:
    """Return the least share of all seeds that show an effect, with 95 %, where ``shown`` of ``tested`` runs do so.

    A run without the effect shows it with the probability ``level``, that of its own test. The bound is the 5 %
    quantile of the share, with a flat prior (Ince et al. 2021, "Bayesian inference of population prevalence", eLife).
    """
    shape = shown + 1, tested - shown + 1
    by_chance = betainc(*shape, level)
    lowest = betaincinv(*shape, by_chance + (1 - CONFIDENCE) * (1 - by_chance))
    return float((lowest - level) / (1 - level))


def certainty(scores: pd.DataFrame) -> dict[str, Array]:
    """Return how far apart a model holds the members of each pair, float64[pairs]; NaN without log probabilities.

    ``delta_lp`` is ln P(good) - ln P(bad), in nats (MultiBLiMP, section 6.3: Delta), and ``delta_nll`` ln PPL(bad) - ln
    PPL(good), in nats per token (Swe-BLiMP, section 6: Delta NLL).
    """
    good, bad = (
        [scores[f"{name}_{side}"].to_numpy(np.float64) for name in ("lp", "n")] for side in ("good", "bad")
    )
    return {"delta_lp": good[0] - bad[0], "delta_nll": nll_per_token(*bad) - nll_per_token(*good)}


def _statistics_rows(
    clusters: Clusters, merged: pd.DataFrame, linking: Linking, rule: TiesRule, samples: int, seed: int
) -> pd.DataFrame:
    """Return the rows of one linking function, but for what depends on the pairs alone."""
    levels = clusters.levels
    credit, (right, ties) = pair_credits(merged, linking, rule), decisions(merged, linking)
    n, sums = levels.n, levels.sums(credit)
    right_of_row, size = samples_by_level(levels, sums, n)
    accuracy = right_of_row / size
    spread = spread_of(clusters, clusters.sums(credit), clusters.sums(np.ones(len(credit))))
    effective = effective_size(spread, accuracy, size)
    two_sided, above, below = (
        np.where(spread.enough, p, np.nan) for p in binomial_tests(accuracy * effective, effective)
    )
    low, high = bootstrap_interval(spread, accuracy)
    distinct = ~merged.duplicated(["good", "bad"]).to_numpy()
    counts = {"n": n, "right": levels.sums(right), "ties": levels.sums(ties), "n_distinct": levels.sums(distinct)}
    return levels.labels.assign(
        linking=linking.name,
        ties_rule=rule,
        accuracy=levels.means(sums, n),
        # An interval of Student's t is symmetric, and may lead beyond what an accuracy can be.
        boot_low=np.maximum(0, low),
        boot_high=np.minimum(1, high),
        p_two_sided=two_sided,
        p_above=above,
        p_below=below,
        **_adjusted(levels, two_sided),
        p_exact=binomial_tests(right_of_row, size)[0],
        clusters=spread.clusters.astype(np.int64),
        **length_biases(clusters, merged, credit, samples, seed),
        accuracy_distinct=levels.means(levels.sums(credit * distinct), counts["n_distinct"]),
        **{name: levels.totals(count).astype(np.int64) for name, count in counts.items()},
    )


def _adjusted(levels: Levels, p: Array) -> dict[str, Array]:
    """Adjust the p of the paradigms, which are the first rows; the others get NaN."""
    rest = np.full(len(p) - levels.paradigms, np.nan)
    rules = {"p_holm": holm, "p_bonferroni": bonferroni}
    return {name: np.concatenate([rule(p[: levels.paradigms]), rest]) for name, rule in rules.items()}


def _tail(at_least: Array, rest: Array) -> Array:
    """Return P(X >= at_least) of a binomial X with probability one half and ``at_least + rest`` draws."""
    return np.where(at_least > 0, betainc(np.where(at_least > 0, at_least, 1), rest + 1, CHANCE), 1.0)


def _checked(pairs: pd.DataFrame, scores: pd.DataFrame, linking: Linking) -> pd.DataFrame:
    """Join scores to the pairs that they must be of; they must have what a linking function reads."""
    if sorted(scores["pair"]) != sorted(pairs["pair"]):
        raise UserError(
            f"comparison: scores of {len(scores)} pairs are not those of the {len(pairs)} pairs of the table"
        )
    merged = items(pairs, scores)
    if missing := linking.missing(merged):
        raise UserError(
            f"comparison: {linking.name} needs {', '.join(missing)}, which a score table does not have"
        )
    return merged
