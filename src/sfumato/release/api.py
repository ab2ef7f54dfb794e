"""The sentences of the Python interface that are not `read` or `protect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from .plan.plan import Plan
from .plan.step import Step, as_steps, build
from .publish import private_path
from .records.evidence import Evidence, take, take_one, usual_panel
from .records.run import hold_out, read_input

if TYPE_CHECKING:
    from .records.release import Release


def method(name: str, **parameters: Any) -> Any:
    """Any registered method, search or verb, by its name.

    >>> method("mdav", k=3)
    Mdav(columns=(), k=3, weights={}, category_weight=1.0, scale='deviation')
    """
    return build("method|partitioner|verb", name, parameters)


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
    >>> from sfumato.release.records.run import protect
    >>> release = protect(people, method("rank-swap", count=1), seed=1)
    >>> attack("rank-swap-attack", release).baseline
    0.25
    """
    find(name, "attack")  # says which attacks there are
    return release.measure(name, seed=seed, **parameters)


def assess(
    original: Any, masked: Any, align: str = "position", *, seed: int = 0, reference: Any = None
) -> Evidence:
    """Every measure that applies to a release made by any tool."""
    pair = as_pair(original, masked, align)
    sample = None if reference is None else like_original(reference, pair.original)
    taken, left = take(usual_panel(), pair, seed=seed, reference=sample)
    records = {"original": pair.original.height, "published": pair.masked.height}
    return Evidence(measurements=taken, not_taken=left, records=records)


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


def assess_files(
    original: str,
    masked: str,
    *,
    align: str = "",
    plan: Any = None,
    quasi: list[str] | None = None,
    confidential: list[str] | None = None,
    measures: list[str] | None = None,
    reference: str = "",
) -> Evidence:
    """`assess` for two files, with roles from a plan or from lists.

    The measures are those named, else those of the plan, else the usual ones. `reference` is a file
    of non-participants, where the plan names none.

    A release of Sfumato's is shuffled; the alignment in its private folder is used where it is
    found.
    """
    words = Plan() if plan is None else Plan.read(plan)
    before, notes = read_input(words, Path(), original)
    frame, more = read_with_notes(masked)
    shared = [name for name in before.names if name in frame.schema]
    roles = dict.fromkeys(quasi or [], Role.QUASI)
    roles |= dict.fromkeys(confidential or [], Role.CONFIDENTIAL)
    if not roles and not before.schema.quasi:
        roles = {name: Role.QUASI for name in shared if name != align}
        notes.append("no roles were given: every shared column counts as a quasi-identifier")
    schema = before.schema
    for name, role in roles.items():
        schema = schema.with_column(schema[name].with_(role=role))
    before = before.with_schema(schema)
    after = _published(masked, frame, before)
    pair, said = _aligned(before, after, masked, align)
    panel = usual_panel() if words.measures is None else words.measures
    if measures:
        panel = tuple(build("measure|attack", name, {}) for name in measures)
    pair, others = _participants(pair, words, masked)
    if reference:
        others = like_original(read_input(words, Path(), reference)[0], pair.original)
    taken, left = take(panel, pair, seed=0, reference=others, mechanism=words.mechanism)
    records = {"original": before.height, "published": after.height}
    return Evidence(taken, left, records=records, notes=(*notes, *more, *said))


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
