"""Synthetic values for each group, with exactly the group's mean vector and covariance matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...data.partition import Partition
from ...kernels.groups import group_means
from ...kernels.synthesis.frames import strata_of
from .base import DrawingVerb, Drawn, Numbers, alike_blocks

_NOTHING = 1e-10
"""A singular value this small beside the largest is rounding."""
_FREE = 3
"""In groups below this the same mean and covariance leave only the original values, in any order"""


class RMicrohybrid(DrawingVerb):
    """Replace each group by synthetic records with its mean vector and covariance matrix.

    Normal numbers are drawn for each group, centred, made orthonormal and multiplied by a square
    root of the group's covariance matrix (Burridge 2003): means and covariances are exact in every
    group, hence in the whole table.

    The limits are those of exactness. A covariance matrix of p columns has full rank only in groups
    of more than p records; below that, or where a column is constant or depends on others, the
    synthetic records stay in the plane of the original ones, and n records that span n - 1
    dimensions are the original differences turned around their mean. Two records can only be
    published as they are or exchanged. `facts` counts such groups and a warning names them.

    Records of a group that miss the same values are treated as a group of their own, which keeps
    what is present exact; where fewer than three of a larger group do, their cells are suppressed.
    Integers, dates, ordinals, booleans and categories are published as by `micro-perturbation`;
    values that go back to their domain keep means and deviations, but covariances only nearly.
    """

    name: ClassVar[str] = "r-microhybrid"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Gonzalez-Nicolas 2010, Hybrid microdata using microaggregation, "
        "Information Sciences 180(15); Burridge 2003, Information preserving statistical "
        "obfuscation, Statistics and Computing 13"
    )

    def draw(self, numbers: Numbers, groups: Partition, rng: np.random.Generator) -> Drawn:
        """Numbers with each group's mean vector and covariance matrix."""
        return synthesize(numbers.x, groups, rng)


def synthesize(x: np.ndarray, partition: Partition, rng: np.random.Generator) -> Drawn:
    """New numbers with the same mean vector and covariance matrix in each group."""
    n, p = x.shape
    scale = _spread(x)
    y = np.full((n, p), np.nan)
    gone = np.zeros((n, p), dtype=bool)
    missing = np.isnan(x)
    singular = small = bound = made = 0
    # In the order of what is missing, on which the draws depend.
    strata = sorted(strata_of(missing), key=lambda stratum: missing[stratum.rows[0]].tolist())
    for block, present in alike_blocks(strata, partition, _FREE, gone):
        size = block.shape[1]
        cells = np.ix_(block.reshape(-1), present)
        y[cells], ranks = _hybrid(x[cells], size, scale[present], rng)
        made += block.shape[0]
        singular += int((ranks < present.size).sum())
        small += block.shape[0] * (size <= present.size)
        bound += block.shape[0] * (size < _FREE)
    facts: dict[str, Any] = {
        "numeric columns": p,
        "groups with a singular covariance": singular,
        "groups with no more records than columns": small,
    }
    if missing.any():
        facts["groups by what they miss"] = made
    if lost := int(gone.any(axis=1).sum()):
        facts["records suppressed where fewer than three of a group miss the same"] = lost
    return Drawn(y, facts, _warnings(made, singular, small, bound, p), gone)


def _warnings(made: int, singular: int, small: int, bound: int, p: int) -> tuple[str, ...]:
    found = []
    if singular:
        found.append(
            f"{singular:,} of {made:,} groups have a singular covariance ({small:,} for having no "
            f"more than {p} records): their synthetic records stay in the plane of the original "
            "ones and may lie close to them"
        )
    if bound:
        found.append(
            f"{bound:,} of {made:,} groups have one or two records, which exact means and "
            "covariances leave as they are or exchange; use larger groups"
        )
    return tuple(found)


def _spread(x: np.ndarray) -> np.ndarray:
    """Standard deviations by column, so that large columns take no digits from small ones."""
    here = ~np.isnan(x)
    count = np.maximum(here.sum(axis=0), 1)
    mean = np.where(here, x, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(here, x - mean, 0.0) ** 2).sum(axis=0) / count)
    return np.where(spread > 0, spread, 1.0)


def _hybrid(
    x: np.ndarray, size: int, scale: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic rows for groups of `size` rows that follow one another; the ranks of the groups."""
    groups, p = len(x) // size, x.shape[1]
    # The kernel's mean of equal values is that value: a constant stays what it was, to the bit.
    mean = group_means(np.repeat(np.arange(groups), size), x, groups)[:, None, :]
    deviations = (x.reshape(groups, size, p) - mean) / scale
    _, values, axes = np.linalg.svd(deviations, full_matrices=False)
    dims = min(size - 1, p)
    values = values[:, :dims]
    most = values.max(axis=1, initial=0.0, keepdims=True)
    kept = (values > _NOTHING * most) & (values > _NOTHING)
    values = np.where(kept, values, 0.0)
    basis = _orthonormal(rng.standard_normal((groups, size, dims)))
    y = mean + basis @ (values[:, :, None] * axes[:, :dims]) * scale
    return y.reshape(x.shape), kept.sum(axis=1)


def _orthonormal(z: np.ndarray) -> np.ndarray:
    """Orthonormal columns that sum to zero, every such frame as likely as any other.

    Twice, because a badly conditioned draw loses the zero sums in the first pass.
    """
    for _ in range(2):
        q, r = np.linalg.qr(z - z.mean(axis=1, keepdims=True))
        # The sign that the factorization happens to choose would always be the same.
        z = q * np.sign(np.einsum("gii->gi", r))[:, None, :]
    return z
