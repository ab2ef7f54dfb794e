"""What was found: a measure's figure, a requirement's count, and what is needed to judge them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from .texts import one_line

if TYPE_CHECKING:
    import numpy as np

Direction = Literal["lower", "higher"]
_Round = Callable[[float, str], float]
"""A figure and the place where it stands, as it is published there."""
Depends = Literal["release", "domain", "records", "values"]
"""What of the original a figure depends on, from little to much: nothing but what is published;
besides that the ends and categories of its columns; shares of records, of which one moves it by a
few n-ths; or values, of which one can move it at will."""
SAMPLED = "in the sample"
"""The detail of a figure that was not taken of all records: of how many."""
SIZES = ("records", "masked_records", "released_records", "reference_records", SAMPLED)
"""Details that every release tells: how many records there were."""


@dataclass(frozen=True)
class Rounding:
    """How figures that depend on the original are rounded before they are published.

    A step is at least five times what one of n records can move a share. Whether a figure goes up
    or down to the next multiple of it is drawn by the release's secret seed, in proportion to its
    distance: were it always the nearest, a figure near the middle between two multiples would say
    on which side of it a hidden value must lie.

    >>> Rounding(300, 7)(0.2617), Rounding(100_000, 7)(0.2617), Rounding(300, 7)(0.3)
    (0.26, 0.2617, 0.3)
    """

    records: int
    secret: int
    tail: float = 1.0
    """How much further one record can move squares than in a normal sample."""

    def step(self, value: float, width: float = 1.0, decimals: int | None = None) -> float:
        """1, 2 or 5 of some decimal place: the steps in which a figure on a scale of this width is
        published; an infinite scale is that of a sum over the records."""
        size = max(width if math.isfinite(width) else float(self.records), 1.0)
        if abs(value) > size:
            size = 10.0 ** math.ceil(math.log10(abs(value)))
        least = 5 * size / max(self.records, 1)
        place = math.floor(math.log10(least) + 1e-9)
        found = next(f * 10.0**place for f in (1, 2, 5, 10) if f * 10.0**place >= least - 1e-12)
        return found if decimals is None else max(found, 10.0**-decimals)

    def tells(self, width: float) -> bool:
        """Whether a figure on a scale of this width says anything: of few records, it may be
        rounded from one end of its scale to the other."""
        size = max(width if math.isfinite(width) else float(self.records), 1.0)
        return self.step(0.0, width) < size / 2

    @property
    def tells_squares(self) -> bool:
        """Whether variances say anything: not where one number makes most of them."""
        return self.tail <= max(self.records, 1) / 50

    def __call__(
        self, value: float, at: str = "", width: float = 1.0, decimals: int | None = None
    ) -> float:
        """The figure that is published at a place."""
        if not math.isfinite(value):
            return value
        return self.to(self.step(value, width, decimals), value, at)

    def to(self, step: float, value: float, at: str) -> float:
        """The next multiple of a step above or below the value."""
        if not math.isfinite(value):
            return value
        steps = value / step
        if abs(steps - round(steps)) > 1e-6:
            steps = math.floor(steps + self._draw(at))
        # Adding 0 makes -0.0 plain.
        return round(round(steps) * step, max(0, math.ceil(-math.log10(step) - 1e-9))) + 0.0

    def _draw(self, at: str) -> float:
        """A number from 0 to 1 for each place."""
        text = f"{self.secret}/public/{at}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "big") / 2**48


def fewest_decimals(*given: int | None) -> int | None:
    """The strictest of several limits on the digits that may be published; None is no limit."""
    return min((decimals for decimals in given if decimals is not None), default=None)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A figure with what is needed to judge it. Compares and formats like its value."""

    name: str
    value: float
    direction: Direction = "lower"
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    interval: tuple[float, float] | None = None
    """Bounds or a confidence interval of the value; `detail["interval"]` says which."""
    baseline: float | None = None
    """What the value would be by chance, or before masking; `detail["baseline"]` says which."""
    per_record: np.ndarray | None = None
    per_record_of: Literal["original", "masked"] = "masked"
    """Whose records the vector runs over."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    """Details that are not for publication, such as exact levels of the original."""
    decimals: int | None = None
    """Digits after the point that may be published; None means all."""

    depends: Depends | None = None
    """What of the original it depends on; None where nobody said: then a release does not publish
    it."""
    leverage: float = 1.0
    """How wide its scale is, where its bounds do not say; infinite for a sum over records."""
    squares: bool = False
    """Whether one record moves it by the square of how far out it lies."""
    of_release: bool = False
    """Whether its measure looks at nothing but the release, unless another table or groups come
    in: then the same figure before masking is one record's own, or may be."""
    shown: tuple[str, ...] = ()
    """Details that the release or the plan tells by itself; "baseline" where that is so of it, and
    "before" where the figure before masking is a share of records, too."""

    def public(self, rounding: Rounding | None = None) -> Measurement:
        """The measurement as it may be published: rounded, without its private parts.

        What depends on the release alone stays as it is, without the figure before masking. Of the
        rest, numbers in details are rounded like the figure, and counts are left out, since a count
        is an exact share. Without a `rounding` only the declared decimals are kept.
        """
        bare = replace(self, per_record=None, private={})
        if rounding is None:
            return replace(bare, **bare._told(_decimals(self.decimals)))
        width = self.width * (rounding.tail if self.squares or self.depends is None else 1.0)

        def rounded(value: float, at: str) -> float:
            return rounding(value, f"{self.name}/{at}", width, self.decimals)

        if self.depends == "domain":  # what is left of the original is what everybody sees
            return replace(bare, **bare._told(_decimals(self.decimals)))
        if self.depends == "release":
            return replace(bare, baseline=self._base(rounded, exact=not self._from_original))
        told = {**bare._told(rounded), "baseline": self._base(rounded)}
        detail = telling(self.detail, self.shown, rounded) if self.depends else {}
        return replace(bare, **told | {"detail": detail})

    @property
    def width(self) -> float:
        """How wide its scale is."""
        found = self.bounds[1] - self.bounds[0]
        return found if math.isfinite(found) else self.leverage

    @property
    def _from_original(self) -> bool:
        return "before" in str(self.detail.get("baseline", ""))

    def _base(self, rounded: _Round, *, exact: bool = False) -> float | None:
        """The baseline as it may be published."""
        if self.baseline is None or exact or "baseline" in self.shown:
            return self.baseline
        told = self.depends == "release" or (self.of_release and self._from_original)
        if told and "before" not in self.shown:
            return None  # of the smallest class, or the largest: one record's own
        return self._within(rounded(self.baseline, "baseline"))

    def _told(self, rounded: _Round) -> dict[str, Any]:
        """Figure, interval, baseline and details, rounded."""
        value = self._within(rounded(self.value, ""))
        ends = self.interval and [self._within(rounded(end, "interval")) for end in self.interval]
        return {
            "value": value,
            "interval": ends and (min(ends[0], value), max(ends[1], value)),
            "baseline": None if self.baseline is None else rounded(self.baseline, "baseline"),
            "detail": _rounded(self.detail, rounded),
        }

    def _within(self, value: float) -> float:
        return min(max(value, self.bounds[0]), self.bounds[1])

    def __float__(self) -> float:
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Measurement):
            return self.name == other.name and self.value == other.value
        return self.value == other

    def __hash__(self) -> int:
        return hash((self.name, self.value))

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def to_dict(self) -> dict[str, Any]:
        """The public part: everything but the per-record vector."""
        plain: dict[str, Any] = {
            "value": self.value,
            "direction": self.direction,
            # JSON has no infinity.
            "bounds": [b if abs(b) != float("inf") else None for b in self.bounds],
        }
        if self.interval is not None:
            plain["interval"] = list(self.interval)
        if self.baseline is not None:
            plain["baseline"] = self.baseline
        if self.detail:
            plain["detail"] = dict(self.detail)
        return plain


