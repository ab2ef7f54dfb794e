"""Interactions added to the independence model until its diagnostic finds nothing amiss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....progress import report
from ._cells import Cells, Fit
from ._graphs import Columns, Neighbours, addable, clique_of, independence, joined, parts_of
from ._risk import Diagnostic, diagnose

ENOUGH = 2.0
"""Standard errors that B1 of a model that is right seldom exceeds."""
_ORDERS = (2, 3)
"""Interactions of two columns are added first, of three where they do not suffice."""
_LISTED = 1 << 20
"""Cells that are listed, or drawn, to judge a model."""
_SCREENED = 1 << 16
"""The same to compare models that might come next."""
_TRIED = 32
"""Interactions whose models are compared, those that add most to the likelihood."""


class Step(NamedTuple):
    """A model on the way."""

    added: Columns
    """The margin that was added; empty for the independence model."""
    diagnostic: Diagnostic


class Model(NamedTuple):
    """The model that was chosen."""

    cliques: tuple[Columns, ...]
    fit: Fit
    diagnostic: Diagnostic
    steps: tuple[Step, ...]

    @property
    def fits(self) -> bool:
        """Whether the diagnostic finds nothing amiss."""
        return abs(self.diagnostic.z) < ENOUGH


class _Next(NamedTuple):
    model: Neighbours
    added: Columns
    gain: float
    z: float


def search(cells: Cells, rng: np.random.Generator) -> Model:
    """Add one interaction after another while B1 says that some are lacking.

    Models stay decomposable. Where one more interaction suffices, the one that leaves the least B1
    is taken; as long as none does, the one that is likeliest, less its parameters (AIC). B1 alone
    is a poor guide there: where most cells are nearly empty, an interaction that is real moves the
    means of the occupied ones to where B1 weighs more, and may raise it. If none suffices, the
    model with the least B1 is left, and `fits` tells.
    """
    model = independence(len(cells.codes))
    fit = cells.fit(model, _LISTED, rng)
    found = diagnose(fit, cells.counts)
    steps = [Step(frozenset(), found)]
    gains: dict[tuple[Columns, int, int], float] = {}
    best = (model, fit, found)
    while found.z >= ENOUGH:
        following = _following(cells, model, gains, rng)
        if following is None:
            break
        model = following.model
        fit = cells.fit(model, _LISTED, rng)
        found = diagnose(fit, cells.counts)
        steps.append(Step(following.added, found))
        if abs(found.z) < abs(best[2].z):
            best = (model, fit, found)
    model, fit, found = best
    cliques = tuple(sorted((part.clique for part in parts_of(model)), key=sorted))
    return Model(cliques, fit, found, tuple(steps))


def _following(
    cells: Cells,
    model: Neighbours,
    gains: dict[tuple[Columns, int, int], float],
    rng: np.random.Generator,
) -> _Next | None:
    """The model to go on with; None where no interaction makes the records likelier. `gains` are
    those that are known."""
    added = [(clique_of(model, a, b), a, b) for a, b in addable(model)]
    for order in _ORDERS:
        open_ones = [one for one in added if len(one[0]) == order]
        for done, one in enumerate(open_ones):
            if one not in gains:
                report("weighing interactions", done, len(open_ones))
                gains[one] = _gain(cells, *one)
        chosen = sorted((one for one in open_ones if gains[one] > 0), key=lambda one: -gains[one])
        tried = []
        for done, (margin, a, b) in enumerate(chosen[:_TRIED]):
            report("comparing interactions", done, min(len(chosen), _TRIED))
            after = joined(model, a, b)
            found = diagnose(cells.fit(after, _SCREENED, rng), cells.counts)
            tried.append(_Next(after, margin, gains[margin, a, b], found.z))
        if tried:
            nearest = min(tried, key=lambda one: abs(one.z))
            lacking = [one for one in tried if one.z >= ENOUGH]
            if abs(nearest.z) < ENOUGH or not lacking:
                return nearest
            return max(lacking, key=lambda one: one.gain)
    return None


def _gain(cells: Cells, margin: Columns, a: int, b: int) -> float:
    """What an interaction of two columns adds to the likelihood, less its parameters (AIC)."""

    def part(columns: Columns) -> float:
        count = cells.margin(columns).records
        return float((count * np.log(count)).sum()) - count.size

    return part(margin) + part(margin - {a, b}) - part(margin - {a}) - part(margin - {b})
