"""Cells that could be anything, and the records that may then be confused with one another.

Read as wildcards, missing and suppressed cells match every value. That is not transitive: a record
has no class then, but a number of records that it matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from ..data.table import Table
from .classes import Classes, comparable, first_equal, wild


class Gaps(NamedTuple):
    """The open cells of a table's classes."""

    table: Table
    classes: Classes
    cells: int
    """how many there are, over all records"""
    patterns: np.ndarray
    """bool (patterns, columns): the sets of columns that some class leaves open"""
    pattern: np.ndarray
    """which of them each class leaves open"""

    @classmethod
    def of(cls, table: Table, classes: Classes) -> Gaps:
        """Of the classes of a table."""
        opened = [wild(table[name], table.schema[name]) for name in classes.columns]
        cells = sum(int(mask.sum()) for mask in opened)
        if not cells:
            closed = np.zeros((1, len(opened)), dtype=bool)
            return cls(table, classes, 0, closed, np.zeros(len(classes), dtype=np.int64))
        # One row for each class is enough: its records are alike.
        gaps = np.column_stack([mask[classes.first] for mask in opened])
        return cls(table, classes, cells, *_patterns(gaps))

    def sums(self, *figures: np.ndarray) -> list[np.ndarray]:
        """Of each figure of the classes, its sum over all classes that one may be confused with,
        itself included.

        >>> from sfumato.criteria.classes import equivalence_classes
        >>> from sfumato.data.table import table
        >>> t = table({"a": [1, 1, 2, None]}, quasi=["a"])
        >>> found = equivalence_classes(t)
        >>> Gaps.of(t, found).sums(found.sizes)[0].tolist()
        [3, 2, 4]
        """
        rows = pl.Series(self.classes.first)
        alike = [self.table[name].gather(rows) for name in self.classes.columns]
        codes = [_numbered(first_equal(comparable(series).to_frame())) for series in alike]
        return _matching(np.column_stack(codes), figures, self.patterns, self.pattern)


def _patterns(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows, and which of them each row is."""
    if gaps.shape[1] > 62:
        distinct, which = np.unique(gaps, axis=0, return_inverse=True)
        return distinct, which.reshape(-1)
    # As one number each, rows are compared many times faster.
    packed = gaps.astype(np.int64) @ (np.int64(1) << np.arange(gaps.shape[1]))
    _, first, which = np.unique(packed, return_index=True, return_inverse=True)
    return gaps[first], which.reshape(-1)


def _matching(
    codes: np.ndarray,
    figures: tuple[np.ndarray, ...],
    patterns: np.ndarray,
    pattern: np.ndarray,
) -> list[np.ndarray]:
    """The sums over the classes that agree with each on all columns that both of them know."""
    many = codes.max(axis=0) + 1
    members = [np.flatnonzero(pattern == p) for p in range(len(patterns))]
    found = [np.zeros_like(figure) for figure in figures]
    for a, mine in enumerate(members):
        for b, theirs in enumerate(members[: a + 1]):
            known = ~(patterns[a] | patterns[b])
            both = mine if a == b else np.concatenate((mine, theirs))
            key = _as_one(codes[both][:, known], many[known])
            to_mine, to_theirs = key[: mine.size], key[-theirs.size :]
            top = int(key.max()) + 1
            for total, figure in zip(found, figures, strict=True):
                total[mine] += _sums(to_theirs, figure[theirs], top)[to_mine]
                if a != b:
                    total[theirs] += _sums(to_mine, figure[mine], top)[to_theirs]
    return found


def _as_one(codes: np.ndarray, many: np.ndarray) -> np.ndarray:
    """A number 0.. for each row, the same where rows are equal; `many` are the codes of a column.

    >>> _as_one(np.array([[1, 0], [0, 1], [1, 0]]), np.array([2, 2])).tolist()
    [1, 0, 1]
    """
    key, top = np.zeros(len(codes), dtype=np.int64), 1
    for column, width in zip(codes.T, many.tolist(), strict=True):
        if top * width >= 2**62:
            key, top = _numbered(key), len(codes)
        key, top = key * width + column, top * width
    return _numbered(key)


def _numbered(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _sums(key: np.ndarray, of: np.ndarray, top: int) -> np.ndarray:
    """The sum for each key 0..top-1; whole numbers are exact up to 2 ** 53."""
    return np.bincount(key, weights=of, minlength=top).astype(of.dtype)
