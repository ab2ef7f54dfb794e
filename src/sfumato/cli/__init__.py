"""The command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import stopping


def main() -> None:
    """Run `sfumato`."""
    try:
        from . import stopping
    except KeyboardInterrupt:
        raise SystemExit(_at_once()) from None
    # Before anything else: what is imported from here on takes a while, and can be interrupted.
    with stopping.heard(last=True) as signals:
        try:
            raise SystemExit(_run(signals))
        except KeyboardInterrupt:  # also where one comes while an error is told
            raise SystemExit(signals.ended()) from None


def _at_once() -> int:
    import sys

    print("interrupted; nothing was written", file=sys.stderr)
    return 130


def _run(signals: stopping.Stopping) -> int:
    import gc

    # Imports and compiling make millions of objects that stay: looking for garbage among them at
    # the usual pace costs a tenth of a first run. A library leaves this to its caller.
    gc.set_threshold(50_000, 20, 50)
    import sys

    from .app import ended

    return ended(sys.argv[1:], signals)
