"""Credits of made-up runs for the tests of the second computation."""

import numpy as np

from studies.recomputed.shape import Scored

TOKENS = 10 ** np.linspace(4, 7, 10)


def some_credits(clusters_of_last: int, runs: int = 3, tokens: np.ndarray = TOKENS):
    """Make half points of runs over four paradigms, two of them of one edit, whose pairs of an edit are alike."""
    random = np.random.default_rng(2)
    paradigms = np.repeat([0, 1, 2, 3], [12, 9, 5, 4])
    edits = np.concatenate([np.arange(12) // 3, np.arange(9) // 2, np.zeros(5), np.arange(4) * clusters_of_last])
    clusters = np.unique(100 * paradigms + edits, return_inverse=True)[1].astype(np.int64)
    alike = random.normal(size=(runs, len(tokens), clusters.max() + 1))[:, :, clusters]
    own = random.normal(size=(runs, len(tokens), len(paradigms)))
    return 2 * (alike + own > 0).astype(np.uint8), paradigms.astype(np.int64), clusters


def scored(
    half_points: np.ndarray, paradigms: np.ndarray, clusters: np.ndarray, tokens: np.ndarray = TOKENS
) -> Scored:
    """Take them for a curve."""
    return Scored("a", "all", tokens, half_points / 2, paradigms, clusters)
