"""Scores that are stored in a run folder, read from their files when they are asked for."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from eval.results import pairs_path, score_path
from eval.sums import check_scores, check_summed


@dataclass(frozen=True)
class StoredScores:
    """The scores of one model on the pairs of one benchmark; files that are not what was written are refused.

    Attributes:
        folder: the run folder, or the one that a model alone is scored into.
        run: name of the run or the model.
        step: of the checkpoint; -1 for a model alone.
        benchmark: name of the benchmark.
        scorer: the way it was scored.
    """

    folder: Path
    run: str
    step: int
    benchmark: str
    scorer: str

    def pair_table(self) -> pd.DataFrame:
        """Read the pairs: ``benchmark, language, paradigm, phenomenon, pair, good, bad`` and what else is published."""
        path = pairs_path(self.folder, self.benchmark)
        check_summed(self.folder, path)
        return pd.read_parquet(path)

    def score_table(self) -> pd.DataFrame:
        """Read the scores: ``pair``, then ``lp, n, unigram, unk, ...``, each as ``_good`` and ``_bad``."""
        path = score_path(self.folder, self.benchmark, self.scorer, self.step)
        check_scores(self.folder, path)
        return pd.read_parquet(path)

    def pairs(self) -> pd.DataFrame:
        """Join the scores to their pairs; a published column with the name of a score gets ``_published``."""
        tables = self.pair_table(), self.score_table()
        return tables[0].merge(tables[1], on="pair", validate="one_to_one", suffixes=("_published", ""))
