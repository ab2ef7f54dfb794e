"""Counting what a plan requires, on every table that is about to be published."""

from __future__ import annotations

from collections.abc import Iterable

from ...data.pair import Pair
from ...protocols import Criterion, Finding
from ..plan.requirement import Requirement
from .evidence import Measuring


def judge(
    requirements: Iterable[Requirement], pairs: Iterable[Pair], measuring: Measuring
) -> list[Finding]:
    """Each requirement, counted on every masked table; the worst count is the finding."""
    pairs = tuple(pairs)
    findings = []
    for requirement in requirements:
        counted = []
        for pair in pairs:
            if isinstance(requirement.thing, Criterion):
                counted.append(requirement.thing.check_pair(pair).named(requirement.name))
                continue
            counted.append(requirement.judge(measuring.take(requirement.thing, pair)))
        findings.append(worst(counted))
    return findings


def worst(findings: list[Finding]) -> Finding:
    """The finding that is farthest on the wrong side of its limit, or nearest to it."""
    broken = [finding for finding in findings if not finding.met]
    pool = broken or findings
    return min(pool, key=lambda found: found.value if found.at_least else -found.value)
