"""Clusters of records that lie on the same patch of a curved surface (spectral clustering).

Records are nodes of a graph whose edges weigh exp(-|x - y|^2 / 2 sigma^2). The q largest
eigenvectors of its normalized Laplacian, with rows scaled to length one, are the records' places on
the surface; k-means puts them into q clusters.

The weights of all pairs are used up to `EXACT` records. A larger table, or one that is to have more
than `MOST` clusters, is first divided into parts of about `PART` records by the same means, with
the Nystrom approximation where it is too large for all pairs; the clusters are then found inside
each part. Eigenvectors beyond the first few dozen are next to noise, and a part's own ones tell
more of it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...progress import report
from ...rng import children
from ..arrays import Floats, Ints
from ..neighbours.nearest_k import nearest_k
from ..threads import cores

Affinity = Literal["auto", "exact", "nystrom", "neighbours"]
Singles = NDArray[np.float32]
"""Weights are kept in single precision: half the memory, and e^-t needs no more."""

EXACT = 10_000
"""Records for which the weights of all pairs are held, 400 MB."""
PART = 5_000
MOST = 50
"""Clusters that are looked for at once."""
LANDMARKS = 500
NEIGHBOURS = 30
SAMPLE = 800
"""Records among which the width is chosen."""
WIDTHS = np.geomspace(0.5, 2.0, 7)
"""Widths that are tried, in mean distances between records; about the range of kernlab's specc."""
_BLOCK = 1_024
_DEEPEST = 6
_SMALL = np.float32(1e-30)


class Clusters(NamedTuple):
    """A cluster for each record."""

    label: Ints
    widths: tuple[float, ...]
    """The sigma of each division, coarse ones first."""
    parts: int
    """Parts that the table was first divided into; 1 where it was not."""


@dataclass(frozen=True)
class Graph:
    """How records become nodes of a graph."""

    sigma: float | None = None
    """Width of the weights; None: chosen in each part."""
    affinity: Affinity = "auto"
    landmarks: int = LANDMARKS

    def kind(self, records: int) -> Affinity:
        if self.affinity != "auto":
            return self.affinity
        return "exact" if records <= EXACT else "nystrom"


def _squares(x: Singles, others: Singles) -> Singles:
    """Squared distances (n, m)."""
    made: Singles = x @ (-2.0 * others.T)
    made += np.einsum("ij,ij->i", others, others)
    made += np.einsum("ij,ij->i", x, x)[:, None]
    return np.maximum(made, 0.0, out=made)


def _weights(x: Singles, others: Singles, sigma: float) -> Singles:
    """Weights between two sets of points (5.1)."""
    out = np.empty((len(x), len(others)), dtype=np.float32)
    for start in range(0, len(x), _BLOCK):
        made = _squares(x[start : start + _BLOCK], others)
        made *= np.float32(-0.5 / sigma**2)
        np.exp(made, out=out[start : start + _BLOCK])
    return out


def leading(
    multiply: Callable[[Singles], Singles],
    n: int,
    q: int,
    rng: np.random.Generator,
    *,
    tolerance: float = 1e-3,
) -> tuple[Floats, Floats]:
    """The q largest eigenvalues of a symmetric matrix, descending, and their vectors (n, q).

    Block Krylov spaces with restarts: unlike one vector at a time, a block misses no eigenvalue
    that occurs twice, as those of separate clusters do. It ends when all residuals are within the
    tolerance; the matrix has norm one.
    """
    block, depth = q + 8, 4
    if block * depth >= n:
        whole = multiply(np.eye(n, dtype=np.float32)).astype(np.float64)
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
        return values[::-1][:q], vectors[:, ::-1][:, :q]
    found = rng.standard_normal((n, block)).astype(np.float32)
    for _ in range(25):
        basis = np.empty((n, block * depth), dtype=np.float32)
        basis[:, :block] = np.linalg.qr(found)[0]
        for j in range(1, depth):
            new = multiply(basis[:, (j - 1) * block : j * block])
            before = basis[:, : j * block]
            for _ in range(2):  # once leaves rounding of the size of single precision
                new = new - before @ (before.T @ new)
                new = np.linalg.qr(new)[0]
            basis[:, j * block : (j + 1) * block] = new
        image = multiply(basis)
        small = (basis.T @ image).astype(np.float64)
        values, turn = np.linalg.eigh((small + small.T) / 2)
        values = values[::-1][:block]
        turn = np.ascontiguousarray(turn[:, ::-1][:, :block]).astype(np.float32)
        found = basis @ turn
        residual = image @ turn[:, :q] - found[:, :q] * values[:q].astype(np.float32)
        if np.sqrt(np.einsum("ij,ij->j", residual, residual)).max() <= tolerance:
            break
    return values[:q], found[:, :q].astype(np.float64)


