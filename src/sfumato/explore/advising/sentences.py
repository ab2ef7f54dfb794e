"""What the adviser says, in words: why a plan, and what to know of the search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...release.plan.plan import Purpose
from .loss import PAIRS
from .search import Search
from .trials import Figures, People

TOLD = 2_000
"""People in either half of whom something is shown."""
_DETAIL = 0.05
"""A column that loses less keeps its detail."""
_FEW = 3
"""Columns that a sentence names."""


def why(chosen: Figures, other: Figures | None, ground: People, purpose: Purpose) -> str:
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


def rounded(needed: float, limit: float) -> str:
    """A limit rounded away from what is needed, so that it suffices."""
    if needed == int(needed):
        return f"{needed:g}"
    up = needed > limit
    shown = (math.ceil if up else math.floor)(round(needed * 1000, 6)) / 1000
    return f"{shown:g}"


def notes_of(search: Search) -> Iterator[str]:
    ground = search.ground
    if moved := _moved(search):
        yield moved
    if lucky := _lucky(search):
        yield lucky
    if search.short:
        yield f"the search was ended by want of {search.short}: more would be tried with more"
    few = min(ground.chosen.height, ground.confirming.height)
    if few < TOLD:
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
