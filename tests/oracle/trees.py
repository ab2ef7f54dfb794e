"""Trees, their leaves and what is drawn from them, record by record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import stats


def deviate(statistic: float, mean: float, variance: float) -> float:
    """Wilson and Hilferty: a multiple of chi-square with so many degrees of freedom."""
    freedom = 2.0 * mean**2 / variance
    ratio = (statistic / mean) ** (1 / 3)
    return (ratio - 1.0 + 2.0 / (9.0 * freedom)) / math.sqrt(2.0 / (9.0 * freedom))


def judged(left: np.ndarray, classes: np.ndarray, scores: np.ndarray, chosen: float) -> float:
    """The deviate of the cut that sends the records `left`."""
    n = left.size
    present = np.unique(classes)
    table = np.array([[np.sum(left[classes == c]), np.sum(~left[classes == c])] for c in present])
    pearson = float(stats.chi2_contingency(table, correction=False).statistic)
    share = left.mean()
    freedom = present.size - 1
    counts = table.sum(axis=1)
    sparse = (1 / (share * (1 - share)) - 6) * (np.sum(1 / counts) - present.size**2 / n)
    variance = max(2.0 * freedom + sparse, 0.5 * freedom)
    found = [deviate(pearson, freedom + chosen, variance + 2.0 * chosen)]
    if scores.std() > 1e-6:
        linear = n * np.corrcoef(left, scores)[0, 1] ** 2
        if linear > 0:
            found.append(deviate(linear, 1.0 + chosen, 2.0 + 2.0 * chosen))
    return max(found)


def cuts(
    code: np.ndarray, nominal: bool, classes: np.ndarray, scores: np.ndarray, leaf: int
) -> list[tuple[float, frozenset[int]]]:
    """Every cut of these records by one predictor: its deviate, and the codes that go left."""
    order = sorted(
        set(code.tolist()), key=lambda c: (scores[code == c].mean() if nominal else 0.0, c)
    )
    chosen = max(2 / math.pi * (len(order) - 1) - 1, 0.0) if nominal else 0.0
    found = []
    for q in range(1, len(order)):
        going = np.isin(code, order[:q])
        if leaf <= going.sum() <= code.size - leaf and len(set(classes.tolist())) > 1:
            found.append((judged(going, classes, scores, chosen), frozenset(order[:q])))
    return found


def axis(codes: Sequence[int], count: int, others: np.ndarray, shrink: float) -> np.ndarray:
    """Correspondence analysis of categories by other columns: scores on the first axis."""
    held = Counter(codes)
    columns = []
    for other in others:
        for b in sorted(set(other.tolist())):
            share = float(np.mean(other == b))
            columns.append([
                (sum(o == b for o, c in zip(other, codes, strict=True) if c == k)
                 - held[k] * share) / math.sqrt(share) / (held[k] + shrink)
                for k in range(count)
            ])  # fmt: skip
    means = np.array(columns).T
    weights = np.sqrt([held[k] for k in range(count)])
    direction = np.linalg.svd(weights[:, None] * means)[2][0]
    direction *= 1.0 if direction[np.argmax(np.abs(direction))] >= 0 else -1.0
    return means @ direction


def between(x: Sequence[float], rare: int) -> list[tuple[float, float]]:
    """What each of a leaf's rising numbers is drawn between."""
    far = max(rare, len(x) // 40)

    def end(beyond: Sequence[float]) -> float:
        total = 0.0
        for seen, one in enumerate(beyond):
            total += one if seen < 2 else min(one, total)
        return 2.0 * total / rare

    bottom = x[rare - 1] - end([x[rare - 1] - v for v in reversed(x[:rare])])
    top = x[-rare] + end([v - x[-rare] for v in x[-rare:]])
    return [
        (max(x[max(i - far, 0)], bottom), min(x[min(i + far, len(x) - 1)], top))
        for i in range(len(x))
    ]
