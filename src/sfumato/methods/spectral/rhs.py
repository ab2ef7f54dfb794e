"""Recursive histogram sanitization, which many columns defeat, and its spectral cure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...candidate import GROUPS, Candidate
from ...data.codec import Matrix
from ...data.partition import Partition, require_group
from ...data.points.encoding import Encoding, LogChoice, Twofold
from ...kernels.spectral.rhs import histogram_splits, principal_scores, widest_splits
from ...protocols import Partitioner
from ..counts import published_shares
from ..numeric.base import SINGLE_VALUES


class MedianSplits(Partitioner):
    """A search that splits the records, as points, at medians.

    Categories are coordinates of -1 and +1, numbers are standardized, and skewed positive ones are
    taken by their logarithms. A missing value lies at its column's mean and has a coordinate of its
    own.
    """

    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    default_verb: ClassVar[str] = "centroid"
    example: ClassVar[Mapping[str, Any]] = {"k": 5}
    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES

    k: int = Field(5, ge=2, description="smallest group")
    log: LogChoice = "auto"
    twofold: Twofold = False

    @abstractmethod
    def split(self, points: np.ndarray) -> np.ndarray:
        """Labels of the points."""

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        encoding = Encoding.of(x.table, x.names, log=self.log, twofold=self.twofold)
        labels = self.split(encoding.encode(x.table))
        return Partition.of(labels, encoding.said)


class Rhs(MedianSplits):
    """Split all columns at their medians at once, again and again (recursive histograms).

    Every coordinate of a group is cut at its median at once, which makes up to 2^d cells of d
    coordinates; cells of 2k records or more are cut again. Cells may have fewer than k records, and
    with more than a few columns nearly every record is alone in its own: then nothing is masked.
    A warning says so, and a requirement of k-anonymity refuses the release. It is here as the
    example of what many columns do to a method that is sound in few; `spectral-rhs` and `mdav` keep
    k. With `small = "pool"`, all records of cells that are too small become one group.
    """

    name: ClassVar[str] = "rhs"
    paper: ClassVar[str] = (
        "Chawla, Dwork, McSherry, Smith & Wee (2005), Toward privacy in public databases, TCC 2005 "
        "(recursive histogram sanitization)"
    )

    small: Literal["keep", "pool"] = Field(
        "keep",
        description="what becomes of cells with fewer than k records: they stay, and are not "
        "protected, or are made one group",
    )

    def split(self, points: np.ndarray) -> np.ndarray:
        return histogram_splits(points, self.k)

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        found = super().partition(x, rng)
        few = found.sizes < self.k
        if not few.any():
            return found
        alone = few[found.labels]
        many = _how_many(alone)
        facts = {**found.facts, "in cells below k": f"{many} records"}
        if self.small == "pool":
            warning = (
                f"{many} records were in cells of fewer than {self.k} and are now one group, whose "
                "values say little of any of them: use spectral-rhs or mdav, or fewer columns"
            )
            return Partition.of(_pooled(found, alone, self.k), facts, (warning,))
        warning = (
            f"{many} records are in groups of fewer than {self.k} and ARE NOT PROTECTED: cutting "
            "every column at once leaves them alone; use spectral-rhs or mdav, or fewer columns"
        )
        return Partition.of(found.labels, facts, (warning,))


class SpectralRhs(MedianSplits):
    """Split the widest principal component at its median, again and again, into groups of k.

    The records are points on their principal components (T = UD of the centred table). A group is
    cut at the median of the component on which its records span the largest range, until groups
    have fewer than 2k records (or 2k at most, as the thesis' figure has it). No group is smaller
    than k. Records that are equal at the median stay together where that leaves enough on both
    sides. The thesis takes means of logarithms for positive numbers: `log = "positive"`, then
    centroid with `numeric = "geometric"`.
    """

    name: ClassVar[str] = "spectral-rhs"
    paper: ClassVar[str] = (
        "Lasko (2007), Spectral anonymization of data, section 4.1.2 and figure 4-2"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "averages",
        when="many columns go together: groups are alike in what the columns have in common",
        unless="variances or extremes matter, or columns have hundreds of categories",
        ladder=GROUPS,
        usual=1,
        scopes=("all",),
        million=(35, 8.9),  # a coordinate to each of 269 postal codes; without them 2.7 and 0.88
    )

    largest: Literal["2k-1", "2k"] = Field(
        "2k-1", description="largest group: as the thesis' text has it, or as its figure 4-2 does"
    )

    def split(self, points: np.ndarray) -> np.ndarray:
        most = 2 * self.k - (self.largest == "2k-1")
        return widest_splits(principal_scores(points), self.k, most)


def _how_many(chosen: np.ndarray) -> str:
    share = published_shares({"records": chosen}).get("records")
    if share is not None:
        return f"{share:.0%} of the"
    return "all or nearly all" if chosen.mean() > 0.5 else "a few"


def _pooled(found: Partition, alone: np.ndarray, k: int) -> np.ndarray:
    """All that are alone in one group; where they are fewer than k, with the smallest other."""
    labels = np.where(alone, found.groups, found.labels)
    if alone.sum() < k:
        sizes = np.where(found.sizes < k, len(found), found.sizes)
        labels = np.where(labels == int(sizes.argmin()), found.groups, labels)
    return labels
