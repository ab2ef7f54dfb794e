"""Naive k-Ward, fuzzy c-means, matching, crossover of partitions, and cutting of a mesh."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from tests.oracle.size_repair import Groups, as_labels, sse


def k_ward(x: np.ndarray, k: int) -> list[int]:
    """All pairs of groups are compared before each join."""
    finished: Groups = []

    def far(i: int, j: int) -> float:
        return float(np.sum((x[i] - x[j]) ** 2))

    def cost(a: list[int], b: list[int]) -> float:
        return sse(x, a + b) - sse(x, a) - sse(x, b)

    def treat(rows: list[int]) -> None:
        if len(rows) < 2 * k:
            finished.append(rows)
            return
        r, s = max(combinations(rows, 2), key=lambda pair: far(*pair))
        rest = [i for i in rows if i not in (r, s)]
        first = [r, *sorted(rest, key=lambda i: far(i, r))[: k - 1]]
        rest = [i for i in rest if i not in first]
        second = [s, *sorted(rest, key=lambda i: far(i, s))[: k - 1]]
        groups = [first, second] + [[i] for i in rest if i not in second]
        while any(len(group) < k for group in groups):
            allowed = [(a, b) for a, b in combinations(groups, 2) if min(len(a), len(b)) < k]
            a, b = min(allowed, key=lambda pair: cost(*pair))
            groups = [group for group in groups if group is not a and group is not b] + [a + b]
        for group in groups:
            treat(sorted(group))

    treat(list(range(len(x))))
    return as_labels(finished)


def max_distance(x: np.ndarray, k: int) -> list[int]:
    """The two most distant of all that are left, looked for among all pairs."""

    def far(i: int, j: int) -> float:
        total = 0.0
        for a, b in zip(x[i].tolist(), x[j].tolist(), strict=True):
            total += (a - b) * (a - b)
        return total

    rest, groups = list(range(len(x))), []
    while len(rest) >= 2 * k:
        r, s = max(combinations(rest, 2), key=lambda pair: far(*pair))
        for seed, other in ((r, s), (s, -1)):
            free = [i for i in rest if i not in (seed, other)]
            groups.append([seed, *sorted(free, key=lambda i: far(i, seed))[: k - 1]])
            rest = [i for i in rest if i not in groups[-1]]
    if len(rest) >= k or not groups:
        groups.append(rest)
    elif rest:
        centre = x[rest].mean(axis=0)
        last = min(groups[-2:], key=lambda group: np.sum((x[group].mean(axis=0) - centre) ** 2))
        last += rest
    return as_labels(groups)


def memberships(x: np.ndarray, centres: np.ndarray, m: float) -> np.ndarray:
    """The textbook's formula over all clusters, for records that are on no centre."""
    apart = np.linalg.norm(x[:, None] - centres[None], axis=2)
    return 1 / np.sum((apart[:, :, None] / apart[:, None, :]) ** (2 / (m - 1)), axis=2)


def fuzzy_round(x: np.ndarray, centres: np.ndarray, m: float) -> np.ndarray:
    """The centres after one round."""
    weight = memberships(x, centres, m) ** m
    return weight.T @ x / weight.sum(axis=0)[:, None]


def least_matching(x: np.ndarray) -> float:
    """Least total squared distance of pairs, one record alone if their number is odd."""
    apart = np.sum((x[:, None] - x[None]) ** 2, axis=2)

    @cache
    def least(rows: frozenset[int]) -> float:
        if not rows:
            return 0.0
        first, *others = sorted(rows)
        found = [apart[first, other] + least(rows - {first, other}) for other in others]
        if len(rows) % 2:
            found.append(least(rows - {first}))
        return float(min(found))

    return least(frozenset(range(len(x))))


def cross(x: np.ndarray, one: Groups, other: Groups) -> Groups:
    """Sets of records that are unions of groups in both, and the better groups of each."""
    sets = [set(rows) for rows in one]
    for rows in other:
        touching = [part for part in sets if part & set(rows)]
        sets = [part for part in sets if not part & set(rows)] + [set().union(*touching)]
    child: Groups = []
    for part in sets:
        mine = [rows for rows in one if set(rows) <= part]
        theirs = [rows for rows in other if set(rows) <= part]
        child += min(mine, theirs, key=lambda groups: sum(sse(x, rows) for rows in groups))
    return child


def cut_mesh(n: int, edges: np.ndarray, lengths: np.ndarray, k: int) -> list[int]:
    """Remove edges, the longest first, unless a part of fewer than k records comes off."""

    def parts(kept: list[tuple[int, int]]) -> Groups:
        name = list(range(n))
        for a, b in kept:
            old, new = name[a], name[b]
            name = [new if label == old else label for label in name]
        return [[i for i in range(n) if name[i] == label] for label in sorted(set(name))]

    kept = [tuple(edge) for edge in edges.tolist()]
    for e in np.argsort(-lengths, kind="stable"):
        without = [edge for edge in kept if edge != tuple(edges[e].tolist())]
        if min(map(len, parts(without))) >= k:
            kept = without
    return as_labels(parts(kept))
