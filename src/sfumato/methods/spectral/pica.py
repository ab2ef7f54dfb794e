"""Partitioned ICA swapping: independent components change records within clusters."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...data.points.encoding import Encoding
from ...errors import MethodError
from ...kernels.spectral.clusters import LANDMARKS, Affinity, Graph, merged, spectral_clusters
from ...kernels.spectral.fast_ica import components
from ...kernels.spectral.smoothed_scores import smoothed
from ...kernels.threads import cores
from ...progress import report
from ...rng import children
from ..counts import FEWEST_TOLD
from .base import SpectralMethod, Swapped
from .pica_size import chosen_size

RANK = 3
"""Directions that a cluster must span: along one alone, swapping only reorders the records, and
along two every record comes back as often as a random pair meets."""
FEWEST = 10
MOST_EXACT = 20_000
"""Records for which all pairs of weights still have room, 1.6 GB."""


class Release(NamedTuple):
    """A swapped table, and how it was made."""

    values: np.ndarray
    sizes: np.ndarray
    """records of each cluster"""
    widths: tuple[float, ...]
    parts: int
    joined: int
    """clusters that were too small or too flat, and were joined with their neighbours"""
    unsettled: int
    """clusters whose components had not come to rest"""


class Pica(SpectralMethod):
    """Swap independent components within clusters of the records (partitioned ICA swapping).

    Records are clustered on the curved surface near which they lie, by the eigenvectors of their
    graph's Laplacian (5.1-5.4 and k-means). Within a cluster, FastICA (log cosh) finds directions
    along which the records look independent, and each component's values, drawn anew among their
    neighbours (`smooth`), are put in random order.
    Where they are independent this keeps every dependence of the cluster; between clusters the
    curved structure remains. Means are exact in the encoded space.

    The smaller the clusters, the more structure is kept and the less is hidden. With
    `size = "auto"` the smallest size is taken with which the release predicts the participants no
    better than people who did not take part: chosen against one half of a reference sample and
    confirmed on the other. Only the three prediction measures choose: non-participation asks for
    more, and may still refuse a table of categories. Where a half has fewer records than the table,
    parts of the table as large as the half are masked on trial.

    All pairs of records are weighed up to 10,000 records. Larger tables, and more than 50 clusters,
    are first divided into parts of about 5,000 by the same means with a Nystrom approximation from
    `landmarks`, and clustered exactly inside them. A cluster twice as large as wanted is divided
    again; one that is too small is joined with its nearest neighbour, since of few records, or of
    records along one line, swapping gives the originals back. On 100,000 records in 30 columns and
    for a size of 200, nine in ten clusters have 130 to 300.

    Against a sample of non-participants, over five seeds of 2,000 records of NHANES (without
    smoothing, which hides a little more), the bounds of the shortfall of the prediction distance
    were 0.13, 0.05 and 0.02 for sizes 100, 200 and 300; 0.05 is allowed, so that 200 passes about
    every second time. With 3,800 records 200 and 300 fall short by 0.02 more, and 100 by as much as
    before. Principal components instead of independent ones protect more at the same size (0.05,
    0.01, 0.01) and keep less: with 200, one of twenty kernel components differed, none with
    independent ones.
    """

    name: ClassVar[str] = "pica"
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, figure 5-1; Ng, Jordan & Weiss 2002, On "
        "spectral clustering, NIPS 14; Fowlkes et al. 2004, Spectral grouping using the Nystrom "
        "method, IEEE PAMI 26(2); Hyvarinen 1999, Fast and robust fixed-point algorithms for "
        "independent component analysis, IEEE Transactions on Neural Networks 10(3)"
    )

    size: Literal["auto"] | Annotated[int, Field(ge=2)] | None = Field(
        None,
        description='records in a cluster, about; "auto" (unless clusters is given): the '
        "fewest with which the release predicts participants no better than others",
    )
    clusters: int | None = Field(None, ge=1, description="how many clusters, instead of their size")
    sigma: Literal["auto"] | Annotated[float, Field(gt=0)] = Field(
        "auto",
        description="width of the weights between records, in deviations; auto: of seven from "
        "half to twice the mean distance, the one with the tightest clusters",
    )
    affinity: Affinity = Field(
        "auto",
        description="which pairs of records are weighed: all (exact), those with landmarks "
        "(nystrom), nearest neighbours, or all up to 10,000 records and landmarks beyond (auto)",
    )
    landmarks: int = Field(
        LANDMARKS, ge=10, le=5_000, description="records that all others are compared with"
    )
    smallest: Literal["auto"] | Annotated[int, Field(ge=2)] = Field(
        "auto",
        description="smallest cluster: of few records, swapping leaves most as they were. "
        "auto: half of the size, and 10 at least",
    )
    components: Literal["ica", "pca"] = Field(
        "ica", description="what is swapped in a cluster: independent or principal components"
    )

    smooth: int = Field(
        5,
        ge=0,
        description="each value of a component is drawn anew between those so many ranks below "
        "and above it, the outermost from a tail; at most a tenth of the cluster. 0: as it is, "
        "which publishes extreme people's values together",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Pica:
        if self.size is not None and self.clusters is not None:
            raise ValueError("size and clusters say the same twice: give one of them")
        return self

    def swapped(self, x: np.ndarray, rng: np.random.Generator) -> Swapped:
        """The points with clusters of a given size; "auto" is for `swapped_against`, which knows
        what the coordinates are."""
        if self._automatic:
            raise MethodError(f"{self.name} cannot choose a size of points alone")
        return self._swapped(self.release(x, rng, self._size))

    def swapped_against(
        self,
        x: np.ndarray,
        rng: np.random.Generator,
        reference: np.ndarray | None,
        encoding: Encoding,
    ) -> Swapped:
        if not self._automatic:
            return self.swapped(x, rng)
        choice = chosen_size(self, x, rng, reference, encoding)
        made = self._swapped(choice.release)
        return Swapped(
            made.values, {**choice.facts, **made.facts}, (*choice.warnings, *made.warnings)
        )

    @property
    def looks(self) -> bool:
        return self._automatic

    @property
    def _automatic(self) -> bool:
        return self.clusters is None and self.size in (None, "auto")

    @property
    def _size(self) -> int | None:
        return self.size if isinstance(self.size, int) else None

    def release(self, x: np.ndarray, rng: np.random.Generator, size: int | None) -> Release:
        """Cluster, swap, merge: figure 5-1. Without a size there are `clusters`."""
        n = len(x)
        if self.affinity == "exact" and n > MOST_EXACT:
            raise MethodError(
                f'{self.name}: affinity = "exact" weighs all pairs of {n:,} records, at most '
                f"{MOST_EXACT:,}",
                remedy='use affinity = "auto"',
            )
        graph = Graph(None if self.sigma == "auto" else self.sigma, self.affinity, self.landmarks)
        rng, swaps = children(rng, 2)
        # Sums in another order would round otherwise, and a record change its cluster for it.
        with threadpool_limits(1, "blas"):
            found = spectral_clusters(x, rng, clusters=self.clusters, size=size, graph=graph)
        smallest = max((size or 0) // 2, FEWEST) if self.smallest == "auto" else self.smallest
        label, joined = merged(x, found.label, smallest, RANK)
        values, unsettled = self._within(x, label, swaps)
        return Release(values, np.bincount(label), found.widths, found.parts, joined, unsettled)

    def _within(
        self, x: np.ndarray, label: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """The points with the components of each cluster swapped, in random order: their places
        would tell who was in which cluster."""
        sizes = np.bincount(label)
        members = np.split(np.argsort(label, kind="stable"), np.cumsum(sizes)[:-1])
        # Each cluster draws from a generator of its own, whoever works on it.
        streams = children(rng, len(members))
        out = np.empty_like(x)

        def swap(c: int) -> bool:
            rows = members[c]
            found = components(x[rows], streams[c], kind=self.components)
            width = min(self.smooth, rows.size // 10)
            scores = smoothed(found.scores, width, streams[c], threads=1)
            scores = streams[c].permuted(scores, axis=0)
            out[rows] = found.centre + scores @ found.basis
            return found.settled

        unsettled = 0
        for c, settled in enumerate(_in_order(swap, len(members))):
            unsettled += not settled
            report("swapping in clusters", c + 1, len(members))
        return out[rng.permutation(len(out))], unsettled

    def _swapped(self, made: Release) -> Swapped:
        """What may be said of it in public: no counts over a handful of records."""
        sizes = made.sizes
        facts: dict[str, Any] = {
            "clusters": sizes.size,
            "records in the smallest, middle and largest": _about(
                [sizes.min(), np.median(sizes), sizes.max()]
            ),
        }
        if made.widths:
            facts["sigma"] = round(float(np.median(made.widths)), 2)
        if made.parts > 1:
            facts["parts clustered one by one"] = made.parts
        if made.joined:
            facts["clusters joined with a neighbour"] = made.joined
        if made.unsettled:
            facts["clusters whose components had not settled"] = made.unsettled
        warnings = []
        if sizes.min() < FEWEST_TOLD:
            warnings.append(
                f"a cluster has fewer than {FEWEST_TOLD} records, among which swapping hides little"
            )
        return Swapped(made.values, facts, tuple(warnings))


def _in_order(work: Any, count: int) -> Iterator[bool]:
    # Clusters share the cores; threads inside each would only wait for one another.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(work, range(count))


def _about(counts: list[Any]) -> list[int]:
    """Counts to the nearest ten."""
    return [10 * round(float(count) / 10) for count in counts]
