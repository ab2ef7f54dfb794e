"""Raise the group size until few records can be linked, as a data steward would by hand.

Li & Sarkar (2013), section 7: start with a small group size, measure record linkage on the masked
data, and raise the size until the risk is at the planned level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data.people.participants import reference_split
from ..data.table import Table
from ..errors import MeasureError, MethodError, ParameterError
from ..progress import Listener, silent
from ..protocols import Declaration, Measure
from ..release.plan.plan import Plan, Tune
from ..release.plan.requirement import Requirement
from ..release.plan.step import Step
from ..release.records.run import as_plan, hold_out, with_columns_of
from ..rng import draw_seed, stream
from .measured import Draw, Sides, in_order, side_by_side
from .runner import Runner

_LIKE = 0.9
"""Of the records: so many others are as many."""
_GROWTH = 1.25
"""How fast values grow while the limit is far away; the gap at the end is searched by halving."""


@dataclass(frozen=True)
class Trial:
    """One value of the parameter, and what was measured with it in each draw."""

    value: int
    measured: tuple[float, ...]
    also: dict[str, float]
    """The other measures, averaged over the draws."""
    judged: float
    """What was compared with the limit: the worst draw, or their mean."""

    @property
    def mean(self) -> float:
        """The measure, averaged over the draws."""
        return float(np.mean(self.measured))


@dataclass(frozen=True)
class Tuned:
    """The value that was found, and every value tried on the way, in order."""

    parameter: str
    value: int
    trials: tuple[Trial, ...]
    measure: str
    at_most: float
    tuned_plan: Plan = field(repr=False)
    """The plan with that value, whether it kept the limit or not."""
    confirmed: Trial | None = None
    """The value once more, against non-participants whom the search had not seen."""

    @property
    def met(self) -> bool:
        """Whether any value tried kept the limit, and was confirmed where it could be."""
        if self.confirmed is not None and self.confirmed.judged > self.at_most:
            return False
        return any(trial.judged <= self.at_most for trial in self.trials)

    def summary(self) -> str:
        """What the evidence of a release says of it."""
        tried = ", ".join(str(trial.value) for trial in self.trials)
        return (
            f"tuned: {self.parameter} = {self.value} keeps {self.measure} <= {self.at_most:g} "
            f"(tried {tried})"
            + ("" if self.confirmed is None else ", confirmed on a second sample of others")
        )

    @property
    def plan(self) -> Plan:
        """The plan with the value found, which requires the limit; an error where none kept it."""
        if not self.met:
            best = min((t for t in (*self.trials, self.confirmed) if t), key=lambda t: t.judged)
            raise MethodError(
                f"no {self.parameter} up to {self.trials[-1].value} brings {self.measure} to "
                f"{self.at_most:g}; the lowest was {best.judged:.4g} with {best.value}",
                remedy="a larger stop, another method, or a higher limit",
            )
        return self.tuned_plan


def tune(
    table: Any,
    plan: Any,
    *,
    at_most: float | None = None,
    measure: Any = None,
    parameter: str | None = None,
    step: int | None = None,
    start: int | None = None,
    stop: int | None = None,
    draws: int | None = None,
    judge_by: str | None = None,
    also: Iterable[Any] = (),
    seed: int | None = None,
    journal: str | Path | None = None,
    workers: int | None = None,
    progress: Listener | None = None,
) -> Tuned:
    """Raise a step's parameter until a measure is at most a limit.

    Measures are given by name, as a table `{"use": name, ...}` or as instances. What is not given
    comes from the plan's `[tune]`. Values grow by a quarter until one keeps the
    limit, then the gap below it is halved; the smallest value that kept it is returned. A measure
    need not fall with every step, so a smaller value that was passed over might keep it too.
    Random steps are drawn several times, with seeds that have nothing to do with a release's, and
    every draw must keep the limit (or their mean, `judge_by = "mean"`). Another draw may still
    exceed it: the tuned plan therefore requires the limit, and a release that breaks it is refused.
    A measure that compares with non-participants is searched with one half of them; the value found
    must keep the limit against the other half too, else larger ones are tried. Where they are as
    many as the records, these are halved as well, so that like is compared with like. Draws are
    made side by side by `workers` processes; what was noted in `journal` is not made again.
    """
    chosen = as_plan(plan)
    given = {
        "at_most": at_most, "measure": measure, "parameter": parameter, "step": step,
        "start": start, "stop": stop, "draws": draws, "judge_by": judge_by,
        "also": tuple(also) or None,
    }  # fmt: skip
    words = {} if chosen.tune is None else chosen.tune.model_dump(exclude_unset=True)
    words |= {key: value for key, value in given.items() if value is not None}
    if "at_most" not in words:
        raise ParameterError("tuning needs a limit", remedy="at_most = 0.05, for example")
    wish: Tune = Tune.build(words)
    seed = draw_seed() if seed is None else seed
    original, reference, _ = hold_out(with_columns_of(chosen, table), chosen, None, seed)
    search = _Search(wish, chosen, original, reference, seed, progress)
    with side_by_side(*search.sides, journal=journal, workers=workers) as search.runner:
        return search.run()


class _Search:
    runner: Runner

    def __init__(
        self,
        wish: Tune,
        plan: Plan,
        original: Table,
        reference: Table | None,
        seed: int,
        progress: Listener | None,
    ) -> None:
        self.wish, self.plan, self.original, self.seed = wish, plan, original, seed
        self.sides: tuple[Sides, ...] = ((original, reference),)
        """By the first values are chosen, on the second, if there is one, confirmed."""
        if reference is not None and wish.measure.needs_reference:
            self.sides = _halves(original, reference, seed)
        self.tell = progress or silent
        self.measure: Measure = wish.measure
        if self.measure.direction != "lower":
            raise ParameterError(
                f"{self.measure.name} is better the higher it is, and tuning brings a measure down",
                remedy="tune a measure of risk",
            )
        self.index = self._step()
        own = int(getattr(plan.steps[self.index].use, wish.parameter))
        self.start = wish.start or own
        self.stop = wish.stop or max(original.height // 2, self.start)
        if self.start > self.stop:
            raise ParameterError(
                f"tuning would start at {self.start} and stop at {self.stop}",
                remedy="a larger stop, or a smaller start",
            )
        self.trials: dict[int, Trial] = {}

    def _step(self) -> int:
        """The index of the step whose parameter is raised."""
        wish, steps = self.wish, self.plan.steps
        if wish.step is not None and wish.step > len(steps):
            raise ParameterError(
                f"there is no step {wish.step}: the plan has {len(steps)}", remedy="step = 1"
            )
        candidates = range(len(steps)) if wish.step is None else [wish.step - 1]
        for index in candidates:
            found = getattr(steps[index].use, wish.parameter, None)
            if isinstance(found, int) and not isinstance(found, bool):
                return index
        raise ParameterError(
            f"no step has a whole number {wish.parameter!r} to raise",
            remedy='parameter = "k", and a step such as mdav or crest',
        )

    def run(self) -> Tuned:
        low, value = self.start - 1, self.start
        while not self._keeps(value):
            if value >= self.stop:
                return self._tuned(max(self.trials))
            low, value = value, self._next(value)
        # The smallest value in (low, value] that keeps the limit, as far as halving can tell.
        while value - low > 1:
            middle = (low + value) // 2
            if self._keeps(middle):
                value = middle
            else:
                low = middle
        return self._confirmed(value) if len(self.sides) > 1 else self._tuned(value)

    def _confirmed(self, value: int) -> Tuned:
        """The first value from here on that keeps the limit against people not seen so far."""
        while True:
            tried = self.trials.get(value)
            if self._keeps(value) if tried is None else tried.judged <= self.wish.at_most:
                again = self._try(value, 1)
                if again.judged <= self.wish.at_most or value >= self.stop:
                    return self._tuned(value, again)
            elif value >= self.stop:
                return self._tuned(value)
            value = self._next(value)

    def _next(self, value: int) -> int:
        return min(max(value + 1, int(value * _GROWTH)), self.stop)

    def _tuned(self, value: int, confirmed: Trial | None = None) -> Tuned:
        trials = tuple(self.trials[tried] for tried in sorted(self.trials))
        wish = self.wish
        limit = Requirement(self.measure, at_most=wish.at_most)
        others = tuple(r for r in self.plan.requirements if r.thing != self.measure)
        plan = self._with(value).with_(tune=None, requirements=(*others, limit))
        return Tuned(
            wish.parameter, value, trials, self.measure.name, wish.at_most, plan, confirmed
        )

    def _keeps(self, value: int) -> bool:
        self.tell(f"{self.wish.parameter} = {value}", len(self.trials), len(self.trials) + 1)
        try:
            trial = self._try(value, 0)
        except MethodError:
            if not self.trials:
                raise
            # Larger than the table allows: whatever was tried before is what there is.
            self.stop = value
            return False
        self.trials[value] = trial
        return trial.judged <= self.wish.at_most

    def _with(self, value: int) -> Plan:
        step = self.plan.steps[self.index]
        use: Declaration = type(step.use).build(
            {**step.use.parameters(), self.wish.parameter: value}
        )
        steps = list(self.plan.steps)
        steps[self.index] = Step(use, step.then)  # type: ignore[arg-type]
        return self.plan.with_(steps=tuple(steps))

    def _try(self, value: int, side: int) -> Trial:
        plan = self._with(value)
        draws = self.wish.draws if any(step.random for step in plan.steps) else 1
        measures = (self.measure, *self.wish.also)
        seeds = [int(stream(self.seed, draw, "tune").integers(2**62)) for draw in range(draws)]
        made = in_order(self.runner, [Draw(plan, seed, measures, side) for seed in seeds])
        figures, others = [one.values[0] for one in made], [one.values[1:] for one in made]
        if not np.isfinite(figures).all():
            raise MeasureError(
                f"{self.measure.name} has no value with {self.wish.parameter} = {value}"
            )
        listed = [one.name for one in self.wish.also]
        names = [one.name if listed.count(one.name) == 1 else str(one) for one in self.wish.also]
        also = dict(zip(names, np.mean(others, axis=0).tolist(), strict=True))
        judged = max(figures) if self.wish.judge_by == "worst" else float(np.mean(figures))
        return Trial(value, tuple(figures), also, judged)


def _halves(original: Table, reference: Table, seed: int) -> tuple[Sides, Sides]:
    """What a value is chosen with, and what it is confirmed on."""
    others, more = reference_split(reference, seed=seed % 2**32)
    if reference.height < _LIKE * original.height:
        return (original, others), (original, more)
    people, rest = reference_split(original, seed=seed % 2**32)
    return (people, others), (rest, more)
