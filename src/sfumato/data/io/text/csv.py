"""CSV and its relatives: from bytes to a frame of raw text, every irregular line named.

Arrow's reader does the work, because it tells an empty cell from a quoted empty one and reports
ragged records instead of padding them. What it lets pass (a quote that is never closed, text after
a closing quote) is looked for here.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ....bounds import Limits
from ....errors import Complaint, InputError, SchemaError
from .header import SECOND, find_header, is_second_line
from .sample import spread
from .sniff import Dialect, find_dialect, to_utf8

_BLOCK = 1 << 26
_LARGEST_BLOCK = 2**31 - 1
_CR, _LF = 13, 10
_HEAD = 1 << 12


class Parsed(NamedTuple):
    """What was read of a text file, and how."""

    frame: pl.DataFrame
    dialect: Dialect
    notes: list[str]
    header: bool | int
    """Whether names come first; 2 where they have two lines."""
    share: float = 1.0
    """Of the file; less than 1 where it was sampled."""
    encoding: str = ""
    """What the file is written in, where that was guessed."""


def parse(
    raw: bytes,
    label: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | int | None = None,
    dialect: Dialect | None = None,
    sample: bool = False,
    limits: Limits | None = None,
) -> Parsed:
    """The cells as text (an empty unquoted cell is null), the dialect, and what was decided.

    With a `dialect`, nothing is guessed and every line is a record. A `sample` is of lines spread
    over a large file.
    """
    text, notes, guessed = to_utf8(raw, label, encoding)
    if not text[:_HEAD].strip() and not text.strip():
        raise InputError(f"{label} is empty", remedy="give a file with a header and records")
    more: list[str] = []
    if dialect is None:
        delimiter, text, notes = _excel_hint(text, delimiter, notes)
        dialect, more = find_dialect(text, delimiter)
    whole = len(text)
    text = spread(text, dialect) if sample else text
    share = len(text) / whole
    width = _first_width(text, label, dialect, limits)
    _check_quotes(text, label, dialect)
    frame, blank = _cells(text, label, dialect, width)
    check_cells(frame, label, limits)
    if frame.width > 1:
        notes += more
    if blank:
        how = "skipped" if frame.width > 1 else "read as missing"
        notes.append(f"{blank:,} blank line{'s were' if blank > 1 else ' was'} {how}")
    records, header, more = headed(frame, header, label)
    return Parsed(records, dialect, notes + more, header, share, guessed)


def headed(
    frame: pl.DataFrame, header: bool | int | None, label: str
) -> tuple[pl.DataFrame, bool | int, list[str]]:
    """The records under the names of the first line, or under numbers where it is a record.

    A `header` of 2 has a second line, which is left out.
    """
    notes: list[str] = []
    named = frame
    if frame.width == 1 and header is not False:
        named = frame.slice(int(frame.to_series().is_not_null().arg_max() or 0))
    if header is None:
        header, note = find_header(named)
        if header and is_second_line(named.slice(1)):
            header, note = 2, SECOND
        notes = [note] if note else []
    if not header:
        numbered = {n: f"column_{i}" for i, n in enumerate(frame.columns, 1)}
        return frame.rename(numbered), False, notes
    names, more = _names([cell or "" for cell in named.row(0)], label)
    records = named.slice(int(header)).rename(dict(zip(frame.columns, names, strict=True)))
    return records, header, notes + more


def copied_cells(text: bytes, width: int) -> pl.DataFrame:
    """Records without a header in plain CSV, as a database copies them; blank lines are records."""
    if not text:
        return pl.DataFrame({str(i): pl.Series([], dtype=pl.String) for i in range(width)})
    return _arrow_cells(text, "the copy", Dialect(","), width, skip_blank=False)


def _excel_hint(
    text: bytes, delimiter: str | None, notes: list[str]
) -> tuple[str | None, bytes, list[str]]:
    """A first line "sep=;" tells a spreadsheet the delimiter and is no record."""
    line, _, rest = text[:_HEAD].partition(b"\n")
    hint = line.strip(b"\r")
    if len(hint) == 5 and hint[:4].lower() == b"sep=" and rest.strip():
        rest = text[len(line) + 1 :]
        return delimiter or hint[4:].decode(), rest, [*notes, f"first line: {hint.decode()}"]
    return delimiter, text, notes


def _names(cells: list[str], label: str) -> tuple[list[str], list[str]]:
    notes = []
    names = [cell.strip() for cell in cells]
    if names != cells:
        notes.append("blanks around column names were left out")
    for i, name in enumerate(names):
        if not name:
            names[i] = f"column_{i + 1}"
            notes.append(f"column {i + 1} has no name and is called {names[i]!r}")
    complaints = []
    for name in (name for name, count in Counter(names).items() if count > 1):
        where = " and ".join(str(i) for i, other in enumerate(names, 1) if other == name)
        what = f"appears more than once (columns {where})"
        complaints.append(Complaint(name, what, "rename one of them", line=1))
    if complaints:
        raise SchemaError(label, complaints)
    return names, notes


def check_cells(frame: pl.DataFrame, label: str, limits: Limits | None) -> None:
    """Refuse cells of text that are too long, before anybody judges what they hold."""
    if limits is None:
        return
    for place, series in enumerate(frame, 1):
        # A column that is short altogether has no long cell.
        if series.dtype == pl.String and series.estimated_size() > limits.cell:
            sizes = series.str.len_bytes()
            longest = int(sizes.arg_max() or 0)
            where = f"the cell in record {longest + 1:,}, column {place:,}"
            limits.check_cell(int(sizes[longest] or 0), label, where)


def _cells(text: bytes, label: str, dialect: Dialect, width: int) -> tuple[pl.DataFrame, int]:
    """All records, the first line included, and how many lines were blank."""
    if not text.endswith((b"\n", b"\r")):
        text += b"\n"
    frame = _arrow_cells(text, label, dialect, width, skip_blank=False)
    nothing = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if width == 1:
        return frame, int(nothing.sum())
    if not nothing.any():
        return frame, 0
    # A blank line and a record of empty cells look alike now; the second reading tells them apart.
    kept = _arrow_cells(text, label, dialect, width, skip_blank=True)
    return kept, frame.height - kept.height


def _first_width(text: bytes, label: str, dialect: Dialect, limits: Limits | None) -> int:
    try:
        for record in _plain_reader(text, dialect):
            if record:
                if limits is not None:
                    limits.check_columns(len(record), label)
                return len(record)
    except csv.Error as error:
        raise InputError(
            f"the first line of {label} cannot be read: {error}",
            remedy="mend it; a name of a column has at most 131,072 characters",
        ) from None
    raise InputError(f"{label} is empty", remedy="give a file with a header and records")


def _arrow_cells(
    text: bytes, label: str, dialect: Dialect, width: int, *, skip_blank: bool
) -> pl.DataFrame:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(i) for i in range(width)]
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.actual_columns)
        return "skip"

    block = _BLOCK
    while True:
        try:
            found = arrow_csv.read_csv(
                pa.py_buffer(text),
                arrow_csv.ReadOptions(column_names=names, block_size=block, use_threads=False),
                arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote,
                    newlines_in_values=True,
                    ignore_empty_lines=skip_blank,
                    invalid_row_handler=note,
                ),
                arrow_csv.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(names, pa.large_string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            break
        except pa.ArrowInvalid as error:
            # A record longer than a block; there is no way to tell Arrow beforehand.
            if "straddl" not in str(error) or block >= min(len(text) + 1, _LARGEST_BLOCK):
                raise InputError(
                    f"{label} cannot be read: {error}", remedy="mend the file"
                ) from None
            block = min(len(text) + 1, _LARGEST_BLOCK)
    if ragged:
        raise _ragged(text, label, dialect, width, len(ragged), ragged[0])
    frame = pl.DataFrame(pl.from_arrow(found))
    assert frame.columns == names
    return frame


def _ragged(
    text: bytes, label: str, dialect: Dialect, width: int, count: int, first: int
) -> InputError:
    """The error about records of the wrong length, with the line of the first."""
    place = "a line"
    reader = _plain_reader(text, dialect)
    before = 0
    try:
        for record in reader:
            if record and len(record) != width:
                place, first = f"line {before + 1}", len(record)
                break
            before = reader.line_num
    except csv.Error:
        pass
    others = f" (and {count - 1:,} more)" if count > 1 else ""
    remedy = "quote cells that hold the delimiter, or give delimiter=..."
    if first == width + 1:
        remedy = "name every column, or quote cells that hold the delimiter"
    return InputError(
        f"{place} of {label} has {first} cell{'s' if first != 1 else ''} where the first line has "
        f"{width}{others}",
        remedy=remedy,
    )


def _plain_reader(text: bytes, dialect: Dialect, *, strict: bool = False) -> Any:
    """A slow reader that knows its line; for the first line and for lines in trouble."""
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


def _check_quotes(text: bytes, label: str, dialect: Dialect) -> None:
    """Refuse a quote that is never closed and text after a closing one, as readers disagree."""
    data = np.frombuffer(text, dtype=np.uint8)
    quote = ord(dialect.quote)
    at = np.flatnonzero(data == quote)
    if not at.size or _well_formed(data, at, dialect):
        return
    # Quotes inside unquoted cells (5" nails) are harmless; only a full reading can tell.
    reader = _plain_reader(text, dialect, strict=True)
    before = 0
    try:
        for _ in reader:
            before = reader.line_num
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"a cell that starts in line {before + 1} of {label} is longer than "
                f"{csv.field_size_limit():,} characters, in a file with stray quotes",
                remedy="close every quote, and double quotes inside quoted cells",
            ) from None
        unclosed = "unexpected end" in str(error)
        what = "a quote that is never closed" if unclosed else "text after a closing quote"
        raise InputError(
            f"line {before + 1} of {label} holds {what}",
            remedy=f"close it, or double a {dialect.quote} that belongs to the text",
        ) from None


def _well_formed(data: np.ndarray, at: np.ndarray, dialect: Dialect) -> bool:
    """Whether quotes come in pairs that begin after a delimiter and end before one.

    A doubled quote inside a cell reads as one pair that ends and another that begins at once.
    """
    if at.size % 2:
        return False
    opening, closing = at[0::2], at[1::2]
    border = np.zeros(256, dtype=bool)
    border[[ord(dialect.delimiter), _CR, _LF]] = True
    before = border[data[np.maximum(opening - 1, 0)]] | (opening == 0)
    after = border[data[np.minimum(closing + 1, data.size - 1)]] | (closing == data.size - 1)
    doubled = opening[1:] == closing[:-1] + 1
    before[1:] |= doubled
    after[:-1] |= doubled
    return bool(before.all() and after.all())
