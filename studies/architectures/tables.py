"""Every table of the study, from the run folders."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ucurve.analysis.curves.mean import interpolate_run
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.lines.table import (
    FLOPS,
    LOSS,
    TOKENS,
    Levels,
    equal_in_flops,
    equal_in_loss,
    equal_in_tokens,
)
from ucurve.analysis.scaling.section import checkpoint_bits
from ucurve.errors import UserError
from ucurve.eval.store.tables import ACCURACY

PLANNED = ("gpt_neox", "gpt2", "llama", "mamba", "lstm", "bert")  # in the order of tables and legends
_CURVE = ["run", "scorer", "phenomenon", "step", "tokens", "accuracy"]


def study_tables(study: Study) -> dict[str, pd.DataFrame]:
    """Make the tables of the study of the first benchmark, by the name of their file."""
    if not study.benchmarks():
        raise UserError("no run has a score; write some with: python score.py run='RUNS' 'benchmarks=[...]'")
    rows = scored_rows(study)
    runs = [run for run in study.runs if is_complete(run, rows)]
    lines = {run.label: line_name(run) for run in runs}
    if len(set(lines.values())) < 2:
        raise UserError("fewer than two architectures have a finished run that is scored at its last checkpoint")
    rows = in_order(rows[rows["run"].isin(lines)].assign(line=rows["run"].map(lines)))
    bits = checkpoint_bits(study.metrics, study.held_out, [run for run in runs if is_causal(run, rows)])
    bits = bits.assign(line=bits["run"].map(lines))
    return {
        "runs": run_table(runs, rows, bits),
        "missing": missing_runs(study.runs, lines),
        "curves": curve_table(rows, bits, runs),
        "run_curves": rows[["line", *_CURVE]],
        "runs_at_equal": runs_at_equal(rows, bits, runs),
        "ngrams": ngram_table(runs, study.benchmarks()[0]),
    }


def scored_rows(study: Study) -> pd.DataFrame:
    """Return the accuracies of all runs on the first benchmark, each by the scorer of its objective."""
    name = study.benchmarks()[0].benchmark
    tables = [scored.curve_rows() for scored in study.benchmarks() if scored.benchmark == name]
    rows = pd.concat(tables)[_CURVE].astype({"run": str, "scorer": str, "phenomenon": str})
    if several := sorted(str(run) for run, scorers in rows.groupby("run")["scorer"] if scorers.nunique() > 1):
        raise UserError(f"scored in several ways, so that no curve is the one to show: {', '.join(several)}")
    return rows


def is_complete(run: Run, rows: pd.DataFrame) -> bool:
    """Say whether a run is finished and scored at its last checkpoint."""
    return run.has_ended and bool((rows.loc[rows["run"] == run.label, "step"] == max(run.planned)).any())


def is_causal(run: Run, rows: pd.DataFrame) -> bool:
    """Say whether a run was scored by the probabilities of whole sentences, which masked models do not have."""
    return bool((rows.loc[rows["run"] == run.label, "scorer"] == "sentence").any())


def line_name(run: Run) -> str:
    """Name the architecture of a run, as transformers does."""
    return str(run.design.level(run.label, "architecture"))


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by architecture as planned, others behind, then by phenomenon, run and step."""
    place = {name: number for number, name in enumerate(PLANNED)}
    ordered = table.assign(place=table["line"].map(place).fillna(len(place)))
    keys = [name for name in ("place", "line", "phenomenon", "run", "step") if name in ordered]
    return ordered.sort_values(keys, ignore_index=True).drop(columns="place")


def missing_runs(runs: Sequence[Run], lines: dict[str, str]) -> pd.DataFrame:
    """List the architectures with fewer runs on the page than others have, with the runs that are left out of it."""
    table, counts = [], Counter(lines.values())
    for name in dict.fromkeys([*PLANNED, *map(line_name, runs)]):
        left_out = [run.label for run in runs if line_name(run) == name and run.label not in lines]
        if counts[name] < max(counts.values()) or left_out:
            table.append((name, counts[name], ", ".join(left_out)))
    return pd.DataFrame(table, columns=["line", "runs", "left_out"])


def run_table(runs: Sequence[Run], rows: pd.DataFrame, bits: pd.DataFrame) -> pd.DataFrame:
    """Describe the runs of each architecture.

    ``bits_per_byte`` is the mean over runs of the held-out loss at the end, ``lowest`` and ``highest`` are of the runs;
    NaN of masked models. ``machine`` and ``precision`` are those of the training.
    """
    ends = bits.sort_values("step").groupby("run")["bits_per_byte"].last()
    table = []
    for name, part in rows.groupby("line", sort=False):
        own = [run for run in runs if run.label in set(part["run"])]
        facts, losses = own[0].facts, ends.reindex([run.label for run in own])
        table.append({
            "line": name, "model": own[0].model, "parameters": own[0].parameters,
            "non_embedding": facts and facts.parameters.get("non_embedding"), "vocabulary": facts and facts.vocabulary,
            "flops_per_token": own[0].flops_per_token, "tokens": part["tokens"].max(), "runs": len(own),
            "scored": min(part[part["run"] == run.label]["step"].nunique() for run in own),
            "scorer": part["scorer"].iloc[0], "machine": _machines(own),
            "precision": facts and facts.engine.precision, "bits_per_byte": losses.mean(), "lowest": losses.min(),
            "highest": losses.max(),
        })  # fmt: skip
    return pd.DataFrame(table)


