"""Files that are not what they seem end in an error that says which bound to raise."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import bounds
from sfumato.bounds import Limits, check_zip, from_json, unpacked
from sfumato.cli.app import run
from sfumato.data.io.text.blocks import blocks
from sfumato.errors import InputError, PlanError
from tests.release.large.test_killed import PLAN

SMALL = {"unpacked": "100 KB"}
ROWS = b"a,b\n" + b"1,2\n" * 100_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(match: str, *given: Any, **words: Any) -> InputError:
    with pytest.raises(InputError, match=match) as error:
        sf.read(*given, **words)
    assert "limits = {" in error.value.remedy
    return error.value


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte that becomes a megabyte, as 3 MB become 3 GB: the reading ends at the bound."""
    Path("x.csv.gz").write_bytes(gzip.compress(ROWS))
    refused("becomes more than 97.7 KiB when it is unpacked", "x.csv.gz", limits=SMALL)
    assert sf.read("x.csv.gz", limits={"unpacked": "1 MB"}).height == 100_000
    assert sf.read("x.csv.gz").height == 100_000  # 2 GiB are always allowed

    read: list[int] = []
    source = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(bytes(10_000_000))))
    unpacking = bounds.pieces(source, 1_000_000, "x", Limits(), 1000)
    with pytest.raises(InputError):
        read.extend(map(len, unpacking))
    assert sum(read) == 1_000_000
    monkeypatch.setattr(bounds, "_ALWAYS", 1000)
    refused("x.csv.gz becomes more than", "x.csv.gz")


def test_honest_files_may_become_64_times_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits().most(3_000_000) == 2 << 30
    assert Limits().most(1 << 30) == 64 << 30
    monkeypatch.setattr(bounds, "_ALWAYS", 1000)
    assert unpacked(gzip.compress(b"1" * 500), "x", Limits()) == b"1" * 500
    monkeypatch.setattr(bounds, "free_memory", lambda: 0)
    monkeypatch.setattr(bounds, "_FEW", 400)
    with pytest.raises(InputError, match="becomes more than 400 bytes"):
        unpacked(gzip.compress(b"1" * 500), "x", Limits())


def test_columns_are_counted_before_records_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.data.io.text import csv

    Path("x.csv").write_text(",".join(f"c{i}" for i in range(30)) + "\n" + ",".join("1" * 30))
    assert len(sf.read("x.csv", limits={"columns": 30}).names) == 30
    monkeypatch.setattr(csv, "_arrow_cells", None)  # nobody gets that far
    refused("x.csv has 30 columns, more than 29", "x.csv", limits={"columns": 29})


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.xlsx", "x.ods", "x.sav", "x.sqlite"])
def test_columns_are_bound_in_every_format(name: str) -> None:
    sf.write(sf.table({f"c{i}": [1, 2, 3] for i in range(30)}), name)
    refused("has 30 columns, more than 29", name, limits={"columns": 29})
    assert sf.read(name, limits={"columns": 30}).height == 3


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow", "x.sqlite", "x.xlsx"])
def test_a_long_cell_is_refused(name: str) -> None:
    sf.write(sf.table({"a": ["x", "y" * 5000], "b": [1, 2]}), name)
    error = refused("column 1 of .* has 4.9 KiB", name, limits={"cell": "1 KB"})
    assert "cell = 5000" in error.remedy
    assert sf.read(name, limits={"cell": 5000}).height == 2


def test_a_long_name_of_a_column_is_no_fault() -> None:
    Path("x.csv").write_text("a" * 200_000 + ",b\n1,2\n")
    with pytest.raises(InputError, match="the first line of"):
        sf.read("x.csv")


@pytest.mark.parametrize("name", ["x.xlsx", "x.ods"])
def test_a_workbook_that_unpacks_too_far_is_refused(name: str) -> None:
    sf.write(sf.table({"a": list(range(4000))}), name)
    refused("becomes more than 97.7 KiB", name, limits=SMALL)
    assert sf.read(name, limits={"unpacked": "4 MB"}).height == 4000


def test_what_a_zip_file_says_of_its_parts_is_not_believed() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.xml", bytes(1_000_000))
    lying = made.getvalue().replace(struct.pack("<I", 1_000_000), struct.pack("<I", 10))
    with zipfile.ZipFile(io.BytesIO(lying)) as file:
        assert file.infolist()[0].file_size == 10
    with pytest.raises(InputError, match="becomes more than"):
        check_zip(lying, "x.xlsx", Limits(unpacked=100_000))
    check_zip(lying, "x.xlsx", Limits(unpacked=1_000_000))
    check_zip(b"no zip file", "x.xls", Limits(unpacked=1))


def changed(name: str, part: str, old: str, new: str) -> None:
    """A workbook with other words in one of its parts."""
    with zipfile.ZipFile(name) as file:
        parts = {one.filename: file.read(one) for one in file.infolist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode(), 1)
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as file:
        for one, content in parts.items():
            file.writestr(one, content)


def test_cells_at_the_corners_of_a_sheet_do_not_fill_the_memory() -> None:
    """Their reader would ask for room for all cells between them, and end the process."""
    table = sf.table({"a": [1, 2], "b": [3, 4]})
    sf.write(table, "x.xlsx")
    corner = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    changed("x.xlsx", "xl/worksheets/sheet1.xml", "</sheetData>", corner)
    refused("x.xlsx becomes 512.0 GiB", "x.xlsx")
    sf.write(table, "x.ods")
    many = '<table:table-row table:number-rows-repeated="1048576">'
    cell = '<table:table-cell table:number-columns-repeated="16384" office:value-type="float" '
    row = f'{many}{cell}office:value="1"/></table:table-row></table:table>'
    changed("x.ods", "content.xml", "</table:table>", row)
    refused("x.ods becomes 512.0 GiB", "x.ods")


