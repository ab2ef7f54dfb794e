"""Total variation of two-way marginals, cell by cell and from the definition.

A cell of a release is a value, None for missing, or a frozenset of the values that it may stand
for (None among them where it may be missing). Columns of numbers hold whole ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Column = Sequence[Any]


def bin_of(before: Column, quantiles: int) -> dict[str, Any]:
    """How a column of whole numbers is cut: by its values, or at its quantiles."""
    values = sorted(value for value in before if value is not None)
    if len(set(values)) <= quantiles:
        return {"few": sorted(set(values))}
    ends = set()
    for q in range(1, quantiles):
        # The smallest value that at least q / quantiles of the values do not exceed.
        need = Fraction(q * len(values), quantiles)
        ends.add(next(v for i, v in enumerate(values, 1) if i >= need))
    return {"ends": sorted(ends)}


def place(value: Any, how: dict[str, Any]) -> Hashable:
    """The bin of a value."""
    if value is None:
        return "missing"
    if "ends" in how:
        return sum(end < value for end in how["ends"])
    if "few" in how:
        return _nearest(value, how["few"])
    return value if value in how["known"] else "outside"


def _nearest(value: int, few: list[int]) -> Hashable:
    """The nearest of few values, the lower of two; outside where it is beyond half a step."""
    if value in few:
        return few.index(value)
    if len(few) == 1:
        return "outside"
    low, high = few[0] - Fraction(few[1] - few[0], 2), few[-1] + Fraction(few[-1] - few[-2], 2)
    if not low < value <= high:
        return "outside"
    return few.index(min(few, key=lambda one: (abs(one - value), one)))


def spread(cell: Any, exact: Counter[Any], how: dict[str, Any]) -> dict[Hashable, Fraction]:
    """Where the mass of one cell lies."""
    if not isinstance(cell, frozenset):
        return {place(cell, how): Fraction(1)}
    even = _even(cell, how)
    total = sum(exact[value] for value in cell)
    found: dict[Hashable, Fraction] = {}
    for value in cell:
        where = place(value, how)
        found[where] = found.get(where, Fraction(0)) + (exact[value] + even[value]) / (total + 1)
    return found


def _even(cell: frozenset[Any], how: dict[str, Any]) -> dict[Any, Fraction]:
    """One more record, spread evenly; of numbers, missing counts as one of the bins."""
    if None not in cell or "known" in how:
        return dict.fromkeys(cell, Fraction(1, len(cell)))
    bins = len(how["few"]) if "few" in how else len(how["ends"]) + 1
    found = dict.fromkeys(cell, Fraction(bins, (bins + 1) * max(len(cell) - 1, 1)))
    found[None] = Fraction(1, bins + 1) if len(cell) > 1 else Fraction(1)
    return found


def marginals(
    before: dict[str, Column], after: dict[str, Column], quantiles: int = 20
) -> dict[tuple[str, ...], float]:
    """The total variation of each pair of columns; of the one there is, if there is one."""
    how: dict[str, dict[str, Any]] = {}
    for name, column in before.items():
        number = all(isinstance(value, int | None) for value in column)
        how[name] = bin_of(column, quantiles) if number else {"known": set(column)}
    exact = {
        name: Counter(cell for cell in column if not isinstance(cell, frozenset))
        for name, column in after.items()
    }
    groups = list(combinations(before, 2)) or [(name,) for name in before]
    found = {}
    for names in groups:
        apart: dict[Hashable, Fraction] = {}
        rows = list(zip(*(before[name] for name in names), strict=True))
        for row in rows:
            where = tuple(place(v, how[n]) for v, n in zip(row, names, strict=True))
            apart[where] = apart.get(where, Fraction(0)) + Fraction(1, len(rows))
        rows = list(zip(*(after[name] for name in names), strict=True))
        for row in rows:
            masses = [spread(v, exact[n], how[n]) for v, n in zip(row, names, strict=True)]
            for where, mass in _product(masses).items():
                apart[where] = apart.get(where, Fraction(0)) - mass / len(rows)
        found[names] = float(sum(map(abs, apart.values())) / 2)
    return found


def _product(masses: list[dict[Hashable, Fraction]]) -> dict[tuple[Hashable, ...], Fraction]:
    found: dict[tuple[Hashable, ...], Fraction] = {(): Fraction(1)}
    for mass in masses:
        found = {(*key, k): m * v for key, m in found.items() for k, v in mass.items()}
    return found
