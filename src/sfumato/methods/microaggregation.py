"""Microaggregation: groups of at least k similar records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from ..data.partition import Partition
from ..errors import MethodError
from ..kernels.mdav import mdav
from ..protocols import Partitioner

if TYPE_CHECKING:
    from ..data.codec import Matrix


class Mdav(Partitioner):
    """Maximum distance to average vector: groups of k similar records.

    Numbers, dates and ordinals count by their squared z-score differences, categories by 0 or 1.
    Records are grouped with others that miss the same values; where fewer than k share a pattern
    they are pooled, and the verb suppresses the columns in which a pooled group is mixed.
    """

    name: ClassVar[str] = "mdav"
    default_verb: ClassVar[str] = "centroid"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002, Practical data-oriented microaggregation for "
        "statistical disclosure control; Domingo-Ferrer & Torra 2005"
    )

    k: Annotated[int, Field(ge=2, description="smallest group")] = 5
    category_weight: Annotated[
        float, Field(ge=0, description="squared distance between two different categories")
    ] = 1.0

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        if len(x) < self.k:
            raise MethodError(
                f"a table of {len(x)} cannot form a group of {self.k}",
                remedy="release nothing, or lower k",
            )
        numbers, categories = x.standardized, x.nominal
        weights = np.full(categories.shape[1], self.category_weight)
        labels = np.empty(len(x), dtype=np.int64)
        groups = 0
        for rows in _strata(x.missing, self.k):
            part = np.nan_to_num(numbers[rows])
            found = mdav(part, categories[rows], weights, self.k)
            labels[rows] = found + groups
            groups += int(found.max()) + 1
        return Partition.of(labels)


def _strata(missing: np.ndarray, k: int) -> list[np.ndarray]:
    """Rows by which values they miss; patterns with fewer than k records are pooled.

    A pool that is still too small takes the smallest other stratum in, so that every stratum has k.
    """
    if not missing.any():
        return [np.arange(missing.shape[0])]
    _, pattern = np.unique(missing, axis=0, return_inverse=True)
    strata = [np.flatnonzero(pattern == p) for p in range(int(pattern.max()) + 1)]
    large = sorted((rows for rows in strata if rows.size >= k), key=len)
    pooled = [rows for rows in strata if rows.size < k]
    if pooled:
        pool = np.sort(np.concatenate(pooled))
        if pool.size < k:
            pool = np.sort(np.concatenate([pool, large.pop(0)]))
        large.append(pool)
    return large
