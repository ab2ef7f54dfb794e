"""Hierarchies of columns, before anything is masked: made, checked, counted and written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..data.codec import Coded, code
from ..data.schema import Role
from ..data.table import Table, table
from ..errors import Complaint, MethodError, ParameterError, SchemaError
from ..poset.files.export import poset_rows, write_poset
from ..protocols import Poset, PosetSource
from ..registry import find
from ..release.plan import toml
from ..release.plan.proposal import proposed


class ColumnHierarchy:
    """What may be published for a column's values, level by level, for the owner of the data.

    `source` is how a plan declares it; `why` says what the column seems to be where nobody said
    which hierarchy to take.
    """

    def __init__(self, records: Table, column: str, source: PosetSource, why: str = "") -> None:
        own = records.schema[column]
        if own.generalized:
            raise MethodError(
                f"column {column!r} holds labels already", remedy="give the original column"
            )
        self.table = records.with_columns([], [own.with_(poset=source)])
        self.column, self.source, self.why = column, source, why

    def __repr__(self) -> str:
        return f"ColumnHierarchy({self.line})"

    @property
    def line(self) -> str:
        """What a plan's [columns] says of the column."""
        role = self.table.schema[self.column].role
        said = Role.QUASI if role == Role.UNDECIDED else role
        words = {"kind": self.source.name, **self.source.plan_words()}
        return f"{toml.key(self.column)} = {toml.value({'role': str(said), 'poset': words})}"

    @cached_property
    def _coded(self) -> Coded:
        return code(self.table, self.column)

    @property
    def poset(self) -> Poset:
        """The values and what is above them; `SchemaError` names everything that is wrong."""
        return self._coded.poset

    def check(self) -> list[Complaint]:
        """Everything that is wrong: values that are not covered, labels with two parents, rows of
        a file that make no tree. Nothing, if it may be used."""
        try:
            self.rows()
        except SchemaError as error:
            return list(error.complaints)
        except MethodError as error:
            return [Complaint(self.column, error.message, error.remedy)]
        return []

    def rows(self) -> list[list[str]]:
        """Each value with its ancestors, as ARX reads them; of a partial order each value with a
        parent. All values of the column are among them."""
        self._check_kind()
        return poset_rows(self.poset)

    def write(self, path: str | Path, *, replace: bool = False) -> None:
        """Write the rows as CSV, semicolons between the cells. It holds the column's values."""
        self._check_kind()
        write_poset(self.poset, path, replace=replace)

    def _check_kind(self) -> None:
        structure = self.poset.structure
        if structure.tree is None and structure.ancestors is None:
            raise MethodError(
                f"column {self.column!r} has neither a hierarchy nor a partial order",
                remedy=f'{self.source.name} is no tree: give it kind = "bins", "date", "prefix", '
                '"hierarchy", ...',
            )

    def preview(self, first: int = 5) -> pl.DataFrame:
        """A row for each level: the groups that hold records, the records of the smallest, the
        median and the largest, and the first groups with theirs.

        The counts tell who is rare: they are for the owner of the data. Missing values are in no
        group (`missing` counts them).
        """
        coded = self._coded
        tree = coded.structure.tree
        if tree is None:
            self._check_kind()
            raise MethodError(
                f"column {self.column!r} has a partial order, whose values have no levels",
                remedy="write() writes it",
            )
        counts = np.zeros(len(tree) + 1, dtype=np.int64)
        held = coded.counts
        assert held is not None
        counts[: held.size] = held
        rows = []
        for level in range(tree.levels):
            nodes = tree.shown[tree.nodes_at(level)[1:]]
            records = np.zeros(len(tree.label_of_node), dtype=np.int64)
            np.add.at(records, nodes, counts[1:])
            groups = list(dict.fromkeys(nodes[counts[1:] > 0].tolist()))
            sizes = records[groups]
            shown = [
                {"label": tree.label_of_node[node], "records": int(records[node])}
                for node in groups[:first]
            ]
            rows.append(
                {
                    "level": level,
                    "groups": len(groups),
                    "smallest": int(sizes.min()) if groups else 0,
                    "median": float(np.median(sizes)) if groups else 0.0,
                    "largest": int(sizes.max()) if groups else 0,
                    "first": shown,
                }
            )
        return pl.DataFrame(rows, schema=_PREVIEW)

    @property
    def missing(self) -> int:
        """Records without a value."""
        return self.table[self.column].null_count()


_PREVIEW: dict[str, Any] = {
    "level": pl.Int64, "groups": pl.Int64, "smallest": pl.Int64, "median": pl.Float64,
    "largest": pl.Int64, "first": pl.List(pl.Struct({"label": pl.String, "records": pl.Int64})),
}  # fmt: skip


def hierarchy(
    given: Any,
    column: str,
    kind: str | PosetSource | Mapping[str, Any] | None = None,
    **parameters: Any,
) -> ColumnHierarchy:
    """A column's hierarchy, to be looked at, checked and written: of a given kind, else the one
    that it has, else one that suits what the column seems to be.

    >>> ages = hierarchy({"age": [23, 25, 38, 59, 61]}, "age", kind="bins", width=20, fanouts=[2])
    >>> ages.preview()["groups"].to_list(), ages.rows()[2], ages.check()
    ([5, 3, 2, 1], ['38', '[20, 39]', '[0, 39]', '*'], [])
    >>> ages.line
    'age = { role = "quasi", poset = { kind = "bins", width = 20, fanouts = [2] } }'
    """
    records = given if isinstance(given, Table) else table(given)
    if isinstance(kind, Mapping):
        words = dict(kind)
        kind, parameters = str(words.pop("kind", "")), {**words, **parameters}
    if kind is None and parameters:
        raise ParameterError(
            f"{', '.join(parameters)} without a kind", remedy='kind = "bins", for example'
        )
    if isinstance(kind, PosetSource):
        return ColumnHierarchy(records, column, kind)
    if kind is not None:
        return ColumnHierarchy(records, column, find(kind, "poset").load().build(parameters))
    own = records.schema[column]
    if own.poset is not None:
        return ColumnHierarchy(records, column, own.poset)
    made = proposed(records, column)
    words = dict(made.poset)
    source = find(words.pop("kind"), "poset").load().build(words)
    records = records.with_columns([], [own.with_(role=made.role)])
    return ColumnHierarchy(records, column, source, made.why)
