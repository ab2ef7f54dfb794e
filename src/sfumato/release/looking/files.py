"""Which files can be looked at."""

from __future__ import annotations

import os
from pathlib import Path

from ...data.io.source import SUFFIXES, stem_of

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
