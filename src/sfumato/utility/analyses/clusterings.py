"""What clustering finds in the masked table, beside what it finds in the original."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import standardize
from ...data.linkage.linking import drawn
from ...errors import MeasureError
from ...kernels.micro.fuzzy import fuzzy_c_means
from ...kernels.statistics.clusterings import agreement
from ...protocols import Context, Measurement
from ..loss import RecordLoss
from ..numeric.matrices import Columns, Numbers, numbers_of_both

_Clusters = Annotated[int, Field(ge=2, description="clusters to look for")]
_Sample = Annotated[
    int, Field(ge=0, description="records to cluster, drawn at random where there are more; 0: all")
]


class ClusterLoss(RecordLoss):
    """Share of the clusters of the records that is lost, by a chosen index.

    Both tables are clustered alike, from the same random start, each standardized by its own means
    and deviations, and the two clusterings of the same records are compared: the loss is 1 minus
    the index, or Mantaras' distance. `detail` has every index. Clusterings are not stable: two
    starts on the same table differ too, and `baseline` is that loss, of the original beside itself
    from another start.
    """

    name: ClassVar[str] = "cluster-loss"
    paper: ClassVar[str] = (
        "Torra 2013, Masking Methods; Ladra & Torra (2008), On the comparison of generic "
        "information loss measures and cluster-specific ones; Lopez de Mantaras (1991)"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)
    decimals: ClassVar[int | None] = 3

    clusters: _Clusters = 15
    algorithm: Literal["k-means", "ward", "gaussian-mixture"] = Field(
        "k-means", description="what finds the clusters"
    )
    index: Literal["rand", "jaccard", "adjusted-rand", "wallace", "mantaras"] = Field(
        "adjusted-rand", description="how two clusterings are compared"
    )
    starts: int = Field(5, ge=1, description="random starts, of which the best counts")
    warm: bool = Field(
        False,
        description="k-means on the masked table starts at the original's centres: no chance "
        "of another optimum, so that only the masking shows",
    )
    sample: _Sample = 10_000
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name)
        x, y = _both(found, self.sample, self.clusters, context.rng)
        seeds = [int(seed) for seed in context.rng.integers(2**31, size=2)]
        first, again = (self._labels(x, seed) for seed in seeds)
        masked = self._labels(y, seeds[0], first if self.warm else None)
        indices, before = agreement(first, masked), agreement(first, again)
        detail: dict[str, Any] = {
            **found.facts(),
            "indices": indices,
            "records": len(x),
            "baseline": "the original from another random start",
        }
        return self.result(self._loss(indices), baseline=self._loss(before), detail=detail)

    def _loss(self, indices: dict[str, float]) -> float:
        return indices["mantaras"] if self.index == "mantaras" else 1.0 - indices[self.index]

    def _labels(self, z: np.ndarray, seed: int, before: np.ndarray | None = None) -> np.ndarray:
        from sklearn.cluster import AgglomerativeClustering, KMeans
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        made: Any
        if self.algorithm == "k-means" and before is not None:
            # The masked records of each original cluster: their means are the first centres.
            start = np.array([z[before == c].mean(axis=0) for c in np.unique(before)])
            made = KMeans(len(start), init=start, n_init=1)
        elif self.algorithm == "k-means":
            made = KMeans(self.clusters, n_init=self.starts, random_state=seed)
        elif self.algorithm == "ward":
            made = AgglomerativeClustering(self.clusters)
        else:
            made = GaussianMixture(
                self.clusters, covariance_type="diag", n_init=self.starts, random_state=seed
            )
        with warnings.catch_warnings():
            # Fewer distinct records than clusters: the others stay empty, in both tables alike.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels: np.ndarray = made.fit_predict(z)
        return labels


class FuzzyClusterLoss(RecordLoss):
    """Change of the records' memberships in fuzzy clusters.

    Fuzzy c-means on both tables, from the same random start; clusters are matched one to one by
    their centres. The figure is the root mean square change of a record's memberships, 0 to sqrt 2;
    `detail` has the slides' three: d1, the distance between the matched centres, d2 between the
    membership matrices (both Euclidean), and the objective functions. Fuzzy c-means stops at local
    optima: `baseline` is the original beside itself from another start.
    """

    name: ClassVar[str] = "fuzzy-cluster-loss"
    paper: ClassVar[str] = (
        "Torra 2013, Masking Methods; Torra, Endo & Miyamoto (2009), On the comparison of some "
        "fuzzy clustering methods for privacy preserving data mining"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, float(np.sqrt(2)))
    decimals: ClassVar[int | None] = 3

    clusters: _Clusters = 10
    m: float = Field(1.5, gt=1, description="fuzzy exponent: near 1 is crisp")
    rounds: int = Field(200, ge=1, description="rounds at most")
    sample: _Sample = 10_000
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name)
        x, y = _both(found, self.sample, self.clusters, context.rng)
        seeds = context.rng.integers(2**62, size=2)
        before, after, again = (
            self._clusters(z, int(seed))
            for z, seed in ((x, seeds[0]), (y, seeds[0]), (x, seeds[1]))
        )
        change, d1, d2 = _apart(before, after)
        detail: dict[str, Any] = {
            **found.facts(),
            "records": len(x),
            "d1": d1,
            "d2": d2,
            "objective": {"original": before[2], "masked": after[2]},
            "baseline": "the original from another random start",
        }
        return self.result(change, baseline=_apart(before, again)[0], detail=detail)

    def _clusters(self, z: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Centres, memberships (n, c) and the objective function."""
        rng = np.random.default_rng(seed)
        centres = fuzzy_c_means(z, self.clusters, self.m, self.clusters, self.rounds, rng).centres
        squared = ((z[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = squared.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(
                nearest > 0, (nearest / squared) ** (1 / (self.m - 1)), squared == nearest
            )
        share = share / share.sum(axis=1, keepdims=True)
        return centres, share, float((share**self.m * squared).sum())


def _apart(
    one: tuple[np.ndarray, np.ndarray, float], other: tuple[np.ndarray, np.ndarray, float]
) -> tuple[float, float, float]:
    """Root mean square change of memberships, d1 and d2, after matching clusters by centre.

    Equal records may leave one table with fewer centres; a cluster without a partner has lost all
    of its members.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    gap = cdist(one[0], other[0])
    i, j = linear_sum_assignment(gap)
    d1 = float(np.sqrt((gap[i, j] ** 2).sum()))
    squares = ((one[1][:, i] - other[1][:, j]) ** 2).sum()
    for share, used in ((one[1], i), (other[1], j)):
        squares += (np.delete(share, used, axis=1) ** 2).sum()
    return float(np.sqrt(squares / len(one[1]))), d1, float(np.sqrt(squares))


def _both(
    found: Numbers, sample: int, clusters: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Complete records that are in both tables, standardized by each table's own moments."""
    x, y = found.values
    whole = np.flatnonzero(~(np.isnan(x) | np.isnan(y)).any(axis=1))
    rows = whole[drawn(whole.size, sample, rng)]
    if rows.size < clusters:
        raise MeasureError(
            f"{rows.size} complete records do not make {clusters} clusters",
            remedy=f"clusters = {max(2, rows.size // 10)}",
        )
    return standardize(x[rows]), standardize(y[rows])
