"""Camouflage: answers in intervals, to as many questions as anybody likes.

The confidential vector a lies, with secret weights, in the convex hull of k secret vectors
P^1..P^k. Every question is answered by the least and the largest value that it takes over the
hull. So the true answer is always inside, and every vector of the hull agrees with every answer
ever given: whatever is asked, in whatever order, nobody can exclude one of them, and each
record's value stays open over the span of its k entries, which covers its protection interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.codec import encode, floats
from ...data.exact import each
from ...data.schema import NUMERIC, Column, Kind, Role
from ...data.table import Table, as_frame
from ...data.table import table as make_table
from ...errors import MethodError, ParameterError
from ...kernels.masking.camouflage import (
    hide_absolute,
    hide_share,
    highest_minimum,
    lowest_mean,
    secret_weights,
)
from ...poset.interval import Interval as IntervalSource
from ...protocols import Method, Outcome
from ...rng import draw_seed, stream
from ._camouflage_where import Records, interval_labels

Protection = float | Mapping[str, Any]
"""0.1 or {"share": 0.1}: a tenth of the value to either side; {"absolute": 500}: so much to either
side; {"low": column, "high": column}: an interval for each record."""

_PUBLIC = (Role.QUASI, Role.INSENSITIVE, Role.UNDECIDED)
_WAYS = ({"share"}, {"absolute"}, {"low", "high"})
_ROUNDING = 2.0**-46
"""What sums of floats may lose, relative to the sum of their sizes; answers are widened by it."""


@dataclass(frozen=True)
class Interval:
    """An answer: the truth is not below `low` and not above `high`."""

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether it is a single number."""
        return self.low == self.high

    @property
    def width(self) -> float:
        """How much it leaves open."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


class Camouflaged:
    """A table that answers questions about confidential numbers by intervals.

    Conditions are SQL expressions over the public columns (quasi-identifiers and insensitive ones
    unless `public` says otherwise) and over the camouflaged ones. Where a condition names a
    camouflaged column, some records meet it surely and others possibly, by the spans of their
    values; answers then hold for every such set. They are outer bounds: valid, not always tight.

    What camouflage does not withstand is knowledge from inside. Who has rebuilt the hull from very
    many answers, and knows k - 1 true values or that all of them are whole numbers, can solve for
    the weights (Garfinkel, Gopal & Rice 2006 on such insiders). More vectors need more insiders,
    and make answers wider. How the hull is made may be known: its shape depends neither on the
    weights nor, but for place or scale, on the values.
    """

    def __init__(
        self,
        table: Table,
        protect: Mapping[str, Protection],
        rng: np.random.Generator,
        *,
        vectors: int = 3,
        public: Sequence[str] | None = None,
    ) -> None:
        if not protect:
            raise ParameterError("nothing is to be camouflaged", remedy='protect={"income": 0.1}')
        if not 3 <= vectors <= 20:
            raise ParameterError(f"vectors = {vectors}", remedy="3 to 20 vectors")
        if public is None:
            public = [c.name for c in table.schema if c.role in _PUBLIC and c.name not in protect]
        both = [name for name in public if name in protect]
        if both:
            raise ParameterError(f"{both[0]!r} cannot be public and protected", remedy="choose one")
        self._hulls = {
            name: _hull(table, name, given, vectors, rng) for name, given in protect.items()
        }
        self._table, self._public, self._vectors = table, tuple(public), vectors
        spans = {name: _span(hull) for name, hull in self._hulls.items()}
        frame = table.frame.select(each(table.schema[name].name for name in public))
        self._records = Records(frame, spans)

    @property
    def columns(self) -> tuple[str, ...]:
        """The camouflaged columns."""
        return tuple(self._hulls)

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that conditions may name and that are answered exactly."""
        return self._public

    def __repr__(self) -> str:
        return (
            f"Camouflaged({self._table.height:,} records; camouflaged: {', '.join(self.columns)}; "
            f"public: {', '.join(self.public)})"
        )

    def count(self, where: str = "") -> Interval:
        """How many records meet the condition."""
        sure, possible = self._records.select(where)
        return Interval(float(sure.sum()), float(possible.sum()))

    def sum(self, column: str, where: str = "") -> Interval:
        """The sum of a column over the records that meet the condition; 0 where none does.

        Sums are linear, so their ends over the hull are at its corners P^1..P^k. A record that
        possibly belongs adds nothing, or a value of its span.
        """
        sure, maybe, exact = self._members(column, where)
        totals = sure.sum(axis=0) if sure.size else np.zeros(1)
        low, high = _span(maybe)
        least = float(totals.min()) + float(np.minimum(low, 0.0).sum())
        most = float(totals.max()) + float(np.maximum(high, 0.0).sum())
        return _answer(least, most, 0.0 if exact else np.abs(sure).sum() + np.abs(maybe).sum())

    def mean(self, column: str, where: str = "") -> Interval:
        """The mean of a column over the records that meet the condition."""
        sure, maybe, exact = self._members(column, where)
        _somebody(sure, maybe, where)
        totals = sure.sum(axis=0) if sure.size else np.zeros(1)
        low, high = _span(maybe)
        least = lowest_mean(float(totals.min()), len(sure), low)
        most = -lowest_mean(-float(totals.max()), len(sure), -high)
        size = np.abs(sure).sum() + np.abs(maybe).sum()
        return _answer(least, most, 0.0 if exact else size / max(len(sure), 1))

    def min(self, column: str, where: str = "") -> Interval:
        """The smallest value of a column among the records that meet the condition.

        The least it can be is at a corner of the hull. The most it can be is the maximum of a
        concave function over the hull, a small linear program.
        """
        sure, maybe, exact = self._members(column, where)
        _somebody(sure, maybe, where)
        lows = np.concatenate([_span(sure)[0], _span(maybe)[0]])
        # Records that possibly belong can only lower the minimum, unless they are all there is.
        most = highest_minimum(sure) if len(sure) else float(_span(maybe)[1].max())
        return _answer(float(lows.min()), most, 0.0 if exact else float(np.abs(lows).max()))

    def max(self, column: str, where: str = "") -> Interval:
        """The largest value of a column among the records that meet the condition."""
        sure, maybe, exact = self._members(column, where)
        _somebody(sure, maybe, where)
        highs = np.concatenate([_span(sure)[1], _span(maybe)[1]])
        least = -highest_minimum(-sure) if len(sure) else float(_span(maybe)[0].min())
        return _answer(least, float(highs.max()), 0.0 if exact else float(np.abs(highs).max()))

    def _members(self, column: str, where: str) -> tuple[np.ndarray, np.ndarray, bool]:
        """The rows of the hull that surely and that only possibly belong, missing values left out,
        and whether the column is public."""
        hull, exact = self._values(column)
        sure, possible = self._records.select(where)
        present = ~np.isnan(hull[:, 0])
        return hull[sure & present], hull[possible & ~sure & present], exact

    def _values(self, column: str) -> tuple[np.ndarray, bool]:
        if column in self._hulls:
            return self._hulls[column], False
        if column not in self._public:
            raise MethodError(
                f"column {column!r} is neither public nor camouflaged",
                remedy=f"ask about {', '.join([*self._hulls, *self._public])}",
            )
        return _numbers(self._table, column)[:, None], True


