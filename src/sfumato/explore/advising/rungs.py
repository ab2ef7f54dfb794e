"""What climbs: options, each at its setting, from one rung of people to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .portfolio import Option
from .trials import Figures, Trial

SHOWN = 5
"""Plans that are shown at most."""
_FEW, _MORE, _TIMES = 4_000, 20_000, 5
"""People of the first sample and of the second; each further one is so many times as large."""


class Rung(NamedTuple):
    """On how many people options are tried, and how much more than the best they may lose."""

    records: int
    attacked: int | None
    slack: float
    """An option that loses more than the best by this share is left."""
    most: int
    """Options that go on at most."""
    rough: bool = True

    def said(self) -> str:
        """On whom."""
        some = "" if self.attacked is None else f", {self.attacked:,} attacked"
        return f"{self.records:,} people{some}"


def rungs(people: int) -> list[Rung]:
    """Samples, and then everybody.

    >>> [rung.records for rung in rungs(15_000)]
    [4000, 15000, 15000]
    >>> [rung.records for rung in rungs(600_000)]
    [4000, 20000, 100000, 600000]
    >>> [rung.said() for rung in rungs(400)]
    ['400 people, 400 attacked', '400 people, 400 attacked', '400 people']
    """
    # No more can be attacked than there are; then a trial on the second is that on the first.
    found = [
        Rung(min(people, _FEW), min(people, 500), 0.7, 6),
        Rung(min(people, _MORE), min(people, 1_000), 0.25, 3),
    ]
    while (more := found[-1].records * _TIMES) * _TIMES <= 2 * people and more < people:
        found.append(Rung(more, 2_000, 0.15, 2))
    return [*found, Rung(people, None, 0.0, SHOWN, rough=False)]


class Tried(NamedTuple):
    """A trial and what came of it."""

    trial: Trial
    figures: Figures
    option: Option
    setting: int
    """Its place on the ladder."""
    rung: int


class Job(NamedTuple):
    """A setting of an option to be tried."""

    climb: Climb
    setting: int
    confirming: bool = False


@dataclass
class Climb:
    """An option on its way up the rungs."""

    option: Option
    at: int
    left: str = ""
    """Why it was left."""
    seen: dict[int, dict[int, Figures]] = field(default_factory=dict)
    """Figures by rung and setting."""

    def best(self, rung: int) -> Figures | None:
        """Those of the setting where it stands."""
        return self.seen.get(rung, {}).get(self.at)


def beaten(label: str, loss: float, best: Figures, rung: Rung, weak: bool = False) -> str:
    lost = f"{label} loses {loss:.1%}" + (" and protects too little" if weak else "")
    return f"{lost}, where {best.label} loses {best.loss:.1%} ({rung.said()})"


def between(climb: Climb, seen: Mapping[int, Figures], low: int, high: int) -> str:
    """Why no setting does where one is too weak and the next too strong."""
    said = [f"{climb.option.labels[s]}: {short_of(seen[s])}" for s in (low, high) if s in seen]
    return "; ".join(said)


def short_of(found: Figures) -> str:
    """What a plan fails."""
    if found.failure:
        return found.failure
    if found.broken:
        return f"breaks {', '.join(found.broken)}"
    least = "at least " if found.ended else ""
    return f"attacks get {least}{found.risk:.1%} beyond chance ({found.worst})"
