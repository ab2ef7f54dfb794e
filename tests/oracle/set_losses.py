"""Measures of sets, as their definitions read: on plain Python sets, None where one is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

Sets = Sequence[frozenset[str] | None]


def worth(items: frozenset[str] | None, utilities: Mapping[str, float]) -> float:
    return sum(utilities.get(item, 1.0) for item in items or ())


def kept(before: Sets, after: Sets, utilities: Mapping[str, float]) -> list[float]:
    """What each record keeps of its utility."""
    return [
        worth((a or frozenset()) & (b or frozenset()), utilities)
        for a, b in zip(before, after, strict=True)
    ]


def items_of(before: Sets) -> list[str]:
    return sorted(frozenset().union(*(one for one in before if one is not None)))


def open_items(before: Sets, after: Sets, keys: Sequence[object]) -> list[frozenset[str]]:
    """The items of each record's class that are not published though a record of it has them."""
    found = []
    for i, mine in enumerate(before):
        if mine is None:
            found.append(frozenset())
            continue
        alike = [j for j in range(len(before)) if keys[j] == keys[i]]
        union = frozenset().union(*(before[j] or frozenset() for j in alike))
        found.append(union - (after[i] or frozenset()))
    return found


def frequencies(before: Sets) -> dict[str, float]:
    there = [one for one in before if one is not None]
    counts = Counter(item for one in there for item in one)
    return {item: count / len(there) for item, count in counts.items()}


def bits(items: frozenset[str], record: frozenset[str], f: Mapping[str, float]) -> float:
    """What a record loses if nobody knows whether it has these items."""
    return sum(-math.log2(f[i] if i in record else 1 - f[i]) for i in items)


def jaccard(a: frozenset[str] | None, b: frozenset[str] | None, u: Mapping[str, float]) -> float:
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    one, whole = worth(a ^ b, u), worth(a | b, u)
    return one / whole if one else 0.0


def diameters(
    records: Sequence[object], keys: Sequence[object], apart: Callable[..., float]
) -> list[float]:
    """The largest distance within each record's class."""
    return [
        max(
            apart(a, b)
            for a, x in zip(records, keys, strict=True)
            for b, y in zip(records, keys, strict=True)
            if x == y == key
        )
        for key in keys
    ]


def link(
    query: object, published: Sequence[object], own: int, apart: Callable[..., float]
) -> tuple[float, bool, int]:
    """The least distance, whether one's own is at it, and how many are."""
    distances = [apart(query, one) for one in published]
    least = min(distances)
    ties = [abs(d - least) < 1e-9 for d in distances]
    return least, ties[own], sum(ties)
