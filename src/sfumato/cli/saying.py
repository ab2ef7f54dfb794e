"""Text on a terminal: names and values of others are shown, never obeyed."""

from __future__ import annotations

from typing import Any, TextIO

from ..texts import printable


def say(*parts: Any, sep: str = " ", file: TextIO | None = None, flush: bool = False) -> None:
    """Print, with whatever a terminal would obey (colours, cursors, cleared screens) replaced."""
    print(*(printable(str(part)) for part in parts), sep=sep, file=file, flush=flush)
