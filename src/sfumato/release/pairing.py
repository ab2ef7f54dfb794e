"""An original and its release, made by any tool, as a pair: from tables or from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..addresses import is_address
from ..bounds import Limits, from_json
from ..data.io import read_with_notes
from ..data.io.source import TEXT, load, locate
from ..data.io.text.sniff import is_utf8
from ..data.linkage.correspondence import agreement, key_column
from ..data.linkage.earlier import EVIDENCE, data_file, named_first, read_like
from ..data.linkage.like import like_original
from ..data.pair import Pair
from ..data.schema import Kind, Role
from ..data.table import Table, as_frame, table
from ..errors import InputError, MeasureError
from .plan.plan import ColumnPlan, Plan
from .records.run import hold_out, read_input
from .staging import private_path

AUTO = ("", "auto")
REMEDY = (
    "name a key column that both have, say `position` if the rows are in the same order, or give "
    "the alignment.parquet of the release's private folder"
)
_FEWEST = 20
"""Records from which on their order can speak for or against anything."""


@dataclass(frozen=True)
class Aligned:
    """A pair, what was found out about its alignment, and why there is none."""

    pair: Pair
    notes: tuple[str, ...] = ()
    why: str = ""


def align_by(before: Table, after: Table, align: str = "auto") -> Aligned:
    """The pair by the alignment that is asked for; by "auto", by the one that the tables tell.

    A key column that both have, else their order, if rows agree with their counterparts far more
    often than with other rows, else none: positions are never taken on trust.
    """
    if align not in AUTO:
        pair = Pair.of(before, after, align)
        doubt = doubtful(pair) if align == "position" else ""
        return Aligned(pair, (f"warning: {doubt}",) if doubt else ())
    key = key_column(before, after)
    if key is not None:
        said = f"records were aligned by column {key!r}, which tells them apart in both tables"
        return Aligned(Pair.of(before, after, key), (said,))
    if before.height != after.height:
        many = f"{before.height:,} and {after.height:,} records"
        return _unaligned(before, after, f"the tables differ in length ({many}) and share no key")
    pair = Pair.of(before, after, "position")
    found = agreement(pair) if before.height else None
    if found is not None and found.clear:
        return Aligned(pair, (f"records were aligned by position: {found}",))
    if found is None:
        return _unaligned(before, after, "there is too little to compare")
    because = "that is too little to tell"
    if found.absent:
        because = "the records were shuffled, or are other people's"
    elif not found.held:
        because = "but not in every part of the tables, or only by an order that both have"
    return _unaligned(before, after, f"{found}: {because}")


def _unaligned(before: Table, after: Table, why: str) -> Aligned:
    why = f"nobody can tell which record became which ({why})"
    note = f"{why}: measures that need to know were not taken; to take them, {REMEDY}"
    return Aligned(Pair(before, after, None), (note,), why)


def doubtful(pair: Pair) -> str:
    """What speaks against taking row i of one table for row i of the other; empty if nothing."""
    if pair.masked.height < _FEWEST:
        return ""
    found = agreement(pair)
    if found is None or not found.absent:
        return ""
    return (
        f"records were aligned by position as asked, but {found}: they were shuffled, or are other "
        "people's, and figures that compare records are not to be believed"
    )


def unshared(pair: Pair) -> list[str]:
    """Columns that only one table has: nothing compares them, whatever they were called before."""
    gone = [name for name in pair.original.names if name not in pair.masked.schema]
    new = [name for name in pair.masked.names if name not in pair.original.schema]
    notes = [f"not comparable, since only the original has them: {', '.join(gone)}"] if gone else []
    if new:
        remedy = "; if they were renamed, rename them back" if gone else ""
        said = f"only the release has them: {', '.join(new)}{remedy}"
        notes.append(f"not comparable, since {said}")
    return notes


def as_pair(original: Any, masked: Any, align: str) -> Pair:
    """Two tables as a pair, by the alignment that is asked for."""
    return Pair.of(*as_tables(original, masked), align)


def as_tables(original: Any, masked: Any) -> tuple[Table, Table]:
    """Original and masked with the original's roles, and labels recognized in the masked table."""
    before = original if isinstance(original, Table) else _with_roles(original, masked)
    if isinstance(masked, Table) and masked.schema.quasi:
        return before, masked
    return before, like_original(masked, before)


