"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run `sfumato`."""
    import gc

    # Imports and compiling make millions of objects that stay: looking for garbage among them at
    # the usual pace costs a tenth of a first run. A library leaves this to its caller.
    gc.set_threshold(50_000, 20, 50)
    from .app import run

    run()
