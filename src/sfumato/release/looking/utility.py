"""What is told of what a release still says: every column, pair and measure, for its owner."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ...data.schema import Role
from ...progress import report
from ..records.release import Release
from ..report import sections
from ..report.columns import gaps, pictures
from ..report.correlations import correlations
from ..report.parts import clipped
from ..report.report import column_drawn, correlation_changes
from ..report.words import headlines, words
from .pairs import keep_pairs

_CORRELATED = 60
"""Columns whose correlations are kept."""


def of_release(folder: Path, release: Release) -> dict[str, Any]:
    """What pages show; the bins of all columns are left in a folder."""
    evidence, pair = release.evidence, release.pair
    taken = evidence.measurements
    marginals = taken.get("marginals")
    by_pair = dict(marginals.private.get("by_pair", {})) if marginals is not None else {}
    losses = {name: m for name, m in taken.items() if words(name).about == "utility"}
    cards = headlines(losses, evidence.sampled)
    keep_pairs(folder, pair, by_pair)
    return {
        "columns": _columns(release),
        "unpublished": [n for n in pair.original.names if n not in pair.masked.schema],
        "correlations": correlation_changes(release, None),
        "matrix": _matrix(release),
        "measures": sections.measures(evidence, owner=True, about=("utility",)),
        "cards": [[h.title, h.value, h.aside, h.sentence] for h in cards],
        "copies": len(release.copies),
        "linked": pair.rows is not None,
    }


def _columns(release: Release) -> list[dict[str, str]]:
    """Every published column with its picture, or why there is none; what others know first."""
    pair = release.pair
    report("drawing columns", 0, 0)
    found = pictures(pair, gaps(pair.masked), None, roles=(*Role,), most=len(pair.original.schema))
    drawn = {one.column.name: column_drawn(one, j) for j, one in enumerate(found.drawn)}
    order = {role: i for i, role in enumerate((Role.QUASI, Role.CONFIDENTIAL, Role.TARGET))}
    named = [c for c in pair.original.schema if c.name in drawn or c.name in found.undrawn]
    return [
        {
            "name": c.name,
            "about": f"{c.kind}, {sections.role_words(c.role)}",
            "drawn": drawn.get(c.name, ""),
            "why": clipped(found.undrawn.get(c.name, "")),
        }
        for c in sorted(named, key=lambda c: order.get(c.role, len(order)))
    ]


def _matrix(release: Release) -> dict[str, Any]:
    """Correlations before and after, of more columns than are drawn."""
    found = correlations(release.pair, release.evidence, None, _CORRELATED)
    if found is None:
        return {}

    def plain(rows: Any) -> list[list[float | None]]:
        return [[None if math.isnan(r) else float(r) for r in row] for row in rows]

    return {"names": found.names, "before": plain(found.before), "after": plain(found.after)}
