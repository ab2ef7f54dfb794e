"""What is known of the values of whole columns, for whoever sees a part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..data.codec import codes_among, encode, encoded
from ..data.domain import Domain
from ..data.table import Table
from .relation import Relation

_DENSE = 1 << 16
"""Keys that are looked up in a table of all of them, however few are asked for."""


def domain_of(data: Relation, name: str, weight: str = "") -> Domain:
    """What is known of a column; by the sums of a column of weights, if it is named."""
    found = data.count_by([name, weight] if weight else [name])
    present = found.table[name].is_not_null()
    here = present.to_numpy()
    values, counts = found.table[name].filter(present), found.count[here]
    missing = int(found.count[~here].sum())
    if not weight:
        return Domain(values, counts, missing)
    each = found.table[weight].filter(present).cast(pl.Float64).to_numpy()
    codes = encode(values)
    # In the order of values and weights, so that the last bit is always the same.
    sums = np.bincount(codes.codes, counts * each, len(codes.domain) + 1)[1:]
    return Domain(codes.domain, sums, missing)


def place_among(known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """int64: where each of these numbers, from 0, is among the known ones, which are sorted.

    >>> place_among(np.array([2, 5]), np.array([5, 2, 5])).tolist()
    [1, 0, 1]
    """
    size = int(known[-1]) + 1 if known.size else 0
    if size > max(_DENSE, 4 * asked.size):
        return np.searchsorted(known, asked)
    lookup = np.zeros(size, dtype=np.int64)
    lookup[known] = np.arange(known.size)
    return np.asarray(lookup[asked])


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of values of some columns that occur, numbered from 0 in sorted order."""

    names: list[str]
    domains: list[pl.Series]
    keys: list[np.ndarray]
    """For each column the combinations so far, sorted: that of the columns before, and a code."""
    levels: np.ndarray
    """int64 (combinations, columns): the code of each in each column: 0 for missing, then the
    values, then suppressed."""
    marked: bool
    """Whether suppressed cells are told from missing ones."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str], *, marked: bool = False) -> Combinations:
        """Those of a table."""
        place = np.zeros(table.height, dtype=np.int64)
        levels = np.zeros((min(1, table.height), 0), dtype=np.int64)
        domains, keys = [], []
        for name in names:
            # Numbered anew after each column, so that no product of domains can overflow.
            domain = encoded(table, name).domain
            width = len(domain) + 2
            asked = place * width + _codes(table, name, domain, marked)
            known, inverse = np.unique(asked, return_inverse=True)
            place = inverse.reshape(-1)
            levels = np.column_stack((levels[known // width], known % width))
            domains.append(domain)
            keys.append(known)
        return cls(list(names), domains, keys, levels, marked)

    def places(self, table: Table) -> np.ndarray:
        """int64: the combination of each record, all of which are known."""
        place = np.zeros(table.height, dtype=np.int64)
        for name, domain, known in zip(self.names, self.domains, self.keys, strict=True):
            codes = _codes(table, name, domain, self.marked)
            place = place_among(known, place * (len(domain) + 2) + codes)
        return place


def _codes(table: Table, name: str, domain: pl.Series, marked: bool) -> np.ndarray:
    codes = codes_among(table, name, domain).astype(np.int64)
    if marked and name in table.marks:
        codes[table.marks[name]] = len(domain) + 1
    return codes
