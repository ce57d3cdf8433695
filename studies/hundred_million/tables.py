"""Every table of the study, from the run folders."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from studies.dips import named_orders, one_order_of_each, under_each_linking
from studies.hundred_million.courses import PAPER, paradigm_courses, shape_courses, size_courses
from studies.hundred_million.equal_text import differences_at_equal_text
from studies.hundred_million.losses import held_out_changes, held_out_table
from studies.single_pairs import seed_agreement
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.items.histories import read_histories
from ucurve.analysis.lines.over_seeds import (
    contrast,
    level_at,
    mean_over_seeds,
    moderate_table,
    of_curve,
    p_of_contrast,
)
from ucurve.analysis.linking.section import order_by_linking
from ucurve.analysis.scaling.section import checkpoint_bits
from ucurve.analysis.shape.over_lines import read_size_shapes
from ucurve.errors import UserError
from ucurve.eval.metrics.significance import holm

LAST_DECADE = 0.1  # share of the tokens at which the last decade of tokens begins


def study_tables(study: Study) -> dict[str, pd.DataFrame]:
    """Make the tables of the study of the first benchmark, by the name of their file."""
    if not study.benchmarks():
        raise UserError("no run has a score; write some with: python score.py run='RUNS' 'benchmarks=[...]'")
    labels = set(study.scores["run"].astype(str))
    study = replace(study, runs=[run for run in study.runs if run.label in labels])
    scored = study.benchmarks()[0]
    of_run = line_names(study.runs)
    of_line = {run.line: of_run[run.label] for run in study.runs}
    bits = checkpoint_bits(study.metrics, study.held_out, study.runs).assign(
        line=lambda rows: rows["run"].map(of_run)
    )
    if without := sorted(labels - set(bits["run"].astype(str))):
        raise UserError(f"no loss at a checkpoint is known of {', '.join(without)}: leave such runs out")
    found = under_each_linking(scored, of_line)
    shapes = {linking: one.shapes for linking, one in found.items()}
    curves = run_curves(scored, of_run)
    accounts = pd.concat([one.accounts for one in found.values()], ignore_index=True)
    return {
        "runs": run_table(study.runs, of_run, bits),
        "run_curves": curves,
        "smoothed": shapes[scored.linking].lines.curves.assign(line=lambda rows: rows["line"].map(of_line)),
        "linking_curves": linking_curves(scored, of_run),
        "shapes": shape_courses(shapes, scored.linking, of_line, of_run),
        "paradigms": paradigm_courses(scored, of_line),
        "over_sizes": size_courses(read_size_shapes(scored)),
        "last_decade": last_decade(curves),
        "equal_text": differences_at_equal_text(curves, study.runs),
        "held_out": held_out_table(bits, study.runs),
        "held_out_changes": held_out_changes(bits),
        "seed_agreement": _of_lines(seed_agreement(read_histories(scored), of_line)),
        "ngrams": _of_lines(found[scored.linking].agreement),
        "ngram_dips": _of_lines(one_order_of_each(accounts) if len(accounts) else accounts),
        "ngram_named": _of_lines(named_orders(accounts)),
    }


def line_names(runs: Sequence[Run]) -> dict[str, str]:
    """Name the line of each run by size and tokenizer, and by its precision where the runs differ in it."""
    factors = ("tokenizer", "precision") if "precision" in runs[0].design.varying else ("tokenizer",)
    names = {
        run.label: " ".join(
            filter(None, (run.model, *(str(run.design.level(run.label, one) or "") for one in factors)))
        )
        for run in runs
    }
    lines = {(run.line, names[run.label]) for run in runs}
    if len(lines) > len({name for _, name in lines}):
        raise UserError(
            "two lines of runs have the same size and tokenizer: give one budget and one corpus at a time"
        )
    return names


def run_table(runs: Sequence[Run], of_run: dict[str, str], bits: pd.DataFrame) -> pd.DataFrame:
    """Describe the runs of each line; ``epochs`` are passes over the training text."""
    table = []
    for name in dict.fromkeys(of_run.values()):
        own = [run for run in runs if of_run[run.label] == name]
        facts = own[0].facts
        if facts is None:
            continue
        ends = bits[bits["line"] == name].sort_values("step").groupby("run")[["tokens", "bits_per_byte"]].last()
        tokens, estimate = float(ends["tokens"].max()), mean_over_seeds(ends["bits_per_byte"].tolist())
        hardware = facts.hardware.get("accelerators") or facts.hardware.get("processor") or "processor"
        machines = hardware if isinstance(hardware, list) else [str(hardware)]
        table.append({
            "line": name, "model": own[0].model, "tokenizer": facts.tokenizer, "vocabulary": facts.vocabulary,
            "parameters": own[0].parameters, "non_embedding": facts.parameters.get("non_embedding"), "tokens": tokens,
            "epochs": tokens / facts.corpus.tokens, "bytes_per_token": bytes_per_token(own[0]), "runs": len(own),
            "checkpoints": min(len(run.saved) for run in own),
            "status": ", ".join(dict.fromkeys(run.status for run in own)), "precision": facts.engine.precision,
            "hardware": ", ".join(dict.fromkeys(machines)),
            **estimate.columns("bits_per_byte"),
        })  # fmt: skip
    return pd.DataFrame(table)


def bytes_per_token(run: Run) -> float:
    """Return the bytes of a token of the held-out text on average; NaN without such a text."""
    held_out = run.facts.held_out if run.facts else None
    return held_out.bytes / held_out.tokens if held_out else np.nan


def run_curves(scored: BenchmarkScores, of_run: dict[str, str]) -> pd.DataFrame:
    """Return the accuracy of every run at every scored checkpoint, over all pairs and by phenomenon."""
    rows = scored.curve_rows()
    table = rows[["run", "phenomenon", "step", "tokens", "accuracy"]].astype({"run": str, "phenomenon": str})
    table.insert(0, "line", table["run"].map(of_run))
    return table.sort_values(["line", "phenomenon", "run", "step"], ignore_index=True)


def linking_curves(scored: BenchmarkScores, of_run: dict[str, str]) -> pd.DataFrame:
    """Average the curves of the phenomena that the paper names, and of all pairs, under each linking function."""
    rows = scored.drawn_rows
    chosen = rows["phenomenon"].isin(["all", *PAPER]) & (rows["split"] == "all") & (rows["step"] >= 0)
    table = rows[chosen].astype({"run": str, "phenomenon": str, "linking": str})
    table = table.assign(line=table["run"].map(of_run))
    keys = ["line", "phenomenon", "linking", "step", "tokens"]
    means = table.groupby(keys, as_index=False, sort=False).agg(
        runs=("run", "nunique"), accuracy=("accuracy", "mean")
    )
    return order_by_linking(means, "line", after=("phenomenon", "step"))


def last_decade(curves: pd.DataFrame) -> pd.DataFrame:
    """Say how accuracy changes over the last decade of tokens, with 95 % over seeds (``over_seeds``).

    ``before`` is the accuracy around a tenth of the tokens, ``end`` that of the last checkpoints, both the mean of the
    checkpoints within .15 decades (a single checkpoint may lie several points off its neighbors); ``falling`` counts
    the runs that end lower. ``named`` says that the paper names the phenomenon; ``p`` is of no change, ``p_holm`` over
    the curves of these phenomena, over those of the others, and over those of all pairs.
    """
    trained, keys = curves[curves["tokens"] > 0].sort_values("tokens"), ["line", "phenomenon"]
    ends = pd.DataFrame(
        [
            {**dict(zip((*keys, "run"), names, strict=True)), **_over_last_decade(own)}
            for names, own in trained.groupby([*keys, "run"], sort=False)
        ]
    )
    cells = moderate_table(ends, keys, "change")
    table = []
    for (line, phenomenon), part in ends.groupby(keys):
        table.append({
            "line": line, "phenomenon": phenomenon, "named": phenomenon in PAPER, "runs": len(part),
            "tokens": part["tokens"].max(), "before": part["before"].mean(), "end": part["end"].mean(),
            **contrast([cells[line, phenomenon]], [1.0]).columns("change"),
            "p": p_of_contrast([cells[line, phenomenon]], [1.0]), "falling": int((part["change"] < 0).sum()),
        })  # fmt: skip
    changes = pd.DataFrame(table)
    family = [changes["named"], changes["phenomenon"] == "all"]
    known = changes.dropna(subset="p").groupby(family)["p"]
    return changes.assign(p_holm=known.transform(lambda p: holm(p.to_numpy())))


def _over_last_decade(own: pd.DataFrame) -> dict[str, float]:
    """Read a run's curve at both ends of the last decade, with how rough and steep it is there."""
    tokens, accuracy = own["tokens"].to_numpy(np.float64), own["accuracy"].to_numpy(np.float64)
    places = np.array([LAST_DECADE, 1.0]) * tokens[-1]
    before, end = level_at(tokens, accuracy, places).tolist()
    curve = {name: float(values.mean()) for name, values in of_curve(tokens, accuracy, places).items()}
    return {"tokens": tokens[-1], "before": before, "end": end, "change": end - before, **curve}


def _of_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Name the column of what was told apart: here a line is a size with a tokenizer."""
    return table.rename(columns={"tokenizer": "line"})
