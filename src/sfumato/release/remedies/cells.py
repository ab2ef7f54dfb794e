"""Remedies for a table that the audit refuses: other plans for the same cells, each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...errors import SfumatoError
from ...protocols import Finding
from ...tabular.base import TableMethod
from ..plan.plan import Plan
from ..plan.step import build
from .remedy import Hint, Remedy

_ENOUGH = 2
_OTHERS = ("modular-suppression", "hypercube")
"""Cells are hidden until none can be told."""
_ELSE = Hint("fewer levels or dimensions ([table] depth, dimensions): larger cells need less")


def cell_remedies(
    plan: Plan, attempt: Callable[[Plan], Sequence[Finding]]
) -> list[Remedy] | list[Hint]:
    """Changed plans that were run and are not refused; what else may help where there is none."""
    found: list[Remedy] = []
    for change, changed in _changes(plan):
        try:
            findings = attempt(changed)
        except SfumatoError:
            continue
        found.append(Remedy(change, changed, tuple(findings)))
        if len(found) == _ENOUGH:
            break
    return found or [_ELSE]


def _changes(plan: Plan) -> Iterator[tuple[str, Plan]]:
    table = plan.table
    assert table is not None
    now = table.protect
    if words := now.stronger():
        yield _changed(plan, now.model_copy(update=words))
    for name in _OTHERS:
        if name != now.name:
            yield _changed(plan, build("table-method", name, {}))


def _changed(plan: Plan, method: TableMethod) -> tuple[str, Plan]:
    assert plan.table is not None
    changed = plan.with_(table=plan.table.model_copy(update={"protect": method}))
    if method.name != plan.table.protect.name:
        return f'[table.protect] use = "{method.name}"', changed
    before, after = plan.table.protect.plan_words(), method.plan_words()
    words = [
        f"{key} = {after[key]}" if key in after else f"without {key}"
        for key in dict.fromkeys((*before, *after))
        if before.get(key) != after.get(key)
    ]
    return f"[table.protect] {', '.join(words)}", changed
