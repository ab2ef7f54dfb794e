"""What a table needs of its records: amounts, weights, contributors and keys, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.table import Table
from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints
from ...kernels.draws import Draws
from ...kernels.statistics.spanned_sum import Extent
from ...kernels.tables.tally import Records, extent_of
from ...rng import Key

KEY_BITS = 53
"""Bits of a record's key: it is a number in [0, 1) in steps of 2^-53."""
_NONE = np.empty(0)
_CORRECT = "correct it, or leave it out"


class _Wrong(NamedTuple):
    """A column that cannot be used, and why: that which is looked at first comes first, and of its
    records the first."""

    place: tuple[int, int]
    number: int
    what: str
    remedy: str


@dataclass(frozen=True)
class Survey:
    """What must be known of all records before they are added up."""

    extent: Extent
    negative: bool = False
    """Whether an amount is."""
    missing: bool = False
    wrong: tuple[_Wrong, ...] = ()

    def plus(self, other: Survey) -> Survey:
        """Both together."""
        return Survey(
            self.extent.plus(other.extent),
            self.negative or other.negative,
            self.missing or other.missing,
            tuple(sorted((*self.wrong, *other.wrong))[:1]),
        )


def surveyed(parts: Sequence[Survey]) -> Survey:
    """What the parts know together; what is wrong is raised, of all records the first."""
    found = reduce(Survey.plus, parts)
    for one in found.wrong:
        raise MethodError(one.what, remedy=one.remedy)
    return found


@dataclass(frozen=True)
class Fields:
    """Which columns tell what of a record; "" where none does."""

    value: str | None = None
    """None: records are counted."""
    weight: str = ""
    holding: str = ""
    request: str = ""
    record_key: str = ""
    drawn: Key | None = None
    """What records' keys are drawn by, where no column has them."""

    @property
    def columns(self) -> list[str]:
        """All of them."""
        named = (self.value, self.weight, self.holding, self.request, self.record_key)
        return list(dict.fromkeys(name for name in named if name))

    def survey(self, part: Table, numbers: np.ndarray) -> Survey:
        """What a part has to say."""
        found = self._wrong(part, numbers)
        if found is not None:
            return Survey(Extent(), wrong=(found,))
        amount, weight = self._amounts(part)
        added = extent_of(amount, weight, holdings=bool(self.holding))
        if not np.isfinite(added.most):
            with np.errstate(over="ignore"):
                row = _first(np.isinf(amount * weight), numbers)
            what = f"value {self.value!r}, row {row + 1}: times its weight it is infinite"
            return Survey(Extent(), wrong=(_Wrong((9, 0), row, what, _CORRECT),))
        return Survey(added, bool((amount < 0).any()), bool(np.isnan(amount).any()))

    def _wrong(self, part: Table, numbers: np.ndarray) -> _Wrong | None:
        """The first thing that is wrong with a part's columns."""
        words = ("record key", "weight", "value", "request")
        names = (self.record_key, self.weight, self.value or "", self.request)
        for place, (what, name) in enumerate(zip(words, names, strict=True)):
            series = part[name] if name else pl.Series([], dtype=pl.Float64)
            if not _countable(series):
                said = f"{what} {name!r} holds {part.schema[name].kind} values, not numbers"
                return _Wrong((place, 0), -1, said, "name a column of numbers")
            found = _floats(series)
            for turn, (bad, said, remedy) in enumerate(_misfits(what, found), 1):
                if bad.any():
                    number = _first(bad, numbers)
                    told = said.format(found[numbers == number][0])
                    told = f"{what} {name!r}, row {number + 1}: it {told}"
                    return _Wrong((place, turn), number, told, remedy)
        return None

    def _amounts(self, part: Table) -> tuple[Floats, Floats]:
        """What each record adds, and its weight (none where there are no weights)."""
        amount = np.ones(part.height) if self.value is None else _floats(part[self.value])
        return amount, _floats(part[self.weight]) if self.weight else _NONE

    def records(self, part: Table, numbers: np.ndarray) -> Records:
        """A part's records, those of one contributor in the order of their numbers, for the kernel;
        leaves are still to be told."""
        who: Ints = numbers.astype(np.int64)
        amount, weight = self._amounts(part)
        shared = np.empty(0, np.int64)
        if self.holding:
            codes = encode(part[self.holding]).codes.astype(np.int64)
            # A holding goes by the number of its first record, which no other contributor has.
            first = np.empty(int(codes.max(initial=0)) + 1, np.int64)
            first[codes[::-1]] = who[::-1]
            who = np.where(codes > 0, first[codes], who)
            shared = np.flatnonzero((codes > 0) & (np.bincount(codes)[codes] > 1))
            shared = shared[np.argsort(codes[shared], kind="stable")]
        return Records(
            leaf=np.empty((0, part.height), np.int32),
            amount=amount,
            who=who,
            shared=shared,
            weight=weight,
            asked=np.nan_to_num(_floats(part[self.request])) if self.request else _NONE,
            key=self._keys(part, numbers),
        )

    def _keys(self, part: Table, numbers: np.ndarray) -> np.ndarray:
        """The records' keys as whole numbers, whose sums are exact in any order."""
        if self.record_key:
            given = _floats(part[self.record_key])
            return np.floor(given * 2.0**KEY_BITS).astype(np.uint64)
        if self.drawn is None:
            return np.empty(0, np.uint64)
        return Draws(self.drawn, numbers).bits() >> np.uint64(64 - KEY_BITS)

    def route(self, groups: int, part: Table, numbers: np.ndarray) -> np.ndarray:
        """int64: where a record goes, so that all of its holding meet; one without any holding
        stays by itself."""
        series = part[self.holding]
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        found = np.where(series.is_null().to_numpy(), numbers, series.hash(0).to_numpy())
        return (found % np.uint64(groups)).astype(np.int64)


def _countable(series: pl.Series) -> bool:
    """Whether a column holds numbers; nothing at all is as good."""
    dtype = series.dtype
    return dtype.is_numeric() or dtype == pl.Boolean or series.null_count() == len(series)


def _floats(series: pl.Series) -> Floats:
    """A column as numbers, NaN where missing."""
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _misfits(what: str, found: Floats) -> Iterator[tuple[Bools, str, str]]:
    """Which numbers do not do for what they are, each with what to say of one and the remedy."""
    yield np.isinf(found), "is infinite", _CORRECT
    if what == "weight":
        each = "give every record 0 or more"
        yield np.isnan(found), "is missing", each
        yield found < 0, "is {:g}", each
    if what == "record key":
        each = "give every record a key, or leave record_key out and give an rng"
        yield ~((found >= 0) & (found < 1)), "is not from 0 up to 1", each


def _first(rows: Bools, numbers: np.ndarray) -> int:
    """The least number of these rows."""
    return int(numbers[rows].min())
