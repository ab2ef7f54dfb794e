"""Rounding to multiples of a base, to given points, and to the nearest of several vectors.

The set of attraction of a point reaches half-way to its neighbours: the half-way value below
belongs to it and the one above to its neighbour, [p - b/2, p + b/2). Beyond the first and the last
of given points everything belongs to them. Missing values are NaN and stay.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

_CHUNK = 16_384


def nice_base(size: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not above `size`.

    >>> nice_base(0.34), nice_base(73.0), nice_base(1000.0)
    (0.2, 50.0, 1000.0)
    """
    power = math.floor(math.log10(size))
    # By way of text, because 10.0 ** -5 is not the float next to 0.00001.
    found = [float(f"{digit}e{power + shift}") for shift in (-1, 0, 1) for digit in (1, 2, 5)]
    return max(base for base in found if base <= size * (1 + 1e-12))


def multiples(x: np.ndarray, base: float, uniforms: np.ndarray | None = None) -> np.ndarray:
    """Each value's multiple of the base: floor(x/b + 1/2) b. With uniforms in [0, 1) the multiple
    below or above, above with the probability of the share of the way, so that the mean is x.

    >>> multiples(np.array([0.5, 1.49, 1.5, -0.5, -0.6]), 1.0).tolist()
    [1.0, 1.0, 2.0, 0.0, -1.0]
    """
    # The remainder of a float division is exact; x/b + 1/2 is not (0.49999999999999994 + 0.5 = 1).
    rest = np.fmod(x, base)
    steps = np.rint((x - rest) / base)
    if uniforms is None:
        steps += rest >= base / 2
        steps -= rest < -base / 2
    else:
        part = rest / base
        steps += np.where(part < 0, (uniforms < 1 + part) - 1.0, uniforms < part)
    return _tidy(steps * base, base)


def _tidy(values: np.ndarray, base: float) -> np.ndarray:
    """Multiples without the dust of binary fractions: 0.3, not 0.30000000000000004."""
    digits = -int(Decimal(repr(base)).normalize().as_tuple().exponent)
    made = values + 0.0  # minus zero is zero
    if 0 < digits <= 15:
        short = np.abs(made) < 10.0 ** (15 - digits)
        made[short] = np.round(made[short], digits) + 0.0
    return made


def to_points(x: np.ndarray, points: np.ndarray, uniforms: np.ndarray | None = None) -> np.ndarray:
    """Each value's point among sorted points. With uniforms one of the two around it, so that the
    mean is x; beyond the ends that is the end.

    >>> to_points(np.array([0.0, 1.5, 1.6, 9.0]), np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 2.0, 2.0, 4.0]
    """
    if uniforms is None:
        place = np.searchsorted(points[:-1] / 2 + points[1:] / 2, x, side="right")
    else:
        low = np.clip(np.searchsorted(points, x, side="right") - 1, 0, max(points.size - 2, 0))
        high = np.minimum(low + 1, points.size - 1)
        gap = np.where(high > low, points[high] - points[low], 1.0)
        place = np.where(uniforms < (x - points[low]) / gap, high, low)
    return np.where(np.isnan(x), np.nan, points[place])


def nearest_vector(x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """For each row the vector at the least Euclidean distance, over the values that it has; the
    first of several. A row without any value gets the first.

    >>> nearest_vector(np.array([[0.0, 5.0], [np.nan, 0.4]]), np.array([[9.0, 0.0], [0.0, 4.0]]))
    array([1, 0])
    """
    found = np.empty(x.shape[0], dtype=np.int64)
    squares = vectors.T**2
    for start in range(0, x.shape[0], _CHUNK):
        rows = x[start : start + _CHUNK]
        present = ~np.isnan(rows)
        values = np.where(present, rows, 0.0)
        # |x - v|^2 less |x|^2, which is the same for every vector.
        own = squares.sum(axis=0) if present.all() else present.astype(np.float64) @ squares
        distance = own - 2.0 * (values @ vectors.T)
        found[start : start + _CHUNK] = distance.argmin(axis=1)
    return found


def lloyd(x: np.ndarray, centres: np.ndarray, rounds: int) -> np.ndarray:
    """Lloyd's iteration for k-means, from the given centres on: each becomes the mean of the rows
    that are nearest to it, over the values that they have, until none moves. A centre without rows
    stays where it is."""
    present = ~np.isnan(x)
    values = np.where(present, x, 0.0)
    for _ in range(rounds):
        label = nearest_vector(x, centres)
        moved = centres.copy()
        for j in range(x.shape[1]):
            counts = np.bincount(label, weights=present[:, j], minlength=len(centres))
            sums = np.bincount(label, weights=values[:, j], minlength=len(centres))
            np.divide(sums, counts, out=moved[:, j], where=counts > 0)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def group_means(
    x: np.ndarray, label: np.ndarray, places: np.ndarray, fewest: int
) -> tuple[np.ndarray, int]:
    """The mean of each group of rows, column by column, over the values that are there; none is
    taken of fewer than `fewest` values.

    A group with fewer values of a column joins, in that column, the nearest group that has any, and
    both get the mean of all of them: with the other's own mean beside it, the few could be worked
    out. NaN where a group has no value, and where the whole column has too few. `places` says
    where the groups lie. Also returned: how often groups were joined.

    >>> x = np.array([[1.0], [3.0], [8.0], [20.0], [22.0]])
    >>> means, joined = group_means(x, np.array([0, 0, 1, 2, 2]), np.array([[2.0], [8], [21]]), 2)
    >>> means[:, 0].tolist(), joined
    ([4.0, 4.0, 21.0], 1)
    """
    means = np.full(places.shape, np.nan)
    joined = 0
    for j in range(x.shape[1]):
        here = np.flatnonzero(~np.isnan(x[:, j]))
        if not here.size:
            continue
        values = x[here, j]
        # In parts of a power of two, so that no sum overflows and no digit is lost.
        unit = math.ldexp(0.5, math.frexp(float(np.abs(values).max()))[1])
        counts = np.bincount(label[here], minlength=len(places))
        sums = np.bincount(label[here], weights=values / unit, minlength=len(places))
        into, place = np.arange(len(places)), places.copy()
        while True:
            some = np.flatnonzero(counts)
            few = some[counts[some] < fewest]
            if not few.size or some.size == 1:
                break
            one = few[counts[few].argmin()]
            some = some[some != one]
            near = some[((place[some] - place[one]) ** 2).sum(axis=1).argmin()]
            both = counts[near] + counts[one]
            place[near] = (place[near] * counts[near] + place[one] * counts[one]) / both
            sums[near] += sums[one]
            counts[near], counts[one] = both, 0
            into[into == one] = near
            joined += 1
        enough = counts >= max(fewest, 1)
        found = np.full(len(places), np.nan)
        # A mean lies among its values, and rounding must not take it beyond them.
        inside = np.clip(sums[enough] / counts[enough] * unit, values.min(), values.max())
        found[enough] = inside
        means[:, j] = found[into]
    return means, joined
