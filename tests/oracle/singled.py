"""Who is singled out by a set of columns: every person beside every record, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

Agrees = Callable[[str, Any, Any], bool]


def singled(
    people: Sequence[dict[str, Any]],
    records: Sequence[dict[str, Any]],
    own: Sequence[int],
    columns: Sequence[str],
    agrees: Agrees,
) -> float:
    """The share of people with whom exactly one record agrees, which is their own."""
    found = 0
    for person, mine in zip(people, own, strict=True):
        fit = [
            r
            for r, record in enumerate(records)
            if all(agrees(c, person[c], record[c]) for c in columns)
        ]
        found += fit == [mine]
    return found / len(people)


def worst(
    people: Sequence[dict[str, Any]],
    records: Sequence[dict[str, Any]],
    own: Sequence[int],
    columns: Sequence[str],
    agrees: Agrees,
) -> float:
    """The largest share over all sets of at most three columns."""
    return max(
        singled(people, records, own, chosen, agrees)
        for size in (1, 2, 3)
        for chosen in combinations(columns, size)
    )
