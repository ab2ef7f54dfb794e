"""How the cells of a table are written: suppressed cells as a mark, sets as text, formulas
disarmed.

Sets in text files: the items with one blank between them; or, where an item is empty, missing,
holds white space, begins with "[" or is the mark itself, the whole column as JSON lists. `read(...,
sets=...)` knows both.
"""

from __future__ import annotations

import json

import polars as pl

from ...errors import OutputError
from ..schema import SUPPRESSED
from ..table import Table

FORMULA = r"^'*[=+\-@\t\r\n]"
"""A text that a spreadsheet would run, or that looks disarmed and must stay tellable from it."""
_DISARMED = r"^'+[=+\-@\t\r\n]"


def printable(
    table: Table, *, suppressed: str = SUPPRESSED, escape_formulas: bool = False
) -> pl.DataFrame:
    """The table for a text file: suppressed cells as the mark, sets as text."""
    columns = []
    for name in table.names:
        series = table[name]
        is_list = isinstance(series.dtype, pl.List | pl.Array)
        hidden = hidden_cells(table, name)
        if is_list:
            series = sets_as_text(series, suppressed)
        elif isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        if series.dtype == pl.String:
            nul = series.str.contains("\0", literal=True)
            refuse_first(nul, series, "a NUL character", "write Parquet or Arrow, or remove it")
            if escape_formulas:
                series = disarmed(series)
        elif isinstance(series.dtype, pl.Datetime):
            series = moments_as_text(series)
        if hidden.any():
            series = marked_cells(series.cast(pl.String), hidden, suppressed)
        columns.append(series.alias(disarmed(pl.Series([name]))[0] if escape_formulas else name))
    return pl.DataFrame(columns)


def storable(table: Table, *, suppressed: str = SUPPRESSED) -> pl.DataFrame:
    """The table for a typed file: the mark in columns of text, null in all others.

    Categories are text, too: a file of categories would list those that no record has.
    """
    columns = []
    for name in table.names:
        series = table[name]
        hidden = hidden_cells(table, name)
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        if hidden.any() and series.dtype == pl.String:
            series = marked_cells(series, hidden, suppressed)
        elif isinstance(series.dtype, pl.Array):
            series = series.arr.to_list()
        columns.append(series)
    return pl.DataFrame(columns)


def hidden_cells(table: Table, name: str) -> pl.Series:
    """The suppressed cells that hold nothing, or the label for "anything"."""
    series = table[name]
    nothing = series.is_null()
    if table.schema[name].generalized:
        nothing |= (series.cast(pl.String) == SUPPRESSED).fill_null(False)
    return pl.Series(table.suppressed(name)) & nothing


def marked_cells(text: pl.Series, hidden: pl.Series, mark: str) -> pl.Series:
    """The mark in the hidden cells; refused where a value that is not hidden reads the same."""
    refuse_clash(text, hidden, mark)
    return pl.select(
        pl.when(pl.lit(hidden)).then(pl.lit(mark)).otherwise(pl.lit(text)).alias(text.name)
    ).to_series()


def refuse_clash(text: pl.Series, hidden: pl.Series, mark: str) -> None:
    """Refuse a value that reads like the mark of suppression."""
    _refuse_like(mark, (text == mark) & ~hidden, text.name)


def refuse_clashes(table: Table, mark: str, *, as_text: bool) -> None:
    """The same for every column of a file that is read back, suppressed cells or not: whoever reads
    it would take the value for a suppressed one."""
    for name in table.names:
        clash = clashing(table, name, mark, as_text=as_text)
        if clash is not None:
            _refuse_like(mark, clash, name)


def _refuse_like(mark: str, clash: pl.Series, name: str) -> None:
    if clash.any():
        raise like_the_mark(name, int(clash.fill_null(False).arg_max() or 0), mark)


def clashing(table: Table, name: str, mark: str, *, as_text: bool) -> pl.Series | None:
    """The values that read like the mark in a file of text, or in one that keeps types; None where
    there can be none."""
    series = table[name]
    dtype = series.dtype
    if dtype != pl.String and not isinstance(dtype, pl.Categorical | pl.Enum):
        if not as_text or mark == SUPPRESSED:
            return None
        if isinstance(dtype, pl.List | pl.Array):
            series = sets_as_text(series, mark)
        elif isinstance(dtype, pl.Datetime):
            series = moments_as_text(series)
        elif dtype.is_numeric():
            try:
                return series.cast(pl.Float64) == float(mark)
            except ValueError:
                return None
    return (series.cast(pl.String) == mark) & ~hidden_cells(table, name)


def like_the_mark(name: str, row: int, mark: str) -> OutputError:
    """The error about a value that reads like the mark of suppression."""
    return OutputError(
        f"column {name!r}, record {row + 1:,} holds {mark!r}, the mark of suppression",
        remedy='another mark: [output] suppressed = "..."',
    )


def refuse_first(bad: pl.Series, cells: pl.Series, what: str, remedy: str) -> None:
    """Refuse the first of the bad cells, which stands for {} in what it holds."""
    if bad.any():
        row = int(bad.fill_null(False).arg_max() or 0)
        said = what.format(cells[row])
        raise OutputError(f"column {cells.name!r}, record {row + 1:,} holds {said}", remedy=remedy)


def disarmed(text: pl.Series) -> pl.Series:
    """An apostrophe before every text that a spreadsheet would run as a formula.

    >>> disarmed(pl.Series(["=1+1", "-5 to 0", "a"])).to_list()
    ["'=1+1", "'-5 to 0", 'a']
    """
    return pl.select(
        pl.when(pl.lit(text).str.contains(FORMULA))
        .then(pl.lit("'") + pl.lit(text))
        .otherwise(pl.lit(text))
        .alias(text.name)
    ).to_series()


def rearmed(text: pl.Series) -> pl.Series:
    """What `disarmed` was given."""
    return pl.select(
        pl.when(pl.lit(text).str.contains(_DISARMED))
        .then(pl.lit(text).str.slice(1))
        .otherwise(pl.lit(text))
        .alias(text.name)
    ).to_series()


def sets_as_text(series: pl.Series, mark: str = SUPPRESSED, *, bare: bool = True) -> pl.Series:
    """One cell per set; see the module's docstring for the two forms. Where no cell may be `bare`,
    an empty set asks for the second.

    >>> sets_as_text(pl.Series([["I10", "E11"], [], None])).to_list()
    ['I10 E11', '', None]
    >>> sets_as_text(pl.Series([["whole milk"], []])).to_list()
    ['["whole milk"]', '[]']
    """
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    lists = series.cast(pl.List(pl.String))
    items = lists.filter(lists.list.len() > 0).explode()
    awkward = items.is_null() | items.str.contains(r"\s|^\[|^$") | (items == mark)
    empty = not bare and bool((lists.list.len() == 0).any())
    if not empty and not awkward.fill_null(True).any():
        return lists.list.join(" ")
    cells = [
        None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in lists.to_list()
    ]
    return pl.Series(series.name, cells, dtype=pl.String)


def moments_as_text(series: pl.Series) -> pl.Series:
    """Moments as ISO 8601 text, with their zone as an offset where they have one."""
    zone = getattr(series.dtype, "time_zone", None)
    return series.dt.to_string("%Y-%m-%dT%H:%M:%S%.f%:z" if zone else "%Y-%m-%dT%H:%M:%S%.f")
