"""The figures and the table of length bias by alpha (ZhoBLiMP, Figure 2)."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from analysis.figures import Drawing, Sheet
from analysis.length_bias import SAMPLES, alpha_bands, alpha_tables, best_of_means
from analysis.report import Column, Part, Section, TableView
from analysis.study import Study
from analysis.style import LineStyle, drawing_style, line_styles, readable

_Y = {"accuracy_unequal": "Accuracy on unequal pairs (%)", "delta_acc": "Δacc (percentage points)"}
_TITLES = {"accuracy_unequal": "Accuracy on pairs of unequal length by alpha", "delta_acc": "Length bias by alpha"}
_BAND = "± 1 sample sd over models"
_CRITERIA = {"delta_acc": "Δacc lowest", "accuracy": "accuracy highest", "accuracy_unequal": "unequal pairs highest"}
_NOTE = (
    "The alpha of SLLN-LP that does best at the last scored checkpoint, with a 95 % percentile interval over pairs "
    f"drawn again within their paradigm ({SAMPLES} draws, grid of 0.05). It is chosen on the very pairs it is judged "
    "by: an oracle, which describes a model and is no result of it. Sign turned: sentences whose SLOR is above 0. "
    "Numbers: best_alpha.csv; of the mean curves: best_alpha_of_means.csv."
)


def length_bias_parts(study: Study) -> Iterable[Part]:
    """Make the figures and the table of alpha over all benchmarks; none where no scores of sentences are stored."""
    if study.scores.empty:
        return
    found = [alpha_tables(scored) for scored in study.benchmarks()]
    curves = [curve for curve, _ in found if not curve.empty]
    if not curves:
        return
    bands = alpha_bands(pd.concat(curves, ignore_index=True))
    best = pd.concat([table for _, table in found if not table.empty], ignore_index=True)
    drawings = [draw_alpha(bands, name) for name in _Y if bands[name].notna().any()]
    section = Section("Length bias by alpha", (*drawings, TableView(_NOTE, _COLUMNS, _shown(best))))
    yield Part(section, {"best_alpha": best, "best_alpha_of_means": best_of_means(bands)})


def draw_alpha(bands: pd.DataFrame, name: str) -> Drawing:
    """Draw a curve against alpha, a panel for each benchmark.

    Args:
        bands: from ``alpha_bands``.
        name: ``accuracy_unequal`` or ``delta_acc``.
    """
    band = f"Band: {_BAND}" if bands[f"{name}_sd"].notna().any() else "No band: one model for each line"
    what = {
        "accuracy_unequal": "Mean of the accuracies on pairs whose good and whose bad member is longer",
        "delta_acc": "Mean absolute difference of the accuracies on the two unequal splits to that on the equal split",
    }
    note = (
        f"{what[name]}, under SLLN-LP, against its exponent alpha: 0 is LP, 1 mean LP. Last scored checkpoint of each "
        "run. Line: mean over the models of a tokenizer and text (sizes and budgets; seeds are averaged first). "
        f"{band}."
    )
    table = bands[["benchmark", "variant", "alpha", "models", name, f"{name}_sd"]]
    return Drawing(f"length_bias_{name}", _TITLES[name], note, _draw(table, name, band), table)


def _draw(table: pd.DataFrame, name: str, band: str) -> Figure:
    styles, benchmarks = line_styles(table["variant"]), list(dict.fromkeys(table["benchmark"]))
    models = table.groupby("variant", sort=False)["models"].max()
    legend = {
        f"{variant} ({models[variant]} models)" if models[variant] > 1 else variant: Line2D(
            [], [], color=style.colour, linestyle=style.dashes
        )
        for variant, style in styles.items()
    }
    with drawing_style():
        sheet = Sheet(len(benchmarks), legend, f"Line: mean over models. {band}")
        for axes, benchmark in zip(sheet.panels, benchmarks, strict=True):
            _draw_panel(axes, table[table["benchmark"] == benchmark], name, styles)
            axes.set_title(readable(benchmark) if len(benchmarks) > 1 else "", pad=3, parse_math=False)
        return sheet.finish("alpha", _Y[name])


def _draw_panel(axes: Axes, table: pd.DataFrame, name: str, styles: dict[str, LineStyle]) -> None:
    for variant, rows in table.groupby("variant", sort=False):
        style, sd = styles[str(variant)], rows[f"{name}_sd"]
        axes.fill_between(rows["alpha"], rows[name] - sd, rows[name] + sd, color=style.colour, alpha=0.18, linewidth=0)
        axes.plot(rows["alpha"], rows[name], color=style.colour, linestyle=style.dashes, marker="o", markersize=1.5)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
    if name == "delta_acc":
        axes.set_ylim(bottom=0)  # a mean of absolute values; the band alone would reach below


_COLUMNS = (
    Column("benchmark", "Benchmark"),
    Column("run", "Run"),
    Column("model", "Model"),
    Column("budget", "Token budget", "count"),
    Column("tokenizer", "Tokenizer"),
    Column("step", "Step", "count"),
    *(Column(name, f"alpha, {words}") for name, words in _CRITERIA.items()),
    Column("sign_flipped", "Sign turned by SLOR (%)", "percent"),
)


def _shown(best: pd.DataFrame) -> pd.DataFrame:
    """Write each best alpha with its interval."""
    texts = {
        name: [_interval(row) for row in best[[f"{name}_{end}" for end in ("alpha", "low", "high")]].to_numpy()]
        for name in _CRITERIA
    }
    return best.assign(**texts)


def _interval(row: Iterable[float]) -> str:
    alpha, low, high = row
    return "–" if pd.isna(alpha) else f"{alpha:.2f} ({low:.2f} to {high:.2f})"
