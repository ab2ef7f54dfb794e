"""Running the plan: as a trial, which stays in the studio's private room, or to publish it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import OutputError, ParameterError
from ...explore.tune import tune
from ...release.looking.cube import keep
from ...release.records.release import Release
from ...release.records.run import protect, read_input
from ...release.tables.release import TableRelease
from ...release.tables.run import run_table
from ...rng import draw_seed
from . import Work, risk, utility

Part = Callable[[Work, Release], dict[str, Any]]
PARTS: dict[str, Part] = {
    # risk
    "risk": risk.keep,
    # utility
    "utility": utility.keep,
}
"""What is kept of a trial for the pages, by room: run while the release is in memory."""


def target_of(work: Work) -> Path:
    """Where the plan's release goes."""
    named = work.plan.output.path
    if not named:
        raise OutputError("the plan names no output", remedy='[output] path = "release"')
    return work.base / named


def made(work: Work, seed: int) -> Release | TableRelease:
    """The release of the plan, as `sfumato protect` makes it with that seed."""
    plan, target = work.plan, target_of(work)
    if plan.table is not None:
        return run_table(plan, work.base, seed=seed, output=target, progress=work.tell)
    if not plan.engine.in_memory:
        raise ParameterError(
            f"records of the engine {plan.engine.name} are not tried here: they may not fit",
            remedy="publish it at once, or take the engine local for a trial",
        )
    original, _ = read_input(plan, work.base)
    if plan.tune is None:
        return protect(original, plan, seed, output=target, progress=work.tell)
    found = tune(original, plan, seed=seed, progress=work.tell)
    release = protect(original, found.plan, seed, output=target, progress=work.tell)
    return release.with_note(found.summary())


def attempt(work: Work) -> dict[str, Any]:
    """A release that nobody sees but its owner: what it would be, and what was found."""
    seed = int(work.words.get("seed") or draw_seed())
    release = made(work, seed)
    noted = release.draft(work.folder, target_of(work))
    found: dict[str, Any] = {"table": work.plan.table is not None}
    found["findings"] = [f.to_dict() | {"text": str(f)} for f in noted_findings(noted)]
    if isinstance(noted, Release):
        found["records"] = dict(noted.evidence.records)
        for key, part in PARTS.items():
            work.tell(f"what {key} shows", 0, 0)
            found[key] = part(work, noted)
    else:
        found["cube"] = keep(noted, work.folder)
    return found


def noted_findings(release: Release | TableRelease) -> list[Any]:
    """Every requirement with its figures."""
    if isinstance(release, Release):
        return [*release.evidence.findings]
    return [*release.findings]


def publish(work: Work) -> dict[str, Any]:
    """Write the release of a trial where the plan says: the same plan with the same seed, made
    anew, counted again on the bytes, and entered in the ledger."""
    target, words = target_of(work), work.words
    made(work, int(words["seed"])).save(
        target,
        replace=bool(words.get("replace")),
        ledger_exception=str(words.get("exception", "")),
    )
    return {"target": str(target)}
