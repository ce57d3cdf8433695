"""A benchmark under any linking function: what was not scored with it is computed from the stored columns."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from ucurve.analysis.data.files import read_stored
from ucurve.analysis.data.frames import SCORE_COLUMNS, stack
from ucurve.analysis.data.pair_scores import find_stored
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.errors import UserError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.metrics.levels import MEANS
from ucurve.invocation import command


def under_linking(scored: BenchmarkScores, name: str) -> BenchmarkScores:
    """Return a benchmark with a linking function such as ``slln_lp:0.8`` as that of its figures and tables.

    Raises:
        UserError: when there is no such function, or the stored scores lack what it reads.
    """
    linking, study = parse_linking(name), scored.study
    if not (scored.rows["linking"] == linking.name).any():
        rows = stack(_rows(scored, linking), ["paradigm"])
        if rows.empty:
            raise UserError(
                f"{scored.benchmark}: no stored score has what {linking.name} reads ({', '.join(linking.reads)}); "
                f"'{command('score', f'run=RUN linking={linking.name}')}' may add it"
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
            yield where.join(table).assign(line=run.line, benchmark=scored.benchmark)[["run", "line", *SCORE_COLUMNS]]


def _joined(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]
    return pd.concat([rows.astype(dict.fromkeys(names, str)), more], ignore_index=True).astype(
        dict.fromkeys(names, "category")
    )
