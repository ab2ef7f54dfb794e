"""The public face of a release: every figure of the original as the release lets anyone see it.

Figures that depend on the release alone are published as they are. All others are taken anew where
the release hides something of the original (data/linkage/seen.py), and rounded by the number of
records, so that neither a range nor a mean gives back what was hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from ...data.codec import floats
from ...data.linkage.seen import seen, seen_beside
from ...data.pair import Pair
from ...data.schema import MEASURED
from ...data.table import Table
from ...errors import SchemaError, SfumatoError
from ...measurement import Rounding
from ...protocols import Criterion, Finding, Measure, Measurement
from ..plan.plan import Plan
from ..plan.requirement import Requirement
from .evidence import Evidence, Measuring, panel_of
from .public_steps import public_notes, public_steps

_UNTOLD = "it does not apply to this release"
_USUAL = 10.0
_TOO_FEW = "of so few records it would tell of single ones"
_UNSAID = "nobody says what of the original its figure depends on, so that it stays the owner's"


@dataclass(frozen=True, eq=False)
class Face:
    """What is public of a release: its pair without what is hidden, and its evidence."""

    pair: Pair
    evidence: Evidence
    rounding: Rounding


def public_face(plan: Plan, pair: Pair, evidence: Evidence, measuring: Measuring) -> Face:
    """The face of a release that everybody may see."""
    shown = seen(pair)
    others = None if measuring.reference is None else seen_beside(measuring.reference, pair)
    heights = [pair.original.height, pair.masked.height]
    if measuring.reference is not None:
        heights.append(measuring.reference.height)
    same = shown is pair and others is measuring.reference
    work = _Publishing(
        shown,
        measuring if same else replace(measuring, reference=others, taken=[]),
        Rounding(min(heights), measuring.seed, tail(pair.masked)),
        not same,
    )
    taken = {m.name: work.figure(m, evidence[m.name]) for m in panel_of(plan) if m.name in evidence}
    left = dict.fromkeys([*evidence.not_taken, *evidence], _UNTOLD)
    for m in panel_of(plan):
        if m.name in evidence and evidence[m.name].depends is None:
            left[m.name] = _UNSAID
        elif m.name in evidence and not work.tells(m):
            left[m.name] = _TOO_FEW
    findings = work.findings(plan, evidence.findings)
    told = {name: _within(found, findings) for name, found in taken.items() if found is not None}
    return Face(
        shown,
        replace(
            evidence,
            measurements=told,
            not_taken={name: why for name, why in left.items() if name not in told},
            findings=findings,
            steps=public_steps(evidence.steps, work.rounding),
            notes=public_notes(evidence.notes, evidence.steps),
            owner_notes=(),
            ledger=None if evidence.ledger is None else evidence.ledger.public(),
        ),
        work.rounding,
    )


@dataclass(frozen=True, eq=False)
class _Publishing:
    pair: Pair
    measuring: Measuring
    rounding: Rounding
    hides: bool
    """Whether the release hides something of the pair."""

    def tells(self, measure: Measure) -> bool:
        """Whether its figure, as it is rounded, would say anything."""
        scale = measure.result(0.0)
        if scale.depends in ("release", "domain"):
            return True
        if scale.squares and not self.rounding.tells_squares:
            return False
        return self.rounding.tells(scale.width)

    def figure(self, measure: Measure, private: Measurement) -> Measurement | None:
        """A measurement as it may be published; None where nothing may."""
        if private.depends is None or not self.tells(measure):
            return None
        if (told := measure.published(private)) is not None:
            return told
        if private.depends == "release" or self.measuring.tells(measure, self.hides):
            return private.public(self.rounding)
        try:
            return self.measuring.take(measure, self.pair).public(self.rounding)
        except SfumatoError:
            return None

    def findings(self, plan: Plan, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """What was required, with figures that tell no more than those of the measures."""
        asked = zip_longest(plan.requirements, found)
        return tuple(self._finding(r, one) for r, one in asked if one is not None)

    def _finding(self, asked: Requirement | None, found: Finding) -> Finding:
        if not found.met:
            return found  # nothing is published then
        if asked is not None and isinstance(asked.thing, Criterion):
            return found if self._by_release(asked.thing, found) else _at_limit(found)
        if asked is None or not isinstance(asked.thing, Measure):
            return _at_limit(found)  # beside releases of which the people are not public
        if found.depends == "release":
            return found
        private = asked.thing.result(found.value)
        figure = self.figure(asked.thing, replace(private, depends=found.depends))
        if figure is None:
            return _at_limit(found)
        kept = figure.value >= found.limit if found.at_least else figure.value <= found.limit
        return replace(found, value=figure.value, detail={}) if kept else _at_limit(found)

    def _by_release(self, thing: Criterion, found: Finding) -> bool:
        """Whether anybody can count it on the release."""
        if type(thing).check_pair is Criterion.check_pair:
            return True
        try:
            return thing.check(self.pair.masked).value == found.value
        except SfumatoError:
            return False


def tail(table: Table) -> float:
    """The square of how many deviations the farthest published number lies out, over the ten of a
    normal sample: so much more one hidden record may have moved a variance."""
    most = _USUAL
    for column in table.schema:
        if column.kind in MEASURED and not column.generalized and column.name in table.schema:
            try:
                x = floats(table[column.name], column)
            except SchemaError:
                continue
            x = x[np.isfinite(x)]
            x = x / max(float(np.abs(x).max(initial=0.0)), 1e-300)  # lest squares overflow
            if x.size > 1 and (sd := float(x.std())) > 0:
                most = max(most, float(np.abs(x - x.mean()).max() / sd) ** 2)
    return most / _USUAL


def _within(found: Measurement, findings: tuple[Finding, ...]) -> Measurement:
    """The figure, not beyond a limit that is kept; words made of exact figures are left out."""
    detail = {key: value for key, value in found.detail.items() if key != "because"}
    value = found.value
    for one in findings:
        if one.requirement == found.name and one.met:
            value = max(value, one.limit) if one.at_least else min(value, one.limit)
            # The parts of a whole that keeps its limit keep it, too.
            if not one.at_least and "attacks" in detail:
                detail["attacks"] = {
                    name: {**part, "upper": min(part["upper"], one.limit)}
                    for name, part in detail["attacks"].items()
                }
    return replace(found, detail=detail, value=value)


def _at_limit(found: Finding) -> Finding:
    """No more than that the limit is kept, and how it was counted."""
    how = {k: v for k, v in found.detail.items() if isinstance(v, str) and k != "because"}
    return replace(found, value=found.limit, broken=0, of=0, detail=how)
