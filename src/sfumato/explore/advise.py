"""Which method is better for these data and this purpose, answered by trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.people.repeated import people_counted
from ..data.schema import SET_ASIDE, Kind, Role
from ..data.table import DROP, Table
from ..errors import ParameterError
from ..progress import Listener, silent
from ..registry import find
from ..release.plan.plan import ColumnPlan, Plan, Purpose
from ..release.plan.step import Step, build
from ..release.records.run import as_plan, hold_out, with_columns_of
from ..rng import checked_seed
from .advising.answer import Advice, answer
from .advising.loss import Loss
from .advising.portfolio import attacked_by, nameless, portfolio
from .advising.search import Search
from .advising.trials import People, figures_of, without_attacks
from .runner import Journal, Runner


def advise(
    table: Any,
    purpose: Purpose | Mapping[str, Any] | None = None,
    plan: Any = (),
    *,
    methods: Iterable[str] = (),
    reference: Any = None,
    seed: int = 0,
    journal: str | Path | None = None,
    workers: int | None = None,
    progress: Listener | None = None,
) -> Advice:
    """Try what may suit a purpose, on some of the people, and answer with plans ready to run.

    Every method that says for what it is a candidate is tried at its settings, and so are the steps
    of `plan`: on samples first, then the best of them on half of the people, and what is best there
    is confirmed on the other half. Every trial is attacked by the red team. What the plan or the
    purpose requires must hold. `purpose` has the keys of `[purpose]`; `methods` tries these alone.
    What was noted in `journal` is not tried again. The same seed gives the same answer.

    >>> import sfumato as sf
    >>> people = sf.generators.hospital(400, seed=1).frame.select("sex", "ethnicity", "smoker")
    >>> table = sf.table(people, quasi=["sex", "ethnicity"], confidential=["smoker"])
    >>> found = sf.advise(table, {"perturb": False}, methods=["mondrian"], workers=1)
    >>> [name for name, why in found.left if "perturb" in why]
    ['mondrian then swap', 'mondrian with pram']
    """
    chosen = as_plan(plan) if plan != () else Plan()
    if chosen.table is not None:
        raise ParameterError(
            "the plan makes a table, and methods for records are compared",
            remedy="leave [table] out, or run sfumato protect",
        )
    wish = _wish(purpose, chosen)
    names = tuple(methods)
    for name in names:
        if not find(name, "method", "partitioner").family:
            raise ParameterError(
                f"{name} does not say for what it is a candidate",
                remedy="sfumato methods lists those that do; a plan's own steps are tried too",
            )
    seed = checked_seed(seed)
    gate, required = wish.requirements()
    chosen = chosen.with_(
        gate=replace(
            chosen.gate,
            checked=chosen.gate.checked and gate.checked,
            known_to=(*chosen.gate.known_to, *gate.known_to),
        ),
        requirements=(*chosen.requirements, *required),
    )
    given = with_columns_of(chosen, table)
    wish.checked(given.names)
    if reference is not None and not isinstance(reference, Table):
        reference = with_columns_of(chosen, reference)
    if reference is None and isinstance(chosen.input.reference, str):
        _, reference, _ = hold_out(given, chosen, None, seed)
    people = attacked_by(given, wish)
    bare = _trial_plan(chosen)
    first = nameless(people, bare)
    dropped = frozenset(n for s in first if s.use.name == "drop" for n in s.touches(people))
    loss = Loss.of(wish, people, dropped)
    options = portfolio(people, bare, wish, names)
    ground = People.of(people, reference, chosen, wish, loss, seed)
    utility = frozenset(
        r.name for r in chosen.requirements if getattr(r.thing, "about", "") == "utility"
    )
    with Runner(ground, figures_of, Journal(journal), workers) as runner:
        search = Search(
            ground, options, runner, utility, progress or silent, wish.seconds, wish.trials
        )
        search.run()

    own = {name for step in chosen.steps for name in step.touches(people)}
    open_ = frozenset(c.name for c in people.schema if c.role == Role.UNDECIDED) - own
    read = chosen.input.model_copy(update={"others": DROP}) if open_ else chosen.input
    # What it requires stands in [require] of the plans, and is not to be required once more.
    said = wish.model_copy(update={"require": {}})

    def ready(tried: Plan) -> Plan:
        return chosen.with_(
            steps=_without(tried.steps, open_),
            columns=_columns(chosen, people, open_),
            input=read,
            purpose=said,
            map=None,
            tune=None,
        )

    return answer(search, wish, ready, _left_out(people, dropped, wish))


def _left_out(people: Table, dropped: frozenset[str], wish: Purpose) -> list[str]:
    """What is said of columns that are not published though they name nobody."""
    sets = [c.name for c in people.schema if c.kind == Kind.SET and c.name in dropped]
    open_ = [c.name for c in people.schema if c.role == Role.UNDECIDED and c.name in dropped]
    said = []
    if sets:
        said.append(
            f"{', '.join(sets)}: a set is left out, since no attack looks at it; publish its items "
            "as columns of their own, or give the plan a step for sets, which is then tried too"
        )
    if open_:
        said.append(f"{', '.join(open_)}: left out, since no role says what it tells of a person")
    away = [c for c in people.schema if c.role in SET_ASIDE and c.name in dropped]
    if away:
        named = ", ".join(f"{c.name} ({c.role})" for c in away)
        known = ", whoever knows them" if any(c.name in wish.attackers for c in away) else ""
        said.append(f"left out{known}: {named}; a plan may give another role in [columns]")
    if several := people_counted(people):
        said.append(
            f"{several}: what is called people here are records, and a group of k records may be "
            "of fewer people; k-anonymity in [require] counts people"
        )
    return said


def _wish(purpose: Any, plan: Plan) -> Purpose:
    if purpose is None and plan.purpose is not None:
        return plan.purpose
    return Purpose.of(purpose)


def _trial_plan(chosen: Plan) -> Plan:
    """The plan without what has no part in a trial, since the adviser does it itself."""
    words = chosen.input.model_copy(update={"reference": ""})
    return Plan(
        steps=chosen.steps,
        requirements=without_attacks(chosen),
        gate=chosen.gate,
        input=words,
    )


def _without(steps: Iterable[Step], names: frozenset[str]) -> tuple[Step, ...]:
    """Steps that do not drop what the input leaves out already."""
    found = []
    for step in steps:
        listed = step.use.parameters().get("columns", ())
        if step.use.name == "drop" and names.intersection(listed):
            if left := [name for name in listed if name not in names]:
                found.append(Step(build("method", "drop", {"columns": left})))
        else:
            found.append(step)
    return tuple(found)


def _columns(chosen: Plan, people: Table, left_out: frozenset[str]) -> dict[str, ColumnPlan]:
    """Roles as they were tried, so that the plan runs on the bare file."""
    found = dict(chosen.columns)
    for column in people.schema:
        if column.name in left_out:
            continue
        before = found.get(column.name, ColumnPlan())
        found[column.name] = replace(
            before,
            role=column.role,
            kind=before.kind or column.kind,
            categories=before.categories or column.categories,
            poset=before.poset or column.poset,
        )
    return found
