"""The sentences of the Python interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl

from ..data.codec import Matrix
from ..data.io import read_with_notes
from ..data.linkage.earlier import read_like
from ..data.linkage.like import like_original
from ..data.pair import Pair
from ..data.partition import Cover, Partition
from ..data.schema import Kind, Role
from ..data.table import Table, as_frame, table
from ..errors import InputError, MeasureError, ParameterError
from ..protocols import Measure, Measurement, Method, Partitioner, Verb
from ..registry import entries, find
from ..rng import draw_seed, stream
from ..tabular.base import TableMethod
from ..tabular.cells.table import CellTable
from .plan.plan import Plan
from .plan.step import Step, as_steps, build
from .publish import private_path
from .records.evidence import Evidence, take, take_one, usual_panel
from .records.release import Release
from .records.run import hold_out, read_input
from .records.run import protect as protect_records
from .tables.run import protect_cells

if TYPE_CHECKING:
    from ..kernels.arrays import Bools
    from ..progress import Listener
    from ..protocols import Engine
    from ..tabular.base import Rule
    from .plan.requirement import Requirement
    from .tables.audit import TableAudit
    from .tables.release import TableRelease

_IN_ORDER = (
    "row i of one {} was taken for row i of the other; if the release was shuffled, "
    "record-linkage is far too low ({})"
)


def method(name: str, **parameters: Any) -> Any:
    """Anything registered, by its name: a method, search, verb, measure, attack, criterion, poset,
    rule or table method. The classes themselves are in `sfumato.things`.

    >>> method("mdav", k=3)
    Mdav(columns=(), k=3, weights={}, category_weight=1.0, scale='deviation')
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
    name: str,
    original: Any,
    masked: Any,
    align: str = "position",
    *,
    seed: int = 0,
    reference: Any = None,
    partition: Partition | None = None,
    mechanism: Any = (),
    **parameters: Any,
) -> Measurement:
    """One registered measure or attack by its name.

    Frames without roles count every shared column as a quasi-identifier. Measures that look at
    groups take them from `partition`, in the order of the masked rows; those that know how the
    masked table was made take that from `mechanism`, a method or a list of them.
    """
    built: Measure = build("measure|attack", name, parameters)
    pair = as_pair(original, masked, align)
    sample = None if reference is None else like_original(reference, pair.original)
    if partition is not None and len(partition) != pair.masked.height:
        raise ParameterError(
            f"the partition has {len(partition)} records and the masked table {pair.masked.height}",
            remedy="give the groups of the masked rows, in their order",
        )
    return take_one(
        built,
        pair,
        seed=seed,
        partition=partition,
        reference=sample,
        mechanism=tuple(one.use for one in as_steps(mechanism)),
    )


def attack(name: str, release: Release, *, seed: int = 0, **parameters: Any) -> Measurement:
    """One registered attack on a release, with what its publication tells every intruder.

    >>> people = table({"x": [1.0, 2.0, 4.0, 9.0]}, quasi=["x"])
    >>> release = protect(people, method("rank-swap", count=1), seed=1)
    >>> attack("rank-swap-attack", release).baseline
    0.25
    """
    find(name, "attack")  # says which attacks there are
    return release.measure(name, seed=seed, **parameters)


