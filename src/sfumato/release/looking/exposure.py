"""Which columns of a file would give people away if they were published as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...data.pair import Pair
from ...data.schema import Role
from ...data.table import Table
from ...registry import find
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE
from ..records.evidence import Measuring
from ..records.run import gated
from ..report.parts import clipped, listed, percent

_LEFT = (Role.IDENTIFIER, Role.HOUSEHOLD)
"""What no release has as it is."""


def giving_away(table: Table, plan: Plan) -> dict[str, Any]:
    """What the exposure check says of each column: `columns`, sentences by name; and `because`, why
    it would refuse the records as they are. Identifiers are left out, as a release leaves them."""
    gone = [column.name for column in table.schema if column.role in _LEFT]
    kept = table.without(gone)
    if not kept.names:
        return {"columns": {}, "because": ""}
    checks = (r.thing for r in gated(plan).requirements if r.name == EXPOSURE)
    thing: Any = next(checks, None) or find(EXPOSURE, "measure").load().build({})
    taken, _ = Measuring(0, None, None, ()).panel([thing], Pair.of(table, kept))
    if EXPOSURE not in taken:
        return {"columns": {}, "because": ""}
    detail = taken[EXPOSURE].detail
    return {"columns": _by_column(detail), "because": detail.get("because", "")}


def _by_column(detail: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in detail.get("names people", ()):
        found.setdefault(one["column"], []).append(_NAMES.get(one["what"], _NAMED))
    for one in sorted(detail.get("singled out", ()), key=lambda one: len(one["columns"])):
        names, share = one["columns"], percent(one["share"])
        for name in names:
            others = listed([clipped(other, 40) for other in names if other != name])
            known = f"Known together with {others}, it" if others else "Known alone, it"
            if not others or len(found.get(name, ())) < _MOST:
                found.setdefault(name, []).append(f"{known} finds {share} of the people.")
    for one in detail.get("confidential", ()):
        if len(one["columns"]) == 1:
            words = f"Whoever knows one exact value of it finds {percent(one['share'])}."
            found.setdefault(one["columns"][0], []).append(words)
    return found


_MOST = 2
_NAMED = "It points to single people: published as it is, a release would be refused."
_NAMES = {
    "key": "Nearly every record has a value of its own: published as it is, it is a key to them.",
    "date": "Exact dates find people: they must become coarser.",
    "date-time": "Exact times find people: they must become coarser.",
    "free-text": "Text about people often names them: published as it is, it would be refused.",
}
