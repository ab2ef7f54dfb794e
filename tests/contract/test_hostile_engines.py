"""Hostile names where records are not in memory: DuckDB and Spark have names of their own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, PlanError
from sfumato.release.plan import toml
from tests.contract.hostile import given, harmless

POLARS, NEARLY_ALIKE, SQL, TERMINAL = 0, 3, 4, 7


def plan(table: sf.Table, engine: str) -> sf.Plan:
    columns = {
        column.name: {
            "role": str(column.role),
            "kind": str(column.kind),
            **({"categories": list(column.categories)} if column.categories else {}),
        }
        for column in table.schema
    }
    return sf.Plan.parse(
        "\n".join(
            (
                toml.table("engine", {"use": engine, "memory": "512 MiB"}),
                toml.table("columns", columns),
                toml.table("steps", {"use": "mondrian", "k": 3}, array=True),
                toml.table("require", {"exposure": False, "k-anonymity": 3}),
                toml.table("measures", {}),
                toml.table("output", {"format": "parts", "suppressed": "~ ~"}),
            )
        )
    )


def released(table: sf.Table, engine: str, folder: Path) -> None:
    source = folder / "in.parquet"
    texts = [table[c.name].cast(pl.String) for c in table.schema if c.kind == "ordinal"]
    table.frame.with_columns(texts).write_parquet(source)
    sf.protect(source, plan(table, engine), 2**90, output=folder / "out")
    made = pl.read_parquet(folder / "out" / "data" / "*.parquet")
    assert made.columns == [c.name for c in table.schema if c.role != "identifier"]
    for name in table.schema.confidential:
        assert made[name].cast(pl.String).sort().equals(table[name].cast(pl.String).sort())
    for page in ("report.html", "evidence.json"):
        assert harmless((folder / "out" / page).read_bytes().decode())


@pytest.mark.parametrize("which", [POLARS, SQL, TERMINAL])
def test_duckdb(which: int, tmp_path: Path) -> None:
    released(given(which), "duckdb", tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("which", [POLARS, SQL])
def test_spark(which: int, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    released(given(which), "spark", tmp_path)


def test_names_that_databases_do_not_tell_apart(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="rename one of them"):
        released(given(NEARLY_ALIKE), "duckdb", tmp_path)


@pytest.mark.parametrize(
    "name", ["__number", "__suppressed/a", "__other", "__whose", "__key", "as published"]
)
def test_names_that_engines_use(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: [1, 1, 2, 2] * 5, "ill": ["a", "b"] * 10})
    table = sf.table(frame, quasi=[name], confidential=["ill"])
    with pytest.raises((PlanError, InputError), match="rename it"):
        released(table, "duckdb", tmp_path)
