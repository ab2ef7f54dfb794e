"""Running changed plans: how often, and of large tables a sample first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data.pair import Pair
from ...data.people.participants import held_out
from ...data.table import Table
from ...errors import SfumatoError
from ...progress import Listener
from ...protocols import Finding
from ...rng import stream
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE
from ..plan.step import build
from ..records.evidence import Measuring

Attempt = Callable[..., tuple[list[Finding], Any]]
Candidates = Iterable[tuple[str, Plan]]
"""Changes in words, each with the changed plan, from mild to strong."""

RUNS = 40
"""Changes that are tried at most. No clock ends the search: a table has one answer."""
LARGE, SAMPLE = 20_000, 10_000
"""Records from which on a change is tried on a sample first, and how many this has."""
ROWS = 1_200_000
"""Records that confirmations on all of a large table may mask; one is always made."""


@dataclass(frozen=True)
class Tried:
    """A plan that was run, and what was found."""

    plan: Plan
    findings: tuple[Finding, ...]
    loss: float | None = None
    """How far the distributions of what the refused plan publishes have moved."""

    @property
    def broken(self) -> list[Finding]:
        """What is not met."""
        return [finding for finding in self.findings if not finding.met]

    @property
    def exposed(self) -> Finding | None:
        """The broken exposure check."""
        return next((f for f in self.broken if f.requirement == EXPOSURE), None)


class Trial:
    """Runs changed plans on a table, with the refused plan's seed, so many as are allowed."""

    def __init__(
        self,
        original: Table,
        seed: int,
        reference: Table | None,
        attempt: Attempt,
        tell: Listener,
        columns: Sequence[str] = (),
    ) -> None:
        self.original, self.seed, self.reference = original, seed, reference
        self._attempt, self._tell, self._columns = attempt, tell, columns
        self._confirmations = max(ROWS // max(original.height, 1), 1) if RUNS else 0
        self._known: list[tuple[Plan, Tried | None]] = []
        self._sample: Table | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more is to be begun."""
        return len(self._known) >= RUNS or not self._confirmations

    @property
    def runs(self) -> int:
        """How many changes were tried."""
        return len(self._known)

    def run(self, plan: Plan) -> Tried | None:
        """What a plan gives; None where it does not fit the table. Of a large table, what it gives
        on a sample."""
        for before, found in self._known:
            if before == plan:
                return found
        tried = None if self.over else self._run(plan, self._first(plan))
        self._known.append((plan, tried))
        self._tell("looking for remedies", len(self._known), RUNS)
        return tried

    def confirmed(self, tried: Tried) -> Tried | None:
        """The same on all records."""
        if self._first(tried.plan) is self.original:
            return tried
        if not self._confirmations:
            return None
        found = self._run(tried.plan, self.original)
        return found and replace(found, loss=tried.loss)  # all losses are those of the sample

    def loss(self, pair: Pair) -> float | None:
        """What a release loses of the columns that the refused one publishes; None where that
        cannot be told."""
        words = {"columns": list(self._columns), "unpublished": "suppressed"}
        try:
            return float(Measuring(self.seed).take(build("measure", "marginals", words), pair))
        except SfumatoError:
            return None

    def _run(self, plan: Plan, table: Table) -> Tried | None:
        if table is self.original and table.height > LARGE:
            self._confirmations -= 1
        try:
            findings, draft = self._attempt(plan, table, self.seed, self.reference)
        except SfumatoError:
            return None  # this change does not fit the table: not a remedy
        measured = table is self._first(plan) and all(finding.met for finding in findings)
        return Tried(plan, tuple(findings), self.loss(draft.pair) if measured else None)

    def _first(self, plan: Plan) -> Table:
        # Earlier releases are of these very rows.
        if self.original.height <= LARGE or plan.input.given:
            return self.original
        if self._sample is None:
            share = SAMPLE / self.original.height
            chosen = held_out(self.original, share, rng=stream(self.seed, 0, "remedies"))
            self._sample = self.original.take(np.flatnonzero(chosen))
        return self._sample


def only(findings: Sequence[Finding], name: str) -> bool:
    """Whether one requirement is all that is broken."""
    broken = {finding.requirement for finding in findings if not finding.met}
    return broken == {name}


def prefixed(said: str, candidates: Candidates) -> Iterator[tuple[str, Plan]]:
    """The same changes, after others."""
    for change, plan in candidates:
        yield (f"{said}; {change}" if said else change), plan
