"""Which columns of a pair can be compared as numbers, and those numbers.

Two tables are compared where both hold values: a column of labels ("[20, 29]") has none. Whatever
is left out has its reason named, so that a small loss on three columns is never taken for one on
ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from ..data.codec import floats
from ..data.linkage.linking import require_records
from ..data.pair import Pair
from ..data.pair import suppressed as suppressed
from ..data.schema import ORDERED, SET_ASIDE, Kind, Role
from ..errors import MeasureError

_EXACT_FLOAT = 2**53


@dataclass(frozen=True)
class Chosen:
    """The columns of a measure, and why others were left out."""

    names: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(reasons: Mapping[str, str], measure: str, named: bool, what: str, remedy: str) -> Chosen:
        """The columns without a reason to leave them out; with one, a column that was named is an
        error."""
        left_out = {name: why for name, why in reasons.items() if why}
        for name, why in left_out.items() if named else ():
            raise MeasureError(
                f"{measure} cannot be taken on column {name!r}: it {why}",
                remedy="leave it out of `columns`",
            )
        if len(left_out) == len(reasons):
            raise nothing_left(f"{measure} found no column {what}", left_out, remedy)
        return Chosen([name for name, why in reasons.items() if not why], left_out)

    def facts(self) -> dict[str, object]:
        """What the detail of a measurement says about them."""
        named: dict[str, object] = {"columns": list(self.names)}
        if self.left_out:
            named["left_out"] = dict(self.left_out)
        return named


def nothing_left(said: str, left_out: Mapping[str, str], remedy: str) -> MeasureError:
    """The error of a measure without columns, and why it left out those that there are."""
    because = "; ".join(f"{name} {why}" for name, why in left_out.items())
    return MeasureError(said + (f" ({because})" if because else ""), remedy=remedy)


def with_numbers(
    pair: Pair, named: Sequence[str], measure: str, *, quasi_first: bool = False
) -> Chosen:
    """The columns that have numbers in both tables: those named, else every ordered one.

    With `quasi_first` these are the ordered quasi-identifiers, if there are any.
    """
    require_records(pair, measure)
    ordered = [c for c in pair.original.schema if c.kind in ORDERED and c.role not in SET_ASIDE]
    quasi = [c for c in ordered if c.role == Role.QUASI]
    wanted = quasi if quasi_first and quasi else ordered
    kinds = (*ORDERED, Kind.BOOLEAN) if named else ORDERED
    reasons = {n: _unfit(pair, n, kinds) for n in named or (c.name for c in wanted)}
    if wanted is quasi and not named:
        reasons |= {
            c.name: f"is {c.kind} and has no numbers"
            for c in pair.original.schema
            if c.role == Role.QUASI and c.kind not in ORDERED
        }
    remedy = "it compares continuous, integer, ordinal and date columns that hold values"
    return Chosen.of(reasons, measure, bool(named), "with numbers in both tables", remedy)


def quasi_names(pair: Pair, measure: str) -> list[str]:
    """The original's quasi-identifiers; an error where it has none."""
    names = pair.original.schema.quasi
    if not names:
        raise MeasureError(
            f"{measure} speaks of quasi-identifiers, and the original has none",
            remedy='give columns the role "quasi"',
        )
    return names


def _unfit(pair: Pair, name: str, kinds: Sequence[Kind]) -> str:
    """Why a column has no numbers that can be compared; empty if it has."""
    original = pair.original.schema[name]
    if name not in pair.masked.schema:
        return "is not in the masked table"
    masked = pair.masked.schema[name]
    for side, table, column in (
        ("original", pair.original, original),
        ("masked", pair.masked, masked),
    ):
        if column.generalized:
            return f"holds labels in the {side} table"
        if column.kind not in kinds:
            return f"is {column.kind} in the {side} table"
        series = table[name]
        if series.dtype.is_float() and bool(series.is_infinite().any()):
            row = int(series.is_infinite().fill_null(False).arg_max() or 0)
            return f"is infinite in row {row + 1} of the {side} table"
        if series.dtype.is_integer() and _extreme(series) > _EXACT_FLOAT:
            return f"is too large to calculate with exactly in the {side} table"
        if series.dtype.is_float() and _unsquarable(series):
            return f"has values in the {side} table whose squares overflow or vanish"
    if (original.kind in (Kind.ORDINAL, Kind.DATE)) != (masked.kind in (Kind.ORDINAL, Kind.DATE)):
        return f"is {original.kind} in the original and {masked.kind} in the masked table"
    if original.kind == Kind.ORDINAL and set(masked.categories) - set(original.categories):
        return "has categories in the masked table that the original does not have"
    return ""


def _unsquarable(series: pl.Series) -> bool:
    largest = series.abs().max()
    return largest is not None and not (largest == 0 or 1e-140 < float(largest) < 1e140)  # type: ignore[arg-type]


def _extreme(series: pl.Series) -> int:
    ends = [end for end in (series.min(), series.max()) if isinstance(end, int)]
    return max((abs(end) for end in ends), default=0)


def numbers(pair: Pair, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A column's numbers in the original and in the masked table, on one scale; NaN is missing."""
    original, masked = pair.original.schema[name], pair.masked.schema[name]
    series = pair.masked[name]
    if original.kind == Kind.ORDINAL and masked.categories != original.categories:
        series = series.cast(pl.String).cast(pl.Enum(list(original.categories)))
        masked = original
    return floats(pair.original[name], original), floats(series, masked)


def each(pair: Pair, names: Sequence[str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name and numbers of one column after another, so that only one is held at a time."""
    for name in names:
        yield (name, *numbers(pair, name))


def constant(x: np.ndarray) -> bool:
    """Whether a column has no two different values (missing ones aside)."""
    present = x[~np.isnan(x)]
    return not present.size or bool(present.min() == present.max())
