"""Kernel principal components by their definition, and median differences by theirs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

KernelFunction = Callable[[np.ndarray, np.ndarray], float]


def kernel_function(kind: str, degree: int, width: float) -> KernelFunction:
    """One kernel value, as it is written on paper."""

    def value(x: np.ndarray, y: np.ndarray) -> float:
        dot = sum(float(a) * float(b) for a, b in zip(x, y, strict=True))
        if kind == "polynomial":
            return (dot + 1.0) ** degree
        if kind == "exponential":
            return math.exp(dot / width)
        gap = sum((float(a) - float(b)) ** 2 for a, b in zip(x, y, strict=True))
        return math.exp(-gap / (2.0 * width**2))

    return value


def matrix(k: KernelFunction, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """All kernel values, one by one."""
    return np.array([[k(a, b) for b in y] for a in x])


def centred_components(
    k: KernelFunction, x: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All variances (downwards), shares, and the projections of x and of other records."""
    n = len(x)
    plain, across = matrix(k, x, x), matrix(k, other, x)
    ones = np.full((n, n), 1.0 / n)
    wide = np.full((len(other), n), 1.0 / n)
    centred = plain - ones @ plain - plain @ ones + ones @ plain @ ones
    moved = across - wide @ plain - across @ ones + wide @ plain @ ones
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-9 * values[0]
    weights = vectors[:, kept] / np.sqrt(values[kept])
    return values[kept] / n, values[kept] / np.trace(centred), centred @ weights, moved @ weights


def explicit_features(x: np.ndarray, degree: int) -> np.ndarray:
    """The feature space of (x'y + 1)^degree: every monomial with the root of its coefficient."""
    n, d = x.shape
    wide = np.column_stack([np.ones(n), x])
    features = []
    for chosen in itertools.combinations_with_replacement(range(d + 1), degree):
        counts = [chosen.count(j) for j in range(d + 1)]
        coefficient = math.factorial(degree) / math.prod(math.factorial(c) for c in counts)
        features.append(math.sqrt(coefficient) * np.prod(wide[:, list(chosen)], axis=1))
    return np.column_stack(features)


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """Kolmogorov and Smirnov's, at every value of either sample."""
    return max(abs(float(np.mean(x <= v)) - float(np.mean(y <= v))) for v in [*x, *y])


def four_medians(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Lasko's table 4.1 over the columns of two matrices that all vary."""
    from scipy.stats import spearmanr

    columns = range(x.shape[1])
    pairs = list(itertools.combinations(columns, 2))
    return {
        "mean": float(
            np.median([abs(y[:, j].mean() - x[:, j].mean()) / x[:, j].std() for j in columns])
        ),
        "variance": float(
            np.median([abs(y[:, j].var() - x[:, j].var()) / x[:, j].var() for j in columns])
        ),
        "correlation": float(
            np.median(
                [
                    abs(np.corrcoef(y[:, a], y[:, b])[0, 1] - np.corrcoef(x[:, a], x[:, b])[0, 1])
                    for a, b in pairs
                ]
            )
        ),
        "rank correlation": float(
            np.median(
                [
                    abs(spearmanr(y[:, a], y[:, b])[0] - spearmanr(x[:, a], x[:, b])[0])
                    for a, b in pairs
                ]
            )
        ),
    }
