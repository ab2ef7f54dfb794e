"""Sums over all records of a relation, to the last bit the same wherever the records are; and the
digest of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from ..data.encoding import value_bits
from ..data.table import Table
from ..kernels.draws import Draws
from ..kernels.statistics.exact_sum import Limbs, limbs_of, merged, rounded
from ..rng import Key
from .relation import Relation

_AT_ONCE = 1 << 17
"""Records of which a digest is taken at once: their values are there several times meanwhile."""
Terms = Callable[[Table], Iterable[np.ndarray]]
"""What each record of a part adds to m sums: m columns of float64, one after the other; NaN adds
nothing. Picklable, and made value by value: the last bits of a product of matrices depend on how
records are divided."""


def exact_sums(data: Relation, columns: Sequence[str], terms: Terms) -> np.ndarray:
    """float64 (m): the sums of what all records add, correctly rounded.

    >>> from sfumato.data.table import table
    >>> from sfumato.engines.relation import Whole
    >>> data = Whole(table({"x": [1e17, 1.0, -1e17]}))
    >>> exact_sums(data, ["x"], lambda part: part.frame.to_numpy().T).tolist()
    [1.0]
    """
    return rounded(merged(data.fold(columns, partial(_limbs, terms))))


def digest(data: Relation, columns: Sequence[str], key: Key) -> list[int]:
    """Of what all records hold in these columns, and of which record holds it."""
    parts = data.fold(columns, partial(_digest, key, list(columns)))
    return [sum(words) % 2**64 for words in zip(*parts, strict=True)]


def _digest(key: Key, columns: list[str], part: Table, numbers: np.ndarray) -> list[int]:
    words = []
    for name in columns:
        first = second = 0
        for at in range(0, numbers.size, _AT_ONCE):
            own = Draws(key.of("digest", name), numbers[at : at + _AT_ONCE])
            found = own.digest(value_bits(part[name].slice(at, _AT_ONCE)))
            first, second = first + found[0], second + found[1]
        words += [first % 2**64, second % 2**64]
    return words


def _limbs(terms: Terms, part: Table, numbers: np.ndarray) -> Limbs:
    return limbs_of(terms(part))
