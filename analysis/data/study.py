"""A study: what is read of the runs, once, and each benchmark in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, cast

import pandas as pd
import pyarrow.compute
import pyarrow.dataset

from ucurve.analysis.data.design import Design
from ucurve.analysis.data.files import PAIR_COLUMNS, read_stored, stored_scores
from ucurve.analysis.data.frames import (
    AGGREGATES,
    NGRAM,
    OVERALL_MEANS,
    held_out_frame,
    metric_frame,
    one_ties_rule,
    score_frame,
    targets,
)
from ucurve.analysis.data.look import look_of
from ucurve.analysis.data.runs import Run, describe_copies
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.analysis.data.user_tables import (
    UserTables,
    read_factors,
    read_human,
    read_languages,
    read_matches,
    read_models,
)
from ucurve.analysis.plotting.style import LineStyles
from ucurve.errors import UserError, unknown_name
from ucurve.eval.benchmarks.registry import benchmarks_meant, known_names
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.levels import MEANS
from ucurve.eval.pairs import full_name, split_name
from ucurve.eval.store.keys import check_pairs, find_key
from ucurve.eval.store.ratings import read_ratings_beside
from ucurve.eval.store.reported import OVER_PAIRS, Reported, read_reported
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.eval.store.tables import ACCURACY
from ucurve.gather import gather
from ucurve.progress import log_line
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import METRICS, STEPS

MEANS_OVER = dict(zip(MEANS, ("paradigms", "phenomena"), strict=True))
_SENTENCES = ("pair", "good", "bad")
Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """What was read; further files are read when a figure or table first needs them, and kept."""

    runs: Sequence[Run]  # in the order in which figures name them
    # The aggregate rows of their accuracies, of all linking functions and splits, under one rule for ties, the overall
    # rows over pairs. n-gram models are not among them: they stand beside a run and are no model of their own.
    scores: pd.DataFrame
    means: pd.DataFrame  # the overall rows over paradigms and over phenomena that go with them
    metrics: pd.DataFrame  # from metric_frame
    held_out: pd.DataFrame  # from held_out_frame
    settings: AnalyzeSettings
    user_tables: UserTables
    _pairs: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)  # by the SHA-256 of their file

    @property
    def design(self) -> Design:
        """The factors of the runs that were trained here."""
        return self.runs[0].design

    @cached_property
    def look(self) -> LineStyles:
        """The style of each line in all figures (``look_of``)."""
        return look_of(self.runs, (self.settings.color, self.settings.dash), self.settings.facet)

    def benchmarks(self) -> Sequence["BenchmarkScores"]:
        """Return every benchmark with each way it was scored."""
        return self._benchmarks

    @cached_property
    def _benchmarks(self) -> list["BenchmarkScores"]:
        return [BenchmarkScores(self, benchmark, scorers) for benchmark, scorers in targets(self.scores)]

    @property
    def linkings(self) -> dict[tuple[str, str], str]:
        """The linking function of the figures, by benchmark and scorer."""
        named = ((scored, scorer) for scored in self.benchmarks() for scorer in scored.scorers)
        return {(scored.benchmark, scorer): scored.linking for scored, scorer in named}

    def shown_rows(self) -> pd.DataFrame:
        """Return the rows of all benchmarks that are shown first (``BenchmarkScores.shown_rows``)."""
        return pd.concat([self.scores[:0], *(scored.shown_rows() for scored in self.benchmarks())])

    @cached_property
    def human(self) -> pd.DataFrame | None:
        """The user's table of human answers, from ``user_tables.read_human``; None without ``human=``."""
        return None if self.settings.human is None else read_human(self.settings.human)

    def pairs(self, run: Run, benchmark: str) -> pd.DataFrame | None:
        """Return the pairs of a benchmark in a run's folder, with all that is published; None where there are none.

        Runs of which the files are equal have the same table, not a copy of it.
        """
        path = pairs_path(run.folder, benchmark)
        check_pairs(path)
        if not path.is_file():
            return None
        digest = sha256_file(path)
        if digest not in self._pairs:
            self._pairs[digest] = read_stored(path, needed=PAIR_COLUMNS)
        return self._pairs[digest]


@dataclass(frozen=True, eq=False)
class LastScores:
    """What is stored of a run's last scored checkpoint."""

    run: Run
    step: int
    pairs: pd.DataFrame  # see Study.pairs
    scores: pd.DataFrame  # see files.stored_scores


