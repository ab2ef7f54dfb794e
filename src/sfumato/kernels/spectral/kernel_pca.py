"""Principal components in a kernel's feature space, exact or by Nystrom's approximation.

A component is a direction of the feature space, w = sum_i a_i phi(z_i) over some of the records z,
and any record is projected on it by kernel values alone: (phi(x) - mean) . w = k(x, z) a - c. Both
ways end in that form. The mean is the original's, for its own records and for all others
(Schoelkopf, Smola & Mueller 1998). Directions have length 1, so that the original's projections
have variance lambda.

Exact: z are all records, and a the eigenvectors of the centred kernel matrix; n^2 numbers are held.
Nystrom (Williams & Seeger 2001): z are m landmarks. Records are replaced by their images in the
span of the landmarks' images, which are m coordinates; the components are those of these points,
centred there. That takes O(m^2 n) time and O(m^2) memory beside one block of records.

A kernel may be divided by any constant without changing a component's direction or share. Powers
and exponentials are divided by their largest value on the original, so that they never overflow
there, whatever the degree and however many columns; a variance is told in the kernel's own unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...progress import report

Kind = Literal["polynomial", "exponential", "gaussian"]

_CELLS = 4_000_000
"""Kernel values in one block of records: 32 MB."""
_DENSE = 300
"""Up to so many records a whole eigendecomposition is faster than Lanczos' iterations."""
_NOISE = 1e-10
"""Components with a smaller share of the variance are rounding errors."""
_RANK = 1e-12
"""Directions of the landmarks' span shorter than this share of the longest are left out."""
_FAR = 600.0
"""Largest exponent: records further out than this, seen from the original, all lie at its edge."""


@dataclass(frozen=True)
class Kernel:
    """(x'y + 1)^degree, exp(x'y / width), or exp(-|x - y|^2 / (2 width^2)); a constant times that.

    `log_top` is the logarithm of the constant that values are divided by.

    >>> x = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> k = Kernel.of("polynomial", x, degree=2)
    >>> (k(x, x) * np.exp(k.log_top)).round(9).tolist()
    [[36.0, 9.0], [9.0, 4.0]]
    """

    kind: Kind
    degree: int
    width: float
    log_top: float = 0.0

    @staticmethod
    def of(kind: Kind, x: np.ndarray, *, degree: int = 4, width: float = 0.0) -> Kernel:
        """The kernel for the original x; a width of 0 stands for one that fits it.

        For the Gaussian kernel that is the root of the summed variances, so that two records at
        their usual distance have 1/e; for the exponential kernel the mean squared length, so that a
        usual record has e with itself.
        """
        squares = np.einsum("ij,ij->i", x, x)
        if not width:
            if kind == "gaussian":
                width = float(np.sqrt(x.var(axis=0).sum()))
            else:
                width = float(squares.mean())
            width = width or 1.0
        largest = float(squares.max(initial=0.0))
        tops = {
            "polynomial": degree * float(np.log1p(largest)),
            "exponential": largest / width,
            "gaussian": 0.0,
        }
        return Kernel(kind, degree, width, tops[kind])

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """k(x_i, y_j), in one new array."""
        k: np.ndarray = x @ y.T
        if self.kind == "polynomial":
            k += 1.0
            k *= np.exp(-self.log_top / self.degree)
            edge = float(np.exp(_FAR / self.degree))
            np.clip(k, -edge, edge, out=k)
            return _power(k, self.degree)
        if self.kind == "exponential":
            k *= 1.0 / self.width
            k -= self.log_top
        else:
            k *= 2.0
            k -= np.einsum("ij,ij->i", x, x)[:, None]
            k -= np.einsum("ij,ij->i", y, y)[None, :]
            k *= 0.5 / self.width**2
            np.minimum(k, 0.0, out=k)
        np.minimum(k, _FAR, out=k)
        return np.exp(k, out=k)

    def with_itself(self, x: np.ndarray) -> np.ndarray:
        """k(x_i, x_i)."""
        if self.kind == "gaussian":
            return np.ones(len(x))
        squares = np.einsum("ij,ij->i", x, x)
        if self.kind == "polynomial":
            parts = (squares + 1.0) * np.exp(-self.log_top / self.degree)
            return _power(np.minimum(parts, np.exp(_FAR / self.degree)), self.degree)
        return np.exp(np.minimum(squares / self.width - self.log_top, _FAR))