def _machines(runs: Sequence[Run]) -> str:
    """Name what runs were trained on: accelerators, or else processors."""
    names: set[str] = set()
    for run in runs:
        hardware = run.facts.hardware if run.facts else {}
        accelerators = hardware.get("accelerators")
        names |= (
            set(accelerators) if isinstance(accelerators, list) and accelerators else {str(hardware["processor"])}
        )
    return ", ".join(sorted(names))


def curve_table(rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Average the accuracies of each checkpoint at which all runs of an architecture have a score.

    ``low`` and ``high`` are the accuracy minus and plus one sample standard deviation over runs; ``flops`` are those of
    matrix products; ``bits_per_byte`` is the mean held-out loss, NaN of masked models and of step 0.
    """
    cost = {run.label: run.flops_per_token for run in runs}
    joined = rows.merge(bits[["run", "step", "bits_per_byte"]], on=["run", "step"], how="left")
    joined["flops"] = joined["tokens"] * joined["run"].map(cost).astype(float)
    keys = ["line", "phenomenon", "step"]
    table = joined.groupby(keys, as_index=False, sort=False).agg(
        tokens=("tokens", "first"), flops=("flops", "first"), runs=("run", "nunique"),
        bits_per_byte=("bits_per_byte", "mean"), accuracy=("accuracy", "mean"), sd=("accuracy", "std"),
    )  # fmt: skip
    table = table[table["runs"] == table.groupby("line")["runs"].transform("max")]
    table["low"], table["high"] = table["accuracy"] - table["sd"], table["accuracy"] + table["sd"]
    loss = bits["loss"].iloc[0] if len(bits) else ""
    return in_order(table.drop(columns="sd").assign(loss=loss))


def runs_at_equal(rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Read the accuracies of each run where all are equal in tokens, in FLOPs, or (causal ones) in the held-out loss.

    Between checkpoints they are interpolated on the log axis of tokens; ``last`` is the largest level, or the lowest
    loss (``loss_levels``).
    """
    trained = rows[rows["tokens"] > 0]
    spans = {
        str(label): (float(one.min()), float(one.max()))
        for label, one in trained.groupby("run", sort=False)["tokens"]
    }  # fmt: skip
    levels = {TOKENS: equal_in_tokens(spans), FLOPS: equal_in_flops(spans, runs), LOSS: loss_levels(bits)}
    curves = list(trained.groupby(["line", "phenomenon", "run"], sort=False))
    table = []
    for equal_in, of_levels in levels.items():
        for level, places in of_levels:
            for (line, phenomenon, label), curve in curves:
                tokens = places.get(str(label), np.nan)
                accuracy = float(interpolate_run(curve, np.array([tokens]))[0])
                last = level == of_levels[-1][0]
                table.append((equal_in, level, last, phenomenon, line, label, tokens, accuracy))
    columns = ["equal_in", "level", "last", "phenomenon", "line", "run", "tokens", "accuracy"]
    return pd.DataFrame(table, columns=columns).dropna(subset="accuracy").reset_index(drop=True)


def loss_levels(bits: pd.DataFrame) -> Levels:
    """Choose levels that all causal models reach, then lower ones that all but the last architecture reach."""
    shared = equal_in_loss(bits)
    last = bits.loc[bits["run"] == bits.groupby("run")["bits_per_byte"].min().idxmax(), "line"].iloc[0]
    others = bits[bits["line"] != last]
    if others["line"].nunique() < 2:
        return shared
    return [*shared, *((level, places) for level, places in equal_in_loss(others) if level < shared[-1][0])]


def ngram_table(runs: Sequence[Run], scored: BenchmarkScores) -> pd.DataFrame:
    """Average the overall accuracies of n-gram models of all training tokens, over the runs that have such scores."""
    wanted = {
        "benchmark": scored.benchmark, "linking": scored.linking, "phenomenon": "all", "paradigm": scored.overall,
        "split": "all", "ties_rule": scored.ties_rule,
    }  # fmt: skip
    columns = ["step", "scorer", *wanted, "accuracy"]
    rows = pd.concat([pd.read_csv(run.folder / ACCURACY.place, usecols=columns) for run in runs])
    of_ngrams = rows["scorer"].str.startswith("ngram") & (rows["step"] == rows["step"].max())
    found = rows[of_ngrams & (rows[list(wanted)] == pd.Series(wanted)).all(axis=1)]
    means: pd.DataFrame = found.groupby("scorer", as_index=False).agg(
        runs=("step", "size"), accuracy=("accuracy", "mean")
    )
    return means
