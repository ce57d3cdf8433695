"""The model card of a published run: its checkpoints, its provenance and a figure of its learning curves."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
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
from train.config import RunSettings
from train.model.architectures import ARCHITECTURES
from train.run_folder.config_file import load_settings
from train.run_folder.records import read_record
from ucurve.fields import format_count
from ucurve.storage.files import write_text
from ucurve.storage.run_folder import METRICS, checkpoints, read_manifest

README, CURVE = "README.md", "learning_curve.png"
_FRONT = """---
library_name: transformers
pipeline_tag: text-generation
tags:
- {architecture}
- ucurve
- training-checkpoints
---"""
_TIES = {"half": "a tie counts one half", "wrong": "a tie counts as wrong", "right": "a tie counts as right"}


@dataclass(frozen=True)
class _Published:
    """The data of a card."""

    repo: str
    settings: RunSettings
    record: dict[str, Any]
    manifests: list[dict[str, Any]]
    metrics: pd.DataFrame
    accuracy: pd.DataFrame


def write_card(folder: Path, run: Path, repo: str | None = None) -> None:
    """Write ``README.md`` and ``learning_curve.png`` of a run's repository.

    Args:
        run: run folder; accuracies are shown where it has ``eval/accuracy.csv``.
        repo: ``USER/NAME``; None for a repository that has no name yet.

    Raises:
        UserError: when the table of accuracies is broken.
    """
    published = _Published(
        repo=repo or f"USER/{run.resolve().name}",
        settings=load_settings(run),
        record=read_record(run) or {},
        manifests=[read_manifest(checkpoint) for checkpoint in checkpoints(run)],
        metrics=pd.read_json(run / METRICS, lines=True),
        accuracy=overall_accuracies(read_table(ACCURACY, ACCURACY.path(run))),
    )
    draw_curves(folder / CURVE, published.metrics, published.accuracy)
    write_text(folder / README, "\n\n".join(_write_sections(published)) + "\n")


def overall_accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies over all pairs of each benchmark, under one rule for ties: half, else wrong, else right.

    Args:
        table: ``eval/accuracy.csv``.

    Returns:
        The rows as they are, in the order of the steps.
    """
    rows = table[(table[["phenomenon", "paradigm", "split"]] == "all").all(axis=1)]
    rules = [rule for rule in _TIES if (rows["ties_rule"] == rule).any()]
    return rows[rows["ties_rule"] == rules[0]].sort_values("step") if rules else rows


def _write_sections(published: _Published) -> Iterator[str]:
    record = published.record
    architecture = published.settings.model.shape.architecture
    yield _FRONT.format(architecture=architecture)
    yield f"# {record['name']}"
    yield (
        f"A {ARCHITECTURES[architecture].TITLE} model of size `{record['model']}`, trained from scratch with ucurve, "
        f"with a revision for each of\nits {len(published.manifests)} checkpoints. `main` is the last one."
    )
    yield _usage(published)
    yield "## Learning curve\n\n![Bits per byte and accuracies against training tokens](learning_curve.png)"
    yield from _accuracies(published.accuracy)
    yield "## Checkpoints\n\n" + _checkpoint_table(published)
    yield "## What made it\n\n" + _markdown_table(["", ""], _list_provenance(published))
    yield from _sessions(record.get("sessions", []))
    yield (
        "`manifest.json` in each revision has the SHA-256 of every file, the hashes of data, tokenizer and\n"
        "configuration, and tokens and FLOPs so far."
    )


