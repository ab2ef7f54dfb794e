"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run `sfumato`."""
    from .app import run

    run()
