"""The search for remedies: one way after another, each from mild to strong, all of them run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any

from ...data.schema import SET_ASIDE, Kind
from ...data.table import Table
from ...progress import Listener
from ...protocols import Finding, Measure
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE
from . import masking
from .columns import WAYS, coarsen, repaired
from .criteria import guiding, local_recoding, seeing_people, with_criteria
from .limits import loosened
from .remedy import Remedy
from .trying import LARGE, Attempt, Candidates, Trial, Tried, only, prefixed

_MOST = 4
_DIGITS = 3
"""Of a loss that make a difference."""


def remedies_for(
    plan: Plan,
    original: Table,
    seed: int,
    findings: Sequence[Finding],
    draft: Any,
    reference: Table | None,
    attempt: Attempt,
    tell: Listener,
) -> tuple[list[Remedy], str]:
    """Changes that were tried and worked, of which one that asks for less comes last; and what to
    say if there are others that were not tried."""
    shared = [c.name for c in draft.pair.original.schema if c.role not in SET_ASIDE]
    shared = [name for name in shared if name in draft.pair.masked.schema]
    trial = Trial(original, seed, reference, attempt, tell, shared)
    found: list[Remedy] = []
    slow = original.height > LARGE
    untried = "local-recoding takes long on so many records and was not tried" if slow else ""
    for family in _families(trial, plan, findings):
        if len(found) >= _MOST:
            break
        if trial.over:
            untried = f"more changes are possible than the {trial.runs} that were tried"
            break
        worked = _first_that_works(trial, plan, family)
        if worked is not None and worked[1].plan not in [remedy.plan for remedy in found]:
            change, tried = worked
            found.append(Remedy(change, tried.plan, tried.findings, tried.loss))
    weaker = loosened(plan, findings)
    return [*_smallest_first(plan, found), *([] if weaker is None else [weaker])], untried


def _smallest_first(plan: Plan, found: list[Remedy]) -> list[Remedy]:
    """What loses least first, all columns of the refused release compared; of those that lose the
    same, and where losses cannot be told, what changes the fewest lines of the plan."""
    before = plan.to_toml().splitlines()
    measured = all(remedy.loss is not None for remedy in found)

    def place(remedy: Remedy) -> tuple[float, int]:
        lines = list(unified_diff(before, remedy.plan.to_toml().splitlines(), n=0))
        changed = sum(line[0] in "+-" for line in lines)
        return (round(remedy.loss or 0.0, _DIGITS) if measured else 0.0), changed

    return sorted(found, key=place)


def _first_that_works(trial: Trial, refused: Plan, family: Candidates) -> tuple[str, Tried] | None:
    """The mildest change of a family that meets everything."""
    for change, plan in family:
        if trial.over:
            return None
        if plan == refused:
            continue
        tried = trial.run(plan)
        if tried is not None and tried.broken and only(tried.findings, EXPOSURE):
            # What is masked anew may be given back by a column that told nothing before.
            for said, mended in repaired(trial, plan, coarsen):
                change, tried = f"{change}; {said}", trial.run(mended)
        if tried is None or tried.broken:
            continue
        confirmed = trial.confirmed(tried)
        if confirmed is not None and not confirmed.broken:
            return change, confirmed
    return None


def _families(trial: Trial, plan: Plan, findings: Sequence[Finding]) -> Iterator[Candidates]:
    """Everything that may help: the columns that expose people first, if there are any."""
    exposed = any(f.requirement == EXPOSURE and not f.met for f in findings)
    if not exposed:
        yield from _masked_otherwise(trial, plan, findings)
        return
    if only(findings, EXPOSURE):
        for way in WAYS:
            yield repaired(trial, plan, way)
        yield from _masked_otherwise(trial, plan, findings)
        return
    for way in WAYS:
        for said, start in repaired(trial, plan, way):
            yield [(said, start)]
            for family in _masked_otherwise(trial, start, findings):
                yield prefixed(said, family)


def _masked_otherwise(
    trial: Trial, plan: Plan, findings: Sequence[Finding]
) -> Iterator[Candidates]:
    """Ways to mask more, or less where too much is lost."""
    broken = {finding.requirement for finding in findings if not finding.met}
    lost = any(
        isinstance(r.thing, Measure)
        and getattr(r.thing, "about", "risk") == "utility"
        and r.name in broken
        for r in plan.requirements
    )
    schema = trial.original.schema
    if any(column.kind == Kind.SET and column.name in schema.quasi for column in schema):
        yield from _sets(trial, plan, findings, broken)
        return
    k = max((int(f.limit) for f in findings if f.requirement == "k-anonymity"), default=0)
    if lost:
        recoded = local_recoding(plan, trial.original, guiding(plan, trial.original), k)
        yield seeing_people(recoded, trial.original)
        yield from masking.milder(plan, k)
    if masking.UNTIL & broken:
        yield from masking.until(plan)
    criteria = guiding(plan, trial.original)
    # Of large tables the quick ways first: a search that is under way is not ended.
    quick = trial.original.height > LARGE
    if quick:
        yield from masking.joined_or_stronger(plan, k)
    if any(criterion.name in broken for criterion in criteria):
        yield from with_criteria(plan, trial.original, k)
    if not quick:
        yield from masking.joined_or_stronger(plan, k)
    yield masking.suppressed(plan, k)
    yield masking.mondrian(plan, k)


def _sets(
    trial: Trial, plan: Plan, findings: Sequence[Finding], broken: set[str]
) -> Iterator[Candidates]:
    """The same where quasi-identifiers hold sets: to suppress or to generalize a whole set says
    nothing of it, so only searches for sets are tried."""
    k = max((int(f.limit) for f in findings if f.requirement in masking.FOR_SETS), default=0)
    yield from masking.joined_or_stronger(plan, k)
    own = set(masking.FOR_SETS) - {"k-anonymity"}
    rules = [c for c in guiding(plan, trial.original) if c.name not in own]
    for name in [name for name in masking.FOR_SETS if name in broken] or ["k-anonymity"]:
        yield seeing_people(masking.set_search(plan, name, k, rules), trial.original)
