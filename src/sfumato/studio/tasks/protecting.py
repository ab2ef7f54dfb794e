"""Running the plan: as a trial, which stays in the studio's private room, or to publish it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...errors import InputError, OutputError, ParameterError, SfumatoError
from ...explore.tune import tune
from ...release.landing import Landing
from ...release.large.release import LargeRelease
from ...release.large.run import protect_large
from ...release.looking.cube import keep
from ...release.plan.plan import Plan
from ...release.publish import check_free
from ...release.records.release import Release
from ...release.records.run import protect, read_input, source_of
from ...release.report import sections
from ...release.report.words import headlines
from ...release.tables.release import TableRelease
from ...release.tables.run import run_table
from ...release.verify import verify
from ...rng import draw_seed
from ..jobs import Job, Jobs
from . import Work, risk, utility

Part = Callable[[Work, Release], dict[str, Any]]
PARTS: dict[str, Part] = {
    # risk
    "risk": risk.keep,
    # utility
    "utility": utility.keep,
}
"""What is kept of a trial for the pages, by room: run while the release is in memory."""
SEED = "seed"
"""The file in a trial's folder that holds its seed, which no page and no word of a job tells."""


def target_of(work: Work) -> Path:
    """Where the plan's release goes."""
    named = work.plan.output.path
    if not named:
        raise OutputError("the plan names no output", remedy='[output] path = "release"')
    return work.base / named


def made(work: Work, plan: Plan, seed: int) -> Release | TableRelease:
    """The release of a plan, as `sfumato protect` makes it with that seed."""
    target = target_of(work)
    if plan.table is not None:
        return run_table(plan, work.base, seed=seed, output=target, progress=work.tell)
    if not plan.engine.in_memory:
        raise ParameterError(
            f"records of the engine {plan.engine.name} are not tried here: they may not fit",
            remedy="publish it at once, or take the engine local for a trial",
        )
    work.tell("reading", 0, len(plan.steps) + 3)
    original, _ = read_input(plan, work.base)
    if plan.tune is None:
        return protect(original, plan, seed, output=target, progress=work.tell)
    found = tune(original, plan, seed=seed, progress=work.tell)
    release = protect(original, found.plan, seed, output=target, progress=work.tell)
    return release.with_note(found.summary())


def attempt(work: Work) -> dict[str, Any]:
    """A release that nobody sees but its owner: what it would be, and what was found. With `like`,
    the seed is that of an earlier trial: a remedy was tried with it."""
    like = Jobs(work.folder.parent).named(str(work.words.get("like", "")))
    seed = (seed_of(like) if like is not None else 0) or draw_seed()
    write_text(work.folder / SEED, str(seed), private=True)
    release = made(work, work.plan, seed)
    noted = release.draft(work.folder, target_of(work))
    findings = noted_findings(noted)
    found: dict[str, Any] = {
        "table": work.plan.table is not None,
        "findings": [one.to_dict() | {"text": str(one)} for one in findings],
    }
    if isinstance(noted, TableRelease):
        standing = noted.ledger
        found |= {"says": noted.summary, "notes": [*noted.public_notes, *noted.owner_notes]}
        found["cube"] = keep(noted, work.folder)
    else:
        evidence = noted.evidence
        standing = evidence.ledger
        notes = [*(standing.notes if standing else ()), *evidence.notes, *evidence.owner_notes]
        found |= {
            "records": dict(evidence.records),
            "headlines": [[*one] for one in _headlines(noted)],
            "requirements": str(sections.requirements(evidence)),
            "notes": notes,
        }
        for key, part in PARTS.items():
            work.tell(f"what {key} shows", 0, 0)
            found[key] = part(work, noted)
    return found | {"ledger": [] if standing is None else [*standing.notes]}


def _headlines(release: Release) -> list[tuple[str, str, str, str]]:
    taken = headlines(release.evidence.measurements, release.evidence.sampled)
    return [(one.title, one.value, one.aside, one.sentence) for one in taken]


def noted_findings(release: Release | TableRelease) -> list[Any]:
    """Every requirement with its figures."""
    if isinstance(release, Release):
        return [*release.evidence.findings]
    return [*release.findings]


def seed_of(trial: Job) -> int:
    """The seed of a trial; 0 where it got none."""
    try:
        return int((trial.folder / SEED).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def publish(work: Work) -> dict[str, Any]:
    """Write the release of a trial where the plan says: the same plan with the same seed, made
    anew, counted again on the bytes, and entered in the ledger; then checked as everybody can."""
    target, words = target_of(work), work.words
    replace, reason = bool(words.get("replace")), str(words.get("exception", ""))
    plan = work.plan.excepted(reason) if reason else work.plan
    landing = Landing.of(plan)
    check_free(target, replace=replace, table="" if landing is None else landing.title)
    if plan.table is None and not plan.engine.in_memory:
        _written_at_once(work, plan, target, replace=replace)
    else:
        seed = seed_of(_trial(work))
        if not seed:
            raise InputError("the trial's seed is gone", remedy="try the plan again")
        release = made(work, plan, seed)
        work.tell("writing and counting again", 0, 0)
        release.save(target, replace=replace)
    work.tell("checking what was written", 0, 0)
    return {"target": str(target), **_verified(target)}


def _trial(work: Work) -> Job:
    """The trial that is published: of this plan, with this input."""
    found = Jobs(work.folder.parent).named(str(work.words.get("trial", "")))
    if found is None or found.kind != "protect" or found.state != "done":
        raise InputError("there is no such trial", remedy="try the plan, then publish it")
    if not found.of(work.text, work.path):
        raise InputError(
            "the plan or its data are not those of the trial any more", remedy="try the plan again"
        )
    return found


def _written_at_once(work: Work, plan: Plan, target: Path, *, replace: bool) -> LargeRelease:
    """By an engine that does not hold the records: it counts what it has written."""
    return protect_large(
        source_of(plan, work.base),
        plan,
        draw_seed(),
        output=target,
        replace=replace,
        progress=work.tell,
    )


def check(work: Work) -> dict[str, Any]:
    """Check a release that is there, by its public folder alone."""
    return _verified(Path(work.words["target"]))


def _verified(target: Path) -> dict[str, Any]:
    """What `sfumato verify` says of a folder, and of which bytes it says so."""
    evidence = target / "evidence.json"
    try:
        found = verify(target).to_dict()
        found["stamp"] = evidence.stat().st_mtime_ns
    except (SfumatoError, OSError) as error:  # it is written all the same
        return {"verified": {"holds": False, "error": str(error), "checks": []}}
    return {"verified": found}
