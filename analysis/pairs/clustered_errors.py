"""Cluster-robust standard errors of a linear model, e.g. for pairs that share a language or a sentence."""

import math
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_BATCH = 500  # clusters that are computed together
_WHOLE = 1 - 1e-9  # a share of a direction that lies in one cluster, above which nothing outside it speaks of it


def clustered_errors(design: Array, residuals: Array, clusters: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return standard errors of least squares that allow any dependence within clusters, and their degrees of freedom.

    The residuals of a cluster are corrected for their shrinkage by the fit (CR2, Bell and McCaffrey 2002), and the
    degrees of freedom are those of a sum of squares of the same mean and variance (Satterthwaite's, as there), so that
    t tests hold their level with few and with unequal clusters. Each term has its own: a number that is constant in a
    language is known from as many observations as there are languages.

    ``design`` is float64[n, terms], of full rank, ``residuals`` float64[n] and ``clusters`` int64[n]; both results are
    float64[terms], NaN for a term that one cluster determines alone.
    """
    basis, triangle = np.linalg.qr(design)  # a cluster's part of the projection is small in this basis: terms x terms
    terms = np.linalg.inv(triangle)
    lengths = np.sqrt((terms**2).sum(axis=1))
    count = design.shape[1]
    variance, trace, squares = np.zeros(count), np.zeros(count), np.zeros(count)
    shared, alone = np.zeros((count, count, count)), np.zeros(count, dtype=bool)
    for rows in _batches(clusters):  # int64[clusters, members]
        part = basis[rows]
        shares, directions = np.linalg.eigh(part.mT @ part)
        own = shares > _WHOLE
        widened = np.where(own, 0.0, 1 / np.sqrt(1 - np.where(own, 0.0, shares)))[:, None]
        turned = terms @ directions  # [clusters, terms, directions]
        alone |= (np.abs(turned) > np.sqrt(1 - _WHOLE) * lengths[:, None]).swapaxes(1, 2)[own].any(axis=0)
        scores = (residuals[rows][:, None] @ part) @ directions
        variance += ((turned * widened * scores).sum(axis=2) ** 2).sum(axis=0)
        pulled = (turned * (widened * shares[:, None])) @ directions.mT
        kept, lost = (turned**2 * (widened**2 * shares[:, None])).sum(axis=2), (pulled**2).sum(axis=2)
        trace += (kept - lost).sum(axis=0)
        squares += (kept**2 - 2 * kept * lost).sum(axis=0)
        by_term = pulled.swapaxes(0, 1)
        shared += by_term.mT @ by_term
    squares += (shared**2).sum(axis=(1, 2))
    known = ~alone & (squares > 0)
    freedom = np.divide(trace**2, squares, out=np.full(count, np.nan), where=known)
    return np.where(known, np.sqrt(variance), np.nan), freedom


def _batches(clusters: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of the members of clusters of one size, int64[clusters, members]."""
    order = np.argsort(clusters, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
    for _, alike in groupby(sorted(members, key=len), key=len):
        whole = np.stack(list(alike))
        yield from np.array_split(whole, math.ceil(len(whole) / _BATCH))
