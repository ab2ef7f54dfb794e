"""Tables in and out of files and databases.

`read` and `write` are for everyone; `write_file` and `read_back` are for the release, which makes a
whole folder appear at once and counts its promises again on the bytes in it.
"""

from __future__ import annotations

from .back import read_back
from .reading import read, read_cells, read_decided, read_with_notes
from .writing import write, write_file

__all__ = [
    "read",
    "read_back",
    "read_cells",
    "read_decided",
    "read_with_notes",
    "write",
    "write_file",
]
