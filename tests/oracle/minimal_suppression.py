"""Give a suppressed cell back with each value in turn, and recount the whole table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.oracle import individual_risk

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


def risk_of(table: list[list[object]], weights: Sequence[float], reading: str) -> float:
    """The highest individual risk of such a table."""
    wildcard = reading == "wildcard"
    rows = [[None if wildcard and v in (GONE, MISSING) else v for v in record] for record in table]
    return max(individual_risk.risks(rows, weights, wildcard=wildcard))


def remaining(
    table: list[list[object]],
    row: int,
    column: int,
    domain: list[object],
    enough: Callable[[list[list[object]]], bool],
) -> list[object]:
    """The values that cannot be ruled out: with them the table would no longer be enough."""
    left = []
    for value in domain:
        trial = [list(record) for record in table]
        trial[row][column] = value
        if not enough(trial):
            left.append(value)
    return left
