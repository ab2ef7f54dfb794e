"""The report of a release that another tool made: what can be measured, for the owner."""

from __future__ import annotations

from pathlib import Path

from ...data.pair import Pair
from ..plan.plan import Plan
from ..records.evidence import Evidence
from ..records.release import Private, Release
from .page import write_page
from .report import render


def write_assessment(path: Path, pair: Pair, evidence: Evidence, plan: Plan) -> None:
    """Write what was measured as one page that needs nothing else."""
    release = Release(pair, evidence, Private(0, {}, {}, plan), plan)
    write_page(path, render(release, owner=True, assessed=True))