@dataclass(frozen=True, eq=False)
class KernelComponents:
    """Principal components of some records in a kernel's feature space, the largest first."""

    kernel: Kernel
    method: Literal["exact", "nystrom"]
    points: np.ndarray
    """The records z that carry the components: all of them, or the landmarks."""
    weights: np.ndarray
    """a, one column a component."""
    offset: np.ndarray
    """c, where the original's mean lies."""
    variance: np.ndarray
    """lambda, divided by the kernel's constant like all projections are."""
    total: float
    """The variance along all components, those that were not asked for included; with landmarks
    never less than it is."""

    @property
    def share(self) -> np.ndarray:
        """Each component's part of the variance in feature space."""
        return self.variance / self.total

    @property
    def eigenvalue(self) -> np.ndarray:
        """lambda in the kernel's own unit; infinite where no number is that large."""
        with np.errstate(over="ignore", divide="ignore"):
            return np.exp(np.log(self.variance) + self.kernel.log_top)

    def project(self, records: np.ndarray) -> np.ndarray:
        """Where records lie along the components, (n, components)."""
        found = np.empty((len(records), self.variance.size))
        for rows in _blocks(len(records), len(self.points)):
            found[rows] = self.kernel(records[rows], self.points) @ self.weights
        found -= self.offset
        return found


def kernel_components(
    x: np.ndarray,
    kernel: Kernel,
    components: int = 20,
    *,
    variance: float = 0.0,
    landmarks: np.ndarray | None = None,
    centred: bool = True,
) -> KernelComponents:
    """The first components of the records x; by Nystrom's approximation with these landmark rows.

    With `variance`, as many as have that share of the variance together, and at most `components`.
    Components that have next to none of it are left out. With `centred = False` they are those of
    the kernel matrix as it is, the first of which is mostly the mean.

    >>> x = np.array([[0.0, 1.0], [0.0, -1.0], [3.0, 0.0], [-3.0, 0.0]])
    >>> found = kernel_components(x, Kernel.of("polynomial", x, degree=1))
    >>> found.share.round(9).tolist(), found.eigenvalue.round(9).tolist()
    ([0.9, 0.1], [4.5, 0.5])
    """
    if not len(x):
        raise ValueError("no records have no components")
    found = (
        _exact(x, kernel, components, variance, centred)
        if landmarks is None
        else _nystrom(x, x[landmarks], kernel, components, centred)
    )
    kept = (found.share > _NOISE) & (found.variance > _RANK * kernel.with_itself(x).mean())
    if variance and kept.any():
        reached = np.searchsorted(np.cumsum(found.share), min(variance, 1.0) - 1e-12)
        kept &= np.arange(kept.size) <= reached
    return KernelComponents(
        kernel, found.method, found.points, found.weights[:, kept], found.offset[kept],
        found.variance[kept], found.total,
    )  # fmt: skip


