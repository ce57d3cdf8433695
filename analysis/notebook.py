"""A study in a notebook: a method for each table and chart of its runs, curves, pairs and tokens."""

import inspect
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import pandas as pd

from ucurve.analysis.charts.flops import flops_chart
from ucurve.analysis.charts.offline import OfflineChart, empty_chart
from ucurve.analysis.curves.by_column import column_table
from ucurve.analysis.curves.flops import flops_table, with_references
from ucurve.analysis.curves.learning import band_note, curve_table, curve_tables, overall_figure, value_figure
from ucurve.analysis.curves.loss import loss_figure, loss_table
from ucurve.analysis.curves.outliers import outlier_table
from ucurve.analysis.data.files import PAIR_COLUMNS
from ucurve.analysis.data.frames import last_scored, overall
from ucurve.analysis.data.groups import ALL, columns, crossed_columns
from ucurve.analysis.data.look import describe_unknown, look_of, mark_unknown
from ucurve.analysis.data.pair_scores import under_linking
from ucurve.analysis.data.runs import Run, describe_runs, table_html, table_text
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.figures import page
from ucurve.analysis.items import seeds
from ucurve.analysis.items.histories import RIGHT, VERDICT_NAMES, WRONG, History, read_histories, same_pairs
from ucurve.analysis.items.margins import BEYOND, margin_table
from ucurve.analysis.items.section import item_summary, item_table
from ucurve.analysis.items.seen_before import find_seen_pair, frequency_table, with_frequencies
from ucurve.analysis.lines.ends import compare_levels, line_ends
from ucurve.analysis.lines.table import SideBySide, set_side_by_side
from ucurve.analysis.linking.section import linking_by_line, linking_by_run
from ucurve.analysis.shape.listing import SHAPES_OVER, list_shapes
from ucurve.analysis.tokens.table import not_stored, region_table, token_frame
from ucurve.errors import UserError, short_traceback, unknown_name
from ucurve.eval.edits import FREQUENCIES
from ucurve.progress import log_line

_LINES = ("run", "phenomenon")
_NO_SEEDS = "no two runs on the same pairs differ in the seed only"
StudyClass = TypeVar("StudyClass")


