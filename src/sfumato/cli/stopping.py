"""Ctrl-C, and SIGTERM, which schedulers send: work ends in order, and a line says what is left.

Every command says beforehand what it is about to write (`watch`), so that whatever ends it, a
signal, a full disk or a fault, can say what is there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .saying import say

if TYPE_CHECKING:  # what is imported before signals are heard cannot be interrupted in order
    from pathlib import Path
    from types import FrameType

NOTHING = "nothing was written"

CODE = 130
"""What Typer makes of Ctrl-C."""
_AGAIN = 0.05
_watched: dict[Path, Callable[[], str]] = {}


class Stopping:
    """Which signal came, if any; whatever is raised after it is its doing."""

    def __init__(self) -> None:
        self.came = 0
        self.ours: list[int] = []
        """The signals that are heard."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The handler: the second SIGTERM, to a group and to its process, ends no tidying up."""
        again, self.came = self.came, self.came or number
        if not (again and number == signal.SIGTERM):
            raise KeyboardInterrupt

    def ended(self) -> int:
        """The exit code, once what is left is said; nobody interrupts that."""
        for one in self.ours:
            signal.signal(one, signal.SIG_IGN)
        say(f"interrupted; {left()}", file=sys.stderr)
        return 128 + (self.came or signal.SIGINT)

    def unheard(self, hook: Callable[[Any], Any], what: Any) -> None:
        """Where Python can raise nothing, as in a finalizer, the signal is sent once more."""
        if not isinstance(what.exc_value, KeyboardInterrupt) or not self.came:
            hook(what)
            return
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()


@contextmanager
def heard(*, last: bool = False) -> Iterator[Stopping]:
    """Both signals are heard, unless whoever started the process would have them ignored.

    Where nothing comes after it, a later one ends Python at once, without a traceback.
    """
    _watched.clear()
    stopping = Stopping()
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    main = threading.current_thread() is threading.main_thread()
    ours = [one for one, handler in usual.items() if main and signal.getsignal(one) == handler]
    stopping.ours = ours
    hook = sys.unraisablehook
    sys.unraisablehook = lambda what: stopping.unheard(hook, what)
    for one in ours:
        signal.signal(one, stopping)
    try:
        yield stopping
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL if last else usual[one])
        sys.unraisablehook = hook


def watch(*paths: Path | str | None, what: str = "is there already") -> None:
    """Files, or a folder, that a command is about to write."""
    from pathlib import Path

    for path in (Path(one) for one in paths if one):
        before = _state(path)
        _watched.setdefault(path, lambda path=path, before=before: _changed(path, before, what))  # type: ignore[misc]


def watch_release(target: Path) -> None:
    """A release that a command is about to write."""
    from ..release.saving import Target

    found = Target(target)
    _watched[target] = found.left


def left() -> str:
    """What the command has written."""
    said = [words for tell in _watched.values() if (words := tell())]
    more = [words for words in said if not words.startswith(NOTHING)]
    return "; ".join(more or said[:1]) or NOTHING


def folder() -> Path:
    """Where the command writes."""
    from pathlib import Path

    return next(iter(_watched), Path("x")).parent


def _changed(path: Path, before: object, what: str) -> str:
    return "" if _state(path) in (None, before) else f"{path} {what}"


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):  # a name that no file can have
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
