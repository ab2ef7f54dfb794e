"""Every engine's relation does what a table in memory does, however its records are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.data.table import Table, table
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.relation import Part, Relation, Tally, Whole
from sfumato.engines.sliced import Sliced
from sfumato.errors import MethodError
from tests.engines.records import plain, shuffled_numbers, tables

Opened = Callable[[Table, np.ndarray, int], AbstractContextManager[Relation]]
"""Records with their numbers in an engine, in so many divisions."""
SLOW = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))


@contextmanager
def whole(given: Table, numbers: np.ndarray, divisions: int) -> Iterator[Relation]:
    """A table in memory has one part; a rotation stands for another order of arrival."""
    rows = np.roll(np.arange(given.height), divisions)
    yield Whole(given.take(rows), numbers[rows])


@contextmanager
def duckdb(given: Table, numbers: np.ndarray, divisions: int) -> Iterator[Relation]:
    """Slices, and memory so small that records are shuffled by way of several files."""
    with DuckDB(threads=min(divisions, 2)) as engine:
        rows = int(numbers.max(initial=0)) // divisions + 1
        data = engine.hold(given, numbers, rows)
        tight = replace(data.shop, sorted_at_once=256)
        yield Sliced(tight, data.empty, data.where, data.among) if divisions > 1 else data


ENGINES: dict[str, Opened] = {"whole": whole, "duckdb": duckdb}


@pytest.fixture(params=list(ENGINES))
def opened(request: pytest.FixtureRequest) -> Opened:
    """How an engine takes records."""
    return ENGINES[request.param]


@pytest.fixture(params=[1, 2, 8])
def divisions(request: pytest.FixtureRequest) -> int:
    """In how many divisions records lie."""
    return int(request.param)


def by_number(data: Relation) -> dict[int, Any]:
    """The records of a relation by their numbers."""
    seen = data.fold(data.schema.names, partial(_rows))
    return {number: row for part in seen for number, row in part}


def _rows(part: Table, numbers: np.ndarray) -> list[tuple[int, Any]]:
    return list(zip(numbers.tolist(), plain(part), strict=True))


@given(tables(most=30))
@SLOW
def test_records_and_types_are_those_given(opened: Opened, divisions: int, given: Table) -> None:
    numbers = shuffled_numbers(given.height)
    with opened(given, numbers, divisions) as data:
        assert data.height == given.height
        assert data.empty.frame.schema == given.frame.schema
        assert data.empty.schema == data.schema == given.schema
        assert by_number(data) == dict(zip(numbers.tolist(), plain(given), strict=True))


@given(tables(most=30), st.randoms())
@SLOW
def test_counts(opened: Opened, divisions: int, given: Table, random: Any) -> None:
    columns = random.sample(given.names, random.randint(1, len(given.names)))
    expected = Whole(given).count_by(columns)
    with opened(given, shuffled_numbers(given.height), divisions) as data:
        found = data.count_by(columns)
    assert found.table.names == columns
    assert found.table.frame.schema == expected.table.frame.schema
    assert plain(found.table) == plain(expected.table)
    assert found.count.tolist() == expected.count.tolist()
    assert found.count.dtype == np.int64


@given(tables(most=30))
@SLOW
def test_sizes_of_classes(opened: Opened, divisions: int, given: Table) -> None:
    expected = Whole(given).class_sizes(given.names)
    with opened(given, shuffled_numbers(given.height), divisions) as data:
        found = data.class_sizes(given.names)
        assert data.class_sizes([]).tolist() == [[given.height, 1]]
    assert found.tolist() == expected.tolist()
    assert found.dtype == np.int64


def test_no_more_combinations_come_back_than_may_be_counted(opened: Opened, divisions: int) -> None:
    given = table({"x": list(range(40)), "y": [i % 3 for i in range(40)]})
    with opened(given, np.arange(40, dtype=np.uint64), divisions) as data:
        assert data.count_by(["y"], most=3).count.tolist() == [14, 13, 13]
        with pytest.raises(MethodError, match=r"x, y: more than 39 combinations"):
            data.count_by(["x", "y"], most=39)


@given(tables(most=30), st.randoms())
@SLOW
def test_order_statistics(opened: Opened, divisions: int, given: Table, random: Any) -> None:
    name = random.choice(given.names)
    if isinstance(given[name].dtype, pl.List | pl.String | pl.Categorical):
        return
    count = given.height - given[name].null_count()
    ranks = [random.randrange(count) for _ in range(5)] if count else []
    expected = Whole(given).order_statistics(name, ranks)
    with opened(given, shuffled_numbers(given.height), divisions) as data:
        found = data.order_statistics(name, ranks)
        with pytest.raises(MethodError, match=name):
            data.order_statistics(name, [count])
    assert found.dtype == expected.dtype
    assert plain(table({"v": found})) == plain(table({"v": expected}))


def test_order_statistics_are_the_sorted_values() -> None:
    values = [3.5, -0.0, None, 0.0, -7.0, 3.5]
    found = Whole(table({"x": values})).order_statistics("x", range(5))
    assert [str(v) for v in found.to_list()] == ["-7.0", "-0.0", "0.0", "3.5", "3.5"]


def halved(part: Table, numbers: np.ndarray) -> Part:
    """Records of even numbers, with a column that tells the number, and marks."""
    rows = np.flatnonzero(numbers % 2 == 0)
    kept = part.take(rows)
    name = kept.names[0]
    gone = numbers[rows] % 3 == 0
    cells = kept[name].zip_with(pl.Series(~gone), pl.Series([None], dtype=kept[name].dtype))
    changed = kept.with_columns(
        [cells, pl.Series("told", numbers[rows].astype(np.int64))],
        suppressed={} if kept.schema[name].generalized else {name: gone},
    )
    least = {"least": int(numbers.min())} if numbers.size else {}
    return Part(changed, rows, Tally({"seen": int(numbers.size)}, least))


@given(tables(most=30))
@SLOW
def test_parts_are_mapped(opened: Opened, divisions: int, given: Table) -> None:
    numbers = shuffled_numbers(given.height)
    expected, tally = Whole(given, numbers).map_parts(halved)
    with opened(given, numbers, divisions) as data:
        found, counted = data.map_parts(halved)
        assert by_number(found) == by_number(expected)
        assert found.height == expected.height
        assert found.schema == expected.schema
        assert found.empty.frame.schema == expected.empty.frame.schema
        assert counted == tally
        # The records that it came from are as they were.
        assert by_number(data) == dict(zip(numbers.tolist(), plain(given), strict=True))


def backwards(part: Table, numbers: np.ndarray) -> Part:
    rows = np.arange(part.height)[::-1].copy()
    return Part(part.take(rows), rows)


def test_a_part_may_give_its_records_in_another_order(opened: Opened, divisions: int) -> None:
    given = table({"x": list(range(20)), "y": list("abcdefghijklmnopqrst")})
    with opened(given, np.arange(20, dtype=np.uint64), divisions) as data:
        turned, _ = data.only(["x"]).map_parts(backwards)
        assert by_number(data.join(turned, ["x"])) == dict(enumerate(plain(given)))
        assert by_number(turned.map_groups(by_thirds, ranked)[0])[19] == (19, 6, 7)


def by_thirds(part: Table, numbers: np.ndarray) -> np.ndarray:
    return np.asarray(numbers % 3, dtype=np.int64) - 1


def ranked(part: Table, numbers: np.ndarray) -> Part:
    """Each record's place among the records it came with, and how many these are."""
    assert (np.diff(numbers.astype(np.int64)) > 0).all()
    place = pl.Series("place", np.arange(part.height, dtype=np.int64))
    many = pl.Series("many", np.full(part.height, part.height, dtype=np.int64))
    return Part(part.with_columns([place, many]), None, Tally({"groups": int(part.height > 0)}))


