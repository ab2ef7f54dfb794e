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
    each = Draws(key.of("digest"), numbers)
    return [w for name in columns for w in each.of(name).digest(value_bits(part[name]))]


def _limbs(terms: Terms, part: Table, numbers: np.ndarray) -> Limbs:
    return limbs_of(terms(part))
