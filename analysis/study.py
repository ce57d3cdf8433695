"""A study: what is read of the runs, once, and each benchmark in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.config import AnalyzeSettings
from analysis.frames import AGGREGATES, metric_frame, one_ties_rule, score_frame, targets
from analysis.runs import Run
from eval.tables import ACCURACY
from ucurve.errors import UserError, unknown_name
from ucurve.run_folder import METRICS


@dataclass(frozen=True)
class Study:
    """What was read.

    Attributes:
        runs: the runs, in the order in which figures name them.
        scores: the aggregate rows of their accuracies, of all linking functions and splits, under one rule for ties.
        metrics: their training metrics.
        settings: what was asked for.
    """

    runs: Sequence[Run]
    scores: pd.DataFrame
    metrics: pd.DataFrame
    settings: AnalyzeSettings

    def benchmarks(self) -> list["Scored"]:
        """Return every benchmark with each way it was scored."""
        return [Scored(self, benchmark, scorer) for benchmark, scorer in targets(self.scores)]


@dataclass(frozen=True)
class Scored:
    """A benchmark of a study, scored in one way.

    Attributes:
        study: the study.
        benchmark: its name.
        scorer: the way it was scored.
    """

    study: Study
    benchmark: str
    scorer: str

    @property
    def linking(self) -> str:
        """The linking function of the figures."""
        return self.study.settings.linking

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of ``study.scores`` that are about it."""
        scores = self.study.scores
        return scores[(scores["benchmark"] == self.benchmark) & (scores["scorer"] == self.scorer)]

    @property
    def file_name(self) -> str:
        """What its files are named after; the scorer is added where the benchmark was scored in several ways."""
        several = sum(name == self.benchmark for name, _ in targets(self.study.scores)) > 1
        return self.benchmark.replace("/", "-") + (f"-{self.scorer}" if several else "")

    @property
    def title(self) -> str:
        """What the numbers are, for people: benchmark, linking function, what a tie counts."""
        return f"{self.benchmark}, {self.linking}, ties counted {self.rows['ties_rule'].iloc[0]}"

    def curve_rows(self) -> pd.DataFrame:
        """Return the rows of checkpoints under the linking function of the figures, all lengths together."""
        rows = self.rows
        return rows[(rows["linking"] == self.linking) & (rows["split"] == "all") & (rows["step"] >= 0)]


def read_study(runs: Sequence[Run], settings: AnalyzeSettings) -> Study:
    """Read what the figures and tables need, and check the names that were asked for.

    Raises:
        UserError: when a file is broken, the linking function or benchmark is unknown, or there is nothing to draw.
    """
    scores = score_frame(runs, AGGREGATES)
    metrics = metric_frame(runs)
    if scores.empty and metrics["bits_per_byte"].dropna().empty:
        raise UserError(_nothing_to_draw(runs))
    if not scores.empty:
        scores = _chosen(scores, settings)
    return Study(runs, scores, metrics, settings)


def _chosen(scores: pd.DataFrame, settings: AnalyzeSettings) -> pd.DataFrame:
    if settings.benchmark is not None:
        present = set(scores["benchmark"].astype(str))
        if settings.benchmark not in present:
            raise unknown_name("benchmark", settings.benchmark, present, "benchmark")
        scores = scores[scores["benchmark"] == settings.benchmark]
    functions = set(scores["linking"].astype(str))
    if settings.linking not in functions:
        raise unknown_name("linking function", settings.linking, functions, "linking")
    return one_ties_rule(scores)


def _nothing_to_draw(runs: Sequence[Run]) -> str:
    folders = ", ".join(str(run.folder) for run in runs)
    return (
        f"nothing to draw in {folders}: no row in {ACCURACY.place} (write it with: python score.py "
        f"run={runs[0].folder} benchmarks=[...]) and none in {METRICS}"
    )