def assess(
    original: Any,
    masked: Any,
    align: str = "",
    *,
    seed: int = 0,
    reference: Any = None,
    plan: Plan | str | Path | None = None,
    quasi: str | Iterable[str] = (),
    confidential: str | Iterable[str] = (),
    measures: str | Iterable[str] = (),
) -> Evidence:
    """Every measure that applies to a release made by any tool; tables, or the paths of files.

    `masked` may be the folder of a release. Roles come from the tables, from a plan or from lists;
    the measures are those named, else those of the plan, else the usual ones. `reference` are
    non-participants. `align` is "position", "none", a key column or an alignment.parquet; without
    it rows are taken to be in the same order, except that of a release of Sfumato's, which is
    shuffled, the alignment in its private folder is used.
    """
    if isinstance(plan, str | Path):
        plan = Plan.read(plan)
    words = plan or Plan()
    roles = dict.fromkeys(_listed(quasi), Role.QUASI)
    roles |= dict.fromkeys(_listed(confidential), Role.CONFIDENTIAL)
    others: Table | None = None
    notes: list[str] = []
    if isinstance(masked, Release):
        raise ParameterError(
            "a Release was assessed when it was made",
            remedy="release.evidence, or release.measure(name) for one more",
        )
    if isinstance(original, str | Path) != isinstance(masked, str | Path):
        raise ParameterError(
            "one of original and masked is a file and the other a table",
            remedy="two files, or two tables: sf.read(path) makes a table of a file",
        )
    if isinstance(masked, str | Path):
        masked = _data_of(masked)
        pair, notes = _files(str(original), str(masked), words, align, roles)
        pair, others = _participants(pair, words, str(masked))
    else:
        if roles:
            original = _in_roles(_as_table(original), roles)
        pair = as_pair(original, masked, align or "position")
        if not align:
            notes.append(_IN_ORDER.format("table", 'align="none", align=KEY'))
    if isinstance(reference, str | Path):
        others = like_original(read_input(words, Path(), str(reference))[0], pair.original)
    elif reference is not None:
        others = like_original(reference, pair.original)
    panel = usual_panel() if words.measures is None else words.measures
    if named := _listed(measures):
        panel = tuple(build("measure|attack", name, {}) for name in named)
    taken, left = take(panel, pair, seed=seed, reference=others, mechanism=words.mechanism)
    records = {"original": pair.original.height, "published": pair.masked.height}
    return Evidence(taken, left, records=records, notes=tuple(notes))


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
    """Nothing is left unheard: what an audit cannot use is refused."""
    said = ["hidden"] * (hidden is not None) + ["rules"] * (rules not in ((), [])) + [*more]
    if said:
        raise ParameterError(
            f"{why}: it takes no {', no '.join(said)}",
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
    progress: Listener | None = ...,
    engine: Engine | None = ...,
) -> Release: ...
def protect(
    table: Any, plan: Any = None, seed: int | None = None, **more: Any
) -> Release | TableRelease:
    """Protect records by a plan, its file, a method or a list of them; or a table of cells by a
    method and `rules`, or by a plan with a `[table]`.

    Raises `ReleaseRefused` where a requirement is not met. Without a seed a secret one is drawn.
    Of records, `require` adds requirements, `given` are releases of the same people that are public
    already, and `reference` are people who are not among them. Of cells, `more` is what `[table]`
    of a plan takes: cost, singletons, within, audit and so on.
    """
    if isinstance(table, CellTable):
        return protect_cells(table, "modular-suppression" if plan is None else plan, seed, **more)
    return protect_records(table, _for_records(plan, more), seed, **more)


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


def as_pair(original: Any, masked: Any, align: str) -> Pair:
    """Original and masked with one schema: the original's roles, labels recognized in the masked
    table."""
    before = original if isinstance(original, Table) else _with_roles(original, masked)
    if isinstance(masked, Table) and masked.schema.quasi:
        return Pair.of(before, masked, align)
    return Pair.of(before, like_original(masked, before), align)


def _data_of(masked: str | Path) -> str:
    """The file of a release: the one named, or the data in the folder named."""
    found = sorted(Path(masked).glob("data.*")) if Path(masked).is_dir() else ()
    return str(found[0] if found else masked)


def _listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names as they are given to `sf.table`: a list of them, or one alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def _as_table(given: Any) -> Table:
    return (
        given if isinstance(given, Table) else table(given, quasi=list(as_frame(given)[0].columns))
    )


def _with_roles(original: Any, masked: Any) -> Table:
    frame, _ = as_frame(original)
    other, _ = as_frame(masked)
    return table(original, quasi=[name for name in frame.columns if name in other.columns])


def files_of(
    original: str, masked: str, *, plan: Any = None, reference: str = ""
) -> tuple[Table, Table, Table | None]:
    """An original, its release and a sample of others, from files; columns by the plan."""
    words = Plan() if plan is None else Plan.read(plan)
    before = read_input(words, Path(), original)[0]
    after = _published(masked, read_with_notes(masked)[0], before)
    pair, others = _participants(Pair(before, after, None), words, masked)
    if reference:
        others = like_original(read_input(words, Path(), reference)[0], before)
    return pair.original, after, others


