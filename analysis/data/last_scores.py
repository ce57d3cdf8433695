"""The scores that several models gave to the same pairs at their last scored checkpoints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ucurve.analysis.data.files import PAIR_COLUMNS, known_linking
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.errors import UserError
from ucurve.eval.metrics.accuracy import items, pair_credits
from ucurve.eval.metrics.levels import MEANS, levels_of
from ucurve.eval.metrics.sampling import Clusters, clusters_of, effective_size, spread_of
from ucurve.eval.metrics.significance import certainty
from ucurve.eval.pairs import in_accuracies
from ucurve.eval.store.scores import score_path
from ucurve.gather import gather

ALL_OF = "all"  # the paradigm of the rows of a phenomenon, and the phenomenon of those of all pairs


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Pairs of a benchmark with the scores of several models."""

    benchmark: str
    pairs: pd.DataFrame  # one row per pair, without identical pairs and those that do not count
    scores: dict[str, pd.DataFrame]  # by model, with the rows of pairs
    credit: pd.DataFrame  # what each pair counts, one column per model, with the rows of pairs
    left_out: tuple[str, ...]  # models whose scores are not there, or are of other pairs

    @property
    def models(self) -> list[str]:
        """The models, in the order of the study."""
        return list(self.credit.columns)

    @cached_property
    def clusters(self) -> Clusters:
        """Which pairs have the same edit."""
        return clusters_of(self.pairs, levels_of(self.pairs))

    @property
    def points(self) -> pd.DataFrame:
        """Accuracy and certainty of each model on each paradigm.

        ``model``, ``phenomenon``, ``suite`` (the paradigm), ``n``, ``clusters`` (different edits), ``effective`` (how
        many independent pairs would tell as much, NaN with fewer than 4 clusters), ``accuracy``, ``delta_lp`` and
        ``delta_nll``; for what the certainties are see ``ucurve.analysis.models.categories``.
        """
        rows = self._rows[self._rows["paradigm"] != ALL_OF]
        return rows.rename(columns={"paradigm": "suite"}).reset_index(drop=True)

    @property
    def phenomena(self) -> pd.DataFrame:
        """The same over the pairs of each phenomenon, which is the ``suite``."""
        rows = self._rows[(self._rows["paradigm"] == ALL_OF) & (self._rows["phenomenon"] != ALL_OF)]
        return rows.assign(suite=rows["phenomenon"]).drop(columns="paradigm").reset_index(drop=True)

    @property
    def overall(self) -> pd.DataFrame:
        """The same over all pairs, one row for each model."""
        return self._rows[self._rows["phenomenon"] == ALL_OF].reset_index(drop=True)

    @cached_property
    def _rows(self) -> pd.DataFrame:
        """A row for each model and paradigm, phenomenon (``ALL_OF``) and for all pairs, see ``points``."""
        clusters, levels = self.clusters, self.clusters.levels
        size = clusters.sums(np.ones(len(self.pairs)))
        n, some = levels.totals(levels.n), slice(len(levels.labels) - len(MEANS))
        parts = []
        for model in self.models:
            credit = self.credit[model].to_numpy()
            values = {"accuracy": credit, **certainty(self.scores[model])}
            means = {name: levels.means(levels.sums(value), levels.n) for name, value in values.items()}
            spread = spread_of(clusters, clusters.sums(credit), size)
            effective = effective_size(spread, means["accuracy"], n)
            rows = levels.labels.assign(
                model=model, n=n.astype(np.int64), clusters=spread.clusters.astype(np.int64)
            )
            parts.append(rows.assign(effective=effective, **means).iloc[some])
        return pd.concat(parts, ignore_index=True)


def load_last_scores(scored: BenchmarkScores, linking: str | None = None) -> ModelScores | None:
    """Read the last scores of every model, by default under the function of the figures; None where none are there."""
    name = linking or scored.linking
    function = known_linking(name)
    if function is None or not (stored := scored.last_scores(name)):
        return None
    pairs = stored[0].pairs
    counts, names = in_accuracies(pairs), list(PAIR_COLUMNS)
    kept = pairs[counts].reset_index(drop=True)
    scores = {}
    for one in stored:
        run, own = one.run, one.pairs
        if own is pairs or (own[names].equals(pairs[names]) and in_accuracies(own).equals(counts)):
            table = items(pairs, one.scores).reset_index(drop=True)
            if len(table) != len(kept):
                path = score_path(run.folder, scored.benchmark, scored.scorer_of(run), one.step)
                raise UserError(f"{path}: scores of {len(table)} of the {len(kept)} pairs; score it again")
            if not function.missing(table):
                scores[run.label] = table
    if not scores:
        return None
    credit = {run: pair_credits(table, function, scored.ties_rule) for run, table in scores.items()}
    rows, labels = scored.rows[scored.rows["linking"] == name], [run.label for run in scored.study.runs]
    left_out = tuple(label for label in labels if label not in scores and (rows["run"] == label).any())
    return ModelScores(
        benchmark=scored.benchmark,
        pairs=kept,
        scores=scores,
        credit=pd.DataFrame(credit),
        left_out=left_out,
    )


@dataclass(frozen=True, eq=False)
class LanguageScores:
    """The last scores of a benchmark in its languages (``multiblimp/nld``); most benchmarks have one language only."""

    members: Sequence[tuple[BenchmarkScores, ModelScores]]

    @property
    def first(self) -> BenchmarkScores:
        """The first of the languages."""
        return self.members[0][0]

    @property
    def family(self) -> str:
        """The name of the benchmark, without the language where there are several."""
        return self.first.family if len(self.members) > 1 else self.first.benchmark

    @property
    def file_name(self) -> str:
        """What its files are named after."""
        return self.first.file_name.replace(self.first.benchmark.replace("/", "-"), self.family.replace("/", "-"))

    @property
    def title(self) -> str:
        """What the numbers are, for people."""
        return self.first.title.replace(self.first.benchmark, self.family)

    @property
    def by_language(self) -> dict[str, ModelScores]:
        """The scores by the code of the language."""
        return {scored.language: last for scored, last in self.members}


def group_languages(study: Study) -> Iterator[LanguageScores]:
    """Read the last scores of every benchmark that has some, its languages together, by the way of scoring."""
    groups = gather(((scored.family, scored.scorer), scored) for scored in study.benchmarks())
    for group in groups.values():
        if members := [(scored, last) for scored in group if (last := load_last_scores(scored)) is not None]:
            yield LanguageScores(members)
