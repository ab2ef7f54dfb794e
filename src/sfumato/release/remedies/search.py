"""The search for remedies: one way after another, each from mild to strong, all of them run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...data.schema import Kind
from ...data.table import Table
from ...progress import Listener
from ...protocols import Finding, Measure
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE
from . import masking
from .columns import WAYS, coarsen, repaired
from .criteria import guiding, local_recoding, with_criteria
from .limits import loosened
from .remedy import Remedy
from .trying import LARGE, Attempt, Candidates, Trial, Tried, ncp_of, only, prefixed

_MOST = 4


def remedies_for(
    plan: Plan,
    original: Table,
    seed: int,
    findings: Sequence[Finding],
    draft: Any,
    reference: Table | None,
    attempt: Attempt,
    tell: Listener,
) -> list[Remedy]:
    """Changes that were tried and worked; one that asks for less comes last."""
    trial = Trial(original, seed, reference, attempt, tell)
    before = None if trial.over else ncp_of(draft.pair, seed)
    found: list[Remedy] = []
    for family in _families(trial, plan, findings):
        if trial.over or len(found) >= _MOST:
            break
        worked = _first_that_works(trial, plan, family)
        if worked is not None and worked[1].plan not in [remedy.plan for remedy in found]:
            change, tried = worked
            both = None if before is None or tried.ncp is None else (before, tried.ncp)
            found.append(Remedy(change, tried.plan, tried.findings, both))
    weaker = loosened(plan, findings)
    return [*_by_loss(plan, found), *([] if weaker is None else [weaker])]


def _by_loss(plan: Plan, found: list[Remedy]) -> list[Remedy]:
    """Those that leave most columns as they are, and of these what loses least, first; where other
    columns are masked, losses do not compare."""
    columns = [remedy.plan.columns for remedy in found]

    def place(remedy: Remedy) -> tuple[int, int, float]:
        now = remedy.plan.columns
        changed = sum(now[name] != plan.columns.get(name) for name in now)
        return changed, columns.index(now), 1.0 if remedy.ncp is None else remedy.ncp[1]

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
        yield from _sets(plan, findings, broken)
        return
    k = max((int(f.limit) for f in findings if f.requirement == "k-anonymity"), default=0)
    if lost:
        yield local_recoding(plan, trial.original, guiding(plan), k)
        yield from masking.milder(plan, k)
    criteria = guiding(plan)
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


def _sets(plan: Plan, findings: Sequence[Finding], broken: set[str]) -> Iterator[Candidates]:
    """The same where quasi-identifiers hold sets: to suppress or to generalize a whole set says
    nothing of it, so only searches for sets are tried."""
    k = max((int(f.limit) for f in findings if f.requirement in masking.FOR_SETS), default=0)
    yield from masking.joined_or_stronger(plan, k)
    rules = [c for c in guiding(plan) if c.name not in masking.FOR_SETS]
    for name in [name for name in masking.FOR_SETS if name in broken] or ["k-anonymity"]:
        yield masking.set_search(plan, name, k, rules)