@dataclass(frozen=True, eq=False, repr=False)
class BenchmarkScores:
    """A benchmark of a study, scored in one way."""

    study: Study
    benchmark: str
    scorers: tuple[str, ...]  # of causal models and of masked ones (``targets``)
    # by run and step
    _scores: dict[tuple[str, int], pd.DataFrame | None] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        """Name it, without the study that it is of."""
        return f"BenchmarkScores({self.title}, scored by {' and '.join(self.scorers)})"

    @property
    def scorer(self) -> str:
        """What the way of scoring is called: the scorer of causal models where it has several."""
        return self.scorers[0]

    def scorer_of(self, run: Run) -> str:
        """Return the scorer of a run that has rows."""
        return str(self.rows.loc[self.rows["run"] == run.label, "scorer"].iloc[0])

    @cached_property
    def reported(self) -> Reported:
        """What its card or a preset says is shown first."""
        return read_reported_of(self.study.runs, self.rows, self.benchmark)

    @cached_property
    def linking(self) -> str:
        """The linking function of the figures: the one that was asked for, or what is shown first."""
        by_scorer = self.rows.astype({"linking": str}).groupby("scorer", observed=True)["linking"].agg(set)
        shared = set.intersection(*by_scorer)  # causal and masked models have one function in a figure
        there = [name for name in dict.fromkeys(self.rows["linking"].astype(str)) if name in shared]
        return self.study.settings.linking or self.reported.choose_linking(there)

    @cached_property
    def pairs(self) -> pd.DataFrame | None:
        """Its pairs (``Study.pairs``) in the folder of the first run that has them; None where none has."""
        runs = set(self.rows["run"].astype(str))
        tables = (self.study.pairs(run, self.benchmark) for run in self.study.runs if run.label in runs)
        return next((table for table in tables if table is not None), None)

    @cached_property
    def on_other_pairs(self) -> list[str]:
        """The runs that were scored on other sentences than most, or else than the first one."""
        runs = set(self.rows["run"].astype(str))
        tables = [(run, self.study.pairs(run, self.benchmark)) for run in self.study.runs if run.label in runs]
        alike = gather(
            (pd.util.hash_pandas_object(table[list(_SENTENCES)], index=False).to_numpy().tobytes(), run.label)
            for run, table in tables
            if table is not None
        )
        most = max(alike.values(), key=len, default=[])
        return [label for labels in alike.values() if labels is not most for label in labels]

    @cached_property
    def mixed_settings(self) -> dict[str, list[str]]:
        """By run that was not scored in one way at all its steps: the settings that differ, as the start token may."""
        found: dict[str, set[str]] = {}
        for run in self.study.runs:
            for scorer in self.scorers:
                place = score_path(run.folder, self.benchmark, scorer, 0).parent
                keys = map(find_key, sorted(place.glob(f"{STEPS}.json")))
                settings = [dict(key.settings) for key in keys if key is not None]
                for one in settings:
                    differ = {name for name in one | settings[0] if one.get(name) != settings[0].get(name)}
                    found.setdefault(run.label, set()).update(differ)
        return {run: sorted(names) for run, names in found.items() if names}

    @cached_property
    def language(self) -> str:
        """The code of its language that its pairs have, else that in its name; empty where neither says it."""
        stored = "und" if self.pairs is None else str(self.pairs.get("language", pd.Series("und")).iloc[0])
        return split_name(self.benchmark)[1] if stored == "und" else stored

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names by which a table of benchmarks may know it, the nearest first (``known_names``)."""
        return known_names(self.benchmark, self.language, self.reported.maker)

    def look_up(self, entries: Mapping[str, Entry]) -> Entry | None:
        """Return the entry of a table by the names of benchmarks that is nearest to it; None where there is none."""
        return next((entries[name] for name in self.names if name in entries), None)

    @cached_property
    def family(self) -> str:
        """The name of all its languages together, with the mark of the subset where the study has several subsets."""
        family, _, own = split_name(self.benchmark)
        others = (split_name(one.benchmark) for one in self.study.benchmarks())
        return family + own * any(other == family and subset != own for other, _, subset in others)

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of ``study.scores`` that are about it."""
        return self._own(self.study.scores)

    def _own(self, rows: pd.DataFrame) -> pd.DataFrame:
        return rows[(rows["benchmark"] == self.benchmark) & rows["scorer"].isin(self.scorers)]

    @cached_property
    def drawn_rows(self) -> pd.DataFrame:
        """``rows`` whose overall rows are of the mean that is shown first (``overall``)."""
        if self.overall == OVER_PAIRS:
            return self.rows
        phenomena = self.rows[self.rows["phenomenon"] != "all"]
        return pd.concat([phenomena, self._overall_means.assign(paradigm="all")]).sort_index()

    @cached_property
    def overall(self) -> str:
        """What the overall number is a mean over, as in ``accuracy.csv``: all pairs where a run has no other mean."""
        pairs = self.rows[self.rows["phenomenon"] == "all"]
        return self.reported.overall if len(self._overall_means) == len(pairs) else OVER_PAIRS

    @cached_property
    def _overall_means(self) -> pd.DataFrame:
        means = self._own(self.study.means)
        return means[means["paradigm"] == self.reported.overall]

    def shown_rows(self) -> pd.DataFrame:
        """Return ``drawn_rows`` under the linking function of the figures, with ``overall`` as a column."""
        rows = self.drawn_rows
        return rows[rows["linking"] == self.linking].assign(overall=self.overall)

    @property
    def label(self) -> str:
        """Its name, with the scorer where the benchmark was scored in several ways."""
        return f"{self.benchmark} by {self.scorer}" if self.in_several_ways else self.benchmark

    @property
    def file_name(self) -> str:
        """What its files are named after; the scorer is added where the benchmark was scored in several ways."""
        return self.benchmark.replace("/", "-") + (f"-{self.scorer}" if self.in_several_ways else "")

    @property
    def in_several_ways(self) -> bool:
        """Whether the benchmark was scored by several scorers."""
        return sum(one.benchmark == self.benchmark for one in self.study.benchmarks()) > 1

    @property
    def heading(self) -> str:
        """The benchmark in headings, with the scorer where that is not the usual one: masked models have another."""
        return (
            self.benchmark
            if self.scorer == "sentence"
            else f"{self.benchmark} (scored by {' and '.join(self.scorers)})"
        )

    @property
    def title(self) -> str:
        """What the numbers are, for people: benchmark, linking function, what a tie counts."""
        return f"{self.benchmark}, {self.linking}, ties counted {self.ties_rule}"

    @property
    def curve_title(self) -> str:
        """``title``, and what the overall number is a mean over where that is not all pairs."""
        mean = MEANS_OVER.get(self.overall)
        return f"{self.title}, overall: mean over {mean}" if mean else self.title

    @property
    def ties_rule(self) -> TiesRule:
        """What a tie counts, the same in all rows."""
        return cast(TiesRule, str(self.rows["ties_rule"].iloc[0]))

    def curve_rows(self) -> pd.DataFrame:
        """Return the rows of checkpoints under the linking function of the figures, all lengths together."""
        rows = self.drawn_rows
        return rows[(rows["linking"] == self.linking) & (rows["split"] == "all") & (rows["step"] >= 0)]

    @cached_property
    def paradigms(self) -> pd.DataFrame:
        """``paradigm`` and ``phenomenon`` of every paradigm, as the first run that has the benchmark says."""
        first = self.rows[["run", "step"]].iloc[0]
        (run,) = [run for run in self.study.runs if run.label == first["run"]]
        named = score_frame([run], self.all_lengths([int(first["step"])]))[["paradigm", "phenomenon"]].astype(str)
        return named[~named["paradigm"].isin(("all", *MEANS))].drop_duplicates().reset_index(drop=True)

    def all_lengths(self, steps: Sequence[int]) -> pyarrow.dataset.Expression:
        """Return what finds in ``accuracy.csv`` the rows over all lengths at some steps, under the ties rule."""
        column = pyarrow.compute.field
        names = {"benchmark": self.benchmark, "split": "all", "ties_rule": self.ties_rule}
        wanted = column("step").isin(list(steps)) & column("scorer").isin(list(self.scorers))
        for name, value in names.items():
            wanted &= column(name) == value
        return wanted

    def last_scores(self, linking: str) -> list[LastScores]:
        """Read of every run the last checkpoint scored with a linking function, where its scores are stored."""
        rows = self.rows[self.rows["linking"] == linking]
        last = {str(run): int(step) for run, step in rows.groupby("run", observed=True)["step"].max().items()}
        found = []
        for run in (run for run in self.study.runs if run.label in last):
            key = run.label, last[run.label]
            if key not in self._scores:  # several linking functions read the same file
                self._scores[key] = stored_scores(run.folder, self.benchmark, self.scorer_of(run), key[1])
            scores = self._scores[key]
            pairs = None if scores is None else self.study.pairs(run, self.benchmark)
            if scores is not None and pairs is not None:
                found.append(LastScores(run, key[1], pairs, scores))
        return found

    @cached_property
    def judgments(self) -> pd.DataFrame | None:
        """People's judgments beside the pairs (``ucurve.eval.store.ratings``), of the first run that has some."""
        runs = set(self.rows["run"].astype(str))
        found = (read_ratings_beside(run.folder, self.benchmark) for run in self.study.runs if run.label in runs)
        return next((table for table in found if table is not None), None)


