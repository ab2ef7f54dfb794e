"""The answer of the adviser: plans worth taking, why, and what is wrong with the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from ...attacks.withstand import Withstand
from ...candidate import FAMILIES, Family
from ...release.plan.plan import Plan, Purpose
from ...texts import one_line
from ...utility.distributions.marginals import Marginals
from ..risk_utility import RiskUtilityMap, pareto
from .rungs import Tried, short_of
from .search import Search
from .sentences import TOLD, notes_of, percent, rounded, why
from .trials import Figures, People

ATTACKS = "withstand"
"""How the limit of attacks is called among what is required."""


@dataclass(frozen=True)
class Advised:
    """A plan worth taking."""

    label: str
    plan: Plan
    """Ready to run."""
    why: str
    """In one sentence: what it keeps, what attacks get, what it costs."""
    family: Family | None
    figures: Figures
    """Of the people by whom it was chosen."""
    confirmed: Figures | None
    """Of the others; none where the search was ended before."""

    @property
    def does(self) -> str:
        """What methods of its family do."""
        return FAMILIES[self.family] if self.family else "the plan's own steps"


@dataclass(frozen=True)
class Obstacle:
    """A requirement that is in the way, and what relaxing it would buy."""

    requirement: str
    limit: float
    needed: float
    """The limit with which the plan below would do."""
    label: str
    loss: float
    also: tuple[Obstacle, ...] = ()
    """What has to be relaxed together with it, where no plan breaks one requirement alone."""

    def said(self) -> str:
        """In a sentence."""
        asked = ", together with ".join(one._relaxed for one in (self, *self.also))
        return f"{asked}: {self.label} may do, and loses {percent(self.loss)}"

    @property
    def _relaxed(self) -> str:
        asked = self.requirement
        if asked == ATTACKS:
            asked = "what attacks may get (at-most, or withstand where it is required)"
        return f"{asked} = {rounded(self.needed, self.limit)} instead of {self.limit:g}"


@dataclass(frozen=True, eq=False)
class Advice:
    """What the adviser found; `save` writes the plans and a page."""

    plans: tuple[Advised, ...]
    """At most five, the best first; empty where nothing does what is required."""
    left: tuple[tuple[str, str], ...]
    """The other methods and chains, each with why it was left."""
    obstacles: tuple[Obstacle, ...]
    """Where nothing does: what is in the way."""
    notes: tuple[str, ...]
    trials: pl.DataFrame
    """Every trial in order, with its seed."""
    purpose: Purpose
    limit: float
    """What attacks may get beyond the control."""
    people: tuple[int, int]
    """By how many plans were chosen, and how many others there are to confirm it by."""
    seed: int
    """Of the search: it parts the people, and every trial's seed comes from it."""
    tried: dict[str, Plan] = field(repr=False)
    """The plan of every trial by its label."""
    short: str = ""
    """What ended before the search did: time, trials or nothing."""

    @property
    def whom(self) -> str:
        """By how many people plans were chosen, and by how many confirmed, if any were."""
        chosen, others = self.people
        if any(one.confirmed is not None for one in self.plans):
            return f"chosen on {chosen:,} people, confirmed on {others:,} others"
        return f"tried on {chosen:,} people, confirmed on nobody yet ({others:,} are kept for it)"

    @property
    def nothing(self) -> str:
        """What is said where there is no plan: of few people it need not be the plans' fault."""
        said = "no plan that was tried does what is required"
        fewest = min(self.people)
        return said + f"; {fewest:,} people in either half are too few to tell" * (fewest < TOLD)

    @property
    def unknown(self) -> str:
        """Why it cannot be said what is in the way, where nothing does and nothing is."""
        if self.plans or self.obstacles:
            return ""
        if self.short:
            return f"what is in the way was not found out for want of {self.short}"
        return "no plan comes near by relaxing what is required: see what was left, and why"

    @property
    def best(self) -> Plan:
        """The plan of least loss; an error where nothing does what is required."""
        from ...errors import ParameterError

        if not self.plans:
            raise ParameterError(
                "no plan that was tried does what is required",
                remedy="; ".join(one.said() for one in self.obstacles) or "see `left` for why",
            )
        return self.plans[0].plan

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "private": "it tells what attacks get of single releases: not for publication",
            "plans": [
                {
                    "label": one.label,
                    "why": one.why,
                    "plan": one.plan.to_toml(),
                    "chosen": _figures(one.figures),
                    "confirmed": None if one.confirmed is None else _figures(one.confirmed),
                }
                for one in self.plans
            ],
            "left": [{"what": what, "why": why} for what, why in self.left],
            "in the way": [asdict(one) | {"said": one.said()} for one in self.obstacles],
            "notes": list(self.notes),
            "limit": self.limit,
            "people": {"chosen": self.people[0], "confirmed": self.people[1]},
            "trials": self.trials.height,
            "seed": self.seed,
        }

    def map(self) -> RiskUtilityMap:
        """What was tried on everybody, by what it loses and what attacks get."""
        data = self.trials.filter(~pl.col("confirming") & (pl.col("failure") == ""))
        full = data.filter(pl.col("records") == self.people[0])
        data = full if full.height > 2 else data
        data = data.unique("label", keep="last", maintain_order=True)
        loss, risk = data["loss"].round(9).to_numpy(), data["risk"].round(9).to_numpy()
        data = data.select(
            "label", "method", "loss", "risk", front=pl.Series(pareto(loss, risk), dtype=pl.Boolean)
        )
        return RiskUtilityMap(data, Withstand.build({}), Marginals())

    def save(self, folder: str | Path) -> Path:
        """Write the plans, the trials and a page into a folder, for its owner alone."""
        from .page import save

        return save(self, Path(folder))


