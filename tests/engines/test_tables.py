"""Tables are added up where their records are: one plan and one seed give one release.

The table in memory is the oracle; tests/tabular/cells checks it beside a plain dictionary.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.data.table import Table, table
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.merging import merged
from sfumato.engines.relation import Relation, Whole
from sfumato.errors import InputError, MethodError, ParameterError, PlanError
from sfumato.release.tables.run import run_table
from sfumato.tabular.cells import tallying
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.table import CellTable
from tests.engines.divided import Divided
from tests.engines.people import in_pieces

SEED = 2**90 + 7
PLANS = {
    "holdings": """
dimensions = ["industry", "region"]
value = "turnover"
weight = "weight"
holding = "firm"
request = "asked"
[[table.rules]]
use = "p-percent"
p = 15
[[table.rules]]
use = "request"
""",
    "counts": """
dimensions = ["industry", "size"]
[[table.rules]]
use = "minimum-frequency"
minimum = 4
""",
    "linked": """
dimensions = [["industry", "region"], ["industry", "size"]]
value = "turnover"
holding = "firm"
depth = { industry = 1 }
statuses = "statuses.csv"
[[table.rules]]
use = "dominance"
n = 2
k = 80
""",
    "cell-key": """
dimensions = ["industry", "size"]
[[table.rules]]
use = "minimum-frequency"
[table.protect]
use = "cell-key"
""",
}
ENGINES = {
    "local": "",
    "duckdb": '[engine]\nuse = "duckdb"\nmemory = "512 MiB"\nthreads = 2\n',
    "spark": '[engine]\nuse = "spark"\nmaster = "local[2]"\nmemory = "1 GiB"\n',
}
COLUMNS = """
[columns]
code = "identifier"
industry = { kind = "nominal", poset = { kind = "prefix", lengths = [1] } }
"""


def firms(records: int = 500) -> pl.DataFrame:
    """Firms of holdings, some of them large, with gaps everywhere."""
    rng = np.random.default_rng(5)
    industry = rng.choice(["11", "12", "21", "22", "23", "31"], records)

    def gaps(values: Any, share: float = 0.04) -> pl.Series:
        return pl.Series(values).set(pl.Series(rng.random(records) < share), None)

    return pl.DataFrame(
        {
            "code": gaps([f"f{i % 430:04d}" for i in range(records)]),
            "industry": industry,
            "region": gaps(rng.choice(["North", "South", "West"], records)),
            "size": rng.integers(1, 4, records),
            "turnover": gaps(np.round(rng.lognormal(3, 1.6, records), 2)),
            "weight": rng.choice([1.0, 1.1, 2.5], records),
            "firm": gaps([f"h{i}" for i in rng.integers(0, records // 2, records)], 0.2),
            "asked": rng.integers(0, 40, records) == 0,
            "key": np.floor(rng.random(records) * 2**30) / 2**30,
        }
    )


def plan(name: str, engine: str) -> sf.Plan:
    """The plan of that name for an engine."""
    return sf.Plan.parse(f"{ENGINES[engine]}{COLUMNS}[table]\n{PLANS[name]}")


def released(name: str, engine: str, source: Path, folder: Path) -> list[bytes]:
    """What is published and what is kept of a table."""
    (folder / "statuses.csv").write_text("industry,region,status\n2*,North,sensitive\n")
    release = run_table(
        plan(name, engine), folder, source=str(source), seed=SEED, output=folder / "release"
    )
    release.save(folder / "release")
    assert not list(folder.glob("*scratch*")), "what an engine wrote aside is still there"
    [data] = (folder / "release").glob("data.*")
    evidence = json.loads((folder / "release" / "evidence.json").read_text())
    kept = pl.read_parquet(folder / "release.private" / "cells.parquet")
    return [data.read_bytes(), json.dumps(evidence).encode(), kept.write_ipc(None).getvalue()]


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[bytes]]:
    """What the engine in memory makes of each plan."""

    @functools.cache
    def found(name: str) -> list[bytes]:
        folder = tmp_path_factory.mktemp(name)
        return released(name, "local", in_pieces(firms(), folder / "in", 1), folder)

    return found


CASES: list[Any] = [(name, "duckdb", pieces) for name in PLANS for pieces in (1, 2, 8)]
SPARK = [pytest.param("holdings", "spark", 2, marks=pytest.mark.spark)]


@pytest.mark.parametrize(("name", "engine", "pieces"), [*CASES, *SPARK])
def test_an_engine_gives_the_release_of_the_one_in_memory(
    name: str, engine: str, pieces: int, in_memory: Callable[[str], list[bytes]], tmp_path: Path
) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark")
        if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
            pytest.skip("Java is not installed")
    source = in_pieces(firms(), tmp_path / "in", pieces)
    assert released(name, engine, source, tmp_path) == in_memory(name)


def bits(found: Any) -> Any:
    """All that a table holds, as bits."""
    if isinstance(found, np.ndarray):
        return str(found.dtype), found.shape, found.tobytes()
    if isinstance(found, pl.DataFrame):
        return found.rows()
    if isinstance(found, pl.Series):
        return sorted(set(found.drop_nulls().to_list()))
    if isinstance(found, tuple):
        return [bits(one) for one in found]
    if is_dataclass(found):
        return [bits(getattr(found, field.name)) for field in fields(found)]
    return found


EVERYTHING: dict[str, Any] = {
    "dimensions": [["industry", "region"], ["industry", "size"]],
    "value": "turnover",
    "weight": "weight",
    "holding": "firm",
    "request": "asked",
    "hierarchies": {"industry": [{c: c[0] for c in ("11", "12", "21", "22", "23", "31")}]},
}


def made(data: Any, **changes: Any) -> CellTable:
    """A table of all that records can tell."""
    return from_microdata(data, **{**EVERYTHING, **changes}, rng=np.random.default_rng(3))


def of_firms() -> Table:
    """With a column that tells who is who."""
    return table(firms(), identifier=["code"])


@pytest.mark.spark
def test_cells_are_the_same_in_any_number_of_partitions(engine: Any) -> None:
    assert bits(made(engine.of(of_firms()))) == bits(made(of_firms()))


@pytest.mark.parametrize("change", [{}, {"holding": ""}, {"record_key": "key"}, {"value": None}])
def test_cells_are_the_same_in_any_slices(change: dict[str, Any]) -> None:
    expected = bits(made(of_firms(), **change))
    with DuckDB(memory="512 MiB", threads=2) as engine:
        for rows in (29, 1000):
            assert bits(made(engine.hold(of_firms(), rows=rows), **change)) == expected


@st.composite
def amounts(draw: st.DrawFn) -> pl.DataFrame:
    """Records whose sums round, cancel and tie."""
    n = draw(st.integers(1, 40))
    amount = st.one_of(
        st.none(), st.floats(-1e15, 1e15), st.sampled_from([0.1, 0.2, -0.3, 1.0, 1e-9, 0.0, -0.0])
    )
    lists = {
        "a": (st.sampled_from(["p", "q", None]), pl.String),
        "b": (st.integers(0, 3), pl.Int64),
        "x": (amount, pl.Float64),
        "w": (st.sampled_from([0.0, 0.1, 1.0, 3.7]), pl.Float64),
        "h": (st.sampled_from([None, 1.5, -0.0, 0.0, 2.0, 7.0]), pl.Float64),
    }
    return pl.DataFrame(
        {
            name: pl.Series(draw(st.lists(one, min_size=n, max_size=n)), dtype=dtype)
            for name, (one, dtype) in lists.items()
        }
    )


@given(amounts(), st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 2**20))
def test_parts_in_any_order_give_the_cells_of_the_whole(
    frame: pl.DataFrame, parts: int, holdings: bool, weights: bool, seed: int
) -> None:
    words: dict[str, Any] = {
        "weight": "w" if weights else "",
        "holding": "h" if holdings else "",
        "top": 3,
    }
    whole = table(frame)

    def cells(data: Relation) -> CellTable:
        rng = np.random.default_rng(1)
        return from_microdata(data, ["a", "b"], "x", rng=rng, **words)

    assert bits(cells(Divided(whole, parts=parts, seed=seed))) == bits(cells(Whole(whole)))


@pytest.mark.parametrize("parts", [1, 7, 200])
def test_summaries_meet_a_few_at_a_time(parts: int) -> None:
    met: list[int] = []

    def together(held: Iterable[bytes]) -> bytes:
        each = list(map(int, held))
        met.append(len(each))
        return str(sum(each)).encode()

    def summary(part: Table, numbers: np.ndarray) -> bytes:
        return str(part["x"].sum()).encode()

    data = Divided(table({"x": np.arange(1000)}), parts=parts)
    assert int(merged(data, summary, together)) == 499_500
    # Four, as evenly as chance has it; each summary is merged into another once.
    assert max(met, default=0) <= 16
    assert sum(met) - len(met) == parts - 1
    by_tens = merged(data, summary, together, lambda part, numbers: part["x"].to_numpy() // 10)
    assert int(by_tens) == 499_500


def cells_told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes come of the cells."""
    told: list[int] = []
    unpacked = tallying.unpacked

    def heard(raw: bytes) -> Any:
        told.append(len(raw))
        return unpacked(raw)

    monkeypatch.setattr(tallying, "unpacked", heard)
    return told


