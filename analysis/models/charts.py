"""Drawings of models side by side: heat map, certainty boxes, certainty against accuracy, one model against others."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ucurve.analysis.models.categories import certainty_correlations
from ucurve.analysis.models.mcnemar import PAIR_LEVEL, with_model_first
from ucurve.analysis.plotting.facets import draw_panels, line_legend, panels_by
from ucurve.analysis.plotting.figures import Drawing, NamedRows
from ucurve.analysis.plotting.style import DOTTED, NUMBERED, drawing_style, lowest_of, percent_axis
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS

WITH_INTERVALS, WITH_NUMBERS = 8, 24  # models; more leave the cells no room
PANELS = 8
_COLORS = {"": "0.6", "base": "#0072B2", "other": "#D55E00"}  # by the model that is significantly better
_SHAPES = "^sD"


def draw_heat_map(tested: pd.DataFrame, level: str, name: str, title: str) -> Drawing:
    """Draw accuracies by suite and model (TSE, Figure 1)."""
    models, suites = list(tested["model"].unique()), list(tested["suite"].unique())
    shown = "accuracy in percent" if len(models) <= WITH_NUMBERS else "see the colour scale"
    shown += ", below it the 95 % interval" if len(models) <= WITH_INTERVALS else ""
    note = (
        f"Accuracy by {level} and model, {title}. Cells: {shown}. Blue is above chance (50 %), red below. Intervals "
        f"and tests are over different edits; with fewer than {FEWEST_CLUSTERS} there are none. The tests against "
        "chance in the CSV are one-sided and uncorrected."
    )
    with drawing_style():
        intervals = len(models) <= WITH_INTERVALS
        top = 0.12 + 0.054 * max(map(len, models))
        rows = NamedRows(suites, note, row=0.24 if intervals else 0.14, top=top)
        axes = rows.axes
        grid = tested.pivot_table(index="suite", columns="model", values="accuracy", observed=True, dropna=False)
        values = grid.reindex(index=list(suites), columns=list(models)).to_numpy(np.float64)
        axes.imshow(values, cmap=colormaps["RdBu"], norm=Normalize(0, 1), aspect="auto", interpolation="nearest")
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(models)), models, rotation=90, parse_math=False)
        axes.tick_params(axis="x", length=0, pad=1)
        axes.spines[:].set_visible(False)
        if len(models) <= WITH_NUMBERS:
            places = {suite: place for place, suite in enumerate(suites)}
            across = {model: place for place, model in enumerate(models)}
            for cell in tested.dropna(subset="accuracy").to_dict("records"):
                text = f"{100 * cell['accuracy']:.1f}"
                if intervals and not np.isnan(cell["ci_low"]):
                    text += f"\n{100 * cell['ci_low']:.1f}-{100 * cell['ci_high']:.1f}"
                axes.text(
                    across[cell["model"]],
                    places[cell["suite"]],
                    text,
                    ha="center",
                    va="center",
                    fontsize=4.8,
                    # The ends of the scale are dark.
                    color="white" if abs(cell["accuracy"] - 0.5) > 0.33 else "black",
                    linespacing=1.0,
                )
        figure = rows.finish("")
    return Drawing(name, f"Accuracy by {level} and model", note, figure, tested)


def draw_boxes(boxes: pd.DataFrame, points: pd.DataFrame, name: str, title: str, unit: str) -> Drawing:
    """Draw one box over models for each category (Swe-BLiMP, Figure 2)."""
    note = (
        f"Certainty by category, {title}: ln PPL(bad) - ln PPL(good), mean over the pairs of a category. One box over "
        "the models: quartiles and median; whiskers reach the last model within 1.5 interquartile ranges; circles are "
        "models beyond (named in the CSV). Above 0 the model prefers the good sentence."
    )
    with drawing_style():
        rows = NamedRows(list(boxes["category"]), note)
        stats = [
            {"q1": box.q1, "med": box.median, "q3": box.q3, "whislo": box.whisker_low, "whishi": box.whisker_high}
            for box in boxes.itertuples()
        ]
        rows.axes.axvline(0, **DOTTED)
        rows.axes.bxp(
            stats,
            positions=range(len(stats)),
            orientation="horizontal",
            widths=0.6,
            showfliers=False,
            medianprops={"color": _COLORS["other"], "linewidth": 1.2},
            manage_ticks=False,
        )
        beyond = points.merge(boxes.rename_axis("row").reset_index(), left_on="suite", right_on="category")
        inside = beyond["delta_nll"].between(beyond["whisker_low"], beyond["whisker_high"])
        outliers = beyond[~inside & beyond["delta_nll"].notna()]
        rows.axes.plot(
            outliers["delta_nll"], outliers["row"], "o", color="black", markerfacecolor="none", markersize=3
        )
        figure = rows.finish(f"Certainty ({unit})")
    return Drawing(name, "Certainty by category", note, figure, boxes)


def draw_confidence(table: pd.DataFrame, name: str, title: str) -> Drawing:
    """Draw the mean certainty of each category against its mean accuracy (Swe-BLiMP, Figure 3)."""
    r, rho = certainty_correlations(table)
    note = f"Certainty against accuracy, {title}. Each point is a category, both means over the models."
    if not np.isnan(r):
        note += f" Pearson's r = {r:.2f}, Spearman's rho = {rho:.2f} over {len(table)} categories."

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        axes.plot(rows["delta_nll"], rows["accuracy"], "o", color=_COLORS["base"], markersize=2.8, alpha=0.8)
        axes.axvline(0, **DOTTED)
        percent_axis(axes, float(rows["accuracy"].min()))

    labels = ("Certainty (nats per token)", "Accuracy (%)")
    figure = draw_panels([("", table)], draw, labels, "Points: categories, means over the models")
    return Drawing(name, "Certainty against accuracy", note, figure, table)


def draw_scatter(
    compared: pd.DataFrame, base: str, groups: str, name: str, title: str, sets: Mapping[str, str] | None = None
) -> Drawing:
    """Draw one model, across, against others over languages or paradigms (MultiBLiMP, Figure 4).

    ``compared`` is from ``mcnemar.mcnemar_table``; ``groups`` says what a point is: ``"languages"``, ``"paradigms"``.
    The first three of the named ``sets`` that a group may be in get their own marker shape.
    """
    table = _with_model_across(compared, base)
    shapes = {"": "o", **dict(zip(dict.fromkeys((sets or {}).values()), _SHAPES, strict=False))}
    table["set"] = [(sets or {}).get(group, "") for group in table["group"]]
    table["set"] = table["set"].where(table["set"].isin(list(shapes)), "")
    others = list(table["other"].unique())[:PANELS]
    note = (
        f"Accuracy of {base} (across) against other models (up), {title}. Each point is one of the {groups}; coloured "
        f"where McNemar's test finds one model better (two-sided, p < {PAIR_LEVEL}, uncorrected). Dotted: equal."
    )
    legend = {f"{base} better": _marker(_COLORS["base"]), "the other better": _marker(_COLORS["other"])}
    legend |= {"no significant difference": _marker(_COLORS[""])}
    legend |= {f"in {name}": _marker("0.3", shape) for name, shape in shapes.items() if name}
    low = float(min(table["accuracy_base"].min(), table["accuracy_other"].min()))

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        for better, color in _COLORS.items():
            for own, shape in shapes.items():
                part = rows[(rows["better"] == better) & (rows["set"] == own)]
                axes.plot(
                    part["accuracy_base"], part["accuracy_other"], shape, color=color, markersize=2.4, alpha=0.8
                )
        percent_axis(axes, low)
        axes.set_xticks(axes.get_yticks())
        axes.set_xlim(axes.get_ylim())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
        axes.plot([0, 1], [0, 1], ":", color="0.4", linewidth=0.7, zorder=0)

    labels = (f"Accuracy of {base} (%)", "Accuracy of the other (%)")
    panels = panels_by(table, "other", others, title=str)
    figure = draw_panels(panels, draw, labels, f"Each point: one of the {groups}", legend)
    return Drawing(name, f"{base} against other models", note, figure, table)


def draw_lines(
    table: pd.DataFrame, x: str, name: str, title: str, note: str, labels: tuple[str, str], line: str = "model"
) -> Drawing:
    """Draw accuracies at places ``x`` in the order of the rows, a panel for each ``panel``; NaN leaves a gap."""
    panels, places = panels_by(table, "panel", title=str), list(dict.fromkeys(table[x].astype(str)))
    styles = NUMBERED(table[line].astype(str))
    at = {place: number for number, place in enumerate(places)}
    longest = max(map(len, places))
    crowded = longest * len(places) * min(len(panels), 4) > 120  # letters in a row of panels

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        for model, style in styles.items():
            own = rows[rows[line].astype(str) == model]
            bars = [(own["accuracy"] - own["low"]).clip(lower=0), (own["high"] - own["accuracy"]).clip(lower=0)]
            axes.errorbar(
                own[x].astype(str).map(at),
                own["accuracy"],
                yerr=np.array(bars, dtype=np.float64),
                color=style.color,
                linestyle=style.dashes,
                marker="o",
                markersize=2.4,
                elinewidth=0.7,
                capsize=1.5,
            )
        percent_axis(axes, lowest_of(table))
        rotation, side = (45, "right") if longest > 6 else (0, "center")
        size = 4.6 if crowded else 5.5
        axes.set_xticks(range(len(places)), places, rotation=rotation, ha=side, fontsize=size)

    return Drawing(name, title, note, draw_panels(panels, draw, labels, note, line_legend(styles)), table)


def _with_model_across(compared: pd.DataFrame, base: str) -> pd.DataFrame:
    """Name the columns of two models after ``base`` and ``other``, and say which is significantly ``better``."""
    rows = with_model_first(compared, base)
    ahead = np.where(rows["first_better"] > rows["second_better"], "base", "other")
    named = {
        "first": "base",
        "second": "other",
        "accuracy_first": "accuracy_base",
        "accuracy_second": "accuracy_other",
    }
    named |= {"first_better": "pairs_base_better", "second_better": "pairs_other_better"}
    return rows.rename(columns=named).assign(better=np.where(rows["p"] < PAIR_LEVEL, ahead, ""))


def _marker(color: str, shape: str = "o") -> Line2D:
    return Line2D([], [], color=color, marker=shape, linestyle="", markersize=3)