def answer(search: Search, purpose: Purpose, plan_of: Any, notes: Iterable[str] = ()) -> Advice:
    """What a search found, in words. `plan_of` makes a plan ready to run."""
    ground = search.ground
    shown = tuple(_front(search))
    plans = tuple(
        Advised(
            one.figures.label,
            plan_of(one.trial.plan),
            why(one.figures, search.confirmed.get(one.figures.label), ground, purpose),
            one.option.family,
            one.figures,
            search.confirmed.get(one.figures.label),
        )
        for one in shown
    )
    return Advice(
        plans,
        tuple(_left(search, shown)),
        () if plans else tuple(_obstacles(search.tried, ground)),
        (*notes, *notes_of(search)),
        _frame(search.tried),
        purpose,
        ground.limit,
        (ground.chosen.height, ground.confirming.height),
        ground.seed,
        {one.trial.label: plan_of(one.trial.plan) for one in search.tried},
        search.short,
    )


# --- which are shown ---


def _front(search: Search) -> Iterator[Tried]:
    """The best, and whatever no plan before it beats in loss, in risk and in what stays true."""
    taken: list[tuple[float, float, bool, bool]] = []
    for one in search.shown:
        other = search.confirmed.get(one.figures.label, one.figures)
        steps = one.trial.plan.steps
        found = (
            one.figures.loss,
            max(one.figures.risk, other.risk),
            not one.option.linked,
            any(step.perturbs for step in steps),
        )
        if not any(all(a <= b for a, b in zip(had, found, strict=True)) for had in taken):
            taken.append(found)
            yield one


def _left(search: Search, shown: Sequence[Tried]) -> Iterator[tuple[str, str]]:
    """Options that are not shown, and why."""
    named = {one.option.name for one in shown}
    offered = {one.option.name: one for one in search.shown}
    for climb in search.climbs:
        name = climb.option.name
        if name in named:
            continue
        own = [t for t in search.tried if t.option.name == name and not t.trial.confirming]
        if name in offered:
            yield name, "a plan that is shown loses less, gives away less and changes no more"
        elif (own and not own[-1].trial.rough) or not climb.left:
            yield name, _failed(search, own[-1])
        else:
            yield name, climb.left