def drawn_landmarks(
    x: np.ndarray, kernel: Kernel, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of x as landmarks: half of them by chance alone, half by their length in feature space.

    Powers give the few records far out much of the variance, and landmarks drawn evenly would miss
    them.
    """
    if count >= len(x):
        return np.arange(len(x))
    length = kernel.with_itself(x)
    chance = 0.5 / len(x) + 0.5 * length / length.sum()
    return np.sort(rng.choice(len(x), count, replace=False, p=chance))


def _exact(
    x: np.ndarray, kernel: Kernel, components: int, variance: float, centred: bool
) -> KernelComponents:
    n = len(x)
    k = np.empty((n, n))
    for rows in _blocks(n, n):
        k[rows] = kernel(x[rows], x)
        report("kernel matrix", rows.stop, n)
    mean = k.mean(axis=0) if centred else np.zeros(n)
    if centred:
        k -= mean
        k -= mean[:, None]
        k += mean.mean()
    total = float(np.trace(k)) / n
    # The spectrum falls fast: a share of the variance is tried with few components first.
    tried = min(components, 32) if variance else components
    while True:
        values, vectors = _leading(k, tried)
        enough = tried >= min(components, n) or values.sum() >= variance * n * total
        if enough:
            break
        tried *= 4
    if centred:
        vectors = vectors - vectors.mean(axis=0)
    values = np.maximum(values, 0.0)
    weights = vectors / np.sqrt(np.where(values > 0, values, 1.0))
    return KernelComponents(kernel, "exact", x, weights, mean @ weights, values / n, total or 1.0)


def _leading(k: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, downwards, and their vectors."""
    n = len(k)
    some = min(components, n)
    if n > _DENSE and some <= n // 8 and np.trace(k) > 0:
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            # Any start will do that no component is at right angles to.
            values, vectors = eigsh(k, some, which="LA", v0=np.cos(np.arange(n)), tol=1e-12)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
        except ArpackError:  # many components of one size: all of them are looked for
            pass
    values, vectors = np.linalg.eigh(k)
    return values[::-1][:some], vectors[:, ::-1][:, :some]


def _nystrom(
    x: np.ndarray, z: np.ndarray, kernel: Kernel, components: int, centred: bool
) -> KernelComponents:
    n = len(x)
    length, directions = np.linalg.eigh(kernel(z, z))
    kept = length > _RANK * max(float(length[-1]), 0.0)
    # Coordinates of an image in the landmarks' span: k(x, z) @ into.
    into = directions[:, kept] / np.sqrt(length[kept])
    products = np.zeros((into.shape[1], into.shape[1]))
    sums = np.zeros(into.shape[1])
    for rows in _blocks(n, len(z)):
        images = kernel(x[rows], z) @ into
        products += images.T @ images
        sums += images.sum(axis=0)
        report("landmarks", rows.stop, n)
    mean = sums / n if centred else np.zeros_like(sums)
    products /= n
    products -= np.outer(mean, mean)
    # The diagonal is exact. Of the mean only its image in the landmarks' span is known, and what
    # lies beside it is not taken off: with 50 landmarks the total was up to 1 % too large in our
    # examples, with 200 up to 0.2 %, with 1,000 up to 0.03 %.
    total = float(kernel.with_itself(x).mean() - mean @ mean)
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values[::-1][:components], 0.0)
    vectors = vectors[:, ::-1][:, :components]
    return KernelComponents(
        kernel, "nystrom", z, into @ vectors, mean @ vectors, values, max(total, 0.0) or 1.0
    )


def _power(k: np.ndarray, degree: int) -> np.ndarray:
    """k^degree by squarings, which is many times faster than a general power."""
    found: np.ndarray | None = None
    while True:
        if degree & 1:
            found = k.copy() if found is None and degree > 1 else k if found is None else found * k
        degree >>= 1
        if not degree:
            assert found is not None
            return found
        k = np.square(k, out=k)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(64, _CELLS // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def largest_gap(x: np.ndarray, y: np.ndarray) -> float:
    """Kolmogorov and Smirnov's distance of two samples: the largest difference of their shares
    below any value.

    >>> largest_gap(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 3.0, 4.0, 5.0]))
    0.25
    """
    x, y = np.sort(x), np.sort(y)
    at = np.concatenate((x, y))
    below = np.searchsorted(x, at, side="right") / x.size
    below -= np.searchsorted(y, at, side="right") / y.size
    return float(np.abs(below).max())


def gap_chance(gap: np.ndarray, n: int, m: int) -> np.ndarray:
    """How often two samples of n and m records of one population differ at least so much
    (asymptotic, without ties)."""
    from scipy.special import kolmogorov

    return kolmogorov(np.sqrt(n * m / (n + m)) * np.asarray(gap))


def expected_largest_gap(n: int, m: int, components: int) -> float:
    """The largest of so many unrelated gaps between two samples of one population, on average.

    >>> [round(expected_largest_gap(2000, 2000, several), 3) for several in (1, 20)]
    [0.027, 0.046]
    """
    grid = np.linspace(0.0, 1.0, 4001)
    below = (1.0 - gap_chance(grid, n, m)) ** components
    return float(min(1.0, np.trapezoid(1.0 - below, grid)))