def _with_roles(original: Any, masked: Any) -> Table:
    frame, _ = as_frame(original)
    other, _ = as_frame(masked)
    return table(original, quasi=[name for name in frame.columns if name in other.columns])


def in_roles(table: Table, roles: Mapping[str, Role]) -> Table:
    """The table with other roles of some columns."""
    schema = table.schema
    for name, role in roles.items():
        schema = schema.with_column(schema[name].with_(role=role))
    return table.with_schema(schema)


def read_tables(
    original: str, masked: str, *, plan: Any = None, reference: str = ""
) -> tuple[Table, Table, Table | None]:
    """An original, its release and a sample of others, from files; columns by the plan."""
    words = Plan() if plan is None else Plan.read(plan)
    before = read_input(words, Path(), original)[0]
    after = _published(masked, read_with_notes(masked, **_told(masked, words))[0], before)
    pair, others = _participants(Pair(before, after, None), words, masked)
    if reference:
        others = like_original(read_input(words, Path(), reference)[0], before)
    return pair.original, after, others


def file_as_it_is(original: str, words: Plan, roles: Mapping[str, Role]) -> Aligned:
    """A file as a pair with itself, with notes; every column is a quasi-identifier unless roles
    are known."""
    before, notes = read_input(words, Path(), original)
    if not roles and not before.schema.quasi:
        roles = dict.fromkeys(before.names, Role.QUASI)
        notes.append("no roles were given: every column counts as a quasi-identifier")
    before = in_roles(before, roles)
    return Aligned(Pair.of(before, before), tuple(notes))


def pair_of_files(
    original: str, masked: str | Path, words: Plan, align: str, roles: Mapping[str, Role]
) -> tuple[Aligned, Table | None]:
    """Two files, or a file and a release's folder, as a pair with notes; the non-participants."""
    masked = str(data_file(masked) if _is_release(masked) else masked)
    if not roles:
        words = _with_columns(words, masked)
    before, notes = read_input(words, Path(), original)
    frame, more = read_with_notes(masked, **_told(masked, words))
    if not roles and not before.schema.quasi:
        shared = [name for name in before.names if name in frame.schema]
        roles = {name: Role.QUASI for name in shared if name != align}
        notes.append("no roles were given: every shared column counts as a quasi-identifier")
    before = in_roles(before, roles)
    found = _aligned(before, _published(masked, frame, before), masked, align)
    pair, others = _participants(found.pair, words, masked)
    return Aligned(pair, (*notes, *more, *found.notes), found.why), others


def _is_release(masked: str | Path) -> bool:
    """Whether it is a folder with data and evidence, not data themselves."""
    place = Path(masked)
    return place.is_dir() and (any(place.glob("data*")) or (place / EVIDENCE).is_file())


def _told(masked: str, words: Plan) -> dict[str, Any]:
    """How the masked file is read: a release of Sfumato's as it was written, another tool's text
    file as the original."""
    if is_address(masked) or Path(masked).is_dir():
        return {}
    limits = {"limits": words.input.limits} if words.input.limits else {}
    if known := named_first(Path(masked)):
        return {**known, **limits}
    alike = ["delimiter", "encoding", "decimal", "thousands", "header", "missing"]
    given, end = words.input.options(), locate(masked)
    if end.format not in TEXT:
        return limits
    # Tools write one line of names, and UTF-8, whatever they have read.
    if given.get("header") == 2:
        alike.remove("header")
    if "encoding" in given and is_utf8(load(end, Limits.of(limits.get("limits")))):
        alike.remove("encoding")
    return {**limits, **{k: given[k] for k in alike if k in given}}


