"""The principal components of a table: its singular value decomposition, mean by mean exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats

SMALL = 2_000  # rows that LAPACK decomposes in no time
LARGE = 0.01  # of the largest component: what one Gram matrix tells to full precision


@dataclass(frozen=True)
class SpectralBasis:
    """A centred table as `(scores * scale) @ axes.T`, with `r` components."""

    mean: Floats
    """(d,)"""
    scores: Floats
    """U, (n, r): orthonormal columns whose means are zero."""
    scale: Floats
    """D, (r,): singular values, the largest first; none is zero."""
    axes: Floats
    """V, (d, r): orthonormal columns."""

    @property
    def rank(self) -> int:
        """How many components there are."""
        return self.scale.size

    def table(self, scores: Floats) -> Floats:
        """The table with these scores in place of its own, each column with its own mean."""
        made: Floats = scores @ (self.axes * self.scale).T
        # Rounding leaves means of some 1e-17; a constant column must come back as it was.
        made -= made.mean(axis=0)
        made += self.mean
        return made


def spectral_basis(x: Floats) -> SpectralBasis:
    """The components of the table x (n, d), be it wide, of lesser rank or constant.

    Up to SMALL rows, and for wide tables, LAPACK decomposes the table itself. Longer ones go by the
    eigenvectors of the Gram matrix, which alone would lose every component that is 1e-8 as large as
    the first, and blur those a little larger. So only components at least 1% as large as the first
    are taken from it; the others are found in the same way in the table without those, where they
    are the large ones, and so on. Components below rounding (as numpy's matrix_rank has it) are
    left out. Memory grows with n times d.

    >>> basis = spectral_basis(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]]))
    >>> basis.rank, basis.mean.tolist(), basis.scale.round(6).tolist()
    (1, [1.0, 3.0], [3.162278])
    """
    if x.ndim != 2 or not len(x):
        raise ValueError("a table of at least one row is needed")
    if not np.isfinite(x.sum()):
        raise ValueError("components are of finite numbers")
    mean, centred = _centred(x)
    n, d = centred.shape
    if n <= max(SMALL, 4 * d):
        _, scale, axes = np.linalg.svd(centred, full_matrices=False)
        axes = axes.T
    else:
        scale, axes = _by_gram(centred)
    above = scale > scale.max(initial=0.0) * max(n, d) * np.finfo(np.float64).eps
    scale, axes = scale[above], _oriented(axes[:, above])
    # Column by column in memory, as they are shuffled.
    scores = ((axes / scale).T @ centred.T).T
    return SpectralBasis(mean, scores, scale, axes)


def _by_gram(x: Floats) -> tuple[Floats, Floats]:
    """Singular values and axes of a long table whose columns have no mean."""
    axes = np.eye(x.shape[1])
    scale = np.empty(0)
    part = x
    while scale.size < x.shape[1]:
        done = scale.size
        values, vectors = np.linalg.eigh(part.T @ part)
        values, vectors = values[::-1], vectors[:, ::-1]
        # The first is always taken, so that this ends.
        take = max(1, int((values > LARGE**2 * values[0]).sum()))
        axes[:, done:] = axes[:, done:] @ vectors
        scale = np.append(scale, np.sqrt(np.maximum(values[:take], 0.0)))
        part = x @ axes[:, scale.size :]
    return scale, axes


def _centred(x: Floats) -> tuple[Floats, Floats]:
    """Means, and the table less them; a column of one value alone is zero exactly."""
    mean = np.asarray(x.mean(axis=0), dtype=np.float64)
    alike = (x == x[0]).all(axis=0)
    mean[alike] = x[0, alike]
    centred = np.asarray(x - mean, dtype=np.float64)
    rest = centred.mean(axis=0)
    centred -= rest
    centred[:, alike] = 0.0
    return mean + np.where(alike, 0.0, rest), centred


def _oriented(axes: Floats) -> Floats:
    """Each axis with its largest coordinate above zero, so that signs do not hang on the build."""
    if axes.size:
        axes = axes * np.where(
            axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1.0, 1.0
        )
    return axes
