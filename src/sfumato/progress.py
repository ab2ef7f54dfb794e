"""Who is told how far long work has come.

Work that takes long calls `report` now and then; whoever runs it may listen. Nobody need do either:
without a listener a report costs next to nothing.

>>> heard = []
>>> with listening(lambda what, done, of: heard.append((what, done, of))):
...     report("refining", 1, 4)
>>> report("nobody listens", 1, 1)
>>> heard
[('refining', 1, 4)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""Told what is being done, how many parts are finished, and how many there are."""


def silent(what: str, done: int, of: int) -> None:
    """The listener that tells nobody."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(what: str, done: int, of: int) -> None:
    """Tell whoever listens: `done` of `of` parts are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, of)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear what is reported inside this block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
