"""Ways to mask more (or less): stronger steps, one more step, another search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...data.schema import Kind
from ...errors import ParameterError
from ...nested import words as nested_words
from ...protocols import Declaration, Partitioner
from ..plan import toml
from ..plan.plan import Plan
from ..plan.step import Step, build
from .trying import Candidates

Changes = Iterator[tuple[str, Plan]]

STRONGER = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0)
_MILDER = (1.5, 2.0, 4.0, 8.0, 20.0, 50.0)
# What searches there are for sets, by the requirement that each is made to keep; the strongest
# promise first.
FOR_SETS = {
    "k-anonymity": "set-mondrian",
    "kk-anonymity": "kk-cluster",
    "k1-anonymity": "k1-top-down",
    "km-anonymity": "km-suppression",
}
UNTIL = frozenset({"individual-risk", "household-risk", "global-risk"})
"""Limits until which cells can be suppressed."""
_SUPPRESSIONS = ("local-suppression", "km-suppression")
_STRENGTH = ("k", "amount", "p", "count", "size")
"""Parameters that make a step mask more the larger they are."""


def joined_or_stronger(plan: Plan, k: int) -> Iterator[Candidates]:
    """The steps that there are, with stronger parameters."""
    if plan.input.given and plan.input.given_join == "refuse":
        for how in ("keep", "coarsen"):
            joining = plan.input.model_copy(update={"given_join": how})
            yield iter([(f'[input] given-join = "{how}"', plan.with_(input=joining))])
    for index, name in _strengths(plan):
        yield _stronger(plan, index, name, k)


def milder(plan: Plan, k: int) -> Iterator[Candidates]:
    """The steps that there are, with weaker parameters: where a release loses too much."""
    for index, name in _strengths(plan):
        yield _with_values(plan, index, name, lambda now: [now / f for f in _MILDER], k)


def _strengths(plan: Plan) -> Iterator[tuple[int, str]]:
    for index, step in enumerate(plan.steps):
        for name in _STRENGTH:
            if name in type(step.use).model_fields:
                yield index, name


def _stronger(plan: Plan, index: int, name: str, k: int) -> Changes:
    def values(now: float) -> list[float]:
        found = [now * factor for factor in STRONGER if now]
        return [float(k), *found] if name == "k" and k > now else found

    yield from _with_values(plan, index, name, values)


def _with_values(plan: Plan, index: int, name: str, values: Any, least: int = 0) -> Changes:
    """A step with one parameter changed to one value after another."""
    step = plan.steps[index]
    now = getattr(step.use, name)
    if not isinstance(now, int | float) or isinstance(now, bool):
        return  # a parameter that is chosen by itself has no stronger value
    whole = isinstance(now, int)
    found = [int(-(-v // 1)) if whole else float(v) for v in values(now)]
    for value in dict.fromkeys(v for v in found if name != "k" or v >= least):
        changed = with_step(plan, index, {name: value})
        if changed is not None:
            yield f"steps.{index + 1}: {name} = {toml.value(value)}", changed


def with_step(plan: Plan, index: int, changes: dict[str, Any]) -> Plan | None:
    """The plan with parameters of a step changed; None where the step does not take them."""
    try:
        changed = plan.steps[index].with_(changes)
    except ParameterError:
        return None
    return plan.with_(steps=(*plan.steps[:index], changed, *plan.steps[index + 1 :]))


def one_more(plan: Plan, name: str, words: dict[str, Any]) -> tuple[str, Plan]:
    """The plan with a step more at its end."""
    steps = (*plan.steps, Step(build("method|partitioner", name, words)))
    return f"one more step: {step_words(name, words)}", plan.with_(steps=steps)


def step_words(name: str, words: dict[str, Any]) -> str:
    """A step on one line."""
    keys = {key.replace("_", "-"): plain_words(value) for key, value in words.items()}
    return ", ".join(f"{key} = {toml.value(value)}" for key, value in {"use": name, **keys}.items())


def plain_words(value: Any) -> Any:
    """A parameter as a plan file writes it."""
    if isinstance(value, list):
        return [plain_words(one) for one in value]
    return nested_words(value) if isinstance(value, Declaration) else value


def suppressed(plan: Plan, k: int) -> Changes:
    """One more step: suppress the cells that still stand out."""
    if k >= 2:
        yield one_more(plan, "local-suppression", {"k": k})


def until(plan: Plan) -> Iterator[Candidates]:
    """Cells suppressed until the risks of a sample are within the limits that are required: after
    what there is, and in place of the searches."""
    asked = [r for r in plan.requirements if r.name in UNTIL and 0 < (r.at_most or 0) <= 1]
    if not asked:
        return
    words: dict[str, Any] = {"until": {r.name: r.at_most for r in asked}}
    if all(getattr(r.thing, "missing", "") == "wildcard" for r in asked):
        words["reading"] = "wildcard"
    yield [one_more(plan, "local-suppression", words)]
    if gone := searches(plan):
        yield [instead(plan, gone, "local-suppression", words)]


def mondrian(plan: Plan, k: int) -> Changes:
    """Generalize by groups, in place of the searches and suppressions there are."""
    largest = largest_k(plan)
    gone = searches(plan)
    if [step.use.name for step in gone] == ["mondrian"]:
        return  # it is Mondrian already, and a larger k was tried before
    for size in dict.fromkeys(max(2, k, int(largest * factor)) for factor in (1.0, *STRONGER)):
        yield instead(plan, gone, "mondrian", {"k": size})


def instead(plan: Plan, gone: Sequence[Step], name: str, words: dict[str, Any]) -> tuple[str, Plan]:
    """A search in place of others."""
    kept = [step for step in plan.steps if step not in gone]
    said = f" instead of {', '.join(step.use.name for step in gone)}" if gone else ""
    step = Step(build("method|partitioner", name, words))
    return step_words(name, words) + said, plan.with_(steps=(*kept, step))


def largest_k(plan: Plan) -> int:
    """The largest group size of any step."""
    sizes = (getattr(step.use, "k", 0) for step in plan.steps)
    return max((int(size) for size in sizes if isinstance(size, int)), default=0)


def searches(plan: Plan) -> list[Step]:
    """The steps that group all quasi-identifiers."""
    return [step for step in plan.steps if _groups_or(step, "local-suppression", "full-domain")]


def _groups_or(step: Step, *suppressions: str) -> bool:
    """Whether a step groups records or suppresses cells. One on named columns may guard something
    else than the quasi-identifiers, and does not count."""
    search = isinstance(step.use, Partitioner) or step.use.name in suppressions
    return search and not step.use.columns


def set_search(plan: Plan, requirement: str, k: int, criteria: Sequence[Any]) -> Changes:
    """The search that keeps this requirement, in place of those for sets that there are."""
    name = FOR_SETS[requirement]
    asked = next((r.thing for r in plan.requirements if r.name == requirement), None)
    words: dict[str, Any] = {}
    if name == "km-suppression":
        words["m"] = getattr(asked, "m", 2)
        if column := getattr(asked, "column", ""):
            words["columns"] = [column]
    elif name == "set-mondrian" and criteria:
        words["criteria"] = list(criteria)
    gone = [
        step
        for step in plan.steps
        if _groups_or(step, *_SUPPRESSIONS) and (not step.use.kinds or Kind.SET in step.use.kinds)
    ]
    same = [step.use.name for step in gone] == [name] and "criteria" not in words
    if same and words.get("m", 0) <= getattr(gone[0].use, "m", 0):
        return  # a larger k was tried before
    least = max(2, int(getattr(asked, "k", k)))
    sizes = [least, max(least, k), *(int(least * factor) for factor in STRONGER)]
    for size in dict.fromkeys(sizes):
        yield instead(plan, gone, name, {"k": size, **words})
