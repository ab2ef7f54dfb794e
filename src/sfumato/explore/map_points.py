"""The points of a risk-utility map as whoever looks at it wants them: with the steps of a plan that
makes each, from what the methods say of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.table import Table
from ..errors import ParameterError
from ..progress import Listener, silent
from ..release.plan.plan import Map, Plan, Purpose
from ..release.plan.step import Step
from .advising.portfolio import nameless, portfolio
from .risk_utility import NAMELESS, expand, risk_utility_map

YOURS = "the plan as it is"
MOST_RECORDS = 10_000
"""Records that releases of a map are made of, unless more are asked for."""


class Tried(NamedTuple):
    """One release of a map, before it is made."""

    label: str
    method: str
    """What the figure tells apart."""
    steps: tuple[Step, ...]


def tries(
    records: Table, plan: Plan, names: Sequence[str], sizes: Sequence[int] = ()
) -> list[Tried]:
    """What to compare: the plan's own steps, each of these methods at its settings, and what
    `[map]` of the plan lists. Of settings with a k those of `sizes` are taken, if any is; else the
    usual one with its neighbours."""
    bare = Plan(steps=plan.steps, input=plan.input)
    first = nameless(records, bare)
    found: list[Tried] = []
    masking = [step for step in plan.steps if step.use.name not in NAMELESS]
    if masking:
        more = [step for step in first if step not in plan.steps]
        found.append(Tried(YOURS, YOURS, (*more, *plan.steps)))
    options = portfolio(records, Plan(steps=first, input=plan.input), Purpose(), names)
    for option in options if names else ():
        if " then " in option.name or " with " in option.name:
            continue  # the same search with another verb, or with more after it
        for place in _settings(option.plans, option.usual, sizes):
            found.append(Tried(option.labels[place], option.name, option.plans[place].steps))
    for label, steps in expand(plan.map.methods if plan.map is not None else ()).items():
        found.append(Tried(label, steps[-1].use.name, (*first, *steps)))
    return _once(found)


def _settings(plans: Sequence[Plan], usual: int, sizes: Sequence[int]) -> list[int]:
    """Which rungs of a ladder are taken."""
    ks = [max((getattr(step.use, "k", 0) or 0 for step in p.steps), default=0) for p in plans]
    if sizes and any(ks):
        return [i for i, k in enumerate(ks) if k in sizes] or [usual]
    return [i for i in range(usual - 1, usual + 2) if 0 <= i < len(plans)]


def _once(tried: Sequence[Tried]) -> list[Tried]:
    """Each release once, under a label of its own."""
    found: list[Tried] = []
    for one in tried:
        if any(one.steps == other.steps for other in found):
            continue
        label, number = one.label, 1
        while any(label == other.label for other in found):
            number += 1
            label = f"{one.label} ({number})"
        found.append(one._replace(label=label))
    return found


def some(records: Table, most: int, seed: int = 0) -> Table:
    """So many of the records, drawn at random; all of them where there are no more."""
    if records.height <= most:
        return records
    rows = np.random.default_rng(seed).permutation(records.height)[:most]
    return records.take(np.sort(rows))


def points(
    records: Table,
    plan: Plan,
    tried: Sequence[Tried],
    wish: Mapping[str, Any],
    *,
    seed: int = 0,
    journal: Any = None,
    progress: Listener | None = None,
) -> dict[str, Any]:
    """The map of these releases: each with its risk and loss, as plain values, and what could not
    be made. `wish` has the words of `[map]`."""
    if not tried:
        raise ParameterError("there is nothing to compare", remedy="choose a method or two")
    own = Map.build({**wish, "methods": []})
    bare = plan.with_(steps=(), map=own, tune=None, requirements=())
    keys = list(expand([list(one.steps) for one in tried]))
    found = risk_utility_map(
        records,
        [list(one.steps) for one in tried],
        bare,
        seed=seed,
        journal=journal,
        workers=1,
        progress=progress or silent,
    )
    of = dict(zip(keys, tried, strict=True))
    rows = [
        {**row, "label": of[row["label"]].label, "method": of[row["label"]].method,
         "place": keys.index(row["label"])}
        for row in found.data.to_dicts()
    ]  # fmt: skip
    return {
        "risk": found.risk.name,
        "loss": found.loss.name,
        "points": rows,
        "failed": [[of[key].label, why] for key, why in found.failed.items()],
        "records": records.height,
    }
