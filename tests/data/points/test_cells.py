"""Records as cells."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.data.points.cells import Cells, joined
from sfumato.data.points.encoding import Encoding


def cells(table: sf.Table) -> Cells:
    code = Encoding.of(table, table.names, log="never")
    return Cells.of(code, code.encode(table))


def test_equal_records_are_one_cell_and_others_are_not() -> None:
    people = sf.table(
        {"sex": ["f", "f", "m", "f"], "blood": ["A", "A", "A", "B"], "age": [30, 30, 30, None]}
    )
    keys = cells(people).hashed(1e-6, np.zeros(3)).sum(axis=0)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3


def test_numbers_of_one_interval_are_the_same() -> None:
    x = Cells(np.zeros((4, 1), dtype=np.int64), np.array([[0.0], [0.9], [1.1], [-0.1]]))
    assert len(set(x.hashed(1.0, np.zeros(1))[0].tolist())) == 3
    assert len(set(x.hashed(1.0, np.full(1, 0.5))[0].tolist())) == 2
    assert x.numeric.tolist() == [True]
    near = x.moved(0.1, np.random.default_rng(0))
    assert 0 < np.abs(near.numbers - x.numbers).max() <= 0.1


def test_no_two_intervals_are_taken_for_one() -> None:
    z = np.linspace(-8, 8, 3201)[:, None]
    both = Cells(np.zeros((3201, 2), dtype=np.int64), np.hstack([z, -z]))
    for column in both.hashed(0.25, np.zeros(2)):
        assert len(set(column.tolist())) in (64, 65)


def test_records_are_joined_and_taken() -> None:
    people = cells(sf.table({"sex": ["f", "m"], "age": [30, 40]}))
    both = joined(people, people.take(np.array([1])))
    keys = both.hashed(1e-6, np.zeros(2)).sum(axis=0)
    assert both.width == 2
    assert keys[1] == keys[2] != keys[0]
