"""Cubes the plain way: a dictionary of lists, filled record by record."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Cell = tuple[str, ...]


class Held(NamedTuple):
    """What a cell holds."""

    value: Fraction
    frequency: int
    people: int
    total: Fraction
    largest: list[tuple[Fraction, int]]
    """Amount and contributor, largest first."""
    weights: dict[int, Fraction]
    asked: dict[int, int]


def ways_up(code: str, above: Mapping[str, str], total: str = "Total") -> list[str]:
    """A code, what is above it, and the total."""
    found = [code]
    while found[-1] in above:
        found.append(above[found[-1]])
    return [*found, total]


def naive_cube(
    codes: Sequence[Sequence[str]],
    above: Sequence[Mapping[str, str]],
    amounts: Sequence[float | None],
    who: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    asked: Sequence[int] | None = None,
) -> dict[Cell, Held]:
    """Every cell that has a record. `codes[d][r]` is a record's code in dimension d, `above[d]` the
    parent of each code of that dimension but the top ones."""
    cells: dict[Cell, list[int]] = defaultdict(list)
    for r in range(len(amounts)):
        paths = [ways_up(codes[d][r], above[d]) for d in range(len(codes))]
        for cell in itertools.product(*paths):
            cells[cell].append(r)
    return {cell: _held(rows, amounts, who, weights, asked) for cell, rows in cells.items()}


def _held(rows: Sequence[int], amounts: Any, who: Any, weights: Any, asked: Any) -> Held:
    value = Fraction(0)
    parts: dict[int, list[int]] = defaultdict(list)
    for r in rows:
        if amounts[r] is not None:
            weight = Fraction(1 if weights is None else weights[r])
            value += weight * Fraction(amounts[r])
            parts[r if who is None else who[r]].append(r)
    mean, amount, codes = {}, {}, {}
    for person, mine in parts.items():
        sizes = [abs(Fraction(amounts[r])) for r in mine]
        own = [Fraction(1 if weights is None else weights[r]) for r in mine]
        amount[person] = abs(sum(Fraction(amounts[r]) for r in mine))
        if sum(sizes):
            mean[person] = sum(s * w for s, w in zip(sizes, own, strict=True)) / sum(sizes)
        else:
            mean[person] = sum(own) / len(own)
        codes[person] = max(0 if asked is None else asked[r] for r in mine)
    largest = sorted(((a, p) for p, a in amount.items()), key=lambda one: (-one[0], one[1]))
    total = sum((a * mean[p] for a, p in largest), Fraction(0))
    return Held(value, len(rows), len(parts), total, largest, mean, codes)
