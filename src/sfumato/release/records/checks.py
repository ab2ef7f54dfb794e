"""What is checked of a plan before anything is masked, and of what its steps then did."""

from __future__ import annotations

from ...data.schema import Role, missing_column
from ...data.table import Table
from ...errors import Complaint, ParameterError, SchemaError
from ...protocols import Criterion, Measure
from ..landing import Landing
from ..plan.guess import guess
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE


def check_plan(plan: Plan) -> None:
    """Whether it can be run as it is."""
    if not plan.steps and not plan.requirements:
        raise ParameterError(
            "the plan neither masks nor requires anything", remedy='[[steps]] with use = "..."'
        )
    Landing.of(plan)  # says where the engine has no such table
    if plan.tune is not None:
        raise ParameterError(
            f"the plan leaves {plan.tune.parameter} to be tuned",
            remedy="sf.protect(table, sf.tune(table, plan).plan), or sfumato tune PLAN",
        )
    names = [measure.name for measure in plan.measures or ()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(
            f"the plan measures {twice} twice",
            remedy=f"take one by release.measure({twice!r}, ...)",
        )


def check_gate(plan: Plan, table: Table) -> None:
    """Whether the columns that the exposure check is told of are there."""
    named = [*plan.gate.known_to]
    for requirement in plan.requirements:
        if requirement.name == EXPOSURE:
            words = requirement.thing.parameters()
            named += words.get("known_to", ())
            for one in words.get("accept", ()):
                named += [one] if isinstance(one, str) else one
    unknown = [missing_column(name, table.names) for name in named if name not in table.schema]
    if unknown:
        raise SchemaError("[require] exposure", unknown)


def check_roles(table: Table) -> None:
    """A column that nobody named is not published: what it seems to be is said, not assumed."""
    named = table.schema.of_role(Role.UNDECIDED)
    if not named:
        return
    complaints = [
        Complaint(made.name, "has no role", f"{made.role}, perhaps: {made.why}")
        for made in guess(table)
        if made.name in named
    ]
    remedy = (
        'give each a role, or leave them all out: [input] others = "drop", --others drop, '
        'sf.table(..., others="drop")'
    )
    everyone = Complaint("", "columns without a role are not published", remedy)
    raise SchemaError("the table", [*complaints, everyone])


def check_promises(plan: Plan, table: Table) -> None:
    """Noise after grouping voids what is counted on groups: such a promise is not made at all."""
    promised = _counted_on_classes(plan)
    dirty: dict[str, int] = {}
    for index, step in enumerate(plan.steps):
        touched = step.touches(table)
        if step.perturbs:
            dirty |= dict.fromkeys(touched & set(table.schema.quasi), index)
        elif step.regroups:
            dirty = {name: where for name, where in dirty.items() if name not in touched}
    if promised and dirty:
        where = max(dirty.values())
        raise ParameterError(
            f"{promised[0]} cannot be promised: step {where + 1} "
            f"({plan.steps[where].use.name}) perturbs {', '.join(sorted(dirty))}, so that records "
            "look alike by chance",
            remedy="require record-linkage instead, or group after perturbing",
        )


def _counted_on_classes(plan: Plan) -> list[str]:
    """The requirements that mean nothing where records look alike by chance."""
    return [
        r.name
        for r in plan.requirements
        if (isinstance(r.thing, Measure) and r.thing.counts_classes)
        or (isinstance(r.thing, Criterion) and not r.thing.after_perturbing)
    ]


def check_classes(plan: Plan, *, perturbed: bool, overlapping: str) -> None:
    """Where sets overlap, what is confidential in records that look alike promises nothing. Which
    columns a step perturbs may depend on what those before it made of them, and is known now."""
    counted = _counted_on_classes(plan)
    if counted and perturbed:
        raise ParameterError(
            f"{counted[0]} cannot be promised: quasi-identifiers were perturbed and not grouped "
            "afterwards, so that records look alike by chance",
            remedy="require record-linkage instead, or group after perturbing",
        )
    promised = [
        r.name
        for r in plan.requirements
        if isinstance(r.thing, Criterion) and not r.thing.beside_cover
    ]
    if promised and overlapping:
        raise ParameterError(
            f"{promised[0]} cannot be promised: the sets of {overlapping} overlap, so that "
            "an intruder who knows a person chooses among records that do not look alike",
            remedy="use a search that makes classes, such as set-mondrian or mondrian (or repair = "
            '"k", where the search has it), or require k1-anonymity alone',
        )
