"""What any function of the data loses: divergence(f(original), f(masked))."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from ..data.exact import each, exactly
from ..data.linkage.linking import require_records
from ..data.pair import Pair
from ..data.schema import SET_ASIDE
from ..errors import MeasureError
from ..protocols import Context, Measurement
from .loss import TableLoss


def correlations(frame: pl.DataFrame) -> dict[str, float]:
    """The correlation of each pair of columns of numbers, over records that have both."""
    names = [s.name for s in frame if s.dtype.is_numeric()]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    if not pairs:
        return {}
    words = [f"{a} & {b}" for a, b in pairs]
    if len(set(words)) < len(words):  # columns may be called "a & b"
        words = [f"{a!r} & {b!r}" for a, b in pairs]
    found = frame.select(
        pl.corr(exactly(a), exactly(b)).alias(f"{j}") for j, (a, b) in enumerate(pairs)
    ).row(0)
    shown = (0.0 if r is None or np.isnan(r) else float(r) for r in found)
    return dict(zip(words, shown, strict=True))


def frequencies(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    """The share of each value of each column that holds neither numbers nor lists."""
    others = [s for s in frame if not s.dtype.is_numeric() and not s.dtype.is_nested()]
    return {
        s.name: {
            str(value): count / len(s)
            for value, count in s.alias("of").value_counts().iter_rows()
            if len(s)
        }
        for s in others
    }


def _mass(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as distributions."""
    if min(a.min(), b.min()) < 0 or min(a.sum(), b.sum()) <= 0:
        raise MeasureError(
            "a divergence of distributions needs numbers of at least 0 that are not all 0",
            remedy='divergence = "absolute", or a function that gives shares or counts',
        )
    return a / a.sum(), b / b.sum()


def kullback_leibler(a: np.ndarray, b: np.ndarray) -> float:
    """In bits, of the original from the masked one."""
    p, q = _mass(a, b)
    here = p > 0
    if (q[here] == 0).any():
        raise MeasureError(
            "the release has nothing where the original has something: the Kullback-Leibler "
            "divergence is infinite",
            remedy='divergence = "jensen-shannon", which is at most 1',
        )
    return float((p[here] * np.log2(p[here] / q[here])).sum())


def jensen_shannon(a: np.ndarray, b: np.ndarray) -> float:
    """In bits: 0 to 1, the same in both directions."""
    p, q = _mass(a, b)
    middle = (p + q) / 2
    return 0.5 * (kullback_leibler(p, middle) + kullback_leibler(q, middle))


def variation(a: np.ndarray, b: np.ndarray) -> float:
    """Mean change relative to the original; from zero it counts 1."""
    gap, size = np.abs(a - b), np.abs(a)
    return float(np.where(size > 0, gap / np.where(size > 0, size, 1.0), gap > 0).mean())


FUNCTIONS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "correlations": correlations,
    "frequencies": frequencies,
}
DIVERGENCES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "absolute": lambda a, b: float(np.abs(a - b).mean()),
    "square": lambda a, b: float(((a - b) ** 2).mean()),
    "variation": variation,
    "increase": lambda a, b: float(np.maximum(b - a, 0.0).mean()),
    "decrease": lambda a, b: float(np.maximum(a - b, 0.0).mean()),
    "kullback-leibler": kullback_leibler,
    "jensen-shannon": jensen_shannon,
}
"""Of the numbers of the original from those of the masked table."""
UNBOUNDED = ("variation", "kullback-leibler")
"""Where one record can move the figure at will."""


def _one_of(known: Mapping[str, Any]) -> Callable[[Any], Any]:
    def checked(given: Any) -> Any:
        if callable(given) or (isinstance(given, str) and given in known):
            return given
        raise ValueError(f"should be one of {', '.join(known)}, or from Python a function")

    return checked


def _said(given: Any) -> str:
    """The name of a function; a plan file cannot hold more."""
    return given if isinstance(given, str) else str(getattr(given, "__qualname__", given))


Function = Annotated[
    Any,
    BeforeValidator(_one_of(FUNCTIONS)),
    PlainSerializer(_said),
    WithJsonSchema({"type": "string", "enum": list(FUNCTIONS)}),
]
Divergence = Annotated[
    Any,
    BeforeValidator(_one_of(DIVERGENCES)),
    PlainSerializer(_said),
    WithJsonSchema({"type": "string", "enum": list(DIVERGENCES)}),
]