def read_study(runs: Sequence[Run], settings: AnalyzeSettings) -> Study:
    """Read what the figures and tables need, and check the names that were asked for.

    Raises:
        UserError: when a file is broken, the linking function or benchmark is unknown, or there is nothing to draw.
    """
    for text in describe_copies(runs):
        log_line(text)
    scores = score_frame(runs, AGGREGATES | OVERALL_MEANS)
    if not scores.empty:  # sections are of models, beside which ``analysis.ngrams`` puts n-grams
        scores = scores[~scores["scorer"].astype(str).str.startswith(NGRAM)]
    # Means of checkpoints have no metrics of their own: they are of training.
    metrics = metric_frame(run for run in runs if run.facts is None or not run.facts.averaged)
    if scores.empty and metrics["bits_per_byte"].dropna().empty:
        folders = ", ".join(str(run.folder) for run in runs)
        raise UserError(
            f"nothing to draw in {folders}: no row in {ACCURACY.place} (write it with: python score.py "
            f"run={runs[0].folder} 'benchmarks=[...]') and none in {METRICS}"
        )
    if not scores.empty:
        scores = _choose_rows(runs, scores, settings)
    over_pairs = scores["paradigm"] == "all"
    study = Study(
        runs=runs,
        scores=scores[over_pairs],
        means=scores[~over_pairs],
        metrics=metrics,
        held_out=held_out_frame(runs),
        settings=settings,
        user_tables=UserTables(),
    )
    # The user's tables are checked against the benchmarks, which only a study knows.
    return replace(study, user_tables=_read_user_tables(study))


