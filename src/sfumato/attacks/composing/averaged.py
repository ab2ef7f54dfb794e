"""Numbers that several releases perturbed, each by noise of its own, and averaged.

A record of one release is linked with one of another by the columns that are equal in both, and
where that leaves several, by the nearest of the perturbed numbers. The alignment is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.generalized.label_places import has_labels
from ...data.linkage.linked import in_one_numbering
from ...data.pair import suppressed
from ..field import Field
from ..guesses import close, margin
from ..guessing.columns import Columns
from ..guessing.neighbours import Neighbours

EQUAL = 0.9
"""A column was left alone if so many of its values are in both releases."""
FOUND = 0.5
"""Unless so many records are found by what is equal, some of it was given to others."""
DIFFERENT = 0.5
"""Noise is independent if at most so many of the linked numbers are the same."""
_TURNS = 2
"""How often records are linked again, by distances that the links before suggest."""
_FEWEST = 30
"""Linked records by which variances are told."""


class Averaged(NamedTuple):
    """What comes of averaging one column, person by person."""

    guess: np.ndarray
    right: np.ndarray
    alone: np.ndarray
    """float64: the success with the release attacked alone"""
    naive: np.ndarray
    releases: int
    """how many are averaged"""
    linked: float
    """the share of numbers that were found in another release"""


Nearest = dict[tuple[int, ...], np.ndarray]
"""By the columns that are known, the released record nearest to each person."""


def averaged(
    fields: Sequence[Field], name: str, rng: np.random.Generator, nearest: Nearest
) -> Averaged | None:
    """The average over releases of a column of numbers, of the records nearest to people in the
    last release; None where no other release perturbed it anew. What is nearest is kept."""
    last = fields[-1]
    if not shows_numbers(last, name):
        return None
    j = last.names.index(name)
    known = tuple(k for k in last.known if k != j)
    others = [one for one in fields[:-1] if one.released and shows_numbers(one, name)]
    if not known or not others or not last.released:
        return None
    if known not in nearest:
        search = Neighbours(Columns.of(last, known), rng.permutation(last.released))
        nearest[known] = search.nearest(1)[:, 0]
    rows, at = np.unique(nearest[known], return_inverse=True)
    inside, outside, released = (one[:, j] for one in last.numbers)
    found = [released[rows]]
    for other in others:
        theirs = other.numbers[2][:, other.names.index(name)]
        link = linked(last, other, rows, name)
        numbers = np.where(link >= 0, theirs[link], np.nan)
        both = np.isfinite(numbers) & np.isfinite(found[0])
        if both.any() and np.mean(numbers[both] == found[0][both]) <= DIFFERENT:
            found.append(numbers)
    if len(found) < 2:
        return None
    numbers = np.column_stack(found)
    guess = mean_by(numbers, precisions(numbers))[at]
    truth = np.concatenate((inside, outside))
    here = released[np.isfinite(released)]
    middle = float(np.median(here)) if here.size else np.nan
    within = margin(last, j)
    return Averaged(
        guess,
        close(guess, truth, within),
        close(found[0][at], truth, within),
        close(np.full(truth.size, middle), truth, within),
        len(found),
        float(np.isfinite(numbers[:, 1:]).mean()),
    )


def shows_numbers(field: Field, name: str) -> bool:
    """Whether a release has a column of numbers that are no labels."""
    if name not in field.names or not field.is_number(field.names.index(name)):
        return False
    masked = field.pair.masked
    return not has_labels(field.pair.original.schema[name], masked.schema[name], masked[name])


def linked(one: Field, other: Field, rows: np.ndarray, noisy: str) -> np.ndarray:
    """int64: of some records of one release, the record of another that is most like it; -1 where
    none is equal in the columns that both left alone. One column is known to be noisy."""
    keys, points = [], []
    for name in (n for n in one.names if n in other.names):
        codes = in_one_numbering([one.pair.masked[name], other.pair.masked[name]])
        if name != noisy and _alike(*codes):
            keys.append(np.concatenate((codes[0][rows], codes[1])))
        elif shows_numbers(one, name) and shows_numbers(other, name):
            # A gap lies in the middle.
            both = (_standardized(one, name)[rows], _standardized(other, name))
            points.append(np.nan_to_num(np.concatenate(both)))
    near = np.column_stack([np.zeros((rows.size + other.released, 0)), *points])
    link = _nearest(keys, near, rows.size)[1]
    # Columns whose values were only given to others hold as many of each. Without them more records
    # are found, and nearer ones.
    while keys and np.mean(link >= 0) < FOUND:
        rest = [keys[:i] + keys[i + 1 :] for i in range(len(keys))]
        found = [_nearest(some, near, rows.size) for some in rest]
        best = max(range(len(rest)), key=lambda i: _worth(*found[i]))
        keys, link = rest[best], found[best][1]
    for _ in range(_TURNS if near.shape[1] > 1 else 0):
        if not (link >= 0).any():
            break
        # What hardly differs between linked records says more than what was moved far.
        moved = np.abs(near[: rows.size] - near[rows.size :][link])[link >= 0]
        near = near / np.maximum(np.median(moved, axis=0), 1e-3 * near.std(axis=0) + 1e-12)
        link = _nearest(keys, near, rows.size)[1]
    return link


def _worth(away: np.ndarray, link: np.ndarray) -> tuple[float, float]:
    """Links are better where enough are found, then where they are nearer."""
    return min(float(np.mean(link >= 0)), FOUND), -float(np.median(away))


def _nearest(
    keys: Sequence[np.ndarray], near: np.ndarray, first: int
) -> tuple[np.ndarray, np.ndarray]:
    """How far the nearest of the later rows is from each of the first, and its number there; -1
    where none has the same keys."""
    from scipy.spatial import cKDTree

    group = np.zeros(len(near), dtype=np.int64)
    if keys:
        frame = pl.DataFrame({str(i): key for i, key in enumerate(keys)})
        group = np.unique(frame.hash_rows().to_numpy(), return_inverse=True)[1].reshape(-1)
    # Groups lie farther apart than any two records of one.
    wide = float(np.sqrt((np.ptp(near, axis=0) ** 2).sum())) if near.size else 0.0
    place = np.column_stack((group * (2.0 * wide + 1.0), near))
    away, link = cKDTree(place[first:]).query(place[:first])
    return away, np.where(away < wide + 0.5, link, -1).astype(np.int64)


def _alike(here: np.ndarray, there: np.ndarray) -> bool:
    """Whether two columns hold the same values, each as often, but for people who came or left."""
    width = int(max(here.max(initial=0), there.max(initial=0))) + 1
    counts = [np.bincount(one, minlength=width) for one in (here, there)]
    return bool(np.minimum(*counts).sum() >= EQUAL * min(here.size, there.size))


def _standardized(field: Field, name: str) -> np.ndarray:
    """Standardized; NaN where there is none."""
    x: np.ndarray = field.numbers[2][:, field.names.index(name)].copy()
    x[suppressed(field.pair, name) | ~np.isfinite(x)] = np.nan
    known = x[np.isfinite(x)]
    if not known.size:
        return x
    return np.asarray((x - known.mean()) / (known.std() or 1.0))


def precisions(numbers: np.ndarray) -> np.ndarray:
    """One over the variance of each release's noise, as far as the releases tell it: what two share
    is the value's own spread, and what is beyond it in one is noise. All alike where that says
    nothing."""
    full = numbers[np.isfinite(numbers).all(axis=1)]
    even = np.ones(numbers.shape[1])
    if len(full) < _FEWEST:
        return even
    spread = np.cov(full, rowvar=False)
    own = np.diagonal(spread)
    shared = (spread.sum() - own.sum()) / (own.size * (own.size - 1))
    noise = own - shared
    if shared <= 0 or (noise <= 0).all():
        return even
    return np.asarray(1.0 / np.maximum(noise, 1e-6 * float(own.max())))


def mean_by(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of each row's numbers; NaN where it has none.

    >>> mean_by(np.array([[1.0, 3.0], [np.nan, 5.0]]), np.array([3.0, 1.0])).tolist()
    [1.5, 5.0]
    """
    here = np.isfinite(numbers)
    total = (here * weights).sum(axis=1)
    sums = (np.where(here, numbers, 0.0) * weights).sum(axis=1)
    return np.asarray(np.divide(sums, total, out=np.full(total.size, np.nan), where=total > 0))