class FunctionLoss(TableLoss):
    """How far a function of the data moves: divergence(f(original), f(masked)).

    `function` is one of the names, or from Python any function of a frame of the columns that both
    tables have; it may give a number, an array, a frame, or a dictionary of these. `divergence`
    compares the two results: a mean of absolute or squared differences, of changes relative to
    the original, of increases or decreases alone (where only false alarms hurt), the
    Kullback-Leibler or Jensen-Shannon divergence in bits of results taken as distributions; or
    any function of the two results. A key that only one result has counts 0 in the other.

    No divergence may be negative, nor that of a result from itself other than 0. It need
    not be symmetric: `detail["reverse"]` is that of the original from the masked table.

    Nobody can tell what the figure of a function from Python gives away, and relative changes and
    the Kullback-Leibler divergence have no bounds: such figures stay the owner's. A measure of
    one's own that declares `depends` is published.

    >>> import sfumato as sf
    >>> x, y = {"a": [1.0, 3.0], "b": [2.0, 5.0]}, {"a": [2.0, 4.0], "b": [5.0, 2.0]}
    >>> round(sf.measure("function-loss", x, y).value, 4)
    2.0
    >>> sf.measure(lambda frame: frame["a"].max(), x, y, divergence="decrease").value
    0.0
    """

    name: ClassVar[str] = "function-loss"
    paper: ClassVar[str] = "Torra 2013, Masking Methods (information loss of an analysis)"
    squares: ClassVar[bool] = True
    decimals: ClassVar[int | None] = 3

    function: Function = Field("correlations", description="what is taken of both tables")
    divergence: Divergence = Field("absolute", description="how the two results are compared")

    def result(self, value: float, **more: Any) -> Measurement:
        found = super().result(value, **more)
        bounded = isinstance(self.divergence, str) and self.divergence not in UNBOUNDED
        return found if bounded and isinstance(self.function, str) else replace(found, depends=None)

    def measure(self, context: Context) -> Measurement:
        require_records(context.pair, self.name)
        before, after = self._results(context.pair)
        compare = self._compare(before, after)
        if abs(compare(before, before)) > 1e-9 or abs(compare(after, after)) > 1e-9:
            raise MeasureError(
                "the divergence of a result from itself is not 0",
                remedy="give a divergence that is 0 where nothing differs",
            )
        value, reverse = compare(before, after), self._reverse(compare, before, after)
        if value < 0:
            raise MeasureError(
                f"the divergence is {value:.4g}, and none is below 0",
                remedy="give a divergence that is 0 where nothing differs, else more",
            )
        detail = {"function": _said(self.function), "divergence": _said(self.divergence)}
        return self.result(value, detail=detail | ({} if reverse is None else {"reverse": reverse}))

    def _results(self, pair: Pair) -> tuple[Any, Any]:
        """What the function gives of either table."""
        own = callable(self.function)
        taken = self.function if own else FUNCTIONS[self.function]
        names = pair.shared() if own else _comparable(pair)
        found = []
        for side, table in (("original", pair.original), ("masked", pair.masked)):
            try:
                found.append(taken(table.frame.select(each(names))))
            except Exception as error:
                raise MeasureError(
                    f"{_said(self.function)} cannot be taken of the {side} table: {error}",
                    remedy="give a function that takes both tables as they are published",
                ) from error
        return found[0], found[1]

    def _compare(self, before: Any, after: Any) -> Callable[[Any, Any], float]:
        """The divergence of two results."""
        if callable(self.divergence):
            own = self.divergence
            return lambda a, b: _number(own(a, b))
        keys = list(dict.fromkeys([*dict(_places(before)), *dict(_places(after))]))
        if not keys:
            raise MeasureError(
                f"{_said(self.function)} gives no numbers of these tables",
                remedy="choose another `function`",
            )
        compare = DIVERGENCES[self.divergence]
        return lambda a, b: compare(_lined_up(a, keys), _lined_up(b, keys))

    def _reverse(self, compare: Callable[[Any, Any], float], a: Any, b: Any) -> float | None:
        try:
            return compare(b, a)
        except MeasureError:
            return None  # infinite in that direction


def _comparable(pair: Pair) -> list[str]:
    """Columns that hold values of one kind in both tables."""
    before, after = pair.original, pair.masked
    return [
        name
        for name in pair.shared()
        if before.schema[name].role not in SET_ASIDE
        and not after.schema[name].generalized
        and before[name].dtype.is_numeric() == after[name].dtype.is_numeric()
    ]


def _number(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not np.isfinite(found):
        raise MeasureError(
            f"the divergence gives {value!r}, which is no number",
            remedy="give a divergence of two results that is a finite number",
        )
    return found


def _places(result: Any, at: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result, and where it stands."""
    if isinstance(result, Mapping):
        for key, value in result.items():
            yield from _places(value, f"{at}/{key}")
    elif hasattr(result, "columns") and hasattr(result, "__getitem__"):
        for name in result.columns:
            yield from _places(np.asarray(result[name]), f"{at}/{name}")
    else:
        values = np.asarray(result)
        if values.dtype.kind not in "biuf":
            raise MeasureError(
                f"the function gives {type(result).__name__}, which are no numbers",
                remedy="give a `divergence` that is a function of the two results as well",
            )
        for index, value in np.ndenumerate(values.astype(np.float64)):
            if not np.isnan(value):
                yield at + "".join(f"/#{i}" for i in index), float(value)


def _lined_up(result: Any, keys: list[str]) -> np.ndarray:
    held = dict(_places(result))
    return np.array([held.get(key, 0.0) for key in keys])
