"""Plans made of plans: a step or a requirement left out, or another in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import ParameterError
from ...protocols import Declaration
from .plan import Plan, Tune
from .requirement import EXPOSURE, Requirement, required
from .step import Step, as_steps


def without(plan: Plan, which: Sequence[int | str]) -> Plan:
    """The plan without these steps and requirements."""
    places = {one: _place(plan, one) for one in which}
    gone = {place for place in places.values() if place is not None}
    names = {str(one) for one, place in places.items() if place is None}
    steps = tuple(step for place, step in enumerate(plan.steps) if place not in gone)
    asked = tuple(r for r in _asked(plan) if not names & _names(r.thing))
    return replace(plan, steps=steps, requirements=asked, tune=_tuned(plan.tune, gone))


def replaced(plan: Plan, which: int | str, new: Any, parameters: Mapping[str, Any]) -> Plan:
    """The plan with another step or requirement, or with some of its parameters changed."""
    place = _place(plan, which)
    if (new is None) == (not parameters):
        raise ParameterError(
            f"{which!r} gets another in its place, or other parameters: one of the two",
            remedy='plan.replace(1, k=10), or plan.replace(1, sf.method("mdav", k=10))',
        )
    if place is None:
        return _requiring(plan, str(which), new, parameters)
    made = (plan.steps[place].with_(parameters),) if new is None else as_steps(new)
    if len(made) != 1:
        raise ParameterError(
            f"one step takes the place of another, and these are {len(made)}",
            remedy="plan.with_(steps=...) takes any number of them",
        )
    return replace(plan, steps=(*plan.steps[:place], *made, *plan.steps[place + 1 :]))


def place_of(steps: Sequence[Step], name: str) -> int | None:
    """Where the step of that name is, from 0; None where there is none."""
    found = [place for place, step in enumerate(steps) if name in _names(step.use)]
    if len(found) > 1:
        numbers = " and ".join(str(place + 1) for place in found)
        raise ParameterError(
            f"{name!r} are the steps {numbers}",
            remedy=f"plan.without({found[0] + 1}) counts from 1, release.steps[{found[0]}] from 0",
        )
    return found[0] if found else None


def told(steps: Sequence[Step]) -> str:
    """The steps by number and name."""
    return ", ".join(f"{place + 1} ({step.use.name})" for place, step in enumerate(steps))


def _place(plan: Plan, which: int | str) -> int | None:
    """Where a step is, from 0; None where a requirement is meant."""
    if isinstance(which, str):
        place = place_of(plan.steps, which)
        if place is not None or any(which in _names(r.thing) for r in _asked(plan)):
            return place
    elif which in range(1, len(plan.steps) + 1):
        return which - 1
    if which == EXPOSURE:
        raise ParameterError(
            "every release has to pass the exposure check, whatever its plan says",
            remedy='sf.protect(table, plan, require={"exposure": False})',
        )
    names = ", ".join(dict.fromkeys(r.name for r in _asked(plan))) or "none"
    raise ParameterError(
        f"the plan has no step and no requirement {which!r}",
        remedy=f"its steps are {told(plan.steps) or 'none'}; its requirements {names}",
    )


def _asked(plan: Plan) -> tuple[Requirement, ...]:
    """The requirements without the exposure check that a release's plan has in front of them: its
    limit goes by the others, and is found anew."""
    rest = tuple(r for r in plan.requirements if r.name != EXPOSURE)
    return rest if plan.gate.over(rest) == plan.requirements else plan.requirements


def _requiring(plan: Plan, name: str, new: Any, parameters: Mapping[str, Any]) -> Plan:
    """The plan with other words for a requirement, as `[require]` has them."""
    asked = _asked(plan)
    same = [r for r in asked if name in _names(r.thing)]
    if new is None:
        if len(same) > 1:
            raise ParameterError(
                f"{name} is required {len(same)} times, and nothing says which of them changes",
                remedy=f'plan.replace("{name}", [...]) takes the place of all',
            )
        more = {key.replace("_", "-"): value for key, value in parameters.items()}
        new = {**same[0].words(), **more}
    at, made = asked.index(same[0]), required(same[0].name, new)
    before, after = (tuple(r for r in part if r not in same) for part in (asked[:at], asked[at:]))
    return replace(plan, requirements=(*before, *made, *after))


def _tuned(tune: Tune | None, gone: set[int]) -> Tune | None:
    """What is tuned, by its number among the steps that are left."""
    if tune is None or tune.step is None:
        return tune
    if tune.step - 1 in gone:
        raise ParameterError(
            f"[tune] raises a parameter of step {tune.step}, which is left out",
            remedy="plan.with_(tune=None)",
        )
    before = sum(place < tune.step - 1 for place in gone)
    return tune.model_copy(update={"step": tune.step - before})


def _names(thing: Declaration) -> set[str]:
    return {thing.name, *thing.aliases}
