"""The answer of the adviser: plans worth taking, why, and what is wrong with the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...attacks.withstand import Withstand
from ...candidate import FAMILIES, Family
from ...release.plan.plan import Plan, Purpose
from ...texts import one_line
from ...utility.distributions.marginals import Marginals
from ..risk_utility import RiskUtilityMap, pareto
from .loss import PAIRS
from .search import Search, Tried, short_of
from .trials import Figures, People

ATTACKS = "withstand"
"""How the limit of attacks is called among what is required."""
_DETAIL = 0.05
"""A column that loses less keeps its detail."""
_FEW = 3
"""Columns that a sentence names."""


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

    def said(self) -> str:
        """In a sentence."""
        asked = self.requirement
        if asked == ATTACKS:
            asked = "what attacks may get (at-most, or withstand where it is required)"
        return (
            f"{asked} = {_round(self.needed, self.limit)} instead of {self.limit:g}: "
            f"{self.label} may do, and loses {percent(self.loss)}"
        )


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
            "in the way": [vars(one) | {"said": one.said()} for one in self.obstacles],
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
            _why(one.figures, search.confirmed.get(one.figures.label), ground, purpose),
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
        (*notes, *_notes(search)),
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


# --- words ---


def _why(chosen: Figures, other: Figures | None, ground: People, purpose: Purpose) -> str:
    """What a plan keeps, what attacks get, what it costs; of both halves what is worse."""
    both = [one for one in (chosen, other) if one is not None]
    lost = {name: max(one.parts[name] for one in both) for name in chosen.parts}
    uses = ground.loss.uses if purpose.uses or not purpose.target else ()
    kept = _keeps({name: lost[name] for name in uses}, lost, purpose)
    return "; ".join([kept, _attacks(both, ground), _costs(both)])


def _keeps(uses: dict[str, float], lost: dict[str, float], purpose: Purpose) -> str:
    said = []
    if PAIRS in uses:
        said.append(f"all {PAIRS} within {percent(uses[PAIRS])} on average")
    elif len(uses) <= _FEW:
        said += [f"{name} within {percent(share)}" for name, share in uses.items()]
    else:
        worst = max(uses, key=lambda name: uses[name])
        mean = percent(float(np.mean(list(uses.values()))))
        said.append(f"{len(uses)} uses within {mean} on average")
        said.append(f"{worst} within {percent(uses[worst])}")
    if purpose.target:
        known = math.floor(100 * (1 - lost[f"model of {purpose.target}"]))
        said.append(f"{known} % of what a model can tell of {purpose.target}")
    totals = {name: lost[f"total of {name}"] for name in purpose.totals}
    said += [f"the total of {name} within {percent(share)}" for name, share in totals.items()]
    return "keeps " + " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))


def _attacks(both: Sequence[Figures], ground: People) -> str:
    worst = max(both, key=lambda one: one.risk)
    high = max(one.high for one in both)
    sure = f"at most {percent(high)}" + " with 95 % confidence" * (high <= ground.limit)
    if all(one.low <= 0 and one.certain <= 0 for one in both):
        if high > ground.limit:  # so few people would not show more
            return f"nobody found beyond chance, but {percent(high)} is not ruled out"
        return f"nobody found beyond chance ({sure})"
    name = worst.worst.partition(":")[0]
    return f"attacks get {percent(worst.risk)} beyond chance ({name}; {sure})"


def _costs(both: Sequence[Figures]) -> str:
    lost = {name: max(one.columns.get(name, 0.0) for one in both) for name in both[0].columns}
    coarse = sorted((name for name in lost if lost[name] >= _DETAIL), key=lambda n: -lost[n])
    if not coarse:
        top = max(lost, key=lambda name: lost[name])
        return f"no column alone loses more than {percent(lost[top])} ({top})"
    named = ", ".join(f"{name} ({percent(lost[name])})" for name in coarse[:_FEW])
    more = f" and {len(coarse) - _FEW} more" if len(coarse) > _FEW else ""
    return f"costs detail of {named}{more}"


def percent(value: float) -> str:
    """A share as a percentage, rounded up.

    >>> percent(0.0123), percent(0.0005), percent(0.123), percent(0.0)
    ('1.3 %', '0.1 %', '13 %', '0 %')
    """
    if value <= 0:
        return "0 %"
    digits = 1 if value < 0.1 else 0
    scale = 10**digits
    return f"{math.ceil(round(100 * value * scale, 6)) / scale:.{digits}f} %"


def _round(needed: float, limit: float) -> str:
    """A limit rounded away from what is needed, so that it suffices."""
    if needed == int(needed):
        return f"{needed:g}"
    up = needed > limit
    shown = (math.ceil if up else math.floor)(round(needed * 1000, 6)) / 1000
    return f"{shown:g}"


# --- what is in the way ---


def _obstacles(tried: Sequence[Tried], ground: People) -> Iterator[Obstacle]:
    """For each requirement the plan of least loss that breaks that one alone, where it would do: of
    both halves what is worse, since on both it has to hold."""
    most = max((one.trial.records for one in tried), default=0)
    full = [one for one in tried if one.trial.records == most]
    full = [one for one in full if not one.trial.rough] or full
    plans: dict[str, dict[bool, Figures]] = {}
    for one in full:
        halves = plans.setdefault(one.trial.label, {})
        side = one.trial.confirming
        halves[side] = _fuller(halves.get(side, one.figures), one.figures)
    best: dict[str, Obstacle] = {}
    for both in plans.values():
        failing = _failing([*both.values()], ground)
        if len(failing) == 1 and math.isfinite(failing[0].needed):
            (own,) = failing
            if own.requirement not in best or own.loss < best[own.requirement].loss:
                best[own.requirement] = own
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


def _notes(search: Search) -> Iterator[str]:
    ground = search.ground
    if moved := _moved(search):
        yield moved
    if lucky := _lucky(search):
        yield lucky
    if search.short:
        yield f"the search was ended by want of {search.short}: more would be tried with more"
    few = min(ground.chosen.height, ground.confirming.height)
    if few < 2_000:
        yield (
            f"{few:,} people in either half are too few to show what attacks get: estimates are "
            "uncertain by several points, and err to the side of the people"
        )
    if not ground.strict:
        yield (
            "attacks are judged by their estimates, and those that run the plan again are not "
            "tried; withstand in [require] judges by the upper bound, with these too, of the "
            "release itself, before it is written"
        )


def _moved(search: Search) -> str:
    """What the people who had no part in the choice say of those by whom it was made."""
    ground = search.ground
    pairs = [
        (one.figures, search.confirmed[one.figures.label])
        for one in search.tried
        if not one.trial.confirming and not one.trial.rough
        and one.figures.label in search.confirmed
    ]  # fmt: skip
    last = {mine.label: (mine, other) for mine, other in pairs}
    kept = [p for p in last.values() if p[0].kept(ground.limit, ground.strict)]
    if not kept:
        return ""
    fell = sum(not other.kept(ground.limit, ground.strict) for _, other in kept)
    loss = float(np.mean([other.loss - mine.loss for mine, other in kept]))
    known = [(mine, other) for mine, other in kept if not other.ended]
    risk = float(np.mean([other.risk - mine.risk for mine, other in known])) if known else 0.0
    return (
        f"of {len(kept)} plan{'s' * (len(kept) != 1)} that did what is required of those by whom "
        f"they were chosen, {fell} did not of the others; there they lost {_points(loss)} and "
        f"attacks got {_points(risk)} on average"
    )


_MANY = 3
"""So many plans of which attacks got too much before one that kept the limit: it may be luck."""


def _lucky(search: Search) -> str:
    """Whether one of many may have kept the limit by chance: all were tried on the same others."""
    ground = search.ground
    if ground.strict or not search.shown:
        return ""
    full = [one.figures for one in search.tried if not one.trial.rough]
    over = {
        one.label
        for one in full
        if one.made and not (one.failure or one.broken) and one.risk > ground.limit
    } & {*search.confirmed}
    if len(over) < _MANY:
        return ""
    return (
        f"of {len(over)} other plans attacks got more than {percent(ground.limit)} of one half or "
        "the other: the more are tried, the likelier one keeps the limit by chance, on both; "
        "require withstand, by which the bound decides, where that matters"
    )


def _points(value: float) -> str:
    """A difference of shares.

    >>> _points(0.0123), _points(-0.0004), _points(-0.02)
    ('1.2 points more', 'as much', '2.0 points less')
    """
    shown = round(100 * value, 1)
    if not shown:
        return "as much"
    return f"{abs(shown):.1f} points {'more' if shown > 0 else 'less'}"


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
