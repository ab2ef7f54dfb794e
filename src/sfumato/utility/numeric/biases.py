"""Average absolute biases of means, standard deviations and correlations, in percent.

The three figures of Li & Sarkar (2013, eqs. 14 to 16), after Adam & Wortmann (1989) and
Domingo-Ferrer & Torra (2001). Each change is taken relative to the original's figure, so that one
correlation near zero can outweigh all the others: `detail` names the largest, and
`correlation-difference` gives the absolute changes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.schema import NUMERIC, Kind
from ...errors import MeasureError
from ...protocols import Context, Measure, Measurement
from ..columns import Chosen, constant, each, nothing_left, with_numbers
from ..loss import TableLoss
from .moments import correlations

_PAPER = (
    "Li & Sarkar (2013), Class-restricted clustering and microperturbation for data privacy, "
    "Management Science 59(4); Adam & Wortmann (1989), Security-control methods for statistical "
    "databases"
)
_ZERO = 1e-12
"""Beside the size of what it was summed from, a figure this small is rounding."""

_Columns = Annotated[
    tuple[str, ...],
    Field(description="columns to compare; ordered quasi-identifiers, else all ordered columns"),
]


class _Bias(TableLoss):
    """What biases in mean and in standard deviation share: a relative change for each column."""

    squares: ClassVar[bool] = True
    paper: ClassVar[str] = _PAPER

    columns: _Columns = ()

    @abstractmethod
    def change(self, x: np.ndarray, y: np.ndarray, kind: Kind) -> float | str:
        """The relative change of a column's statistic, or why it has none; missing values aside."""

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_numbers(pair, self.columns, self.name, quasi_first=True)
        changes: dict[str, float] = {}
        left: dict[str, str] = {}
        missing: dict[str, int] = {}
        for name, x, y in each(pair, chosen.names):
            kind = pair.original.schema[name].kind
            found = self.change(x[~np.isnan(x)], y[~np.isnan(y)], kind)
            if isinstance(found, str):
                left[name] = found
                continue
            changes[name] = found
            _count(missing, name, x, y)
        return _averaged(self, chosen, changes, left, missing)


class Abim(_Bias):
    """Average absolute bias in mean, in percent (ABIM).

    The mean over the columns of |mean(Y) - mean(X)| / |mean(X)| (Li & Sarkar, eq. 14). Dates and
    ordinals have no zero to be relative to, and a mean of zero divides nothing: such columns are
    left out and named in `detail`, and so are the missing values, which no mean counts.

    >>> import sfumato as sf
    >>> found = sf.measure("abim", {"x": [1.0, 3.0], "y": [4.0, 4.0]}, {"x": [1, 4], "y": [4, 4]})
    >>> round(found.value, 6)
    12.5
    """

    name: ClassVar[str] = "abim"
    leverage: ClassVar[float] = 300.0

    def change(self, x: np.ndarray, y: np.ndarray, kind: Kind) -> float | str:
        if kind not in NUMERIC:
            return f"is {kind}: its zero is arbitrary, and so is a share of its mean"
        if why := _emptied(x, y, 1):
            return why
        before = float(x.mean())
        if abs(before) <= _ZERO * float(np.abs(x).max()):
            return "has a mean of zero in the original"
        return abs(float(y.mean()) - before) / abs(before)


class Abisd(_Bias):
    """Average absolute bias in standard deviation, in percent (ABISD).

    The mean over the columns of |s(Y) - s(X)| / s(X) (Li & Sarkar, eq. 15), with n - 1 in the
    divisor. A column that does not vary in the original is left out and named in `detail`.

    >>> import sfumato as sf
    >>> found = sf.measure("abisd", {"x": [1.0, 2.0, 3.0]}, {"x": [1.5, 2.0, 2.5]})
    >>> round(found.value, 6)
    50.0
    """

    name: ClassVar[str] = "abisd"
    leverage: ClassVar[float] = 300.0

    def change(self, x: np.ndarray, y: np.ndarray, kind: Kind) -> float | str:
        if why := _emptied(x, y, 2):
            return why
        if constant(x):
            return "does not vary in the original"
        before = float(x.std(ddof=1))
        return abs(float(y.std(ddof=1)) - before) / before


