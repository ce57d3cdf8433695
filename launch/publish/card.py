"""The model card of a published run: its checkpoints, its provenance and a figure of its learning curves."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from ucurve.analysis.curves.learning import curve_table, learning_figure
from ucurve.analysis.curves.loss import loss_figure, loss_table
from ucurve.analysis.data.frames import AGGREGATES, held_out_frame, metric_frame, one_ties_rule, score_frame
from ucurve.analysis.data.runs import Run, find_runs
from ucurve.analysis.figures.paper import draw_panel, legend_of
from ucurve.analysis.plotting.style import TWO_COLUMNS, drawing_style, readable
from ucurve.fields import format_count
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.files import write_text
from ucurve.storage.run_folder import checkpoints
from ucurve.training.run_folder.config_file import load_settings

README, CURVE = "README.md", "learning_curve.png"
_TEMPLATES = Environment(
    loader=PackageLoader("ucurve.launch.publish"), autoescape=select_autoescape(), undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
)  # fmt: skip
_TIES = {"half": "a tie counts one half", "wrong": "a tie counts as wrong", "right": "a tie counts as right"}


def write_card(folder: Path, run: Path, names: Sequence[str], repo: str | None = None) -> None:
    """Write ``README.md`` and ``learning_curve.png`` of a run's repository, whose name may be open yet.

    ``names`` are those of the revisions, in the order of the steps.
    """
    settings = load_settings(run)
    (read,) = find_runs([str(run)])
    metrics, accuracy = metric_frame([read]), overall_accuracies(read)
    losses, curves = loss_table(metrics, held_out_frame([read])), curves_by_linking(accuracy, read)
    is_drawn = bool(len(losses) or curves)  # of a masked run that was not scored there is nothing to draw
    if is_drawn:
        draw_curves(folder / CURVE, losses, curves)
    manifests = [read_manifest(checkpoint) for checkpoint in checkpoints(run)]
    revisions = {manifest.step: name for manifest, name in zip(manifests, names, strict=True)}
    text = _TEMPLATES.get_template("card.md").render(
        repo=repo or f"USER/{run.resolve().name}",
        settings=settings,
        model=settings.model.design,
        record=read_run_facts(run),
        is_drawn=is_drawn,
        manifests=manifests,
        names=revisions,
        bits=metrics.set_index("step")["bits_per_byte"].to_dict(),
        accuracies=_tabulate_accuracies(accuracy, revisions),
        format_count=format_count,
    )
    write_text(folder / README, text)


def overall_accuracies(run: Run) -> pd.DataFrame:
    """Return the rows of ``score_frame`` over all pairs, of each benchmark and scorer those of one rule for ties."""
    rows = score_frame([run], AGGREGATES)
    overall = (rows[["phenomenon", "split"]] == "all").all(axis=1) & (rows["step"] >= 0)
    return one_ties_rule(rows[overall]).sort_values("step")


def curves_by_linking(accuracy: pd.DataFrame, run: Run) -> dict[tuple[str, str], pd.DataFrame]:
    """Return ``curve_table`` for each benchmark and scorer, with the linking function in a column ``linking``."""
    names = ["benchmark", "scorer"]
    return {
        (str(benchmark), str(scorer)): pd.concat([
            curve_table(rows[rows["linking"] == linking], [run]).assign(linking=linking)
            for linking in dict.fromkeys(rows["linking"])
        ])
        for (benchmark, scorer), rows in accuracy.groupby(names, sort=True, observed=True)
    }  # fmt: skip


def _tabulate_accuracies(accuracy: pd.DataFrame, revisions: Mapping[int, str]) -> Iterator[dict[str, object]]:
    """Yield a table for each benchmark and way to score: a row for each checkpoint, a column for each linking."""
    for (benchmark, scorer), rows in accuracy.groupby(["benchmark", "scorer"], sort=True, observed=True):
        linkings = list(dict.fromkeys(rows["linking"]))
        values = rows.pivot_table("accuracy", "step", "linking", sort=False)[linkings]
        lines = zip(values.index, values.to_numpy(), strict=True)
        yield {
            "benchmark": benchmark, "scorer": scorer, "pairs": int(rows["n"].max()),
            "rule": _TIES[rows["ties_rule"].iloc[0]], "head": ["revision", *linkings],
            "rows": [[f"`{revisions[step]}`", *(f"{100 * value:.1f}" for value in line)] for step, line in lines],
        }  # fmt: skip


_COLUMNS, _PANEL_HEIGHT, _DPI = 2, 2.1, 150  # the height in inches


def draw_curves(path: Path, losses: pd.DataFrame, curves: Mapping[tuple[str, str], pd.DataFrame]) -> None:
    """Draw the rows of ``loss_table``, where there are some, and the curves of each benchmark and scorer, as PNG."""
    has_losses = len(losses) > 0
    rows = math.ceil((has_losses + len(curves)) / _COLUMNS)
    with drawing_style():
        figure = Figure(figsize=(TWO_COLUMNS, _PANEL_HEIGHT * rows), layout="constrained")
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
        if has_losses:
            draw_panel(panels[0], loss_figure(losses), is_one=False)
            title = "Loss (dots: held-out text)" if losses["loss"].eq("held-out").any() else "Training loss"
            panels[0].set(title=title, xlabel="Training tokens", ylabel="Bits per byte")
        for axes, ((benchmark, scorer), table) in zip(panels[has_losses:], curves.items(), strict=False):
            accuracy = replace(learning_figure(table), line="linking", menus=(), counted=())
            draw_panel(axes, accuracy, is_one=False)
            # A name may hold a dollar sign.
            axes.set_title(f"{readable(benchmark)} ({scorer})", parse_math=False)
            axes.set(xlabel="Training tokens", ylabel="Accuracy (%)")
            legend = legend_of(accuracy)
            axes.legend(list(legend.values()), list(legend))
        for axes in panels[has_losses + len(curves) :]:
            axes.set_axis_off()
        # The version of matplotlib would be another one on each machine.
        figure.savefig(path, dpi=_DPI, metadata={"Software": None})
