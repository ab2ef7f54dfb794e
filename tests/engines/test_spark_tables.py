"""Releases as tables of Spark's: filled aside, counted, named last, and never beside strangers."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, OutputError, PlanError
from sfumato.release.sql_recount import sql_recount
from tests.engines.people import in_pieces, people

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")

from sfumato.engines.spark import Spark
from sfumato.engines.spark.tables import SparkTable

pytestmark = pytest.mark.spark

PLAN = """
[engine]
use = "spark"
[columns]
age = "quasi"
sex = "quasi"
pay = "confidential"
visits = "confidential"
region = "insensitive"
id = "identifier"
zip = "insensitive"
degree = "insensitive"
[[steps]]
use = "global-recoding"
bins = { age = 4 }
[require]
exposure = false
k-anonymity = 2
[measures]
[output]
database = "spark://default"
table = "visits"
ledger-exception = "a test"
"""


def listed(engine: Spark) -> list[str]:
    return sorted(row["tableName"] for row in engine.given.sql("SHOW TABLES IN default").collect())


def test_a_plan_makes_a_table(two: Spark, tmp_path: Path) -> None:
    two.given.sql("DROP TABLE IF EXISTS visits")
    in_pieces(people(records=300), tmp_path / "in", 2)
    sf.protect(tmp_path / "in", sf.Plan.parse(PLAN), 2**90, output=tmp_path / "out")
    found = pl.DataFrame(two.given.table("visits").toArrow())
    assert found["visits"].sort().equals(people(records=300)["visits"].sort())
    inside = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert inside == ["evidence.json", "report.html"]
    told = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert told["table"]["name"] == "visits"
    assert [name for name in listed(two) if name.startswith("visits")] == ["visits"]
    with pytest.raises(InputError, match=r'spark.table\("visits"\)'):
        sql_recount(tmp_path / "out")
    verified = sf.verify(tmp_path / "out")
    assert verified.holds
    assert [one.about for one in verified.not_checked] == ["table visits"]
    two.given.sql("DROP TABLE visits")


def test_people_with_several_records_are_not_counted_on_a_table_without_order(
    two: Spark, tmp_path: Path
) -> None:
    several = people(records=60).with_columns(pl.col("id").str.slice(0, 6))
    in_pieces(several, tmp_path / "in", 2)
    words = sf.Plan.parse(f"[input]\nperson = 'id'\n{PLAN}")
    with pytest.raises(PlanError, match="counted on parts"):
        sf.protect(tmp_path / "in", words, 2**90, output=tmp_path / "out")
    assert "visits" not in listed(two)


def test_no_table_of_others_is_replaced(two: Spark, tmp_path: Path) -> None:
    two.given.sql("CREATE TABLE mine (x int) USING parquet")
    for replacing in (False, True):
        aside = tmp_path / ".out.x.staging"
        with pytest.raises(OutputError, match="of no other"):
            SparkTable(two, "mine", aside, replacing=replacing, own=False).check()
    assert two.given.table("mine").columns == ["x"]
    two.given.sql("DROP TABLE mine")


def test_what_the_dead_left_is_dropped_and_the_living_is_not(two: Spark, tmp_path: Path) -> None:
    pl.DataFrame({"x": [1, 2], "s": [["a"], []]}).write_parquet(tmp_path / "part-00000.parquet")
    parts = [tmp_path / "part-00000.parquet"]
    asides = [tmp_path / f".out.{token}.staging" for token in ("dead", "living")]
    staged = []
    for aside in asides:
        aside.mkdir()
        made = SparkTable(two, "default.visits", aside, replacing=False, own=False)
        made.check()
        made.fill(parts, aside / "table")
        staged.append(made)
    before = [name for name in listed(two) if "__sfumato_" in name]
    assert len(before) == 2
    for path in sorted(asides[0].rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    asides[0].rmdir()
    other = tmp_path / ".out.other.staging"
    other.mkdir()
    SparkTable(two, "default.visits", other, replacing=False, own=False).check()
    assert [name for name in listed(two) if "__sfumato_" in name] == [
        name for name in before if name.endswith("_living")
    ]
    with pytest.raises(RuntimeError), staged[1].appearing():
        raise RuntimeError("the folders could not be renamed")
    staged[1].close()
    assert not [name for name in listed(two) if name.startswith("visits")]


def test_a_table_that_would_be_gone_with_spark_is_refused(two: Spark, tmp_path: Path) -> None:
    aside = tmp_path / ".out.x.staging"
    for name, forgotten in (("visits", True), ("default.visits", True), ("a.b.visits", False)):
        made = SparkTable(two, name, aside, replacing=False, own=True)
        assert made._forgotten() == forgotten
    with pytest.raises(OutputError, match="catalog is in memory"):
        SparkTable(two, "visits", aside, replacing=False, own=True).check()
    assert not SparkTable(two, "visits", aside, replacing=False, own=False)._forgotten()


def test_a_replacement_that_fails_puts_the_old_table_back(
    two: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.given.sql("DROP TABLE IF EXISTS kept")
    rename = SparkTable._rename

    def fails(table: SparkTable, one: str, other: str) -> None:
        if other == "kept" and not one.endswith("_old"):
            raise OutputError("no")
        rename(table, one, other)

    for token, rows in (("first", 1), ("second", 2), ("third", 3)):
        aside = tmp_path / f".out.{token}.staging"
        aside.mkdir()
        pl.DataFrame({"x": range(rows)}).write_parquet(aside / "part-00000.parquet")
        made = SparkTable(two, "kept", aside, replacing=True, own=False)
        made.fill([aside / "part-00000.parquet"], aside / "table")
        if token == "third":
            monkeypatch.setattr(SparkTable, "_rename", fails)
            with pytest.raises(OutputError, match="no"), made.appearing():
                pass
        else:
            with made.appearing():
                pass
            assert two.given.table("kept").count() == rows
        made.close()
    assert two.given.table("kept").count() == 2
    assert [name for name in listed(two) if name.startswith("kept")] == ["kept"]
    two.given.sql("DROP TABLE kept")
