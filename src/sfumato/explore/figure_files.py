"""Writing a figure by the ending of its path, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..machine import whole

FIGURES = (".svg", ".png", ".pdf", ".html", ".json")
TABLES = (".csv", ".parquet")


def check(path: Path, what: str, endings: tuple[str, ...] = FIGURES) -> None:
    """Refuse a path that could not be written, before there is anything to write."""
    if path.suffix not in endings:
        raise OutputError(
            f"a {what} cannot be written as {path.name}",
            remedy=f"one of the endings {', '.join(endings)}",
        )
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}", remedy="make it first")


def write_chart(made: Any, path: Path) -> None:
    """Write an Altair chart."""
    more = {"scale_factor": 2} if path.suffix == ".png" else {}
    write_by(path, lambda aside: made.save(str(aside), **more))


def write_by(path: Path, write: Callable[[Path], Any]) -> None:
    """Have a file written beside the path, and put in its place once it is whole."""
    with whole(path) as aside:
        write(aside)
