"""Where attacks with a control are tried: a release, people who are in it, and people who are not.

Both kinds of people are known by the same columns, and coded with the release in the same bins, so
that whatever is done to find one is done to find the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ..data.codec import floats
from ..data.generalized.bins import Bins, binned
from ..data.generalized.label_places import Labels, distinct_labels, has_labels
from ..data.linkage.strangers import refuse_the_same, shared_columns, typed_as, unlike, worth
from ..data.pair import Pair, suppressed
from ..data.people.participants import kept_together
from ..data.schema import MEASURED, SET_ASIDE, Kind, Role, Schema
from ..data.table import Table
from ..errors import MeasureError, SfumatoError
from ..protocols import Context, Method, Partitioner

MOST_CATEGORIES = 2_000


@dataclass(frozen=True, eq=False)
class Coded:
    """Released cells and people in the same bins, column by column.

    The last bin of a column is missing, the one before holds values that no attacked person has.
    A released cell is a bin, or from `counts[j]` on a label that stands for several of them.
    """

    names: tuple[str, ...]
    inside: np.ndarray
    """int32 (people in the data, columns)"""
    outside: np.ndarray
    """int32 (other people, columns)"""
    cells: np.ndarray
    """int32 (released records, columns)"""
    bins: tuple[Bins, ...]

    @property
    def counts(self) -> list[int]:
        """How many bins each column has."""
        return [one.count for one in self.bins]

    def spread(self, j: int) -> Any:
        """CSR: every place of a column's cells by bins, rows summing to 1: by the release's own
        exact cells, as if one more record were spread evenly."""
        return self.bins[j].spread

    def covers(self, j: int) -> np.ndarray:
        """bool (places, bins): which bins a cell may stand for."""
        return np.asarray(sparse.csr_matrix(self.spread(j)).toarray() > 0)

    def exact(self, j: int) -> np.ndarray:
        """bool (released records,): whether a cell shows one bin."""
        found: np.ndarray = self.cells[:, j] < self.bins[j].count
        return found

    def only(self, columns: Sequence[int]) -> Coded:
        """Some of the columns."""
        at = list(columns)
        return Coded(
            tuple(self.names[j] for j in at),
            self.inside[:, at],
            self.outside[:, at],
            self.cells[:, at],
            tuple(self.bins[j] for j in at),
        )


@dataclass(frozen=True, eq=False)
class Field:
    """A release, and the people who are looked for in it."""

    pair: Pair
    """The people in the data beside the release; `pair.rows` tells whose each record is."""
    others: Table
    """People who are not in the data."""
    inside: np.ndarray
    """Rows of the original: the people attacked."""
    outside: np.ndarray
    """Rows of the others: the controls."""
    names: tuple[str, ...]
    """The published columns that are attacked or known."""
    mechanism: tuple[Method | Partitioner, ...]
    left_out: dict[str, str]

    @classmethod
    def of(cls, context: Context, sample: int) -> Field:
        """Of a release with people who are not in it; at most `sample` of either are drawn. All
        attacks on one release look for the same people."""
        key = ("field", sample, id(context.pair), id(context.reference))
        if key not in context.kept:
            context.kept[key] = cls._made(context, sample)
        found: Field = context.kept[key]
        return found

    @classmethod
    def _made(cls, context: Context, sample: int) -> Field:
        pair, given = context.pair, context.reference
        assert given is not None
        names, left = _columns(pair, given)
        for name in names:
            if why := unlike(given[name], pair.original[name], pair.original.schema[name]):
                left[name] = why
        others = typed_as(given, pair.original, shared_columns(given, pair.original))
        distinct = worth(pair.original, others)
        if less := others.height - distinct.size:
            others = others.take(distinct)
            left["people outside the data"] = f"{less:,} of them repeat others"
        refuse_the_same(pair.original, others)
        rng = context.rng if context.stream is None else context.stream("people")
        inside, outside = (_drawn(table, sample, rng) for table in (pair.original, others))
        found = cls(pair, others, inside, outside, tuple(names), context.mechanism, left)
        return found._readable()

    def beside(self, masked: Table) -> Field:
        """The same people beside another release, of which nobody says how it was made."""
        pair = Pair(self.pair.original, masked, None)
        names, left = _columns(pair, self.others)
        return replace(self, pair=pair, names=tuple(names), mechanism=(), left_out=left)._readable()

    def _readable(self) -> Field:
        """With the columns alone whose cells can be read."""
        read = []
        for name in self.names:
            try:
                binned(Pair(self.people, self.pair.masked, None), name, 20, MOST_CATEGORIES)
                read.append(name)
            except SfumatoError:
                self.left_out[name] = "holds what cannot be read"
        if not read:
            raise MeasureError(
                "no column is published that people outside the data have, too",
                remedy="give the reference the columns of the original",
            )
        return replace(self, names=tuple(read))

    @property
    def released(self) -> int:
        """How many records are released."""
        return self.pair.masked.height

    @cached_property
    def people(self) -> Table:
        """The people attacked, then the controls, with the attacked columns."""
        schema, series = self.pair.original.schema, []
        for name in self.names:
            own = self.pair.original[name].gather(self.inside)
            theirs = self.others[name].gather(self.outside)
            series.append(pl.concat([own, theirs]).alias(name))
        return Table(pl.DataFrame(series), Schema([schema[name] for name in self.names]))

    @property
    def known(self) -> list[int]:
        """The columns that the intruder knows of a person: the quasi-identifiers, else all that are
        not confidential, else all."""
        roles = [self.pair.original.schema[name].role for name in self.names]
        for wanted in ((Role.QUASI,), tuple(r for r in Role if r != Role.CONFIDENTIAL)):
            if found := [j for j, role in enumerate(roles) if role in wanted]:
                return found
        return list(range(len(self.names)))

    @property
    def secret(self) -> list[int]:
        """The confidential columns."""
        schema = self.pair.original.schema
        return [j for j, n in enumerate(self.names) if schema[n].role == Role.CONFIDENTIAL]

    def coded(self, quantiles: int = 255) -> Coded:
        """All columns in bins; numbers of more values are cut at so many quantiles of the
        people."""
        if quantiles not in self._kept:
            pair = Pair(self.people, self.pair.masked, None)
            found = [binned(pair, name, quantiles, MOST_CATEGORIES)[0] for name in self.names]
            before = np.column_stack([one.before for one in found]).astype(np.int32)
            cells = np.column_stack([one.after for one in found]).astype(np.int32)
            n = self.inside.size
            self._kept[quantiles] = Coded(self.names, before[:n], before[n:], cells, tuple(found))
        return self._kept[quantiles]

    @cached_property
    def _kept(self) -> dict[int, Coded]:
        return {}

    def is_number(self, j: int) -> bool:
        """Whether a column holds numbers or dates."""
        column = self.pair.original.schema[self.names[j]]
        return column.kind in MEASURED and not column.generalized

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """float64: the numbers of people inside, outside and of released records, (·, columns); NaN
        in columns of categories, where missing, and where a cell tells no number. A label lies in
        its middle."""
        p, n = len(self.names), self.inside.size
        people = np.full((self.people.height, p), np.nan)
        cells = np.full((self.released, p), np.nan)
        for j, name in enumerate(self.names):
            if not self.is_number(j):
                continue
            column, masked = self.people.schema[name], self.pair.masked.schema[name]
            people[:, j] = floats(self.people[name], column)
            series = self.pair.masked[name]
            if has_labels(column, masked, series):
                texts, place = distinct_labels(series)
                reader = Labels.of(self.pair.original, name)
                middles = [reader.middle(text) for text in texts]
                where = np.array([np.nan if x is None else x for x in middles] + [np.nan])
                cells[:, j] = where[place]
            else:
                cells[:, j] = floats(series, masked)
            cells[suppressed(self.pair, name), j] = np.nan
        return people[:n], people[n:], cells

    @cached_property
    def own(self) -> np.ndarray | None:
        """int64: the released record of each person attacked, -1 where there is none; None where
        records are nobody's."""
        if self.pair.rows is None:
            return None
        rows, masked = self.pair.aligned_rows()
        own = np.full(self.pair.original.height, -1, dtype=np.int64)
        own[rows] = masked
        return np.asarray(own[self.inside])

    def shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """int64: the released records in a random order, whatever order they lie in."""
        cells, numbers = self.coded().cells, self.numbers[2]
        rising = np.lexsort((*numbers.T, *cells.T))
        return np.asarray(rising[rng.permutation(rising.size)])

    @cached_property
    def atypical(self) -> tuple[np.ndarray, np.ndarray]:
        """bool: who belongs to the 1 % most atypical of all these people, inside and outside: whose
        pairs of values are rarest."""
        coded = self.coded(20)
        both = np.concatenate((coded.inside, coded.outside)).astype(np.int64)
        n, p = both.shape
        score = np.zeros(n)
        pairs = [(a, b) for a in range(p) for b in range(a)] if 2 <= p <= 30 else []
        for a, b in pairs or [(a, a) for a in range(p)]:
            joint = both[:, a] * coded.bins[b].count + both[:, b]
            _, at, counts = np.unique(joint, return_inverse=True, return_counts=True)
            score -= np.log(counts[at])
        # Ties are broken by nothing that tells the two kinds apart: all of a tie are in.
        limit = np.partition(score, n - max(n // 100, 1))[n - max(n // 100, 1)]
        found = score >= limit
        return found[: self.inside.size], found[self.inside.size :]

    def person(self, i: int) -> dict[str, Any]:
        """A person attacked, for the owner's eyes."""
        return {name: _plain(self.people[name][int(i)]) for name in self.names}

    def record(self, r: int) -> dict[str, Any]:
        """A released record."""
        return {name: _plain(self.pair.masked[name][int(r)]) for name in self.names}


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _columns(pair: Pair, others: Table) -> tuple[list[str], dict[str, str]]:
    """The columns that original, release and other people have, and why some are left out."""
    names: list[str] = []
    left: dict[str, str] = {}
    for column in pair.original.schema:
        if column.role in SET_ASIDE or column.name not in pair.masked.schema:
            continue
        if column.name not in others.schema:
            left[column.name] = "people outside the data have no such column"
        elif column.kind == Kind.SET:
            left[column.name] = "holds sets"
        else:
            names.append(column.name)
    return names, left


def _drawn(table: Table, sample: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of people drawn at random, one to a person or household: more would count them twice."""
    unit = kept_together(table)
    order = rng.permutation(table.height)
    if unit is not None:
        order = order[np.sort(np.unique(unit[order], return_index=True)[1])]
    return np.sort(order[:sample] if sample else order)
