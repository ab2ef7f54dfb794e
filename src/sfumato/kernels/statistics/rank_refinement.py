"""Permutations with a given rank correlation matrix: Latin hypercubes, refined.

(2.12) of Lasko, S = Sigma_A^(1/2) Sigma_R^(-1/2) R, is Iman & Conover's (1982) transformation and
is read so: both matrices are correlations of ranks, since what S hands on is its order alone, and
records are rows here, S = R Sigma_R^(-1/2) Sigma_A^(1/2). The first step works on normal scores
with the latent normal correlations, so that the result is a Gaussian copula. Refinement (Dandekar,
Cohen & Kirkendall 2002) repeats it while that brings the rank correlations closer. Repeated on the
ranks themselves it comes to rest early, because small changes leave every rank in its place (gaps
of 0.003 at 400 records); so each round starts from the same scores, and what is still lacking is
added to the correlations aimed at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .rank_correlation import nearest_correlation

_SMALL = 1e-10
_SHORTEST = 0.1
"""Part of the gap below which another round is not worth its while: ranks move by whole places."""


class Refined(NamedTuple):
    """Ranks 0..m-1 by column, the largest gap to the wanted rank correlations, and the rounds."""

    ranks: np.ndarray
    gap: float
    rounds: int


def refined_ranks(
    latent: np.ndarray,
    wanted: np.ndarray,
    published: np.ndarray,
    rng: np.random.Generator,
    *,
    tolerance: float = 1e-3,
    rounds: int = 20,
) -> Refined:
    """Permutations whose rank correlations come as close to `wanted` as refinement brings them.

    A wanted correlation that is NaN may be anything. `published[i, j]` is the rank (any scale; ties
    alike) of what is published where column j has rank i: correlations are judged by it, so that
    ties do not weaken them unseen. `latent` are the normal correlations to begin with.
    """
    from scipy.special import ndtri

    m, p = published.shape
    scores = _standard(published)
    normal = ndtri(np.arange(1.0, m + 1) / (m + 1))
    white = _white(np.column_stack([rng.permutation(normal) for _ in range(p)]))
    target = latent
    best = _ranks(white @ _root(target))
    gaps = _gaps(wanted, best, scores)
    gap, used, stride = _largest(gaps), 0, 1.0
    while gap > tolerance and used < rounds and stride > _SHORTEST:
        closer, _ = nearest_correlation(np.clip(target + stride * gaps, -1.0, 1.0))
        ranks = _ranks(white @ _root(closer))
        gaps_now = _gaps(wanted, ranks, scores)
        used += 1
        if _largest(gaps_now) < gap:
            target, best, gaps, gap = closer, ranks, gaps_now, _largest(gaps_now)
        else:
            stride /= 2
    return Refined(best, gap, used)


def _white(x: np.ndarray) -> np.ndarray:
    """x without correlations, as far as it has the rank for it."""
    values, vectors = np.linalg.eigh(_correlation(x))
    kept = values > _SMALL
    return x @ ((vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T)


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def _correlation(x: np.ndarray) -> np.ndarray:
    z = _standard(x)
    return z.T @ z / len(z)


def _standard(x: np.ndarray) -> np.ndarray:
    """Mean zero, variance one; a constant column is zero."""
    centred = x - x.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    return np.where(spread > _SMALL, centred / np.where(spread > 0, spread, 1.0), 0.0)


def _ranks(x: np.ndarray) -> np.ndarray:
    ranks = np.empty(x.shape, dtype=np.int64)
    for j in range(x.shape[1]):
        ranks[np.argsort(x[:, j], kind="stable"), j] = np.arange(len(x))
    return ranks


def _gaps(wanted: np.ndarray, ranks: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """What the published rank correlations lack."""
    placed = np.take_along_axis(scores, ranks, axis=0)
    varies = (placed**2).sum(axis=0) > 0
    found = wanted - placed.T @ placed / len(ranks)
    found[np.isnan(found)] = 0.0
    found[~varies] = 0.0
    found[:, ~varies] = 0.0
    np.fill_diagonal(found, 0.0)
    return found


def _largest(gaps: np.ndarray) -> float:
    return float(np.abs(gaps).max(initial=0.0))
