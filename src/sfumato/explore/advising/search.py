"""The search: all options on few people, what is worth it on more, the best on everybody.

Settings of an option stand on a ladder from the least protection to the most. On each rung of
people the least protective setting is sought that keeps what is required, by doubling steps and
halving; an option is left as soon as it is known to lose more than the best. What wins on all of
the people by whom it was chosen is confirmed on others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from ...progress import Listener
from ..runner import Runner
from .portfolio import Option
from .rungs import SHOWN, Climb, Job, Rung, Tried, beaten, between, rungs, short_of
from .trials import Figures, People, Trial

_CLOSE = 0.02
"""A plan that may lose less than the best by no more than this share of it is not sought."""
_BESIDE = 2_000
"""People attacked in a release that is shown beside the best: the fewest that show anything."""
_NEAREST = 3
"""Plans that are attacked in full where none does what is required."""


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
        self._rough: dict[str, Figures] = {}
        """The same where only some of them were attacked, which confirms nothing."""
        self.shown: list[Tried] = []
        """The plans that are shown, the best first; each is confirmed if it could be."""
        self.short = ""
        """What ended before the search did."""
        self._began, self._seconds, self._trials = time.monotonic(), seconds, trials
        self._share = 1.0
        """Of the time and the trials: what the rungs so far may use."""

    def run(self) -> None:
        """Search, choose and confirm."""
        *samples, all_ = rungs(self.ground.chosen.height)
        for number, rung in enumerate(samples):
            self._share = 1 - 0.5 ** (number + 1)
            self._settle(number, rung)
            self._leave(number, rung)
        self._share = 1.0
        last = len(samples) + 1  # before which some of everybody are attacked
        self._choose(last, all_)
        if self.shown:
            self._beside(last, all_)
        elif self.short:
            self._so_far(last)
        else:
            self._nearest(last, all_)

    # --- one rung ---

    def _settle(self, number: int, rung: Rung) -> None:
        """Find where each option stands, wave by wave."""
        while True:
            wave = []
            for climb in self.climbs:
                if climb.left:
                    continue
                setting = self._next(climb, number, rung)
                if setting is not None:
                    wave.append(Job(climb, setting))
            if not wave or not self._try(wave, number, rung):
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
        most = None if best is None else best.loss * (1 + rung.slack)
        # More protection loses more, so that what the weak ones lose is lost at least.
        least = max((seen[s].loss for s in weak if seen[s].made), default=0.0)
        if best is not None and most is not None and least > most:
            if not kept:
                climb.left = beaten(climb.option.labels[low], least, best, rung, weak=True)
            return None
        if high is None:
            return None if low >= top else min(low + 2 ** (len(weak) - 1), top)
        if high - low <= 1:
            if not kept:
                climb.left = between(climb, seen, low, high)
            return None
        if weak:
            return (low + high) // 2
        if kept and most is not None and seen[climb.at].loss > most:
            return 0  # where its least protection loses as much, too, it is beaten
        step: int = 2 ** (len(kept) + len(strong) - 1)
        return max(high - step, 0)

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

    def _try(self, wave: Sequence[Job], number: int, rung: Rung, hurried: bool = True) -> bool:
        """Try some settings side by side; False where the time or the trials are used up."""
        wanted = len(wave)
        wave = wave[: self._allowed(wanted)]
        if not wave:
            return False
        trials = [
            Trial(
                job.climb.option.labels[job.setting],
                job.climb.option.plans[job.setting],
                rung.records,
                job.confirming,
                rung.attacked,
                rung.rough,
                hurried,
            )
            for job in wave
        ]
        said = f"tried on {rung.said()}"
        done = self._done
        plans = "1 plan" if len(trials) == 1 else f"{len(trials)} plans"
        self.tell(f"{plans} {said}", done, done + len(trials))
        found: dict[int, Figures] = {}
        running = self.runner.run(trials)
        for i, figures in running:
            found[i] = figures
            others = ", the others" * wave[i].confirming
            self.tell(f"{figures.label} {said}{others}", done + len(found), done + len(trials))
            if self._late() and len(found) < len(trials):
                self.short = "time"
                running.close()  # type: ignore[attr-defined]
                break
        # In the order of the wave, whichever was done first.
        for i in sorted(found):
            climb, setting, confirming = wave[i]
            if confirming:
                known = self._rough if found[i].rough else self.confirmed
                known[found[i].label] = found[i]
            else:
                climb.seen.setdefault(number, {})[setting] = found[i]
            self.tried.append(Tried(trials[i], found[i], climb.option, setting, number))
        return len(found) == wanted

    @property
    def _done(self) -> int:
        return len(self.tried)

    def _late(self) -> bool:
        if self._seconds is None:
            return False
        return time.monotonic() - self._began > self._seconds * self._share

    def _allowed(self, wanted: int) -> int:
        if self._late():
            self.short = "time"
            return 0
        if self._trials is not None:
            left = int(self._trials * self._share) - self._done
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
                more = "tried no further" if any(climb.seen.values()) else "not tried"
                climb.left = f"{more}, for want of {self.short or 'time'}"
            elif not found.made:
                climb.left = found.failure
            elif best is not None and found.loss > best.loss * (1 + rung.slack):
                climb.left = beaten(found.label, found.loss, best, rung)
        going = [climb for climb in going if not climb.left]
        going.sort(key=lambda climb: self._rank(climb, number))
        for climb in going[rung.most :]:
            found = climb.best(number)
            assert found is not None
            if best is not None and self._keeps(found):
                climb.left = beaten(found.label, found.loss, best, rung)
            else:
                climb.left = f"{found.label}: {short_of(found)} ({rung.said()}); others come closer"
        self.climbs.sort(key=lambda climb: self._rank(climb, number))

    def _rank(self, climb: Climb, number: int) -> tuple[bool, bool, float]:
        found = climb.best(number)
        if found is None:
            return True, True, 0.0
        kept = self._keeps(found)
        return bool(climb.left), not kept, found.loss if kept else found.risk

    # --- the end ---

    def _choose(self, last: int, rung: Rung) -> None:
        """The plan of least loss that keeps what is required on everybody, and on the others.

        Whatever was left for its loss comes after what loses less, and is tried where that fails.
        """
        pool = [
            (loss, place, setting)
            for place, climb in enumerate(self.climbs)
            for loss, setting in self._worth(climb)
        ]
        heapify(pool)
        best: Figures | None = None
        # More protection may lose more than it seemed to: whatever may lose less is tried as well.
        while pool and (best is None or pool[0][0] < best.loss * (1 - _CLOSE)):
            loss, place, setting = heappop(pool)
            climb = self.climbs[place]
            found = self._on_all(climb, setting, last, rung)
            if found is None:
                return
            if not found.rough and self._stands(found):
                if best is None or found.loss < best.loss:
                    best = found
                    self.shown = [self._tried(found)]
                continue
            above = max(*climb.seen.get(last - 1, ()), *climb.seen.get(last, ()), setting) + 1
            if all(at != place for _, at, _ in pool) and above < len(climb.option.plans):
                heappush(pool, (max(loss, found.loss, self._lost(climb, above)), place, above))

    def _lost(self, climb: Climb, setting: int) -> float:
        """What a setting is known to lose of everybody: it is so however many are attacked."""
        everybody = self.ground.chosen.height
        seen = [by[setting] for by in climb.seen.values() if setting in by]
        return max((one.loss for one in seen if one.made and one.records == everybody), default=0.0)

    def _on_all(self, climb: Climb, setting: int, last: int, rung: Rung) -> Figures | None:
        """A plan on everybody, and on the others; where some of these are attacked for certain, it
        ends with them, and its figures are rough. None where the time was up."""
        plan = [(climb, setting)]
        if self.ground.chosen.height > 2 * _BESIDE:
            if not self._both(plan, last - 1, rung._replace(attacked=_BESIDE, rough=True)):
                return None
            found = climb.seen[last - 1][setting]
            if not (self._keeps(found) and self._keeps(self._rough[found.label])):
                return found
        return climb.seen[last][setting] if self._both(plan, last, rung) else None

    def _worth(self, climb: Climb) -> Iterator[tuple[float, int]]:
        """Settings worth a trial on everybody, and what each loses at least."""
        seen = next((climb.seen[n] for n in sorted(climb.seen, reverse=True) if climb.seen[n]), {})
        near = [setting for setting, found in seen.items() if self._near(found)]
        if not climb.left:
            yield from ((seen[setting].loss, setting) for setting in near)
            return
        # What was left was not sought to the end: its weakest setting that may do.
        weak, _, _ = self._sorted(climb, seen)
        low = max((setting for setting in weak if setting not in near), default=-1)
        if low + 1 in near or low < 0:
            yield from ((seen[setting].loss, setting) for setting in sorted(near)[:1])
        elif low + 1 < len(climb.option.plans) and seen[low].made:
            yield seen[low].loss, low + 1

    def _near(self, found: Figures) -> bool:
        """Whether a plan that was tried on a sample is worth a trial on everybody: what attacks are
        estimated to get of few, at most, may be several times what they get."""
        return not (found.failure or found.broken or found.leaks)

    def _both(
        self,
        plans: Sequence[tuple[Climb, int]],
        number: int,
        rung: Rung,
        hurried: bool = True,
    ) -> bool:
        """Try plans on the people by whom they were chosen and on the others, side by side."""
        wave = [Job(*plan, confirming) for plan in plans for confirming in (False, True)]
        return self._try(wave, number, rung, hurried)

    def _stands(self, found: Figures) -> bool:
        """Whether a plan keeps everything on both halves."""
        other = self.confirmed.get(found.label)
        return self._keeps(found) and other is not None and self._keeps(other)

    def _beside(self, last: int, rung: Rung) -> None:
        """Others worth showing: the best of each family, then whatever loses least."""
        chosen = self.shown[0]
        offered = []
        for climb in self.climbs:
            at, known = self._known(climb)
            stood = [found for found in climb.seen.get(last, {}).values() if self._stands(found)]
            if stood and climb.option is not chosen.option:
                self.shown.append(self._tried(min(stood, key=lambda found: found.loss)))
                continue
            if climb.option is chosen.option:
                at = chosen.setting + 1
            elif known is None or not self._keeps(known):
                continue
            # What failed of all who could be attacked has no second chance with fewer.
            if at < len(climb.option.plans) and at not in climb.seen.get(last, {}):
                offered.append((climb, at))
        # The climbs are in order; the first of a family is its best.
        firsts = {climb.option.family: climb for climb, _ in reversed(offered)}
        offered.sort(key=lambda one: firsts[one[0].option.family] is not one[0])
        wave = offered[: max(SHOWN - len(self.shown), 0)]
        if wave:
            few = None if self.ground.strict else _BESIDE
            self._both(wave, last + 1, rung._replace(attacked=few))
        for climb, at in wave:
            found = climb.seen.get(last + 1, {}).get(at)
            if found is not None and self._stands(found):
                self.shown.append(self._tried(found))
        self._lighter(last, rung)

    def _lighter(self, last: int, rung: Rung) -> None:
        """What turns out to lose less than the first goes before it, if it stands as firmly."""
        first, *others = self.shown
        for one in sorted(others, key=lambda one: one.figures.loss):
            if one.figures.loss >= first.figures.loss:
                return
            climb = next(c for c in self.climbs if c.option is one.option)
            whole = self._both([(climb, one.setting)], last, rung)
            found = climb.seen.get(last, {}).get(one.setting, one.figures)
            stands = self._stands(found)
            if whole or not stands:
                self.shown.remove(one)
            if whole and stands:
                self.shown.insert(0, self._tried(found))
            if not whole or stands:
                return

    def _so_far(self, last: int) -> None:
        """Where the search was ended: the best of the highest rung, which nothing confirms."""
        fallen = {
            found.label
            for climb in self.climbs
            for number in (last - 1, last)
            for found in climb.seen.get(number, {}).values()
            for others in (self._rough, self.confirmed)
            if not self._keeps(found) or not self._keeps(others.get(found.label, found))
        }
        for number in range(last, -1, -1):
            kept = [
                found
                for climb in self.climbs
                for found in climb.seen.get(number, {}).values()
                # An estimate of few decides nothing by itself, but nothing else speaks for it.
                if found.kept(self.ground.limit, self.ground.strict) and found.label not in fallen
            ]
            if kept:
                self.shown = [self._tried(min(kept, key=lambda found: found.loss))]
                return

    def _known(self, climb: Climb) -> tuple[int, Figures | None]:
        """Where an option stands on the highest rung on which it was tried."""
        for number in sorted(climb.seen, reverse=True):
            if (found := climb.best(number)) is not None:
                return climb.at, found
        return climb.at, None

    def _nearest(self, last: int, rung: Rung) -> None:
        """Where nothing does: what comes nearest, with all that attacks get of either half. A
        sample may have said too much against it."""
        known = [(*self._known(climb), climb) for climb in self.climbs if not climb.option.barred]
        near = [(found.risk, i) for i, (_, found, _) in enumerate(known) if found and found.made]
        wave = {(i, known[i][0]): known[i][2] for _, i in sorted(near)[:_NEAREST]}
        wave |= {(i, setting): known[i][2] for i, setting in self._alone(known)}
        if not wave:
            return
        plans = [(climb, setting) for (_, setting), climb in wave.items()]
        self._both(plans, last + 1, rung, hurried=False)
        for climb, setting in plans:
            found = climb.seen.get(last + 1, {}).get(setting)
            fell = climb.seen.get(last, {}).get(setting)
            if found is not None and fell is None and self._stands(found):
                self.shown.append(self._tried(found))
        self.shown.sort(key=lambda one: one.figures.loss)

    def _alone(
        self, known: Sequence[tuple[int, Figures | None, Climb]]
    ) -> Iterator[tuple[int, int]]:
        """For each requirement the setting of least loss that breaks nothing else."""
        best: dict[str, tuple[float, int, int]] = {}
        for i, (_, _, climb) in enumerate(known):
            for seen in climb.seen.values():
                for setting, found in seen.items():
                    if found.failure or len(found.broken) != 1 or found.risk > self.ground.limit:
                        continue
                    name, own = found.broken[0], (found.loss, i, setting)
                    best[name] = min(best.get(name, own), own)
        for _, i, setting in best.values():
            yield i, setting

    def _tried(self, figures: Figures) -> Tried:
        return next(one for one in self.tried if one.figures is figures)