def _files(
    original: str, masked: str, words: Plan, align: str, roles: dict[str, Role]
) -> tuple[Pair, list[str]]:
    """Two files as a pair, and what was decided to make it one."""
    before, notes = read_input(words, Path(), original)
    frame, more = read_with_notes(masked)
    if not roles and not before.schema.quasi:
        shared = [name for name in before.names if name in frame.schema]
        roles = {name: Role.QUASI for name in shared if name != align}
        notes.append("no roles were given: every shared column counts as a quasi-identifier")
    before = _in_roles(before, roles)
    pair, said = _aligned(before, _published(masked, frame, before), masked, align)
    return pair, [*notes, *more, *said]


def _in_roles(table: Table, roles: Mapping[str, Role]) -> Table:
    schema = table.schema
    for name, role in roles.items():
        schema = schema.with_column(schema[name].with_(role=role))
    return table.with_schema(schema)


def _published(source: str, read: Table, before: Table) -> Table:
    """A release with the original's roles and kinds; a text file is read again for its sets."""
    if "://" in source or all(column.kind != Kind.SET for column in before.schema):
        return like_original(read.frame, before)
    return read_like(source, before)


def _aligned(before: Table, after: Table, masked: str, align: str) -> tuple[Pair, list[str]]:
    """The pair, and what was assumed about which record became which."""
    kept = (
        Path(align) if align.endswith(".parquet") else _private_folder(masked) / "alignment.parquet"
    )
    if not align and not kept.is_file() and kept.parent.is_dir():
        return Pair(before, after, None), [
            "the release has no alignment: its records are no one person's"
        ]
    if align.endswith(".parquet") and not kept.is_file():
        raise InputError(f"there is no file {kept}", remedy="the alignment of a private folder")
    if kept.is_file() and (not align or align.endswith(".parquet")):
        try:
            found = pl.read_parquet(kept, columns=["published_row", "original_row"])
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(
                f"{kept} is not an alignment", remedy="the alignment.parquet of a private folder"
            ) from None
        rows = found.sort("published_row")["original_row"].to_numpy()
        if rows.size != after.height or (rows.size and int(rows.max()) >= before.height):
            raise MeasureError(
                f"{kept} does not belong to these files", remedy="--align none, or the right one"
            )
        return Pair(before, after, rows), [f"records were aligned by {kept}"]
    if align:
        return Pair.of(before, after, align), []
    if before.height != after.height:
        return Pair(before, after, None), [
            "the files differ in length, so that nobody knows which record became which: "
            "measures that need to know were not taken (--align KEY)"
        ]
    return Pair.of(before, after, "position"), [
        _IN_ORDER.format("file", "--align none, --align KEY")
    ]


def _participants(pair: Pair, plan: Plan, masked: str) -> tuple[Pair, Table | None]:
    """The non-participants: those of the plan's file, or the records that it held out."""
    if plan.input.reference and isinstance(plan.input.reference, str):
        return pair, hold_out(pair.original, plan, None, 0)[1]
    if not isinstance(plan.input.reference, float):
        return pair, None
    noted = _private_folder(masked) / "participants.parquet"
    if noted.is_file():
        try:
            kept = pl.read_parquet(noted, columns=["original_row"]).to_series().to_numpy()
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(
                f"{noted} does not say who took part", remedy="name a file with --reference"
            ) from None
    elif pair.rows is not None:
        kept = np.unique(pair.rows[pair.rows >= 0])
    else:
        return pair, None
    out = np.setdiff1d(np.arange(pair.original.height), kept)
    if not out.size or (kept.size and int(kept.max()) >= pair.original.height):
        return pair, None
    rows = pair.rows
    if rows is not None:
        rows = np.where(rows >= 0, np.searchsorted(kept, rows), -1)
    return Pair(pair.original.take(kept), pair.masked, rows), pair.original.take(out)


def _private_folder(masked: str) -> Path:
    return private_path(Path(masked).absolute().parent)
