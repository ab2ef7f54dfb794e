"""Cells added up from records, in memory or where these are.

Records that are somewhere else are added up part by part; cells alone travel, each with the few
contributors that are kept. Where a contributor may have several records, these meet in one part.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
import polars as pl

from ...data.codec import codes_among
from ...data.table import Table
from ...engines.merging import merged
from ...engines.relation import Relation, Whole
from ...kernels.arrays import Codes, Ints
from ...kernels.statistics.spanned_sum import Span
from ...kernels.tables.tally import (
    Cells,
    Records,
    Sparse,
    Tally,
    empty_tally,
    part_tally,
    tally,
    together,
    told_together,
)
from .dimension_tree import Variable
from .linking import Layout
from .records import Fields

_AT_ONCE = 1 << 19
"""Records that meet in one place by their contributors, about."""
Pair = tuple[Sparse, Sparse]
"""What the cells of a cube hold by contributors of one record, and by others."""


@dataclass(frozen=True)
class _Axis:
    """A dimension of a cube, for records."""

    name: str
    domain: pl.Series
    leaf: Codes
    """The code of each value; entry 0: of a missing one."""
    parent: Ints

    def leaves(self, part: Table) -> Codes:
        """The code of each record of a part."""
        found: Codes = self.leaf[codes_among(part, self.name, self.domain)]
        return found


@dataclass(frozen=True)
class Cubes:
    """What is added up, of any part of the records."""

    fields: Fields
    cubes: tuple[tuple[_Axis, ...], ...]
    top: int
    span: Span

    @classmethod
    def of(
        cls,
        fields: Fields,
        variables: Mapping[str, Variable],
        form: Layout,
        top: int,
        span: Span,
    ) -> Cubes:
        """The cubes of a layout."""
        cubes = tuple(
            tuple(
                _Axis(
                    name,
                    variables[name].domain,
                    variables[name].leaf[i].astype(np.int32),
                    dimension.parent,
                )
                for name, i, dimension in zip(names, chosen, cube.dimensions, strict=True)
            )
            for names, chosen, cube in zip(form.names, form.chosen, form.cubes, strict=True)
        )
        return cls(fields, cubes, top, span)

    @property
    def columns(self) -> list[str]:
        """All columns that are needed."""
        named = [axis.name for cube in self.cubes for axis in cube]
        return list(dict.fromkeys([*named, *self.fields.columns]))

    def in_one(self, data: Whole) -> list[Tally]:
        """What the cells of each cube hold, of records in memory."""
        records = self.fields.records(data.table, data.numbers)
        return [
            tally(_with_leaves(records, cube, data.table), _parents(cube), self.top, self.span)
            for cube in self.cubes
        ]

    def in_parts(self, data: Relation) -> list[Tally]:
        """The same of records that are somewhere else."""
        route = None
        if self.fields.holding:
            route = partial(self.fields.route, data.height // _AT_ONCE + 1)
        found = merged(data.only(self.columns), self.summary, joined, route)
        return [
            told_together(*pair, _parents(cube), self.top, self.span)
            for pair, cube in zip(unpacked(found), self.cubes, strict=True)
        ]

    def summary(self, part: Table, numbers: np.ndarray) -> bytes:
        """What a part's cells hold."""
        records = self.fields.records(part, numbers)
        return packed(
            [
                part_tally(_with_leaves(records, cube, part), _parents(cube), self.top, self.span)
                for cube in self.cubes
            ]
        )


def tallied(data: Relation, cubes: Cubes, form: Layout) -> Tally:
    """What all cells of a layout hold."""
    # Itself: what is made of one may show its records in parts.
    parts = cubes.in_one(data) if type(data) is Whole else cubes.in_parts(data)
    if len(parts) == 1:
        return parts[0]
    whole = empty_tally(form.n, cubes.top)
    for cube, part in zip(form.cubes, parts, strict=True):
        for target, source in zip(whole, part, strict=True):
            target[cube.cells.ravel()] = source
    return whole


def joined(parts: Iterable[bytes]) -> bytes:
    """What cells hold in several parts, one after the other: each may be large."""
    return packed(reduce(_both, map(unpacked, parts)))


def _both(one: Sequence[Pair], other: Sequence[Pair]) -> Sequence[Pair]:
    return [
        (together([a[0], b[0]]), together([a[1], b[1]])) for a, b in zip(one, other, strict=True)
    ]


def packed(pairs: Sequence[Pair]) -> bytes:
    """What cells hold, as it travels."""
    held = [array for pair in pairs for side in pair for array in (side.numbers, *side.cells)]
    sink = io.BytesIO()
    np.savez(sink, *held)
    return sink.getvalue()


def unpacked(raw: bytes) -> list[Pair]:
    """What `packed` was given."""
    with np.load(io.BytesIO(raw)) as found:
        held = [found[f"arr_{i}"] for i in range(len(found.files))]
    sides = [Sparse(held[i], Cells(*held[i + 1 : i + 3])) for i in range(0, len(held), 3)]
    return list(zip(sides[::2], sides[1::2], strict=True))


def _parents(cube: Sequence[_Axis]) -> list[Ints]:
    return [axis.parent for axis in cube]


def _with_leaves(records: Records, cube: Sequence[_Axis], part: Table) -> Records:
    leaf = np.empty((len(cube), part.height), np.int32)
    for j, axis in enumerate(cube):
        leaf[j] = axis.leaves(part)
    return replace(records, leaf=leaf)
