"""The nearest records on the card: what `linkage.nearest` and `nearest_k` find, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ._card import fetched, sent
from ._lists import LEAST, NEAREST, TIES, Lists
from ._passes import Both, filled, scanned
from ._recount import recount, settle
from ._scan import ROOM, SHAPE

NO_ROW = np.iinfo(np.int64).max


class Near(NamedTuple):
    """What is found of each target."""

    squares: Floats
    """(n, k) squared distances, ascending"""
    rows: Ints
    """(n, k): of equally near rows the lowest first"""
    ties: Ints
    """rows within the limit of the nearest"""
    first: Ints
    """the lowest of them"""


def bytes_of_lists(k: int) -> int:
    """Bytes that the lists of a target take on the card."""
    return 16 * k + 24 * TIES + 40


def nearest(
    a: Floats,
    b: Floats,
    k: int,
    tolerance: float,
    within: Callable[[Floats], Floats],
    begin: Floats | None = None,
) -> Near | None:
    """The k rows of `b` nearest to each row of `a`, and those that tie for the nearest place.

    Both are matrices without missing values, each zero of one sign. A row ties where its squared
    distance is at most `within(least)`, which is about (1 + `tolerance`) times the least; `begin`
    are squared distances that some row of `b` attains or comes below. None where these records are
    the CPU's.
    """
    both = Both.of(a, b, distinct=True)
    if both is None:
        return None
    ours = both.ours
    n = len(ours.points)
    first = np.full(n, np.inf)
    if begin is not None:
        # Rows of one record may know of different distances: the least of them holds for it.
        np.minimum.at(first, np.repeat(np.arange(n), np.diff(ours.starts)), begin[ours.rows])
        known = np.isfinite(first)
        first[known] = (first[known] + tolerance * first[known]) * ROOM + LEAST

    def lists(low: int, high: int) -> Lists:
        many = high - low
        return Lists(
            begin=sent(first[low:high]),
            squares=filled((many, k), np.inf),
            rows=filled((many, k), NO_ROW),
            values=filled((many, TIES), np.inf),
            counts=filled((many, TIES), 0),
            lowest=filled((many, TIES), NO_ROW),
            spilt=filled((many,), 0),
        )

    found = Near(
        np.empty((n, k)), np.empty((n, k), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    )
    for part, noted in scanned(both, NEAREST, tolerance, lists, bytes_of_lists(k)):
        here = slice(part.low, part.high)
        found.squares[here] = fetched(noted.squares)
        found.rows[here] = fetched(noted.rows)
        limits = sent(within(found.squares[here, 0]))
        ties, lead = filled((part.high - part.low,), 0), filled((part.high - part.low,), NO_ROW)
        settle[part.blocks, SHAPE.threads](
            limits, noted.values, noted.counts, noted.lowest, noted.spilt, ties, lead
        )
        if fetched(noted.spilt).any():
            for these in part.slabs():
                recount[part.blocks, SHAPE.threads](
                    limits, noted.spilt, part.points, these.points, these.box, SHAPE.tile,
                    these.starts, these.rows, ties, lead,
                )  # fmt: skip
        found.ties[here], found.first[here] = fetched(ties), fetched(lead)
    return Near(*(ours.back(one) for one in found))
