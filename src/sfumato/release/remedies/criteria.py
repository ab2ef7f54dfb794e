"""Ways to keep a criterion: a search that takes it along, or the few who break it suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...data.table import Table
from ...protocols import Criterion
from ..plan import toml
from ..plan.plan import Plan
from ..plan.step import Step, build
from .masking import Changes, instead, largest_k, one_more, plain_words, searches, with_step
from .trying import Candidates

_FEW = (0.01, 0.05, 0.2)
"""Shares of the records that may be suppressed."""
_STEPS = 20
"""Of local recoding for each record: no clock decides what a remedy gives."""
_MOST_STEPS = 200_000
_NODES, _WIDE = 2_000, 10
"""How much of the lattice of levels is looked at, where there are more columns than these."""
_GROUPS = (1.0, 2.0, 4.0)
_PRESENT = (0.5, 0.2, 0.1)


def guiding(plan: Plan) -> list[Criterion]:
    """The required criteria that a search can keep."""
    return [
        r.thing
        for r in plan.requirements
        if isinstance(r.thing, Criterion)
        and type(r.thing).keeps is not Criterion.keeps
        and set(r.thing.parameters()) - {"k"}  # k alone is what every search has
    ]


def with_criteria(plan: Plan, table: Table, k: int) -> Iterator[Candidates]:
    """Searches that keep what is required, and suppression of those who break it."""
    rules = guiding(plan)
    if rules:
        yield _taken_along(plan, rules, k)
        yield _few(plan, table, rules, k)
        yield local_recoding(plan, table, rules, k)
        yield _full_domain(plan, table, rules, k)
    if any(r.name in ("delta-presence", "k-map") for r in plan.requirements):
        yield _sampled(plan)


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
    """Groups of least loss that keep the criteria, in place of the searches there are."""
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
