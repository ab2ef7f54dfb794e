"""What released records that fit a person say, the slow, obvious way: every person, every record.

A cell is a value, None (missing), "*" (anything), a pair of ends, or a set of values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

Person = Sequence[Any]
Record = Sequence[Any]


def covers(cell: Any, value: Any) -> bool:
    if cell == "*":
        return True
    if isinstance(cell, tuple):
        return value is not None and bool(cell[0] <= value <= cell[1])
    if isinstance(cell, frozenset):
        return value in cell
    return bool(cell == value)


def fitting(person: Person, records: Sequence[Record]) -> list[int]:
    """The records that fit."""
    return [
        r
        for r, record in enumerate(records)
        if all(covers(cell, value) for cell, value in zip(record, person, strict=True))
    ]


def replicated_unique(i: int, people: Sequence[Person], records: Sequence[Record]) -> bool:
    """Whether nobody else has this person's keys, and one record fits."""
    alone = sum(tuple(one) == tuple(people[i]) for one in people) == 1
    return alone and len(fitting(people[i], records)) == 1


def said(person: Person, records: Sequence[Record], targets: Sequence[Any]) -> set[Any]:
    """The values that the fitting records show."""
    return shown([targets[r] for r in fitting(person, records)])


def shown(cells: Sequence[Any]) -> set[Any]:
    """The values that these cells show, or may stand for."""
    found: set[Any] = set()
    for cell in cells:
        if cell is not None and cell != "*":
            found |= set(cell) if isinstance(cell, frozenset) else {cell}
    return found


def learnt(
    person: Person, own: Any, records: Sequence[Record], targets: Sequence[Any], facts: int = 0
) -> bool:
    """Whether the person's value alone is left when so many of the others are ruled out."""
    values = said(person, records, targets)
    return own is not None and own in values and len(values) - 1 <= facts


def believed(own: Any, values: set[Any], facts: int) -> bool | None:
    """Whether the one value that is left is the person's; None where not one is left."""
    others = len(values - {own})
    left = (own is not None and own in values) + max(others - facts, 0)
    return None if left != 1 else own in values


def disclosive(i: int, people: Sequence[Person], targets: Sequence[Any]) -> bool:
    """Whether all people with these keys whose value is known have the same, and this one has."""
    values = {
        target
        for person, target in zip(people, targets, strict=True)
        if tuple(person) == tuple(people[i]) and target is not None
    }
    return values == {targets[i]}


def dealt(values: Sequence[Any], lower: int, least: int) -> tuple[Counter[Any], Counter[Any]]:
    """How often each half of a class holds each value, over all deals in which a half holds fewer
    than so many distinct ones."""
    halves: tuple[Counter[Any], Counter[Any]] = Counter(), Counter()
    for deal in permutations(values):
        parts = deal[:lower], deal[lower:]
        if min(len(set(part)) for part in parts) < least:
            for half, part in zip(halves, parts, strict=True):
                half.update(part)
    return halves


def credit(counts: Counter[Any], own: Any) -> Fraction:
    """1/t where the person's value is one of t most frequent ones."""
    best = [value for value, count in counts.items() if count == max(counts.values())]
    return Fraction(int(own in best), max(len(best), 1))
