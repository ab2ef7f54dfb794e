"""What published steps say of a value that they masked: the chance that it becomes another.

Steps are known by their names and declared parameters alone. Where a chance depends on the data (a
variance, frequencies, ranks) the release's own is taken, since an intruder has no other. A step of
which nothing is known is taken to leave a value or to move it about as far as a density estimate
would smooth it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data.linkage.linked import acted_on
from ...data.table import Table
from ...kernels.masking.pram import destinations, diluted, share_changed, two_stage
from ...protocols import Method, Partitioner
from . import chances

Step = Method | Partitioner

REPLACING = (
    "microaggregation", "individual-ranking", "lossy-compression", "rounding",
    "multivariate-rounding", "top-bottom-coding",
)  # fmt: skip
"""Methods that put other values in the place of the true ones, without drawing any."""
STAY = 0.8
"""What `pram` does where it is told neither how many stay nor how many change."""


@dataclass(frozen=True, eq=False)
class Scale:
    """A column's bins, as the release shows them."""

    name: str
    shares: np.ndarray
    """of the release, by bin"""
    texts: tuple[str, ...] | None
    """categories, by bin; None for numbers"""
    order: tuple[str, ...]
    """in which categories stand, where they have one"""
    edges: np.ndarray
    """of bins of numbers, the first and last infinite"""
    worth: np.ndarray
    """a number for each bin"""
    mean: float
    deviation: float
    records: int
    smooth: float
    """how far a density estimate smooths, in deviations"""
    gap: float
    """how far the released points lie apart, in deviations"""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.texts is None


