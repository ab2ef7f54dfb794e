"""The search: all options on few people, what is worth it on more, the best on everybody.

Settings of an option stand on a ladder from the least protection to the most. On each rung of
people the least protective setting is sought that keeps what is required, by doubling steps and
halving; an option is left as soon as it is known to lose more than the best. What wins on all of
the people by whom it was chosen is confirmed on others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...progress import Listener
from .portfolio import Option
from .runner import Runner
from .trials import Figures, People, Trial

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

    def said(self) -> str:
        """On whom."""
        return f"{self.records:,} people" + (f", {self.attacked:,} attacked" * bool(self.attacked))


def rungs(people: int) -> list[Rung]:
    """Samples, and then everybody.

    >>> [rung.records for rung in rungs(15_000)]
    [4000, 15000, 15000]
    >>> [rung.records for rung in rungs(600_000)]
    [4000, 20000, 100000, 600000]
    """
    found = [Rung(min(people, _FEW), 500, 0.7, 6), Rung(min(people, _MORE), 1_000, 0.25, 3)]
    while (more := found[-1].records * _TIMES) * _TIMES <= 2 * people and more < people:
        found.append(Rung(more, 2_000, 0.15, 2))
    return [*found, Rung(people, None, 0.02, SHOWN)]


class Tried(NamedTuple):
    """A trial and what came of it."""

    trial: Trial
    figures: Figures
    option: Option
    setting: int
    """Its place on the ladder."""
    rung: int


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


class Search:
    """What is tried next, and what is known so far."""

    def __init__(
        self,
        ground: People,
        options: Iterable[Option],
        runner: Runner,
        utility: frozenset[str],
        tell: Listener,
        seconds: float | None = None,
        trials: int | None = None,
    ) -> None:
        self.ground, self.runner, self.tell = ground, runner, tell
        self.utility = utility
        """Requirements that more protection breaks."""
        self.climbs = [Climb(o, o.usual, o.barred) for o in options]
        self.tried: list[Tried] = []
        self.confirmed: dict[str, Figures] = {}
        """Of the people who had no part in the choice, by label."""
        self.shown: list[Tried] = []
        """The plans that are shown, the best first; each is confirmed if it could be."""
        self.short = ""
        """What ended before the search did."""
        self._until = None if seconds is None else time.monotonic() + seconds
        self._trials = trials

    def run(self) -> None:
        """Search, choose and confirm."""
        steps = rungs(self.ground.chosen.height)
        last = len(steps) - 1
        for number, rung in enumerate(steps):
            self._settle(number, rung, last)
            if number < last:
                self._leave(number, rung)
        self._choose(last, steps)

    # --- one rung ---

    def _settle(self, number: int, rung: Rung, last: int) -> None:
        """Find where each option stands, wave by wave."""
        while True:
            wave = []
            for climb in self.climbs:
                if climb.left:
                    continue
                setting = self._next(climb, number, rung)
                if setting is not None:
                    wave.append((climb, setting))
            if number == last:
                wave = wave[: max(self.runner.workers, 1)]  # the best first, by the rung before
            if not wave or not self._try(wave, number, rung, hurried=True):
                return

    def _next(self, climb: Climb, number: int, rung: Rung) -> int | None:
        """The setting to try next; None where the option stands where it should, or is beaten."""
        seen = climb.seen.setdefault(number, {})
        if not seen:
            return climb.at
        weak, kept, strong = self._sorted(climb, seen)
        top = len(climb.option.plans) - 1
        low = max(weak, default=-1)
        high = min((*kept, *strong), default=None)
        climb.at = min(kept) if kept else low if weak else climb.at
        best = self._least(number)
        if best is not None and not kept:
            # More protection loses more, so that what the weak ones lose is lost at least.
            least = max((seen[s].loss for s in weak if seen[s].made), default=0.0)
            if least > best.loss * (1 + rung.slack):
                climb.left = _beaten(climb.option.labels[low], least, best, rung, weak=True)
                return None
        if high is None:
            return None if low >= top else min(low + 2 ** (len(weak) - 1), top)
        if high - low <= 1:
            if not kept:
                climb.left = _between(climb, seen, low, high)
            return None
        if weak:
            return (low + high) // 2
        if kept and best is not None and seen[high].loss > best.loss * (1 + rung.slack):
            return None
        return max(high - 2 ** (len(kept) + len(strong) - 1), 0)

    def _sorted(
        self, climb: Climb, seen: Mapping[int, Figures]
    ) -> tuple[list[int], list[int], list[int]]:
        """Settings that protect too little, those that keep everything, and those that are too
        much: they cannot be made, or break what is required of use alone."""
        weak, kept, strong = [], [], []
        for setting, found in seen.items():
            if self._keeps(found):
                kept.append(setting)
            elif not found.made or (found.broken and self.utility.issuperset(found.broken)):
                strong.append(setting)
            else:
                weak.append(setting)
        return weak, kept, strong

    def _keeps(self, found: Figures) -> bool:
        if found.rough:
            return found.likely(self.ground.limit)
        return found.kept(self.ground.limit, self.ground.strict)

    def _least(self, number: int) -> Figures | None:
        """The least loss of what keeps everything on a rung."""
        kept = [
            found
            for climb in self.climbs
            for found in climb.seen.get(number, {}).values()
            if self._keeps(found)
        ]
        return min(kept, key=lambda found: found.loss, default=None)

    def _try(
        self,
        wave: Sequence[tuple[Climb, int]],
        number: int,
        rung: Rung,
        hurried: bool = False,
        confirming: bool = False,
    ) -> bool:
        """Try some settings side by side; False where the time or the trials are used up."""
        wave = wave[: self._allowed(len(wave))]
        if not wave:
            return False
        trials = [
            Trial(
                climb.option.labels[setting],
                climb.option.plans[setting],
                rung.records,
                confirming,
                rung.attacked,
                hurried,
            )
            for climb, setting in wave
        ]
        said = "confirmed on others" if confirming else f"tried on {rung.said()}"
        done = len(self.tried) + len(self.confirmed)
        self.tell(f"{len(trials)} plans {said}", done, done + len(trials))
        found: dict[int, Figures] = {}
        for i, figures in self.runner.run(trials):
            found[i] = figures
            self.tell(f"{figures.label} {said}", done + len(found), done + len(trials))
        # In the order of the wave, whichever was done first.
        for i, (climb, setting) in enumerate(wave):
            if confirming:
                self.confirmed[found[i].label] = found[i]
            else:
                climb.seen.setdefault(number, {})[setting] = found[i]
                self.tried.append(Tried(trials[i], found[i], climb.option, setting, number))
        return True

    def _allowed(self, wanted: int) -> int:
        if self._until is not None and time.monotonic() > self._until:
            self.short = "time"
            return 0
        if self._trials is not None:
            left = self._trials - len(self.tried) - len(self.confirmed)
            if left < wanted:
                self.short = "trials"
            return max(left, 0)
        return wanted

    def _leave(self, number: int, rung: Rung) -> None:
        """Leave what loses too much, and whatever is too many."""
        best = self._least(number)
        going = [climb for climb in self.climbs if not climb.left]
        for climb in going:
            found = climb.best(number)
            if found is None:
                climb.left = f"not tried: no {self.short or 'time'} was left"
            elif not found.made:
                climb.left = found.failure
            elif best is not None and found.loss > best.loss * (1 + rung.slack):
                climb.left = _beaten(found.label, found.loss, best, rung)
        going = [climb for climb in going if not climb.left]
        going.sort(key=lambda climb: self._rank(climb, number))
        for climb in going[rung.most :]:
            found = climb.best(number)
            assert found is not None
            climb.left = (
                _beaten(found.label, found.loss, best, rung)
                if best is not None
                else f"{_short_of(found)}; others came closer on {rung.said()}"
            )
        self.climbs.sort(key=lambda climb: self._rank(climb, number))

    def _rank(self, climb: Climb, number: int) -> tuple[bool, bool, float]:
        found = climb.best(number)
        if found is None:
            return True, True, 0.0
        kept = self._keeps(found)
        return bool(climb.left), not kept, found.loss if kept else found.risk

    # --- the end ---

    def _choose(self, last: int, steps: Sequence[Rung]) -> None:
        """Confirm the best, and what is beside it on the front."""
        rung = steps[last]
        refused: set[str] = set()
        while True:
            kept = [
                (climb, setting, found)
                for climb in self.climbs
                for setting, found in climb.seen.get(last, {}).items()
                if self._keeps(found) and found.label not in refused
            ]
            if not kept:
                break
            climb, setting, found = min(kept, key=lambda one: one[2].loss)
            if not self._try([(climb, setting)], last, rung, confirming=True):
                self.shown = [self._tried(found)]
                break
            if self._keeps(self.confirmed[found.label]):
                self.shown = [self._tried(found)]
                break
            refused.add(found.label)
            after = setting + 1
            if after < len(climb.option.plans) and after not in climb.seen[last]:
                self._try([(climb, after)], last, rung)
        if self.shown:
            self._beside(last, steps)

    def _beside(self, last: int, steps: Sequence[Rung]) -> None:
        """Further plans of the front: more loss for less risk, from whatever was tried on most."""
        rung = steps[last]._replace(attacked=2_000)
        label = self.shown[0].figures.label
        wave = []
        for climb in self.climbs:
            rough = climb.best(last) or climb.best(last - 1)
            if climb.option.barred or rough is None or not self._keeps(rough):
                continue
            at = climb.at + (self.shown[0].option is climb.option)
            if at < len(climb.option.plans) and climb.option.labels[at] != label:
                wave.append((climb, at))
        wave = wave[: SHOWN - 1]
        number = last + 1
        if not self._try(wave, number, rung):
            return
        kept = [(c, s) for c, s in wave if self._keeps(c.seen.get(number, {}).get(s, _NONE))]
        if kept and self._try(kept, number, rung, confirming=True):
            self.shown += [
                self._tried(c.seen[number][s])
                for c, s in kept
                if self._keeps(self.confirmed.get(c.option.labels[s], _NONE))
            ]

    def _tried(self, figures: Figures) -> Tried:
        return next(one for one in self.tried if one.figures is figures)


_NONE = Figures("", 0, 0, failure="not tried")


def _beaten(label: str, loss: float, best: Figures, rung: Rung, weak: bool = False) -> str:
    lost = f"{label} loses {loss:.1%}" + (" and protects too little" if weak else "")
    return f"{lost}, where {best.label} loses {best.loss:.1%} ({rung.said()})"


def _between(climb: Climb, seen: Mapping[int, Figures], low: int, high: int) -> str:
    """Why no setting does where one is too weak and the next too strong."""
    said = [f"{climb.option.labels[s]}: {_short_of(seen[s])}" for s in (low, high) if s in seen]
    return "; ".join(said)


def _short_of(found: Figures) -> str:
    """What a plan fails."""
    if found.failure:
        return found.failure
    if found.broken:
        return f"breaks {', '.join(found.broken)}"
    return f"attacks get {found.risk:.1%} beyond chance ({found.worst})"
