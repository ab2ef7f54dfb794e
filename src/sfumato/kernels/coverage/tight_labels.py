"""Who holds what in a class whose label would be narrower, had nobody held certain values.

A label of the narrowest kind says more than which values it covers: somebody holds each end of
"[20, 29]", somebody each value of "{a, b}", and nobody would have been called "Europe" had all
come from one country. Each of these is a need: a set of values of which some member holds one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats

MOST_TERMS = 1024
"""Terms that are counted; a label that takes more of them, of ten values or so, is taken to need
nothing."""
_NOTHING = 1e-12
"""What is left of chances that cancel out."""


class Terms(NamedTuple):
    """Needs, taken in and out: the chance that all are met is the sum of `sign` times the chance
    that nobody holds any value of `union`."""

    union: Bools
    """(terms, values)"""
    sign: Floats


def terms(needs: Bools) -> Terms:
    """The terms of some needs (needs, values), equal unions as one.

    >>> found = terms(np.array([[True, False, False], [False, False, True]]))
    >>> found.union.astype(int).tolist(), found.sign.tolist()
    ([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]], [1.0, -1.0, -1.0, 1.0])
    """
    union: Bools = np.zeros((1, needs.shape[1]), dtype=bool)
    sign: Floats = np.ones(1)
    for need in needs:
        # Equal unions cancel out: what lies outside of two children is everything.
        union, at = np.unique(np.concatenate((union, union | need)), axis=0, return_inverse=True)
        sign = np.bincount(at.ravel(), np.concatenate((sign, -sign))).astype(np.float64)
        union, sign = union[sign != 0], sign[sign != 0]
        if sign.size > MOST_TERMS:
            return Terms(np.zeros((1, needs.shape[1]), dtype=bool), np.ones(1))
    return Terms(union, sign)


def met(chances: Floats, of: Terms) -> Floats:
    """(members, values): the chance that all needs of a class are met if one member holds a value,
    the others holding theirs with their own `chances`, independently.

    Two people under "{a, b}": who holds a leaves b to the other.

    >>> met(np.array([[0.5, 0.5], [0.1, 0.9]]), terms(np.eye(2, dtype=bool))).round(6).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    free = 1.0 - chances @ of.union.T
    ones = np.ones((1, of.sign.size))
    before = np.cumprod(np.concatenate((ones, free[:-1])), axis=0)
    after = np.cumprod(np.concatenate((ones, free[:0:-1])), axis=0)[::-1]
    found: Floats = (before * after * of.sign) @ ~of.union
    return np.where(found > _NOTHING, found, 0.0)
