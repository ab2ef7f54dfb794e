"""What was found: a measure's figure, a requirement's count, and what is needed to judge them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Direction = Literal["lower", "higher"]


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

    def public(self) -> Measurement:
        """The measurement as it may be published: rounded, without its private parts."""

        def rounded(value: Any) -> Any:
            if self.decimals is None:
                return value
            if isinstance(value, float):
                return round(value, self.decimals)
            if isinstance(value, Mapping):
                return {key: rounded(inner) for key, inner in value.items()}
            if hasattr(value, "tolist"):  # an array, or a number of one
                return rounded(value.tolist())
            many = isinstance(value, list | tuple | set | frozenset)
            return [rounded(inner) for inner in value] if many else value

        return replace(
            self,
            value=rounded(self.value),
            interval=self.interval and (rounded(self.interval[0]), rounded(self.interval[1])),
            baseline=None if self.baseline is None else rounded(self.baseline),
            per_record=None,
            detail=rounded(self.detail),
            private={},
        )

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

    def public(self) -> Finding:
        """The finding as it may be published."""
        return (
            self if self.decimals is None else replace(self, value=round(self.value, self.decimals))
        )

    def __str__(self) -> str:
        within = self.value >= self.limit if self.at_least else self.value <= self.limit
        if not self.met and within and "because" in self.detail:
            return f"{self.subject}: {self.detail['because']}"  # no figure is to blame
        found = f"{self.subject} is {self.value:.4g} (limit {self.limit:.4g})"
        if self.broken:
            found += f" in {self.broken:,} of {self.of:,} {self.of_what}"
        if not self.met and "because" in self.detail:
            found += f" ({self.detail['because']})"
        return found

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