@pytest.mark.spark
def test_the_driver_gets_cells_and_no_record(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = cells_told(monkeypatch)
    n = 40_000
    frame = pl.DataFrame(
        {"a": np.arange(n) % 5, "b": np.arange(n) % 3, "h": np.arange(n) // 2, "x": np.arange(n)}
    )
    data = two.of(table(frame))
    two.session.most_fetched = 0
    found = from_microdata(data, ["a", "b"], "x", holding="h", top=2)
    assert found.frequency is not None
    assert found.frequency[0] == n
    # Parts of a Spark frame tell what they know, and dimensions have five values at most.
    assert two.session.most_fetched <= 10
    # Of 24 cells: a number, a row of sums and two contributors, twice; and how arrays are headed.
    assert told == [pytest.approx(2 * 24 * (8 + 8 * 9 + 2 * 32), abs=6000)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weight": -1.0}, "weight 'weight', row 333: it is -1"),
        ({"weight": None}, "weight 'weight', row 333: it is missing"),
        ({"turnover": float("inf")}, "value 'turnover', row 333: it is infinite"),
        ({"turnover": 1e300, "weight": 1e300}, "row 333: times its weight it is infinite"),
        ({"key": 1.0}, "record key 'key', row 333: it is not from 0 up to 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(change: dict[str, float | None], said: str) -> None:
    at = pl.int_range(pl.len()).is_in([332, 444])
    wrong = firms().with_columns(
        pl.when(at).then(pl.lit(value, pl.Float64)).otherwise(pl.col(name)).alias(name)
        for name, value in change.items()
    )
    words = {"holding": "", "record_key": "key"}
    with pytest.raises(MethodError, match=said):
        made(table(wrong), **words)
    with DuckDB(threads=1) as engine, pytest.raises(MethodError, match=said):
        made(engine.hold(table(wrong), rows=50), **words)


def test_what_holds_no_numbers_is_told_with_its_kind() -> None:
    with DuckDB(threads=1) as engine, pytest.raises(MethodError, match="nominal values, not"):
        made(engine.hold(of_firms(), rows=50), value="industry")
    nothing = firms().with_columns(turnover=pl.lit(None, pl.String))
    with DuckDB(threads=1) as engine:
        found = made(engine.hold(table(nothing), rows=50))
    assert bits(found) == bits(made(table(nothing)))
    assert not found.values.any()


def test_a_path_is_added_up_where_it_is(tmp_path: Path) -> None:
    source = in_pieces(firms(), tmp_path / "in", 3)
    words: dict[str, Any] = {"weight": "weight", "holding": "firm", "seed": 3}
    dimensions = ["industry", "region"]
    here = sf.tabulate(firms(), dimensions, "turnover", **words)
    for engine in (None, "local", "duckdb", sf.method("duckdb", memory="512 MiB")):
        there = sf.tabulate(source, dimensions, "turnover", engine=engine, **words)
        assert bits(there) == bits(here)
    read = sf.tabulate(source, ["size"], engine="duckdb", reading={"kinds": {"size": "nominal"}})
    assert read.labels["size"].to_list() == ["Total", "1", "2", "3"]
    for wrong in ({"engine": "duckdb"}, {"reading": {"kinds": {}, "table": "x"}}):
        with pytest.raises(ParameterError, match="is in memory"):
            sf.tabulate(firms(), dimensions, **wrong)


def test_what_cannot_be_done_is_said_before_anything_is_read(tmp_path: Path) -> None:
    text = ENGINES["duckdb"] + '[input]\npath = "no.csv"\nsentinels = ["9"]\n[table]\n'
    cells = sf.Plan.parse(text + 'cells = "no cells.csv"')
    with pytest.raises(PlanError, match="on the engine duckdb") as caught:
        run_table(cells, tmp_path)
    told = [complaint.where for complaint in caught.value.complaints]
    assert told == ["[input] sentinels", "[table] cells"]
    assert all(complaint.remedy for complaint in caught.value.complaints)
    empty = sf.Plan.parse(ENGINES["duckdb"] + '[table]\ndimensions = ["t"]')
    pl.DataFrame({"t": pl.Series([], dtype=pl.String)}).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="no records"):
        run_table(empty, tmp_path, source=str(tmp_path / "none.parquet"))


def test_the_command_runs_the_engine_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_pieces(firms(), tmp_path / "in", 2)
    text = plan("counts", "local").to_toml() + '[input]\npath = "in"\nperson = "code"\n'
    (tmp_path / "plan.toml").write_text(text)
    opened: list[str] = []
    really = DuckDB.open

    def seen(self: DuckDB, source: Any, **options: Any) -> Any:
        opened.append(str(source))
        return really(self, source, **options)

    monkeypatch.setattr(DuckDB, "open", seen)

    def run(engine: str, out: str) -> Any:
        (tmp_path / out).parent.mkdir(exist_ok=True)
        words = [
            "--engine",
            engine,
            "--output",
            str(tmp_path / out),
            "--seed",
            "7",
            "--allow-guessable-seed",
            "--json",
        ]
        with pytest.raises(SystemExit) as left:
            command(["protect", str(tmp_path / "plan.toml"), *words])
        return left.value.code

    assert (run("local", "a/out"), opened) == (0, [])
    assert (run("duckdb", "b/out"), opened) == (0, [str(tmp_path / "in")])
    one, two = ((tmp_path / out / "out" / "data.csv").read_bytes() for out in "ab")
    assert one == two
    # The ledger beside a release knows these people, whichever engine counted them.
    many = firms()["code"].drop_nulls().n_unique()
    capsys.readouterr()
    assert [run("duckdb", "a/again"), run("local", "b/again")] == [3, 3]
    assert capsys.readouterr().err.count(f"known to this ledger is {many} (limit 0)") == 2