def evidence_of(release: str | Path) -> dict[str, Any]:
    """What lies as evidence in a release's folder, or beside its data; nothing where there is
    none."""
    place = Path(release)
    # The parts of large data lie in a folder of their own, beside the evidence.
    near = [folder / EVIDENCE for folder in (place, place.parent)]
    file = next((one for one in near if one.is_file()), None)
    if is_address(str(release)) or file is None:
        return {}
    try:
        found = from_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{file} cannot be read", remedy="move it away") from None
    return found if isinstance(found, dict) else {}


def _with_columns(words: Plan, masked: str) -> Plan:
    """A plan that says nothing of roles, with what the evidence of a release says of columns."""
    if any(column.role is not None for column in words.columns.values()):
        return words
    told = dict(words.columns)
    try:
        for one in evidence_of(masked).get("columns", ()):
            kind = None if one["kind"] == Kind.ORDINAL else Kind(one["kind"])  # which has an order
            known = told.get(one["name"], ColumnPlan())
            told[one["name"]] = replace(known, role=Role(one["role"]), kind=known.kind or kind)
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"the evidence beside {masked} says something of its columns that is no role or kind",
            remedy="give a plan with [columns], or move evidence.json away",
        ) from None
    return words.with_(columns=told)


def _published(source: str, read: Table, before: Table) -> Table:
    """A release with the original's roles and kinds; a text file is read again for its sets."""
    if is_address(source) or all(column.kind != Kind.SET for column in before.schema):
        return like_original(read.frame, before)
    return read_like(source, before)


def _aligned(before: Table, after: Table, masked: str, align: str) -> Aligned:
    """The pair by the alignment that a private folder keeps, else by what the tables tell."""
    named = align.endswith(".parquet")
    kept = Path(align) if named else _private_folder(masked) / "alignment.parquet"
    if not named and kept.with_suffix("").is_dir():
        kept = kept.with_suffix("")  # in parts, as the data
    if named and not kept.is_file():
        raise InputError(f"there is no file {kept}", remedy="the alignment of a private folder")
    if not named and align not in AUTO:
        return align_by(before, after, align)
    if kept.exists():
        remedy = "the alignment.parquet of a private folder"
        found = _read_rows(kept, ["published_row", "original_row"], "is not an alignment", remedy)
        rows = found.sort("published_row")["original_row"].to_numpy()
        if rows.size != after.height or (rows.size and int(rows.max()) >= before.height):
            raise MeasureError(
                f"{kept} does not belong to these files", remedy="--align none, or the right one"
            )
        return Aligned(Pair(before, after, rows), (f"records were aligned by {kept}",))
    if kept.parent.is_dir():
        why = "the release has no alignment: its records are no one person's"
        return Aligned(Pair(before, after, None), (why,), why)
    return align_by(before, after)


def _participants(pair: Pair, plan: Plan, masked: str) -> tuple[Pair, Table | None]:
    """The non-participants: those of the plan's file, or the records that it held out."""
    if plan.input.reference and isinstance(plan.input.reference, str):
        return pair, hold_out(pair.original, plan, None, 0)[1]
    if not isinstance(plan.input.reference, float):
        return pair, None
    noted = _private_folder(masked) / "participants.parquet"
    if noted.is_file():
        remedy = "name a file with --reference"
        found = _read_rows(noted, ["original_row"], "does not say who took part", remedy)
        kept = found.to_series().to_numpy()
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


def _read_rows(path: Path, columns: list[str], wrong: str, remedy: str) -> pl.DataFrame:
    """The numbers of rows that a private folder keeps."""
    try:
        return pl.read_parquet(path, columns=columns, glob=False)
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(f"{path} {wrong}", remedy=remedy) from None
