"""Spark on this machine gives what a table in memory gives, in 1, 2 and 8 partitions.

Few tests of many things: every job of Spark takes half a second.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.data.schema import Column, Kind, Schema
from sfumato.data.table import Table, table
from sfumato.engines.relation import Part, Relation, Tally, Whole
from sfumato.errors import MethodError, ParameterError, SfumatoError
from sfumato.progress import listening
from tests.engines.records import KINDS, ORDER, plain, shuffled_numbers
from tests.engines.test_relation import by_number, by_thirds, halved, ranked, scrambled

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")

from sfumato.engines.spark import Spark, SparkRelation
from sfumato.engines.spark.session import _confs, first_line

pytestmark = pytest.mark.spark
DAY = dt.datetime(2024, 2, 29, 12, 30, 1)
POOLS: dict[str, list[Any]] = {
    "small": [-3, 0, 1, 2],
    "wide": [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
    "counts": [0, 1, 2**63, 2**64 - 1],
    "long": [-(2**100), -9, 10, 2**63],
    "pay": [0.0, -0.0, 1.5, -2.25, 1e300, 0.1, 0.1 + 2**-56, 5e-324, float("inf")],
    "short": [0.0, -0.0, 0.5, -7.0],
    "level": list(ORDER),
    "word": ["a", "A", "Ä", "", "*", "x\ny"],
    "class": ["a", "A", "ß", ""],
    "yes": [True, False],
    "day": [DAY.date(), dt.date(1900, 1, 1)],
    "ms": [DAY, DAY.replace(microsecond=2000)],
    "us": [DAY, DAY.replace(microsecond=3)],
    "ns": [DAY, DAY.replace(year=1904)],
    "items": [[], ["a"], ["a", "b"]],
    "codes": [[], [1], [3, 1]],
    "Range": ["[1, 3]", "*", "[4, 9]"],
    "range": ["[1, 3]", "*"],
}


def every_kind(height: int) -> Table:
    """Records of all kinds of columns, with missing and suppressed cells."""
    rng = np.random.default_rng(7)
    series, columns, marks = [], [], {}
    for name, pool in POOLS.items():
        kind, dtype, _ = KINDS[name]
        chosen = rng.integers(-1, len(pool), height)
        cells = [None if i < 0 else pool[i] for i in chosen.tolist()]
        series.append(pl.Series(name, cells, dtype=dtype))
        labels = name.lower() == "range"
        order = ORDER if kind == Kind.ORDINAL else ()
        columns.append(Column(name, kind, categories=order, generalized=labels))
        if not labels:
            marks[name] = (chosen < 0) & (rng.random(height) < 0.5)
    return Table(pl.DataFrame(series), Schema(columns), marks)


GIVEN = every_kind(90)
NUMBERS = shuffled_numbers(90)


def same(found: Relation, expected: Relation) -> None:
    """Whether the same records are there, with the same types."""
    assert by_number(found) == by_number(expected)
    assert found.height == expected.height
    assert found.schema == expected.schema
    assert found.empty.frame.schema == expected.empty.frame.schema


def test_a_plan_s_operations_one_after_the_other(engine: Spark, tmp_path: Path) -> None:
    data, whole = engine.of(GIVEN, NUMBERS), Whole(GIVEN, NUMBERS)
    same(data, whole)
    for columns in (GIVEN.names, ["items", "level"], ["pay"]):
        found, expected = data.count_by(columns), whole.count_by(columns)
        assert plain(found.table) == plain(expected.table)
        assert found.count.tolist() == expected.count.tolist()
        assert found.table.frame.schema == expected.table.frame.schema
    sizes = np.unique(whole.count_by(["items", "level"]).count, return_counts=True)
    assert data.class_sizes(["items", "level"]).tolist() == np.column_stack(sizes).tolist()
    masked, tally = data.map_parts(halved)
    expected_masked, expected_tally = whole.map_parts(halved)
    assert tally == expected_tally
    grouped, tally = masked.map_groups(by_thirds, ranked)
    expected_grouped, expected_tally = expected_masked.map_groups(by_thirds, ranked)
    assert tally == expected_tally
    joined = data.join(grouped, ["place", "small"])
    expected_joined = whole.join(expected_grouped, ["place", "small"])
    same(joined, expected_joined)
    # Records that were divided in another way are joined one by one.
    other = engine.of(GIVEN.take(np.arange(40)), NUMBERS[:40]).only(["word"])
    last = joined.join(other, ["word"])
    expected_last = expected_joined.join(
        Whole(GIVEN.take(np.arange(40)), NUMBERS[:40]).only(["word"]), ["word"]
    )
    written(last, expected_last, tmp_path)


def written(found: Relation, expected: Relation, folder: Path) -> None:
    """Whether both write the same records in the same order."""
    texts = []
    for name, data in (("found", found), ("expected", expected)):
        (folder / name / "aside").mkdir(parents=True)
        (folder / name / "data").mkdir()
        paths = data.write(folder / name / "data", scrambled, folder / name / "aside")
        assert paths == sorted((folder / name / "data").iterdir())
        aside = [folder / name / "aside" / path.name for path in paths]
        assert aside == sorted((folder / name / "aside").iterdir())
        read = [pl.read_parquet(path) for path in (*paths, *aside)]
        # Whole numbers of 128 bits are written as text.
        texts.append([list(map(str, row)) for frame in read for row in frame.iter_rows()])
    assert texts[0] == texts[1]


def test_values_at_ranks_are_exact(two: Spark) -> None:
    data, whole = two.of(GIVEN, NUMBERS), Whole(GIVEN, NUMBERS)
    for name in ("wide", "counts", "pay", "short", "level", "ns", "word", "long"):
        count = GIVEN.height - GIVEN[name].null_count()
        ranks = [count - 1, 0, count // 2, count // 2]
        found, expected = data.order_statistics(name, ranks), whole.order_statistics(name, ranks)
        assert found.dtype == expected.dtype
        assert plain(table({"v": found})) == plain(table({"v": expected}))
    with pytest.raises(MethodError, match="pay"):
        data.order_statistics("pay", [90])


def test_files_are_the_same_bytes_however_records_were_divided(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.engines.spark.relation.rows_of_file", lambda like: 23)
    bytes_of = []
    for partitions in (1, 2, 8):
        folder = tmp_path / str(partitions)
        folder.mkdir()
        with Spark(session=session, partitions=partitions) as engine:
            paths = engine.of(GIVEN, NUMBERS).write(folder, None)
        assert [path.name for path in paths] == [f"part-0000{i}.parquet" for i in range(4)]
        assert [pl.read_parquet(path).height for path in paths] == [23, 23, 23, 21]
        bytes_of.append([path.read_bytes() for path in paths])
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]


def test_no_records_are_a_relation_too(two: Spark, tmp_path: Path) -> None:
    none = GIVEN.take(np.empty(0, dtype=np.int64))
    masked, tally = two.of(none).map_parts(halved)
    expected, _ = Whole(none).map_parts(halved)
    same(masked, expected)
    assert tally == Tally({"seen": 0})
    assert [path.name for path in masked.write(tmp_path, scrambled)] == ["part-00000.parquet"]
    assert masked.count_by(["small"]).table.height == 0


def test_the_driver_gets_what_is_distinct_and_no_record(two: Spark) -> None:
    many = table({"x": np.arange(4000) % 10, "y": np.arange(4000)})
    data = two.of(many)
    data.count_by(["x"])
    data.order_statistics("y", [7])
    data.map_parts(lambda part, numbers: Part(part))
    data.map_groups(lambda part, numbers: part["x"].to_numpy(), lambda part, numbers: Part(part))
    # Histograms of values at ranks have at most as many rows as there are values or bins.
    assert two.session.most_fetched <= 4000
    two.session.most_fetched = 0
    data.map_parts(lambda part, numbers: Part(part))
    data.count_by(["x"])
    assert two.session.most_fetched <= 10
    with pytest.raises(MethodError, match=r"y: more than 3,999 combinations"):
        data.count_by(["y"], most=3999)
    assert two.session.most_fetched <= 10


def test_errors_travel_and_are_not_tried_again(two: Spark, tmp_path: Path) -> None:
    tries = tmp_path / "tries"

    def broken(part: Table, numbers: np.ndarray) -> Part:
        if numbers.size:
            with tries.open("a") as file:
                file.write(".")
            raise MethodError("column 'x' cannot be masked", remedy="leave it out")
        return Part(part)

    data = two.of(table({"x": [1, 2, 3]}))
    with pytest.raises(MethodError, match="cannot be masked -> leave it out"):
        data.map_parts(broken)
    assert len(tries.read_text()) <= 2  # once in each partition
    with pytest.raises(MethodError, match="cannot be masked"):
        data.map_groups(by_thirds, broken)


def test_what_a_worker_cannot_mend_is_told_in_words(two: Spark) -> None:
    def broken(part: Table, numbers: np.ndarray) -> Part:
        if numbers.size:
            raise ZeroDivisionError("no such luck")
        return Part(part)

    with pytest.raises(SfumatoError, match=r"Spark failed while masking parts: .*no such luck"):
        two.of(table({"x": [1, 2, 3]})).map_parts(broken)


def test_a_worker_that_dies_loses_no_record_and_doubles_none(two: Spark, tmp_path: Path) -> None:
    def dying(part: Table, numbers: np.ndarray) -> Part:
        once = tmp_path / f"{numbers.min() if numbers.size else 'none'}"
        if numbers.size and not once.exists():
            once.touch()
            os._exit(3)
        return halved(part, numbers)

    found, tally = two.of(GIVEN, NUMBERS).map_parts(dying)
    expected, expected_tally = Whole(GIVEN, NUMBERS).map_parts(halved)
    same(found, expected)
    assert tally == expected_tally


def test_stages_are_reported_and_an_interrupt_stops_these_jobs_alone(
    two: Spark, tmp_path: Path
) -> None:
    def slow(part: Table, numbers: np.ndarray) -> Part:
        if numbers.size:
            time.sleep(60)
            (tmp_path / "done").touch()
        return Part(part)

    heard: list[tuple[str, int, int]] = []

    def interrupt(what: str, done: int, of: int) -> None:
        heard.append((what, done, of))
        raise KeyboardInterrupt

    other: list[int] = []
    context = two.session.context
    beside = threading.Thread(
        target=lambda: other.append(two.session.spark.range(5).repartition(2).count())
    )
    data = two.of(table({"x": [1, 2, 3]}))
    beside.start()
    with listening(interrupt), pytest.raises(KeyboardInterrupt):
        data.map_parts(slow)
    beside.join()
    assert other == [5]
    assert not (tmp_path / "done").exists()
    assert heard[0][0].startswith("masking parts")
    for _ in range(600):  # what is active is told a little later
        if not context.statusTracker().getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not context.statusTracker().getActiveJobsIds()
    assert data.height == len(by_number(data)) == 3


def test_what_was_stored_goes_when_nobody_needs_it(session: Any, tmp_path: Path) -> None:
    place = tmp_path / "a [1]%20{b}*"  # as releases may be called
    place.mkdir()
    with Spark(session=session, partitions=1, temporary=place) as engine:
        masked, _ = engine.of(GIVEN).map_parts(lambda part, numbers: Part(part))
        [folder] = place.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert len(_stored_in(folder)) == 1
        kept = masked.only(["small"])
        del masked
        assert len(_stored_in(folder)) == 1
        assert kept.height == len(by_number(kept)) == 90
        assert isinstance(kept, SparkRelation)
        del kept
        assert _stored_in(folder) == []
    assert list(tmp_path.iterdir()) == [place]
    assert list(place.iterdir()) == []


def _stored_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != "in-use"]


def test_what_a_driver_left_that_died_is_removed_by_the_next(session: Any, tmp_path: Path) -> None:
    left = tmp_path / "sfumato-scratch-dead"
    left.mkdir()
    (left / "in-use").touch()
    (left / "records").touch()
    with Spark(session=session, temporary=tmp_path):
        assert not left.exists()


def test_executors_on_this_machine_share_its_memory_within_what_they_may_have() -> None:
    def heap(master: str, memory: int | None) -> str | None:
        return _confs(master, memory, "/folder").get("spark.executor.memory")

    assert heap("local-cluster[2,1,1024]", 12 << 30) == "1024m"
    assert heap("local-cluster[2, 1, 1024]", 3 << 30) == "512m"
    assert heap("local-cluster[2,1,400]", 3 << 30) == "400m"
    assert heap("local-cluster[2,1,400]", None) == "400m"
    assert heap("local[2]", 3 << 30) == "1024m"
    assert heap("local[2]", None) is None
    assert heap("spark://host:7077", 3 << 30) is None  # other machines have other memory
    assert _confs("local[2]", None, "/folder")["spark.local.dir"] == "/folder"
    assert "spark.local.dir" not in _confs("yarn", None, "/folder")
    with pytest.raises(ParameterError, match="comma"):
        _confs("local[2]", None, "/folder, too")


def test_why_spark_does_not_start_is_told() -> None:
    said = "An error occurred while calling None.X.\n: org.apache.Broken: Asked for 3 GiB\n\tat x"
    assert first_line(RuntimeError(said)) == "org.apache.Broken: Asked for 3 GiB"
