"""Give a suppressed cell back with each value in turn, and recount the whole table."""

from __future__ import annotations

from collections import Counter

GONE, MISSING = "gone", "missing"


def k_of(table: list[list[object]], reading: str) -> int:
    """k of a table whose cells are values, GONE or MISSING."""
    if reading == "category":
        return min(Counter(map(tuple, table)).values())
    wild = (GONE, MISSING)
    return min(
        sum(
            all(a == b or a in wild or b in wild for a, b in zip(one, other, strict=True))
            for other in table
        )
        for one in table
    )


def remaining(
    table: list[list[object]], row: int, column: int, domain: list[object], k: int, reading: str
) -> list[object]:
    """The values that cannot be ruled out: with them the table would no longer have k."""
    left = []
    for value in domain:
        trial = [list(record) for record in table]
        trial[row][column] = value
        if k_of(trial, reading) < k:
            left.append(value)
    return left
