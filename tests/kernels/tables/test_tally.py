"""Cells of parts put together are the cells of all records, bit by bit."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics.exact_sum import nearest
from sfumato.kernels.statistics.spanned_sum import Span
from sfumato.kernels.tables.tally import (
    Records,
    Sparse,
    extent_of,
    part_tally,
    tally,
    together,
    told_together,
)

PARENTS = [np.array([-1, 0, 0, 1, 1]), np.array([-1, 0, 0, 0])]
LEAVES = [[3, 4, 2], [1, 2, 3]]
"""Those of the first dimension lie at two depths."""


@st.composite
def records(draw: st.DrawFn) -> Records:
    n = draw(st.integers(1, 30))

    def many(one: st.SearchStrategy[Any], some: bool = True, dtype: Any = None) -> np.ndarray:
        return np.array(draw(st.lists(one, min_size=n, max_size=n)) if some else [], dtype)

    amount = st.one_of(st.just(np.nan), st.floats(-1e12, 1e12), st.sampled_from([0.1, -0.1, 1e-7]))
    holding = many(st.integers(0, 8))
    # By the first record of each, as tables number contributors.
    who = np.array([int(np.flatnonzero(holding == h)[0]) for h in holding])
    shared = np.flatnonzero(np.bincount(who, minlength=n)[who] > 1)
    return Records(
        leaf=np.array([many(st.sampled_from(leaf)) for leaf in LEAVES], np.int32),
        amount=many(amount, dtype=float),
        who=who,
        shared=shared[np.argsort(who[shared], kind="stable")],
        weight=many(st.sampled_from([0.3, 1.0, 2.7]), draw(st.booleans()), float),
        asked=many(st.sampled_from([0.0, 1.0]), draw(st.booleans()), float),
        key=many(st.integers(0, 2**64 - 1), draw(st.booleans()), np.uint64),
    )


def some(all_: Records, rows: np.ndarray) -> Records:
    """A part of the records, with all of its contributors."""
    place = np.full(all_.amount.size, -1)
    place[rows] = np.arange(rows.size)
    shared = place[all_.shared]
    cut = {
        field.name: (part[..., rows] if part.size else part)
        for field in dataclasses.fields(Records)
        if field.name != "shared"
        for part in [getattr(all_, field.name)]
    }
    return Records(**cut, shared=shared[shared >= 0])


@given(records(), st.integers(1, 4), st.data())
def test_parts_in_any_order_hold_what_the_whole_holds(
    given_: Records, top: int, data: st.DataObject
) -> None:
    span = Span.of(extent_of(given_.amount, given_.weight, holdings=True))
    whole = tally(given_, PARENTS, top, span)
    n = given_.amount.size
    place = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))[given_.who]
    rows = [np.flatnonzero(place == p) for p in data.draw(st.permutations(range(4)))]
    parts = [part_tally(some(given_, mine), PARENTS, top, span) for mine in rows]
    sides = [[pair[side] for pair in parts] for side in (0, 1)]
    merged = [together([together(side[:2]), together(side[2:])]) for side in sides]
    found = told_together(merged[0], merged[1], PARENTS, top, span)
    assert found.sums.tobytes() == whole.sums.tobytes()
    assert found.tops.tobytes() == whole.tops.tobytes()
    # Nothing travels but cells that some record lies in, and every cell once.
    cells = 5 * 4
    for side in merged:
        assert np.unique(side.numbers).size == side.numbers.size <= cells
        assert ((side.numbers >= 0) & (side.numbers < cells)).all()


@given(records())
def test_sums_are_the_nearest_to_those_of_fractions(given_: Records) -> None:
    found = tally(given_, PARENTS, 1)
    weight = given_.weight if given_.weight.size else np.ones(given_.amount.size)
    terms = [Fraction(x) for x in (given_.amount * weight).tolist() if not np.isnan(x)]
    assert found.sums["value"][0] == nearest(sum(terms, Fraction(0)))
    assert found.sums["frequency"][0] == given_.amount.size
    assert found.sums["key"][0] == sum(map(int, given_.key)) % 2**64


def test_no_cells_are_put_together_too() -> None:
    empty = np.empty(0)
    nothing = Records(
        leaf=np.empty((2, 0), np.int32), amount=empty, who=np.empty(0, np.int64),
        shared=np.empty(0, np.int64), weight=empty, asked=empty, key=np.empty(0, np.uint64),
    )  # fmt: skip
    span = Span.of(extent_of(empty, empty, holdings=False))
    leaves, shared = part_tally(nothing, PARENTS, 2, span)
    assert isinstance(together([leaves, leaves]), Sparse)
    found = told_together(leaves, shared, PARENTS, 2, span)
    assert not found.sums["frequency"].any()
    assert (found.tops["who"] == -1).all()
