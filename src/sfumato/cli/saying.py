"""Text on a terminal: names and values of others are shown, never obeyed."""

from __future__ import annotations

import signal
import sys
from typing import Any, TextIO

from ..texts import printable


def say(*parts: Any, sep: str = " ", file: TextIO | None = None, flush: bool = False) -> None:
    """Print, with whatever a terminal would obey (colours, cursors, cleared screens) replaced."""
    print(*(printable(str(part)) for part in parts), sep=sep, file=file, flush=flush)


def prompted(words: str, default: str) -> str:
    """What a person answers; Enter takes the default, Ctrl-C ends it at once."""
    import typer

    # Polars hears Ctrl-C, too, and has what was being read go on until the next Enter.
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    try:
        return str(typer.prompt(printable(words), default=printable(default), err=True))
    except (KeyboardInterrupt, typer.Abort):
        say(file=sys.stderr)  # what is said of it begins a line of its own
        raise
