"""What is worth a trial: every method that says for what it is a candidate, at its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...candidate import Candidate, Family, Scope
from ...data.people.repeated import repeated_key
from ...data.schema import SET_ASIDE, Kind, Role
from ...data.table import Table
from ...protocols import Verb
from ...registry import entries, find
from ...release.plan.plan import Plan, Purpose
from ...release.plan.step import Step, build
from ..risk_utility import NAMELESS, label_of

GIVEN = "the plan as it is"
_PEOPLE = 20
"""A group of k is tried where so many groups fit into all of the people."""
_NAMING = (*SET_ASIDE, Role.UNDECIDED)


@dataclass(frozen=True)
class Option:
    """One method or chain, with its settings from the least protection to the most."""

    name: str
    family: Family | None
    labels: tuple[str, ...]
    plans: tuple[Plan, ...]
    usual: int = 0
    barred: str = ""
    """Which clause of the purpose excludes it, and why."""
    linked: bool = True
    """Whether every row stays the row of a person."""


def candidates() -> dict[str, Candidate]:
    """Every method that says for what it is a candidate."""
    return {entry.name: entry.load().candidate for entry in entries() if entry.family}


def attacked_by(table: Table, purpose: Purpose) -> Table:
    """The table with the roles that its attackers give it: what they know are quasi-identifiers,
    and what was one and they do not know is confidential. Names and households stay what they are:
    they are not published, and tell who belongs together."""
    if not purpose.attackers:
        return table
    columns = []
    for column in table.schema:
        if column.role in SET_ASIDE:
            continue
        if column.name in purpose.attackers:
            columns.append(column.with_(role=Role.QUASI))
        elif column.role == Role.QUASI:
            columns.append(column.with_(role=Role.CONFIDENTIAL))
    return table.with_columns([], columns)


def portfolio(
    table: Table, plan: Plan, purpose: Purpose, methods: Sequence[str] = ()
) -> list[Option]:
    """What to try on a table: the plan's own steps, and each candidate in the place of them."""
    first = nameless(table, plan)
    found = [_given(plan, first, purpose)] if _masking(plan) else []
    for name, candidate in candidates().items():
        if not methods or name in methods:
            found += _options(name, candidate, table, plan, first, purpose)
    return found


def nameless(table: Table, plan: Plan) -> tuple[Step, ...]:
    """What takes names away: the plan's own steps for it, and a drop of whatever they leave, and
    of sets, which no candidate masks and no attack looks at."""
    steps = tuple(step for step in plan.steps if step.use.name in NAMELESS)
    handled = {name for step in steps for name in step.touches(table)}
    left = [
        c.name
        for c in table.schema
        if (c.role in _NAMING or c.kind == Kind.SET) and c.name not in handled
    ]
    return (*steps, Step(build("method", "drop", {"columns": left}))) if left else steps


def _masking(plan: Plan) -> tuple[Step, ...]:
    return tuple(step for step in plan.steps if step.use.name not in NAMELESS)


def _given(plan: Plan, first: Sequence[Step], purpose: Purpose) -> Option:
    # In its own order: a search may count people by what is dropped after it.
    steps, more = _masking(plan), [step for step in first if step not in plan.steps]
    made = plan.with_(steps=(*more, *plan.steps))
    return Option(GIVEN, None, (GIVEN,), (made,), barred=_barred(None, steps, purpose))


def _options(
    name: str,
    candidate: Candidate,
    table: Table,
    plan: Plan,
    first: Sequence[Step],
    purpose: Purpose,
) -> Iterator[Option]:
    for scope in candidate.scopes:
        for verb in (None, *candidate.verbs):
            yield _option(name, candidate, scope, verb, False, table, plan, first, purpose)
        if candidate.after and scope == "quasi":
            yield _option(name, candidate, scope, None, True, table, plan, first, purpose)


def _option(
    name: str,
    candidate: Candidate,
    scope: Scope,
    verb: str | None,
    chained: bool,
    table: Table,
    plan: Plan,
    first: Sequence[Step],
    purpose: Purpose,
) -> Option:
    gone = {n for step in first for n in step.touches(table) if step.use.name == "drop"}
    open_ = [c.name for c in table.schema if c.role not in _NAMING and c.name not in gone]
    then: Verb | None = None if verb is None else build("verb", verb, {})
    said = "" if len(candidate.scopes) == 1 or scope == "quasi" else " on all columns"
    shown = name + (f" then {verb}" if verb else "") + said
    tail: tuple[Step, ...] = ()
    if chained:
        hidden = [n for n in open_ if table.schema[n].role != Role.QUASI]
        tail = _covering(candidate.after, {}, hidden, "pram", table)
        shown += " with " + (" and ".join(step.use.name for step in tail) or candidate.after)
    ladder = [s for s in candidate.ladder if s.get("k", 0) * _PEOPLE <= table.height]
    labels, plans = [], []
    for words in ladder or candidate.ladder[:1]:
        if scope == "all":
            own = _covering(name, words, open_, candidate.rest, table, then)
        else:
            own = (Step(build("method|partitioner", name, _of_people(name, words, table)), then),)
        labels.append(label_of(shown, words))
        masking = (*own, *tail)
        # Who has several records is counted by an identifier, while it is there.
        steps = (*masking, *first) if candidate.linked else (*first, *masking)
        plans.append(plan.with_(steps=steps))
    barred = _barred(candidate, steps, purpose)
    if chained and not tail:
        barred = "there are no confidential columns to chain it on"
    usual = min(candidate.usual, len(plans) - 1)
    return Option(
        shown, candidate.family, tuple(labels), tuple(plans), usual, barred, candidate.linked
    )


def _of_people(name: str, words: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """The same settings, with groups of k people where these have several records."""
    cls = find(name, "method", "partitioner").load()
    if "k" in words and "criteria" in cls.model_fields and repeated_key(table) is not None:
        return {**words, "criteria": [{"use": "k-anonymity", "k": words["k"]}]}
    return dict(words)


def _covering(
    name: str,
    words: Mapping[str, Any],
    columns: Sequence[str],
    rest: str,
    table: Table,
    then: Verb | None = None,
) -> tuple[Step, ...]:
    """A method on the columns that it can act on, and another on the rest."""
    cls = find(name, "method", "partitioner").load()
    bare = cls.build(dict(words))
    taken = [n for n in columns if bare.suits(table, n)]
    left = [n for n in columns if n not in taken]
    steps = []
    if taken:
        steps.append(Step(cls.build({**words, "columns": taken}), then))
    if left and rest:
        other = find(rest, "method").load()
        if suited := [n for n in left if other.build({}).suits(table, n)]:
            steps.append(Step(other.build({"columns": suited})))
    return tuple(steps)


def _barred(candidate: Candidate | None, steps: Sequence[Step], purpose: Purpose) -> str:
    if purpose.one_to_one and candidate is not None and not candidate.linked:
        return "one-to-one: its rows are nobody's"
    if not purpose.perturb and any(step.perturbs for step in steps):
        return "perturb = false: it changes values at random"
    return ""
