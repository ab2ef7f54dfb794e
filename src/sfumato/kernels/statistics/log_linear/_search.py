"""Interactions added to the independence model until its diagnostic finds nothing amiss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


_Way = tuple[tuple[int, int], ...]
"""Interactions of two columns, one after another."""


class _Next(NamedTuple):
    """A model that might come next."""

    model: Neighbours
    added: Columns
    gain: float


_Gains = dict[tuple[Columns, int, int], tuple[float, float]]
"""What the interaction of two columns gains beside what both interact with, in two ways."""


def search(cells: Cells, rng: np.random.Generator) -> Model:
    """Add one interaction after another while B1 says that some are lacking.

    Models stay decomposable. Where one more interaction suffices, the one that leaves the least B1
    is taken; as long as none does, the one that is likeliest, less its parameters (AIC). Where no
    two columns gain anything, three are tied at once: a column that follows from two others may
    tell nothing of either. B1 alone is a poor guide on the way: where most cells are nearly empty,
    an interaction that is real moves the means of the occupied ones to where B1 weighs more, and
    may raise it. If none suffices, the model with the least B1 is left, and `fits` tells.
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
    """Models with more interactions: one of two columns, one of three, all of three at once, where
    they gain more than chance lets them. Then the first two again, with parameters counted for
    occupied cells only: in sparse tables records cannot pay for every interaction that is real, and
    B1 says that some are lacking; but columns that are independent may seem to gain then."""
    pairs: list[_Way] = [((a, b),) for a, b in addable(model)]
    by_order = [
        [way for way in pairs if len(clique_of(model, *way[0])) == order] for order in _ORDERS
    ]
    levels = [cells.margin(frozenset({j})).records.size for j in range(len(model))]
    narrow = sorted(sorted(range(len(model)), key=levels.__getitem__)[:_NARROW])
    for ways in by_order:
        yield _weighed(cells, model, ways, gains, 0)
    triples = [ties(model, frozenset(three)) for three in combinations(narrow, _ORDERS[-1])]
    ways = [way for way in triples if way is not None and len(way) > 1]
    yield [one for one in _weighed(cells, model, ways, gains, 0) if len(one.added) == _ORDERS[-1]]
    for ways in by_order:
        yield _weighed(cells, model, ways, gains, 1)


def _weighed(
    cells: Cells, model: Neighbours, ways: Sequence[_Way], gains: _Gains, which: int
) -> list[_Next]:
    """The models that ways of adding interactions, one after another, lead to."""
    found = []
    for done, way in enumerate(ways):
        after, gain, margin = model, 0.0, Columns()
        for a, b in way:
            one = (clique_of(after, a, b), a, b)
            if one not in gains:
                report("weighing interactions", done, len(ways))
                gains[one] = _gain(cells, *one)
            after, gain = joined(after, a, b), gain + gains[one][which]
            margin = max(margin, one[0], key=len)
        found.append(_Next(after, margin, gain))
    return found


def _gain(cells: Cells, margin: Columns, a: int, b: int) -> tuple[float, float]:
    """What an interaction of two columns adds to the likelihood: less twice what it is expected to
    add where there is none, and less the parameters of cells that hold somebody (AIC).

    Every cell of a margin with mean m adds E(X log X) - m log m by chance, with X Poisson: half a
    parameter each where they have many records, so that the first is AIC as well. With few records
    they add less.
    """
    given = cells.margin(margin - {a, b})
    whole, one, other = (cells.margin(margin - gone) for gone in (set(), {b}, {a}))
    added = _likelihood(whole) + _likelihood(given) - _likelihood(one) - _likelihood(other)
    occupied = whole.records.size + given.records.size - one.records.size - other.records.size
    # Classes of one slice and one size are taken together: many classes have few sizes.
    slices, size, many = _sizes(one, given)
    beside, size_beside, many_beside = _sizes(other, given)
    start = np.searchsorted(beside, slices)
    each = np.searchsorted(beside, slices, side="right") - start
    back = np.repeat(np.arange(slices.size), each)
    there = start[back] + np.arange(back.size) - np.repeat(np.cumsum(each) - each, each)
    means = size[back] * size_beside[there] / given.records[slices[back]]
    chance = (many[back] * many_beside[there] * _by_chance(means)).sum()
    chance += _by_chance(given.records).sum()
    chance -= _by_chance(one.records).sum() + _by_chance(other.records).sum()
    return added - 2.0 * float(chance), added - occupied


def _likelihood(part: Margin) -> float:
    """What a margin adds to the logarithm."""
    return float((part.records * np.log(part.records)).sum())


def _sizes(part: Margin, given: Margin) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sizes of classes in each class of fewer columns, in its order, and how many have them."""
    width = int(part.records.max()) + 1
    key, many = np.unique(given.label[part.first] * width + part.records, return_counts=True)
    return key // width, (key % width).astype(np.float64), many


def _by_chance(mean: np.ndarray) -> np.ndarray:
    """E(X log X) - m log m of a Poisson X with mean m; about 1/2 for large means."""
    logs, values = _chances()
    return np.interp(np.log(mean), logs, values)


@lru_cache(maxsize=1)
def _chances() -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of means, and the same for them."""
    logs = np.linspace(-20.0, 5.0, 501)
    mean, x = np.exp(logs), np.arange(400)
    chance = np.exp(x * logs[:, None] - mean[:, None] - gammaln(x + 1.0))
    # E(X log X) = m E(log(X + 1))
    return logs, mean * ((chance * np.log1p(x)).sum(axis=1) - logs)
