"""Which files can be looked at."""

from __future__ import annotations

import os
from pathlib import Path

from ...data.io.content import USABLE
from ...data.io.sheets.reading import sheets_of
from ...data.io.source import DATABASES, SHEETS, SUFFIXES, locate, stem_of
from ...data.io.sql import tables_of
from ...errors import SfumatoError

ENDINGS = tuple(SUFFIXES)
"""Of the files that can be read."""


def readable(path: Path) -> bool:
    """Whether the ending is one that the readers know.

    >>> readable(Path("visits.csv.gz")), readable(Path("letter.pdf"))
    (True, False)
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix in SUFFIXES


def plan_beside(path: Path) -> Path:
    """The plan that is drafted for a file.

    >>> plan_beside(Path("data/staff.2024.csv.gz")).name
    'staff.2024.toml'
    """
    return path.with_name(f"{stem_of(path.name) or 'plan'}.toml")


def told_from(path: Path, folder: Path) -> str:
    """A file as a plan in that folder writes it: relative where that is shorter to read."""
    relative = os.path.relpath(path, folder)
    return relative if not relative.startswith("..") else str(path.resolve())


def told_of(path: Path) -> tuple[str, ...]:
    """What a reader can be told of a file, in the words of `[input]`.

    >>> told_of(Path("staff.xlsx"))
    ('sheet', 'thousands', 'header', 'missing', 'sentinels', 'dates')
    """
    name = path.name.lower().removesuffix(".gz")
    format = SUFFIXES.get(Path(name).suffix, "")
    own = tuple(word for word, formats in USABLE.items() if format in formats)
    return (*own, "sentinels", "dates")


def parts_of(path: Path) -> tuple[str, list[str]]:
    """What must be chosen of a file that holds several tables: "sheet" or "table", and the names;
    nothing where there is one, or where the file cannot be opened."""
    try:
        end = locate(str(path))
        if end.format in SHEETS:
            return "sheet", sheets_of(end)
        if end.format in DATABASES and end.path is not None:
            return "table", tables_of(end)
    except SfumatoError:
        pass
    return "", []