def _with_short_tracebacks(study: type[StudyClass]) -> type[StudyClass]:
    """Let the methods that a notebook or a program calls answer a mistake without the lines inside."""
    for name, method in list(vars(study).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(study, name, short_traceback(method))
    return study


@_with_short_tracebacks
@dataclass(frozen=True, eq=False, repr=False)
class NotebookStudy(Study):
    """Runs that were read for a notebook; ``ucurve.open`` makes one.

    Wherever several benchmarks were scored, ``benchmark`` names the one that is meant; without it, the one that most
    runs were scored on is taken, and a line says so. ``linking`` is any linking function, with any parameter, such as
    ``slln_lp:0.8``; without it, the one that the benchmark's card names. Tables are data frames of pandas, in which
    accuracies are fractions of 1. Where the runs lack what the tables of shapes, flips and agreement or the charts of
    FLOPs and loss are made of, a sentence says so and they are empty.
    """

    # by name and function
    _linked: dict[tuple[str, str], BenchmarkScores] = field(default_factory=dict, init=False)

    def _repr_html_(self) -> str:
        return table_html(self.overview())

    def __repr__(self) -> str:
        methods = "curve(), shapes(), items(), flips(), margins(), tokens(), length_bias()"
        return f"{table_text(self.overview())}\ntables and charts: {methods}"

    def overview(self) -> pd.DataFrame:
        """List the runs with the benchmarks they were scored on and their last accuracies.

        Examples:
            >>> study.overview()
        """
        last = last_scored(overall(self.shown_rows()).sort_values("step"))
        found: dict[str, dict[str, float]] = {}
        for run, benchmark, accuracy in last[["run", "benchmark", "accuracy"]].itertuples(index=False):
            found.setdefault(str(run), {})[str(benchmark)] = float(accuracy)
        named = len(self._named) > 1
        texts = [
            ", ".join(
                f"{f'{name} ' if named else ''}{value:.1%}" for name, value in found.get(run.label, {}).items()
            )
            for run in self.runs
        ]
        benchmarks = [", ".join(found.get(run.label, {})) for run in self.runs]
        return describe_runs(self.runs).assign(benchmarks=benchmarks, last_accuracy=texts)

    def scored(self, benchmark: str | None = None, linking: str | None = None) -> BenchmarkScores:
        """Return a benchmark under a linking function, as the functions of ``ucurve.analysis.api`` take it.

        Examples:
            >>> study.scored(linking="slln_lp:0.8").title
            'demo, slln_lp:0.8, ties counted half'

        Raises:
            UserError: when none was scored, when there is none of that name, or when the stored scores lack what the
                linking function reads.
        """
        if not self._named:
            raise UserError('no run of the study was scored; ucurve.score(RUNS, benchmarks=["NAME"]) scores them')
        name = self._usual if benchmark is None else benchmark
        if name not in self._named:
            raise unknown_name("benchmark", name, self._named)
        if linking is None or linking == self._named[name].linking:
            return self._named[name]
        if (name, linking) not in self._linked:
            self._linked[name, linking] = under_linking(self._named[name], linking)
        return self._linked[name, linking]

    def curve(
        self, benchmark: str | None = None, by: str = "run", linking: str | None = None, *,
        color: str | None = None, dash: str | None = None, facet: str | None = None,
    ) -> OfflineChart:  # fmt: skip
        """Draw accuracy against training tokens, with a menu of the linking functions that were scored.

        ``by`` is ``run``, one for each line, the runs that differ in the seed only; ``phenomenon``, a line for each;
        or a column of the pairs, such as ``paradigm`` or ``distance``, or of ``frequencies``, a line for each of its
        values; or two columns, such as ``match*attractor``, a line for each combination of their values. ``color``,
        ``dash`` and ``facet`` are factors of the lines, such as ``tokenizer``, that give colors, dashes and panels.

        Examples:
            >>> study.curve(by="phenomenon", linking="slln_lp:0.8")
        """
        scored, look = self._with_checkpoints(benchmark, linking), look_of(self.runs, (color, dash), facet)
        if facet is not None and by != "run":
            raise UserError(
                f"facet={facet!r} gives each level a panel of lines of runs: it needs by='run', not {by!r}"
            )
        title = f"{scored.benchmark} (scored by {' and '.join(scored.scorers)}, ties counted {scored.ties_rule})"
        if by not in _LINES:
            figure = value_figure(self._column_curves(scored, by), "value", look)
        elif by == "run":
            figure = overall_figure(curve_tables(scored, scored.linking), look)
        else:
            table = curve_tables(scored, scored.linking)
            phenomena = table[~table["phenomenon"].isin((ALL, ""))]
            if phenomena.empty:
                raise UserError(f"{scored.benchmark} has no phenomena; draw it with by='run'")
            figure = value_figure(phenomena, "phenomenon", look)
        note = figure.with_reasons(figure.note)
        return page.draw(figure, f"Learning curves by {by}", note).properties(title=title)

    def flops_curve(self, benchmark: str | None = None, linking: str | None = None) -> OfflineChart:
        """Draw accuracy against training FLOPs, with a color for each model.

        Examples:
            >>> study.flops_curve()
        """
        scored = self._with_checkpoints(benchmark, linking)
        points = flops_table(curve_table(scored.curve_rows(), self.runs), self.runs)
        if points.empty:
            return empty_chart(f"{scored.benchmark}: no checkpoint after step 0 is scored, so no FLOPs to draw")
        chart = flops_chart(with_references(points), scored.benchmark, band_note(points), self.look)
        return chart.properties(title=scored.curve_title)

    def lines(self) -> pd.DataFrame:
        """Return every line with its factors, its accuracy at the end, bits per byte, FLOPs and hours (``line_ends``).

        Examples:
            >>> study.lines()
        """
        return line_ends(self).table

    def compare(self, factor: str) -> pd.DataFrame:
        """Return what a factor changes at the end, between lines that are equal in all others (``compare_levels``).

        Examples:
            >>> study.compare("tokenizer")

        Raises:
            UserError: when there is no such factor.
        """
        if factor not in self.design.table:
            raise unknown_name("factor", factor, self.design.table.columns)
        if factor not in self.design.varying:
            log_line(f"the runs do not differ in {factor}")
        return compare_levels(self, line_ends(self), factor)

    def side_by_side(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Compare lines that differ in architecture, objective, corpus or learning rate, where they are equal.

        There is a row for each line and phenomenon at each ``level`` of what lines are ``equal_in``: tokens, FLOPs or
        bits per byte. ``low`` and ``high`` are the 95 % interval over the ``runs`` of the line.

        Examples:
            >>> study.side_by_side().query("phenomenon == 'all'").pivot(index=["equal_in", "level"], columns="line")
        """
        return self._side_by_side(benchmark, linking).lines

    def side_by_side_differences(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Subtract the accuracies of every two lines of ``side_by_side``, with 95 % intervals and tests over runs.

        Examples:
            >>> study.side_by_side_differences().query("equal_in == 'FLOPs' and p_holm < .05")
        """
        return self._side_by_side(benchmark, linking).differences

    def loss_curve(self) -> OfflineChart:
        """Draw the loss in bits per byte against training tokens.

        Examples:
            >>> study.loss_curve()
        """
        table = mark_unknown(loss_table(self.metrics, self.held_out), self.runs)
        if table.empty:
            return empty_chart("no run has training metrics with bits per byte, so there is no loss to draw")
        note = " ".join(["Loss in bits per byte.", *describe_unknown(self.runs)])
        return page.draw(loss_figure(table, self.look), "Training curves", note).properties(
            title="Training curves"
        )

    def shapes(
        self, benchmark: str | None = None, linking: str | None = None, *, over: str = "tokens"
    ) -> pd.DataFrame:
        """Classify every curve: rising, falling, U-shaped, flat; one row a curve, those that dip first.

        ``p`` is of the test that names the shape and ``p_dip`` of the dip, both after Holm over the curves, and
        ``q_dip`` the q value of the dip, to explore. ``dip`` is the depth of the deepest dip with its 95 % interval
        (fractions of 1), ``dip_tokens`` where it is lowest, ``onset`` the tokens from which the curve stays above
        chance. ``shape`` is a claim about other seeds and other pairs of these templates, ``these_pairs`` about these
        very pairs in other seeds, ``these_runs`` about these runs on other pairs. ``detectable_dip`` is the depth of a
        dip that these runs would show in 80 % of cases; ``limited_by`` says what an undetermined curve lacks most, and
        ``more_seeds`` how many seeds more would show the turn that is seen. The test is described in docs/shape.md.

        With ``over="sizes"`` the curves are means over the model sizes, and ``p_sizes_differ`` is the p value of a
        difference between the sizes in the turn of the mean. With ``over="lines"`` it is the mean over all lines of the
        study (open fewer runs for the mean over some of them), with ``p_lines_differ``. With ``over="flops"`` the axis
        is training FLOPs, at the end of finished runs and at equal tokens.

        Examples:
            >>> study.shapes()[["phenomenon", "shape", "p", "dip", "dip_low", "dip_high"]]
        """
        if over not in SHAPES_OVER:
            raise unknown_name("axis of shapes", over, SHAPES_OVER, "over")
        return list_shapes(self._with_checkpoints(benchmark, linking), over)

    def items(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Tell what became of each pair in each run, with its sentences; docs/items.md describes the columns.

        Examples:
            >>> study.items().nlargest(5, "flips")[["run", "phenomenon", "good", "bad", "flips", "last"]]
        """
        # Runs may have been scored on other pairs, so each gets its own sentences.
        tables = [
            item_table([history]).merge(history.shared.table[["pair", "good", "bad"]], on="pair")
            for history in self._histories(self.scored(benchmark, linking))
        ]
        items = pd.concat(tables, ignore_index=True)
        first = ["run", "line", *PAIR_COLUMNS]
        return items[[*first, *items.columns.drop(first)]]

    def item_summary(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Summarize ``items`` by phenomenon and paradigm, for each run.

        Examples:
            >>> study.item_summary()[["run", "phenomenon", "paradigm", "ever_right", "lost", "relearned", "flips"]]
        """
        return item_summary(item_table(self._histories(self.scored(benchmark, linking))))

    def frequencies(self, benchmark: str | None = None) -> pd.DataFrame:
        """Tell how often the words in which each pair's sentences differ stood in the training text of each run.

        ``word_good`` is the rarest word of the good sentence that the bad one does not have in its place, and
        ``bigram_good`` the rarest pair of neighboring words with such a word. ``log_frequency_word_good`` and so on are
        log10 of (count + 1) per million words that the run had seen; ``curve(by=)`` takes them too. Words are counted
        once and the counts kept; docs/items.md has the definitions.

        Examples:
            >>> study.frequencies().nsmallest(5, "log_frequency_word_good")[["run", "good", "word_good"]]
        """
        return frequency_table(self._histories(self.scored(benchmark)))

    def seen_before(
        self, pair: int, step: int | None = None, run: str | Run | None = None, benchmark: str | None = None
    ) -> pd.DataFrame:
        """Tell how often a run had seen what differs in a pair before a step, and in which lines of its training text.

        A row for each n-gram of up to three words with a word that the other sentence does not have in its place:
        ``member`` (good or bad), ``ngram``, ``words`` (its size), ``count`` (as often as it was trained on), the
        ``last_step`` with it, and ``lines``, up to three texts that had it, the latest first. ``step`` is any step of
        the training, by default the last scored checkpoint; ``run`` as in ``flips``. docs/items.md says what is a word.

        Examples:
            >>> study.seen_before(17, step=64)[["member", "ngram", "count", "lines"]]
        """
        history = self._history_of(run, self.scored(benchmark))
        step = int(history.checkpoints["step"].max()) if step is None else step
        return find_seen_pair(history.run.folder, step, history.shared.table, pair).before(step)

    def flips(
        self,
        run: str | Run | None = None,
        step: int | None = None,
        benchmark: str | None = None,
        linking: str | None = None,
    ) -> pd.DataFrame:
        """List the pairs that turned right or wrong at a checkpoint of a run, most wrong first.

        ``before`` and ``now`` are the verdicts at the checkpoint before and at this one; margins are the linked value
        of the good sentence less that of the bad one. ``run`` is one of ``runs``, a label, or a part that one label
        alone has, or that of a line, of whose runs it is the first; without it, the first of
        all. Without a ``step`` it is the checkpoint at which most pairs turned from right to wrong.

        Examples:
            >>> study.flips()[["run", "step", "phenomenon", "good", "bad", "before", "now", "margin"]]
        """
        history = self._history_of(run, self.scored(benchmark, linking))
        label = history.run.label
        steps = history.checkpoints["step"].tolist()
        if step is None and len(steps) > 1:
            lost = (history.verdicts[:-1] == RIGHT) & (history.verdicts[1:] == WRONG)
            step = steps[1 + int(lost.sum(axis=1).argmax())]
        if len(steps) == 1:
            log_line(f"{label}: only step {steps[0]} was scored, so no pair turned right or wrong")
            step = steps[0]
        elif step not in steps[1:]:
            there = ", ".join(map(str, steps[1:]))
            raise UserError(f"{label}: step {step} is no checkpoint that follows on another; there are {there}")
        place = steps.index(step)
        return history.changes(max(place - 1, 0), place).assign(run=label, step=step)

    def margins(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """List the margin and the verdict of every pair at every checkpoint of every run.

        A margin is the linked value of the good sentence less that of the bad one: above 0 the pair is right.

        Examples:
            >>> margins = study.margins()
            >>> margins.groupby(["tokens", "phenomenon"])["margin"].mean().unstack()
        """
        tables = []
        for history in self._histories(self.scored(benchmark, linking)):
            pairs = history.pairs[["pair", "phenomenon", "paradigm"]]
            places = history.checkpoints[["step", "tokens"]]
            table = places.merge(pairs, how="cross").assign(
                verdict=history.verdicts.ravel(), margin=history.margins.ravel()
            )
            table.insert(0, "run", history.run.label)
            tables.append(table)
        margins = pd.concat(tables, ignore_index=True)
        return margins.assign(verdict=margins["verdict"].map(VERDICT_NAMES))

    def margin_summary(
        self, benchmark: str | None = None, linking: str | None = None, beyond: float = BEYOND
    ) -> pd.DataFrame:
        """Describe the margins by run, phenomenon and checkpoint: quantiles, d', shares wrong and wrong by more.

        ``wrong_by_more`` is the share of pairs that are wrong by more than ``beyond``, in the unit of the linking
        function.

        Examples:
            >>> study.margin_summary(beyond=2)[["run", "phenomenon", "tokens", "margin_median", "wrong_by_more"]]
        """
        return margin_table(self._histories(self.scored(benchmark, linking)), beyond)

    def tokens(
        self,
        benchmark: str | None = None,
        pairs: Collection[int] | None = None,
        steps: Collection[int] | None = None,
    ) -> pd.DataFrame:
        """List the tokens of pairs with their surprisal in bits at every checkpoint at which they were stored.

        ``pairs`` are numbers of pairs, ``steps`` checkpoints; by default all. ``analysis.tokens.table.token_frame``
        describes the columns. Scoring with ``tokens=true`` stores them.

        Examples:
            >>> study.tokens(pairs=[0, 3])[["run", "step", "side", "text", "region", "surprisal"]]
        """
        return token_frame(self.scored(benchmark), pairs, steps)

    def critical_regions(self, benchmark: str | None = None) -> pd.DataFrame:
        """Average the surprisal of the tokens in which the sentences of pairs differ, by phenomenon over training.

        Examples:
            >>> study.critical_regions()[["phenomenon", "step", "critical_good", "critical_bad", "margin"]]
        """
        table = region_table(scored := self.scored(benchmark))
        if table.empty:
            raise not_stored(scored)
        return table

    def length_bias(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Compare linking functions at the last checkpoint: accuracy by which sentence of a pair is longer.

        ``delta_acc`` is the mean distance of the accuracies on pairs of unequal length to that on pairs of equal length
        (ZhoBLiMP, section 4.2); 0 is best. ``linking`` adds a function that was not scored.

        Examples:
            >>> study.length_bias(linking="slln_lp:0.8")
        """
        rows = self.scored(benchmark, linking).rows
        return linking_by_line(linking_by_run(rows)).drop(columns=["benchmark", "scorer", "ties_rule"])

    def agreement(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Tell how far runs that differ in the seed only agree on single pairs, at each checkpoint.

        Examples:
            >>> study.agreement()[["phenomenon", "step", "kappa", "agreement"]]
        """
        return seeds.agreement_table(self._comparable_lines(self.scored(benchmark, linking)))

    def seed_outliers(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Name the run that lies farthest from its other seeds, for each curve of lines of four runs and more.

        ``outlier`` says whether it is one by Grubbs' test, adjusted over the rows of its line.

        Examples:
            >>> study.seed_outliers().query("outlier")[["measure", "phenomenon", "run", "value", "others"]]
        """
        scored = self._with_checkpoints(benchmark, linking)
        return outlier_table(scored.curve_rows(), scored.study)

    def seed_components(self, benchmark: str | None = None, linking: str | None = None) -> pd.DataFrame:
        """Split the variance between runs into what the initialization and the data order contribute.

        Examples:
            >>> study.seed_components()[["phenomenon", "measure", "step", "init_share", "order_share"]]

        Raises:
            UserError: when no two initializations were trained on the same two orders; it names the runs to train.
        """
        lines = self._comparable_lines(self.scored(benchmark, linking))
        found = [table for line in lines if len(table := seeds.seed_components(line))]
        if not found:
            raise UserError(
                " ".join(f"{line.line}: {seeds.why_not_crossed(line)}" for line in lines)
                or f"{_NO_SEEDS}, so no variance can be split"
            )
        return pd.concat(found, ignore_index=True)

    def column_curves(
        self, column: str, benchmark: str | None = None, linking: str | None = None
    ) -> pd.DataFrame:
        """Return the curves for each value of a column of the pairs, as numbers.

        Examples:
            >>> study.column_curves("paradigm")[["value", "step", "accuracy", "low", "high"]]

        Raises:
            UserError: when there is no such column, it has too many values, or no scores of single pairs are stored.
        """
        return self._column_curves(self.scored(benchmark, linking), column)

    def _column_curves(self, scored: BenchmarkScores, column: str) -> pd.DataFrame:
        """Return the curves by a column (``column_table``), of the runs that were scored on the same pairs."""
        histories = read_histories(scored)
        pairs = histories[0].shared.table if histories else pd.DataFrame()
        crossed = crossed_columns(pairs, column)
        counted = FREQUENCIES if histories else ()
        for one in crossed:
            if one not in pairs and one not in counted:
                known = {*_LINES, *columns(pairs), *counted} - {ALL}
                raise unknown_name("column or kind of lines", one, known, "by")
        same, others = same_pairs(histories)
        if others:
            log_line(f"{scored.benchmark}: scored on other pairs, and left out: {', '.join(others)}")
        return column_table(with_frequencies(same, crossed), column, scored.ties_rule)

    @cached_property
    def _usual(self) -> str:
        """The benchmark that is meant where none is named; it is told once where there are several."""
        runs = {name: (one.rows["run"].nunique(), one.scorer == "sentence") for name, one in self._named.items()}
        name = max(runs, key=lambda each: runs[each])
        if len(runs) > 1:
            log_line(
                f"several benchmarks were scored; {name} is shown, and benchmark= names another one: "
                f"{', '.join(sorted(runs.keys() - {name}))}"
            )
        return name

    @cached_property
    def _named(self) -> dict[str, BenchmarkScores]:
        """The benchmarks by the names that tell them apart."""
        return {one.label: one for one in self.benchmarks()}

    def _with_checkpoints(self, benchmark: str | None, linking: str | None) -> BenchmarkScores:
        """Return a benchmark that was scored at checkpoints of a training run."""
        scored = self.scored(benchmark, linking)
        _need_checkpoints(scored)
        return scored

    def _side_by_side(self, benchmark: str | None, linking: str | None) -> SideBySide:
        """Return the lines of a benchmark side by side, of which there have to be some."""
        scored = self._with_checkpoints(benchmark, linking)
        if (found := set_side_by_side(scored)) is None:
            raise UserError(
                f"{scored.benchmark}: no runs of one size and budget differ in architecture, objective, corpus or "
                "learning rate, so there is nothing to set side by side"
            )
        return found

    def _histories(self, scored: BenchmarkScores) -> list[History]:
        """Return what became of single pairs, whose scores have to be stored."""
        _need_checkpoints(scored)
        if not (found := read_histories(scored)):
            raise UserError(f"{scored.benchmark}: no scores of single pairs are stored, so there are no items")
        return found

    def _history_of(self, run: str | Run | None, scored: BenchmarkScores) -> History:
        """Return the history of a run, of the first run of a line, or of the one that has a part of its label."""
        histories = {history.run.label: history for history in self._histories(scored)}
        run = run.label if isinstance(run, Run) else run
        first = [label for label, history in histories.items() if run in (None, history.run.line)]
        alike = [run] if run in histories else first[:1] or [label for label in histories if str(run) in label]
        if len(alike) != 1:
            raise unknown_name("run", str(run), histories)
        return histories[alike[0]]

    def _comparable_lines(self, scored: BenchmarkScores) -> list[seeds.LineRuns]:
        """Return the lines of two runs or more on the same pairs; tell of none, and which runs are on other pairs."""
        histories = self._histories(scored)
        left_out = seeds.describe_left_out(histories)
        found = seeds.lines_of(histories)
        reason = "" if found else f"{scored.benchmark}: {_NO_SEEDS}, so there is no agreement of seeds."
        if reason or left_out:
            log_line(f"{reason} {left_out}".strip())
        return found


def _need_checkpoints(scored: BenchmarkScores) -> None:
    """Refuse a benchmark on which no checkpoint of a training run was scored."""
    if scored.curve_rows().empty:
        raise UserError(
            f"{scored.benchmark}: no checkpoints of a training run were scored on it, so it has no curves"
        )
