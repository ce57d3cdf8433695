"""The linear model of certainty on factors of pairs (MultiBLiMP, section 7.3, Figure 5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from analysis.clustered import clustered_errors
from eval.linking import nll_per_token
from eval.metrics import CONFIDENCE

PHENOMENON = "phenomenon"
RESPONSE = "delta_lp"
LANGUAGE, SENTENCE = "language", "sentence"
NO_FACTORS = (PHENOMENON, RESPONSE, LANGUAGE, SENTENCE)  # columns of the table that are none
OF_SCORES = ("sentence_length", "perplexity", "subword_delta")
PUBLISHED = (
    "distance",
    "has_attractors",
    "congruent_attractors",
    "incongruent_attractors",
)  # where a benchmark has them


@dataclass(frozen=True, eq=False)
class FactorModel:
    """A fitted linear model.

    Attributes:
        betas: one row per term: ``term``, ``kind`` (``phenomenon`` or ``factor``), ``beta``, ``low``, ``high`` (95 %
            interval), ``p`` and ``beta_standardised`` (in standard deviations of the response; NaN for phenomena).
            Interval and p are NaN for a term that one cluster determines alone.
        n: pairs.
        clustered_by: ``language`` or ``sentence``: what intervals and p take as independent of each other.
        clusters: how many there are.
        r_squared: share of the variance explained, about the mean.
        left_out: factors that do not vary, or follow from the others.
    """

    betas: pd.DataFrame
    n: int
    clustered_by: str
    clusters: int
    r_squared: float
    left_out: tuple[str, ...]


def pair_factors(pairs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Gather what pairs and scores say of each pair.

    Args:
        pairs: the pair table.
        scores: the score table, one row per pair in the same order.

    Returns:
        ``phenomenon``; ``sentence`` (the good one); ``delta_lp`` (MultiBLiMP, section 6.3); ``sentence_length`` (scored
        tokens of the good sentence), ``perplexity`` (of the good sentence, per token), ``subword_delta`` (tokens of the
        good sentence less those of the bad one, which is the difference of the key item where they differ in nothing
        else); and of ``distance`` (without its sign, which is the word order) and the marks of attractors what is
        published.
    """
    lp, n = scores["lp_good"].to_numpy(np.float64), scores["n_good"].to_numpy(np.float64)
    table = pd.DataFrame({
        PHENOMENON: pairs[PHENOMENON].astype(str).to_numpy(),
        SENTENCE: pairs["good"].astype(str).to_numpy(),
        RESPONSE: lp - scores["lp_bad"].to_numpy(np.float64),
        "sentence_length": n,
        "perplexity": np.exp(nll_per_token(lp, n)),
        "subword_delta": n - scores["n_bad"].to_numpy(np.float64),
    })  # fmt: skip
    for name in PUBLISHED:
        if name in pairs:
            table[name] = pd.to_numeric(pairs[name], errors="coerce").to_numpy(np.float64)
    if "distance" in table:
        table["distance"] = table["distance"].abs()
    return table


def factor_model(table: pd.DataFrame, factors: Sequence[str]) -> FactorModel | None:
    """Fit Delta on phenomena and standardised factors by ordinary least squares (MultiBLiMP, section 7.3).

    Every phenomenon has a term of its own and there is no intercept, so that its beta is the Delta expected of it where
    all factors are at their means. Pairs of a language, and pairs of a sentence, are not independent of each other:
    intervals and p come from the t distribution with ``clustered_errors`` by language where the pairs are of several,
    else by good sentence.

    Args:
        table: ``phenomenon``, ``language``, ``sentence``, ``delta_lp`` and the factors, one row per pair; a row with a
            missing value is left out.
        factors: columns of numbers, the binary ones 0 and 1; each is scaled to mean 0 and sample standard deviation 1.

    Returns:
        The model; its betas are in nats of Delta per standard deviation of the factor. None where fewer pairs are left
        than terms.
    """
    from statsmodels.regression.linear_model import OLS

    rows = table[[*NO_FACTORS, *factors]].replace([np.inf, -np.inf], np.nan).dropna()
    phenomena = pd.get_dummies(rows[PHENOMENON], dtype=np.float64)
    design, left_out = _independent(phenomena, rows, factors)
    if len(rows) <= design.shape[1]:
        return None
    fit = OLS(rows[RESPONSE].to_numpy(np.float64), design.to_numpy(), hasconst=True).fit()
    by = LANGUAGE if rows[LANGUAGE].nunique() > 1 else SENTENCE
    clusters = pd.factorize(rows[by])[0]
    errors, freedom = clustered_errors(design.to_numpy(), fit.resid, clusters)
    half = student.ppf((1 + CONFIDENCE) / 2, freedom) * errors
    distance = np.divide(np.abs(fit.params), errors, out=np.full(len(errors), np.nan), where=errors > 0)
    p = 2 * student.sf(distance, freedom)
    kinds = ["phenomenon"] * phenomena.shape[1] + ["factor"] * (design.shape[1] - phenomena.shape[1])
    betas = pd.DataFrame({
        "term": list(design.columns), "kind": kinds, "beta": fit.params, "low": fit.params - half,
        "high": fit.params + half, "p": p,
    })  # fmt: skip
    scaled = betas["beta"] / rows[RESPONSE].std(ddof=1)
    betas["beta_standardised"] = scaled.where(betas["kind"] == "factor")
    return FactorModel(betas, len(rows), by, int(clusters.max()) + 1, float(fit.rsquared), left_out)


def _independent(
    phenomena: pd.DataFrame, rows: pd.DataFrame, factors: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Add the standardised factors one by one, those left out that the columns before them determine."""
    design, left_out = phenomena, []
    for name in factors:
        values = rows[name].to_numpy(np.float64)
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        wider = design.assign(**{name: (values - values.mean()) / spread}) if spread > 0 else None
        if wider is not None and _full_rank(wider.to_numpy()):
            design = wider
        else:
            left_out.append(name)
    return design, tuple(left_out)


def _full_rank(design: npt.NDArray[np.float64]) -> bool:
    unit = design / np.linalg.norm(design, axis=0)
    return bool(np.linalg.matrix_rank(unit.T @ unit, tol=1e-10) == design.shape[1])
