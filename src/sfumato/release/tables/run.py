"""Protecting a table: sensitive cells found, hidden or changed; a `TableRelease`, or a refusal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ParameterError, PlanError, ReleaseRefused
from ...measurement import Finding
from ...progress import Listener, listening, report, silent
from ...protocols import Engine
from ...rng import checked_seed, draw_seed, stream
from ...tabular.base import Rule
from ...tabular.cells.table import CellTable
from ...tabular.threats.problem import Unprotectable
from ..large.gaps import check_table_gaps
from ..plan.plan import Plan
from ..plan.step import build
from ..plan.table import TablePlan
from ..records.run import read_input, reading_of, source_of
from ..remedies.cells import cell_remedies
from .release import TableRelease, publication

_TURNS = 20
"""How often insiders who appear with what is hidden are answered; the audit judges the rest."""
_FEW_THREATS = 500
"""Up to here the audit goes to the end unless told otherwise."""

if TYPE_CHECKING:
    from ...data.table import Table
    from ...engines.relation import Relation
    from ...tabular.base import TableMethod
    from ...tabular.outcome import TableOutcome
    from ...tabular.threats.problem import Problem


def tabulate(
    data: Any,
    dimensions: Iterable[str] | Iterable[Iterable[str]],
    value: str = "",
    *,
    seed: int | None = None,
    engine: Engine | str | None = None,
    reading: Mapping[str, Any] | None = None,
    **more: Any,
) -> CellTable:
    """A table with all its totals from records; several linked ones where `dimensions` is a list
    of lists. `more` is what `sfumato.tabular.cells.build.from_microdata` takes: weight, holding,
    hierarchies and so on.

    Records may be given by the path of a file or folder, which is read as `reading` says (what
    `sf.read` takes). `engine` adds them up where they are: "duckdb", or
    `sf.method("spark", master="local[2]")`.
    """
    from ...tabular.cells.build import from_microdata

    place = build("engine", engine or "local", {}) if not isinstance(engine, Engine) else engine
    rng = stream(draw_seed() if seed is None else checked_seed(seed), 0, "record-keys")
    given: Any = list(dimensions)
    if isinstance(data, str | Path):
        with place.opened(str(data), dict(reading or {})) as records:
            return from_microdata(records, given, value or None, rng=rng, **more)
    if reading or not place.in_memory:
        raise ParameterError(
            f"a {type(data).__name__} is in memory, and "
            + ("was read already" if reading else f"{place.name} reads records where they are"),
            remedy="the path of a file or folder, or neither engine nor reading",
        )
    return from_microdata(data, given, value or None, rng=rng, **more)


def protect_cells(
    cells: CellTable,
    plan: TableMethod | Plan | str | Path = "modular-suppression",
    seed: int | None = None,
    *,
    rules: Iterable[Rule | str] = (),
    output: str | Path = "",
    progress: Listener | None = None,
    **more: Any,
) -> TableRelease:
    """Protect a table and audit it: `sf.protect(cells, "optimal-suppression",
    rules=[sf.method("p-percent", p=10)])`. `more` is what `[table]` of a plan takes: cost,
    singletons, within, audit and so on.

    Raises `ReleaseRefused` where an attacker's interval is too narrow, or where the ledger beside
    `output` (the plan's unless given) knows earlier releases of these people.
    """
    if isinstance(plan, Path) or (isinstance(plan, str) and plan.endswith(".toml")):
        plan = Plan.read(plan)
    if isinstance(plan, str):
        plan = build("table-method", plan, {})
    rules = listed_rules(rules)
    if not isinstance(plan, Plan):
        words = {"protect": plan, "rules": rules, **more}
        if complaints := TablePlan.complaints(words):
            message = "; ".join(map(str, complaints))
            raise ParameterError(
                message, remedy="for a table of cells: rules, and what [table] takes"
            )
        plan = Plan(table=TablePlan(**words))
    elif plan.table is None or rules or more:
        raise ParameterError(
            "the plan has no [table]"
            if plan.table is None
            else "a plan with a [table] says all that is said of it",
            remedy="sf.protect(cells, method, rules=[...]), or a plan with a [table]",
        )
    chosen = draw_seed() if seed is None else checked_seed(seed)
    with listening(progress or silent):
        return _protected(cells, plan, chosen, output or plan.output.path)


def listed_rules(given: Any) -> tuple[Any, ...]:
    """Rules or their names; one alone is a list of one."""
    return (given,) if isinstance(given, Rule | str) else tuple(given)


def run_table(
    plan: Plan,
    base: Path,
    *,
    source: str | None = None,
    seed: int | None = None,
    output: str | Path = "",
    progress: Listener | None = None,
) -> TableRelease:
    """The release that a plan with a `[table]` describes; `output` is where it will be saved."""
    if plan.table is None:
        raise ParameterError("the plan has no [table]", remedy="sfumato protect runs its steps")
    if plan.steps or plan.requirements or plan.measures or plan.tune or plan.map:
        raise ParameterError(
            "a plan makes a table or masks records, not both",
            remedy="run the steps first, and tabulate the release by a plan of its own",
        )
    chosen = draw_seed() if seed is None else checked_seed(seed)
    with listening(progress or silent):
        target = output or (plan.output.path and base / plan.output.path)
        cells, notes = cells_of(plan, base, source, chosen, target)
        return _protected(cells, plan, chosen, target, tuple(notes))


def cells_of(
    plan: Plan, base: Path, source: str | None = None, seed: int = 0, target: str | Path = ""
) -> tuple[CellTable, list[str]]:
    """The table that a plan names, unprotected, and what was noted while its file was read. What
    its engine writes aside lies beside `target`, where the plan names no other place."""
    from ...tabular.cells.build import from_microdata
    from ...tabular.cells.given import from_cells

    table = plan.table
    assert table is not None
    check_table_gaps(plan)
    files = table.files(base)
    if table.cells:
        if table.depth or table.zeros != "published":
            raise ParameterError(
                "[table] depth and zeros are for tables made from records",
                remedy="leave them out, or the rows of those levels",
            )
        if table.statuses or table.linked:
            raise ParameterError(
                "a file of cells has its statuses in a column, and links its tables by relations",
                remedy="columns status, cost, up and down; [table] relations",
            )
        found = from_cells(
            files["cells"],
            files.get("relations"),
            dimensions=[str(name) for name in table.dimensions],
            value=table.value or "value",
            hierarchies=files.get("hierarchies"),
            bounds=table.bounds,
        )
        return found, []
    if not table.dimensions:
        raise PlanError(
            "the plan", [_needed("dimensions", 'dimensions = ["industry", "region"], or cells')]
        )
    optional = {
        key: getattr(table, key)
        for key in ("weight", "holding", "request", "record_key", "depth", "bounds", "zeros")
        if getattr(table, key)
    } | files
    report("reading", 0, 5)
    with _records(plan, base, source, target) as (records, notes):
        if not records.height:
            raise InputError("there are no records", remedy="a table needs at least one")
        report("adding up", 1, 5)
        cells = from_microdata(
            records,
            [list(one) if not isinstance(one, str) else one for one in table.dimensions],
            table.value or None,
            rng=stream(seed, 0, "record-keys"),
            **optional,
        )
    return cells, notes


@contextmanager
def _records(
    plan: Plan, base: Path, source: str | None, target: str | Path
) -> Iterator[tuple[Table | Relation, list[str]]]:
    """The records that a plan names, wherever its engine holds them."""
    if plan.engine.in_memory:
        yield read_input(plan, base, source)
        return
    from ..large.laying import laid

    engine = plan.engine.beside(Path(os.path.abspath(target)).parent) if target else plan.engine
    with engine.opened(source_of(plan, base, source), reading_of(plan)) as data:
        yield laid(data, plan), []


def _needed(where: str, remedy: str) -> Any:
    from ...errors import Complaint

    return Complaint(f"table.{where}", "is needed", remedy)


def _protected(
    cells: CellTable, plan: Plan, seed: int, target: str | Path, notes: tuple[str, ...] = ()
) -> TableRelease:
    if plan.output.table:
        raise ParameterError(
            "cells are published as a file, and not into a table of a database",
            remedy="leave out [output] database and table",
        )
    told = publication(cells, plan, target).standing() if target else None
    try:
        return replace(attempted(cells, plan, seed, notes), ledger=told)
    except ReleaseRefused as refused:
        report("looking for remedies", 5, 6)
        found = cell_remedies(plan, lambda changed: attempted(cells, changed, seed).findings)
        raise ReleaseRefused(refused.findings, found) from None


def attempted(cells: CellTable, plan: Plan, seed: int, notes: tuple[str, ...] = ()) -> TableRelease:
    """The release of a table as a plan protects it; `ReleaseRefused`, without remedies."""
    from ...tabular.audit.audit import audit
    from ...tabular.threats.protection_problem import protection_problem

    table = plan.table
    assert table is not None
    report("finding sensitive cells", 2, 5)
    problem = protection_problem(
        cells,
        table.rules,
        cost=table.cost,
        singletons=table.singletons,
        slide=table.slide,
        bounds=table.within or "apriori",
    )
    report("protecting", 3, 5)
    try:
        asked = table.protect.asked(cells, problem)
        solved, outcome = _protected_from_all(cells, asked, table, seed)
        problem, outcome = table.protect.told(cells, problem, solved, outcome)
    except Unprotectable as error:
        raise error.named(cells) from error
    report("auditing", 4, 5)
    found = audit(
        problem,
        outcome.lower,
        outcome.upper,
        witnesses=outcome.witnesses,
        exact=table.audit == "exact"
        or table.protect.inverts
        or (table.audit == "auto" and len(problem.threats) <= _FEW_THREATS),
        sample=table.sample,
        rng=stream(seed, 2, "audit"),
    )
    found = table.protect.audited(cells, problem, outcome, found)
    findings = (
        *table.protect.judged(cells, problem, outcome, found),
        _none_disclosed(problem, outcome),
    )
    if not all(finding.met for finding in findings):
        raise ReleaseRefused(findings)
    return TableRelease(cells, problem, outcome, found, plan, seed, notes, findings)


def _protected_from_all(
    cells: CellTable, problem: Problem, table: TablePlan, seed: int
) -> tuple[Problem, TableOutcome]:
    """The protection, and the problem with every insider that it has to stand.

    Who is alone in a cell that the protection hides knows it, and may work out others. Who that is
    depends on what is hidden, so such threats are added as they appear, until none is left open.
    """
    from ...tabular.threats.insiders import joined
    from ...tabular.threats.open_insiders import open_insiders

    outcome = table.protect.protect(cells, problem, stream(seed, 1, table.protect.name))
    if not table.singletons:
        return problem, outcome
    for turn in range(_TURNS):
        more = open_insiders(cells, problem, outcome)
        if not len(more):
            break
        problem = problem.with_(threats=joined(problem.threats, more))
        rng = stream(seed, 10 + turn, table.protect.name)
        outcome = table.protect.extend(cells, problem, outcome, rng)
    return problem, outcome


def _none_disclosed(problem: Problem, outcome: TableOutcome) -> Finding:
    """That no sensitive cell is published as it is, whatever its need."""
    disclosed = problem.primary & (outcome.lower == outcome.upper)
    count, of = int(disclosed.sum()), int(problem.primary.sum())
    return Finding(
        "sensitive-cells",
        "the number of sensitive cells whose true value is published",
        float(count),
        0.0,
        not count,
        at_least=False,
        broken=count,
        of=of,
        of_what="sensitive cells",
    )
