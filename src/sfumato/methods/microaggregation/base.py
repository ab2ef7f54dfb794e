"""What all microaggregation shares: the size of groups, the distance, and missing values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.partition import Partition, require_group
from ...data.points.space import Scale, Space, space_of
from ...errors import MethodError, suggest
from ...protocols import Partitioner


class Grouping(NamedTuple):
    """Labels, with what the search has to tell of its work."""

    labels: np.ndarray
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed
    warnings: tuple[str, ...] = ()


class PointSearch(Partitioner):
    """A search that compares records as points.

    Numbers, dates and ordinals count by squared differences, categories by 0 or 1, categories with
    a hierarchy by the cost of their least upper bound, each times its column's weight.
    """

    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    default_verb: ClassVar[str] = "centroid"
    example: ClassVar[Mapping[str, Any]] = {"k": 5}

    k: int = Field(5, ge=2, description="smallest group")
    weights: dict[str, Annotated[float, Field(ge=0, le=1e12)]] = Field(
        default_factory=dict,
        description="how much a column's squared differences count; 1 unless given",
    )
    category_weight: float = Field(
        1.0, ge=0, le=1e12, description="squared distance between two different categories"
    )
    scale: Scale = Field(
        "deviation", description="numbers are divided by their standard deviation or their range"
    )

    def sides(self, x: Matrix) -> np.ndarray | None:
        """What the search wants to know of each record besides its point; `space.side`."""
        return None

    def space(self, x: Matrix) -> Space:
        """The points of all records."""
        self._check_weights(x)
        return space_of(x, self.weights, self.category_weight, self.scale, self.sides(x))

    def _check_weights(self, x: Matrix) -> None:
        if self.weights and not any(self.weights.get(name, 1.0) for name in x.names):
            raise MethodError(
                f"{self.name} has nothing to compare records by: every weight is 0",
                remedy="give some column a weight",
            )
        for name in self.weights:
            if name not in x.names:
                close = suggest(name, x.names)
                raise MethodError(
                    f"{self.name} has a weight for {name!r}, which is not among its columns",
                    remedy=f"did you mean {close[0]!r}?" if close else "remove it from `weights`",
                )


class Microaggregator(PointSearch):
    """A search for groups of at least k similar records.

    Records are grouped with others that miss the same values; where fewer than k share a pattern
    they are pooled, and the verb suppresses the columns in which a pooled group is mixed.
    """

    @abstractmethod
    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray | Grouping:
        """Labels of the records of one stratum, which has at least k; no group is smaller."""

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        space = self.space(x)
        labels = np.empty(len(x), dtype=np.int64)
        count = 0
        facts: list[dict[str, Any]] = []
        warnings: list[str] = []
        for rows in strata(x.missing, self.k):
            part = space if rows.size == len(x) else space.take(rows)
            found = self.groups(part, rng)
            grouping = found if isinstance(found, Grouping) else Grouping(found)
            labels[rows] = grouping.labels + count
            count += int(grouping.labels.max()) + 1
            facts.append(grouping.facts)
            warnings += grouping.warnings
        joined = facts[0] if len(facts) == 1 else {"strata": facts} if any(facts) else {}
        return Partition.of(labels, joined, tuple(dict.fromkeys(warnings)))


def strata(missing: np.ndarray, k: int) -> list[np.ndarray]:
    """Rows by which values they miss; patterns with fewer than k records are pooled.

    A pool that is still too small takes the smallest other stratum in, so that every stratum has k.
    """
    if not missing.any():
        return [np.arange(missing.shape[0])]
    _, pattern = np.unique(missing, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    order = np.argsort(pattern, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(pattern[order])) + 1)
    large = sorted((rows for rows in found if rows.size >= k), key=len)
    pooled = [rows for rows in found if rows.size < k]
    if pooled:
        pool = np.sort(np.concatenate(pooled))
        if pool.size < k:
            pool = np.sort(np.concatenate([pool, large.pop(0)]))
        large.append(pool)
    return large
