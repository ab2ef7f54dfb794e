"""Spectral clustering and component swapping, the plain way."""

from __future__ import annotations

import numpy as np


def laplacian(x: np.ndarray, sigma: float) -> np.ndarray:
    """(5.1)-(5.3), pair by pair."""
    n = len(x)
    s = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                s[i, j] = np.exp(-((x[i] - x[j]) ** 2).sum() / (2 * sigma**2))
    d = s.sum(axis=1)
    return s / np.sqrt(np.outer(d, d))


def places(x: np.ndarray, q: int, sigma: float) -> np.ndarray:
    """(5.4), by all eigenvectors."""
    _, vectors = np.linalg.eigh(laplacian(x, sigma))
    top = vectors[:, ::-1][:, :q]
    return top / np.linalg.norm(top, axis=1, keepdims=True)


def principal_scores(x: np.ndarray) -> np.ndarray:
    """Projections on the principal directions that have any spread."""
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    return (x - x.mean(axis=0)) @ vectors[:, values > 1e-9 * values[-1]]


def log_cosh_gain(u: np.ndarray) -> np.ndarray:
    """How far E log cosh of each unit column lies from that of a normal variable, squared."""
    normal = 0.37456720749143544  # E log cosh z, by numerical integration
    return (np.log(np.cosh(u)).mean(axis=0) - normal) ** 2


def lost_components(
    a: np.ndarray, b: np.ndarray, rng: np.random.Generator, *, components: int = 20, points: int
) -> int:
    """Kernel components (degree 4) of a along which `points` records of a and of b differ by the
    two-sided Kolmogorov-Smirnov test at 0.05."""
    from scipy.linalg import eigh
    from scipy.stats import ks_2samp

    own, other = (a @ a.T + 1) ** 4, (b @ a.T + 1) ** 4
    columns, total = own.mean(axis=0), own.mean()
    own = own - columns - columns[:, None] + total
    other = other - columns - other.mean(axis=1, keepdims=True) + total
    _, vectors = eigh(own, subset_by_index=[len(a) - components, len(a) - 1])
    one, two = (rng.choice(len(x), points, replace=False) for x in (a, b))
    return sum(
        ks_2samp(p[one], q[two]).pvalue < 0.05
        for p, q in zip((own @ vectors).T, (other @ vectors).T, strict=True)
    )
