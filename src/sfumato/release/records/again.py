"""Running a release's plan on other people, for attacks that need to know what it does to them."""

from __future__ import annotations

import hashlib

from ...data.pair import Pair
from ...data.table import Table
from ...engines.local import Local
from ...progress import silent
from ...protocols import Again
from ..plan.plan import Plan
from .masking import run_steps
from .written import as_precise


def again(plan: Plan, seed: int, reference: Table | None = None) -> Again | None:
    """What runs the plan's steps on people of the same columns, with numbers as they are written;
    None where it has none. Every run has a seed of its own, which the release's does not tell."""
    if not plan.steps:
        return None

    def run(people: Table, number: int) -> Pair:
        digest = hashlib.sha256(f"sfumato/{seed}/again/{number}".encode()).digest()
        own = int.from_bytes(digest[:16], "big")
        pair = run_steps(people, plan, own, silent, Local(), reference).pair
        if plan.output.precision == "full":
            return pair
        return Pair(people, as_precise(pair.masked, people).table, pair.rows)

    return Again(run)
