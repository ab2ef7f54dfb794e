"""The values of columns and how often each occurs, kept beside the work: hierarchies are looked at
without reading the records again.

Every column has a Parquet file of its own, so that one is looked at without the others. They are
the owner's: they tell every value, however rare.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..aside import replacing, write_text
from ..data.codec import domain_values, encoded, floats
from ..data.domain import Domain
from ..data.schema import MEASURED, Column, Kind, Role, Schema
from ..data.table import Table
from ..errors import MethodError, SchemaError
from ..poset.trees.bins import Bins
from ..poset.values.text import text
from ..progress import report
from ..protocols import PosetSource
from ..release.plan.guess import Guess
from ..release.plan.proposal import all_proposed
from ..release.report.columns import date_edges, number_edges
from ..release.report.spread import CannotDraw
from .hierarchies import ColumnHierarchy

INDEX = "values.json"
_VALUE, _RECORDS = "value", "records"
_UNCOUNTED = (Role.IDENTIFIER, Role.HOUSEHOLD, Role.WEIGHT)


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """One column without its records: what occurs, and how often."""

    column: Column
    domain: Domain
    proposal: Mapping[str, Any]
    """The poset that suits it, as a plan has it, and why; empty where none does."""
    _made: dict[str, ColumnHierarchy] = field(default_factory=dict, repr=False)

    def hierarchy(self, source: PosetSource) -> ColumnHierarchy:
        """What that poset makes of the values, with the counts of all records; the one that was
        asked for last is not made again."""
        key = json.dumps(state_of(source))
        made = self._made.get(key)
        if made is None:
            made = ColumnHierarchy(self._table, self.column.name, source)
            self._made.clear()
            self._made[key] = made
        return made

    @cached_property
    def _table(self) -> Table:
        values = self.domain.values.alias(self.column.name)
        own = self.column.with_(whole=Domain(values, self.domain.counts, self.domain.missing))
        return Table(values.to_frame(), Schema([own]))

    def told(self, source: PosetSource, first: int = 6) -> dict[str, Any]:
        """The levels of a poset with their counts, as plain values; or everything that is wrong."""
        made = self.hierarchy(source)
        try:
            return {"levels": made.preview(first).to_dicts()}
        except SchemaError as error:
            return {"faults": [vars(complaint) for complaint in error.complaints]}
        except MethodError:
            return {"levels": []}

    def checked(self, source: PosetSource) -> PosetSource:
        """The same if it fits the values; else `SchemaError` names everything that is wrong."""
        made = self.hierarchy(source)
        try:
            made.poset  # noqa: B018  # which binds it
        except SchemaError as error:
            raise SchemaError(f"column {self.column.name}", error.complaints) from None
        return source

    @cached_property
    def records(self) -> dict[str, int]:
        """How many records have each value, by its text."""
        texts = map(text, domain_values(self.column, self.domain.values))
        counts = self.domain.counts
        if self.column.kind == Kind.ORDINAL:  # whose values are all of its categories
            found = np.zeros(len(self.column.categories), dtype=np.int64)
            found[self.domain.values.to_physical().to_numpy()] = counts
            counts = found
        return dict(zip(texts, counts.tolist(), strict=True))

    @property
    def measured(self) -> bool:
        """Whether it has numbers or dates that can be cut."""
        return self.column.kind in MEASURED

    @cached_property
    def numbers(self) -> np.ndarray:
        """float64: its values as numbers, days since 1970 for dates."""
        return floats(self.domain.values, self.column)

    def histogram(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of bins and the records in each, as the report cuts them; nothing where they
        cannot be drawn."""
        nothing = np.empty(0), np.empty(0)
        try:
            finite = np.isfinite(self.numbers)
            values, counts = self.numbers[finite], self.domain.counts[finite]
            if not values.size:
                return nothing
            low, high = float(values.min()), float(values.max())
            dates = self.column.kind == Kind.DATE
            whole = self.column.kind == Kind.INTEGER
            edges = date_edges(low, high) if dates else number_edges(low, high, whole)
        except (CannotDraw, SchemaError, MethodError):
            return nothing
        return edges, np.histogram(values, bins=edges, weights=counts)[0]

    def edges(self, source: PosetSource) -> list[list[float | int]]:
        """Where the bins of numbers begin, level by level; of those with a width, over the values
        that occur. Nothing for other posets, or where there are too many to edit."""
        if not isinstance(source, Bins) or self.column.kind == Kind.DATE:
            return []
        if source.edges is not None:
            return [[e for e in level if isinstance(e, int | float)] for level in source.edges]
        finite = self.numbers[np.isfinite(self.numbers)]
        if not finite.size:
            return []
        return source.edges_over(float(finite.min()), float(finite.max()))


