"""`sfumato studio`: one server on this machine, and the address that opens it."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from ..errors import InputError, OutputError
from .desk import Desk
from .folder import Folder

OWN = "127.0.0.1"
_ANY = ("0.0.0.0", "::")
_PACE = 0.2
"""Seconds between two looks at a file that is being read."""


def serve(
    path: Path, *, host: str = OWN, port: int = 0, open: bool = True, say: Callable[[str], None]
) -> None:
    """Serve until interrupted: `path` is a data file, a plan, or the folder to choose from."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}", remedy="name one that is there")
    root, first = (path, None) if path.is_dir() else (path.parent, path)
    taken = _taken(host, port)
    port = taken.getsockname()[1]
    names = ["127.0.0.1", "localhost"] if host in (OWN, *_ANY) else [host]
    if host in _ANY:
        names += [socket.gethostname(), socket.getfqdn()]
    token, once = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    # A file is being read by a process of its own while the pages are imported here.
    folder = Folder(root)
    desk = folder.open(first) if first is not None else None
    from .app import Studio
    from .rooms import warm

    studio = Studio(folder, desk)
    address = f"http://{names[0]}:{port}/?token={token}"
    config = uvicorn.Config(
        studio.app(token=token, once=once if open else "", hosts=names, port=port),
        access_log=False,  # addresses would stand in it
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
        ws="none",
    )
    server = _Server(config)
    say(f"the studio is at\n  {address}\nKeep this address to yourself. Ctrl-C ends the studio.")
    if open:
        # What a browser is started with stands in the list of processes, for everybody on this
        # machine to read: it opens once, and then no more.
        own = address.replace(token, once)
        server.ready = lambda: threading.Thread(
            target=webbrowser.open, args=(own,), daemon=True
        ).start()
    threading.Thread(target=_warmed, args=(warm, desk), daemon=True).start()
    try:
        server.run(sockets=[taken])
    except KeyboardInterrupt:
        pass
    finally:
        for one in folder.desks():
            one.jobs.end()


def _warmed(warm: Callable[[], object], desk: Desk | None) -> None:
    """Import what later pages need, once the file that somebody waits for is read."""
    while desk is not None and not desk.text and desk.jobs.running():
        time.sleep(_PACE)
    warm()


class _Server(uvicorn.Server):
    """One that says when it answers."""

    ready: Callable[[], object] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()


def _taken(host: str, port: int) -> socket.socket:
    """A socket at the place that was asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, since asyncio sends small answers at once only where the protocol says TCP.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise OutputError(
            f"the studio cannot be at {host}:{port}: {error.strerror or error}",
            remedy="--port with another number, or without it for a free one",
        ) from error
    return found
