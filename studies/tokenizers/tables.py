"""Every table of the study, from the run folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from studies.dips import dip_table, named_orders, under_each_linking
from studies.seeds import of_all_runs
from studies.single_pairs import pair_table, seed_agreement
from studies.tokenizers.alpha import alpha_by_checkpoint, alpha_changes, alpha_over_seeds
from studies.tokenizers.at_equal_loss import (
    accuracy_at_levels,
    first_learners,
    onsets_in_bits,
    runs_at_levels,
    tokenizer_of,
)
from studies.tokenizers.regions import critical_regions
from ucurve.analysis.change_points.section import change_table, loss_curves
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.items.histories import read_histories
from ucurve.analysis.lines.over_seeds import mean_over_seeds
from ucurve.analysis.linking.section import SPLITS, linking_by_run, order_by_linking
from ucurve.analysis.linking.tokenizers import average_by_tokenizer, pairs_by_tokenizer
from ucurve.analysis.scaling.section import accuracy_against_bits, checkpoint_bits
from ucurve.analysis.shape.tables import Shapes
from ucurve.errors import UserError

_BELOW = ("tokenizer", "phenomenon", "paradigm", "runs", "end", "below", "below_from", "holm_below")


def study_tables(study: Study) -> dict[str, pd.DataFrame]:
    """Make the tables of the study of the first benchmark, by the name of their file."""
    if not study.benchmarks():
        raise UserError("no run has a score; write some with: python score.py run='RUNS' 'benchmarks=[...]'")
    scored = study.benchmarks()[0]
    bits = checkpoint_bits(study.metrics, study.held_out, study.runs)
    of_line = {run.line: tokenizer_of([run])[run.label] for run in study.runs}
    curves = curve_table(scored, bits, of_line)
    _check_losses(study.runs, bits)
    if curves.empty:
        raise UserError(
            "no scored checkpoint has a loss; score others with: python score.py run='RUNS' 'benchmarks=[...]'"
        )
    if not (histories := read_histories(scored)):
        raise UserError(
            f"{scored.benchmark}: the runs hold accuracies alone; the study needs the scores of single pairs, below "
            "eval/ in the run folders"
        )
    found = under_each_linking(scored, of_line)
    shapes = {linking: one.shapes for linking, one in found.items()}
    shown = shapes[scored.linking].lines
    onsets = onsets_in_bits(shown.run_onsets, scored.curve_rows(), bits, study.runs)
    at_levels = runs_at_levels(scored.curve_rows(), bits, study.runs)
    alphas = alpha_by_checkpoint(scored)
    cells = average_by_tokenizer(linking_by_run(scored.rows), study.runs)
    last = {str(name): int(step) for name, step in curves.groupby("tokenizer")["step"].max().items()}
    accounts = stack((one.accounts for one in found.values() if len(one.accounts)), ["tokenizer", "of"])
    changes = change_table(shown.estimates, loss_curves(study))
    return {
        "runs": run_table(study.runs, bits),
        "curves": curves,
        "accuracy_at_equal_loss": accuracy_at_levels(at_levels),
        "onsets": onsets,
        "learned_first": first_learners(onsets, list(dict.fromkeys(tokenizer_of(study.runs).values()))),
        "best_alpha": alpha_over_seeds(alphas),
        "best_alpha_changes": alpha_changes(alphas),
        "change_points": changes.assign(tokenizer=changes["line"].map(of_line)).drop(columns="line"),
        "pairs": pair_table(histories, of_line),
        "seed_agreement": seed_agreement(histories, of_line),
        "below_chance": below_table(shown, of_line),
        "critical_regions": critical_regions(scored, of_line, last),
        "dips": dip_table(shapes, of_line, tokenizer_of(study.runs)),
        "ngrams": found[scored.linking].agreement,
        "ngram_dips": accounts,
        "ngram_named": named_orders(accounts),
        "linking_functions": beside_the_paper(cells),
        "pairs_by_length": pairs_by_tokenizer(cells),
    }


def _check_losses(runs: Sequence[Run], bits: pd.DataFrame) -> None:
    if without := sorted({run.label for run in runs} - set(bits["run"].astype(str))):
        raise UserError(
            f"no loss at a checkpoint, or no number of parameters, is known of {', '.join(without)}; the study is of "
            "runs that were trained here: leave others out of runs="
        )


def run_table(runs: Sequence[Run], bits: pd.DataFrame) -> pd.DataFrame:
    """Describe the runs of each tokenizer.

    ``bytes_per_token`` are of the held-out text (NaN without one), ``checkpoints`` the fewest of a run,
    ``bits_per_byte`` those at the last checkpoint with 95 % by Student's t over seeds, of the text that ``loss`` names.
    """
    tokenizers = tokenizer_of(runs)
    last = bits.sort_values("step").groupby("run", observed=True)["bits_per_byte"].last()
    table = []
    for name in dict.fromkeys(tokenizers.values()):
        own = [run for run in runs if tokenizers[run.label] == name]
        facts = own[0].facts
        estimate, held_out = mean_over_seeds([float(last[run.label]) for run in own]), facts and facts.held_out
        table.append({
            "tokenizer": name, "vocabulary": facts and facts.vocabulary, "parameters": own[0].parameters,
            "tokens": bits.loc[bits["run"].isin([run.label for run in own]), "tokens"].max(),
            "bytes_per_token": held_out.bytes / held_out.tokens if held_out else np.nan, "runs": len(own),
            "checkpoints": min(len(run.saved) for run in own),
            "status": ", ".join(dict.fromkeys(run.status for run in own)), "loss": bits["loss"].iloc[0],
            "bits_per_byte": estimate.value, "low": estimate.low, "high": estimate.high,
        })  # fmt: skip
    return pd.DataFrame(table)


def curve_table(scored: BenchmarkScores, bits: pd.DataFrame, tokenizers: Mapping[str, str]) -> pd.DataFrame:
    """Average accuracy and bits per byte of each checkpoint at which all runs of a tokenizer have a score."""
    names = ["phenomenon", "step", "tokens", "runs", "loss", "bits_per_byte", "accuracy", "low", "high"]
    table = accuracy_against_bits(scored.curve_rows(), bits, scored.study.runs)
    if table.empty:
        return pd.DataFrame(columns=["tokenizer", *names])
    table = table.dropna(subset=["accuracy"])
    return of_all_runs(table.assign(tokenizer=table["line"].map(dict(tokenizers)))[["tokenizer", *names]])


def below_table(found: Shapes, tokenizers: Mapping[str, str]) -> pd.DataFrame:
    """List the curves with what they are below chance: the whole benchmark, each phenomenon, and each paradigm.

    ``paradigm`` is ``all`` for the curve of a phenomenon; paradigms are a family of Holm's procedure of their own.
    """
    tables = (one for one in (found.classes.assign(paradigm="all"), found.paradigms) if len(one))
    table = stack(tables, ["line", *_BELOW[1:]])
    return table.assign(tokenizer=table["line"].map(dict(tokenizers)))[list(_BELOW)]


def beside_the_paper(cells: pd.DataFrame) -> pd.DataFrame:
    """Lay out the accuracies of linking functions by tokenizer and length split beside those that were published.

    ``paper_<tokenizer>_<split>`` are those of the models of 160 million parameters in ZhoBLiMP's Table 5.
    """
    wide = cells.pivot(index="linking", columns="tokenizer", values=[*SPLITS, "accuracy", "delta_acc"])
    wide.columns = wide.columns.map(lambda one: f"{one[1]}_{one[0]}")
    published = pd.read_csv(Path(__file__).parent / "table5.csv", encoding="utf-8")
    table = wide.reset_index().merge(published, on="linking", how="left")
    return order_by_linking(table.assign(line=""), "line", after=()).drop(columns="line", errors="ignore")
