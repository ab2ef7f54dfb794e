"""What a trial still says, and any measure of it by name."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...release.looking.utility import of_release
from ...release.records.release import Release
from ...release.records.run import source_of
from ...release.red_team import measured
from ...release.report.told import told
from . import Work
from .risk import trial_of

KEPT = "utility.json"
"""What is kept for the pages, in a job's folder."""


def keep(work: Work, release: Release) -> dict[str, Any]:
    """What the room shows of a trial."""
    found = of_release(work.folder, release)
    write_text(work.folder / KEPT, json.dumps(found), private=True)
    return {"columns": len(found["columns"])}


def measure(work: Work) -> dict[str, Any]:
    """One measure of a trial, by its name."""
    words = work.words
    # What the plan names lies beside it.
    with chdir(work.base):
        found = measured(
            trial_of(work),
            str(words["name"]),
            dict(words.get("parameters") or {}),
            original=str(Path(source_of(work.plan, work.base)).absolute()),
            progress=work.tell,
        )
    return told(found)
