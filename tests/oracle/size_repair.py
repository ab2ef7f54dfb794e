"""Size repair told as its module tells it: lists of rows, and every cost from scratch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tests.oracle.mdav import mdav

Groups = list[list[int]]
Named = dict[int, list[int]]


def sse(x: np.ndarray, rows: list[int]) -> float:
    """Sum of squared distances to the mean."""
    return float(np.sum((x[rows] - x[rows].mean(axis=0)) ** 2)) if rows else 0.0


def total(x: np.ndarray, groups: Iterable[list[int]]) -> float:
    return sum(sse(x, rows) for rows in groups)


def as_groups(labels: np.ndarray | list[int]) -> Groups:
    """Rows of each label, in the order of first appearance."""
    found: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        found.setdefault(int(label), []).append(row)
    return list(found.values())


def as_labels(groups: Groups) -> list[int]:
    """Numbered by first appearance."""
    label = {row: min(rows) for rows in groups for row in rows}
    first = sorted(set(label.values()))
    return [first.index(label[row]) for row in range(len(label))]


def cut_in_two(x: np.ndarray, rows: list[int], k: int) -> Groups:
    """The best of all cuts of three orders."""
    mean = x[rows].mean(axis=0)
    r = max(rows, key=lambda i: np.sum((x[i] - mean) ** 2))
    s = max(rows, key=lambda i: np.sum((x[i] - x[r]) ** 2))
    from_r = {i: np.sum((x[i] - x[r]) ** 2) for i in rows}
    from_s = {i: np.sum((x[i] - x[s]) ** 2) for i in rows}
    ways = [
        sorted(rows, key=lambda i: from_r[i] - from_s[i]),
        sorted(rows, key=lambda i: from_r[i]),
        sorted(rows, key=lambda i: from_s[i]),
    ]
    cuts = [[way[:at], way[at:]] for way in ways for at in range(k, len(rows) - k + 1)]
    return min(cuts, key=lambda parts: total(x, parts))


def split(x: np.ndarray, rows: list[int], k: int) -> Groups:
    if len(rows) < 2 * k:
        return [rows]
    if len(rows) < 3 * k:
        return cut_in_two(x, rows, k)
    found = mdav(x[rows], np.empty((len(rows), 0), np.int32), np.empty(0), k)
    parts = [[rows[i] for i in part] for part in as_groups(found)]
    return [piece for part in parts for piece in split(x, part, k)]


def borrow(x: np.ndarray, groups: Named, own: int, k: int) -> Named | None:
    """The group filled up to k, one record at a time."""
    after = {name: list(rows) for name, rows in groups.items()}
    while len(after[own]) < k:
        offers = []
        for name, rows in after.items():
            if name != own and len(rows) > k:
                for row in rows:
                    left = [i for i in rows if i != row]
                    cost = sse(x, [*after[own], row]) + sse(x, left)
                    offers.append((cost - sse(x, after[own]) - sse(x, rows), name, row))
        if not offers:
            return None
        _, giver, row = min(offers)
        after[giver].remove(row)
        after[own].append(row)
    return after


def dissolve(x: np.ndarray, groups: Named, own: int, k: int) -> Named | None:
    """Each record in turn to the group it costs least."""
    after = {name: list(rows) for name, rows in groups.items() if name != own}
    for row in groups[own]:
        fits = [rows for rows in after.values() if len(rows) < 2 * k - 1]
        if not fits:
            return None
        best = min(fits, key=lambda rows: sse(x, [*rows, row]) - sse(x, rows))
        best.append(row)
    return after


def join(x: np.ndarray, groups: Named, own: int, k: int) -> Named:
    """The whole group to another, which keeps its name; both are cut again if they are 2k."""
    ways = []
    for name in groups:
        if name != own:
            pool = groups[name] + groups[own]
            after = {other: rows for other, rows in groups.items() if other != own}
            after[name] = pool
            if len(pool) >= 2 * k:
                after[name], after[own] = cut_in_two(x, pool, k)
            ways.append(after)
    return min(ways, key=lambda way: total(x, way.values()))


def repair(x: np.ndarray, labels: list[int], k: int, neighbours: int) -> list[int]:
    """For at most `neighbours` + 1 groups at any time, so that all groups are neighbours."""
    lone = max(labels, default=0) + 1
    given = [label if label >= 0 else lone + row for row, label in enumerate(labels)]
    parts = [part for rows in as_groups(given) for part in split(x, rows, k)]
    assert len(parts) <= neighbours + 1
    groups: Named = dict(enumerate(parts))

    def join_cost(own: int) -> float:
        """Ward's cost of joining the group with the nearest centroid.

        Two groups that are nearest to each other tie, so this is a formula that is symmetric to
        the last digit; the lower name then comes first.
        """
        means = {name: x[rows].mean(axis=0) for name, rows in groups.items()}
        apart = {name: float(np.sum((means[name] - means[own]) ** 2)) for name in groups}
        near = min((name for name in groups if name != own), key=lambda name: apart[name])
        a, b = len(groups[own]), len(groups[near])
        return a * b / (a + b) * apart[near]

    while small := [name for name, rows in groups.items() if len(rows) < k]:
        for own in sorted(small, key=join_cost):
            if len(groups.get(own, [])) in range(1, k):
                found = [borrow(x, groups, own, k), dissolve(x, groups, own, k)]
                ways = [way for way in found if way is not None] + [join(x, groups, own, k)]
                groups = min(ways, key=lambda way: total(x, way.values()))
    return as_labels(list(groups.values()))
