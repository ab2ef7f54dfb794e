"""Interactions added to the independence model until its diagnostic finds nothing amiss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ....progress import report
from ._cells import Cells, Fit, Margin
from ._graphs import (
    Columns,
    Neighbours,
    addable,
    clique_of,
    independence,
    joined,
    parts_of,
    ties,
)
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
_NARROW = 24
"""Columns of which three may be tied at once, those with the fewest values: others have more
parameters than records could pay for."""


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
    """A model that might come next."""

    model: Neighbours
    added: Columns
    gain: float


_Gains = dict[tuple[Columns, int, int], float]
"""What the interaction of two columns gains beside what both interact with."""


def search(cells: Cells, rng: np.random.Generator) -> Model:
    """Add one interaction after another while B1 says that some are lacking.

    Models stay decomposable. Where one more interaction suffices, the one that leaves the least B1
    is taken; as long as none does, the one that is likeliest, less its parameters (AIC). Where no
    two columns gain anything, three are tied at once: a column that follows from two others may
    tell nothing of either. B1 alone
    is a poor guide there: where most cells are nearly empty, an interaction that is real moves the
    means of the occupied ones to where B1 weighs more, and may raise it. If none suffices, the
    model with the least B1 is left, and `fits` tells.
    """
    model = independence(len(cells.codes))
    fit = cells.fit(model, _LISTED, rng)
    found = diagnose(fit, cells.counts)
    steps = [Step(frozenset(), found)]
    gains: _Gains = {}
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
    cells: Cells, model: Neighbours, gains: _Gains, rng: np.random.Generator
) -> _Next | None:
    """The model to go on with; None where no interaction makes the records likelier. `gains` are
    those that are known."""
    beyond: list[tuple[float, _Next]] = []
    for open_ones in _open(cells, model, gains):
        chosen = sorted((one for one in open_ones if one.gain > 0), key=lambda one: -one.gain)
        tried = []
        for done, one in enumerate(chosen[:_TRIED]):
            report("comparing interactions", done, min(len(chosen), _TRIED))
            tried.append((diagnose(cells.fit(one.model, _SCREENED, rng), cells.counts).z, one))
        enough = [(abs(z), one) for z, one in tried if abs(z) < ENOUGH]
        if enough:
            return min(enough, key=lambda one: one[0])[1]
        lacking = [one for z, one in tried if z >= ENOUGH]
        if lacking:
            return max(lacking, key=lambda one: one.gain)
        beyond += [(abs(z), one) for z, one in tried]
    return min(beyond, key=lambda one: one[0])[1] if beyond else None


def _open(cells: Cells, model: Neighbours, gains: _Gains) -> Iterator[list[_Next]]:
    """Models with one interaction more: of two columns, of three of which two are lacking, and
    then of three that are tied at once."""
    added = [((a, b),) for a, b in addable(model)]
    for order in _ORDERS:
        pairs = [one for one in added if len(clique_of(model, *one[0])) == order]
        yield [
            _with(cells, model, way, gains, (done, len(pairs))) for done, way in enumerate(pairs)
        ]
    levels = [cells.margin(frozenset({j})).records.size for j in range(len(model))]
    narrow = sorted(sorted(range(len(model)), key=levels.__getitem__)[:_NARROW])
    triples = [ties(model, frozenset(three)) for three in combinations(narrow, _ORDERS[-1])]
    ways = [way for way in triples if way is not None and len(way) > 1]
    found = [_with(cells, model, way, gains, (done, len(ways))) for done, way in enumerate(ways)]
    yield [one for one in found if len(one.added) == _ORDERS[-1]]


def _with(
    cells: Cells,
    model: Neighbours,
    way: tuple[tuple[int, int], ...],
    gains: _Gains,
    done: tuple[int, int],
) -> _Next:
    """The model with some interactions more, one after another."""
    gain, margin = 0.0, frozenset[int]()
    for a, b in way:
        one = (clique_of(model, a, b), a, b)
        if one not in gains:
            report("weighing interactions", *done)
            gains[one] = _gain(cells, *one)
        gain, model = gain + gains[one], joined(model, a, b)
        margin = max(margin, one[0], key=len)
    return _Next(model, margin, gain)


def _gain(cells: Cells, margin: Columns, a: int, b: int) -> float:
    """What an interaction of two columns adds to the likelihood, less twice what it is expected to
    add where there is none.

    Every cell of a margin with mean m adds E(X log X) - m log m to that, with X Poisson: half a
    parameter each where they have many records, so that this is AIC. With few they add less. To
    count all of them would then find nothing, and to count the occupied ones would find
    interactions of columns that are independent.
    """
    given = cells.margin(margin - {a, b})
    one, other = cells.margin(margin - {b}), cells.margin(margin - {a})
    found = _likelihood(cells.margin(margin).records) + _likelihood(given.records)
    found -= _likelihood(one.records) + _likelihood(other.records)
    # Classes of one slice and one size are taken together: there are few sizes in many classes.
    slices, size, many = _sizes(one, given)
    slices_, size_, many_ = _sizes(other, given)
    start = np.searchsorted(slices_, slices)
    each = np.searchsorted(slices_, slices, side="right") - start
    back = np.repeat(np.arange(slices.size), each)
    there = start[back] + np.arange(back.size) - np.repeat(np.cumsum(each) - each, each)
    means = size[back] * size_[there] / given.records[slices[back]]
    chance = float((many[back] * many_[there] * _by_chance(means)).sum())
    chance += float(_by_chance(given.records).sum())
    chance -= float(_by_chance(one.records).sum() + _by_chance(other.records).sum())
    return found - 2.0 * chance


def _sizes(part: Margin, given: Margin) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sizes of classes in each class of fewer columns, in its order, and how many have them."""
    width = int(part.records.max()) + 1
    key, many = np.unique(given.label[part.first] * width + part.records, return_counts=True)
    return key // width, (key % width).astype(np.float64), many


def _likelihood(count: np.ndarray) -> float:
    """What a margin adds to the logarithm."""
    return float((count * np.log(count)).sum())


def _by_chance(mean: np.ndarray) -> np.ndarray:
    """E(X log X) - m log m of a Poisson X with mean m; about 1/2 for large means."""
    logs, values = _chances()
    return np.interp(np.log(mean), logs, values)


@lru_cache(maxsize=1)
def _chances() -> tuple[np.ndarray, np.ndarray]:
    """The same for logarithms of means."""
    logs = np.linspace(-20.0, 5.0, 501)
    mean, x = np.exp(logs)[:, None], np.arange(400)
    chance = np.exp(x * logs[:, None] - mean - gammaln(x + 1.0))
    # E(X log X) = m E(log(X + 1))
    return logs, mean[:, 0] * ((chance * np.log1p(x)).sum(axis=1) - logs)
