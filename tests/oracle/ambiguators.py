"""Ambiguators written to be obviously right: every record is tried, every set joined afresh.

A `Records` is what they are given: how many records there are, what the least upper bound of some
of them costs, and which of them are alike in all cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.kernels.joins.lub import Joins, cell_cost, join


def joined(joins: Joins, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The least upper bound of two records, cell by cell."""
    return np.array([join(joins, j, a[j], b[j]) for j in range(a.size)])


@dataclass
class Records:
    """Records known by their rows."""

    size: int
    cost: Callable[[Sequence[int]], float]
    key: Callable[[int], object]

    @classmethod
    def of(cls, joins: Joins, states: np.ndarray) -> Records:
        """From states; the costs must be exact, whatever the order they are added in."""

        def cost(rows: Sequence[int]) -> float:
            bound = states[rows[0]].copy()
            for row in rows[1:]:
                bound = joined(joins, bound, states[row])
            return float(sum(cell_cost(joins, j, state) for j, state in enumerate(bound)))

        return cls(len(states), cost, lambda row: tuple(states[row].tolist()))


def greedy_set(records: Records, seed: int, k: int, left: Sequence[int]) -> tuple[list[int], int]:
    """Figure 11 for one record, among those that are left; and its ties."""
    members, ties = [seed], 0
    while len(members) < k:
        costs = {t: records.cost([*members, t]) for t in left if t not in members}
        least = min(costs.values())
        best = min(t for t in costs if costs[t] == least)
        ties += any(
            costs[t] == least and records.key(t) != records.key(best) for t in costs if t != best
        )
        members.append(best)
    return members, ties


def beam_set(
    records: Records, seed: int, k: int, width: int, left: Sequence[int]
) -> tuple[list[int], int]:
    """The first of the `width` best sets; a tie is a set left out that costs what the last kept
    does."""
    sets, ties = [[seed]], 0
    for _ in range(k - 1):
        found: list[tuple[float, int, int]] = []
        seen: set[frozenset[int]] = set()
        for p, members in enumerate(sets):
            tried: set[object] = set()
            for t in sorted(left):
                if t in members or records.key(t) in tried:
                    continue
                tried.add(records.key(t))
                if frozenset([*members, t]) not in seen:
                    seen.add(frozenset([*members, t]))
                    found.append((records.cost([*members, t]), p, t))
        found.sort()
        ties += len(found) > width and found[width][0] == found[width - 1][0]
        sets = [[*sets[p], t] for _, p, t in found[:width]]
    return sets[0], ties


def classes(records: Records, k: int, order: Sequence[int], width: int = 1) -> list[int]:
    """Sets closed one after the other; the records that remain join the cheapest class."""
    groups: list[list[int]] = []
    left = list(range(records.size))
    for seed in order:
        if seed in left and len(left) >= k:
            members, _ = beam_set(records, seed, k, width, left)
            groups.append(members)
            left = [row for row in left if row not in members]
    for row in left:
        rises = [(len(g) + 1) * records.cost([*g, row]) - len(g) * records.cost(g) for g in groups]
        groups[rises.index(min(rises))].append(row)
    labels = [0] * records.size
    for label, group in enumerate(groups):
        for row in group:
            labels[row] = label
    return labels


def distance(records: Records, a: int, b: int) -> float:
    """2 m(LUB) - m(A) - m(B)."""
    return 2 * records.cost([a, b]) - records.cost([a]) - records.cost([b])


def divided(records: Records, rows: Sequence[int], k: int, *, share: bool) -> list[list[int]]:
    """Groups by farthest pairs, every pair looked at."""
    rows = sorted(rows)
    if len(rows) < 2 * k:
        return [rows]
    pairs = [(a, b) for a in rows for b in rows if a < b]
    a, b = max(pairs, key=lambda pair: (distance(records, *pair), -pair[0], -pair[1]))
    if distance(records, a, b) <= 0 and not share:
        return [rows]
    lean = {r: distance(records, a, r) - distance(records, b, r) for r in rows}
    lean[a], lean[b] = -np.inf, np.inf
    near = sum(lean[r] <= 0 for r in rows)
    if share:
        near = min(max(near, k), len(rows) - k)
    elif min(near, len(rows) - near) < k:
        return [rows]
    by_lean = sorted(rows, key=lambda r: (lean[r], r))
    return divided(records, by_lean[:near], k, share=share) + divided(
        records, by_lean[near:], k, share=share
    )
