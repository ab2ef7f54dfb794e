"""The risk of a file as it is and of a trial, and attacks on a trial."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...errors import InputError
from ...release.api import assess, measure
from ...release.looking.risk import of_file, of_release
from ...release.records.evidence import Evidence
from ...release.records.release import Release
from ...release.records.run import read_input, source_of
from ...release.red_team import attack
from ...release.report import attacks
from ...release.report.attacked import attacked
from . import Work

KEPT = "risk.json"
"""What is kept for the pages, in a job's folder."""
SUDA = "suda"


def keep(work: Work, release: Release) -> dict[str, Any]:
    """What the room shows of a trial."""
    found = of_release(work.folder, release)
    write_text(work.folder / KEPT, json.dumps(found), private=True)
    return {"people": found["people"]["records"]}


def as_it_is(work: Work) -> dict[str, Any]:
    """The risk of the plan's file before anything is done to it."""
    work.tell("reading", 0, 0)
    original, _ = read_input(work.plan, work.base)
    work.tell("measuring", 0, 0)
    evidence = assess(original, plan=work.plan)
    if work.words.get(SUDA) and SUDA not in evidence:
        special = measure(SUDA, original)
        taken = {**evidence.measurements, SUDA: special}
        evidence = Evidence(taken, evidence.not_taken, records=evidence.records)
    work.tell("looking at every record", 0, 0)
    found = of_file(work.folder, original, evidence)
    write_text(work.folder / KEPT, json.dumps(found), private=True)
    return {"records": original.height}


def trial_of(work: Work) -> Path:
    """The folder of the release that a task is about: a trial's."""
    name = str(work.words["trial"])
    folder = work.folder.parent / name / "release"
    if "/" in name or "\\" in name or not folder.is_dir():
        raise InputError("that trial is not there any more", remedy="run one in Protect")
    return folder


def attack_trial(work: Work) -> dict[str, Any]:
    """Attacks on a trial, as `sfumato attack` makes them."""
    folder, words = trial_of(work), work.words
    # What the plan names lies beside it.
    with chdir(work.base):
        evidence = attack(
            folder,
            attacks=list(words.get("attacks") or ()),
            seconds=words.get("seconds"),
            original=str(Path(source_of(work.plan, work.base)).absolute()),
            progress=work.tell,
        )
    told = attacked(evidence)
    return {
        "beside": told.beside,
        "plain": told.plain,
        "notes": told.notes,
        "verdict": told.verdict,
        "unseen": told.unseen,
        "leaks": told.leaks,
        "section": attacks.section(evidence, owner=True) if attacks.tried(evidence) else "",
    }
