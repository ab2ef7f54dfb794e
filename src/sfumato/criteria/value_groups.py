"""Confidential values that are groups of others: who has "an infection" may have the flu.

A class with one flu and one infection may hold two cases of flu, so that the two values are no two
answers. Where answers are counted, a group stands for the value below it that most of the class may
then have: of all readings that the groups allow, the one that tells an intruder most.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from ..data.codec import code
from ..data.schema import Kind
from ..data.table import Table, kept_with
from ..errors import SchemaError
from .coding import coded_column

Groups = Mapping[int, frozenset[int]]
"""By code, the codes of the groups above it that are values themselves."""


def value_groups(table: Table, name: str) -> Groups:
    """The groups among a column's values, by the codes that criteria count; found once."""
    column = table.schema[name]
    if column.generalized or column.poset is None or column.kind == Kind.SET:
        return {}
    found: Groups = kept_with(
        table, ("value groups", name), column.poset, lambda: _found(table, name)
    )
    return found


def _found(table: Table, name: str) -> Groups:
    try:
        own = code(table, name)
    except SchemaError:
        # Values that the poset does not know: it says nothing of who is above whom.
        return {}
    tree, above = own.structure.tree, own.structure.above
    if above is None or (tree is not None and not tree.grouped):
        return {}
    codes, first = np.unique(coded_column(table, name).codes, return_index=True)
    lines = {
        number: above(int(own.codes[row]))
        for number, row in zip(codes.tolist(), first.tolist(), strict=True)
        if number > 0
    }
    number_of = {line[0]: number for number, line in lines.items() if line}
    found = {
        number: frozenset(number_of[label] for label in line[1:] if label in number_of)
        for number, line in lines.items()
    }
    return {number: groups for number, groups in found.items() if groups}


def comparable_codes(groups: Groups, value: int) -> list[int]:
    """A value, the groups above it and the values below it: whoever has or may have it."""
    below = [number for number, above in groups.items() if value in above]
    return sorted({value, *groups.get(value, ()), *below})


def without_harmless(groups: Groups, harmless: Set[int]) -> Groups:
    """The groups that may be read as a value below: of a harmless value harmless ones only.

    Who has "an infection" is not known to have the flu, which nobody minds.
    """
    return {
        number: above & harmless if number in harmless else above
        for number, above in groups.items()
    }


def settled(
    cls: np.ndarray,
    codes: np.ndarray,
    count: np.ndarray,
    groups: Groups,
    kinds: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of class and value, sorted, with every group counted as a value below it where its
    class holds one. With `kinds`, the category of each code, they are pairs of class and category.

    >>> flu_below_infection = {1: frozenset([3])}
    >>> cls, codes, count = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3]), np.array([2, 1, 4, 4])
    >>> [part.tolist() for part in settled(cls, codes, count, flu_below_infection)]
    [[0, 0, 1], [1, 2, 3], [6, 1, 4]]
    """
    if kinds is None:
        kinds = np.arange(int(codes.max(initial=0)) + 1)
    held = set(zip(cls.tolist(), codes.tolist(), strict=True))
    mixed = {c for c, number in held for group in groups.get(number, ()) if (c, group) in held}
    inside = np.isin(cls, list(mixed))
    rows: list[tuple[int, int, int]] = []
    for c in sorted(mixed):
        here = slice(*np.searchsorted(cls, [c, c + 1]).tolist())
        counts = dict(zip(codes[here].tolist(), count[here].tolist(), strict=True))
        rows += [(c, number, many) for number, many in _most_alike(counts, groups, kinds).items()]
    parts = (cls, kinds[codes], count)
    joined = [np.append(part[~inside], [row[j] for row in rows]) for j, part in enumerate(parts)]
    pairs, place = np.unique(np.stack(joined[:2]).astype(np.int64), axis=1, return_inverse=True)
    many = np.bincount(place.reshape(-1), weights=joined[2], minlength=pairs.shape[1])
    return pairs[0], pairs[1], many.astype(np.int64)


def _most_alike(counts: dict[int, int], groups: Groups, kinds: np.ndarray) -> dict[int, int]:
    """The counts of one class: the kind that most can have takes its groups, then the next."""
    above = {group for number in counts for group in groups.get(number, ())}
    # Only a value with nothing below it is surely held, so that its kind cannot be read away.
    sure = {int(kinds[number]) for number in counts if number not in above}
    left, found = dict(counts), dict[int, int]()
    while left:
        might = {kind: set[int]() for kind in sure - found.keys()}
        for number in left:
            if (kind := int(kinds[number])) in might:
                might[kind] |= {number, *groups.get(number, ())} & left.keys()
        taken = min(might, key=lambda kind: (-sum(left[number] for number in might[kind]), kind))
        found[taken] = sum(left.pop(number) for number in might[taken])
    return found
