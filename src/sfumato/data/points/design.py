"""Columns of a table as predictors: numbers standardized, categories as dummies, in blocks of rows.

A predictor is described once, from the original, and then made of any values of that column: the
original's to fit a model, or drawn ones to predict from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..codec import encode, floats
from ..schema import ORDERED, Column, Kind
from ..table import Table

MOST_LEVELS = 30
"""Categories of a predictor that have a dummy of their own; the rarer ones share one."""
_BLOCK = 1 << 15


def is_number(column: Column) -> bool:
    """Whether a predictor enters by its numbers rather than by dummies."""
    return column.kind in ORDERED and not column.generalized


def values_of(table: Table, name: str) -> np.ndarray:
    """A column as a predictor takes it: numbers with NaN for missing, or codes with 0."""
    column = table.schema[name]
    if is_number(column):
        return floats(table[name], column)
    return encode(table[name]).codes.astype(np.int64)


@dataclass(frozen=True)
class Predictor:
    """One column in a design: a standardized number and a mark for missing, or dummies."""

    name: str
    width: int
    centre: float = 0.0
    scale: float = 1.0
    unit: float = 1.0
    marks_missing: bool = False
    dummy: np.ndarray | None = None
    """The dummy of each code; -1 for the commonest category, which has none."""
    pooled: int = 0
    """Categories that share the last dummy."""

    def fill(self, out: np.ndarray, values: np.ndarray) -> None:
        """Write the predictor's columns for these values."""
        if self.dummy is not None:
            out[:] = 0.0
            at = self.dummy[values]
            rows = np.flatnonzero(at >= 0)
            out[rows, at[rows]] = 1.0
            return
        missing = np.isnan(values)
        out[:, 0] = np.where(missing, 0.0, (values / self.unit - self.centre) / self.scale)
        if self.marks_missing:
            out[:, 1] = missing


def predictor(table: Table, name: str, values: np.ndarray) -> Predictor:
    """How a column enters a design."""
    if is_number(table.schema[name]):
        present = values[~np.isnan(values)]
        # In units of the largest value, so that squares neither overflow nor vanish.
        unit = float(np.abs(present).max(initial=0.0)) or 1.0
        inside = present / unit
        centre = float(inside.mean()) if present.size else 0.0
        scale = float(inside.std()) if present.size else 0.0
        marks = present.size < values.size
        return Predictor(name, 1 + marks, centre, scale or 1.0, unit, marks)
    counts = np.bincount(values, minlength=len(encode(table[name]).domain) + 1)
    by_size = np.argsort(-counts, kind="stable")
    used = by_size[counts[by_size] > 0]
    own = used[1 : 1 + MOST_LEVELS]
    pooled = used[1 + MOST_LEVELS :]
    dummy = np.full(counts.size, -1, dtype=np.int64)
    dummy[own] = np.arange(own.size)
    dummy[pooled] = own.size
    return Predictor(name, own.size + bool(pooled.size), dummy=dummy, pooled=int(pooled.size))


class Design:
    """A constant and some predictors."""

    def __init__(self, predictors: Sequence[Predictor]) -> None:
        self.predictors = tuple(predictors)
        self.width = 1 + sum(p.width for p in predictors)

    def blocks(
        self, values: Mapping[str, np.ndarray], rows: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """The design of these rows, a part at a time, and which part of `rows` it is."""
        for start in range(0, rows.size, _BLOCK):
            part = slice(start, min(start + _BLOCK, rows.size))
            x = np.empty((part.stop - part.start, self.width))
            x[:, 0] = 1.0
            at = 1
            for one in self.predictors:
                one.fill(x[:, at : at + one.width], values[one.name][rows[part]])
                at += one.width
            yield part, x

    def times(
        self, values: Mapping[str, np.ndarray], rows: np.ndarray, coefficients: np.ndarray
    ) -> np.ndarray:
        """The linear predictor of these rows."""
        out = np.empty(rows.size)
        for part, x in self.blocks(values, rows):
            out[part] = x @ coefficients
        return out


PREDICTS = tuple(kind for kind in Kind if kind not in (Kind.SET, Kind.TEXT))
"""The kinds that can be predictors."""
