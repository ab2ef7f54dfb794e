"""Masking, record by record, in plain Python: slow and plain enough to be believed."""

from __future__ import annotations

import hashlib
import hmac
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def keyed_hash(key: str, value: str, length: int) -> str:
    return hmac.new(bytes.fromhex(key), value.encode(), hashlib.sha256).hexdigest()[:length]


def clamp(values: Sequence[Any], bottom: Any, top: Any) -> list[Any]:
    """Top and bottom coding by value."""
    out = []
    for value in values:
        if value is None:
            out.append(None)
        elif top is not None and value > top:
            out.append(top)
        elif bottom is not None and value < bottom:
            out.append(bottom)
        else:
            out.append(value)
    return out


def ancestors(rows: Sequence[Sequence[str]], values: Sequence[Any], level: int) -> list[Any]:
    """Global recoding by a hierarchy given as rows: a leaf, then its ancestors."""
    table = {row[0]: row[level] for row in rows}
    return [None if value is None else table[str(value)] for value in values]


def by_group(
    labels: Sequence[int], values: Sequence[Any], make: Callable[[list[Any]], Any]
) -> list[Any]:
    """What `make` gives for each record's group; None where only some of it miss the value."""
    out = []
    for label in labels:
        group = [v for l, v in zip(labels, values, strict=True) if l == label]
        missing = [v for v in group if v is None]
        if missing:
            out.append(None)
        else:
            out.append(make(group))
    return out


def mean(group: list[float]) -> float:
    return math.fsum(group) / len(group)


def median(group: list[float]) -> float:
    return statistics.median(group)


def lower_median(group: list[Any]) -> Any:
    return sorted(group)[(len(group) - 1) // 2]


def mode(group: list[Any]) -> Any:
    counts = Counter(group)
    most = max(counts.values())
    return min(value for value, count in counts.items() if count == most)


def interval(group: list[Any]) -> str:
    low, high = min(group), max(group)
    return str(low) if low == high else f"[{low}, {high}]"


def value_set(group: list[str], domain: Sequence[str]) -> str:
    found = sorted(set(group))
    if len(found) == 1:
        return found[0]
    return "*" if len(found) == len(domain) else "{" + ", ".join(found) + "}"


def covariance(x: np.ndarray) -> np.ndarray:
    """Sum of products over n - 1, one pair of columns at a time."""
    n, p = x.shape
    out = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            a, b = x[:, i] - x[:, i].mean(), x[:, j] - x[:, j].mean()
            out[i, j] = math.fsum(a * b) / (n - 1)
    return out


def rank_distances(before: Sequence[float], after: Sequence[float]) -> list[int]:
    """For distinct values: how far in rank each record's new value is from its old one."""
    rank = {value: i for i, value in enumerate(sorted(before))}
    return [abs(rank[a] - rank[b]) for a, b in zip(before, after, strict=True)]


def smallest_class(rows: Sequence[Sequence[Any]]) -> int:
    return min(Counter(tuple(row) for row in rows).values())