def _read_user_tables(study: Study) -> UserTables:
    """Read all of them, so that a mistake in one is reported even where no section needs it."""
    given, scored = study.settings, study.benchmarks()
    return UserTables(
        models=read_models(given.models, [run.label for run in study.runs]) if given.models else None,
        languages=read_languages(given.languages, (one.language for one in scored)) if given.languages else None,
        factors=read_factors(
            given.factors,
            (
                f"{name} {pair}"
                for one in scored
                for name in (one.benchmark, full_name(one.benchmark))
                for pair in (() if one.pairs is None else one.pairs["pair"])
            ),
        )
        if given.factors
        else None,
        matches=read_matches(
            given.matches,
            (
                (name, phenomenon)
                for one in scored
                for name in one.names
                for phenomenon in set(one.rows["phenomenon"])
            ),
        )
        if given.matches
        else None,
    )


def read_reported_of(runs: Sequence[Run], rows: pd.DataFrame, benchmark: str) -> Reported:
    """Read what is shown first of a benchmark, as the first of the runs in its rows says."""
    scored = set(rows["run"].astype(str))
    return next((read_reported(run.folder, benchmark) for run in runs if run.label in scored), Reported())


def _choose_rows(runs: Sequence[Run], scores: pd.DataFrame, settings: AnalyzeSettings) -> pd.DataFrame:
    """Keep the benchmarks that were asked for, each under the rule for ties that its card shows first."""
    if settings.benchmark is not None:
        meant = benchmarks_meant(settings.benchmark, set(scores["benchmark"].astype(str)))
        scores = scores[scores["benchmark"].isin(meant)]
    functions = set(scores["linking"].astype(str))
    if settings.linking is not None and settings.linking not in functions:
        raise unknown_name("linking function", settings.linking, functions, "linking")
    of_benchmarks = {str(name): rows for name, rows in scores.groupby("benchmark", observed=True)}
    return one_ties_rule(
        scores, {name: read_reported_of(runs, rows, name).ties_rule for name, rows in of_benchmarks.items()}
    )


def describe_scorers(causal: str, masked: Sequence[str]) -> list[str]:
    """Say that masked models were scored by other scorers than causal ones; empty where there are none."""
    text = f"Masked models are scored by {', '.join(masked)}, a pseudo-log-likelihood, the others by {causal}"
    return [f"{text}: their numbers are sums of other probabilities."] if masked else []
