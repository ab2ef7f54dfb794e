"""`sfumato ledger`: what was published of whom, for its keeper."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ..errors import ParameterError
from . import base, show, stopping
from .saying import say

ledger = typer.Typer(
    name="ledger",
    help="What was published of whom: personal data, to be kept no longer than needed.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
base.app.add_typer(ledger)

_CHANGED = "is changed already"
File = Annotated[
    Path, Option("--ledger", help="The ledger, or the folder that it is in (this folder).")
]


@ledger.command(name="show")
def show_entries(ledger: File = Path(), json: base.Json = False) -> None:
    """List the releases that the ledger knows."""
    from ..release.ledger.book import Ledger

    found = Ledger.at(ledger)
    with found.opened() as book:
        entries, off = book.entries(), book.off
    if json:
        show.print_json({"off": off, "releases": [asdict(entry) for entry in entries]})
        return
    rows = [
        (
            entry.path,
            entry.date,
            entry.kind,
            "unknown" if entry.people is None else f"{entry.people:,}",
            entry.state,
            ", ".join(entry.columns),
        )
        for entry in entries
    ]
    if rows:
        show.grid(("release", "date", "of", "people", "", "columns"), rows, left=(0, 1, 2, 4, 5))
    else:
        say(f"no release is known to {found.path}")
    if off:
        say("it is off: nothing is recorded (sfumato ledger off --undo)")


@ledger.command()
def forget(
    release: Annotated[
        str, Argument(metavar="RELEASE", help="A release by its folder, as `show` lists it.")
    ] = "",
    before: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="All that are earlier than this day.")
    ] = None,
    ledger: File = Path(),
    json: base.Json = False,
) -> None:
    """Take releases out, with the people in them: later ones are not judged beside them."""
    from ..release.ledger.book import Ledger

    if bool(release) == (before is not None):
        raise ParameterError(
            "nothing says what is to be forgotten", remedy="RELEASE, or --before 2026-01-31"
        )
    day = "" if before is None else before.date().isoformat()
    found = Ledger.at(ledger)
    stopping.watch(found.path, what=_CHANGED)
    gone = found.forget(release, before=day)
    if release and not gone:
        raise ParameterError(
            f"{release} is not known to the ledger", remedy="sfumato ledger show lists what is"
        )
    if json:
        show.print_json({"forgotten": [entry.path for entry in gone]})
        return
    for entry in gone:
        say(f"forgotten  {entry}")
    if not gone:
        say(f"no release before {day} is known to the ledger")


@ledger.command()
def off(
    ledger: File = Path(),
    undo: Annotated[bool, Option("--undo", help="Record releases again.")] = False,
    json: base.Json = False,
) -> None:
    """Record nothing any more in this ledger, and ask it nothing; reports say so."""
    from ..release.ledger.book import Ledger

    found = Ledger.at(ledger)
    stopping.watch(found.path, what=_CHANGED)
    found.switch(off=not undo)
    if json:
        show.print_json({"ledger": str(found.path), "off": not undo})
        return
    say(f"{found.path} is {'on' if undo else 'off'}; what was recorded stays until forgotten")