@given(tables(most=30))
@SLOW
def test_groups_are_mapped_whole(opened: Opened, divisions: int, given: Table) -> None:
    numbers = shuffled_numbers(given.height)
    expected, tally = Whole(given, numbers).map_groups(by_thirds, ranked)
    with opened(given, numbers, divisions) as data:
        found, counted = data.map_groups(by_thirds, ranked)
        assert by_number(found) == by_number(expected)
        assert found.schema == expected.schema
        assert counted == tally
    assert tally.total["groups"] == len(set((numbers % 3).tolist()))


def test_many_groups_are_mapped(opened: Opened, divisions: int) -> None:
    given = table({"x": list(range(500))})
    numbers = shuffled_numbers(500)
    with opened(given, numbers, divisions) as data:
        found, tally = data.map_groups(lambda part, known: part["x"].to_numpy() % 250, ranked)
        assert tally.total["groups"] == 250
        assert all(row[2] == 2 for row in by_number(found).values())


@given(tables(most=30))
@SLOW
def test_columns_are_joined_by_number(opened: Opened, divisions: int, given: Table) -> None:
    numbers = shuffled_numbers(given.height)
    told, _ = Whole(given, numbers).map_parts(halved)
    columns = ["told", given.names[0]]
    expected = Whole(given, numbers).join(told, columns)
    with opened(given, numbers, divisions) as data:
        masked, _ = data.only(given.names[:1]).map_parts(halved)
        found = data.join(masked, columns)
        assert by_number(found) == by_number(expected)
        assert found.schema == expected.schema
        assert found.height == expected.height


