"""The linear model of certainty on factors of pairs (MultiBLiMP, section 7.3, Figure 5).

Its standard errors are cluster-robust, as pairs share a language or a sentence.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.data.last_scores import LanguageScores, ModelScores
from ucurve.analysis.data.user_tables import LANGUAGE, NO_FACTORS, PHENOMENON, RESPONSE, SENTENCE, factors_of
from ucurve.analysis.plotting.figures import Drawing, NamedRows
from ucurve.analysis.plotting.style import DOTTED, NUMBERED, drawing_style
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.linking import nll_per_token
from ucurve.eval.metrics.sampling import CONFIDENCE

Array = npt.NDArray[np.float64]
_BATCH = 500  # clusters that are computed together
_WHOLE = 1 - 1e-9  # a share of a direction that lies in one cluster, above which nothing outside it speaks of it
OF_SCORES = ("sentence_length", "perplexity", "subword_delta")
ATTRACTORS = ("all_congruent", "all_incongruent")  # as ``generation.multiblimp`` names them
PUBLISHED = ("distance", *ATTRACTORS, "has_attractors")  # in some benchmarks


def clustered_errors(design: Array, residuals: Array, clusters: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return standard errors of least squares that allow any dependence within clusters, and their degrees of freedom.

    The residuals of a cluster are corrected for their shrinkage by the fit (CR2, Bell and McCaffrey 2002), and the
    degrees of freedom are those of a sum of squares of the same mean and variance (Satterthwaite's, as there), so that
    t tests hold their level with few and with unequal clusters. Each term has its own: a number that is constant in a
    language is known from as many observations as there are languages.

    ``design`` is float64[n, terms], of full rank, ``residuals`` float64[n] and ``clusters`` int64[n]; both results are
    float64[terms], NaN for a term that one cluster determines alone.
    """
    # A cluster's part of the projection is small in this basis: terms x terms.
    basis, triangle = np.linalg.qr(design)
    terms = np.linalg.inv(triangle)
    lengths = np.sqrt((terms**2).sum(axis=1))
    count = design.shape[1]
    variance, trace, squares = np.zeros(count), np.zeros(count), np.zeros(count)
    shared, alone = np.zeros((count, count, count)), np.zeros(count, dtype=bool)
    for rows in _batches(clusters):  # int64[clusters, members]
        part = basis[rows]
        shares, directions = np.linalg.eigh(part.mT @ part)
        own = shares > _WHOLE
        # A direction that lies in one cluster is fitted by that cluster alone. Its residual is 0 and cannot be scaled.
        widened = np.where(own, 0.0, 1 / np.sqrt(1 - np.where(own, 0.0, shares)))[:, None]
        turned = terms @ directions  # [clusters, terms, directions]
        is_whole = np.abs(turned) > np.sqrt(1 - _WHOLE) * lengths[:, None]
        alone |= is_whole.swapaxes(1, 2)[own].any(axis=0)
        scores = (residuals[rows][:, None] @ part) @ directions
        variance += ((turned * widened * scores).sum(axis=2) ** 2).sum(axis=0)
        pulled = (turned * (widened * shares[:, None])) @ directions.mT
        kept = (turned**2 * (widened**2 * shares[:, None])).sum(axis=2)
        lost = (pulled**2).sum(axis=2)
        trace += (kept - lost).sum(axis=0)
        squares += (kept**2 - 2 * kept * lost).sum(axis=0)
        by_term = pulled.swapaxes(0, 1)
        shared += by_term.mT @ by_term
    squares += (shared**2).sum(axis=(1, 2))
    known = ~alone & (squares > 0)
    freedom = np.divide(trace**2, squares, out=np.full(count, np.nan), where=known)
    return np.where(known, np.sqrt(variance), np.nan), freedom


