"""Ctrl-C, and SIGTERM, which schedulers send: work ends in order, and a line says what is left."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

CODE = 130
"""What Typer makes of Ctrl-C."""


class Interrupted(Exception):
    """Ctrl-C, with what is left; of a KeyboardInterrupt Typer leaves its code alone."""


class Stopping:
    """Which signal came, if any; whatever is raised after it is its doing."""

    def __init__(self) -> None:
        self.came = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The handler: the second SIGTERM, to a group and to its process, ends no tidying up."""
        again, self.came = self.came, self.came or number
        if not (again and number == signal.SIGTERM):
            raise KeyboardInterrupt

    def ended(self, error: BaseException | None = None) -> int:
        """The exit code, once what is left is said."""
        left = str(error) if isinstance(error, Interrupted) else "nothing was written"
        print(f"interrupted; {left}", file=sys.stderr)
        return 128 + (self.came or signal.SIGINT)


@contextmanager
def heard() -> Iterator[Stopping]:
    """Both signals are heard, unless whoever started the process would have them ignored."""
    stopping = Stopping()
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    main = threading.current_thread() is threading.main_thread()
    ours = [one for one, handler in usual.items() if main and signal.getsignal(one) == handler]
    for one in ours:
        signal.signal(one, stopping)
    try:
        yield stopping
    finally:
        for one in ours:
            signal.signal(one, usual[one])


@contextmanager
def released_to(target: Path) -> Iterator[None]:
    """An interruption says whether the release is there already."""
    before = _made(target)
    try:
        yield
    except KeyboardInterrupt as error:
        if _made(target) in (None, before):
            raise
        raise Interrupted(f"the release is there already: {target}") from error


def _made(target: Path) -> int | None:
    """When the evidence of a release was written, which moving and copying keep."""
    from ..data.linkage.earlier import EVIDENCE

    try:
        return (target / EVIDENCE).stat().st_mtime_ns
    except OSError:
        return None
