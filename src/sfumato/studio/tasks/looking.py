"""What the room Data shows: the draft of a plan, what each column is, and whom the columns give
away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...errors import SfumatoError
from ...release.looking.columns import looked, read_sample, reading
from ...release.looking.files import parts_of, told_from
from ...release.plan.draft import drafted
from ...release.plan.plan import Input
from ..jobs import seen
from . import Work

PARTS = "parts.json"
"""What may be chosen of a file that holds several tables, where reading it failed."""


def draft(work: Work) -> dict[str, Any]:
    """Draft the plan of a file and write it, if nobody wrote one meanwhile; with `anew` it is only
    proposed. What the cards show comes from the same reading."""
    source, told = Path(work.words["source"]), dict(work.words.get("input", {}))
    work.tell(f"looking at {source.name}", 0, 0)
    output = f"{work.path.stem}-release"
    try:
        found = drafted(
            str(source),
            path=told_from(source, work.base),
            output=output,
            **Input.build(told).options(),
        )
    except SfumatoError:
        _leave_parts(work, source)
        raise
    shown = looked(found.read, work.folder, found.guesses)
    if not work.words.get("anew"):
        write_text(work.path, found.text, private=True, replace=False)
    questions = [one._asdict() for one in found.questions]
    return _told(work, found.text) | {"look": shown, "questions": questions, "text": found.text}


def columns(work: Work) -> dict[str, Any]:
    """What each column of the plan's file is, read as the plan says."""
    work.tell("looking at the columns", 0, 0)
    try:
        read = read_sample(work.plan, work.base)
    except SfumatoError:
        _leave_parts(work, work.base / work.plan.input.path)
        raise
    return _told(work, work.text) | {"look": looked(read, work.folder) | {"rough": False}}


def check(work: Work) -> dict[str, Any]:
    """Every record read: exact counts, and whom the columns give away as they are."""
    from ...release.looking.columns import counted
    from ...release.looking.exposure import giving_away
    from ...release.records.run import read_input

    work.tell("reading all records", 0, 3)
    table, _ = read_input(work.plan, work.base)
    work.tell("counting", 1, 3)
    counts = counted(table)
    work.tell("looking for people", 2, 3)
    found = giving_away(table, work.plan)
    return _told(work, work.text) | {"records": table.height, "counts": counts, "exposure": found}


def _told(work: Work, text: str) -> dict[str, Any]:
    """Of which reading it is."""
    return {"reading": reading(text), "input": seen(work.path, text)}


def _leave_parts(work: Work, source: Path) -> None:
    word, names = parts_of(source)
    if len(names) > 1:
        write_text(work.folder / PARTS, json.dumps([word, names]), private=True)