def _batches(clusters: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of the members of clusters of one size, int64[clusters, members]."""
    order = np.argsort(clusters, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
    for _, alike in groupby(sorted(members, key=len), key=len):
        whole = np.stack(list(alike))
        yield from np.array_split(whole, math.ceil(len(whole) / _BATCH))


@dataclass(frozen=True, eq=False)
class FactorModel:
    """A fitted linear model."""

    betas: pd.DataFrame  # term, kind (phenomenon or factor), beta, low, high (95 %), p, beta_standardised
    n: int
    clustered_by: str  # language or sentence: what intervals and p take as independent of each other
    clusters: int
    r_squared: float  # share of the variance explained, about the mean
    left_out: tuple[str, ...]  # factors that do not vary, or follow from the others


def pair_factors(pairs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Gather what pairs and scores say of each pair (``delta_lp``: MultiBLiMP, section 6.3).

    ``sentence_length`` and ``perplexity`` are of the tokens of the good sentence, ``subword_delta`` their number less
    that of the bad one. ``distance`` is without its sign, which is the word order. Where it is known whether attractors
    agree, these are two factors, whose effects are opposite, and whether there are any is none.
    """
    lp, n = scores["lp_good"].to_numpy(np.float64), scores["n_good"].to_numpy(np.float64)
    table = pd.DataFrame(
        {
            PHENOMENON: pairs[PHENOMENON].astype(str).to_numpy(),
            SENTENCE: pairs["good"].astype(str).to_numpy(),
            RESPONSE: lp - scores["lp_bad"].to_numpy(np.float64),
            "sentence_length": n,
            "perplexity": np.exp(nll_per_token(lp, n)),
            "subword_delta": n - scores["n_bad"].to_numpy(np.float64),
        }
    )
    known = PUBLISHED[:-1] if set(ATTRACTORS) <= set(pairs) else PUBLISHED
    for name in (name for name in known if name in pairs):
        values = pd.to_numeric(pairs[name], errors="coerce").to_numpy(np.float64)
        table[name] = np.abs(values) if name == "distance" else values
    return table


def factor_model(table: pd.DataFrame, factors: Sequence[str]) -> FactorModel | None:
    """Fit Delta on phenomena and standardized factors by ordinary least squares (MultiBLiMP, section 7.3).

    Every phenomenon has a term of its own and there is no intercept, so that its beta is the Delta expected of it where
    all factors are at their means. Intervals and p come from the t distribution with ``clustered_errors`` by language
    where the pairs are of several, else by good sentence.

    Rows that lack a value are left out; None where fewer pairs are left than terms. Betas are in nats of Delta per
    sample standard deviation of the factor, ``beta_standardised`` in those of the response (NaN for phenomena).
    """
    from statsmodels.regression.linear_model import OLS

    rows = table[[*NO_FACTORS, *factors]].replace([np.inf, -np.inf], np.nan).dropna()
    phenomena = pd.get_dummies(rows[PHENOMENON], dtype=np.float64)
    design, left_out = _independent_columns(phenomena, rows, factors)
    if len(rows) <= design.shape[1]:
        return None
    fit = OLS(rows[RESPONSE].to_numpy(np.float64), design.to_numpy(), hasconst=True).fit()
    by = LANGUAGE if rows[LANGUAGE].nunique() > 1 else SENTENCE
    clusters = pd.factorize(rows[by])[0]
    errors, freedom = clustered_errors(design.to_numpy(), fit.resid, clusters)
    half = student.ppf((1 + CONFIDENCE) / 2, freedom) * errors
    distance = np.divide(np.abs(fit.params), errors, out=np.full(len(errors), np.nan), where=errors > 0)
    kinds = ["phenomenon"] * phenomena.shape[1] + ["factor"] * (design.shape[1] - phenomena.shape[1])
    betas = pd.DataFrame(
        {
            "term": list(design.columns),
            "kind": kinds,
            "beta": fit.params,
            "low": fit.params - half,
            "high": fit.params + half,
            "p": 2 * student.sf(distance, freedom),
        }
    )
    scaled = betas["beta"] / rows[RESPONSE].std(ddof=1)
    betas["beta_standardised"] = scaled.where(betas["kind"] == "factor")
    return FactorModel(
        betas=betas,
        n=len(rows),
        clustered_by=by,
        clusters=int(clusters.max()) + 1,
        r_squared=float(fit.rsquared),
        left_out=left_out,
    )


def _independent_columns(
    phenomena: pd.DataFrame, rows: pd.DataFrame, factors: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Add the standardized factors one by one, without those that the columns before them determine."""
    design, left_out = phenomena, []
    for name in factors:
        values = rows[name].to_numpy(np.float64)
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        wider = design.assign(**{name: (values - values.mean()) / (spread or 1.0)})
        unit = wider.to_numpy() / np.maximum(np.linalg.norm(wider.to_numpy(), axis=0), 1e-300)
        # The columns have length one here, so that the tolerance means the same for all factors.
        if spread > 0 and np.linalg.matrix_rank(unit.T @ unit, tol=1e-10) == unit.shape[1]:
            design = wider
        else:
            left_out.append(name)
    return design, tuple(left_out)


FREQUENCY = "language_frequency"
_MODELS = 2  # drawn; the paper's figure has its two best models
_ROWS = 60


@questions.section(questions.PAIRS, place=1)
def factor_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Fit Delta of every model scored on all languages, where some factor is more than what the scores hold."""
    last, given = languages.by_language, languages.first.study.user_tables
    accuracy = pd.concat([one.credit for one in last.values()]).mean().sort_values(ascending=False, kind="stable")
    shared = [str(model) for model in accuracy.index if all(model in one.credit for one in last.values())]
    fitted = {}
    for model in shared:
        table = factor_table(model, last, given.languages, given.factors)
        terms = [column for column in table.columns if column not in NO_FACTORS]
        if set(terms) <= set(OF_SCORES):  # such factors alone would be a section about every benchmark
            return
        if (fit := factor_model(table, terms)) is not None:
            fitted[model] = fit
    if fitted:
        yield _factor_section(languages.family, languages.file_name, fitted)


def factor_table(
    model: str, last: dict[str, ModelScores], languages: pd.DataFrame | None, factors: pd.DataFrame | None
) -> pd.DataFrame:
    """Gather Delta and the factors of all pairs of one model; the language's frequency enters as its logarithm."""
    parts, frequency = [], None if languages is None else languages.set_index("language")["frequency"]
    for language, one in last.items():
        part = pair_factors(one.pairs, one.scores[model]).assign(**{LANGUAGE: language})
        if frequency is not None and frequency.notna().any():
            part[FREQUENCY] = np.log10(frequency.get(language, np.nan))
        if factors is not None:
            own = factors_of(factors, one.benchmark)
            joined = one.pairs[["pair"]].merge(own, on="pair", how="left").drop(columns="pair")
            part = part.join(joined)
        parts.append(part)
    return pd.concat(parts, ignore_index=True).dropna(axis="columns", how="all")


def _factor_section(name: str, file_name: str, fitted: dict[str, FactorModel]) -> ReportSection:
    """Show the terms of all models, and draw those of the most accurate ones."""
    facts = ["n", "r_squared", "clustered_by", "clusters"]
    betas = pd.concat(
        [
            fit.betas.assign(model=model, **{fact: getattr(fit, fact) for fact in facts})
            for model, fit in fitted.items()
        ]
    )
    columns = ["model", *facts, "term", "kind", "beta", "low", "high", "p", "beta_standardised"]
    table = betas[columns].reset_index(drop=True)
    without = sorted({factor for fit in fitted.values() for factor in fit.left_out})
    what = {LANGUAGE: "languages", SENTENCE: "good sentences"}
    clusters = " or ".join(what[by] for by in dict.fromkeys(table["clustered_by"]))
    gap = " A term that one cluster determines alone has no interval and no p." if table["p"].isna().any() else ""
    clustering = (
        f"Intervals and p are cluster-robust: {clusters} are taken as independent of each other, the pairs of each are "
        f"not (CR2 errors, t with Bell and McCaffrey's degrees of freedom).{gap}"
    )
    note = (
        "Ordinary least squares of Δ (ln P(good) - ln P(bad)) over pairs: a term for each phenomenon, no intercept, "
        "factors scaled to mean 0 and sample standard deviation 1 (MultiBLiMP, section 7.3). A beta is in nats for one "
        "standard deviation of its factor, with its 95 % interval; a phenomenon's is the Δ at the means of the "
        "factors. Language frequency enters as its logarithm. Perplexity, sentence length and subword delta are of the "
        f"model's own tokens. {clustering}"
    )
    if without:
        note += f" Left out, as they do not vary or follow from others: {', '.join(without)}."
    shown = table_columns(
        "model",
        Column("term", "Term"),
        Column("beta", "Beta, nats (95 % interval)", "number", ("low", "high")),
        Column("p", "p", "p"),
        "n",
        "clusters",
        Column("r_squared", "R² (%)", "percent"),
    )
    drawing = _draw_betas(table[table["model"].isin(list(fitted)[:_MODELS])], f"factors_{file_name}", note)
    view = TableView(note, shown, table.head(_ROWS), {f"factor_models_{file_name}": table})
    return ReportSection(f"What drives certainty on {name}", (drawing, view))


def _draw_betas(table: pd.DataFrame, name: str, note: str) -> Drawing:
    """Draw a row for each term, with the models beside each other in it."""
    terms, models = list(dict.fromkeys(table["term"])), list(dict.fromkeys(table["model"]))
    styles = NUMBERED(models)
    with drawing_style():
        rows = NamedRows(terms, note, row=0.16, top=0.28)
        rows.axes.axvline(0, **DOTTED)
        for place, (model, style) in enumerate(styles.items()):
            part = table[table["model"] == model].set_index("term").reindex(terms)
            height = np.arange(len(terms)) + 0.25 * (place - (len(models) - 1) / 2)
            rows.axes.errorbar(
                part["beta"],
                height,
                xerr=np.array([part["beta"] - part["low"], part["high"] - part["beta"]]),
                fmt="o",
                color=style.color,
                markersize=2.6,
                elinewidth=0.8,
                label=model,
            )
        rows.axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=_MODELS, borderpad=0.2)
        figure = rows.finish("Beta (nats; factors: per standard deviation)")
    return Drawing(name, "Factors of certainty", note, figure, table.reset_index(drop=True))
