"""Roll-up and walking a lattice, against counting the records anew."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.lattice.nodes import (
    nearest_below,
    next_open,
    node_levels,
    node_number,
    ruled_out,
    way_up,
)
from sfumato.kernels.lattice.rollup import (
    added,
    class_worth,
    column_worths,
    distinct,
    layout,
    majorities,
    roll_up,
    tally,
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Codes of some records, and nested groups of the codes at each level."""
    n = draw(st.integers(1, 40))
    codes, groups = [], []
    for _ in range(draw(st.integers(1, 4))):
        m = draw(st.sampled_from([1, 2, 5, 70_000]))
        some = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
        levels = [np.arange(m, dtype=np.int32)]
        for _ in range(draw(st.integers(0, 2))):
            coarse = levels[-1] // draw(st.integers(1, 3))
            levels.append(np.unique(coarse, return_inverse=True)[1].astype(np.int32))
        levels.append(np.zeros(m, dtype=np.int32))
        codes.append(np.array(some, dtype=np.int32))
        groups.append(levels)
    return codes, groups


def counted(codes: list[np.ndarray], groups: list[list[np.ndarray]], node: Any) -> Counter[Any]:
    at = [levels[level][column] for column, levels, level in zip(codes, groups, node, strict=True)]
    return Counter(zip(*(one.tolist() for one in at), strict=True))


@settings(max_examples=60)
@given(columns(), st.data())
def test_classes_are_those_of_the_records(given_columns: Any, data: st.DataObject) -> None:
    codes, groups = given_columns
    fields = layout(groups)
    assert fields.words == (2 if sum(len(g[0]) == 70_000 for g in groups) == 4 else 1)
    bottom = (0,) * len(codes)
    found, member = distinct(codes, fields, np.ones(codes[0].size, dtype=np.int64))
    assert Counter(found.counts.tolist()) == Counter(counted(codes, groups, bottom).values())
    top = [len(levels) - 1 for levels in groups]
    middle = tuple(data.draw(st.integers(0, level)) for level in top)
    high = tuple(data.draw(st.integers(a, b)) for a, b in zip(middle, top, strict=True))
    half, first = roll_up(found, fields, bottom, middle, members=True)
    whole, second = roll_up(half, fields, middle, high, members=True)
    classes = second[first][member]
    wanted = counted(codes, groups, high)
    assert sorted(whole.counts.tolist()) == sorted(wanted.values())
    for g, size in enumerate(whole.counts.tolist()):
        rows = np.flatnonzero(classes == g)
        assert rows.size == size
        assert len(counted([column[rows] for column in codes], groups, high)) == 1
    # The worth of a record is a figure of its groups; here the group's own number.
    sizes = [int(levels[at].max()) + 1 for levels, at in zip(groups, high, strict=True)]
    worth = np.concatenate([np.arange(size) for size in sizes])
    at = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    found_tally = tally(whole, fields, 3, worth, at)
    small = {key: c for key, c in wanted.items() if c < 3}
    assert found_tally.short == sum(small.values())
    assert found_tally.price == sum(c * sum(key) for key, c in small.items())
    assert found_tally.squares == sum(c * c for c in wanted.values())
    assert found_tally.pairs == sum(c * c for c in small.values())
    assert found_tally.kept == len(wanted) - len(small)
    each = class_worth(whole.keys, whole.counts, fields, worth, at)
    assert sorted(each.tolist()) == sorted(c * sum(key) for key, c in wanted.items())
    by_column = column_worths(whole.keys, len(whole), fields, worth, at)
    assert Counter(map(tuple, by_column.tolist())) == Counter(wanted.keys())


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 9)), max_size=30))
def test_majorities_and_sums_by_place(rows: list[tuple[int, int, int]]) -> None:
    """Tuples in classes (tuple i in class i // 2), with a value and so many records each."""
    place = np.array([i // 2 for i in range(6)], dtype=np.int32)
    rows = sorted(rows, key=lambda row: row[1])
    owner, values, counts = (np.array([row[j] for row in rows], dtype=np.int64) for j in range(3))
    found = majorities(place, owner, values, counts, 3)
    for c in range(3):
        each: Counter[int] = Counter()
        for i, value, count in rows:
            each[value] += count if i // 2 == c else 0
        assert found[c] == max(each.values(), default=0)
    total = added(place[owner].astype(np.int32), counts, 3)
    assert total.tolist() == [sum(n for i, _, n in rows if i // 2 == c) for c in range(3)]


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_walking(sizes: list[int], data: st.DataObject) -> None:
    shape = np.array(sizes, dtype=np.int64)
    nodes = list(product(*map(range, sizes)))
    out = np.empty(len(sizes), dtype=np.int64)
    for number, levels in enumerate(nodes):
        assert node_number(levels, shape) == number
        node_levels(number, shape, out)
        assert tuple(out.tolist()) == levels
    some = st.lists(st.sampled_from(nodes), max_size=4)
    above, under = data.draw(some), data.draw(some)
    owed = data.draw(st.lists(st.integers(-1, 4), min_size=len(above), max_size=len(above)))
    least = data.draw(st.lists(st.integers(0, 8), min_size=len(under), max_size=len(under)))
    floors = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=len(nodes), max_size=len(nodes)))
    )
    best, best_at = data.draw(st.integers(0, 6)), data.draw(st.integers(0, len(nodes) - 1))

    def below(a: Any, b: Any) -> bool:
        return all(x <= y for x, y in zip(a, b, strict=True))

    def out_of_the_race(number: int) -> bool:
        v = nodes[number]
        floor = int(floors[number])
        return any(
            below(v, w) and (p < 0 or (floor + p, number) > (best, best_at))
            for w, p in zip(above, owed, strict=True)
        ) or any(
            below(u, v) and (f, number) > (best, best_at) for u, f in zip(under, least, strict=True)
        )

    def matrix(rows: list[Any]) -> np.ndarray:
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))

    state = (matrix(above), np.array(owed, dtype=np.int64), len(above),
             matrix(under), np.array(least, dtype=np.int64), len(under))  # fmt: skip
    for number, levels in enumerate(nodes):
        found = ruled_out(np.array(levels), number, floors[number], best, best_at, *state)
        assert found == out_of_the_race(number)
    order = np.argsort(floors, kind="stable")
    done = np.zeros(len(nodes), dtype=np.uint8)
    done[::3] = 1
    wanted = next(
        (
            place
            for place, number in enumerate(order.tolist())
            if not done[number] and floors[number] <= best and not out_of_the_race(number)
        ),
        len(nodes),
    )
    assert next_open(order, 0, floors, done, shape, best, best_at, *state) == wanted
    start = data.draw(st.sampled_from(nodes))
    climbs = np.ones((len(sizes), max(sizes)), dtype=np.int64)
    path = way_up(np.array(start, dtype=np.int64), shape, climbs, *state[:3])
    assert tuple(path[0].tolist()) == start
    assert path[-1].tolist() == (shape - 1).tolist()
    assert (np.diff(path, axis=0).sum(axis=1) == 1).all()
    assert (np.diff(path, axis=0) >= 0).all()


def test_the_smallest_known_node_below() -> None:
    known = np.array([[0, 0], [1, 0], [1, 1], [2, 0]])
    sizes = np.array([9, 5, 4, 1])
    assert nearest_below(np.array([1, 1]), known, sizes, 4) == 2
    assert nearest_below(np.array([1, 0]), known, sizes, 4) == 1
    assert nearest_below(np.array([0, 1]), known, sizes, 4) == 0
