"""The part about the factors of certainty (MultiBLiMP, section 7.3, Figure 5)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.factors import LANGUAGE, NO_FACTORS, OF_SCORES, SENTENCE, FactorModel, factor_model, pair_factors
from analysis.figures import Drawing
from analysis.judged import Judged
from analysis.named_rows import NamedRows
from analysis.report import Column, Part, Section, TableView
from analysis.style import drawing_style, line_styles

FREQUENCY = "language_frequency"
_MODELS = 2  # drawn; the paper's figure has its two best models
_ROWS = 60


def factor_parts(
    name: str, file_name: str, judged: dict[str, Judged], languages: pd.DataFrame | None, factors: pd.DataFrame | None
) -> Iterator[Part]:
    """Fit the linear model of Delta for every model that was scored on all languages of a benchmark.

    Args:
        name: of the benchmark, or of the family of languages.
        file_name: what its files are named after.
        judged: the judgments by language; of a benchmark of one language, one.
        languages: with frequencies, from ``covariates.read_languages``.
        factors: from ``covariates.read_factors``.

    Yields:
        The part, where there is a factor beyond what the scores themselves hold.
    """
    shared = [model for model in _models(judged) if all(model in one.credit for one in judged.values())]
    fitted = {}
    for model in shared:
        table = factor_table(model, judged, languages, factors)
        terms = [column for column in table.columns if column not in NO_FACTORS]
        if set(terms) <= set(OF_SCORES):
            return
        fit = factor_model(table, terms)
        if fit is not None:
            fitted[model] = fit
    if fitted:
        yield _part(name, file_name, fitted)


def factor_table(
    model: str, judged: dict[str, Judged], languages: pd.DataFrame | None, factors: pd.DataFrame | None
) -> pd.DataFrame:
    """Gather Delta and the factors of all pairs of one model; the language's frequency enters as its logarithm."""
    parts = []
    frequency = None if languages is None else languages.set_index("language")["frequency"]
    for language, one in judged.items():
        part = pair_factors(one.pairs, one.scores[model]).assign(**{LANGUAGE: language})
        if frequency is not None and frequency.notna().any():
            part[FREQUENCY] = np.log10(frequency.get(language, np.nan))
        if factors is not None:
            part = _with_factors(part, one, factors)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.dropna(axis="columns", how="all")


def _with_factors(part: pd.DataFrame, one: Judged, given: pd.DataFrame) -> pd.DataFrame:
    own = given[given["benchmark"] == one.benchmark].drop(columns="benchmark")
    joined = one.pairs[["pair"]].merge(own, on="pair", how="left").drop(columns="pair")
    return part.assign(**{name: joined[name].to_numpy() for name in joined.columns})


def _models(judged: dict[str, Judged]) -> list[str]:
    accuracy = pd.concat([one.credit for one in judged.values()]).mean()
    return [str(name) for name in accuracy.sort_values(ascending=False, kind="stable").index]


def _part(name: str, file_name: str, fitted: dict[str, FactorModel]) -> Part:
    facts = ["n", "r_squared", "clustered_by", "clusters"]
    betas = pd.concat(
        [fit.betas.assign(model=model, **{fact: getattr(fit, fact) for fact in facts}) for model, fit in fitted.items()]
    )
    columns = ["model", *facts, "term", "kind", "beta", "low", "high", "p", "beta_standardised"]
    table = betas[columns].reset_index(drop=True)
    without = sorted({factor for fit in fitted.values() for factor in fit.left_out})
    note = (
        "Ordinary least squares of Δ (ln P(good) - ln P(bad)) over pairs: a term for each phenomenon, no intercept, "
        "factors scaled to mean 0 and sample standard deviation 1 (MultiBLiMP, section 7.3). A beta is in nats for one "
        "standard deviation of its factor, with its 95 % interval; a phenomenon's is the Δ at the means of the "
        "factors. Language frequency enters as its logarithm. Perplexity, sentence length and subword delta are of the "
        f"model's own tokens. {_clustering(table)}"
    )
    if without:
        note += f" Left out, as they do not vary or follow from others: {', '.join(without)}."
    shown = (
        Column("model", "Model"), Column("term", "Term"), Column("beta", "Beta (nats)", "number"),
        Column("low", "95 % from", "number"), Column("high", "to", "number"), Column("p", "p", "p"),
        Column("n", "Pairs", "count"), Column("clusters", "Clusters", "count"),
        Column("r_squared", "R² (%)", "percent"),
    )  # fmt: skip
    drawn = list(fitted)[:_MODELS]
    drawing = _draw(table[table["model"].isin(drawn)], f"factors_{file_name}", note)
    view = TableView(f"{note} Numbers: factor_models_{file_name}.csv.", shown, table.head(_ROWS))
    return Part(Section(f"What drives certainty on {name}", (drawing, view)), {f"factor_models_{file_name}": table})


def _clustering(table: pd.DataFrame) -> str:
    """Say what intervals and p take as independent, and why one may be missing."""
    what = {LANGUAGE: "languages", SENTENCE: "good sentences"}
    clusters = " or ".join(what[by] for by in dict.fromkeys(table["clustered_by"]))
    note = (
        f"Intervals and p are cluster-robust: {clusters} are taken as independent of each other, the pairs of each are "
        "not (CR2 errors, t with Bell and McCaffrey's degrees of freedom)."
    )
    gap = " A term that one cluster determines alone has no interval and no p." if table["p"].isna().any() else ""
    return note + gap


def _draw(table: pd.DataFrame, name: str, note: str) -> Drawing:
    terms, models = list(dict.fromkeys(table["term"])), list(dict.fromkeys(table["model"]))
    styles = line_styles(models)
    with drawing_style():
        rows = NamedRows(terms, note, row=0.16, top=0.28)
        rows.axes.axvline(0, color="0.55", linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)
        for place, (model, style) in enumerate(styles.items()):
            part = table[table["model"] == model].set_index("term").reindex(terms)
            height = np.arange(len(terms)) + 0.25 * (place - (len(models) - 1) / 2)
            bars = np.array([part["beta"] - part["low"], part["high"] - part["beta"]])
            rows.axes.errorbar(
                part["beta"],
                height,
                xerr=bars,
                fmt="o",
                color=style.colour,
                markersize=2.6,
                elinewidth=0.8,
                label=model,
            )
        rows.axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=_MODELS, borderpad=0.2)
        figure = rows.finish("Beta (nats; factors: per standard deviation)")
    return Drawing(name, "Factors of certainty", note, figure, table.reset_index(drop=True))
