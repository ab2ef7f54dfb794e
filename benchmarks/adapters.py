"""Other tools' cells, rewritten as the labels that Sfumato reads, so that one measure fits all.

Whatever a cell leaves open is written as a value, a set `{a, b}`, an interval `[20, 29]` or `*`,
over the values that occur in the original. So a hierarchy's "Government", anonypy's
"State-gov,Local-gov" and Sfumato's "{Local-gov, State-gov}" lose the same.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from sfumato.poset.values.text import SUPPRESSED, set_label

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")

Read = Callable[[str], str]


class UnreadableCellError(ValueError):
    """A peer's cell that cannot be read in only one way."""


def from_anonypy(frame: pl.DataFrame, original: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """One row per record: anonypy gives one per class and confidential value, with a count.

    Every cell comes in a list of one text: "['17-21']" for numbers, "['a,b']" for categories.
    """
    columns = []
    for name in quasi:
        domain = _domain(original, name)
        read = _number_range if original[name].dtype.is_numeric() else _joined(domain)
        columns.append(_rewrite(frame[name], _unwrapping(read)))
    counts = frame["count"].cast(pl.UInt32)
    rows = pl.Series(range(frame.height), dtype=pl.UInt32)
    index = pl.DataFrame({"row": rows, "count": counts}).select(
        pl.col("row").repeat_by("count").explode()
    )["row"]
    return pl.DataFrame(columns)[index.drop_nulls()]


def from_hierarchy(
    frame: pl.DataFrame,
    original: pl.DataFrame,
    quasi: Sequence[str],
    trees: Mapping[str, Sequence[Sequence[str]]],
) -> pl.DataFrame:
    """Labels of hierarchies as the sets or intervals of the original's values under them."""
    columns = []
    for name in quasi:
        leaves = _leaves(trees[name], _domain(original, name))
        numeric = original[name].dtype.is_numeric()
        columns.append(_rewrite(frame[name], _looked_up(name, leaves, numeric)))
    return pl.DataFrame(columns)


def read_tree(path: Path) -> list[list[str]]:
    """A hierarchy in ARX's layout: value;ancestor;...;* in each row."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file, delimiter=";") if row]


def _domain(original: pl.DataFrame, name: str) -> set[str]:
    return set(original[name].drop_nulls().cast(pl.String).unique().to_list())


def _rewrite(cells: pl.Series, read: Read) -> pl.Series:
    """The column with each distinct cell read once."""
    distinct = cells.drop_nulls().unique().to_list()
    table = {cell: read(cell) for cell in distinct}
    return cells.replace_strict(table, default=None, return_dtype=pl.String).alias(cells.name)


def _unwrapping(read: Read) -> Read:
    """Reads the text inside a list of one."""

    def unwrap(cell: str) -> str:
        found = ast.literal_eval(cell)
        if not (isinstance(found, list) and len(found) == 1 and isinstance(found[0], str)):
            raise UnreadableCellError(f"{cell!r} is not a list of one text")
        return read(found[0])

    return unwrap


def _number_range(cell: str) -> str:
    """ "17-21" as "[17, 21]"; a single number stays."""
    found = _RANGE.fullmatch(cell)
    return f"[{found[1]}, {found[2]}]" if found else cell


def _joined(domain: set[str]) -> Read:
    def read(cell: str) -> str:
        parts = cell.split(",")
        # "a,b" may be one value or two, and nothing in the file says which.
        if len(parts) > 1 and cell in domain:
            raise UnreadableCellError(f"{cell!r} is a value, and also a list of values")
        strays = [part for part in parts if part not in domain]
        if strays and cell not in domain:
            raise UnreadableCellError(f"{cell!r} holds {strays[0]!r}, which the original does not")
        return set_label(sorted(set(parts)))

    return read


def _leaves(rows: Sequence[Sequence[str]], domain: set[str]) -> dict[str, set[str]]:
    """For each label of a hierarchy, the values of the original under it."""
    under: dict[str, set[str]] = {}
    for row in rows:
        if row[0] in domain:
            for label in row:
                under.setdefault(label, set()).add(row[0])
    return under


def _looked_up(name: str, leaves: Mapping[str, set[str]], numeric: bool) -> Read:
    def read(cell: str) -> str:
        if cell == SUPPRESSED:
            return cell
        if cell not in leaves:
            raise UnreadableCellError(f"column {name}: {cell!r} is not in its hierarchy")
        values = sorted(leaves[cell], key=float) if numeric else sorted(leaves[cell])
        if not numeric:
            return set_label(values)
        return values[0] if len(values) == 1 else f"[{values[0]}, {values[-1]}]"

    return read
