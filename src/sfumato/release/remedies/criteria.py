"""Ways to keep a criterion: a search that takes it along, or the few who break it suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...data.people.repeated import repeated_key
from ...data.table import Table
from ...protocols import Criterion
from ..plan import toml
from ..plan.plan import Plan
from ..plan.step import Step, build
from .masking import Changes, instead, largest_k, one_more, plain_words, searches, with_step
from .trying import LARGE, Candidates

_FEW = (0.01, 0.05, 0.2)
"""Shares of the records that may be suppressed."""
_STEPS = 20
"""Of local recoding for each record: no clock decides what a remedy gives."""
_MOST_STEPS = 20_000
_NODES, _WIDE = 2_000, 10
"""How much of the lattice of levels is looked at, where there are more columns than these."""
_GROUPS = (1.0, 2.0, 4.0)
_PRESENT = (0.5, 0.2, 0.1)


def guiding(plan: Plan, table: Table) -> list[Criterion]:
    """The required criteria that a search can keep."""
    several = repeated_key(table) is not None
    return [
        r.thing
        for r in plan.requirements
        if isinstance(r.thing, Criterion)
        and type(r.thing).keeps is not Criterion.keeps
        # k records alone are what every search has; k people are not.
        and (set(r.thing.parameters()) != {"k"} or (several and _of_people(r.thing)))
    ]


def _of_people(criterion: Criterion) -> bool:
    return getattr(criterion, "unit", "") == "person"


def with_criteria(plan: Plan, table: Table, k: int) -> Iterator[Candidates]:
    """Searches that keep what is required, and suppression of those who break it."""
    rules = guiding(plan, table)
    if rules:
        yield seeing_people(_taken_along(plan, rules, k), table)
        yield seeing_people(_few(plan, table, rules, k), table)
        yield seeing_people(local_recoding(plan, table, rules, k), table)
        yield seeing_people(_full_domain(plan, table, rules, k), table)
    if any(r.name in ("delta-presence", "k-map") for r in plan.requirements):
        yield _sampled(plan)


def seeing_people(changes: Changes, table: Table) -> Changes:
    """The same with the identifiers dropped last: a search counts people by one that repeats."""
    key = repeated_key(table)
    for change, plan in changes:
        drops = [
            step
            for step in plan.steps
            if step.use.name == "drop" and (not step.use.columns or key in step.use.columns)
        ]
        if key is None or not drops or plan.steps[-len(drops) :] == tuple(drops):
            yield change, plan
            continue
        kept = [step for step in plan.steps if step not in drops]
        yield f"{change}; drop last, after the search", plan.with_(steps=(*kept, *drops))


def _taken_along(plan: Plan, rules: list[Criterion], k: int) -> Changes:
    """The same searches, which from now on keep the criteria too."""
    for index, step in enumerate(plan.steps):
        if "criteria" not in type(step.use).model_fields or step.use.columns:
            continue
        more: dict[str, Any] = {"criteria": rules}
        if k > getattr(step.use, "k", 0):
            more["k"] = k
        changed = with_step(plan, index, more)
        if changed is not None:
            said = ", ".join(
                f"{key} = {toml.value(plain_words(value))}" for key, value in more.items()
            )
            yield f"steps.{index + 1}: {said}", changed


def _few(plan: Plan, table: Table, rules: list[Criterion], k: int) -> Changes:
    """One more step, which hides the records of the classes that break a criterion."""
    if not searches(plan):
        return
    size = max(1, k, largest_k(plan))
    for share in _FEW:
        yield one_more(plan, "full-domain", _levels(table, rules, size, share))


def local_recoding(plan: Plan, table: Table, rules: list[Criterion], k: int) -> Changes:
    """Groups of least loss that keep the criteria, in place of the searches there are. Of large
    tables it takes minutes, and is not tried."""
    if table.height > LARGE:
        return
    size = max(2, k, largest_k(plan))
    steps = min(_STEPS * table.height, _MOST_STEPS)
    for factor in _GROUPS:
        words: dict[str, Any] = {"k": int(size * factor), "steps": steps}
        if rules:
            words["criteria"] = rules
        yield instead(plan, searches(plan), "local-recoding", words)


def _full_domain(plan: Plan, table: Table, rules: list[Criterion], k: int) -> Changes:
    """Levels that keep the criteria, in place of the searches there are."""
    size = max(1, k, largest_k(plan))
    for share in (0.0, *_FEW):
        words = _levels(table, rules, size, share)
        yield instead(plan, searches(plan), "full-domain", words)


def _levels(table: Table, rules: list[Criterion], k: int, share: float) -> dict[str, Any]:
    """The words of a full-domain step."""
    words: dict[str, Any] = {"k": k, "criteria": rules}
    if share:
        words["suppress"] = share
    if len(table.schema.quasi) > _WIDE:
        words["steps"] = _NODES
    return words


def _sampled(plan: Plan) -> Changes:
    """A sample of the records, so that fewer people are present."""
    if any(step.use.name == "sampling" for step in plan.steps):
        return
    for share in _PRESENT:
        step = Step(build("method", "sampling", {"share": share}))
        said = f'first step: use = "sampling", share = {share}'
        yield said, plan.with_(steps=(step, *plan.steps))
