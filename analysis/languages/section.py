"""Sections about benchmarks of many languages (MultiBLiMP, sections 7.1 to 7.3, Tables 3 and 5, Figures 1, 4, 5).

They say how accurate models are by language, by group of languages (over pairs and over languages), and against how
frequent a language is, with a fitted logistic curve; and which languages a benchmark has, by condition of agreement and
by family (Table 2, Figure 3 and B.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from ucurve.analysis.data.frames import pool_pairs, stack
from ucurve.analysis.data.last_scores import LanguageScores, ModelScores
from ucurve.analysis.models.charts import draw_scatter
from ucurve.analysis.models.mcnemar import (
    BEST_LEVEL,
    OVER_EDITS,
    PAIR_LEVEL,
    best_by_group,
    count_best,
    count_better,
    mcnemar_table,
    name_leaders,
    with_model_first,
)
from ucurve.analysis.models.side_by_side import MODELS, ROWS
from ucurve.analysis.plotting.facets import draw_panels, panels_by
from ucurve.analysis.plotting.figures import Drawing, NamedRows
from ucurve.analysis.plotting.style import COLORS, drawing_style, log_axis, percent_axis, power_label
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.scaling.laws import logistic_law
from ucurve.eval.metrics.sampling import exact_interval
from ucurve.eval.metrics.significance import CHANCE
from ucurve.yaml_files import read_yaml

ENOUGH = 10  # pairs of a language that make it count in a condition
_CODES = 12  # of languages beside a bar
# columns of the pairs of MultiBLiMP and of its maker
_OF_AGREEMENT = {"phenomenon", "feature_vals", "word_order"}
_KEYS = ["phenomenon", "value", "order"]


@questions.section(questions.LEARNED, place=2, page="docs/other-papers.md")
def coverage_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Count the languages of a benchmark by condition and by family; nothing of one language."""
    if len(languages.members) == 1:
        return
    content: list[TableView | Drawing] = [_draw_families(languages)]
    counted = condition_table(languages.by_language)
    if len(counted):
        text = counted["languages"].astype(str) + " (" + counted["significant"].astype(str) + ")"
        wide = counted.assign(text=text).pivot_table(
            "text", ["phenomenon", "value"], "order", aggfunc="first", sort=False
        )
        shown = wide.reindex(columns=["SV", "VS", "both"]).astype(object).fillna("0 (0)").reset_index()
        note = (
            f"Languages with at least {ENOUGH} pairs of a condition, and in brackets those for which agreement is "
            "significant, where the pairs say so (MultiBLiMP, Table 2). A value is the subject's; all counts the "
            "languages that are counted at any."
        )
        columns = tuple(Column(str(name), str(name)) for name in shown)
        view = TableView(note, columns, shown, {f"conditions_{languages.file_name}": counted})
        content.insert(0, view)
    yield ReportSection(f"Which languages {languages.family} has", tuple(content))


def condition_table(last: Mapping[str, ModelScores]) -> pd.DataFrame:
    """Count the languages with ``ENOUGH`` pairs of each condition (MultiBLiMP, Table 2); no rows for other pairs.

    ``phenomenon`` (without its layer), ``value`` of the subject, ``order``, ``languages``, and of these
    ``significant``: those whose pairs say so of agreement. ``all`` and ``both`` count what is counted in any condition.
    """
    parts = [
        _conditions_of(language, one.pairs) for language, one in last.items() if set(one.pairs) >= _OF_AGREEMENT
    ]
    pairs = pd.concat([pd.DataFrame(columns=[*_KEYS, "languages", "significant"]), *parts])
    pairs = pairs[pairs.groupby([*_KEYS, "languages"])["languages"].transform("size") >= ENOUGH]
    pairs = pd.concat([pairs, pairs.assign(value="all")])
    pairs = pd.concat([pairs, pairs.assign(order="both")])
    return pairs.groupby(_KEYS, sort=False)[["languages", "significant"]].nunique().reset_index()


