"""The sentences of the Python interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import polars as pl

from ..data.codec import Matrix
from ..data.linkage.like import like_original
from ..data.partition import Cover, Partition
from ..data.schema import Role
from ..data.table import Table, as_frame, table
from ..errors import ParameterError
from ..kernels.arrays import Bools
from ..kernels.device import Device
from ..progress import Listener
from ..protocols import Engine, Measure, Measurement, Method, Partitioner, Verb
from ..registry import entries, find
from ..rng import draw_seed, stream
from ..tabular.base import Rule, TableMethod
from ..tabular.cells.table import CellTable
from .pairing import (
    AUTO,
    REMEDY,
    Aligned,
    align_by,
    as_pair,
    as_tables,
    doubtful,
    file_as_it_is,
    in_roles,
    pair_of_files,
    unshared,
)
from .plan.plan import Plan
from .plan.requirement import Requirement
from .plan.step import Step, as_steps, build, measure_of
from .records.evidence import Evidence, Measuring, usual_panel
from .records.release import Release
from .records.run import as_plan, read_input
from .records.run import protect as protect_records
from .report.assessment import write_assessment
from .report.page import check_page
from .tables.audit import TableAudit
from .tables.release import TableRelease
from .tables.run import protect_cells

if TYPE_CHECKING:
    from .large.release import LargeRelease


def method(name: str, **parameters: Any) -> Any:
    """Anything registered, by its name: a method, search, verb, measure, attack, criterion, poset,
    rule or table method. The classes themselves are in `sfumato.things`.

    >>> method("mdav", k=3)
    Mdav(columns=(), k=3, weights={}, category_weight=1.0, scale='deviation', blocks=0)
    >>> method("dominance", n=1, k=50).name
    'dominance'
    """
    return find(name).load().build(parameters)


def step(use: Method | Partitioner | str, then: Verb | str | None = None) -> Step:
    """A search with what is done to its groups: `sf.step(sf.method("mdav"), then="generalize")`."""
    if isinstance(use, str):
        use = build("method|partitioner", use, {})
    if not isinstance(use, Method | Partitioner):
        raise ParameterError(
            f"a {type(use).__name__} is not a step", remedy='sf.method("mdav", k=5), for example'
        )
    return Step(use, build("verb", then, {}) if isinstance(then, str) else then)


def partition(given: Any, search: Partitioner | str, seed: int | None = None) -> Partition | Cover:
    """The groups that a search finds, without masking anything.

    >>> partition(table({"x": [1, 2, 9, 10]}, quasi=["x"]), method("mdav", k=2)).labels.tolist()
    [0, 0, 1, 1]
    """
    records = _as_table(given)
    if isinstance(search, str):
        search = build("partitioner", search, {})
    if not isinstance(search, Partitioner):
        raise ParameterError(
            f"{search!r} is not a search", remedy='sf.method("mondrian", k=5), for example'
        )
    columns, _ = search.targets(records)
    if seed is not None and seed < 0:
        raise ParameterError(f"a seed is a non-negative whole number, not {seed}")
    rng = stream(draw_seed() if seed is None else seed, 1, search.name)
    return search.partition(Matrix(records, columns), rng)


def measure(
    name: str | Measure | Callable[[pl.DataFrame], Any],
    original: Any,
    masked: Any = None,
    align: str = "position",
    *,
    seed: int = 0,
    reference: Any = None,
    partition: Partition | None = None,
    mechanism: Any = (),
    **parameters: Any,
) -> Measurement:
    """One registered measure or attack by its name, or as it is; or what a function of a frame
    loses: `sf.measure(f, original, masked, divergence="absolute")`, as `function-loss` says.
    Without `masked` it is taken of the original as it is: `sf.measure("suda", original)`.

    Frames without roles count every shared column as a quasi-identifier. Measures that look at
    groups take them from `partition`, in the order of the masked rows; those that know how the
    masked table was made take that from `mechanism`, a method or a list of them. Rows are taken to
    be in the same order unless `align` says otherwise, as in `assess`; `detail["warning"]` says
    where that is not to be believed.
    """
    built = measure_of(name, parameters)
    masked = original if masked is None else masked
    if align in AUTO:
        pair = align_by(*as_tables(original, masked)).pair
    else:
        pair = as_pair(original, masked, align)
    sample = None if reference is None else like_original(reference, pair.original)
    if partition is not None and len(partition) != pair.masked.height:
        raise ParameterError(
            f"the partition has {len(partition)} records and the masked table {pair.masked.height}",
            remedy="give the groups of the masked rows, in their order",
        )
    steps = tuple(one.use for one in as_steps(mechanism))
    found = Measuring(seed, partition, sample, steps).take(built, pair)
    doubt = doubtful(pair) if align == "position" and built.needs_alignment else ""
    return replace(found, detail={**found.detail, "warning": doubt}) if doubt else found


def assess(
    original: Any,
    masked: Any = None,
    align: str = "auto",
    *,
    seed: int = 0,
    reference: Any = None,
    plan: Plan | str | Path | None = None,
    quasi: str | Iterable[str] = (),
    confidential: str | Iterable[str] = (),
    weight: str | Iterable[str] = (),
    household: str | Iterable[str] = (),
    measures: str | Iterable[str] = (),
    output: str | Path | None = None,
) -> Evidence:
    """Every measure that applies to a release made by any tool; tables, or the paths of files.

    Without `masked`, what the original as it is would expose: the measures of risk that need no
    other table.

    `masked` may be the folder of a release. Roles come from the tables, from a plan or from lists;
    the measures are those named, else those of the plan, else the usual ones. `reference` are
    non-participants. `align` is "position", "none", a key column or an alignment.parquet. By "auto"
    it is the alignment of a release's private folder, a column that tells records apart in both
    tables, or their order, if the rows speak for it; else measures that need to know which record
    became which are not taken, and a note says so. `output` is an HTML report to write: it is for
    the owner, since it shows the original.
    """
    if isinstance(plan, str | Path):
        plan = Plan.read(plan)
    words = plan or Plan()
    page = None if output is None else check_page(output)
    roles = _roles(
        {
            Role.QUASI: quasi,
            Role.CONFIDENTIAL: confidential,
            Role.WEIGHT: weight,
            Role.HOUSEHOLD: household,
        }
    )
    alone = masked is None
    others: Table | None = None
    if isinstance(masked, Release):
        raise ParameterError(
            "a Release was assessed when it was made",
            remedy="release.evidence, or release.measure(name) for one more",
        )
    if not alone and isinstance(original, str | Path) != isinstance(masked, str | Path):
        raise ParameterError(
            "one of original and masked is a file and the other a table",
            remedy="two files, or two tables: sf.read(path) makes a table of a file",
        )
    if alone and isinstance(original, str | Path):
        found = file_as_it_is(str(original), words, roles)
    elif isinstance(masked, str | Path):
        found, others = pair_of_files(str(original), masked, words, align, roles)
    else:
        if roles:
            original = in_roles(_as_table(original), roles)
        masked, align = (original, "position") if alone else (masked, align)
        found = align_by(*as_tables(original, masked), align)
    pair = found.pair
    if isinstance(reference, str | Path):
        others = like_original(read_input(words, Path(), str(reference))[0], pair.original)
    elif reference is not None:
        others = like_original(reference, pair.original)
    panel = usual_panel() if words.measures is None else words.measures
    if alone and words.measures is None:
        panel = tuple(m for m in panel if m.about == "risk" and not m.needs_alignment)
    if named := _listed(measures):
        panel = tuple(build("measure|attack", name, {}) for name in named)
    taken, left = Measuring(seed, None, others, words.mechanism).panel(panel, pair)
    records = {"original": pair.original.height, "published": pair.masked.height}
    left |= _unaligned(panel, found, left)
    notes = (*found.notes, *unshared(pair))
    if alone:
        notes = ("nothing is masked here: the file was measured as it is", *notes)
    evidence = Evidence(taken, left, records=records, notes=notes)
    if page is not None:
        write_assessment(page, pair, evidence, words)
    return evidence


def _roles(given: Mapping[Role, str | Iterable[str]]) -> dict[str, Role]:
    """The role of each column that one was given to, once."""
    roles: dict[str, Role] = {}
    for role, names in given.items():
        for name in _listed(names):
            if roles.setdefault(name, role) != role:
                raise ParameterError(
                    f"column {name!r} is given two roles, {roles[name]} and {role}",
                    remedy="name it once",
                )
    return roles


def _unaligned(panel: Iterable[Measure], found: Aligned, left: Mapping[str, str]) -> dict[str, str]:
    """Why measures that must know whose record is whose were not taken, and what helps."""
    needy = [m.name for m in panel if m.needs_alignment and m.name in left]
    return dict.fromkeys(needy, f"{found.why}; {REMEDY}") if found.why else {}


def audit(
    table: CellTable | TableRelease | str | Path,
    hidden: Bools | None = None,
    rules: Iterable[Rule | str] = (),
    **more: Any,
) -> TableAudit:
    """What an attacker can work out of a table with hidden cells, whoever protected it.

    `table` is a `TableRelease`; a `CellTable`, with the cells that are `hidden` and the rules that
    say which are sensitive (`more` is what `audit_cells` takes); or the path of a protected table
    or of a release's folder (`more` is what `audit_file` takes).
    """
    from .tables.audit import audit_cells, audit_file, audit_release
    from .tables.release import TableRelease

    if isinstance(table, TableRelease):
        _refuse("a TableRelease knows its hidden cells and its rules", hidden, rules, *more)
        return audit_release(table)
    if isinstance(table, str | Path):
        _refuse("a file tells its hidden cells, and its plan the rules", hidden, rules)
        return audit_file(table, **more)
    if not isinstance(table, CellTable):
        raise ParameterError(
            f"a {type(table).__name__} has no cells to audit",
            remedy="sf.assess(original, masked) measures records",
        )
    return audit_cells(table, np.zeros(table.n, bool) if hidden is None else hidden, rules, **more)


def _refuse(why: str, hidden: Any, rules: Any, *more: str) -> None:
    """What an audit cannot use is refused, not ignored."""
    given = ["hidden"] * (hidden is not None) + ["rules"] * (rules not in ((), [])) + [*more]
    if given:
        raise ParameterError(
            f"{why}: it takes no {', no '.join(given)}",
            remedy="leave that out; sf.audit(path, plan=...) judges by the rules of a plan, "
            "sf.audit(cells, hidden, rules) a CellTable",
        )


@overload
def protect(
    table: CellTable,
    plan: TableMethod | Plan | str | Path = ...,
    seed: int | None = ...,
    *,
    rules: Iterable[Rule | str] = ...,
    output: str | Path = ...,
    progress: Listener | None = ...,
    **more: Any,
) -> TableRelease: ...
@overload
def protect(
    table: Any,
    plan: Any,
    seed: int | None = ...,
    *,
    require: Mapping[str, Any] | Iterable[Requirement] = ...,
    measures: Iterable[Measure] | None = ...,
    reference: Any = ...,
    given: str | Path | Iterable[str | Path] = ...,
    output: str | Path = ...,
    progress: Listener | None = ...,
    engine: Literal["local"] | None = ...,
    device: Device | None = ...,
) -> Release: ...
@overload
def protect(
    table: str | Path,
    plan: Any,
    seed: int | None = ...,
    *,
    engine: Engine | str,
    output: str | Path = ...,
    replace: bool = ...,
    **more: Any,
) -> LargeRelease: ...
def protect(
    table: Any,
    plan: Any = None,
    seed: int | None = None,
    *,
    engine: Engine | str | None = None,
    device: Device | None = None,
    **more: Any,
) -> Release | LargeRelease | TableRelease:
    """Protect records by a plan, its file, a method or a list of them; or a table of cells by a
    method and `rules`, or by a plan with a `[table]`.

    Raises `ReleaseRefused` where a requirement is not met. Without a seed a secret one is drawn.
    Of records, `require` adds requirements, `given` are releases of the same people that are public
    already, `reference` are people who are not among them, and `output` is where the release will
    be saved, so that its ledger is asked before. Of cells, `more` is what `[table]`
    of a plan takes: cost, singletons, within, audit and so on.

    `engine` is where records are masked, the plan's unless given: "duckdb", or
    `sf.method("duckdb", memory="3 GiB")`. What does not fit into memory is given by its path, and
    its release is written at `output` at once. `device` is where records are compared with one
    another: "cpu", "gpu", or "auto".
    """
    if isinstance(table, CellTable):
        return protect_cells(table, "modular-suppression" if plan is None else plan, seed, **more)
    plan = as_plan(_for_records(plan, more))
    if engine is not None:
        plan = plan.with_(engine=build("engine", engine, {}) if isinstance(engine, str) else engine)
    if device is not None:
        plan = plan.on_engine("", {"device": device})
    if not plan.engine.in_memory:
        from .large.run import protect_large

        return protect_large(_path(table, plan), plan, seed, **more)
    if isinstance(table, str | Path):
        table = read_input(plan, Path(), str(table))[0]
    return protect_records(table, plan, seed, **more)


def _path(source: Any, plan: Plan) -> str | Path:
    """Where the records are that do not fit into memory."""
    if isinstance(source, str | Path):
        return source
    raise ParameterError(
        f"the engine {plan.engine.name} reads records where they are, and a "
        f"{type(source).__name__} is in memory",
        remedy='the path of a file or folder, or engine="local"',
    )


def _for_records(plan: Any, more: Mapping[str, Any]) -> Any:
    """A plan that masks records; one for tables of cells is refused."""
    cells = "sf.protect(sf.tabulate(table, dimensions, value), ...) protects a table of cells"
    kinds = {name: entry.kind for entry in entries() for name in (entry.name, *entry.aliases)}
    if isinstance(plan, str) and plan in kinds and not Path(plan).exists():
        raise ParameterError(
            f"{plan!r} is a name, and records are masked by a plan, its file or methods",
            remedy=cells if kinds[plan] == "table-method" else f'sf.method("{plan}", ...)',
        )
    if plan is None:
        raise ParameterError(
            "nothing says how the records are masked",
            remedy='sf.protect(table, sf.method("mdav", k=5)), or a plan',
        )
    if isinstance(plan, str | Path):
        plan = Plan.read(plan)
    if isinstance(plan, Plan) and plan.table is not None:
        raise ParameterError(
            "the plan makes a table ([table]) and does not mask records",
            remedy=f"`sfumato protect PLAN` runs it; {cells}",
        )
    if isinstance(plan, TableMethod):
        raise ParameterError(f"{plan.name} protects cells, and these are records", remedy=cells)
    if "rules" in more:
        raise ParameterError("rules are for tables of cells, and these are records", remedy=cells)
    return plan


def _listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names as they are given to `sf.table`: a list of them, or one alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def _as_table(given: Any) -> Table:
    if isinstance(given, Table):
        return given
    return table(given, quasi=list(as_frame(given)[0].columns))