def test_empty_cells_up_to_the_edge_of_a_sheet_are_no_bomb() -> None:
    """As office programs write them."""
    sf.write(sf.table({"a": [1, 2], "b": [3, 4]}), "x.ods")
    many = '<table:table-row table:number-rows-repeated="1048573">'
    row = f'{many}<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    changed("x.ods", "content.xml", "</table:table>", f"{row}</table:table>")
    assert sf.read("x.ods").height == 2


def test_a_parquet_file_that_claims_too_much_is_refused() -> None:
    """A constant column takes no room in the file, and all of it in memory."""
    zeros = pa.table({"a": pa.array([0] * 50_000, pa.int64())})
    parquet.write_table(zeros, "x.parquet", compression="zstd")
    assert Path("x.parquet").stat().st_size < 2000
    refused("x.parquet becomes 390.6 KiB", "x.parquet", limits=SMALL)
    assert sf.read("x.parquet", limits={"unpacked": "400 KB"}).height == 50_000
    assert sf.read("x.parquet").height == 50_000


def test_arrow_files_are_counted_batch_by_batch() -> None:
    frame = pl.DataFrame({"a": [0] * 50_000})
    frame.write_ipc("x.arrow", compression="zstd")
    refused("x.arrow becomes more than", "x.arrow", limits=SMALL)
    frame.write_ipc_stream("y.arrow", compression="zstd")
    refused("y.arrow becomes more than", "y.arrow", limits=SMALL)
    assert sf.read("x.arrow").height == sf.read("y.arrow").height == 50_000


def test_compressed_spss_files_are_counted_by_their_blocks() -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pl.DataFrame({"a": [0.5] * 50_000})
    pyreadstat.write_sav(frame, "x.zsav", compress=True)
    refused("x.zsav becomes", "x.zsav", limits=SMALL)
    assert sf.read("x.zsav").height == 50_000


def test_blocks_of_text_are_bound_and_no_more_is_unpacked() -> None:
    Path("x.csv.gz").write_bytes(gzip.compress(ROWS))
    taken: list[int] = []
    found = blocks(Path("x.csv.gz"), "x", None, '"', 1000, Limits(unpacked=100_000))
    with pytest.raises(InputError, match="becomes more than"):
        taken.extend(map(len, found))
    assert 90_000 < sum(taken) <= 100_000


def test_engines_have_the_same_bounds() -> None:
    """By a plan, in a folder of files; the same files pass where the plan raises the bound."""
    Path("in").mkdir()
    rows = "id,pay\n" + "".join(f"{i},{100 + i % 7}\n" for i in range(20_000))
    Path("in/a.csv.gz").write_bytes(gzip.compress(rows.encode()))
    for limit, said in (
        ('{ unpacked = "50 KB" }', "becomes more than"),
        ("{ columns = 1 }", "has 2 columns"),
        ("{ cell = 4 }", "has 5 bytes"),
    ):
        plan = sf.Plan.parse(PLAN.replace("[input]\n", f"[input]\nlimits = {limit}\n"))
        with pytest.raises(InputError, match=said):
            sf.protect("in", plan, 2**90, output="release")
        assert not list(Path().glob("*release*"))
    raised = PLAN.replace("[input]\n", '[input]\nlimits = { unpacked = "1 MB" }\n')
    assert sf.protect("in", sf.Plan.parse(raised), 2**90, output="release") is not None


def test_limits_are_checked_and_stay_in_plans(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ({"rows": 3}, {"cell": "long"}, {"columns": "many"}, {"columns": 0}):
        with pytest.raises(InputError, match="limit"):
            Limits.of(wrong)
    with pytest.raises(PlanError, match="there is no limit 'rows'"):
        sf.Plan.parse("[input]\nlimits = { rows = 3 }\n")
    kept = sf.Plan.parse('[input]\nlimits = { cell = "20 MiB", columns = 7 }\n')
    assert sf.Plan.parse(kept.to_toml()).input.limits == {"cell": "20 MiB", "columns": 7}
    assert kept.input.options()["limits"] == kept.input.limits
    Path("x.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    with pytest.raises(SystemExit) as ended:
        run(["init", "x.csv", "--limit", "columns=2"])
    assert ended.value.code == 2
    assert "x.csv has 3 columns, more than 2" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        run(["init", "x.csv", "--limit", "columns=3"])
    assert ended.value.code == 0
    assert sf.Plan.read("x.toml").input.limits == {"columns": 3}


def test_deep_nesting_is_no_fault() -> None:
    deep = "[" * 100_000
    with pytest.raises(ValueError, match="too deeply"):
        from_json(deep)
    with pytest.raises(PlanError, match="nested too deeply"):
        sf.Plan.parse(f"x = {deep}")
    frame = pl.DataFrame({"a": [deep, "x"]})
    frame.write_csv("x.csv")
    assert sf.read("x.csv", kinds={"a": "nominal"}).height == 2
    assert sf.read("x.csv", kinds={"a": "set"}).height == 2
