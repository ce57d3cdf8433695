"""The levels a number is given at: paradigm, phenomenon, all pairs, and the means over paradigms and phenomena."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
MEANS = ("macro", "macro_phenomena")


@dataclass(frozen=True, eq=False)
class Levels:
    """The rows of a table of levels, and the pairs of each."""

    # `phenomenon, paradigm` of every row: the paradigms; the phenomena (`paradigm=all`); all pairs (`all`/`all`); the
    # mean over paradigms (`macro`) and over phenomena (`macro_phenomena`).
    labels: pd.DataFrame
    paradigm_of: Ids  # int64[pairs]
    membership: Array  # float64[paradigms, phenomena], 1 where a paradigm is of a phenomenon

    @property
    def paradigms(self) -> int:
        """Number of paradigms."""
        return len(self.membership)

    @property
    def n(self) -> Array:
        """Number of pairs by paradigm, float64[paradigms]."""
        return self.sums(np.ones(len(self.paradigm_of)))

    def sums(self, values: npt.NDArray[np.float64 | np.int64 | np.bool_]) -> Array:
        """Sum a number or truth value of every pair by paradigm, float64[paradigms]."""
        return np.bincount(self.paradigm_of, values, minlength=self.paradigms).astype(np.float64)

    def totals(self, sums: Array) -> Array:
        """Sum over the pairs of each row, float64[..., paradigms] to [..., rows]; both means are about all pairs."""
        overall = sums.sum(axis=-1, keepdims=True)
        return np.concatenate([sums, sums @ self.membership, overall, overall, overall], axis=-1)

    def means(self, sums: Array, n: Array) -> Array:
        """Return each row's mean, float64[..., rows]: over its pairs, or over paradigms or phenomena that have pairs.

        Sums and pairs are by paradigm, float64[..., paradigms]; a row without pairs is NaN.
        """
        return self._with_means(sums, n, 1)

    def variances(self, variances: Array, n: Array) -> Array:
        """Return the variance of each row's mean, float64[..., rows], of the totals of independent paradigms.

        Variances and pairs are by paradigm, float64[..., paradigms]; a row without pairs is NaN.
        """
        return self._with_means(variances, n, 2)

    def _with_means(self, sums: Array, n: Array, power: int) -> Array:
        """Divide by the pairs of each row, and for the two means by the number of paradigms or phenomena."""
        size = self.totals(n)[..., :-2]
        pooled = _quotient(self.totals(sums)[..., :-2], size**power)
        some = np.broadcast_to(size > 0, pooled.shape)
        parts = [
            (pooled[..., part], some[..., part]) for part in (slice(self.paradigms), slice(self.paradigms, -1))
        ]
        means = [
            _quotient(values.sum(-1, keepdims=True, where=there), there.sum(-1, keepdims=True) ** power)
            for values, there in parts
        ]
        return np.concatenate([pooled, *means], axis=-1)


def _quotient(sums: Array, n: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / n)


def levels_of(pairs: pd.DataFrame) -> Levels:
    """Find the levels of a table with columns ``phenomenon`` and ``paradigm``, one row per pair."""
    grouped = pairs.groupby(["phenomenon", "paradigm"], sort=True)
    paradigms = grouped.size().index.to_frame(index=False)
    codes, phenomena = pd.factorize(paradigms["phenomenon"])
    pooled = pd.DataFrame({"phenomenon": phenomena, "paradigm": "all"})
    overall = pd.DataFrame({"phenomenon": "all", "paradigm": ["all", *MEANS]})
    labels = pd.concat([paradigms, pooled, overall], ignore_index=True)
    return Levels(labels, np.asarray(grouped.ngroup(), dtype=np.int64), np.eye(len(phenomena))[codes])


def cohens_kappa(first: Array, second: Array, agreed: Array) -> Array:
    """Return Cohen's kappa of two raters who say yes or no (Cohen 1960); NaN where both always say the same one thing.

    ``first`` and ``second`` are the shares of yes, ``agreed`` that of the answers on which they agree.
    """
    expected = np.asarray(first * second + (1 - first) * (1 - second), dtype=np.float64)
    most = 1 - expected
    defined = most > 1e-12  # what rounding leaves of 0
    return np.asarray(np.divide(agreed - expected, most, out=np.full(expected.shape, np.nan), where=defined))
