"""A table as people read one: codes down and across, hidden cells marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.exact import each, exactly
from ...errors import ParameterError
from ...tabular.cells.cube import Dimension

HIDDEN = "×"
"""What stands for a cell that is not published."""
SENSITIVE = "⊗"
"""What stands for a sensitive one, in the owner's report."""


@dataclass(frozen=True)
class View:
    """One page of a table: row heads, column heads, a text for each pair, and what is fixed."""

    rows: list[str]
    columns: list[str]
    texts: list[list[str]]
    row_name: str
    column_name: str
    at: dict[str, str]
    """Other dimensions with the code this page is about."""
    left_out: int = 0
    """Rows that were cut out, before the last."""
    columns_left_out: int = 0


def amount(value: float) -> str:
    """A cell's number in full, without the noise of binary fractions.

    >>> [amount(x) for x in (8620.0, 16847646.840000001, -0.5, float("nan"))]
    ['8,620', '16,847,646.84', '-0.5', '×']
    """
    if np.isnan(value):
        return HIDDEN
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def texts(published: np.ndarray, shown: tuple[np.ndarray, np.ndarray] | None = None) -> list[str]:
    """What is printed for each cell."""
    found = [amount(value) for value in published.tolist()]
    if shown is not None:
        low, high = shown
        for i in np.flatnonzero(~np.isnan(low) | ~np.isnan(high)).tolist():
            found[i] = f"{_end(low[i])} – {_end(high[i])}"
    return found


def _end(value: float) -> str:
    return "?" if np.isnan(value) or np.isinf(value) else amount(value)


@dataclass(frozen=True)
class Axis:
    """One dimension as it is printed."""

    total: str
    """The code that stands for all of it."""
    codes: tuple[str, ...]
    heads: tuple[tuple[int, str], ...]
    """Codes with their depth, children after their parent, the total last as in printed tables."""


@dataclass(frozen=True)
class Layout:
    """Which codes a page has down and across, and at which ones it stays."""

    down: str
    across: str
    rows: tuple[tuple[int, str], ...]
    columns: tuple[tuple[int, str], ...]
    at: dict[str, str]
    left_out: int = 0
    columns_left_out: int = 0

    def cells(self, labels: pl.DataFrame, inside: str) -> list[list[Any]]:
        """What the column `inside` says of each cell of the page; None where there is no cell.
        `labels` are the codes of all cells, in the order of the dimensions, and that column."""
        chosen = pl.lit(True)
        for name, code in self.at.items():
            chosen &= exactly(name) == code
        codes = [self.down, self.across] if self.across else [self.down]
        place = {
            (row[0], row[1] if self.across else ""): row[-1]
            for row in labels.filter(chosen).select(*each(codes), exactly(inside)).iter_rows()
        }
        return [[place.get((code, top)) for _, top in self.columns] for _, code in self.rows]


def axes(labels: pl.DataFrame, dimensions: tuple[Dimension, ...] = ()) -> dict[str, Axis]:
    """The dimensions of a table whose cells have these labels."""
    known = {d.name: d for d in dimensions}
    found = {}
    for name in labels.columns:
        one = known.get(name)
        codes = tuple(one.codes if one else labels[name].unique(maintain_order=True).to_list())
        heads = _ordered(one) if one else [(0, code) for code in codes]
        found[name] = Axis(codes[0] if codes else "", codes, tuple(heads))
    return found


def layout(
    dimensions: Mapping[str, Axis],
    at: Mapping[str, str] | None = None,
    *,
    most_rows: int = 200,
    most_columns: int = 40,
    first_row: int = 0,
    first_column: int = 0,
) -> Layout:
    """A page of a table of these dimensions.

    The dimension with the fewest codes (of those not fixed by `at`) goes across, the one with most
    goes down; the others stay at their totals.
    """
    for name in at or {}:
        if name not in dimensions:
            raise ParameterError(
                f"the table has no dimension {name!r}", remedy=f"one of {', '.join(dimensions)}"
            )
    names = [*dimensions]
    fixed = {name: str(code) for name, code in (at or {}).items()}
    for name, code in fixed.items():
        codes = dimensions[name].codes
        if code not in codes:
            raise ParameterError(
                f"{name} has no code {code!r}", remedy=f"one of {', '.join(codes[:12])}"
            )
    free = sorted((n for n in names if n not in fixed), key=lambda n: -len(dimensions[n].codes))
    down = free[0] if free else names[0]
    across = free[-1] if len(free) > 1 else ""
    for name in names:
        if name not in (down, across):
            fixed.setdefault(name, dimensions[name].total)
    heads = dimensions[down].heads
    if down in fixed:
        heads = ((0, fixed.pop(down)),)
    tops = dimensions[across].heads if across else ((0, ""),)
    rows, columns = _cut(heads, most_rows, first_row), _cut(tops, most_columns, first_column)
    return Layout(
        down,
        across,
        rows,
        columns,
        fixed,
        len(heads) - len(rows),
        len(tops) - len(columns),
    )


def view(
    labels: pl.DataFrame,
    texts: list[str],
    dimensions: tuple[Dimension, ...] = (),
    at: Mapping[str, str] | None = None,
    *,
    most_rows: int = 200,
    most_columns: int = 40,
) -> View:
    """A page of a table whose cells have these labels and texts, laid out by `layout`."""
    page = layout(axes(labels, dimensions), at, most_rows=most_rows, most_columns=most_columns)
    found = page.cells(labels.with_columns(pl.Series("__text", texts)), "__text")
    return View(
        ["  " * depth + code for depth, code in page.rows],
        [code for _, code in page.columns],
        [[text or "" for text in line] for line in found],
        page.down,
        page.across,
        page.at,
        page.left_out,
        page.columns_left_out,
    )


def _cut(
    heads: tuple[tuple[int, str], ...], most: int, first: int = 0
) -> tuple[tuple[int, str], ...]:
    """So many of them from the first on, and the last, which is the total."""
    if len(heads) <= most:
        return heads
    first = min(max(first, 0), len(heads) - most)
    return (*heads[first : first + most - 1], heads[-1])


def _ordered(dimension: Dimension) -> list[tuple[int, str]]:
    """Codes with their depth, children after their parent, the total last as in printed tables."""
    found: list[tuple[int, str]] = []
    waiting = [int(child) for child in dimension.children[0][::-1]]
    while waiting:
        code = waiting.pop()
        found.append((int(dimension.depth[code]) - 1, dimension.codes[code]))
        waiting += [int(child) for child in dimension.children[code][::-1]]
    return [*found, (0, dimension.codes[0])]
