"""What a method for tables returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels.arrays import Bools, Floats
from .audit.witness import Witnesses
from .threats.problem import Problem


@dataclass(frozen=True, eq=False)
class TableOutcome:
    """A protected table: what is shown of each cell, and what that tells of its true value."""

    published: Floats
    """The number that is shown; NaN where the cell is hidden or shown as an interval."""
    lower: Floats
    """What the publication says of the true value: it is not below this ..."""
    upper: Floats
    """... nor above this. Equal to `lower` where the true value is published."""
    hidden: Bools
    """Cells that are not shown at all."""
    shown: tuple[Floats, Floats] | None = None
    """Intervals that are printed in place of numbers (NaN where a number or nothing is)."""
    cost: float = 0.0
    """The costs of the cells hidden or changed beyond the sensitive ones."""
    bound: float | None = None
    """No protection costs less than this, where the method proved it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Public: parameters, and counts that do not tell sensitive cells from others."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """The owner's: every count that does, such as how many cells are hidden besides."""
    warnings: tuple[str, ...] = ()
    witnesses: Witnesses | None = None
    """Other tables that are just as possible, which prove widths without a linear program."""

    @property
    def gap(self) -> float | None:
        """How far the cost may be above the least one, as a share of it."""
        if self.bound is None:
            return None
        return 0.0 if self.cost <= self.bound else (self.cost - self.bound) / max(self.cost, 1e-12)


def suppressed(
    problem: Problem,
    hidden: Bools,
    *,
    bound: float | None = None,
    facts: Mapping[str, Any] | None = None,
    private: Mapping[str, Any] | None = None,
    warnings: tuple[str, ...] = (),
    witnesses: Witnesses | None = None,
) -> TableOutcome:
    """The outcome of hiding these cells and publishing the others as they are."""
    lower, upper = problem.known_bounds(hidden)
    secondary = hidden & ~problem.primary
    return TableOutcome(
        published=np.where(hidden, np.nan, problem.values),
        lower=lower,
        upper=upper,
        hidden=hidden,
        cost=float(problem.costs[secondary].sum()),
        bound=bound,
        facts=dict(facts or {}),
        private={**(private or {}), "secondary cells": int(secondary.sum())},
        warnings=warnings,
        witnesses=witnesses,
    )
