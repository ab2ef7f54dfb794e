"""Two files as an intruder holds them: known numbers beside the masked ones, each standardized.

What linkages by number share, whether they measure a risk or attack a method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from ...errors import MeasureError, SfumatoError
from ...protocols import Method, Partitioner
from ..codec import encode
from ..generalized.label_places import has_labels
from ..kinds import is_text
from ..pair import Pair
from ..schema import Kind
from ..table import Table
from .linking import (
    CONFIDENCE,
    columns_to_link_by,
    has_numbers,
    limits,
    numbers_of,
    require_records,
    require_reference,
    stacked,
)

TOLERANCE = 1e-9
"""Distances that differ by this part of the least are equal."""
_SQUARABLE = 1e140
Entered = Literal["all", "some", "released"]
"""Whether all records, the released ones alone, or some between went into a step."""


def own_rows(pair: Pair, asking: str) -> np.ndarray:
    """The masked row of each original record, -1 where it was not released."""
    require_records(pair, asking)
    rows, masked = pair.aligned_rows()
    if np.unique(rows).size < rows.size:
        raise MeasureError(
            "several masked records come from one original: its own record is not defined",
            remedy="measure the releases one by one",
        )
    own = np.full(pair.original.height, -1, dtype=np.int64)
    own[rows] = masked
    return own


def acted_on(step: Method | Partitioner, original: Table) -> Sequence[str]:
    """The columns that a published step changed, or may have changed."""
    try:
        return step.targets(original)[0]
    except SfumatoError:
        # Columns that an earlier step made fit for it; where none are named, any of its roles.
        wanted = step.columns or [c.name for c in original.schema if c.role in step.roles]
        return [name for name in wanted if name in original.schema]


def moments_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations by column, missing aside; 1 for a constant column."""
    here = ~np.isnan(x)
    count = np.maximum(here.sum(axis=0), 1)
    # In parts of the largest value, since squares of very large or small numbers leave the floats.
    unit = np.where(here, np.abs(x), 0.0).max(axis=0, initial=0.0)
    unit = np.where((unit > _SQUARABLE) | (unit < 1 / _SQUARABLE), unit, 1.0)
    unit = np.where(unit > 0, unit, 1.0)
    parts = np.where(here, x, 0.0) / unit
    mean = parts.sum(axis=0) / count
    spread = np.sqrt((np.where(here, parts - mean, 0.0) ** 2).sum(axis=0) / count) * unit
    low = np.where(here, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(here, x, -np.inf).max(axis=0, initial=-np.inf)
    return mean * unit, np.where((spread > 0) & (low < high), spread, 1.0)


def _standardized(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    centre, scale = moments_of(by)
    return np.asarray((x - centre) / scale)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns that both files have as numbers: raw, and standardized each file by its own."""

    pair: Pair
    names: tuple[str, ...]

    @cached_property
    def original(self) -> np.ndarray:
        """float64 (n, v), NaN missing."""
        return numbers_of(self.pair.original, self.names, self.pair)

    @cached_property
    def masked(self) -> np.ndarray:
        """float64 (m, v), NaN missing or suppressed."""
        return numbers_of(self.pair.masked, self.names, self.pair)

    @cached_property
    def hidden(self) -> np.ndarray:
        """bool (m, v): cells that were suppressed, of which nothing is known."""
        return hidden_cells(self.pair.masked, self.names)

    def of(self, table: Table) -> np.ndarray:
        """The same columns of another table, such as that of the non-participants."""
        if table is self.pair.original:
            return self.original
        require_reference(table, self.names)
        return numbers_of(table, self.names, self.pair)

    def known(self, x: np.ndarray) -> np.ndarray:
        """Original values, standardized by the original's means and deviations."""
        return _standardized(x, self.original)

    @cached_property
    def published(self) -> np.ndarray:
        """The masked values, standardized by their own; infinite where suppressed, as the kernels
        are told that a cell is near to everything."""
        return np.where(self.hidden, np.inf, _standardized(self.masked, self.masked))

    def as_published(self, x: np.ndarray) -> np.ndarray:
        """Original values in the units of `published`: those of the masked file."""
        return _standardized(x, self.masked)

    @cached_property
    def shown(self) -> np.ndarray:
        """The masked values, standardized by their own; NaN missing or suppressed."""
        return np.where(self.hidden, np.nan, self.published)

    def only(self, names: Sequence[str]) -> Numbers:
        """Some of the columns."""
        return Numbers(self.pair, tuple(names))


@dataclass(frozen=True, eq=False)
class Categories:
    """Columns that both files hold as values to be equal or not, in one numbering."""

    pair: Pair
    names: tuple[str, ...]

    @cached_property
    def original(self) -> np.ndarray:
        """int32 (n, q): codes in the order of the values; 0 missing."""
        return self._codes[0]

    @cached_property
    def masked(self) -> np.ndarray:
        """int32 (m, q): 0 missing or suppressed."""
        return np.where(self.hidden, np.int32(0), self._codes[1])

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray]:
        tables = self.pair.original, self.pair.masked
        parts = [in_one_numbering([table[name] for table in tables]) for name in self.names]
        before, after = (stacked([part[k] for part in parts], tables[k].height) for k in range(2))
        return before, after

    @cached_property
    def hidden(self) -> np.ndarray:
        """bool (m, q): cells that were suppressed."""
        return hidden_cells(self.pair.masked, self.names)

    def of(self, table: Table) -> np.ndarray:
        """The same columns of another table by the same codes; -1 for values that neither has."""
        if table is self.pair.original:
            return self.original
        require_reference(table, self.names)
        found = []
        for j, name in enumerate(self.names):
            listed = [table[name], self.pair.original[name], self.pair.masked[name]]
            theirs, before, after = in_one_numbering(listed)
            top = max(int(part.max(initial=0)) for part in (theirs, before, after))
            code = np.full(top + 1, -1, dtype=np.int32)
            code[0] = 0
            code[before], code[after] = self._codes[0][:, j], self._codes[1][:, j]
            found.append(code[theirs])
        return stacked(found, table.height)

    def only(self, names: Sequence[str]) -> Categories:
        """Some of the columns."""
        return Categories(self.pair, tuple(names))


def hidden_cells(table: Table, names: Sequence[str]) -> np.ndarray:
    """bool (n, v): the cells of these columns that were suppressed."""
    marks = [table.suppressed(name) for name in names]
    if not marks:
        return np.zeros((table.height, 0), dtype=bool)
    return np.asarray(np.column_stack(marks))


def in_one_numbering(listed: Sequence[pl.Series]) -> list[np.ndarray]:
    """int32 codes of several columns: 0 missing, else the place among the sorted values of all.

    >>> [codes.tolist() for codes in in_one_numbering([pl.Series(["b", None]), pl.Series(["a"])])]
    [[2, 0], [1]]
    """
    alike = [_sets_as_text(s) if s.dtype.is_nested() else s for s in listed]
    kinds = {s.dtype for s in alike}
    if len(kinds) > 1 or kinds & {pl.Categorical()}:
        numeric = all(kind.is_numeric() for kind in kinds)
        alike = [s.cast(pl.Float64 if numeric else pl.String) for s in alike]
    whole = pl.concat([s.alias("") for s in alike])
    if whole.dtype.is_float():
        whole = whole.set(whole == 0, 0.0)  # one zero; polars leaves -0.0 + 0.0 as it is
    codes = encode(whole).codes.astype(np.int32)
    return np.split(codes, np.cumsum([len(s) for s in listed])[:-1])


def _sets_as_text(series: pl.Series) -> pl.Series:
    texts = [None if v is None else repr(sorted({str(one) for one in v})) for v in series.to_list()]
    return pl.Series(texts, dtype=pl.String)


def in_both(pair: Pair, name: str) -> bool:
    """Whether a column is in both tables, with numbers and no labels in their place."""
    if name not in pair.masked.schema or not has_numbers(pair, name):
        return False
    ordinal = pair.original.schema[name].kind == Kind.ORDINAL
    values = not pair.masked.schema[name].generalized
    return values and (ordinal or not is_text(pair.masked[name]))


@dataclass(frozen=True, eq=False)
class Known:
    """What an intruder knows of a record: numbers, and categories to be equal or not."""

    numbers: Numbers
    categories: Categories
    names: tuple[str, ...]
    """All of them, in the order of the columns."""
    left_out: dict[str, str]
    """Known columns that cannot be compared, and why."""

    @classmethod
    def of(cls, pair: Pair, named: Sequence[str]) -> Known:
        """The columns named, else the quasi-identifiers. Numbers (dates and ordinals among them)
        are columns that are so in both files; columns that hold labels are left out."""
        names, left = columns_to_link_by(pair, named)
        before, after = pair.original.schema, pair.masked.schema
        labels = [n for n in names if has_labels(before[n], after[n], pair.masked[n])]
        left |= dict.fromkeys(labels, "holds labels, which are not compared with values")
        for name in named:
            if name in left:
                raise MeasureError(
                    f"column {name!r} {left[name]}", remedy="leave it out of `columns`"
                )
        usable = [name for name in names if name not in left]
        if not usable:
            raise MeasureError(
                "no quasi-identifier holds values in both tables",
                remedy="link by record-linkage, which reads labels",
            )
        numbers = [name for name in usable if in_both(pair, name)]
        others = [name for name in usable if name not in numbers]
        return cls(
            Numbers(pair, tuple(numbers)), Categories(pair, tuple(others)), tuple(usable), left
        )


def touched(steps: Iterable[Method | Partitioner], original: Table) -> dict[str, list[str]]:
    """The columns that published steps changed, and the names of these steps."""
    found: dict[str, list[str]] = {}
    for step in steps:
        for name in acted_on(step, original):
            found.setdefault(name, []).append(step.name)
    return found


DROPPING = ("sampling",)
"""Methods that publish only some of the records."""


def entered(steps: Sequence[Method | Partitioner], pair: Pair) -> list[Entered]:
    """Which records each published step was given.

    Records that no published step left out are taken to have been left out after all of them: the
    ranks and moments of the whole file are then near to those of any random part of it.
    """
    count = len(steps)
    if pair.masked.height >= pair.original.height:
        return ["all"] * count
    drops = [i for i, step in enumerate(steps) if step.name in DROPPING] or [count]
    return [
        "all" if i <= drops[0] else "released" if i > drops[-1] else "some" for i in range(count)
    ]


@dataclass(frozen=True, eq=False)
class Credit:
    """What linking some of the records achieved; own records tied with t - 1 others count 1/t.

    Where people have several records, any of theirs will do: of t tied ones o are, which counts
    o/t.
    """

    records: np.ndarray
    """o/t for each record linked, 0 where none of the own is among the nearest."""
    alone: int
    """Records to which none but the own was nearest."""
    won: int
    """Records whose own was among the nearest."""

    @classmethod
    def of(cls, own_tied: np.ndarray, ties: np.ndarray) -> Credit:
        """From whether the own record ties (or how many own ones do), and with how many in all."""
        own = own_tied.astype(np.int64)
        credit = own / np.maximum(ties, 1)
        return cls(credit, int(((own > 0) & (own == ties)).sum()), int((own > 0).sum()))

    @property
    def value(self) -> float:
        """The share of records linked."""
        return float(self.records.mean())

    def interval(self, sampled: bool) -> tuple[float, float]:
        """From every tie lost to every tie won, with confidence limits where records were drawn."""
        n = self.records.size
        if sampled:
            return limits(self.alone, n)[0], limits(self.won, n)[1]
        return self.alone / n, self.won / n


def about_interval(sampled: bool) -> str:
    """What `Credit.interval` is, for the evidence."""
    ties = "from every tie lost to every tie won"
    return f"{ties}, each with its {CONFIDENCE:.0%} confidence limit" if sampled else ties


def at_least_as_close(nearest: np.ndarray, to_own: np.ndarray) -> float:
    """How often a stranger's nearest masked record is at least as close as a participant's own,
    for a stranger and a participant drawn at random."""
    own = np.sort(to_own[np.isfinite(to_own)]) * (1 + TOLERANCE)
    further = own.size - np.searchsorted(own, nearest, side="left")
    return float(further.mean() / max(own.size, 1))


def facts_of(pair: Pair, own: np.ndarray, left_out: Mapping[str, str]) -> dict[str, Any]:
    """What every linkage says of the files."""
    facts: dict[str, Any] = {"records": pair.original.height, "masked_records": pair.masked.height}
    if left_out:
        facts["left_out"] = dict(left_out)
    if gone := int((own < 0).sum()):
        facts["records_not_released"] = gone
    return facts
