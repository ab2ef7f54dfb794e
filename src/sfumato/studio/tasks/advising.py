"""Which method is better for these data and this purpose: the adviser, in the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...explore.advise import advise
from ...explore.advising.answer import Advised
from ...explore.advising.sentences import percent
from ...release.plan.requirement import EXPOSURE
from ...release.plan.rewriting import rewritten
from ...release.records.run import read_input
from . import Work

JOURNAL = "trials.jsonl"
"""In the plan's room: what was tried is not tried again by the next search."""


def journal_of(work: Work) -> Path:
    """Where trials are noted: beside the jobs, so that it outlives each of them."""
    return work.folder.parent.parent / JOURNAL


def find_out(work: Work) -> dict[str, Any]:
    """At most five plans ready to take, and why the others were left. The answers to the questions
    are the plan's purpose; `bare` lets go of what the plan requires besides."""
    work.tell("reading", 0, 0)
    plan, gone = work.plan, []
    if work.words.get("bare"):
        gone = [one.name for one in plan.requirements if one.name != EXPOSURE]
        plan = plan.with_(requirements=tuple(r for r in plan.requirements if r.name == EXPOSURE))
    table, _ = read_input(plan, work.base)
    found = advise(table, None, plan, journal=journal_of(work), progress=work.tell)
    return {
        "plans": [_told(one, rewritten(work.text, one.plan, work.base)) for one in found.plans],
        "nothing": "" if found.plans else found.nothing,
        "obstacles": [one.said() for one in found.obstacles],
        "left": [[what, why] for what, why in found.left],
        "notes": [*found.notes],
        "trials": found.trials.height,
        "whom": found.whom,
        "short": found.short,
        "gone": list(dict.fromkeys(gone)),
    }


def _told(one: Advised, text: str) -> dict[str, Any]:
    worse = one.figures if one.confirmed is None else one.confirmed
    return {
        "label": one.label,
        "why": one.why,
        "does": one.does,
        "confirmed": one.confirmed is not None,
        "figures": [
            ["loses", percent(worse.loss)],
            ["attacks get", percent(worse.risk)],
            ["at most", percent(worse.high)],
        ],
        "text": text,
    }