def _laplacian(weights: Singles) -> Singles:
    """D^-1/2 S D^-1/2 in the place of S (5.2 and 5.3), its diagonal taken out (5.1)."""
    np.fill_diagonal(weights, 0.0)
    degree = weights.sum(axis=1)
    scale = np.where(degree > _SMALL, 1.0 / np.sqrt(np.maximum(degree, _SMALL)), 0.0)
    scale = scale.astype(np.float32)
    weights *= scale[:, None]
    weights *= scale
    return weights


def _exact(x: Singles, q: int, sigma: float, rng: np.random.Generator) -> Floats:
    laplacian = _laplacian(_weights(x, x, sigma))
    return leading(laplacian.__matmul__, len(x), q, rng)[1]


def _near(x: Singles, q: int, sigma: float, rng: np.random.Generator) -> Floats:
    """The same where a record has weights with its nearest neighbours only."""
    n = len(x)
    found = nearest_k(x, x, min(NEIGHBOURS + 1, n))
    values = np.exp(found.squares * (-0.5 / sigma**2)).ravel()
    rows = np.repeat(np.arange(n), found.rows.shape[1])
    one_way = sparse.csr_array((values, (rows, found.rows.ravel())), shape=(n, n))
    weights = one_way.maximum(one_way.T).tolil()
    weights.setdiag(0.0)
    weights = weights.tocsr()
    degree = np.asarray(weights.sum(axis=1)).ravel()
    scale = sparse.diags_array(
        np.where(degree > _SMALL, 1.0 / np.sqrt(np.maximum(degree, _SMALL)), 0.0)
    )
    laplacian = (scale @ weights @ scale).tocsr().astype(np.float32)
    return leading(laplacian.__matmul__, n, q, rng)[1]


def _nystrom(x: Singles, q: int, sigma: float, landmarks: int, rng: np.random.Generator) -> Floats:
    """Eigenvectors of the Laplacian that weights with a few landmarks imply (Fowlkes et al. 2004).

    The weights C with the landmarks are calculated anew in each of three passes, so that memory
    does not grow with records times landmarks.
    """
    n = len(x)
    marks = x[np.sort(rng.choice(n, min(n, landmarks), replace=False))]
    values, vectors = np.linalg.eigh(_weights(marks, marks, sigma).astype(np.float64))
    kept = values > 1e-5 * values[-1]  # below lies the rounding of single precision
    root = vectors[:, kept] / np.sqrt(values[kept])
    blocks = [slice(start, min(start + 8 * _BLOCK, n)) for start in range(0, n, 8 * _BLOCK)]

    def features(rows: slice) -> Floats:
        return _weights(x[rows], marks, sigma) @ root

    total = np.sum([features(rows).sum(axis=0) for rows in blocks], axis=0)
    gram = np.zeros((root.shape[1], root.shape[1]))
    scale = np.empty(n)
    for rows in blocks:
        made = features(rows)
        degree = made @ total
        scale[rows] = 1.0 / np.sqrt(np.maximum(degree, 1e-6 * degree.mean()))
        made *= scale[rows, None]
        gram += made.T @ made
    values, vectors = np.linalg.eigh(gram)
    turn = vectors[:, ::-1][:, :q] / np.sqrt(np.maximum(values[::-1][:q], 1e-12))
    return np.concatenate([(features(rows) * scale[rows, None]) @ turn for rows in blocks])