def camouflage(
    table: Any,
    protect: Mapping[str, Protection],
    *,
    seed: int | None = None,
    vectors: int = 3,
    public: Sequence[str] | None = None,
) -> Camouflaged:
    """A table that answers sums, means, minima, maxima and counts by intervals.

    `protect` says for each confidential column how far to either side of every value no answer may
    help to look. Gopal, Garfinkel & Goes, Confidentiality via camouflage, Operations Research 50
    (2002) 501-516.

    >>> people = {"dept": ["a", "a", "b"], "pay": [40.0, 50.0, 90.0]}
    >>> staff = camouflage(people, {"pay": 0.1}, seed=1)
    >>> 90.0 in staff.sum("pay", "dept = 'a'"), staff.count("dept = 'a'").exact
    (True, True)
    >>> low, high = staff.sum("pay", "dept = 'b'")
    >>> low <= 81.0 and 99.0 <= high
    True
    """
    given = table if isinstance(table, Table) else make_table(as_frame(table)[0])
    rng = stream(draw_seed() if seed is None else seed, 0, "camouflage")
    return Camouflaged(given, protect, rng, vectors=vectors, public=public)


class Camouflage(Method):
    """Publish each number as an interval, placed at random around it.

    The interval covers the protection interval, value +- `share` of it or +- `absolute`, and is
    twice as wide; where in it the value lies is drawn, and neither its middle nor its width tells
    more than the interval itself. Who knows how it is made still has a range as wide as the
    protection interval. For answers that no combination of questions narrows, see
    `sfumato.camouflage`.
    """

    name: ClassVar[str] = "camouflage"
    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = (Role.CONFIDENTIAL,)
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)
    paper: ClassVar[str] = (
        "Gopal, Garfinkel & Goes 2002, Confidentiality via camouflage: the CVC approach to "
        "disclosure limitation when answering queries to databases"
    )

    share: float = Field(
        0.1, gt=0, lt=1, description="protection to either side, as a share of the value"
    )
    absolute: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="protection to either side; replaces share"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.absolute and "share" in self.model_fields_set:
            raise ValueError("give share or absolute, not both")
        return self

    def local_only(self) -> str:
        return "compares every interval with all records: use top-bottom-coding, rounding or noise"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        changed = table
        for name in chosen:
            column = table.schema[name]
            low, high = self._ends(_numbers(table, name), name, rng)
            labels = interval_labels(low, high, whole=column.kind == Kind.INTEGER).alias(name)
            source = column.poset
            if source is None or source.interval_step is None:
                source = IntervalSource()
            bound = source.bind(encode(table[name]).domain.to_list())
            changed = changed.with_columns([labels], [column.with_(generalized=True, bound=bound)])
        warnings = tuple(f"{name} was left alone: it is not a number" for name in left)
        return Outcome(changed, facts={"columns": chosen}, warnings=warnings)

    def _ends(
        self, a: np.ndarray, name: str, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        place = rng.random(a.size)
        if self.absolute:
            low = a - self.absolute * (1 + 2 * place)
            high = low + 4 * self.absolute
        else:
            _no_zero(a, name)
            # Both ends are fixed multiples of one another; the value is log-uniform between.
            ratio = (1 + self.share) / (1 - self.share)
            near = a * (1 - self.share) / ratio**place
            far = near * ratio**2
            low, high = np.minimum(near, far), np.maximum(near, far)
        _finite(np.column_stack([low, high]), a, name)
        return low, high


def _hull(
    table: Table, name: str, given: Protection, vectors: int, rng: np.random.Generator
) -> np.ndarray:
    """The k vectors of a column."""
    a = _numbers(table, name)
    words = dict(given) if isinstance(given, Mapping) else {"share": given}
    if set(words) not in _WAYS:
        raise ParameterError(
            f"protect {name!r} by {sorted(words)}",
            remedy='{"share": 0.1}, {"absolute": 500}, or {"low": column, "high": column}',
        )
    weights = secret_weights(vectors, rng)
    if "share" in words:
        share, most = _number(words["share"], name), min((vectors - 2) / 2, 0.95)
        if not 0 < share <= most:
            raise ParameterError(
                f"protect {name!r}: a share of {share} with {vectors} vectors",
                remedy=f"above 0 and up to {most}; more vectors allow more",
            )
        _no_zero(a, name)
        hull = hide_share(a, share, weights, rng)
    elif "absolute" in words:
        reach = _number(words["absolute"], name)
        if not 0 < reach < math.inf:
            raise ParameterError(f"protect {name!r}: {reach} to either side", remedy="above 0")
        hull = hide_absolute(a, np.full(a.size, reach), weights, rng)
    else:
        low, high = (_numbers(table, str(words[end])) for end in ("low", "high"))
        outside = ~np.isnan(a) & ~((low <= a) & (a <= high) & (low < high))
        if outside.any():
            raise MethodError(
                f"{name!r} in row {int(np.flatnonzero(outside)[0]) + 1} has no protection interval "
                f"around it in {words['low']!r} and {words['high']!r}",
                remedy="give every value an interval that has a width and holds it",
            )
        # The whole width to either side: the distances themselves would tell the value.
        hull = hide_absolute(a, high - low, weights, rng)
    _finite(hull, a, name)
    return hull


def _numbers(table: Table, name: str) -> np.ndarray:
    column: Column = table.schema[name]
    if column.kind not in NUMERIC or column.generalized:
        raise MethodError(
            f"column {name!r} is {'generalized' if column.generalized else column.kind}, "
            "and only numbers have sums and intervals",
            remedy="name a numeric column",
        )
    return floats(table[name], column)


def _number(given: Any, name: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ParameterError(f"protect {name!r}: {given!r} is not a number") from None


def _no_zero(a: np.ndarray, name: str) -> None:
    zeros = np.flatnonzero(a == 0)
    if zeros.size:
        raise MethodError(
            f"column {name!r} is zero in row {int(zeros[0]) + 1}"
            + (f" (and {zeros.size - 1:,} more)" if zeros.size > 1 else "")
            + ": a share of zero protects nothing",
            remedy="protect it by an absolute amount",
        )


def _finite(made: np.ndarray, a: np.ndarray, name: str) -> None:
    bad = ~np.isnan(a) & ~np.isfinite(made).all(axis=1)
    if bad.any():
        raise MethodError(
            f"column {name!r} in row {int(np.flatnonzero(bad)[0]) + 1} is too large to calculate "
            "with",
            remedy="rescale the column",
        )


def _span(hull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest entry of each record."""
    return hull.min(axis=1), hull.max(axis=1)


def _somebody(sure: np.ndarray, maybe: np.ndarray, where: str) -> None:
    if not len(sure) and not len(maybe):
        raise MethodError(f"no record with a value meets {where!r}", remedy="widen the condition")


def _answer(low: float, high: float, size: float) -> Interval:
    """An answer, widened by what rounding may have cost."""
    slack = float(size) * _ROUNDING
    return Interval(low - slack, high + slack)
