"""Sentences that people rated, scored and stored as the pairs of a benchmark are."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from eval.jobs import Job, prepare
from eval.pairs import data_hash
from eval.ratings import rating_pairs, read_ratings
from eval.settings import ScoreSettings


def rated_pairs(file: Path) -> pd.DataFrame:
    """Read rated sentences as the pair table of a benchmark whose name tells them from those of other files.

    Raises:
        UserError: when the file is missing or broken.
    """
    pairs = rating_pairs(read_ratings(file))
    return pairs.assign(benchmark=f"ratings-{data_hash(pairs)[:8]}")


def rated_job(job: Job, pairs: pd.DataFrame, settings: ScoreSettings) -> Job:
    """Gather what scoring rated sentences needs, by the model and the scorer of another job.

    Args:
        job: the other job.
        pairs: of ``rated_pairs``.
        settings: those of the sweep.

    Raises:
        UserError: as ``prepare``.
    """
    alike = replace(settings, scorer=(job.scorer.name,), bow_correction=job.corrected)
    return prepare(job.target, [pairs], alike)[0]
