"""How far the cells of a workbook reach: its reader makes room for all cells up to the last one.

Two cells at the corners of a sheet would ask for half a terabyte, and the reader then ends the
process.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from ....bounds import Limits, inflated
from ..source import Endpoint

_CELL_BYTES = 32
_LONGEST_TAG = 1 << 12
_COLUMN = re.compile(rb'<c[^>]{0,200}?\br="([A-Za-z]{1,7})\d')
_ROW = re.compile(rb'<c[^>]{0,200}?\br="[A-Za-z]{1,7}(\d{1,10})"')
_TAG = re.compile(rb"<table:(table-row|table-cell|covered-table-cell)\b([^>]*)>")
_REPEATED = re.compile(rb'number-(?:rows|columns)-repeated="(\d{1,12})"')


def check_extent(raw: bytes, endpoint: Endpoint, limits: Limits) -> None:
    """Refuse a workbook whose cells reach too far; other formats bound that by themselves."""
    if endpoint.format not in ("xlsx", "ods"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as file:
            listed = file.infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return
    for part in listed:
        if endpoint.format == "ods" and part.filename == "content.xml":
            area = _of_ods(_overlapping(raw, part))
        elif endpoint.format == "xlsx" and "worksheets/" in part.filename:
            area = _of_xlsx(_overlapping(raw, part))
        else:
            continue
        most = limits.most(len(raw))
        limits.check_unpacked(area * _CELL_BYTES, most, endpoint.label, whole=True)


def _overlapping(raw: bytes, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """The pieces of a part, cut between tags."""
    held = b""
    for piece in inflated(raw, part):
        held += piece
        end = held.rfind(b"<")
        if end > 0:
            yield held[:end]
            held = held[end:]
        held = held[-_LONGEST_TAG:]
    yield held


def _of_xlsx(pieces: Iterator[bytes]) -> int:
    """Rows times columns, by the names of cells (B12)."""
    rows = width = 0
    for piece in pieces:
        width = max([width, *map(_number, set(_COLUMN.findall(piece)))])
        rows = max([rows, *map(int, set(_ROW.findall(piece)))])
    return rows * width


def _number(letters: bytes) -> int:
    """
    >>> _number(b"A"), _number(b"XFD")
    (1, 16384)
    """
    found = 0
    for letter in letters.upper():
        found = 26 * found + letter - 64
    return found


def _of_ods(pieces: Iterator[bytes]) -> int:
    """Rows times columns, as far as cells have values: empty ones are repeated up to the edge of
    every sheet."""
    largest = rows = width = before = at = repeated = 0
    for piece in pieces:
        for tag, words in _TAG.findall(piece):
            found = _REPEATED.search(words)
            many = int(found[1]) if found else 1
            if tag == b"table-row":
                before, at, repeated = before + repeated, 0, many
                continue
            at += many
            if b"office:value-type" in words:
                rows, width = before + repeated, max(width, at)
                largest = max(largest, rows * width)
    return largest
