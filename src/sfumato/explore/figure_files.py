"""Writing a figure by the ending of its path, whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..aside import replacing
from ..errors import OutputError

FIGURES = (".svg", ".png", ".pdf", ".html", ".json")
TABLES = (".csv", ".parquet")
WORKER = Path(__file__).with_name("figure_worker.py")
_DRAWN = (".svg", ".png", ".pdf")


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
    """Write an Altair chart; images are drawn by another process, which may die."""
    if path.suffix in _DRAWN:
        image = image_of(made, path)
        write_by(path, lambda aside: aside.write_bytes(image))
    else:
        write_by(path, lambda aside: made.save(str(aside)))


def image_of(made: Any, path: Path) -> bytes:
    """A chart as the bytes of an image, of the kind that the path ends in."""
    import altair

    format = path.suffix[1:]
    version = "_".join(altair.SCHEMA_VERSION.split(".")[:2])
    with altair.data_transformers.enable("default"), altair.data_transformers.disable_max_rows():
        spec = json.dumps(made.to_dict(context={"pre_transform": False}))
    words = [sys.executable or "python", "-P", str(WORKER), format, version]
    words.append("2" if format == "png" else "1")
    try:
        done = subprocess.run(words, input=spec.encode(), capture_output=True, check=False)
    except OSError as error:
        raise _undrawn(path, str(error)) from error
    if done.returncode or not done.stdout:
        if done.returncode < 0:
            raise _undrawn(path, f"it was ended by signal {-done.returncode}")
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise _undrawn(path, lines[-1] if lines else f"it ended with code {done.returncode}")
    return done.stdout


def _undrawn(path: Path, why: str) -> OutputError:
    return OutputError(
        f"{path} was not drawn: what draws figures could not do its work ({why})",
        remedy="a name that ends in .html or .json, which need no drawing; or more memory "
        "(ulimit -v unlimited)",
    )


def write_by(path: Path, write: Callable[[Path], Any]) -> None:
    """Have a file written beside the path, and put in its place once it is whole."""
    with replacing(path, replace=True) as aside:
        write(aside)
