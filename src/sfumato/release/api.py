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
from ..registry import find
from ..rng import draw_seed, stream
from ..tabular.cells.table import CellTable
from .plan.plan import Plan
from .plan.step import Step, as_steps, build
from .publish import private_path
from .records.evidence import Evidence, take, take_one, usual_panel
from .records.run import hold_out, read_input
from .records.run import protect as protect_records
from .tables.run import protect_cells

if TYPE_CHECKING:
    from ..kernels.arrays import Bools
    from ..progress import Listener
    from ..protocols import Engine
    from ..tabular.base import Rule, TableMethod
    from .plan.requirement import Requirement
    from .records.release import Release
    from .tables.audit import TableAudit
    from .tables.release import TableRelease


def method(name: str, **parameters: Any) -> Any:
    """Anything registered, by its name: a method, search, verb, measure, attack, criterion, poset,
    rule or table method. The classes themselves are in `sfumato.things`.

    >>> method("mdav", k=3)
    Mdav(columns=(), k=3, weights={}, category_weight=1.0, scale='deviation')
    >>> method("dominance", n=1, k=50).name
    'dominance'
    """
    return find(name).load().build(parameters)


def step(use: Method | Partitioner, then: Verb | str | None = None) -> Step:
    """A search with what is done to its groups: `sf.step(sf.method("mdav"), then="generalize")`."""
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
    plan: str | Path | None = None,
    quasi: Iterable[str] = (),
    confidential: Iterable[str] = (),
    measures: Iterable[str] = (),
) -> Evidence:
    """Every measure that applies to a release made by any tool; tables, or the paths of files.

    Roles come from the tables, from a plan or from lists; the measures are those named, else those
    of the plan, else the usual ones. `reference` are non-participants. `align` is "position",
    "none", a key column or an alignment.parquet; without it rows are taken to be in the same order,
    except that of a release of Sfumato's, which is shuffled, the alignment in its private folder is
    used.
    """
    words = Plan() if plan is None else Plan.read(plan)
    roles = dict.fromkeys(quasi, Role.QUASI) | dict.fromkeys(confidential, Role.CONFIDENTIAL)
    others: Table | None = None
    notes: list[str] = []
    if isinstance(masked, str | Path):
        pair, notes = _files(str(original), str(masked), words, align, roles)
        pair, others = _participants(pair, words, str(masked))
    else:
        if roles:
            original = _in_roles(_as_table(original), roles)
        pair = as_pair(original, masked, align or "position")
    if isinstance(reference, str):
        others = like_original(read_input(words, Path(), reference)[0], pair.original)
    elif reference is not None:
        others = like_original(reference, pair.original)
    panel = usual_panel() if words.measures is None else words.measures
    if named := tuple(measures):
        panel = tuple(build("measure|attack", name, {}) for name in named)
    taken, left = take(panel, pair, seed=seed, reference=others, mechanism=words.mechanism)
    records = {"original": pair.original.height, "published": pair.masked.height}
    return Evidence(taken, left, records=records, notes=tuple(notes))


def audit(
    table: CellTable | TableRelease | str | Path,
    hidden: Bools | None = None,
    rules: Iterable[Rule] = (),
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
        return audit_release(table)
    if isinstance(table, str | Path):
        return audit_file(table, **more)
    if not isinstance(table, CellTable):
        raise ParameterError(
            f"a {type(table).__name__} has no cells to audit",
            remedy="sf.assess(original, masked) measures records",
        )
    return audit_cells(table, np.zeros(table.n, bool) if hidden is None else hidden, rules, **more)


@overload
def protect(
    table: CellTable,
    plan: TableMethod | Plan | str | Path = ...,
    seed: int | None = ...,
    *,
    rules: Iterable[Rule] = ...,
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
    table: Any, plan: Any = "modular-suppression", seed: int | None = None, **more: Any
) -> Release | TableRelease:
    """Protect records by a plan, its file, a method or a list of them; or a table of cells by a
    method and `rules`, or by a plan with a `[table]`.

    Raises `ReleaseRefused` where a requirement is not met. Without a seed a secret one is drawn.
    Of records, `require` adds requirements, `given` are releases of the same people that are public
    already, and `reference` are people who are not among them. Of cells, `more` is what `[table]`
    of a plan takes: cost, singletons, within, audit and so on.
    """
    if isinstance(table, CellTable):
        return protect_cells(table, plan, seed, **more)
    return protect_records(table, plan, seed, **more)


def as_pair(original: Any, masked: Any, align: str) -> Pair:
    """Original and masked with one schema: the original's roles, labels recognized in the masked
    table."""
    before = original if isinstance(original, Table) else _with_roles(original, masked)
    if isinstance(masked, Table) and masked.schema.quasi:
        return Pair.of(before, masked, align)
    return Pair.of(before, like_original(masked, before), align)


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
        "row i of one file was taken for row i of the other; if the release was shuffled, "
        "record-linkage is far too low (--align none, --align KEY)"
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
