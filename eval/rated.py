"""Sentences that people rated, scored as the pairs of a job are."""

from dataclasses import replace

import pandas as pd

from eval.jobs import Job, prepare
from eval.ratings import rating_pairs
from eval.settings import ScoreSettings


def rated_job(job: Job, ratings: pd.DataFrame, settings: ScoreSettings) -> Job:
    """Gather what scoring rated sentences needs, by the model and the scorer of another job.

    Args:
        job: the other job.
        ratings: of ``read_ratings``.
        settings: those of the sweep.

    Raises:
        UserError: as ``prepare``.
    """
    alike = replace(settings, scorer=(job.scorer.name,), bow_correction=job.corrected)
    return prepare(job.target, [rating_pairs(ratings)], alike)[0]
