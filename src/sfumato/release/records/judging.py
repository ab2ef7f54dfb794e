"""Counting what a plan requires, on every table that is about to be published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
                found = requirement.thing.check_pair(pair)
                # Whatever a criterion says, its figure must keep its limit, and goes by its name.
                met = found.met and _keeps_limit(found)
                counted.append(replace(found, met=met, requirement=requirement.name))
                continue
            counted.append(requirement.judge(measuring.take(requirement.thing, pair)))
        findings.append(worst(counted))
    return findings


def _keeps_limit(found: Finding) -> bool:
    """Whether a figure is on the right side of its limit, rounding aside; NaN is on none."""
    slack = 1e-6 * max(1.0, abs(found.limit))
    short = found.limit - found.value if found.at_least else found.value - found.limit
    return short <= slack or found.value == found.limit  # which may both be infinite


def worst(findings: list[Finding]) -> Finding:
    """The finding that is farthest on the wrong side of its limit, or nearest to it."""
    broken = [finding for finding in findings if not finding.met]
    pool = broken or findings
    return min(pool, key=lambda found: found.value if found.at_least else -found.value)
