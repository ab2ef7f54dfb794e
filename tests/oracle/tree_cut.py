"""Cutting a spanning tree as the papers tell it: every edge is looked at again after each cut."""

from __future__ import annotations

import math

import numpy as np

GRID = 2.0**30  # rises of divergence are told apart down to 2**-30 record bits


def side(n: int, edges: list[tuple[int, int]], start: int) -> list[int]:
    """The records reached from `start` along `edges`."""
    near: list[list[int]] = [[] for _ in range(n)]
    for u, v in edges:
        near[u].append(v)
        near[v].append(u)
    seen, stack = {start}, [start]
    while stack:
        for other in near[stack.pop()]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return sorted(seen)


def sides(n: int, edges: list[tuple[int, int]], at: int) -> tuple[list[int], list[int]]:
    """The two groups that come of cutting edge number `at`."""
    rest = [edge for i, edge in enumerate(edges) if i != at]
    return side(n, rest, edges[at][0]), side(n, rest, edges[at][1])


def labels(n: int, edges: list[tuple[int, int]]) -> list[int]:
    """Group of each record, numbered by first appearance."""
    part = list(range(n))

    def top(row: int) -> int:
        while part[row] != row:
            row = part[row]
        return row

    for u, v in edges:
        low, high = sorted((top(u), top(v)))
        part[high] = low
    names = {row: i for i, row in enumerate(row for row in range(n) if top(row) == row)}
    return [names[top(row)] for row in range(n)]


def pairs(edges: np.ndarray) -> list[tuple[int, int]]:
    return [(int(u), int(v)) for u, v in edges]


def cut_longest(edges: np.ndarray, lengths: np.ndarray, k: int) -> list[int]:
    """Laszlo & Mukherjee (2005): the longest edge that leaves k records on both sides, again."""
    n, left = len(edges) + 1, list(range(len(edges)))
    every = pairs(edges)
    while True:
        current = [every[e] for e in left]
        removable = [
            i for i in range(len(left)) if min(len(part) for part in sides(n, current, i)) >= k
        ]
        if not removable:
            return labels(n, current)
        del left[min(removable, key=lambda i: (-lengths[left[i]], left[i]))]


def shares(classes: np.ndarray, rows: list[int], n_classes: int) -> list[float]:
    return [sum(int(classes[row]) == c for row in rows) / len(rows) for c in range(n_classes)]


def kld(f: list[float], g: list[float]) -> float:
    return sum(a * math.log2(a / b) for a, b in zip(f, g, strict=True) if a > 0)


def jsd(f: list[float], g: list[float]) -> float:
    middle = [(a + b) / 2 for a, b in zip(f, g, strict=True)]
    return (kld(f, middle) + kld(g, middle)) / 2


def rise(a: list[int], b: list[int], classes: np.ndarray, n_classes: int) -> float:
    """WJSD - JSD of parting a + b into a and b, times the number of records, on the grid."""
    whole = shares(classes, list(range(len(classes))), n_classes)
    weighted = sum(len(part) * jsd(shares(classes, part, n_classes), whole) for part in (a, b))
    together = len(a + b) * jsd(shares(classes, a + b, n_classes), whole)
    return max(0.0, float(round((weighted - together) * GRID) / GRID))


def cut_by_ratio(
    edges: np.ndarray, lengths: np.ndarray, classes: np.ndarray, n_classes: int, m: int
) -> list[int]:
    """Figure 4 of Li & Sarkar (2013), steps 2 and 3, over all edges of all groups at once."""
    n, left = len(edges) + 1, list(range(len(edges)))
    every, rejected = pairs(edges), set[int]()
    while True:
        current = [every[e] for e in left]
        best = None
        for i, e in enumerate(left):
            if e in rejected:
                continue
            a, b = sides(n, current, i)
            divergence = rise(a, b, classes, n_classes) / len(a + b)
            zero = lengths[e] == 0
            ratio = divergence if zero else divergence / lengths[e]
            key = (zero, ratio, -lengths[e], e)
            if best is None or key < best[0]:
                best = (key, i, min(len(a), len(b)) >= m)
        if best is None:
            return labels(n, current)
        if best[2]:
            del left[best[1]]
        else:
            rejected.add(left[best[1]])


def cut_by_ratio_in_each_group(
    edges: np.ndarray, lengths: np.ndarray, classes: np.ndarray, n_classes: int, m: int
) -> list[int]:
    """The same, one group after the other and only where m records stay: for larger trees."""
    n = len(edges) + 1
    whole = np.bincount(classes, minlength=n_classes) / n
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e, (u, v) in enumerate(pairs(edges)):
        near[u].append((v, e))
        near[v].append((u, e))

    def spread(counts: np.ndarray) -> np.ndarray:
        size = counts.sum(axis=1)
        share = counts / size[:, None]
        middle = (share + whole) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(share > 0, share * np.log2(share / middle), 0.0)
            terms += np.where(whole > 0, whole * np.log2(whole / middle), 0.0)
        return np.asarray(size * terms.sum(axis=1) / 2)

    gone, starts = set[int](), [0]
    while starts:
        order, above = starts[-1:], {starts[-1]: (-1, -1)}
        for u in order:
            for v, e in near[u]:
                if e not in gone and v not in above:
                    above[v] = (u, e)
                    order.append(v)
        place = {u: i for i, u in enumerate(order)}
        counts = np.eye(n_classes, dtype=int)[classes[order]]
        for u in reversed(order[1:]):
            counts[place[above[u][0]]] += counts[place[u]]
        sizes = counts.sum(axis=1)
        open_ = np.flatnonzero((sizes >= m) & (sizes[0] - sizes >= m))
        if not open_.size:
            starts.pop()
            continue
        below, rest = counts[open_], counts[0] - counts[open_]
        rises = spread(below) + spread(rest) - spread(counts[:1])
        rises = np.maximum(0.0, np.rint(rises * GRID) / GRID)
        own = np.array([above[order[i]][1] for i in open_])
        zero = lengths[own] == 0
        ratio = rises / np.where(zero, 1.0, lengths[own])
        first = np.lexsort((own, -lengths[own], ratio, zero))[0]
        gone.add(int(own[first]))
        starts.append(order[open_[first]])
    return labels(n, [edge for e, edge in enumerate(pairs(edges)) if e not in gone])


def cut_t_close(
    edges: np.ndarray, lengths: np.ndarray, classes: np.ndarray, n_classes: int, m: int, t: float
) -> list[int]:
    """The longest edge that is removable now (both sides m records and t-close), again."""
    n, left = len(edges) + 1, list(range(len(edges)))
    every = pairs(edges)
    whole = shares(classes, list(range(n)), n_classes)

    def fits(part: list[int]) -> bool:
        own = shares(classes, part, n_classes)
        far = sum(abs(a - b) for a, b in zip(own, whole, strict=True)) / 2
        return len(part) >= m and far <= t + 1e-12

    while True:
        current = [every[e] for e in left]
        removable = [i for i in range(len(left)) if all(map(fits, sides(n, current, i)))]
        if not removable:
            return labels(n, current)
        del left[min(removable, key=lambda i: (-lengths[left[i]], left[i]))]
