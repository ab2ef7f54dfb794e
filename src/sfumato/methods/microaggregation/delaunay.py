"""Groups from a Delaunay mesh whose longest edges are cut."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay as Triangulation
from scipy.spatial import QhullError

from ...data.points.space import Space
from ...errors import MethodError
from ...kernels.micro.size_repair import as_points, repair
from ...kernels.micro.trees import cut_longest
from .base import Grouping, Microaggregator

MOST_DIMENSIONS = 4
"""The number of simplices grows out of bounds with the dimension."""


class Delaunay(Microaggregator):
    """Delaunay mesh: its longest edges are removed while every part keeps k records.

    From the longest to the shortest, an edge is removed unless a part of fewer than k records
    would come off; parts of 2k or more are then split. For data of up to four dimensions.

    When its turn comes, an edge either closes a cycle of shorter ones, and then nothing parts, or
    it belongs to the shortest spanning tree. The mesh contains the shortest spanning tree of all
    pairs of records. So the parts are those of that tree, however dense the mesh, and the mesh is
    one quick way to find it.
    """

    name: ClassVar[str] = "delaunay"
    paper: ClassVar[str] = (
        "Sande 2002, Exact and approximate methods for data directed microaggregation in one or "
        "more dimensions; Laszlo & Mukherjee 2005"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points = as_points(space.points, self.k)
        if points.shape[1] > MOST_DIMENSIONS:
            # Where a few records span too much already, the rest need not be looked at.
            few = points[:: max(1, len(points) // 50)]
            self._check(int(np.linalg.matrix_rank(few - few.mean(axis=0))))
        places, place = np.unique(points, axis=0, return_inverse=True)
        flat = _flattened(places)
        self._check(flat.shape[1])
        edges, joggled = mesh(flat)
        tree, lengths = _spanning_tree(flat, edges)
        # Equal records hang together by edges of no length.
        order = np.argsort(place, kind="stable")
        first = order[np.append(True, np.diff(place[order]) > 0)]
        rest = np.setdiff1d(np.arange(len(space)), first)
        ends = np.concatenate([first[tree], np.stack([first[place[rest]], rest], axis=1)])
        lengths = np.append(lengths, np.zeros(rest.size))
        parts = cut_longest(ends, lengths, self.k)
        facts = {"edges": len(edges), "dimensions": flat.shape[1]}
        warnings = (
            ("the points are too regular to mesh as they are: moved by a hair (qhull QJ)",)
            if joggled
            else ()
        )
        return Grouping(repair(points, parts, self.k), facts, warnings)

    def _check(self, dimensions: int) -> None:
        if dimensions > MOST_DIMENSIONS:
            raise MethodError(
                f"a mesh is for data of {MOST_DIMENSIONS} dimensions at most, and these records "
                f"span {dimensions} or more",
                remedy="use mst, which cuts the same tree in any dimension, or choose fewer "
                "columns (a category counts as one dimension less than it has values)",
            )


def _flattened(places: np.ndarray) -> np.ndarray:
    """The points in as many coordinates as they span; distances stay as they are."""
    centred = places - places.mean(axis=0)
    _, size, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int(np.count_nonzero(size > 1e-9 * size.max(initial=0.0)))
    return np.ascontiguousarray(centred @ axes[:rank].T)


def mesh(points: np.ndarray) -> tuple[np.ndarray, bool]:
    """Edges of the Delaunay mesh of distinct points that span all their dimensions.

    The flag says whether the points had to be joggled. On a line the mesh is the chain of
    neighbours, and of no more points than a simplex has corners it is the simplex.
    """
    n, d = points.shape
    if d == 1:
        order = np.argsort(points[:, 0], kind="stable")
        return np.sort(np.stack([order[:-1], order[1:]], axis=1), axis=1), False
    if n <= d + 1:
        return np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2), False
    joggled = False
    try:
        found = Triangulation(points)
    except QhullError:
        found, joggled = Triangulation(points, qhull_options="QJ Pp"), True
    corners = found.simplices
    pairs = [corners[:, [a, b]] for a, b in combinations(range(d + 1), 2)]
    # A point so close to a face that it was left out belongs to its nearest corner.
    pairs.append(found.coplanar[:, [0, 2]])
    return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0).astype(np.int64), joggled


def _spanning_tree(points: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges and lengths of the shortest spanning tree within the mesh."""
    apart = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    # Ranks: the solver would take a length that rounds to zero for no edge at all.
    rank = np.empty(len(edges))
    rank[np.argsort(apart, kind="stable")] = np.arange(1, len(edges) + 1)
    graph = coo_array((rank, (edges[:, 0], edges[:, 1])), shape=(len(points), len(points)))
    kept = minimum_spanning_tree(graph.tocsr()).tocoo().data.astype(np.int64) - 1
    chosen = np.sort(np.argsort(apart, kind="stable")[kept])
    return edges[chosen], apart[chosen]