def _failed(search: Search, last: Tried) -> str:
    """Why an option that came to the end was not taken."""
    other = search.confirmed.get(last.figures.label)
    for found, whom in ((last.figures, "by whom it was chosen"), (other, "who had no part in it")):
        if found is not None and not found.kept(search.ground.limit, search.ground.strict):
            return f"{found.label}: {short_of(found)}, on {found.records:,} people {whom}"
    best = search.shown[0].figures.label if search.shown else "another"
    return f"{last.figures.label} is confirmed, but {best} loses less"


# --- what is in the way ---


def _obstacles(tried: Sequence[Tried], ground: People) -> Iterator[Obstacle]:
    """For each requirement the plan of least loss that breaks that one alone, where it would do: of
    both halves what is worse, since on both it has to hold. Where each breaks several, those of the
    plan that breaks the fewest."""
    most = max((one.trial.records for one in tried), default=0)
    full = [one for one in tried if one.trial.records == most]
    full = [one for one in full if not one.trial.rough] or full
    plans: dict[str, dict[bool, Figures]] = {}
    for one in full:
        halves = plans.setdefault(one.trial.label, {})
        side = one.trial.confirming
        halves[side] = _fuller(halves.get(side, one.figures), one.figures)
    best: dict[str, Obstacle] = {}
    several: list[list[Obstacle]] = []
    for both in plans.values():
        failing = _failing([*both.values()], ground)
        if not all(math.isfinite(one.needed) for one in failing):
            continue
        if len(failing) == 1:
            (own,) = failing
            if own.requirement not in best or own.loss < best[own.requirement].loss:
                best[own.requirement] = own
        elif failing:
            several.append(failing)
    if several and not best:
        own, *rest = min(several, key=lambda failing: (len(failing), failing[0].loss))
        yield replace(own, also=tuple(rest))
    yield from sorted(best.values(), key=lambda one: one.loss)


def _fuller(had: Figures, one: Figures) -> Figures:
    """Of two trials of the same people that which was not ended early, with the most that attacks
    got in either."""
    kept = one if had.ended or not one.ended else had
    return replace(kept, risk=max(had.risk, one.risk), high=max(had.high, one.high))


def _failing(halves: Sequence[Figures], ground: People) -> list[Obstacle]:
    """What a plan breaks, and by which limit it would not."""
    label, loss = halves[0].label, max(one.loss for one in halves)
    if any(one.failure for one in halves):
        return [Obstacle("", 0.0, math.inf, label, loss)]
    failing = []
    for name in dict.fromkeys(name for one in halves for name in one.broken):
        found = [one.required[name] for one in halves if name in one.required]
        worst = (min if found[0][2] else max)(value for value, *_ in found)
        failing.append(Obstacle(name, found[0][1], worst, label, loss))
    # What attacks get of some, or until the first succeeds, says of no limit that it will do.
    attacks = max(math.inf if one.ended else one.judged(ground.strict) for one in halves)
    if attacks > ground.limit:
        failing.append(Obstacle(ATTACKS, ground.limit, attacks, label, loss))
    return failing


# --- data ---


def _figures(one: Figures) -> dict[str, Any]:
    return {
        "records": one.records,
        "loss": one.loss,
        "parts": dict(one.parts),
        "columns": dict(one.columns),
        "risk": one.risk,
        "low": one.low,
        "high": one.high,
        "worst": one.worst,
        "attacked": one.attacked,
        "seconds": one.cpu,
    }


def _frame(tried: Sequence[Tried]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "label": one.figures.label,
                "method": one.option.name,
                "records": one.figures.records,
                "confirming": one.trial.confirming,
                "attacked": one.figures.attacked,
                "seed": str(one.figures.seed),
                "loss": one.figures.loss,
                "risk": one.figures.risk,
                "risk_low": one.figures.low,
                "risk_high": one.figures.high,
                "at_least": one.figures.ended,
                "worst": one_line(one.figures.worst),
                "broken": one_line(", ".join(one.figures.broken)),
                "failure": one.figures.failure,
                "making": one.figures.making,
                "seconds": one.figures.cpu,
            }
            for one in tried
        ],
        infer_schema_length=None,
    )
