"""Two-phase written to be obviously right: one cluster at a time, sets as Python's own.

Ties as the kernels have them: among the smallest clusters the one with most items, then the first
row; among equal gains the weightiest item.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

Row = tuple[int, ...]
Groups = list[list[int]]


def rows_by_weight(records: Sequence[Sequence[int]], utilities: np.ndarray) -> list[Row]:
    """Each record's items, numbered from the one with the greatest weight in all records."""
    count = np.zeros(utilities.size)
    for record in records:
        count[list(record)] += 1
    by_weight = sorted(range(utilities.size), key=lambda a: (-utilities[a] * count[a], a))
    rank = {item: number for number, item in enumerate(by_weight)}
    return [tuple(sorted(rank[a] for a in record)) for record in records]


def worth_by_weight(records: Sequence[Sequence[int]], utilities: np.ndarray) -> np.ndarray:
    """The utilities in the order of those numbers."""
    count = np.zeros(utilities.size)
    for record in records:
        count[list(record)] += 1
    return utilities[np.lexsort((np.arange(utilities.size), -utilities * count))]


def merge(rows: Sequence[Row], worth: np.ndarray, k: int, *, least_loss: bool) -> Groups:
    """Algorithm 7: groups of record numbers."""
    start = sorted(set(rows))
    members = {c: [i for i, row in enumerate(rows) if row == s] for c, s in enumerate(start)}
    at: dict[Row, int] = {s: c for c, s in enumerate(start)}
    while True:
        small = [(len(members[c]), -len(s), c, s) for s, c in at.items() if s]
        small = [one for one in small if one[0] < k]
        if not small:
            break
        size, _, c, s = min(small)
        total = sum(worth[a] for a in s)
        best: tuple[tuple[float, ...], int] | None = None
        for j in reversed(range(len(s))):
            target = at.get(s[:j] + s[j + 1 :])
            if target is not None:
                left, there = total - worth[s[j]], len(members[target])
                value = (left, float(there)) if least_loss else ((there + size) * left,)
                if best is None or value > best[0]:
                    best = value, target
        del at[s]
        if best is None:
            at[s[:-1]] = c
        else:
            members[best[1]] += members.pop(c)
    few = at.get(())
    if few is not None and len(members[few]) < k and len(at) > 1:
        others = [(len(members[c]) * sum(worth[a] for a in s), c) for s, c in at.items() if s]
        members[min(others)[1]] += members.pop(few)
    return [sorted(members[c]) for c in sorted(members)]


def shared(rows: Sequence[Row], group: Sequence[int]) -> frozenset[int]:
    """What all records of a group hold."""
    return frozenset.intersection(*(frozenset(rows[i]) for i in group))


def utility(rows: Sequence[Row], worth: np.ndarray, groups: Groups) -> float:
    """What is left when each group publishes what its records share."""
    return float(sum(len(g) * sum(worth[a] for a in shared(rows, g)) for g in groups))


def split(rows: Sequence[Row], worth: np.ndarray, k: int, groups: Groups) -> Groups:
    """Algorithm 8, closed whenever a group is looked at; members in lexicographic order of rows."""
    place = {i: p for p, i in enumerate(sorted(range(len(rows)), key=lambda i: (rows[i], i)))}
    labels: list[frozenset[int]] = []
    members: Groups = []
    at: dict[frozenset[int], int] = {}
    for group in groups:
        label = shared(rows, group)
        if label not in at:
            at[label] = len(labels)
            labels.append(label)
            members.append([])
        members[at[label]] += sorted(group, key=place.__getitem__)
    queue = deque(c for c in range(len(labels)) if len(members[c]) > k)
    while queue:
        c = queue.popleft()
        while members[c] and (len(members[c]) > k or shared(rows, members[c]) != labels[c]):
            size, label = len(members[c]), shared(rows, members[c])
            if label != labels[c]:
                del at[labels[c]]
                if label in at:
                    members[at[label]] += members[c]
                    members[c] = []
                    if at[label] not in queue:
                        queue.append(at[label])
                    break
                at[label], labels[c] = c, label
            best, most = -1, 0.0
            for a in sorted({a for i in members[c] for a in rows[i]} - label):
                count = sum(a in rows[i] for i in members[c])
                if (label | {a} in at and size > k) or (size >= 2 * k and count >= k):
                    gain = worth[a] * min(count, size - k)
                    if gain > most:
                        best, most = a, gain
            if best < 0:
                break
            leaving = [i for i in members[c] if best in rows[i]][: size - k]
            members[c] = [i for i in members[c] if i not in leaving]
            target = label | {best}
            if target not in at:
                at[target] = len(labels)
                labels.append(target)
                members.append([])
            members[at[target]] += leaving
            if at[target] not in queue:
                queue.append(at[target])
    return [g for g in members if g]
