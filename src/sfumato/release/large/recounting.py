"""Promises counted on what was written, wherever it lies."""

from __future__ import annotations

from pathlib import Path

from ...data.schema import Schema
from ...engines.places import Outside
from ...protocols import Finding
from ..plan.plan import Plan
from ..recount_parts import MEMORY, recount_parts


def recounted(
    file: Path, schema: Schema, plan: Plan, aside: Path, people: Path | None, called: str
) -> list[Finding]:
    """Every criterion, counted on the written parts or file; `people` tells whose the records are,
    where some have several."""
    engine = plan.engine
    return recount_parts(
        file,
        schema,
        plan.requirements,
        memory=engine.bytes if isinstance(engine, Outside) else MEMORY,
        temporary=aside,
        people=people,
        called=called,
        suppressed=plan.output.suppressed,
    )
