"""The credit of every pair at every scored checkpoint of a run, from the score files below ``eval/``.

So a benchmark can be had under any linking function: what it was not scored with is computed from stored columns.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.files import PAIR_COLUMNS, known_linking, read_stored
from ucurve.analysis.data.frames import SCORE_COLUMNS, stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.errors import UserError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, accuracy_table, pair_credits
from ucurve.eval.metrics.clusters import EDIT, pair_clusters
from ucurve.eval.metrics.levels import MEANS
from ucurve.eval.pairs import in_accuracies, score_arguments
from ucurve.eval.store.keys import check_pairs, check_scores
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.invocation import command

HALVES = 2  # half points in a whole one


@dataclass(frozen=True, eq=False)
class Items:
    """The credit of every pair of a benchmark at every scored checkpoint of one run."""

    run: str
    steps: npt.NDArray[np.int64]  # [steps], ascending; those without a score file are not there
    tokens: npt.NDArray[np.float64]  # [steps], training tokens
    half_points: npt.NDArray[np.uint8]  # [steps, items]: 0 wrong, 1 a tie counted one half, 2 right
    # pair, phenomenon, paradigm, cluster (a number, equal for pairs that are drawn together) and sentences (a hash of
    # both: the names may be of another version of the benchmark), without identical pairs and those that do not count
    pairs: pd.DataFrame


@dataclass(frozen=True, eq=False)
class ScoreFiles:
    """The score files of a run on a benchmark, of which a linking function can be computed."""

    checkpoints: pd.DataFrame  # step, tokens and flops of those that have a file, ascending
    files: tuple[Path, ...]  # one for each of them
    pairs_file: Path
    linking: Linking

    def read(self, place: int, pairs: pd.DataFrame) -> pd.DataFrame:
        """Read what the linking function reads at a checkpoint, in the order of the pairs."""
        path, linking = self.files[place], self.linking
        scores = read_stored(
            path, ("pair", *(f"{name}_{side}" for name in linking.reads for side in ("good", "bad")))
        )
        scores = in_order_of(pairs, scores, path)
        if missing := linking.missing(scores):
            raise UserError(
                f"{path}: {linking.name} reads {', '.join(missing)}, which holds a missing value there"
            )
        return scores


def in_order_of(pairs: pd.DataFrame, scores: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Put the scores of a file into the order of the pairs; scores of other pairs are a ``UserError``."""
    if np.array_equal(scores["pair"], pairs["pair"]):
        return scores
    if sorted(scores["pair"]) != sorted(pairs["pair"]):
        raise UserError(f"{path}: its {len(scores)} pairs are not the {len(pairs)} of the benchmark's table")
    return scores.set_index("pair").loc[pairs["pair"]].reset_index()


def read_runs(
    runs: Iterable[Run], rows: pd.DataFrame, benchmark: str, linking: str, rule: TiesRule, cluster: str = EDIT
) -> Iterator[tuple[Run, Items | None]]:  # fmt: skip
    """Read the credits of the runs that ``find_stored`` yields, one run at a time; None where it finds no files."""
    for run, stored in find_stored(runs, rows, benchmark, linking):
        yield run, None if stored is None else _read_items(run, stored, rule, cluster)


def find_stored(
    runs: Iterable[Run], rows: pd.DataFrame, benchmark: str, linking: str
) -> Iterator[tuple[Run, ScoreFiles | None]]:
    """Find the score files of each run that has a row of a checkpoint, one run at a time.

    ``rows`` are those of ``score_frame`` of the benchmark, with one scorer for each run. Instead of files there is None
    where no pair's score is stored, the stored scores lack what the linking function reads, or that function is not
    known here.
    """
    known = rows[rows["step"] >= 0][["run", "scorer", "step", "tokens", "flops"]].drop_duplicates(["run", "step"])
    for run in runs:
        own = known[known["run"] == run.label].sort_values("step")
        if not own.empty:
            yield run, _find_files(run, own, benchmark, linking)


