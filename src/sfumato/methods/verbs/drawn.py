"""Verbs that draw numbers which keep means and covariances, of the table or of each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.groups import group_means
from ...kernels.synthesis.frames import strata_of
from .base import DrawingVerb, Drawn, Numbers, PublishedDomain, alike_blocks

_NOTHING = 1e-12
"""An eigenvalue of a correlation matrix this small beside the largest is rounding."""


class MicroPerturbation(DrawingVerb):
    """Replace each value by its group's mean plus noise that restores the covariance.

    Averaging takes the covariance within the groups away. The noise has just that covariance,
    (N - 1)/(N - G) [S_X - S_xbar] for N records in G groups, the same in all groups (Li & Sarkar
    2013, Theorem 2). It is drawn from a normal distribution, and where columns depend on one
    another exactly, so does the noise.

    With `centre` the noise is moved to mean zero in each group: the groups' means are exact, and
    given the groups the covariance of the masked table is the original's in expectation. A record
    that is alone in its group keeps its noise as it is drawn; the divisor N - G is then
    N - G + L (1 - 1/N) for L such records, which keeps the expectation. Without `centre` all noise
    is independent, as the paper's figure 5 says; its covariance is then too large by
    (G - 1)/(N - G) [S_X - S_xbar], because the proof takes the masked group means for the original
    ones.

    A missing value stays missing. Means and covariances are then over the values and pairs that are
    present. Variances are still exact in expectation; covariances are where a group's records miss
    the same values, and may be far off where they do not. A covariance matrix that no data could
    have is replaced by the nearest that keeps the variances (negative eigenvalues of the
    correlations become zero).

    Integers become real numbers, dates the nearest day (moments the nearest microsecond), unless
    domain = "original". Ordinals, booleans and categories with two values (0 and 1 in the
    covariance) always come back as values of their own: to publish numbers for them, declare
    them as integers. Categories with more values take their group's mode, as `centroid` does it.
    """

    name: ClassVar[str] = "micro-perturbation"
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, Class-restricted clustering and microperturbation for data privacy, "
        "Management Science 59(4)"
    )

    centre: bool = Field(
        True, description="noise of mean zero in each group; false: independent, as printed"
    )
    domain: PublishedDomain = "statistics"

    def draw(self, numbers: Numbers, groups: Partition, rng: np.random.Generator) -> Drawn:
        """Group means plus noise."""
        y, found = perturb(numbers.x, groups, rng, centre=self.centre)
        still = _unmasked(numbers.x, groups, found.covariance, numbers.names)
        noise = "recentred in each group" if self.centre else "independent draws"
        return Drawn(y, {"noise": noise, **found.facts}, (*found.warnings, *still))


class Within(NamedTuple):
    """The covariance of the noise, and a root of it."""

    covariance: np.ndarray
    root: np.ndarray
    """(p, r): noise is this times r independent standard normal numbers."""
    facts: dict[str, Any]
    warnings: tuple[str, ...] = ()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent rows with that covariance."""
        found: np.ndarray = rng.standard_normal((n, self.root.shape[1])) @ self.root.T
        return found


def perturb(
    x: np.ndarray, partition: Partition, rng: np.random.Generator, *, centre: bool
) -> tuple[np.ndarray, Within]:
    """Group means plus noise; NaN where x is missing or its record has no group."""
    means = present_means(partition, x)
    found = within_covariance(x, means, partition, centre=centre)
    noise = found.draw(len(partition), rng)
    noise[np.isnan(means)] = np.nan
    if centre:
        noise -= _group_shift(partition, noise)
    return means + noise, found


def present_means(partition: Partition, x: np.ndarray) -> np.ndarray:
    """For each record its group's means of the values that are present; NaN where there is none."""
    spread = np.full(x.shape, np.nan)
    for j in range(x.shape[1]):
        here = np.flatnonzero(~np.isnan(x[:, j]) & (partition.labels >= 0))
        inside = partition.labels[here]
        means = group_means(inside, x[here, j], partition.groups)
        spread[here, j] = means[inside]
    return spread


def _group_shift(partition: Partition, noise: np.ndarray) -> np.ndarray:
    """What is to be taken from the noise: its group's mean, but nothing from a value alone."""
    shift = present_means(partition, noise)
    for j in range(noise.shape[1]):
        here = ~np.isnan(noise[:, j]) & (partition.labels >= 0)
        count = np.bincount(partition.labels[here], minlength=partition.groups)
        shift[here, j] *= count[partition.labels[here]] > 1
    return shift