def _conditions_of(language: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """Name the condition of each pair of a language (``condition_table``)."""
    return pd.DataFrame(
        {
            "phenomenon": pairs["phenomenon"].str.partition("[")[0],
            "value": pairs["feature_vals"].str.partition(" ")[0],
            "order": pairs["word_order"],
            "languages": language,
            "significant": pairs.get("agreement", pd.Series("", pairs.index)).map({"significant": language}),
        }
    )


def family_table(last: Mapping[str, ModelScores]) -> pd.DataFrame:
    """Count pairs by ``language`` and ``family`` (``not known`` where families.yaml has none), the largest first."""
    known = read_yaml(Path(__file__).with_name("families.yaml"), dict[str, tuple[str, ...]])
    family_of = {language: family for family, members in known.items() for language in members}
    rows = [(family_of.get(language, "not known"), language, len(one.pairs)) for language, one in last.items()]
    table = pd.DataFrame(rows, columns=["family", "language", "pairs"]).sort_values(["family", "language"])
    return table.sort_values(
        "family", key=lambda names: -names.map(names.value_counts()), kind="stable", ignore_index=True
    )


def _draw_families(languages: LanguageScores) -> Drawing:
    """Draw a bar for each family, with the codes of its languages beside it."""
    table = family_table(languages.by_language)
    members = table.groupby("family", sort=False)["language"].agg(list)
    note = f"Languages of {languages.family} by family (MultiBLiMP, Figure 3 and B.1), with their codes."
    with drawing_style():
        rows = NamedRows(list(members.index), note)
        rows.axes.barh(np.arange(len(members)), members.map(len), height=0.6, color=COLORS[0])
        for place, codes in enumerate(members):
            shown = " ".join(codes[:_CODES]) + (f" and {len(codes) - _CODES} more" if len(codes) > _CODES else "")
            at = (len(codes), place)
            rows.axes.annotate(shown, at, xytext=(3, 0), textcoords="offset points", va="center", fontsize=5)
        rows.axes.set_xlim(0, 2 * members.map(len).max())  # the codes need room beside the longest bar
        figure = rows.finish("Languages")
    return Drawing(f"families_{languages.file_name}", "Families of languages", note, figure, table)


Array = npt.NDArray[np.float64]
FEWEST = 5  # languages; the curve has three parameters
OVER, UNDER = "over", "under"
LOW, MID, HIGH = "low", "mid", "high"
_LOW_SHARE, _MID_SHARE = 0.6, 0.9
EVERY = "all"
_PANELS = 8
_COLORS = {OVER: "#0072B2", UNDER: "#D55E00", "": "0.6"}


def fit_logistic(covariate: Array, accuracy: Array) -> Array | None:
    """Fit ``scaling.laws.logistic_law`` to accuracies over a covariate above 0, by least squares.

    MultiBLiMP names the curve and not its form (Figure 1, section 7.3); here it rises from chance, one half, since a
    model that knows nothing guesses. The parameters are the ceiling (a fraction from chance to 1), the slope per decade
    and log10 of the covariate half way up; None for fewer than five points, a covariate that does not vary, or where no
    fit is found.

    Both are float64[languages], accuracies as fractions.
    """
    from scipy.optimize import curve_fit

    def curve(x: Array, *parameters: float) -> Array:
        return logistic_law(x, np.array(parameters))

    if len(covariate) < FEWEST or np.ptp(covariate) == 0:
        return None
    x = np.log10(covariate)
    # The ceiling begins near the best language, and within its bounds, as the search demands.
    start = (min(max(0.9, float(accuracy.max()) - 0.01), 0.999), 1.0, float(np.median(x)))
    bounds = ([CHANCE, 0.0, float(x.min()) - 10], [1.0, 20.0, float(x.max()) + 10])
    try:
        found, _ = curve_fit(curve, covariate, accuracy, p0=start, bounds=bounds, max_nfev=5000)
    except RuntimeError:
        return None
    return np.asarray(found)


def residual_table(points: pd.DataFrame) -> pd.DataFrame:
    """Say how far each language with a frequency is from the curve of its model; models without a fit have no rows.

    The ``verdict`` is ``over`` or ``under`` for a language that is more than one standard deviation of the residuals
    from the curve and whose 95 % interval does not reach it, else empty. The interval is that of as many independent
    pairs as ``effective`` says, or ``n`` without this column.
    """
    rows = points.dropna(subset=["frequency", "accuracy"])
    parts = (_residuals_of_model(part) for _, part in rows.groupby("model", sort=False, observed=True))
    columns = ["model", "language", "frequency", "n", "accuracy", "fitted", "residual", "verdict"]
    return stack((part for part in parts if part is not None), columns)[columns]


def _residuals_of_model(part: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows of one model (``residual_table``), the most above its curve first; None without a fit."""
    frequency, accuracy, n = (part[name].to_numpy(np.float64) for name in ("frequency", "accuracy", "n"))
    curve = fit_logistic(frequency, accuracy)
    if curve is None:
        return None
    fitted = logistic_law(frequency, curve)
    residual = accuracy - fitted
    size = part["effective"].to_numpy(np.float64) if "effective" in part else n
    low, high = exact_interval(accuracy * size, size)
    # A language with few pairs may lie far from the curve by chance, and one with many pairs may differ from it
    # significantly but by little. So both conditions have to hold.
    far = np.abs(residual) > residual.std(ddof=1)
    verdict = np.where(far & (low > fitted), OVER, np.where(far & (high < fitted), UNDER, ""))
    table = part.assign(fitted=fitted, residual=residual, verdict=verdict)
    return table.sort_values("residual", ascending=False, kind="stable")


def resource_splits(frequency: pd.Series) -> pd.Series:
    """Divide languages by how frequent they are, among those whose frequency is known (MultiBLiMP, section 7.1).

    ``low`` are the 60 % least frequent languages, ``high`` the 10 % most frequent, ``mid`` those between; an empty
    string where the frequency is not known. Equally frequent languages share their mean rank.
    """
    rank = frequency.rank(pct=True)
    names = pd.Series(MID, index=frequency.index).mask(rank <= _LOW_SHARE, LOW).mask(rank > _MID_SHARE, HIGH)
    return names.mask(frequency.isna(), "")


def group_members(languages: pd.DataFrame) -> pd.DataFrame:
    """List the ``language``s of each ``group``: the splits made among these languages, then the named sets."""
    splits = resource_splits(languages["frequency"])
    parts = [languages.loc[splits == name, "language"].to_frame().assign(group=name) for name in (LOW, MID, HIGH)]
    sets = [name for name in languages.columns if name not in ("language", "name", "frequency")]
    parts += [languages.loc[languages[name], "language"].to_frame().assign(group=name) for name in sets]
    return pd.concat(parts, ignore_index=True)[["group", "language"]]


def group_table(points: pd.DataFrame, members: pd.DataFrame | None = None) -> pd.DataFrame:
    """Average languages in both ways that papers use, over all that a model was scored on (``all``) and by group.

    ``over_pairs`` weights them by their pairs (``All`` of MultiBLiMP's Table 3), ``over_languages`` all the same.
    """
    everything = points.assign(group=EVERY)
    chosen = [everything] if members is None else [everything, points.merge(members, on="language")]
    rows = pd.concat(chosen, ignore_index=True).dropna(subset="accuracy")
    keys = ["model", "group"]
    counted = rows.groupby(keys, as_index=False, sort=False, observed=True).agg(
        languages=("language", "nunique"), over_languages=("accuracy", "mean")
    )
    table = counted.merge(pool_pairs(rows, keys).rename(columns={"accuracy": "over_pairs"}), on=keys)
    return table[[*keys, "languages", "n", "over_pairs", "over_languages"]]


def language_table(points: pd.DataFrame, languages: pd.DataFrame | None = None) -> pd.DataFrame:
    """Lay accuracies out by language and model, by name (MultiBLiMP, Table 5); ``n`` is the largest over the models."""
    wide = points.pivot_table(index="language", columns="model", values="accuracy", sort=False, observed=True)
    table = points.groupby("language", sort=False, observed=True)["n"].max().to_frame().join(wide).reset_index()
    about = pd.DataFrame({"language": table["language"], "name": table["language"], "frequency": float("nan")})
    if languages is not None:
        given = languages.set_index("language")
        about["name"] = about["language"].map(given["name"]).fillna(about["language"])
        about["frequency"] = about["language"].map(given["frequency"])
    about["split"] = resource_splits(about["frequency"])
    merged = about.merge(table, on="language")
    merged.columns.name = None
    return merged.sort_values("name", key=lambda names: names.str.casefold(), kind="stable", ignore_index=True)


@questions.section(questions.LEARNED, place=1)
def language_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models by language, and by groups of languages; nothing of one language."""
    if len(languages.members) == 1:
        return
    last, file_name, title = languages.by_language, languages.file_name, languages.title
    columns = ["model", "n", "effective", "accuracy"]
    parts = [one.overall[columns].assign(language=language) for language, one in last.items()]
    points = pd.concat(parts, ignore_index=True)
    known = languages.first.study.user_tables.languages
    if known is not None:
        known = known[known["language"].isin(set(points["language"]))].reset_index(drop=True)
    tests = [best_by_group(one.credit, _all_of(name, one), one.clusters.of) for name, one in last.items()]
    # An empty table would give the columns of the others another type.
    best = pd.concat([part for part in tests if len(part)] or tests[:1], ignore_index=True)
    groups, table = _tabulate_groups(points, known, last), language_table(points, known)
    content: list[TableView | Drawing] = [_group_view(groups, best, file_name), _language_view(table, file_name)]
    # The best model over all pairs is the one that others are compared with.
    every = groups[groups["group"] == EVERY].sort_values("over_pairs", ascending=False, kind="stable")
    ranked = [str(name) for name in every["model"]]
    if len(ranked) > 1:
        compared = compare_languages(last, ranked[:MODELS])
        files = {f"mcnemar_languages_{file_name}": compared, f"best_languages_{file_name}": best}
        content.append(_versus_view(compared, ranked[0], files))
        scatter = draw_scatter(
            compared, ranked[0], "languages", f"against_{file_name}", title, _first_sets(known)
        )
        content.append(scatter)
    if known is not None:
        drawing = _draw_frequency(points.merge(known, on="language"), ranked, f"frequency_{file_name}", title)
        content += [drawing] if drawing else []
        if drawing is None:
            yield ReportSection(
                f"Accuracy and frequency of the languages of {languages.family}",
                (),
                left_out=f"a curve takes different frequencies of {FEWEST} languages; languages= has those of "
                f"{known['frequency'].count()} of the {len(last)} that were scored",
            )
    yield ReportSection(f"Languages of {languages.family}", tuple(content))


def compare_languages(last: Mapping[str, ModelScores], models: Sequence[str]) -> pd.DataFrame:
    """Compare every two of some models in each language they were scored on (``mcnemar.mcnemar_table``)."""
    parts = []
    for language, one in last.items():
        credit = one.credit[[model for model in models if model in one.credit]]
        parts.append(mcnemar_table(credit, _all_of(language, one), one.clusters.of))
    return pd.concat(parts, ignore_index=True)


def _all_of(language: str, one: ModelScores) -> pd.Series:
    return pd.Series(language, index=one.credit.index)


def _first_sets(known: pd.DataFrame | None) -> dict[str, str]:
    """Return the first named set that each language is in."""
    members = pd.DataFrame(columns=["group", "language"]) if known is None else group_members(known)
    named = members[~members["group"].isin((LOW, MID, HIGH))].drop_duplicates("language")
    return dict(zip(named["language"].astype(str), named["group"].astype(str), strict=True))


def _tabulate_groups(
    points: pd.DataFrame, known: pd.DataFrame | None, last: Mapping[str, ModelScores]
) -> pd.DataFrame:
    """Put groups of languages and phenomena below each other, as MultiBLiMP's Table 3 puts them side by side."""
    table = group_table(points, group_members(known) if known is not None else None)
    by_paradigm = pd.concat([one.points for one in last.values()], ignore_index=True)
    pooled = pool_pairs(by_paradigm, ["model", "phenomenon"])
    phenomena = pooled.rename(columns={"phenomenon": "group", "accuracy": "over_pairs"})
    kinds = [table.assign(kind="languages"), phenomena.assign(kind="phenomenon")]
    columns = ["kind", "model", "group", "languages", "n", "over_pairs", "over_languages"]
    return pd.concat(kinds, ignore_index=True)[columns]


def _group_view(table: pd.DataFrame, best: pd.DataFrame, file_name: str) -> TableView:
    """Show a row for each model, with a column for each group of languages and phenomenon."""
    wide = table.pivot_table(index="model", columns="group", values="over_pairs", sort=False)
    shown = wide.drop(columns=EVERY).add_prefix("group ").reset_index()
    every = table[table["group"] == EVERY].set_index("model")
    for name in ("over_pairs", "over_languages", "languages"):
        shown[name] = shown["model"].map(every[name])
    shown["best"] = shown["model"].map(count_best(best, list(shown["model"])))
    shown = shown.sort_values("over_pairs", ascending=False, kind="stable")
    groups = [name for name in wide.columns if name != EVERY]
    columns = table_columns(
        "model",
        *(Column(f"group {name}", f"{name} (%)", "percent") for name in groups),
        Column("over_pairs", "All, over pairs (%)", "percent"),
        Column("over_languages", "All, over languages (%)", "percent"),
        Column("languages", "Languages", "count"),
        Column("best", "#best", "count"),
    )
    note = (
        "Phenomena and groups of languages, each weighted by pairs, as All of MultiBLiMP's Table 3 is; the mean over "
        "languages, every language counting the same, stands beside it. low, mid and high are the 60 % least frequent "
        "languages, the next 30 %, and the 10 % most frequent, among the languages scored. #best: languages in which a "
        f"model is significantly best (best against second best, McNemar's test, p < {BEST_LEVEL}). {OVER_EDITS}"
    )
    return TableView(note, columns, shown.head(ROWS), {f"groups_{file_name}": table})


def _language_view(table: pd.DataFrame, file_name: str) -> TableView:
    """Show a row for each language, with the mean and the most accurate of the models."""
    models = [name for name in table.columns if name not in ("language", "name", "frequency", "split", "n")]
    values = table[models]
    shown = table[["language", "name", "split", "n"]].assign(
        mean=values.mean(axis=1), leader=name_leaders(values), highest=values.max(axis=1)
    )
    columns = table_columns(
        Column("language", "Code"),
        Column("name", "Language"),
        Column("split", "Resources"),
        "n",
        Column("mean", "Mean over models (%)", "percent"),
        Column("leader", "Most accurate"),
        Column("highest", "its accuracy (%)", "percent"),
    )
    note = "Accuracy by language (MultiBLiMP, Table 5). The CSV has every model."
    return TableView(note, columns, shown, {f"languages_{file_name}": table})


def _versus_view(compared: pd.DataFrame, base: str, files: dict[str, pd.DataFrame]) -> TableView:
    """Show in how many languages the model that is best over all pairs is better or worse than each other."""
    counts = count_better(compared)
    accuracies = ["accuracy_first", "accuracy_second"]
    means = compared.groupby(["first", "second"], as_index=False, sort=False)[accuracies].mean()
    rows = with_model_first(counts.merge(means, on=["first", "second"]), base)
    rows = rows.sort_values("accuracy_second", ascending=False, kind="stable").head(ROWS)
    columns = (
        Column("first", "Model"),
        Column("second", "Other model"),
        Column("groups", "Languages", "count"),
        Column("first_better", "Model better", "count"),
        Column("second_better", "Other better", "count"),
        Column("accuracy_first", "Model, over languages (%)", "percent"),
        Column("accuracy_second", "Other, over languages (%)", "percent"),
    )
    note = (
        f"Languages in which one of two models is significantly better: McNemar's test, p < {PAIR_LEVEL}, "
        f"uncorrected (MultiBLiMP, section 7.2). {OVER_EDITS} The CSV has every two models."
    )
    return TableView(note, columns, rows, files)


def _draw_frequency(points: pd.DataFrame, ranked: Sequence[str], name: str, title: str) -> Drawing | None:
    """Draw a panel for each of the most accurate models; None where no model has a curve."""
    table = residual_table(points)
    models = [model for model in ranked if model in set(table["model"])][:_PANELS]
    if not models:
        return None
    note = (
        f"Accuracy per language against its frequency, {title} (MultiBLiMP, Figure 1). Line: logistic curve from "
        "chance to a fitted ceiling, by least squares. Named and coloured: languages more than one standard deviation "
        "of the residuals from it whose 95 % interval, over different edits, does not reach it."
    )
    named = dict(zip(points["language"].astype(str), points["name"].astype(str), strict=True))

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        _draw_languages(axes, rows, named)
        percent_axis(axes, float(table["accuracy"].min()))
        log_axis(axes, table["frequency"], power_label, most_ticks=4, minor=False)

    labels = ("Frequency of the language (log scale)", "Accuracy (%)")
    figure = draw_panels(panels_by(table, "model", models, title=str), draw, labels, note)
    return Drawing(name, "Accuracy and frequency of languages", note, figure, table)


def _draw_languages(axes: Axes, rows: pd.DataFrame, named: dict[str, str]) -> None:
    """Draw the languages of one model with its curve, and name those far from it."""
    for verdict, color in _COLORS.items():
        part = rows[rows["verdict"] == verdict]
        axes.plot(part["frequency"], part["accuracy"], "o", color=color, markersize=2.2)
    for point in rows[rows["verdict"] != ""].to_dict("records"):
        axes.annotate(
            named[point["language"]],
            (point["frequency"], point["accuracy"]),
            xytext=(2, 1),
            textcoords="offset points",
            fontsize=4.5,
            parse_math=False,
        )
    frequency = rows["frequency"].to_numpy(np.float64)
    curve = fit_logistic(frequency, rows["accuracy"].to_numpy(np.float64))
    assert curve is not None  # it has residuals
    x = np.geomspace(frequency.min(), frequency.max(), 100)
    axes.plot(x, logistic_law(x, curve), color="0.2", linewidth=0.9)
