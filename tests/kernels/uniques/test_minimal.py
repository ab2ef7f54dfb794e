"""Minimal uniques against every set of columns and every pair of records."""

from __future__ import annotations

from collections import Counter
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.uniques import scores
from sfumato.kernels.uniques.minimal import Uniques, minimal_uniques, sets_of
from tests.oracle import uniqueness as oracle

Table = list[list[int]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Few values, so that records agree; -1 is a cell that says nothing."""
    columns = draw(st.integers(1, 5))
    values = [draw(st.integers(0, 5)) for _ in range(columns)]
    cell = [st.integers(-1 if j % 2 else 0, most) for j, most in enumerate(values)]
    return draw(st.lists(st.tuples(*cell).map(list), min_size=1, max_size=14))


def codes(rows: Table) -> list[np.ndarray]:
    return [np.array(column, np.int32) for column in zip(*rows, strict=True)]


def shown(rows: Table) -> list[list[object]]:
    return [[oracle.HIDDEN if value < 0 else value for value in row] for row in rows]


def found(rows: Table, size: int, threads: int = 1) -> Uniques:
    return minimal_uniques(codes(rows), size, scores.worth(len(rows[0]), size), threads)


@given(tables(), st.integers(1, 5))
def test_the_same_as_by_looking_at_all_sets(rows: Table, size: int) -> None:
    columns = len(rows[0])
    size = min(size, max(columns - 1, 1))
    by_record, made = oracle.minimal_uniques(shown(rows), size), found(rows, size)
    assert made.sets == Counter(one for sets in by_record for one in sets)
    assert made.many.tolist() == [len(sets) for sets in by_record]
    if columns > 1:
        assert made.score.tolist() == [oracle.score(sets, columns, size) for sets in by_record]
    else:
        assert made.score.tolist() == [len(sets) for sets in by_record]
    for r, sets in enumerate(by_record):
        least = min((len(one) for one in sets), default=0)
        chosen = tuple(j for j in range(columns) if int(made.smallest[r]) >> j & 1)
        assert len(chosen) == least
        assert not sets or chosen in sets
        for j in range(columns):
            holding = [one for one in sets if j in one]
            assert made.parts[j, r] == oracle.score(holding, columns, size) or columns == 1


@given(tables(), st.integers(1, 5), st.lists(st.integers(0, 4), min_size=14, max_size=14))
def test_records_of_one_person_are_no_company(rows: Table, size: int, people: list[int]) -> None:
    size, whose = min(size, len(rows[0])), people[: len(rows)]
    by_record = oracle.minimal_uniques(shown(rows), size, whose)
    worth, person = scores.worth(len(rows[0]), size), np.array(whose, np.int32)
    made = minimal_uniques(codes(rows), size, worth, person=person)
    assert made.sets == Counter(one for sets in by_record for one in sets)
    assert made.many.tolist() == [len(sets) for sets in by_record]
    for r, sets in enumerate(by_record):
        chosen = tuple(j for j in range(len(rows[0])) if int(made.smallest[r]) >> j & 1)
        assert len(chosen) == min((len(one) for one in sets), default=0)
        assert made.score[r] == sum(worth[len(one) - 1] for one in sets)


@pytest.mark.parametrize("seed", range(5))
def test_a_record_for_each_person_is_the_same_as_none_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(-1, many, 2000).astype(np.int32) for many in (3, 40, 9, 100, 5)]
    worth, person = scores.worth(5, 3), rng.permutation(2000).astype(np.int32)
    plain = minimal_uniques(columns, 3, worth)
    # Three equal records each are found as one is.
    thrice = [np.tile(one, 3) for one in columns]
    for made, many in (
        (minimal_uniques(columns, 3, worth, person=person), 1),
        (minimal_uniques(thrice, 3, worth, person=np.tile(person, 3)), 3),
    ):
        assert made.sets == {one: many * records for one, records in plain.sets.items()}
        assert np.array_equal(made.smallest, np.tile(plain.smallest, many))
        assert np.array_equal(made.parts, np.tile(plain.parts, many))


@given(tables(), st.integers(1, 4))
def test_a_superset_of_a_minimal_unique_is_none(rows: Table, size: int) -> None:
    """Every record is a minimal unique of sets of which none holds another."""
    for sets in oracle.minimal_uniques(shown(rows), min(size, len(rows[0]))):
        assert not any(set(a) < set(b) for a in sets for b in sets)
    made = found(rows, min(size, len(rows[0])))
    # Larger sets change nothing about smaller ones.
    smaller = {one: many for one, many in made.sets.items() if len(one) < size}
    if size > 1:
        assert found(rows, size - 1).sets == smaller


@pytest.mark.parametrize("seed", range(5))
def test_threads_and_the_order_of_columns_alter_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(-1, many, 3000).astype(np.int32) for many in (3, 40, 2, 9, 200, 5)]
    worth = scores.worth(6, 4)
    one, more = (minimal_uniques(columns, 4, worth, threads) for threads in (1, 5))
    assert one.sets == more.sets
    for mine, theirs in zip(vars(one).values(), vars(more).values(), strict=True):
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
    order = rng.permutation(6)
    turned = minimal_uniques([columns[j] for j in order], 4, worth)
    renamed = {tuple(sorted(order[list(s)].tolist())): many for s, many in turned.sets.items()}
    assert renamed == one.sets
    assert np.array_equal(turned.score, one.score)
    assert np.allclose(turned.parts, one.parts[order])


def test_sixty_four_columns() -> None:
    """A record that differs in one column only is unique by that, the last one too."""
    columns = [np.zeros(65, np.int32) for _ in range(64)]
    for j, column in enumerate(columns):
        column[j] = 1
    made = minimal_uniques(columns, 2, scores.worth(64, 2))
    assert made.sets == {(j,): 1 for j in range(64)}
    assert made.smallest.tolist() == [1 << j for j in range(64)] + [0]
    with pytest.raises(ValueError, match="65 columns"):
        minimal_uniques([*columns, columns[0]], 2, scores.worth(65, 2))


def test_sets_of_all_but_one_column_score_factorials() -> None:
    for columns in range(2, 12):
        wanted = [float(factorial(columns - k)) for k in range(1, columns)]
        assert scores.worth(columns, columns - 1).tolist() == wanted


def test_how_many_sets_there_are() -> None:
    assert [sets_of(5, k) for k in range(1, 6)] == [
        len(list(oracle.all_sets(5, k))) for k in range(1, 6)
    ]


@given(tables(), st.floats(0.001, 0.999), st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_the_chance_of_a_right_match(rows: Table, share: float, given: list[int]) -> None:
    sizes = np.array([*Counter(map(tuple, rows)).values()])
    columns, wanted = len(rows[0]), [float(one) for one in given]
    if not (sizes == 1).any():
        assert np.isnan(scores.dis(sizes, share))
        return
    chance, unique = oracle.dis(rows, share)
    assert scores.dis(sizes, share) == pytest.approx(chance)
    made = scores.dis_suda(np.array(wanted), columns, sizes, share)
    assert made.tolist() == pytest.approx(oracle.dis_suda(wanted, columns, unique, chance))