def test_only_some_columns_in_the_order_asked_for(opened: Opened, divisions: int) -> None:
    given = table({"a": [1, 2, 3], "b": ["x", "y", None], "c": [True, False, None]})
    with opened(given, np.arange(3, dtype=np.uint64), divisions) as data:
        assert data.only(["c", "a"]).schema.names == ["c", "a"]
        assert by_number(data.only(["c", "a"])) == {0: (True, 1), 1: (False, 2), 2: (None, 3)}
        nominal = given.schema.with_column(given.schema["b"].with_(role="quasi"))
        assert data.with_schema(nominal).count_by(["b"]).table.schema.quasi == ["b"]


def scrambled(numbers: np.ndarray) -> np.ndarray:
    """Keys with ties."""
    return np.asarray((numbers * np.uint64(0x9E3779B97F4A7C15)) & ~np.uint64(2**62 - 1))


@given(tables(most=30), st.booleans())
@SLOW
def test_written_in_order(
    opened: Opened, divisions: int, tmp_path_factory: Any, given: Table, shuffle: bool
) -> None:
    numbers = shuffled_numbers(given.height)
    keys = scrambled(numbers) if shuffle else numbers
    expected = given.take(np.lexsort((numbers, keys)))
    folder: Path = tmp_path_factory.mktemp("written")
    with opened(given, numbers, divisions) as data:
        told: Path = tmp_path_factory.mktemp("told")
        paths = data.write(folder, scrambled if shuffle else None, told)
    rows = pl.concat([pl.read_parquet(told / path.name) for path in paths])
    assert rows["original_row"].to_list() == sorted(numbers.tolist(), key=_placed(shuffle))
    assert rows["published_row"].to_list() == list(range(given.height))
    assert paths == sorted(folder.iterdir())
    assert all(path.name.startswith("part-") for path in paths)
    frame = pl.concat([pl.read_parquet(path) for path in paths], how="vertical_relaxed")
    assert frame.columns == given.names
    for name in given.names:
        assert texts(frame[name]) == texts(expected.frame[name])


def _placed(shuffle: bool) -> Callable[[int], tuple[int, int]]:
    def key(number: int) -> tuple[int, int]:
        known = np.array([number], dtype=np.uint64)
        return int(scrambled(known)[0] if shuffle else number), number

    return key


def texts(series: pl.Series) -> list[str]:
    """Cells as text: a written label or number of 128 bits is text, whatever it was."""
    return [str(value) for value in series.to_list()]


def test_a_function_that_fails_stops_the_work(opened: Opened, divisions: int) -> None:
    def broken(part: Table, numbers: np.ndarray) -> Part:
        if numbers.size and numbers.max() > 5:
            raise MethodError("column 'x' cannot be masked", remedy="leave it out")
        return Part(part)

    given = table({"x": list(range(9))})
    with (
        opened(given, np.arange(9, dtype=np.uint64), divisions) as data,
        pytest.raises(MethodError, match="cannot be masked"),
    ):
        data.map_parts(broken)
