"""Class restriction on top of any search that puts records into groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from ...data.codec import Matrix
from ...data.partition import Partition, require_group
from ...errors import MethodError
from ...nested import Search, named
from ...protocols import Partitioner
from ..microaggregation.base import strata
from .classes import Spreading, class_numbers, spread_of


class RestrictedSearch(Spreading):
    """Spread the confidential classes inside the groups of any other search.

    The search named by `start` forms its groups with the same k; then records of neighbouring
    groups change places wherever that lowers (1 - exchange) SSE/SST + exchange WJSD, the loss of
    information and the weighted divergence of the groups' classes from those of all records. No
    group falls below k. This is the paper's class restriction for searches that do not know
    of classes: mdav, ward, refine, mondrian and every other that gives groups without overlaps.

    Records that miss other values are not exchanged with one another, and groups that mix them,
    as well as suppressed records, stay as they are. What `start` required of its groups besides k
    may be lost; `[require]` counts it on the release.
    """

    name: ClassVar[str] = "class-restricted"
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, Class restricted clustering and micro-perturbation for data privacy, "
        "Management Science 59(4), section 8"
    )
    example: ClassVar[Mapping[str, Any]] = {"k": 5, "start": "ward"}

    start: Search = named("mdav", "the search whose groups are restricted, with the same k")
    exchange: float = Field(
        0.95,
        gt=0,
        le=1,
        description="weight of the classes' divergence against information loss in exchanges",
    )

    @field_validator("start")
    @classmethod
    def _knows_no_classes(cls, start: Partitioner) -> Partitioner:
        if isinstance(start, Spreading):
            raise ValueError(f"{start.name} looks at classes itself: give it `exchange` instead")
        if "k" in start.model_fields_set:
            raise ValueError("k of class-restricted holds for its start as well")
        return start

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        space = self.space(x)
        found = self._started(x, rng)
        labels, kept, done, passes = found.labels.copy(), 0, 0, 0
        warnings = list(found.warnings)
        for rows in _exchangeable(found, strata(x.missing, self.k)):
            names, local = np.unique(labels[rows], return_inverse=True)
            codes, count, _ = class_numbers(space.take(rows).side)
            points = space.take(rows).points
            made, told, warned = self.exchanged(points, local.reshape(-1), codes, count)
            labels[rows] = names[made]
            kept, done = kept + rows.size, done + told["exchanges"]
            passes = max(passes, told["passes"])
            warnings += warned
        if left := int(found.sizes.sum()) - kept:
            warnings.append(
                f"{left:,} records are in groups that mix records with and without some values; "
                "these groups were left as they are, and their classes are not spread"
            )
        assert space.side is not None
        facts = {
            **found.facts,
            "exchanges": done,
            "passes": passes,
            "weighted_jsd before exchanges": _spread(found.labels, space.side),
            "weighted_jsd": _spread(labels, space.side),
        }
        return Partition.of(labels, facts, tuple(dict.fromkeys(warnings)))

    def _started(self, x: Matrix, rng: np.random.Generator) -> Partition:
        """The groups of the search that this one starts from, made with this one's k."""
        same = {"k": self.k} if "k" in type(self.start).model_fields else {}
        found = self.start.model_copy(update=same).partition(x, rng)
        if not isinstance(found, Partition):
            raise MethodError(
                f"the groups of {self.start.name} overlap: no record can leave one for another",
                remedy='start = "mdav", for example',
            )
        if found.groups and found.smallest < self.k:
            raise MethodError(
                f"{self.start.name} made a group of {found.smallest} records, fewer than k",
                remedy=f"k = {found.smallest}, or another `start`",
            )
        return found


def _exchangeable(found: Partition, listed: list[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """The rows of each stratum whose groups lie wholly in it."""
    for rows in listed:
        mine = found.labels[rows]
        whole = np.bincount(mine[mine >= 0], minlength=found.groups) == found.sizes
        kept = rows[np.append(whole, False)[mine]]  # the last is that of suppressed records
        if kept.size:
            yield kept


def _spread(labels: NDArray[np.int64], codes: NDArray[np.int64]) -> float:
    """The divergence of the groups; suppressed records have none."""
    inside = labels >= 0
    return spread_of(labels[inside], codes[inside]) if inside.any() else 0.0
