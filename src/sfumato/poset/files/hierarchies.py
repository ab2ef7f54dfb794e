"""Hierarchy files in ARX's layout: a row for each value, first the value, then its ancestors."""

from __future__ import annotations

import csv
import functools
import io
import os
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from ...bounds import Limits, unpacked
from ...errors import InputError
from ..trees.grow import nodes_from_rows
from ..trees.tree import Tree

_DELIMITERS = (";", "\t", ",")
_SAMPLE = 200  # rows looked at to find the delimiter


def read_tree(path: str, *, header: bool, delimiter: str) -> Tree:
    """The tree of a file; read once for as long as the file does not change."""
    return _read_tree(path, header, delimiter, file_state(path, "the hierarchy"))


def file_state(path: str, kind: str) -> tuple[int, ...]:
    """What differs when a file has changed; `ValueError` where there is none."""
    try:
        stat = os.stat(path)
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise ValueError(f"{kind} {path}: {reason} -> mend `path`") from error
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@functools.lru_cache(maxsize=16)
def _read_tree(path: str, header: bool, delimiter: str, state: tuple[int, ...]) -> Tree:
    rows, name = hierarchy_rows(path, header=header, delimiter=delimiter)
    return Tree(nodes_from_rows(rows, name, first_row=2 if header else 1), name)


def hierarchy_rows(path: str, *, header: bool, delimiter: str) -> tuple[list[list[str]], str]:
    """The rows of a hierarchy file, and what errors call it."""
    name = f"the hierarchy {Path(path).name}"
    rows = read_rows(content(path, name), name, delimiter)
    if header:
        rows = rows[1:]
    if not rows:
        raise ValueError(f"{name} has no rows -> give one row for each value")
    if all(len(row) < 2 for row in rows):
        raise ValueError(
            f'{name} has one column only -> a row is a value, then its ancestors, last "*"; '
            "delimiters are ; , or tab"
        )
    return rows, name


def content(path: str, name: str) -> str:
    try:
        raw = unpacked(Path(path).read_bytes(), name, Limits())
        return raw.decode("utf-8-sig")
    except InputError as error:
        raise ValueError(f"{error.message} -> unpack it first") from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ValueError(f"{name}, row {line}: it is not UTF-8 -> save it as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name} cannot be read ({error}) -> mend `path`") from error


def read_rows(content: str, name: str, delimiter: str = "") -> list[list[str]]:
    """The rows of a file, without the empty cells that fill up short ones.

    >>> read_rows("Bonn;Germany;*\\nMonaco;*;\\n", "the file")
    [['Bonn', 'Germany', '*'], ['Monaco', '*']]
    """
    # Line by line as the reader below sees them: a label may hold what Python ends lines at.
    sample = list(islice(io.StringIO(content, newline=""), _SAMPLE))
    delimiter = delimiter or find_delimiter(sample)
    out = []
    try:
        for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True):
            while row and not row[-1]:
                row.pop()
            out.append(row)
    except csv.Error as error:
        where = f"{name}, row {len(out) + 1}"
        raise ValueError(f"{where}: {error} -> mend its quotation marks") from error
    while out and not out[-1]:
        out.pop()
    return out


def find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts every line into equally many cells, else the one that cuts most.

    >>> find_delimiter(["a, b;*", "c;*"]), find_delimiter(["a,x,*", "b,y,*"])
    (';', ',')
    """

    def merit(delimiter: str) -> tuple[bool, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            return False, 0
        return len(set(widths)) == 1 and widths[0] > 1, sum(width > 1 for width in widths)

    return max(_DELIMITERS, key=merit)
