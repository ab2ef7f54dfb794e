"""Class sizes and match counts, record by record: slow and plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Table = Sequence[Sequence[int]]
Marks = Sequence[Sequence[bool]]


def class_sizes(codes: Table) -> list[int]:
    """How many records are equal to each record."""
    records = [tuple(record) for record in codes]
    counts = Counter(records)
    return [counts[record] for record in records]


def class_labels(codes: Table) -> list[int]:
    """The class of each record, numbered by first appearance."""
    seen: dict[tuple[int, ...], int] = {}
    return [seen.setdefault(tuple(record), len(seen)) for record in codes]


def matches(
    a: Sequence[int], wild_a: Sequence[bool], b: Sequence[int], wild_b: Sequence[bool]
) -> bool:
    """Whether two records agree wherever both have a value."""
    cells = zip(a, wild_a, b, wild_b, strict=True)
    return all(x == y or no_x or no_y for x, no_x, y, no_y in cells)


def match_counts(codes: Table, wildcard: Marks) -> list[int]:
    """How many records match each record, itself included."""
    people = list(zip(codes, wildcard, strict=True))
    return [sum(matches(a, wild_a, b, wild_b) for b, wild_b in people) for a, wild_a in people]