def _decimals(digits: int | None) -> _Round:
    return lambda value, at: value if digits is None else round(value, digits)


def _rounded(value: Any, by: _Round) -> Any:
    """Every real number of a detail rounded."""
    if isinstance(value, float):
        return by(value, "")
    if isinstance(value, Mapping):
        return {key: _rounded(inner, by) for key, inner in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number of one
        return _rounded(value.tolist(), by)
    many = isinstance(value, list | tuple | set | frozenset)
    return [_rounded(inner, by) for inner in value] if many else value


def telling(detail: Mapping[str, Any], shown: tuple[str, ...], by: _Round) -> dict[str, Any]:
    """Details without the counts and verdicts that only the original tells; numbers are rounded,
    and what is shown by its name stays as it is."""

    def told(value: Any, at: str) -> Any:
        if at.rpartition("/")[2] in shown:
            return value
        if isinstance(value, Mapping):
            inner = {key: told(value[key], f"{at}/{key}") for key in value}
            return {key: found for key, found in inner.items() if found is not None} or None
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, list | tuple | set | frozenset):
            listed = [told(one, f"{at}/#{i}") for i, one in enumerate(value)]
            return None if None in listed else listed
        if isinstance(value, float):
            return by(value, at)
        return None if isinstance(value, int) else value

    return told(detail, "detail") or {}


@dataclass(frozen=True)
class Finding:
    """One requirement, counted on what is about to be published."""

    requirement: str
    subject: str
    """What was counted, as the subject of a sentence: "t-closeness of diagnosis"."""
    value: float
    limit: float
    met: bool
    at_least: bool
    """Whether the limit is a floor (k) or a ceiling (t)."""
    broken: int = 0
    """Classes (or records) that break the limit."""
    of: int = 0
    of_what: str = "classes"
    """What `broken` and `of` count."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None
    """Digits after the point that may be published; None means all."""
    depends: Depends | None = None
    """What of the original it depends on, as its measure says; criteria need not."""
    part: int = 0
    """Which of several limits is told, where a criterion has more than one."""

    def named(self, requirement: str) -> Finding:
        """The finding under a requirement's name. Whatever a criterion says, its figure must keep
        its limit, rounding aside; NaN is on no side of it."""
        slack = 1e-6 * max(1.0, abs(self.limit))
        short = self.limit - self.value if self.at_least else self.value - self.limit
        kept = short <= slack or self.value == self.limit  # which may both be infinite
        return replace(self, met=self.met and kept, requirement=requirement)

    def public(self) -> Finding:
        """The finding as it may be published."""
        return (
            self if self.decimals is None else replace(self, value=round(self.value, self.decimals))
        )

    def __str__(self) -> str:
        within = self.value >= self.limit if self.at_least else self.value <= self.limit
        if not self.met and within and "because" in self.detail:
            return one_line(f"{self.subject}: {self.detail['because']}")  # no figure is to blame
        found = f"{self.subject} is {self.value:.4g} (limit {self.limit:.4g})"
        if self.broken:
            found += f" in {self.broken:,} of {self.of:,} {self.of_what}"
        if not self.met and "because" in self.detail:
            found += f" ({self.detail['because']})"
        return one_line(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for evidence and `--json`."""
        return {
            "requirement": self.requirement,
            "value": self.value,
            "limit": self.limit,
            "at_least": self.at_least,
            "met": self.met,
            "broken": self.broken,
            "of": self.of,
            **({"detail": dict(self.detail)} if self.detail else {}),
        }
