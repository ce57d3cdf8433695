"""A study whose curves show themselves in a notebook, as the charts of the report."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from analysis.charts.curves import Lines, flops_chart, learning_chart, loss_chart
from analysis.charts.offline import OfflineChart
from analysis.curves.by_column import column_table
from analysis.curves.charts import curve_chart, curve_tables
from analysis.curves.flops import flops_table, with_references
from analysis.curves.learning import band_note, curve_table
from analysis.curves.loss import loss_table
from analysis.data.frames import targets
from analysis.data.groups import ALL, columns
from analysis.data.study import BenchmarkScores, Study
from analysis.items.histories import History, read_histories, same_pairs
from analysis.items.seeds import Line, agreement_table, describe_left_out, lines_of
from analysis.items.table import item_summary, item_table
from analysis.items.variance import seed_components, why_not_crossed
from analysis.tokens.table import not_stored, region_table, token_frame
from ucurve.errors import UserError, unknown_name
from ucurve.progress import log_line

_LINES: dict[str, Lines] = {"run": "group", "phenomenon": "phenomenon"}


@dataclass(frozen=True, eq=False)
class NotebookScores(BenchmarkScores):
    """A benchmark of a study, scored in one way, with charts."""

    def curve(self, by: str = "run", linking: str | None = None) -> OfflineChart:
        """Draw accuracy against training tokens, beginning with a linking function, by default that of the study.

        ``by`` is ``run``, a line for each group of runs that differ in the seed only; ``phenomenon``, a line for each;
        or a column of the pairs, such as ``distance``, a line for each of its values.
        """
        functions = set(self.rows["linking"].astype(str))
        if linking is not None and linking not in functions:
            raise unknown_name("linking function", linking, functions, "linking")
        self._check_checkpoints()
        if by not in _LINES:
            return self._column_curve(by, linking)
        table = curve_tables(self, linking)
        if by == "phenomenon" and not set(table["phenomenon"]) - {"all", ""}:
            raise UserError(f"{self.benchmark} has no phenomena; draw it with by='run'")
        return curve_chart(table, self.benchmark, band_note(table), _LINES[by]).properties(title=self._headline)

    def flops_curve(self) -> OfflineChart:
        """Draw accuracy against training FLOPs, with a color for each model."""
        self._check_checkpoints()
        points = flops_table(curve_table(self.curve_rows(), self.study.runs), self.study.runs)
        if points.empty:
            raise UserError(f"{self.benchmark}: no checkpoint after step 0 is scored, so there are no FLOPs to draw")
        return flops_chart(with_references(points), self.benchmark, band_note(points)).properties(
            title=self.curve_title
        )

    def items(self) -> pd.DataFrame:
        """Return what became of each pair in each run (``analysis.items.table.item_table``)."""
        return item_table(self._histories_there)

    def item_summary(self) -> pd.DataFrame:
        """Return ``items`` by phenomenon and paradigm (``analysis.items.table.item_summary``)."""
        return item_summary(self.items())

    def agreement(self) -> pd.DataFrame:
        """Return how far runs of different seeds agree on pairs (``analysis.items.seeds.agreement_table``)."""
        return agreement_table(self._comparable_lines())

    def seed_components(self) -> pd.DataFrame:
        """Return what init and data order each contribute (``analysis.items.variance.seed_components``)."""
        lines = self._comparable_lines()
        found = [table for line in lines if len(table := seed_components(line))]
        if not found:
            raise UserError(" ".join(why_not_crossed(line) for line in lines))
        return pd.concat(found, ignore_index=True)

    def column_curves(self, column: str) -> pd.DataFrame:
        """Return the curves for each value of a column of the pairs (``analysis.curves.by_column.column_table``)."""
        return column_table(same_pairs(self._histories_there)[0], column, self.ties_rule)

    def _column_curve(self, column: str, linking: str | None) -> OfflineChart:
        if linking not in (None, self.linking):
            raise UserError(
                f"curves by {column} are under the linking function of the study: open_study(runs, linking={linking!r})"
            )
        pairs = self._histories[0].shared.table if self._histories else pd.DataFrame()
        if column not in pairs:
            raise unknown_name("column or kind of lines", column, {*_LINES, *columns(pairs)} - {ALL}, "by")
        table = self.column_curves(column)
        chart = learning_chart(table, f"Learning curves by {column}", band_note(table), "value")
        return chart.properties(title=self._headline)

    @cached_property
    def _histories(self) -> list[History]:
        return read_histories(self)

    @property
    def _histories_there(self) -> list[History]:
        if not self._histories:
            raise UserError(f"{self.benchmark}: no scores of single pairs are stored, so there are no items")
        return self._histories

    def _comparable_lines(self) -> list[Line]:
        """Return the lines of two runs or more on the same pairs, and tell which runs are on others."""
        left_out = describe_left_out(self._histories_there)
        if not (found := lines_of(self._histories_there)):
            reason = "no two runs on the same pairs differ in the seed only, so there is no agreement of seeds"
            raise UserError(f"{self.benchmark}: {reason}" + (f". {left_out}" if left_out else ""))
        if left_out:
            log_line(left_out)
        return found

    @property
    def _headline(self) -> str:
        return f"{self.benchmark} (scored by {self.scorer}, ties counted {self.ties_rule})"

    def _check_checkpoints(self) -> None:
        if self.curve_rows().empty:
            raise UserError(
                f"{self.benchmark}: no checkpoints of a training run were scored on it, so it has no curves"
            )


@dataclass(frozen=True, eq=False)
class NotebookStudy(Study):
    """A study with charts: ``open_study("runs/*").curve(by="phenomenon")``."""

    def benchmarks(self) -> list[NotebookScores]:
        """Return every benchmark with each way it was scored."""
        return self._charted

    @cached_property
    def _charted(self) -> list[NotebookScores]:
        return [NotebookScores(self, benchmark, scorer) for benchmark, scorer in targets(self.scores)]

    def curve(self, benchmark: str | None = None, by: str = "run", linking: str | None = None) -> OfflineChart:
        """Draw accuracy against training tokens on a benchmark, by default the first; see ``NotebookScores.curve``."""
        return self._scored(benchmark).curve(by, linking)

    def items(self, benchmark: str | None = None) -> pd.DataFrame:
        """Return what became of each pair in each run; see ``NotebookScores.items``."""
        return self._scored(benchmark).items()

    def agreement(self, benchmark: str | None = None) -> pd.DataFrame:
        """Return how far runs that differ in the seed only agree on pairs; see ``NotebookScores.agreement``."""
        return self._scored(benchmark).agreement()

    def flops_curve(self, benchmark: str | None = None) -> OfflineChart:
        """Draw accuracy against training FLOPs; see ``NotebookScores.flops_curve``."""
        return self._scored(benchmark).flops_curve()

    def tokens(
        self, benchmark: str | None = None, pairs: Collection[int] | None = None, steps: Collection[int] | None = None
    ) -> pd.DataFrame:
        """List the tokens of pairs with their surprisal over training (``analysis.tokens.table.token_frame``)."""
        return token_frame(self._scored(benchmark), pairs, steps)

    def critical_regions(self, benchmark: str | None = None) -> pd.DataFrame:
        """Average the critical regions of a benchmark by phenomenon over training (``region_table``)."""
        scored = self._scored(benchmark)
        table = region_table(scored)
        if table.empty:
            raise not_stored(scored)
        return table

    def loss_curve(self) -> OfflineChart:
        """Draw the loss in bits per byte against training tokens."""
        table = loss_table(self.metrics, self.held_out)
        if table.empty:
            raise UserError("no run has training metrics with bits per byte, so there is no loss to draw")
        return loss_chart(table, "Training curves", "Loss in bits per byte.").properties(title="Training curves")

    def _scored(self, benchmark: str | None) -> NotebookScores:
        found = [one for one in self.benchmarks() if benchmark in (None, one.benchmark)]
        if not found and benchmark is not None:
            raise unknown_name("benchmark", benchmark, {one.benchmark for one in self.benchmarks()}, "benchmark")
        if not found:
            raise UserError("no run of the study was scored, so there are no curves")
        return found[0]
