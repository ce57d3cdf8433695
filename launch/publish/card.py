"""The model card of a published run: its checkpoints, its provenance and a figure of its learning curves."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.plotting.style import (
    TWO_COLUMNS,
    TokenAxis,
    drawing_style,
    line_styles,
    log_axis,
    percent_axis,
    readable,
    token_label,
)
from eval.store.tables import ACCURACY, read_table
from train.model.architectures import ARCHITECTURES
from train.run_folder.config_file import load_settings
from ucurve.fields import format_count
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.files import write_text
from ucurve.storage.run_folder import METRICS, checkpoints

README, CURVE = "README.md", "learning_curve.png"
_TEMPLATES = Environment(
    loader=PackageLoader("launch.publish"), autoescape=select_autoescape(), undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
)  # fmt: skip
_TIES = {"half": "a tie counts one half", "wrong": "a tie counts as wrong", "right": "a tie counts as right"}


def write_card(folder: Path, run: Path, repo: str | None = None) -> None:
    """Write ``README.md`` and ``learning_curve.png`` of a run's repository.

    Args:
        run: run folder; accuracies are shown where it has ``eval/accuracy.csv``.
        repo: ``USER/NAME``; None for a repository that has no name yet.

    Raises:
        UserError: when the table of accuracies is broken.
    """
    settings = load_settings(run)
    metrics = pd.read_json(run / METRICS, lines=True)
    accuracy = overall_accuracies(read_table(ACCURACY, ACCURACY.path(run)))
    draw_curves(folder / CURVE, metrics, accuracy)
    text = _TEMPLATES.get_template("card.md").render(
        repo=repo or f"USER/{run.resolve().name}",
        settings=settings,
        architecture=ARCHITECTURES[settings.model.shape.architecture],
        record=read_run_facts(run),
        manifests=[read_manifest(checkpoint) for checkpoint in checkpoints(run)],
        bits=metrics.set_index("step")["bits_per_byte"].to_dict(),
        accuracies=_tabulate_accuracies(accuracy),
        format_count=format_count,
    )
    write_text(folder / README, text)


def overall_accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies over all pairs of each benchmark, under one rule for ties: half, else wrong, else right."""
    rows = table[(table[["phenomenon", "paradigm", "split"]] == "all").all(axis=1)]
    rules = [rule for rule in _TIES if (rows["ties_rule"] == rule).any()]
    return rows[rows["ties_rule"] == rules[0]].sort_values("step") if rules else rows


def _tabulate_accuracies(accuracy: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a table for each benchmark and way to score: a row for each checkpoint, a column for each linking."""
    for (benchmark, scorer), rows in accuracy.groupby(["benchmark", "scorer"], sort=True):
        linkings = list(dict.fromkeys(rows["linking"]))
        values = rows.pivot_table("accuracy", "step", "linking", sort=False)[linkings]
        lines = zip(values.index, values.to_numpy(), strict=True)
        yield {
            "benchmark": benchmark, "scorer": scorer, "pairs": int(rows["n"].max()),
            "rule": _TIES[rows["ties_rule"].iloc[0]], "head": ["revision", *linkings],
            "rows": [[f"`step{step}`", *(f"{100 * value:.1f}" for value in line)] for step, line in lines],
        }  # fmt: skip


_COLUMNS, _PANEL_HEIGHT, _DPI = 2, 2.1, 150  # the height in inches


def draw_curves(path: Path, metrics: pd.DataFrame, accuracy: pd.DataFrame) -> None:
    """Draw the learning curve of a run into a PNG file.

    Args:
        accuracy: rows of ``eval/accuracy.csv``, one for each step, benchmark, scorer and linking function.
    """
    benchmarks = list(accuracy.groupby(["benchmark", "scorer"], sort=True))
    rows = math.ceil((1 + len(benchmarks)) / _COLUMNS)
    with drawing_style():
        figure = Figure(figsize=(TWO_COLUMNS, _PANEL_HEIGHT * rows), layout="constrained")
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
        panels[0].plot(metrics["tokens"], metrics["bits_per_byte"], linewidth=0.8)
        panels[0].set(title="Training loss", xlabel="Training tokens", ylabel="Bits per byte")
        log_axis(panels[0], metrics["tokens"], token_label, most_ticks=4, minor=True)
        for axes, ((benchmark, scorer), table) in zip(panels[1:], benchmarks, strict=False):
            _draw_accuracy(axes, table, f"{readable(str(benchmark))} ({scorer})")
        for axes in panels[1 + len(benchmarks) :]:
            axes.set_axis_off()
        figure.savefig(path, dpi=_DPI, metadata={"Software": None})


def _draw_accuracy(axes: Axes, table: pd.DataFrame, title: str) -> None:
    axis = TokenAxis(table["tokens"])
    for linking, style in line_styles(table["linking"]).items():
        rows = table[table["linking"] == linking].sort_values("tokens")
        look = {"color": style.color, "linestyle": style.dashes, "marker": "o", "markersize": 2}
        axes.plot(axis.places(rows["tokens"]), rows["accuracy"], label=linking, **look)
    axis.apply(axes, most_ticks=4, minor=True)
    percent_axis(axes, float(table["accuracy"].min()))
    axes.set_title(title, parse_math=False)
    axes.set(xlabel="Training tokens", ylabel="Accuracy (%)")
    axes.legend()
