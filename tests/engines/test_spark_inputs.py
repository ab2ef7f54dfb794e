"""What Spark's workers read is what the reader reads: files in pieces, and tables by their keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.relation import Part, Whole
from sfumato.errors import InputError, SchemaError
from tests.engines.records import plain
from tests.engines.test_relation import by_number

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")

from sfumato.engines.spark import Spark
from sfumato.engines.spark.inputs import _cut

pytestmark = pytest.mark.spark


def people(height: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "id": rng.permutation(10 * height)[:height],
            "age": rng.integers(0, 90, height).astype(np.uint8),
            "pay": np.where(rng.random(height) < 0.1, np.nan, rng.normal(size=height)),
            "job": pl.Series(rng.choice(["cook", "smith", "Müller"], height)).cast(pl.Categorical),
            "born": pl.Series(rng.integers(0, 9000, height)).cast(pl.Date),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files in folders, one of them without records."""
    frame = people(900)
    for name, start, end in (("a/1", 0, 500), ("a/2", 500, 500), ("b", 500, 900)):
        path = tmp_path / "in" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame[start:end].write_parquet(path, row_group_size=90)
    (tmp_path / "in" / "_SUCCESS").touch()
    return tmp_path / "in"


@pytest.mark.parametrize(("most", "largest"), [(1, 7), (200, 1000), (90, 90), (1000, 1000)])
def test_row_groups_are_cut_into_pieces_that_follow_one_another(most: int, largest: int) -> None:
    groups = [90, 90, 0, 5, 300, 15]
    cut = list(_cut(groups, most, largest))
    assert sum(rows for _, _, rows, _ in cut) == sum(groups)
    starts = np.concatenate([[0], np.cumsum(groups)])
    end = 0
    for held, skipped, rows, before in cut:
        assert before == end == starts[held[0]] + skipped
        assert 0 < rows <= max(largest, most)
        end = before + rows


def test_files_are_read_by_workers_as_the_reader_reads_them(
    two: Spark, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.engines.spark.inputs.rows_of_part", lambda like: 100)
    options = {"quasi": ["age"], "kinds": {"age": "integer"}}
    expected = Whole(sf.read(folder, **options))
    data = two.open(folder, options)
    assert data.schema == expected.schema
    assert data.height == 900
    assert by_number(data) == by_number(expected)
    # What one step made lies beside what stayed in the files.
    masked, _ = data.only(["age"]).map_parts(lambda part, numbers: Part(part))
    assert by_number(data.join(masked, ["age"])) == by_number(expected)


def test_text_is_numbered_through_its_files(two: Spark, tmp_path: Path) -> None:
    frame = people(300).with_columns(pl.col("pay").fill_nan(None))
    for i, start in enumerate(range(0, 300, 120)):
        frame[start : start + 120].write_csv(tmp_path / f"{i}.csv")
    expected = Whole(sf.read(tmp_path))
    data = two.open(tmp_path)
    assert data.schema.names == expected.schema.names
    assert by_number(data) == by_number(expected)
    (tmp_path / "3.csv").write_text("id,age,pay,job,born\n1,unknown,2.5,cook,2020-01-01\n")
    with pytest.raises(SchemaError, match="age"):
        two.open(tmp_path)


def test_a_table_is_numbered_by_its_key(two: Spark, tmp_path: Path) -> None:
    frame = people(400).with_columns(pl.col("pay").fill_nan(None))
    frame.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "x.parquet")
    two.given.read.parquet(str(tmp_path / "x.parquet")).createOrReplaceTempView("people")
    data = two.open("spark://people", {"key": "id", "kinds": {"age": "integer"}})
    expected = Whole(sf.read(tmp_path / "x.parquet", kinds={"age": "integer"}))
    order = np.argsort(expected.table["id"].to_numpy())
    found = by_number(data)
    assert [found[i] for i in range(400)] == plain(expected.table.take(order))
    with pytest.raises(InputError, match="key"):
        two.open("spark://people")
    with pytest.raises(SchemaError, match="age"):
        two.open("spark://people", {"key": "age"})
    for name in ("persons", f"parquet.`{tmp_path}/x.parquet`"):
        with pytest.raises(InputError, match="Spark has no table"):
            two.open(f"spark://{name}", {"key": "id"})


def test_a_source_that_workers_cannot_read_is_refused(two: Spark, tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").touch()
    with pytest.raises(InputError, match="workers do not read"):
        two.open(tmp_path / "x.xlsx")
    with pytest.raises(InputError, match='use = "spark"'):
        sf.read("spark://people", key="id")