def state_of(source: PosetSource) -> list[Any]:
    """What differs when a poset does: its words, and the files that it names."""
    files = []
    for key in ("path", "hierarchy"):
        try:
            found = Path(str(getattr(source, key, None) or "")).stat()
        except OSError:
            continue
        files.append([found.st_size, found.st_mtime_ns])
    return [source.name, json.loads(json.dumps(source.plan_words(), default=str)), files]


def keep_values(records: Table, folder: Path) -> dict[str, Any]:
    """Count the values of every column that may be generalized, and write them into a folder.

    >>> import tempfile
    >>> from sfumato.data.table import table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = keep_values(table({"age": [30, 31, 31, None]}, quasi=["age"]), Path(folder))
    ...     found = values_in(folder, "age")
    >>> found.domain.values.to_list(), found.domain.counts.tolist(), found.domain.missing
    ([30, 31], [1, 2], 1)
    """
    proposals = all_proposed(records)
    listed: list[dict[str, Any]] = []
    for place, name in enumerate(records.names):
        column = records.schema[name]
        report("counting values", place, len(records.names))
        if column.role in _UNCOUNTED or column.kind == Kind.SET or column.generalized:
            continue
        found = encoded(records, column.name)
        counts = np.bincount(found.codes, minlength=len(found.domain) + 1)
        frame = pl.DataFrame([found.domain.alias(_VALUE), pl.Series(_RECORDS, counts[1:])])
        with replacing(folder / f"values-{place}.parquet", replace=True, private=True) as aside:
            frame.write_parquet(aside)
        made = proposals.get(column.name)
        listed.append(
            {
                "name": column.name,
                "file": f"values-{place}.parquet",
                "kind": str(column.kind),
                "categories": list(column.categories),
                "distinct": len(found.domain),
                "missing": int(counts[0]),
                "proposal": {} if made is None else {"poset": made.poset, "why": _why(made)},
            }
        )
    index = {"records": records.height, "columns": listed}
    write_text(folder / INDEX, json.dumps(index, default=str), private=True)
    return {"columns": len(listed)}


def _why(made: Guess) -> str:
    """Why a column is what it is, where nobody said so."""
    if made.why != "as you said":
        return made.why
    return f"it seems to be: {made.what.replace('-', ' ')}" if made.what else ""


@lru_cache(maxsize=8)
def index_of(folder: str) -> dict[str, dict[str, Any]]:
    """What was counted, column by column: name, kind, distinct, missing, proposal."""
    found = json.loads((Path(folder) / INDEX).read_text(encoding="utf-8"))
    return {one["name"]: one | {"records": found["records"]} for one in found["columns"]}


@lru_cache(maxsize=8)
def values_in(folder: str, name: str) -> ColumnValues:
    """The values of one column, as `keep_values` left them."""
    about = index_of(folder)[name]
    frame = pl.read_parquet(Path(folder) / about["file"])
    kind, categories = Kind(about["kind"]), tuple(about["categories"])
    values = frame.get_column(_VALUE)
    if kind == Kind.ORDINAL:
        values = values.cast(pl.Enum(list(categories)))
    counts = frame.get_column(_RECORDS).to_numpy().astype(np.int64)
    column = Column(name, kind, Role.QUASI, categories)
    return ColumnValues(column, Domain(values, counts, about["missing"]), about["proposal"])


def nested(cuts: Sequence[tuple[float | int, int]]) -> list[list[float | int]]:
    """Levels of edges from cuts, each of which is kept up to a level.

    >>> nested([(40, 2), (20, 1), (60, 1)])
    [[20, 40, 60], [40]]
    """
    highest = max((level for _, level in cuts), default=0)
    return [sorted({c for c, kept in cuts if kept >= level}) for level in range(1, highest + 1)]


def kept_up_to(levels: Sequence[Sequence[float | int]]) -> list[tuple[float | int, int]]:
    """The same the other way round.

    >>> kept_up_to([[20, 40, 60], [40]])
    [(20, 1), (40, 2), (60, 1)]
    """
    finest = levels[0] if levels else ()
    return [(cut, sum(cut in level for level in levels)) for cut in finest]
