"""Swapping with lists and loops: slow and plain enough to be believed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


def pick(u: float, count: int) -> int:
    """The u-th of so many, u in [0, 1)."""
    return min(int(u * count), count - 1)


def distance_swap(distances: Sequence[float]) -> list[int]:
    n = len(distances)
    receives: dict[int, int] = {}
    for i in range(n):
        if i in receives:
            continue
        free = [j for j in range(i + 1, n) if j not in receives]
        at = round(max(min(i + distances[i], n - 1), i + 1))
        other = min(free, key=lambda j: (abs(j - at), -j)) if free else i
        receives[i], receives[other] = other, i
    return [receives[i] for i in range(n)]


def bucket_swap(
    n: int, buckets: int, choice: Sequence[float], inside: Sequence[float], ratio: float
) -> list[int]:
    count = min(buckets, max(n, 1))
    edges = [b * n // count for b in range(count + 1)]
    free = [list(range(edges[b], edges[b + 1])) for b in range(count)]
    home = {i: b for b in range(count) for i in free[b]}

    def leave(i: int) -> None:
        members = free[home[i]]
        members[members.index(i)] = members[-1]
        members.pop()

    receives: dict[int, int] = {}
    for i in range(n):
        if i in receives:
            continue
        leave(i)
        open_buckets = [b for b in range(home[i], count) if free[b]]
        if not open_buckets:
            receives[i] = i
            continue
        weights = [ratio ** (b - open_buckets[0]) for b in open_buckets]
        aim, chosen = choice[i] * sum(weights), open_buckets[-1]
        for b, weight in zip(open_buckets, weights, strict=True):
            aim -= weight
            if aim < 0:
                chosen = b
                break
        other = free[chosen][pick(inside[i], len(free[chosen]))]
        leave(other)
        receives[i], receives[other] = other, i
    return [receives[i] for i in range(n)]


def mixed_groups(labels: Sequence[int], uniforms: Sequence[float]) -> list[list[list[int]]]:
    """Each group's rows as they stand and in random order; uniforms are used group after group."""
    found, at = [], 0
    for label in range(max(labels, default=-1) + 1):
        rows = [i for i, l in enumerate(labels) if l == label]
        mixed = list(rows)
        for last in range(len(rows) - 1, 0, -1):
            other = pick(uniforms[at + last], last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        at += len(rows)
        found.append([rows, mixed])
    return found


def permute_within(labels: Sequence[int], uniforms: Sequence[float]) -> list[int]:
    source = list(range(len(labels)))
    for rows, mixed in mixed_groups(labels, uniforms):
        for row, other in zip(rows, mixed, strict=True):
            source[row] = other
    return source


def pair_within(
    labels: Sequence[int], rate: float, uniforms: Sequence[float], rounding: Sequence[float]
) -> list[int]:
    source = list(range(len(labels)))
    for g, (rows, mixed) in enumerate(mixed_groups(labels, uniforms)):
        wanted = rate * len(rows) / 2
        pairs = int(wanted) + (rounding[g] < wanted - int(wanted))
        for j in range(min(pairs, len(rows) // 2)):
            a, b = mixed[2 * j], mixed[2 * j + 1]
            source[a], source[b] = b, a
    return source


def ranked_columns(subset: Sequence[int], over: Sequence[bool], target: Sequence[int]) -> list[int]:
    ranked = {
        s: [i for i, (t, o) in enumerate(zip(subset, over, strict=True)) if t == s and not o]
        for s in range(len(target))
    }
    result = list(range(len(subset)))
    for s, rows in ranked.items():
        for row, giver in zip(rows, ranked[target[s]], strict=True):
            result[row] = giver
    if len(result) > 1:
        for row in range(len(result)):
            if over[row]:
                value = result[row]
                near = value + 1 if value + 1 < len(result) else value - 1
                other = result.index(near)
                result[row], result[other] = near, value
    return result


def swap_outside(
    group: Sequence[int],
    block: Sequence[int],
    visits: Sequence[int],
    uniforms: Sequence[float],
    pairs: int,
) -> tuple[list[int], int]:
    result = list(range(len(group)))
    used: set[int] = set()
    vain = 0
    for i in visits:
        if len(used) == 2 * pairs:
            break
        if i in used:
            continue
        possible = [
            j
            for j in range(len(group))
            if j not in used and group[j] == group[i] and block[j] != block[i]
        ]
        if not possible:
            vain += 1
            continue
        other = possible[pick(uniforms[i], len(possible))]
        result[i], result[other] = other, i
        used |= {i, other}
    return result, vain


def swap_short(
    group: Sequence[int],
    block: Sequence[int],
    visits: Sequence[int],
    uniforms: Sequence[float],
    area: Sequence[int],
    short: Sequence[int],
) -> list[int]:
    result = list(range(len(group)))
    for i in visits:
        swapped = [j for j in range(len(group)) if result[j] != j]
        if i in swapped or sum(area[j] == area[i] for j in swapped) >= short[area[i]]:
            continue
        possible = [
            j
            for j in range(len(group))
            if j not in swapped and group[j] == group[i] and block[j] != block[i]
        ]
        if possible:
            other = possible[pick(uniforms[i], len(possible))]
            result[i], result[other] = other, i
    return result


def fewest_sharing(
    homes: Sequence[int], areas: Sequence[Hashable], combinations: Sequence[Hashable]
) -> dict[int, int]:
    """For each household the least number of households of its area that share a member's
    combination."""
    records = list(zip(homes, areas, combinations, strict=True))
    found: dict[int, int] = {}
    for home, area, combination in records:
        sharing = {h for h, a, c in records if (a, c) == (area, combination)}
        found[home] = min(found.get(home, len(sharing)), len(sharing))
    return found


def chance_of_swap(
    match: Sequence[int], area: Sequence[int], weight: Sequence[float]
) -> list[float]:
    """The chance of each household to be one of the first pair."""
    households = range(len(match))
    partners = {
        i: [j for j in households if match[j] == match[i] and area[j] != area[i]]
        for i in households
    }
    # Those without a partner are drawn in vain, and the next is drawn from the others.
    able = [i for i in households if partners[i]]
    total = sum(weight[i] for i in able)
    chance = [0.0] * len(match)
    for i in able:
        chance[i] += weight[i] / total
        for j in partners[i]:
            chance[j] += weight[i] / total / len(partners[i])
    return chance


def multisets(members: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return [tuple(sorted(household)) for household in members]


def same_classes(labels: Sequence[Hashable], others: Sequence[Hashable]) -> bool:
    """Whether two labellings put the same things together."""
    pairs = set(zip(labels, others, strict=True))
    return len(pairs) == len(set(labels)) == len(set(others))


def tabulated(rows: Sequence[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    """A contingency table."""
    return Counter(tuple(row) for row in rows)


def by_group(labels: Sequence[int], values: Sequence[Any]) -> dict[int, Counter[Any]]:
    """The values of each group."""
    found: dict[int, Counter[Any]] = defaultdict(Counter)
    for label, value in zip(labels, values, strict=True):
        found[label][value] += 1
    return found


def mean_ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) + 1) / 2 for v in values]


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Pearson's, over the pairs of which both are present."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    x, y = np.array(pairs, dtype=float).T
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    return correlation(mean_ranks(a), mean_ranks(b))


def draw_given(correlations: np.ndarray, given: np.ndarray, noise: np.ndarray) -> list[list[float]]:
    """One column at a time: its regression on what is known and drawn before, plus what is left.

    With this order of columns the noise enters by the Cholesky root, not the symmetric one: equal
    to the kernel's draws only where one column is drawn.
    """
    out = []
    for row, e in zip(given, noise, strict=True):
        d = len(e)
        known = [d + j for j, v in enumerate(row) if not np.isnan(v)]
        values = [v for v in row if not np.isnan(v)]
        drawn: list[float] = []
        for j in range(d):
            b = np.linalg.lstsq(correlations[np.ix_(known, known)], correlations[known, j])[0]
            left = max(1.0 - float(b @ correlations[known, j]), 0.0)
            drawn.append(float(b @ np.array(values)) + float(np.sqrt(left) * e[j]))
            known, values = [*known, j], [*values, drawn[-1]]
        out.append(drawn)
    return out
