"""`sfumato studio`: the work in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..errors import ParameterError
from . import show
from .base import app
from .saying import say

_NEEDED = ("starlette", "uvicorn", "python_multipart")


@app.command()
def studio(
    path: Annotated[
        Path, Argument(metavar="[FILE | PLAN | FOLDER]", help="What to open, or to choose from.")
    ] = Path("."),
    open: Annotated[
        bool, Option("--open/--no-open", help="Open the address in the browser.")
    ] = True,
    port: Annotated[int, Option(help="Port (a free one).", min=0, max=65535)] = 0,
    host: Annotated[
        str, Option(help="Address to serve at; others can then reach it.")
    ] = "127.0.0.1",
) -> None:
    """The whole work in a browser on this machine: no network, no programming."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise ParameterError(
            f"the studio needs {', '.join(missing)}", remedy="pip install 'sfumato[studio]'"
        )
    from ..studio.server import OWN, serve

    if host not in (OWN, "localhost"):
        show.notes_aside(
            f"the studio at {host} can be reached from other machines, and what you see travels "
            "unencrypted: prefer an SSH tunnel to 127.0.0.1"
        )
    serve(path, host=host, port=port, open=open, say=say)
