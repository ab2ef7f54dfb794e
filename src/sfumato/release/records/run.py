"""Running a plan: steps in order, promises counted, measures taken; a `Release`, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...data.io import read_with_notes
from ...data.io.sets import replaced_columns
from ...data.io.stat import uncoded
from ...data.kinds import Misfit, complaint, fit, order_of
from ...data.people.participants import held_out
from ...data.people.repeated import people_published
from ...data.schema import Role, Schema, missing_column
from ...data.table import Table, with_others, with_person
from ...data.table import table as make_table
from ...engines.local import Local
from ...errors import Complaint, InputError, ParameterError, ReleaseRefused, SchemaError
from ...progress import Listener, listening, silent
from ...protocols import Criterion, Engine, Finding, Measure, Measurement
from ...rng import checked_seed, draw_seed, stream
from ..given.joining import joined
from ..given.keeping import in_classes
from ..plan.guess import guess
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE, Gate, Requirement, parse_requirement
from ..plan.step import as_steps
from ..remedies.search import remedies_for
from .evidence import Evidence, Measuring, panel_of
from .judging import judge
from .masking import Draft, run_steps
from .recording import publication
from .release import Private, Release
from .written import output_notes

_GUESSABLE = 2**64


def protect(
    table: Any,
    plan: Any,
    seed: int | None = None,
    *,
    require: Mapping[str, Any] | Iterable[Requirement] = (),
    measures: Iterable[Measure] | None = None,
    reference: Any = None,
    given: str | Path | Iterable[str | Path] = (),
    output: str | Path = "",
    progress: Listener | None = None,
    engine: Engine | None = None,
) -> Release:
    """Mask a table by a plan, a plan file, a method or a list of them.

    Raises `ReleaseRefused` where a requirement is not met, or where the ledger beside `output` (the
    plan's unless given) knows earlier releases of these people. Without a seed a secret one is
    drawn. `given` are releases of the same people that are public already.
    """
    plan = as_plan(plan, require, measures)
    named = [given] if isinstance(given, str | Path) else given
    earlier = (*plan.input.given, *map(str, named))
    plan = plan.with_(input=plan.input.model_copy(update={"given": earlier}))
    _check_plan(plan)
    asked, plan = plan, _gated(plan)
    warnings: list[str] = []
    seed = draw_seed() if seed is None else _checked(seed, warnings)
    tell = progress or silent
    original = with_columns_of(plan, table)
    _check_roles(original)
    _check_gate(plan, original)
    _check_promises(plan, original)
    if reference is not None and not isinstance(reference, Table):
        reference = with_columns_of(plan, reference)
    original, reference, left = hold_out(original, plan, reference, seed)
    stages = len(plan.steps) + 2
    draft = in_classes(original, plan, seed, tell, engine or Local(), reference)
    tell("counting requirements", len(plan.steps), stages)
    target = output or plan.output.path
    told = publication(draft.pair, plan, draft.steps, target).standing() if target else None
    draft, findings, measuring = _judged(plan, draft, seed, reference)
    if not all(finding.met for finding in findings):
        raise ReleaseRefused(
            findings,
            *remedies_for(asked, original, seed, findings, draft, reference, attempt, tell),
        )
    tell("measuring", len(plan.steps) + 1, stages)
    with listening(tell):
        evidence = _evidence(plan, draft, findings, measuring, left is not None)
    tell("done", stages, stages)
    return Release(
        draft.pair,
        replace(evidence, owner_notes=tuple(warnings), ledger=told),
        Private(seed, draft.secrets, draft.lineage, plan, left),
        plan,
        draft.partition,
        draft.groups,
        reference,
        draft.copies,
    )


def _gated(plan: Plan) -> Plan:
    """The plan with the exposure check among its requirements."""
    return plan.with_(requirements=plan.gate.over(plan.requirements))


def _check_plan(plan: Plan) -> None:
    """Whether it can be run as it is."""
    if not plan.steps and not plan.requirements:
        raise ParameterError(
            "the plan neither masks nor requires anything", remedy='[[steps]] with use = "..."'
        )
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


def _evidence(
    plan: Plan, draft: Draft, findings: list[Finding], measuring: Measuring, held_out: bool
) -> Evidence:
    """The measures of a draft, and what was found and done."""
    taken, left = measuring.panel(panel_of(plan), draft.pair)
    original, masked = draft.pair.original, draft.pair.masked
    records = {"original": original.height, "published": masked.height}
    if held_out and measuring.reference is not None:
        records["held out"] = measuring.reference.height
    if (people := people_published(draft.pair)) is not None:
        records["people"] = people.people
    return Evidence(
        measurements=taken,
        not_taken=left,
        findings=tuple(findings),
        steps=draft.steps,
        records=records,
        columns=_public_columns(original.schema, masked.schema),
        notes=(
            *draft.notes,
            *uncoded(masked, original.schema, plan.output.format),
            *output_notes(plan.output, masked),
        ),
    )


def attempt(
    plan: Plan, original: Table, seed: int, reference: Table | None
) -> tuple[list[Finding], Draft]:
    """A plan's findings on a table, without its measures: what a remedy would give."""
    plan = _gated(plan)
    original = with_columns_of(plan, original)
    reference = None if reference is None else with_columns_of(plan, reference)
    _check_promises(plan, original)
    draft = in_classes(original, plan, seed, silent, Local(), reference)
    draft, findings, _ = _judged(plan, draft, seed, reference)
    return findings, draft


def drafted(
    plan: Plan, original: Table, seed: int, reference: Table | None
) -> tuple[Draft, Callable[[Measure], Measurement]]:
    """A plan's draft on a table, and what takes measures of it; nothing is promised or judged."""
    draft = run_steps(original, plan, seed, silent, Local(), reference)
    measuring = Measuring(seed, draft.groups, reference, plan.mechanism)
    return draft, partial(measuring.take, pair=draft.pair)


def _judged(
    plan: Plan, draft: Draft, seed: int, reference: Table | None
) -> tuple[Draft, list[Finding], Measuring]:
    """The draft, beside releases that are public already, what was found, and what takes its
    measures."""
    _check_classes(plan, draft)
    beside: list[Finding] = []
    if plan.input.given:
        draft, beside = joined(plan, draft)
    measuring = Measuring(seed, draft.groups, reference, plan.mechanism)
    return draft, [*judge(plan.requirements, draft.pairs, measuring), *beside], measuring


def read_input(plan: Plan, base: Path, path: str | None = None) -> tuple[Table, list[str]]:
    """The table that a plan names, with its roles and kinds, and what the reader decided."""
    given = plan.input
    source = path or given.path
    if not source:
        raise InputError("the plan names no input", remedy='[input] path = "register.csv"')
    source = str(base / source) if "://" not in source and path is None else source
    kinds = {name: str(c.kind) for name, c in plan.columns.items() if c.kind is not None}
    categories = {name: c.categories for name, c in plan.columns.items() if c.categories}
    posets = {name: c.poset for name, c in plan.columns.items() if c.poset is not None}
    roles: dict[str, Any] = {}
    for name, column in plan.columns.items():
        if column.role is not None:
            roles.setdefault(column.role.value, []).append(name)
    return read_with_notes(
        source, kinds=kinds, categories=categories, posets=posets, **given.options(), **roles
    )


def with_columns_of(plan: Plan, given: Any) -> Table:
    """The table with what the plan says about its columns laid over its schema."""
    table = given if isinstance(given, Table) else make_table(given)
    gone = replaced_columns(plan.input.sets)
    unknown = [n for n in plan.columns if n not in table.schema and n not in gone]
    complaints = [missing_column(name, table.names) for name in unknown]
    series, columns = [], []
    for name, planned in plan.columns.items():
        if name not in table.schema:
            continue
        before = table.schema[name]
        kind = planned.kind or before.kind
        try:
            order = order_of(table[name], kind, planned.categories or before.categories)
            if not before.generalized:
                series.append(fit(table[name], kind, order))
        except Misfit as misfit:
            complaints.append(complaint(name, misfit))
            continue
        columns.append(
            before.with_(
                kind=kind,
                role=planned.role or before.role,
                categories=order,
                poset=planned.poset or before.poset,
            )
        )
    if complaints:
        raise SchemaError("the table", complaints)
    laid = with_person(table.with_columns(series, columns), plan.input.person)
    return with_others(laid, plan.input.others)


def _check_gate(plan: Plan, table: Table) -> None:
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


def _check_roles(table: Table) -> None:
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


def as_plan(given: Any, require: Any = (), measures: Iterable[Measure] | None = None) -> Plan:
    """A plan from a plan, a plan file, a step or a list of them, with more requirements."""
    if isinstance(given, str | Path):
        plan = Plan.read(given)
    elif isinstance(given, Plan):
        plan = given
    else:
        plan = Plan(steps=as_steps(given))
    wanted: list[Requirement] = []
    if isinstance(require, Mapping):
        gate, require, complaints = Gate.taken_from(require)
        if complaints:
            raise ParameterError(complaints[0].what, remedy=complaints[0].remedy)
        both = (*plan.gate.known_to, *gate.known_to)
        plan = plan.with_(gate=Gate(plan.gate.checked and gate.checked, both))
        for name, words in require.items():
            good, bad = parse_requirement(name, words)
            if bad:
                raise ParameterError("; ".join(map(str, bad)), remedy=f"sfumato explain {name}")
            wanted += good
    else:
        wanted = list(require)
    if wanted:
        plan = plan.with_(requirements=(*plan.requirements, *wanted))
    return plan if measures is None else plan.with_(measures=tuple(measures))


def _checked(seed: int, notes: list[str]) -> int:
    number = checked_seed(seed)
    if number < _GUESSABLE:
        notes.append(
            "the seed was given and can be guessed: whoever tries all small seeds undoes the "
            "shuffle and the noise, and finds keys and pseudonyms; publish one made without a seed"
        )
    return number


def hold_out(
    table: Table, plan: Plan, reference: Table | None, seed: int
) -> tuple[Table, Table | None, np.ndarray | None]:
    """Non-participants: as given, or a share of the records held out before masking.

    The third is which rows are left, where some were held out.
    """
    share = plan.input.reference
    if reference is not None or not share:
        return table, reference, None
    if isinstance(share, str):
        words = plan.with_(input=plan.input.model_copy(update={"path": share, "reference": ""}))
        return table, read_input(words, Path())[0], None
    if not 0 < share < 1:
        raise ParameterError(
            f"reference = {share} is not a share between 0 and 1", remedy="reference = 0.2"
        )
    out = held_out(table, share, rng=stream(seed, 0, "reference"))
    kept = np.flatnonzero(~out)
    return table.take(kept), table.take(np.flatnonzero(out)), kept


def _check_promises(plan: Plan, table: Table) -> None:
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


def _check_classes(plan: Plan, draft: Draft) -> None:
    """Where sets overlap, what is confidential in records that look alike promises nothing. Which
    columns a step perturbs may depend on what those before it made of them, and is known now."""
    counted = _counted_on_classes(plan)
    if counted and draft.groups is not None:
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
    if promised and draft.overlapping:
        raise ParameterError(
            f"{promised[0]} cannot be promised: the sets of {draft.overlapping} overlap, so that "
            "an intruder who knows a person chooses among records that do not look alike",
            remedy="use a search that makes classes, such as set-mondrian or mondrian (or repair = "
            '"k", where the search has it), or require k1-anonymity alone',
        )


def _public_columns(before: Schema, after: Schema) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "name": column.name,
            "role": str(column.role),
            "kind": str(column.kind),
            **({"label": column.label} if column.label else {}),
            "published": column.name in after,
            "generalized": column.name in after and after[column.name].generalized,
        }
        for column in before
    )