def changing(
    steps: Sequence[Step], original: Table, labelled: Callable[[str], bool]
) -> dict[str, list[Step]]:
    """The columns in which steps put other values in the place of the true ones. A group's records
    may have been given one label, which tells the truth, or something else; the release shows."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        if isinstance(step, Method) and step.perturbs is False and step.name not in REPLACING:
            continue
        every = isinstance(step, Method) and step.perturbs is None
        for name in original.names if every else acted_on(step, original):
            random = isinstance(step, Method) and step.perturbs is not False
            if random or not labelled(name):
                found.setdefault(name, []).append(step)
    return found


def transitions(steps: Sequence[Step], scale: Scale) -> np.ndarray:
    """The chance of each bin to become each, by all steps one after the other."""
    found = np.eye(scale.shares.size)
    for step in steps:
        found = found @ _by_step(step, scale)
    return found


def unknown(scale: Scale) -> np.ndarray:
    """A step of which nothing is known."""
    stay = np.eye(scale.shares.size)
    if not scale.numeric:
        return chances.drawn_anew(scale.shares, scale.smooth**2)
    spread = np.full(scale.worth.size, scale.smooth * scale.deviation)
    return np.asarray((stay + chances.normal(scale.worth, spread, scale.edges)) / 2.0)


def _by_step(step: Step, scale: Scale) -> np.ndarray:
    known = _KNOWN.get(step.name)
    if known is not None:
        return known(step, scale)
    if hasattr(step, "rate"):
        return chances.drawn_anew(scale.shares, float(step.rate))
    if isinstance(step, Partitioner) and scale.numeric:
        return _grouped(step, scale)
    return unknown(scale)


def _additive(step: Any, scale: Scale) -> np.ndarray:
    if not scale.numeric:
        return unknown(scale)
    amount = float(step.amount)
    pull = np.sqrt(1.0 + amount) if getattr(step, "restore", False) else 1.0
    # The release's variance is the data's and the noise's together, unless it was pulled back.
    noise = scale.deviation * np.sqrt(amount / (1.0 + amount))
    means = scale.mean + (scale.worth - scale.mean) / pull
    return chances.normal(means, np.full(means.size, noise), scale.edges)


def _by_density(step: Any, scale: Scale) -> np.ndarray:
    """Noise by the distance to other records, of which the release shows about how far they lie."""
    if not scale.numeric:
        return unknown(scale)
    noise = max(float(step.amount) * scale.gap, float(step.floor)) * scale.deviation
    return chances.normal(scale.worth, np.full(scale.worth.size, noise), scale.edges)


def _multiplicative(step: Any, scale: Scale) -> np.ndarray:
    if not scale.numeric:
        return unknown(scale)
    amount = float(step.amount)
    if step.correlated:
        # The variance of the factors' logarithms is that of the values' times the amount.
        logs = np.log(np.maximum(scale.worth, 1e-300))
        mean = float(logs @ scale.shares)
        variance = float((logs - mean) ** 2 @ scale.shares) * amount / (1.0 + amount)
        amount = float(np.expm1(min(variance, 100.0)))
    return chances.normal(scale.worth, np.abs(scale.worth) * np.sqrt(amount), scale.edges)


def _scores(step: Any, scale: Scale) -> np.ndarray:
    return chances.normal_scores(scale.shares, float(step.amount))


def _ordered(made: Callable[[Any, Scale], np.ndarray]) -> Callable[[Any, Scale], np.ndarray]:
    """Categories in the order that the step was given, else in their own."""

    def in_order(step: Any, scale: Scale) -> np.ndarray:
        order = getattr(step, "orders", {}).get(scale.name) or scale.order
        if scale.texts is None or not order:
            return made(step, scale)
        place = {text: i for i, text in enumerate(order)}
        at = np.argsort([place.get(text, len(place)) for text in scale.texts], kind="stable")
        texts = tuple(scale.texts[i] for i in at)
        found = np.zeros((at.size, at.size))
        found[np.ix_(at, at)] = made(step, replace(scale, shares=scale.shares[at], texts=texts))
        return found

    return in_order


def _rank_swap(step: Any, scale: Scale) -> np.ndarray:
    return chances.swapped_within(scale.shares, step.reach(scale.records) / max(scale.records, 1))


def _block_ranks(step: Any, scale: Scale) -> np.ndarray:
    width = (step.reach(scale.records) + 1) / max(scale.records, 1)
    return chances.within_blocks(scale.shares, width)


def _rank_distances(step: Any, scale: Scale) -> np.ndarray:
    width = step.scale(scale.records) / max(scale.records, 1)
    return chances.at_distances(scale.shares, step.mean * width, step.deviation * width)


def _rank_buckets(step: Any, scale: Scale) -> np.ndarray:
    return chances.between_buckets(scale.shares, step.buckets, step.ratio)


def _grouped(step: Any, scale: Scale) -> np.ndarray:
    """A group spreads evenly over about the distance to the next one."""
    spread = np.full(scale.worth.size, scale.gap * scale.deviation / np.sqrt(12.0))
    return chances.normal(scale.worth, spread, scale.edges)


def _microaggregated(step: Any, scale: Scale) -> np.ndarray:
    return _grouped(step, scale) if scale.numeric else unknown(scale)


def _ranked_groups(step: Any, scale: Scale) -> np.ndarray:
    """Groups of one column by itself: a group ends half way to the next."""
    if not scale.numeric or scale.worth.size < 2:
        return unknown(scale)
    return chances.normal(scale.worth, np.gradient(scale.worth) / np.sqrt(12.0), scale.edges)


def _same(step: Any, scale: Scale) -> np.ndarray:
    """What lies beyond the last value is in its bin already."""
    return np.eye(scale.shares.size)


def _pram(step: Any, scale: Scale) -> np.ndarray:
    if scale.texts is None or step.estimated:
        return unknown(scale)
    here = np.flatnonzero(scale.shares > 0)
    found = np.eye(scale.shares.size)
    if step.matrix:
        found = _given(step.matrix.get(scale.name, {}), scale.texts)
        if not step.two_stage:
            return found
    if here.size < 2:
        return found
    shares = scale.shares[here] / scale.shares[here].sum()
    made = found[np.ix_(here, here)] if step.matrix else destinations(step.form, shares)
    if not step.matrix and (step.two_stage or step.change is None):
        stay = STAY if step.stay is None else step.stay
        lowest = float(np.diagonal(made).min())
        made = diluted(made, min((1.0 - stay) / max(1.0 - lowest, 1e-12), 1.0))
    if step.two_stage:
        made = two_stage(made, shares)
        if step.alpha is not None:
            made = diluted(made, step.alpha)
    if step.change is not None:
        made = diluted(made, min(step.change / max(share_changed(made, shares), 1e-12), 1.0))
    found[np.ix_(here, here)] = made
    return found


def _given(matrix: Mapping[str, Mapping[str, float]], texts: Sequence[str]) -> np.ndarray:
    """A matrix that the plan spells out; a category of which it says nothing stays."""
    place = {text: i for i, text in enumerate(texts)}
    found = np.eye(len(texts))
    for text in matrix:
        if text in place:
            found[place[text]] = [matrix[text].get(to, 0.0) for to in texts]
    return chances.rows(found)


_KNOWN: dict[str, Callable[[Any, Scale], np.ndarray]] = {
    "uncorrelated-noise": _additive,
    "correlated-noise": _additive,
    "mixture-noise": _additive,
    "coloured-mixture-noise": _additive,
    "resampled-noise": _additive,
    "density-noise": _by_density,
    "multiplicative-noise": _multiplicative,
    "normal-score-noise": _ordered(_scores),
    "rank-swap": _ordered(_rank_swap),
    "block-rank-swap": _ordered(_block_ranks),
    "rank-swap-p-distribution": _ordered(_rank_distances),
    "rank-swap-p-buckets": _ordered(_rank_buckets),
    "microaggregation": _microaggregated,
    "individual-ranking": _ranked_groups,
    "rounding": _ranked_groups,
    "top-bottom-coding": _same,
    "pram": _ordered(_pram),
}
