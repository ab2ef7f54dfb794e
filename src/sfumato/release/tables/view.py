"""A table as people read one: codes down and across, hidden cells marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def view(
    labels: pl.DataFrame,
    texts: list[str],
    dimensions: tuple[Dimension, ...] = (),
    at: Mapping[str, str] | None = None,
    *,
    most_rows: int = 200,
    most_columns: int = 40,
) -> View:
    """A page of a table whose cells have these labels and texts.

    The dimension with the fewest codes (of those not fixed by `at`) goes across, the one with most
    goes down; the others stay at their totals.
    """
    names = labels.columns
    for name in at or {}:
        if name not in names:
            raise ParameterError(
                f"the table has no dimension {name!r}", remedy=f"one of {', '.join(names)}"
            )
    known = {d.name: d for d in dimensions}
    codes = {
        name: list(known[name].codes)
        if name in known
        else labels[name].unique(maintain_order=True).to_list()
        for name in names
    }
    fixed = {name: str(code) for name, code in (at or {}).items()}
    for name, code in fixed.items():
        if code not in codes[name]:
            raise ParameterError(
                f"{name} has no code {code!r}", remedy=f"one of {', '.join(codes[name][:12])}"
            )
    free = sorted((n for n in names if n not in fixed), key=lambda n: -len(codes[n]))
    down = free[0] if free else names[0]
    across = free[-1] if len(free) > 1 else ""
    for name in names:
        if name not in (down, across):
            fixed.setdefault(name, codes[name][0])
    if fixed.get(down):
        codes[down] = [fixed.pop(down)]
    chosen = pl.lit(True)
    for name, code in fixed.items():
        chosen &= exactly(name) == code
    part = labels.with_columns(pl.Series("__text", texts)).filter(chosen)
    heads = _ordered(known.get(down), codes[down])
    wide = _ordered(known.get(across), codes[across]) if across else [(0, "")]
    tops = _cut(wide, most_columns)
    place = {
        (row[0], row[1] if across else ""): row[-1]
        for row in part.select(*each([down, across] if across else [down]), "__text").iter_rows()
    }
    kept = _cut(heads, most_rows)
    return View(
        ["  " * depth + code for depth, code in kept],
        [code for _, code in tops],
        [[place.get((code, top), "") for _, top in tops] for _, code in kept],
        down,
        across,
        fixed,
        len(heads) - len(kept),
        len(wide) - len(tops),
    )


def _cut(heads: list[tuple[int, str]], most: int) -> list[tuple[int, str]]:
    """The first of them and the last, which is the total."""
    return heads if len(heads) <= most else [*heads[: most - 1], heads[-1]]


def _ordered(dimension: Dimension | None, codes: list[str]) -> list[tuple[int, str]]:
    """Codes with their depth, children after their parent, the total last as in printed tables."""
    if dimension is None or len(codes) < len(dimension.codes):
        return [(0, code) for code in codes]
    found: list[tuple[int, str]] = []
    waiting = [int(child) for child in dimension.children[0][::-1]]
    while waiting:
        code = waiting.pop()
        found.append((int(dimension.depth[code]) - 1, dimension.codes[code]))
        waiting += [int(child) for child in dimension.children[code][::-1]]
    return [*found, (0, dimension.codes[0])]
