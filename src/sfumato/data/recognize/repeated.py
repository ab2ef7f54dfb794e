"""Fields that repeat one another: who knows the one nearly always knows the other.

Katirai (2006) leaves such fields out ("race_full" beside "ethnic_origin"). Published side by side
they count what they tell twice, and one gives back what is hidden in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...kernels.statistics.information import entropy
from ..exact import each
from ..generalized.information import estimable
from ..schema import Kind
from ..table import Table
from .view import ENOUGH, sample

_NEARLY = 0.9
"""The share of a column's entropy from which on another column tells it."""
_MOST_PAIRS, _ROWS = 5_000, 2_000
"""Of more pairs, so many records are enough."""
_NEIGHBOURS = 500
"""Pairs of records that say whether it is worth while to look at a pair of columns."""


@dataclass(frozen=True)
class Repeated:
    """A column that another one tells."""

    column: str
    by: str
    share: float
    """The uncertainty coefficient: how much of the column's entropy the other one takes away."""
    mutual: bool
    """Whether the column tells the other one as well."""

    def __str__(self) -> str:
        both = "repeat one another" if self.mutual else f"repeat: {self.by} tells {self.column}"
        return f"{self.by} and {self.column} {both}"


def repeated_fields(table: Table, columns: Sequence[str]) -> list[Repeated]:
    """Each of these columns that another of them tells, with the one that tells it best.

    Of two that tell one another, the first stays. Judged on a sample of at most 10,000 records;
    values of fewer than six are taken together, and numbers of many values are cut into ranges, so
    that nothing is told by being nobody else's.

    >>> from sfumato.data.table import table
    >>> t = table({"race": ["a", "b", "c"] * 20, "origin": [1, 2, 3] * 20, "sex": ["f", "m"] * 30})
    >>> [str(one) for one in repeated_fields(t, t.names)]
    ['race and origin repeat one another']
    """
    codes = _codes(table, columns)
    alone = {name: entropy(np.bincount(code)) for name, code in codes.items()}
    codes = {name: code for name, code in codes.items() if alone[name] > 0}
    found: dict[str, Repeated] = {}
    for first, second in _candidates(codes):
        one, two = alone[first], alone[second]
        shared = one + two - entropy(np.bincount(_together(codes[first], codes[second])))
        told, tells = shared / two >= _NEARLY, shared / one >= _NEARLY
        pairs = [(second, first, shared / two)] if told else []
        pairs += [(first, second, shared / one)] if tells and not told else []
        for column, by, share in pairs:
            if column not in found or share > found[column].share:
                found[column] = Repeated(column, by, min(share, 1.0), told and tells)
    return [found[name] for name in columns if name in found]


def _codes(table: Table, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """The columns in the form in which entropies can be estimated; none of few records."""
    chosen = [name for name in columns if table.schema[name].kind != Kind.SET]
    rows = sample(table).select(each(chosen))
    if len(chosen) * (len(chosen) - 1) // 2 > _MOST_PAIRS:
        rows = rows.gather_every(max(1, rows.height // _ROWS))
    if rows.height < ENOUGH:
        return {}
    some = Table(rows, table.schema.only(chosen))
    return {name: estimable(some, name).codes for name in chosen}


def _candidates(codes: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    """The pairs to look at: all, or where they are many those of which one column differs half as
    often as by chance between records that share the other's value."""
    names = list(codes)
    if len(names) * (len(names) - 1) // 2 <= _MOST_PAIRS:
        yield from combinations(names, 2)
        return
    # A record is a row, so that records are compared in one piece.
    every = np.ascontiguousarray(np.array([codes[name] for name in names], dtype=np.int32).T)
    chance = np.array([1 - ((np.bincount(c) / c.size) ** 2).sum() for c in codes.values()])
    near = np.zeros((len(names), len(names)), dtype=bool)
    for teller, code in enumerate(codes.values()):
        order = np.argsort(code, kind="stable")
        here = np.flatnonzero(np.diff(code[order]) == 0)
        here = here[:: max(1, here.size // _NEIGHBOURS)]
        apart = (every[order[here]] != every[order[here + 1]]).mean(axis=0)
        near[teller] = apart <= chance / 2
    near |= near.T
    for first, second in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        yield names[first], names[second]


def _together(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    key = first * (int(second.max()) + 1) + second
    return key if key.max() < 4 * key.size else np.unique(key, return_inverse=True)[1].reshape(-1)