def places(x: Singles, q: int, graph: Graph, sigma: float, rng: np.random.Generator) -> Floats:
    """The rows of Y (5.4): where each record lies on the surface, a point of length one."""
    kind = graph.kind(len(x))
    if kind == "nystrom":
        found = _nystrom(x, q, sigma, graph.landmarks, rng)
    else:
        found = (_exact if kind == "exact" else _near)(x, q, sigma, rng)
    return _of_length_one(found)


def _of_length_one(found: Floats) -> Floats:
    size = np.sqrt(np.einsum("ij,ij->i", found, found))
    return np.asarray(found / np.maximum(size, 1e-150)[:, None])


def k_means(y: Floats, q: int, rng: np.random.Generator, *, starts: int = 3) -> tuple[Ints, float]:
    """The best of several runs of Lloyd's algorithm from k-means++ starts: labels, and the sum of
    squared distances from the centres. Clusters may remain empty where points coincide."""
    best: tuple[Ints, float] = np.zeros(len(y), dtype=np.int64), np.inf
    own = np.einsum("ij,ij->i", y, y)

    def gaps(centres: Floats) -> Floats:
        made: Floats = y @ (-2.0 * centres.T)
        made += np.einsum("ij,ij->i", centres, centres)
        made += own[:, None]
        return np.maximum(made, 0.0, out=made)

    for _ in range(starts):
        centres = y[[int(rng.integers(len(y)))]]
        near = gaps(centres)[:, 0]
        while len(centres) < q and near.sum() > 0:
            new = y[[int(np.searchsorted(np.cumsum(near), rng.random() * near.sum()))]]
            centres = np.concatenate([centres, new])
            near = np.minimum(near, gaps(new)[:, 0])
        label = np.full(len(y), -1, dtype=np.int64)
        for _ in range(100):
            distance = gaps(centres)
            now = distance.argmin(axis=1)
            if (now == label).all():
                break
            label = now
            count = np.bincount(label, minlength=len(centres))
            member = sparse.csr_array(
                (np.ones(len(y)), label, np.arange(len(y) + 1)), shape=(len(y), len(centres))
            )
            centres = np.where(
                count[:, None] > 0, (member.T @ y) / np.maximum(count, 1)[:, None], centres
            )
        within = float(distance[np.arange(len(y)), now].sum())
        if within < best[1]:
            best = now, within
    return best