def within_covariance(
    x: np.ndarray, means: np.ndarray, partition: Partition, *, centre: bool
) -> Within:
    """The covariance that the noise must have, given each record's group means."""
    inside = partition.labels >= 0
    here = ~np.isnan(x) & inside[:, None]
    deviations = np.where(here, x - means, 0.0)
    scatter = deviations.T @ deviations
    whole = bool(here[inside].all())
    divisor = _divisor(partition, here, whole, centre)
    covariance = np.where(divisor > 0, scatter / np.where(divisor > 0, divisor, 1.0), 0.0)
    root, repaired = root_of(covariance)
    n, g = int(inside.sum()), partition.groups
    facts: dict[str, Any] = {}
    p = x.shape[1]
    if root.shape[1] < p:
        facts["rank of the noise"] = f"{root.shape[1]} of {p} columns"
    if not centre and n > g:
        # Stated, because it is a fault of the theorem and not of the draw.
        facts["covariance too large by this share of what averaging took"] = (g - 1) / (n - g)
    if not whole:
        facts["missing"] = "covariances over the pairs of values that are present"
    return Within(covariance, root, facts, repair_warning(repaired))


def _divisor(
    partition: Partition, here: np.ndarray, whole: bool, centre: bool
) -> np.ndarray | float:
    """How many times the covariance of the noise enters the expected scatter of the masked values.

    Per pair of columns: the covariance of two noises that have each been centred over the records
    of the group which have the value is (1 - 1/J - 1/H + B/(JH)) times theirs, where J, H and B
    records have the one, the other and both values; B such terms are summed. A value that is alone
    in its group is not centred; from those the total mean takes 1/N.
    """
    sizes = partition.sizes
    if whole:
        n, alone = int(sizes.sum()), int((sizes == 1).sum())
        lone = alone * (1.0 - 1.0 / max(n, 1)) if centre else 0.0
        return float(n - partition.groups) + lone
    p, groups = here.shape[1], partition.groups
    counts = np.column_stack(
        [np.bincount(partition.labels[here[:, j]], minlength=groups) for j in range(p)]
    ).astype(np.float64)
    # Without centring the formula of Theorem 2 stands as printed: a group of one adds nothing.
    centred = counts > 1 if centre else counts > 0
    share = np.where(centred, 1.0 / np.maximum(counts, 1.0), 0.0)
    result = np.empty((p, p))
    for j in range(p):
        for h in range(j + 1):
            both = here[:, j] & here[:, h]
            b = np.bincount(partition.labels[both], minlength=groups)
            part = b * (1.0 - share[:, j] - share[:, h] + b * share[:, j] * share[:, h])
            alone = b[~centred[:, j] & ~centred[:, h]].sum() / max(int(both.sum()), 1)
            result[j, h] = result[h, j] = part.sum() - alone
    return result


def root_of(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """A matrix whose square is the covariance, and by how much correlations had to change for it.

    Directions without variance are left out altogether: a rounding error under a square root would
    be noise of a size that breaks sums such as total = part + part.
    """
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    correlation = covariance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    most = values.max(initial=0.0)
    kept = values > _NOTHING * most
    root = vectors[:, kept] * np.sqrt(values[kept])
    changed = 0.0
    if values.min(initial=0.0) < -1e-9 * most:
        # Only pairs with different missing values can do this. The rows get their length back.
        wanted = np.sqrt(np.diag(correlation))
        length = np.sqrt((root**2).sum(axis=1))
        root *= np.where(length > 0, wanted / np.where(length > 0, length, 1.0), 0.0)[:, None]
        changed = float(np.abs(root @ root.T - correlation).max())
    return root * scale[:, None], changed


def _unmasked(
    x: np.ndarray, partition: Partition, covariance: np.ndarray, names: Sequence[str]
) -> list[str]:
    """Warnings for columns that no noise was drawn for, though they have different values."""
    still = []
    for j, name in enumerate(names):
        present = x[~np.isnan(x[:, j]) & (partition.labels >= 0), j]
        if present.size and present.min() < present.max() and covariance[j, j] == 0.0:
            still.append(name)
    if not still:
        return []
    return [unmasked_warning(still)]


def unmasked_warning(names: Sequence[str]) -> str:
    """What is said of columns that perturbation leaves as they are."""
    return (
        f"no group has different values of {', '.join(names)}: averaging takes nothing away and "
        "no noise gives it back, so that the values are published as they are"
    )


def repair_warning(changed: float) -> tuple[str, ...]:
    """What is said where correlations of the noise had to change to be possible."""
    if not changed:
        return ()
    return (
        "with its missing values the covariance within the groups is that of no data; the "
        f"variances of the noise were kept and its correlations changed by up to {changed:.2g}",
    )


_FLAT = 1e-10
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
    kept = (values > _FLAT * most) & (values > _NOTHING)
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
