"""Column swapping as plainly as can be."""

from __future__ import annotations

from collections import Counter

import numpy as np


def correlations(x: np.ndarray) -> np.ndarray:
    """Of every two columns, as numpy has them; zero on the diagonal."""
    return np.corrcoef(x, rowvar=False).reshape(x.shape[1], x.shape[1]) - np.eye(x.shape[1])


def excess(x: np.ndarray, column: int, bound: float) -> float:
    """The squares of what the correlations of one column exceed the bound by."""
    return float((np.maximum(np.abs(correlations(x)[column]) - bound, 0.0) ** 2).sum())


def best_swap(x: np.ndarray, column: int, bound: float) -> float:
    """The least excess that is reached by a swap of any two rows in that column."""
    found = np.inf
    for a in range(len(x)):
        for b in range(a):
            y = x.copy()
            y[a, column], y[b, column] = x[b, column], x[a, column]
            found = min(found, excess(y, column, bound))
    return found


def sources(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """For each cell of `after`, the row of `before` that its value came from (no ties)."""
    found = np.empty(before.shape, dtype=np.int64)
    for j in range(before.shape[1]):
        at = {value: i for i, value in enumerate(before[:, j].tolist())}
        found[:, j] = [at[value] for value in after[:, j].tolist()]
    return found


def reproduced(
    unique_of: list[tuple[object, ...]], release: list[tuple[object, ...]]
) -> np.ndarray:
    """For each record that occurs once in the first list, whether the release has it."""
    has, times = set(release), Counter(unique_of)
    return np.array([one in has for one in times if times[one] == 1])


def smoothed(
    values: list[float], width: int, uniform: list[float], *, group: int = 4, around: int = 10
) -> list[float]:
    """Draws for sorted scores: group by group, and in each window by window."""
    n, reach, starts = len(values), max(width, around), [0]
    for k in range(group, n - group + 1):
        steps = {i: values[i] - values[i - 1] for i in range(k - reach, k + reach + 1) if 0 < i < n}
        if k - starts[-1] >= group and steps.pop(k) > sum(steps.values()):
            starts.append(k)
    made: list[float] = []
    for a, b in zip(starts, [*starts[1:], n], strict=True):
        made += _one_group(values[a:b], width, uniform[a:b])
    return made


def _one_group(s: list[float], width: int, uniform: list[float]) -> list[float]:
    n, w = len(s), min(width, len(s) // 4)
    if w == 0 or s[0] == s[-1]:
        return s
    made = []
    for i, u in enumerate(uniform):
        middle = min(max(i, w), n - 1 - w)
        equal = sum(s[k] == s[k + 1] for k in range(middle - w, middle + w))
        if i < w:
            low, high = i, i + 1
        elif i >= n - w:
            low, high = i - 1, i
        else:
            low, high = max(i - w, w), min(i + w, n - 1 - w)
        if equal >= w:
            made.append(float(np.interp(low + u * (high - low), np.arange(n), s)))
        elif i < w or i >= n - w:
            inner, ends = (s[w], s[:w]) if i < w else (s[n - 1 - w], s[n - w :])
            rank = min(i, n - 1 - i)
            share = u * (1 - np.exp(-2)) if rank == 0 else u
            mean = np.mean(np.array(ends) - inner)
            made.append(float(inner - mean * np.log((rank + 1 - share) / w)))
        else:
            made.append(s[low] + u * (s[high] - s[low]))
    return made


def nearness(release: np.ndarray, people: np.ndarray) -> np.ndarray:
    """How near each person's scores come to released ones, in spacings (logarithms, summed over the
    release's own components)."""
    centre, scale = release.mean(axis=0), release.std(axis=0)
    axes = np.linalg.svd((release - centre) / scale, full_matrices=False)[2].T
    n, found = len(release), np.zeros(len(people))
    for axis in axes.T:
        there = np.sort((release - centre) / scale @ axis)
        own = (people - centre) / scale @ axis
        at = np.searchsorted(there, own).clip(1, n - 1)
        gap = np.minimum(np.abs(own - there[at - 1]), np.abs(there[at] - own))
        low, high = (at - 10).clip(0), (at + 10).clip(max=n - 1)
        found -= np.log(gap * (high - low) / (there[high] - there[low]) + 1e-9).clip(-6)
    return found
