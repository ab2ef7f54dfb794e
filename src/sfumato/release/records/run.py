"""Running a plan: steps in order, promises counted, measures taken; a `Release`, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...addresses import is_address
from ...data.io import read_with_notes
from ...data.io.sets import replaced_columns
from ...data.io.stat import uncoded
from ...data.kinds import Misfit, complaint, fit, order_of
from ...data.linkage.strangers import shared_columns, typed_as
from ...data.people.participants import held_out
from ...data.people.repeated import people_published
from ...data.schema import Schema, missing_column
from ...data.table import Table, with_others, with_person
from ...data.table import table as make_table
from ...engines.local import Local
from ...errors import InputError, ParameterError, ReleaseRefused, SchemaError
from ...kernels.device import working_on
from ...progress import Listener, listening, silent
from ...protocols import Finding, Measure, Measurement
from ...rng import draw_seed, stream
from ..given.earlier import given_by
from ..given.joining import joined
from ..given.keeping import in_classes
from ..plan.plan import Plan
from ..plan.requirement import Gate, Requirement, required
from ..plan.step import as_steps
from ..remedies.attacked import advice
from ..remedies.search import remedies_for
from ..seeds import checked_or_told, guessable
from .again import again
from .checks import check_classes, check_gate, check_plan, check_promises, check_roles
from .evidence import Evidence, Measuring, panel_of
from .judging import costly, judge
from .masking import Draft, run_steps
from .randomness import BY_LEDGER, Randomness
from .recording import publication
from .release import Private, Release
from .written import output_notes


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
) -> Release:
    """Mask a table by a plan, a plan file, a method or a list of them.

    Raises `ReleaseRefused` where a requirement is not met, or where the ledger beside `output` (the
    plan's unless given) knows earlier releases of these people. Without a seed a secret one is
    drawn. `given` are releases of the same people that are public already.
    """
    plan = beside(as_plan(plan, require, measures), given)
    with working_on(plan.engine.device if isinstance(plan.engine, Local) else "auto") as said:
        return _protected(table, plan, seed, reference, output, progress or silent, said)


def _protected(
    table: Any,
    plan: Plan,
    seed: int | None,
    reference: Any,
    output: str | Path,
    tell: Listener,
    said: list[str],
) -> Release:
    """The release; of the device that works, what there is to say is in `said` by then."""
    check_plan(plan)
    asked, plan = plan, gated(plan)
    warnings: list[str] = []
    seed = draw_seed() if seed is None else checked_or_told(seed, warnings)
    original = with_columns_of(plan, table)
    check_roles(original)
    check_gate(plan, original)
    check_promises(plan, original)
    if reference is not None and not isinstance(reference, Table):
        reference = with_columns_of(plan, reference)
    original, reference, left = hold_out(original, plan, reference, seed)
    stages = len(plan.steps) + 2
    target = output or plan.output.path
    randomness = Randomness.of(seed, original, left).known_by(original, plan, target)
    if randomness.people is not None:
        warnings.append(BY_LEDGER)
    draft = in_classes(original, plan, randomness, tell, Local(), reference)
    tell("counting requirements", len(plan.steps), stages)
    told = publication(draft.pair, plan, draft.steps, target).standing() if target else None
    with listening(tell):
        draft, findings, measuring = _judged(plan, draft, seed, reference)
    if not all(finding.met for finding in findings):
        asked_of = {r.name: r.thing for r in plan.requirements if costly(r)}
        for finding in findings:
            if finding.requirement in asked_of and not finding.met:
                found = next(f for m, _, f in measuring.taken if m == asked_of[finding.requirement])
                raise ReleaseRefused(findings, [], advice(finding, found, plan))
        anew = partial(attempt, randomness=randomness)
        raise ReleaseRefused(
            findings,
            *remedies_for(asked, original, seed, findings, draft, reference, anew, tell),
        )
    tell("measuring", len(plan.steps) + 1, stages)
    with listening(tell):
        evidence = _evidence(plan, draft, findings, measuring, left is not None)
    tell("done", stages, stages)
    return Release(
        draft.pair,
        replace(
            evidence,
            owner_notes=(*warnings, *said, *draft.owner_notes),
            ledger=told,
            guessable_seed=guessable(seed),
        ),
        Private(seed, draft.secrets, draft.lineage, plan, left),
        plan,
        draft.partition,
        draft.groups,
        reference,
        draft.copies,
        stages=draft.stages,
        reruns={seed: measuring.again},
    )


def beside(plan: Plan, given: str | Path | Iterable[str | Path]) -> Plan:
    """The plan with these among the releases that are public already."""
    named = [given] if isinstance(given, str | Path) else given
    earlier = (*plan.input.given, *map(str, named))
    return plan.with_(input=plan.input.model_copy(update={"given": earlier}))


def gated(plan: Plan) -> Plan:
    """The plan with the exposure check among its requirements."""
    return plan.with_(requirements=plan.gate.over(plan.requirements))


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
        columns=public_columns(original.schema, masked.schema),
        notes=(
            *draft.notes,
            *uncoded(masked, original.schema, plan.output.format),
            *output_notes(plan.output, masked),
        ),
    )


def attempt(
    plan: Plan,
    original: Table,
    seed: int,
    reference: Table | None,
    randomness: Randomness | None = None,
) -> tuple[list[Finding], Draft]:
    """A plan's findings on a table, without its measures: what a remedy would give. A sample of the
    refused release's table has numbers of its own."""
    plan = gated(plan)
    original = with_columns_of(plan, original)
    reference = None if reference is None else with_columns_of(plan, reference)
    check_promises(plan, original)
    if randomness is None or randomness.rows.size != original.height:
        randomness = Randomness.of(seed, original)
    draft = in_classes(original, plan, randomness, silent, Local(), reference)
    # A remedy is not attacked: that is done when it is taken.
    plan = plan.with_(requirements=tuple(r for r in plan.requirements if not costly(r)))
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
    check_classes(plan, perturbed=draft.groups is not None, overlapping=draft.overlapping)
    beside: list[Finding] = []
    if plan.input.given:
        draft, beside = joined(plan, draft)
    rerun = again(plan, seed, reference)
    measuring = Measuring(
        seed, draft.groups, reference, plan.mechanism, rerun, given_by(plan.input.given)
    )
    return draft, [*judge(plan.requirements, draft.pairs, measuring), *beside], measuring


def read_input(plan: Plan, base: Path, path: str | None = None) -> tuple[Table, list[str]]:
    """The table that a plan names, with its roles and kinds, and what the reader decided."""
    return read_with_notes(source_of(plan, base, path), **reading_of(plan))


def reading_of(plan: Plan) -> dict[str, Any]:
    """What a reader is told: all that a plan says of its input and of columns."""
    kinds = {name: str(c.kind) for name, c in plan.columns.items() if c.kind is not None}
    categories = {name: c.categories for name, c in plan.columns.items() if c.categories}
    posets = {name: c.poset for name, c in plan.columns.items() if c.poset is not None}
    roles: dict[str, Any] = {}
    for name, column in plan.columns.items():
        if column.role is not None:
            roles.setdefault(column.role.value, []).append(name)
    options = plan.input.options()
    return {"kinds": kinds, "categories": categories, "posets": posets, **options, **roles}


def source_of(plan: Plan, base: Path, path: str | None = None) -> str:
    """Where a plan's records are; what it names lies beside it."""
    source = path or plan.input.path
    if not source:
        raise InputError("the plan names no input", remedy='[input] path = "register.csv"')
    return str(base / source) if not is_address(source) and path is None else source


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
            wanted += required(name, words)
    else:
        wanted = list(require)
    if wanted:
        plan = plan.with_(requirements=(*plan.requirements, *wanted))
    return plan if measures is None else plan.with_(measures=tuple(measures))


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
        others = read_input(words, Path())[0]
        return table, typed_as(others, table, shared_columns(others, table)), None
    if not 0 < share < 1:
        raise ParameterError(
            f"reference = {share} is not a share between 0 and 1", remedy="reference = 0.2"
        )
    out = held_out(table, share, rng=stream(seed, 0, "reference"))
    kept = np.flatnonzero(~out)
    return table.take(kept), table.take(np.flatnonzero(out)), kept


def public_columns(before: Schema, after: Schema) -> tuple[dict[str, Any], ...]:
    """What the evidence says of columns."""
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