def _usage(published: _Published) -> str:
    step = published.manifests[len(published.manifests) // 2]["step"]
    return f"""```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("{published.repo}", revision="step{step}")
tokenizer = AutoTokenizer.from_pretrained("{published.repo}", revision="step{step}")
```

Every training document is preceded by the end-of-document token; sentences are scored after it. All checkpoints are
scored with `python score.py model={published.repo} revisions=[all] benchmarks=[...] out=DIR`."""


def _accuracies(accuracy: pd.DataFrame) -> Iterator[str]:
    """Write a table for each benchmark and way to score: a row for each checkpoint, a column for each linking."""
    for (benchmark, scorer), rows in accuracy.groupby(["benchmark", "scorer"], sort=True):
        linkings = list(dict.fromkeys(rows["linking"]))
        values = rows.pivot_table("accuracy", "step", "linking", sort=False)[linkings]
        lines = [
            [f"`step{step}`", *(f"{100 * value:.1f}" for value in line)]
            for step, line in zip(values.index, values.to_numpy(), strict=True)
        ]
        pairs, rule = int(rows["n"].max()), _TIES[rows["ties_rule"].iloc[0]]
        yield f"### {benchmark}, scorer `{scorer}`"
        yield f"Accuracy in percent over all {pairs:,} pairs; {rule}, chance is 50."
        yield _markdown_table(["revision", *linkings], lines)


def _checkpoint_table(published: _Published) -> str:
    bits = published.metrics.set_index("step")["bits_per_byte"]
    head = ["revision", "tokens", "FLOPs (6ND)", "epochs", "bits per byte", "SHA-256 of the weights"]
    return _markdown_table(head, [_checkpoint_row(manifest, bits) for manifest in published.manifests])


def _checkpoint_row(manifest: dict[str, Any], bits: pd.Series) -> list[str]:
    step = manifest["step"]
    return [
        f"`step{step}`",
        f"{manifest['tokens']:,}",
        f"{manifest['flops']:.3g}",
        f"{manifest['epoch']:.3g}",
        f"{bits[step]:.3f}" if step in bits.index else "",
        f"`{manifest['weights_sha256'][:16]}`",
    ]


def _list_provenance(published: _Published) -> list[list[str]]:
    record, settings = published.record, published.settings
    parameters, corpus, seeds = record["parameters"], record["corpus"], record["seeds"]
    optimizer = settings.optimizer
    facts = {
        "parameters": f"{parameters['total']:,}, without embeddings {parameters['non_embedding']:,}",
        "tokenizer": f"`{record['tokenizer']}`, {record['vocabulary']:,} tokens, "
        f"SHA-256 `{published.manifests[-1]['tokenizer_sha256']}`",
        "training data": f"`{record['data']}`, {corpus['documents']:,} documents, {corpus['tokens']:,} tokens, "
        f"SHA-256 of the token stream `{record['data_sha256']}`",
        "training": f"{settings.steps:,} steps of {settings.batch.sequences} x {settings.batch.length} tokens "
        f"({format_count(settings.tokens)} tokens asked for)",
        "optimizer": f"AdamW, learning rate {optimizer.learning_rate:g}, warm-up {optimizer.warmup:g} of the steps, "
        f"cosine decay to {optimizer.minimum:g} of the peak, weight decay {optimizer.weight_decay:g}",
        "seeds": f"weights {seeds['init']}, data order {seeds['data']}",
        "configuration": f"SHA-256 `{record['config_sha256']}`",
        "code revision": f"`{record['code_revision']}`",
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
        "hardware": ", ".join(f"{name} {_plain(value)}" for name, value in record["hardware"].items()),
    }
    return [[name, value] for name, value in facts.items()]


def _sessions(sessions: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write which code trained which steps, if a run was resumed with other code, versions, hardware or engine."""
    if len(sessions) > 1:
        rows = [
            [f"{session['after_step'] + 1:,}", f"`{session['code_revision']}`", session["versions"]["torch"]]
            for session in sessions
        ]
        yield "The run went on with other code or elsewhere:\n\n" + _markdown_table(
            ["from step", "code revision", "torch"], rows
        )


def _plain(value: Any) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


_COLUMNS, _PANEL_HEIGHT, _DPI = 2, 2.1, 150  # the height in inches


def draw_curves(path: Path, metrics: pd.DataFrame, accuracy: pd.DataFrame) -> None:
    """Draw the learning curve of a run into a PNG file.

    Args:
        metrics: ``metrics.jsonl``.
        accuracy: rows of ``eval/accuracy.csv``, one for each step, benchmark, scorer and linking function.
    """
    benchmarks = list(accuracy.groupby(["benchmark", "scorer"], sort=True))
    rows = math.ceil((1 + len(benchmarks)) / _COLUMNS)
    with drawing_style():
        figure = Figure(figsize=(TWO_COLUMNS, _PANEL_HEIGHT * rows), layout="constrained")
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
        _draw_bits(panels[0], metrics)
        for axes, ((benchmark, scorer), table) in zip(panels[1:], benchmarks, strict=False):
            _draw_accuracy(axes, table, f"{readable(str(benchmark))} ({scorer})")
        for axes in panels[1 + len(benchmarks) :]:
            axes.set_axis_off()
        figure.savefig(path, dpi=_DPI, metadata={"Software": None})


def _draw_bits(axes: Axes, metrics: pd.DataFrame) -> None:
    axes.plot(metrics["tokens"], metrics["bits_per_byte"], linewidth=0.8)
    log_axis(axes, metrics["tokens"], token_label, most_ticks=4, minor=True)
    axes.set(title="Training loss", xlabel="Training tokens", ylabel="Bits per byte")


def _draw_accuracy(axes: Axes, table: pd.DataFrame, title: str) -> None:
    axis = TokenAxis(table["tokens"])
    for linking, style in line_styles(table["linking"]).items():
        rows = table[table["linking"] == linking].sort_values("tokens")
        places = axis.places(rows["tokens"])
        axes.plot(
            places,
            rows["accuracy"],
            marker="o",
            markersize=2,
            color=style.color,
            linestyle=style.dashes,
            label=linking,
        )
    axis.apply(axes, most_ticks=4, minor=True)
    percent_axis(axes, float(table["accuracy"].min()))
    axes.set_title(title, parse_math=False)
    axes.set(xlabel="Training tokens", ylabel="Accuracy (%)")
    axes.legend()
