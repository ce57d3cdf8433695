"""Unigram log probabilities of tokens, from the counts of the training tokens."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ucurve.errors import UserError


def log_unigrams(counts: npt.NDArray[np.int64], excluded: Collection[int]) -> npt.NDArray[np.float64]:
    """Turn counts into natural log probabilities, adding one to the count of every scorable token.

    Over the scorable tokens the probabilities sum to 1. An excluded token (document separator, padding) has the
    probability of a scorable token that was never seen, so that a sentence that spells one still has a finite sum.

    Args:
        counts: int64[V], occurrences in the training tokens.
        excluded: ids that no sentence is made of.

    Returns:
        float64[V].
    """
    scorable = np.ones(len(counts), dtype=bool)
    scorable[list(excluded)] = False
    raised = np.where(scorable, counts, 0).astype(np.float64) + 1.0
    return np.asarray(np.log(raised) - np.log(raised[scorable].sum()))


def read_counts(path: Path, vocabulary: int, ids: int | None = None) -> npt.NDArray[np.int64] | None:
    """Read ``unigram_counts.npy``.

    Args:
        path: the file; it may be absent.
        vocabulary: number of tokens; there must be as many counts.
        ids: one more than the largest id, which is larger where ids have gaps; ids beyond the counts were never seen.

    Returns:
        int64[V], V at least ``ids``; or None without a file.

    Raises:
        UserError: when the file is not an array of that many counts.
    """
    if not path.exists():
        return None
    try:
        counts = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise UserError(f"{path}: not an array of counts ({error})") from error
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or len(counts) < vocabulary or (counts < 0).any():
        raise UserError(
            f"{path}: {vocabulary} counts are expected, one for each token id; "
            f"this is {counts.dtype} of shape {counts.shape}"
        )
    return np.pad(counts.astype(np.int64), (0, max(0, (ids or vocabulary) - len(counts))))