class Abico(TableLoss):
    """Average absolute bias in correlation, in percent (ABICO).

    The mean over the pairs of columns of |r(Y) - r(X)| / |r(X)| (Li & Sarkar, eq. 16). Each
    correlation is over the records that have both values. A pair that has none in the original, or
    one of zero, is left out; one that has lost it, because a masked column no longer varies, counts
    as 0 in the masked table. `detail` names these pairs and the one that changed most.

    >>> import sfumato as sf
    >>> original = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    >>> masked = {"x": [1.0, 2.0, 3.0], "y": [1.0, 1.0, 1.0]}
    >>> round(sf.measure("abico", original, masked).value, 6)
    100.0
    """

    squares: ClassVar[bool] = True
    name: ClassVar[str] = "abico"
    leverage: ClassVar[float] = 300.0
    paper: ClassVar[str] = _PAPER

    columns: _Columns = ()

    def measure(self, context: Context) -> Measurement:
        chosen = with_numbers(context.pair, self.columns, self.name, quasi_first=True)
        names = chosen.names
        if len(names) < 2:
            raise MeasureError(
                f"a correlation needs two columns, and there is only {names[0]!r}",
                remedy="name two columns with numbers in `columns`",
            )
        upper = np.triu_indices(len(names), 1)
        before, after = (r[upper] for r in correlations(context.pair, chosen))
        pairs = [[names[i], names[j]] for i, j in zip(*upper, strict=True)]
        none = np.isnan(before)
        zero = ~none & (np.abs(np.where(none, 1.0, before)) <= _ZERO)
        used = ~none & ~zero
        if not used.any():
            raise MeasureError(
                "no two columns of the original have a correlation other than zero",
                remedy="name two columns that vary together in `columns`",
            )
        lost = used & np.isnan(after)
        r, s = before[used], np.where(lost, 0.0, after)[used]
        change = np.abs(s - r) / np.abs(r)
        worst = int(np.argmax(change))
        detail: dict[str, Any] = {
            **chosen.facts(),
            "pairs": int(used.sum()),
            "median": 100.0 * float(np.median(change)),
            "largest": 100.0 * float(change[worst]),
            "largest of": pairs[int(np.flatnonzero(used)[worst])],
        }
        for word, which in (
            ("pairs_without_correlation", none),
            ("pairs_with_a_correlation_of_zero", zero),
            ("pairs_that_lost_it", lost),
        ):
            if which.any():
                detail[word] = [pairs[i] for i in np.flatnonzero(which)]
        return self.result(100.0 * float(change.mean()), detail=detail)


def _emptied(x: np.ndarray, y: np.ndarray, least: int) -> str:
    """Why a column has too few values to compare; empty if it has enough."""
    many = "no values" if least == 1 else "fewer than two values"
    for side, values in (("original", x), ("masked", y)):
        if values.size < least:
            return f"has {many} in the {side} table"
    return ""


def _count(missing: dict[str, int], name: str, x: np.ndarray, y: np.ndarray) -> None:
    gone = int(np.isnan(x).sum()), int(np.isnan(y).sum())
    if any(gone):
        missing[f"{name}, original"], missing[f"{name}, masked"] = gone


def _averaged(
    measure: Measure,
    chosen: Chosen,
    changes: dict[str, float],
    left: dict[str, str],
    missing: dict[str, int],
) -> Measurement:
    left_out = {**chosen.left_out, **left}
    if not changes:
        remedy = "name a column of numbers in `columns` that varies around another mean than 0"
        raise nothing_left(f"{measure.name} has nothing to compare", left_out, remedy)
    by_column = {name: 100.0 * change for name, change in changes.items()}
    detail = {**Chosen(list(changes), left_out).facts(), "by_column": by_column}
    if missing:
        detail["missing"] = missing
    return measure.result(100.0 * float(np.mean(list(changes.values()))), detail=detail)