def chosen_width(x: Singles, q: int, rng: np.random.Generator) -> float:
    """The sigma that makes the tightest clusters on the surface (Ng, Jordan & Weiss 2002).

    Seven widths from half to twice the mean distance between records are tried on a sample, and
    the one with the least distortion of k-means is taken.
    """
    n = min(len(x), SAMPLE)
    sample = x[np.sort(rng.choice(len(x), n, replace=False))]
    squares = _squares(sample, sample)
    np.fill_diagonal(squares, 0.0)
    mean = float(np.sqrt(squares).sum(dtype=np.float64)) / max(n * (n - 1), 1)
    if not mean > 0:
        return 1.0
    q = max(2, min(q, n // 10))
    best = np.inf, 1.0
    for width in (WIDTHS * mean).tolist():
        laplacian = _laplacian(np.exp(squares * np.float32(-0.5 / width**2)))
        found = _of_length_one(leading(laplacian.__matmul__, n, q, rng)[1])
        best = min(best, (k_means(found, q, rng, starts=2)[1], width))
    return best[1]


def _divided(
    x: Singles, q: int, target: float | None, graph: Graph, rng: np.random.Generator, depth: int
) -> tuple[list[Ints], list[float], int]:
    """Rows of each cluster, the widths used, and the parts that were made first."""
    n = len(x)
    if q <= 1 or n <= 2 or (x == x[0]).all():
        return [np.arange(n)], [], 1
    coarse = depth < _DEEPEST and (q > MOST or (graph.affinity == "auto" and n > EXACT))
    into = max(2, min(MOST, round(max(n / PART, q / MOST)))) if coarse else q
    sigma = graph.sigma or chosen_width(x, into, rng)
    label, _ = k_means(places(x, into, graph, sigma, rng), into, rng)
    groups = [np.flatnonzero(label == c) for c in range(int(label.max()) + 1)]
    groups = [rows for rows in groups if rows.size]
    share = target or n / q
    wanted = [
        max(1, round(rows.size / share)) if coarse or (target and rows.size > 2 * target) else 1
        for rows in groups
    ]
    if len(groups) == 1 or depth >= _DEEPEST:
        return groups, [sigma], 1
    # Each part draws from a generator of its own, whoever works on it.
    streams = children(rng, len(groups))

    def inside(c: int) -> tuple[list[Ints], list[float], int]:
        return _divided(x[groups[c]], wanted[c], target, graph, streams[c], depth + 1)

    if depth == 0 and coarse:
        found = []
        # Parts share the cores; threads inside each would only wait for one another.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores()) as pool:
            for c, one in enumerate(pool.map(inside, range(len(groups)))):
                report("clustering", c + 1, len(groups))
                found.append(one)
    else:
        found = [inside(c) for c in range(len(groups))]
    rows = [groups[c][inner] for c, one in enumerate(found) for inner in one[0]]
    return rows, [sigma, *(w for one in found for w in one[1])], len(groups) if coarse else 1


def spectral_clusters(
    x: np.ndarray,
    rng: np.random.Generator,
    *,
    clusters: int | None = None,
    size: float | None = None,
    graph: Graph | None = None,
) -> Clusters:
    """So many clusters, or clusters of about that size (those twice as large are divided again).

    >>> x = np.concatenate([np.zeros((5, 1)), np.ones((5, 1))]) + np.linspace(0, 0.1, 10)[:, None]
    >>> spectral_clusters(x, np.random.default_rng(0), clusters=2).label.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    n = len(x)
    q = max(1, round(n / size)) if size else clusters or 1
    # Distances in single precision cancel less around the middle.
    points = (x - x.mean(axis=0)).astype(np.float32) if n else x.astype(np.float32)
    rows, widths, parts = _divided(points, min(q, n), size, graph or Graph(), rng, 0)
    rows.sort(key=lambda one: int(one[0]) if one.size else -1)
    label = np.empty(n, dtype=np.int64)
    for c, members in enumerate(rows):
        label[members] = c
    return Clusters(label, tuple(widths), parts)


def merged(x: np.ndarray, label: Ints, smallest: int, rank: int) -> tuple[Ints, int]:
    """Clusters of fewer than `smallest` records, or whose records span fewer than `rank`
    directions, joined with the cluster whose mean is nearest; and how many there were.

    No more directions are asked for than all records together have.
    """
    while rank > 1 and _spans_less(x, rank):
        rank -= 1
    count = np.bincount(label).astype(np.float64)
    q = count.size
    order = np.argsort(label, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    members = [order[bounds[c] : bounds[c + 1]] for c in range(q)]
    means = np.array(
        [x[rows].mean(axis=0) if rows.size else np.zeros(x.shape[1]) for rows in members]
    )
    alive = count > 0
    poor = np.array([rows.size < smallest or _spans_less(x[rows], rank) for rows in members])
    joined = 0
    while alive.sum() > 1 and (poor & alive).any():
        c = int(np.argmin(np.where(poor & alive, count, np.inf)))
        distance = ((means - means[c]) ** 2).sum(axis=1)
        distance[~alive] = np.inf
        distance[c] = np.inf
        to = int(distance.argmin())
        means[to] = (count[c] * means[c] + count[to] * means[to]) / (count[c] + count[to])
        count[to] += count[c]
        members[to] = np.concatenate([members[to], members[c]])
        alive[c] = False
        joined += 1
        poor[to] = members[to].size < smallest or _spans_less(x[members[to]], rank)
    out = np.empty_like(label)
    for new, old in enumerate(np.flatnonzero(alive).tolist()):
        out[members[old]] = new
    return out, joined


def _spans_less(x: np.ndarray, rank: int) -> bool:
    """Whether the records lie in a flat of fewer than `rank` dimensions."""
    centred = x - x.mean(axis=0)
    if min(centred.shape) < rank:
        return True
    few = np.linalg.svd(centred, compute_uv=False)
    return bool(few[rank - 1] <= 1e-8 * max(few[0], 1e-300))