def _find_files(run: Run, checkpoints: pd.DataFrame, benchmark: str, linking: str) -> ScoreFiles | None:
    """Find the score files of one run at checkpoints, which ascend and have one scorer."""
    scorer = str(checkpoints["scorer"].iloc[0])
    paths = [score_path(run.folder, benchmark, scorer, step) for step in checkpoints["step"]]
    for path in paths:
        check_scores(run.folder, path)
    there = np.array([path.is_file() for path in paths], dtype=bool)
    pairs_file = pairs_path(run.folder, benchmark)
    check_pairs(pairs_file)
    if not there.any() or not pairs_file.is_file():
        return None
    function = known_linking(linking)
    # One file tells, because the files of a run on a benchmark are of one scorer.
    if function is None or function.missing(read_stored(paths[int(there.argmax())])):
        return None
    files = tuple(path for path, present in zip(paths, there, strict=True) if present)
    return ScoreFiles(checkpoints[there].reset_index(drop=True), files, pairs_file, function)


def _read_items(run: Run, stored: ScoreFiles, rule: TiesRule, cluster: str) -> Items:
    """Read the credits of one run from its score files."""
    pairs = read_stored(stored.pairs_file, needed=PAIR_COLUMNS)
    kept = in_accuracies(pairs).to_numpy()
    named = pairs[["pair", "phenomenon", "paradigm"]].astype({"phenomenon": str, "paradigm": str})
    named = named.assign(
        cluster=pair_clusters(pairs, cluster, str(stored.pairs_file)),
        sentences=pd.util.hash_pandas_object(pairs[["good", "bad"]], index=False),
    )
    # A run may have millions of credits. In half points each takes one byte, an eighth of a float64.
    half_points = np.empty((len(stored.files), int(kept.sum())), dtype=np.uint8)
    for place, row in enumerate(half_points):  # one file at a time, so that scores take memory once
        row[:] = HALVES * pair_credits(stored.read(place, pairs), stored.linking, rule)[kept]
    chosen = stored.checkpoints
    return Items(
        run=run.label,
        steps=chosen["step"].to_numpy(np.int64),
        tokens=chosen["tokens"].to_numpy(np.float64),
        half_points=half_points,
        pairs=named[kept].reset_index(drop=True),
    )


def under_linking(scored: BenchmarkScores, name: str) -> BenchmarkScores:
    """Return a benchmark with a linking function such as ``slln_lp:0.8`` as that of its figures and tables.

    Raises:
        UserError: when there is no such function, or the stored scores lack what it reads.
    """
    linking, study = parse_linking(name), scored.study
    if not (scored.rows["linking"] == linking.name).any():
        rows = stack(_rows(scored, linking), ["paradigm"])
        if rows.empty:
            given = f"run=RUN {score_arguments(scored.benchmark)} linking={linking.name}"
            raise UserError(
                f"{scored.benchmark}: no stored score has what {linking.name} reads ({', '.join(linking.reads)}); "
                f"'{command('score', given)}' may add it"
            )
        is_mean = rows["paradigm"].isin(MEANS)
        scores, means = rows[rows["paradigm"] == "all"], rows[is_mean]
        study = replace(study, scores=_joined(study.scores, scores), means=_joined(study.means, means))
    study = replace(study, settings=replace(study.settings, linking=linking.name))
    return BenchmarkScores(study, scored.benchmark, scored.scorers)


def _rows(scored: BenchmarkScores, linking: Linking) -> Iterator[pd.DataFrame]:
    """Compute the accuracies of each checkpoint as scoring does."""
    for run, stored in find_stored(scored.study.runs, scored.rows, scored.benchmark, linking.name):
        pairs = None if stored is None else scored.study.pairs(run, scored.benchmark)
        if stored is None or pairs is None:
            continue
        for place, file in enumerate(stored.files):
            table = accuracy_table(pairs, read_stored(file), [linking], [scored.ties_rule])
            where = stored.checkpoints.iloc[[place] * len(table)].reset_index(drop=True)
            yield where.join(table).assign(line=run.line, benchmark=scored.benchmark)[
                ["run", "line", *SCORE_COLUMNS]
            ]


def _joined(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Put rows below others whose names are categorical, and keep them so."""
    names = [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]
    return pd.concat([rows.astype(dict.fromkeys(names, str)), more], ignore_index=True).astype(
        dict.fromkeys(names, "category")
    )
