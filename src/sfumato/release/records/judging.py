"""Counting what a plan requires, on every table that is about to be published."""

from __future__ import annotations

from collections.abc import Iterable

from ...data.pair import Pair
from ...protocols import Criterion, Finding, Measure
from ..plan.requirement import Requirement
from .evidence import Measuring


def judge(
    requirements: Iterable[Requirement], pairs: Iterable[Pair], measuring: Measuring
) -> list[Finding]:
    """Each requirement, counted on every masked table; the worst count is the finding. What takes
    minutes is not counted where something else is broken."""
    pairs, asked = tuple(pairs), list(requirements)
    found: dict[int, Finding] = {}
    for i in sorted(range(len(asked)), key=lambda i: costly(asked[i])):
        if costly(asked[i]) and not all(finding.met for finding in found.values()):
            break
        found[i] = worst([_counted(asked[i], pair, measuring) for pair in pairs])
    return [found[i] for i in sorted(found)]


def costly(requirement: Requirement) -> bool:
    """Whether it takes minutes to judge."""
    return isinstance(requirement.thing, Measure) and requirement.thing.costly


def _counted(requirement: Requirement, pair: Pair, measuring: Measuring) -> Finding:
    thing = requirement.thing
    if isinstance(thing, Criterion):
        return thing.check_pair(pair).named(requirement.name)
    return requirement.judge(measuring.take(thing, pair))


def worst(findings: list[Finding]) -> Finding:
    """The finding that is farthest on the wrong side of its limit, or nearest to it."""
    broken = [finding for finding in findings if not finding.met]
    pool = broken or findings
    return min(pool, key=lambda found: found.value if found.at_least else -found.value)
