"""Workbooks: which sheet, which line holds names, and what is never written."""

from __future__ import annotations

import datetime as dt
import re
import struct
import zipfile
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.io import read_with_notes, write_file
from sfumato.errors import InputError, OutputError

CELL = '<c t="inlineStr"><is><t>{}</t></is></c>'


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    """A workbook as another program writes it: several sheets, cells without places."""
    plain = sf.table({"x": ["a"]})
    write_file(plain, path)
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name).decode() for name in old.namelist()}
    book, rels, types = "", "", ""
    for i, (name, rows) in enumerate(sheets.items(), 1):
        cells = [
            "".join(
                "<c/>"
                if v is None
                else CELL.format(v)
                if isinstance(v, str)
                else f"<c><v>{v}</v></c>"
                for v in row
            )
            for row in rows
        ]
        body = "".join(f"<row>{row}</row>" for row in cells)
        head, _, tail = parts["xl/worksheets/sheet1.xml"].partition("<sheetData>")
        parts[f"xl/worksheets/s{i}.xml"] = f"{head}<sheetData>{body}</sheetData></worksheet>"
        assert tail
        book += f'<sheet name="{name}" sheetId="{i}" r:id="s{i}"/>'
        rels += f'<Relationship Id="s{i}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/s{i}.xml"/>'  # noqa: E501
        types += f'<Override PartName="/xl/worksheets/s{i}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'  # noqa: E501
    parts["xl/workbook.xml"] = re.sub(r"<sheet name.*?/>", book, parts["xl/workbook.xml"])
    rel = "xl/_rels/workbook.xml.rels"
    parts[rel] = re.sub(r'<Relationship Id="rId1".*?/>', rels, parts[rel])
    parts["[Content_Types].xml"] = re.sub(
        r'<Override PartName="/xl/worksheets/sheet1.xml".*?/>', types, parts["[Content_Types].xml"]
    )
    with zipfile.ZipFile(path, "w") as new:
        for name, text in parts.items():
            new.writestr(name, text)
    return path


PEOPLE = [["age", "town"], [31, "Bonn"], [40, "Kiel"], [None, "Bonn"]]


def test_the_only_sheet_with_data_is_read(tmp_path: Path) -> None:
    found, notes = read_with_notes(workbook(tmp_path / "w.xlsx", {"Empty": [], "People": PEOPLE}))
    assert found.frame.rows() == [(31, "Bonn"), (40, "Kiel"), (None, "Bonn")]
    assert "sheet: 'People' (the only one with data)" in notes


def test_several_sheets_are_listed_and_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "w.xlsx", {"A": PEOPLE, "B": [["x", "y"], [1, 2]]})
    with pytest.raises(InputError, match="several sheets with data: 'A', 'B'"):
        sf.read(path)
    assert sf.read(path, sheet="B").frame.rows() == [(1, 2)]
    with pytest.raises(InputError, match="no sheet 'C'"):
        sf.read(path, sheet="C")


def test_a_sheet_without_a_header_keeps_its_first_record(tmp_path: Path) -> None:
    found, notes = read_with_notes(workbook(tmp_path / "w.xlsx", {"A": PEOPLE[1:] * 4}))
    assert found.names == ["column_1", "column_2"]
    assert found.height == 12
    assert any("header = true" in note for note in notes)


def test_a_title_above_the_table_is_skipped(tmp_path: Path) -> None:
    rows = [["Register 2020", None, None], [None, None, None], ["a", "b", "c"], [1, 2, 3]]
    found, notes = read_with_notes(workbook(tmp_path / "w.xlsx", {"A": rows}))
    assert found.names == ["a", "b", "c"]
    assert found.frame.rows() == [(1, 2, 3)]
    assert any("above the table" in note for note in notes)


def test_numbers_of_a_sheet_are_no_thousands(tmp_path: Path) -> None:
    rows = [["pay", "k"], [1.234, "a"], [5.678, "b"]]
    found, notes = read_with_notes(workbook(tmp_path / "w.xlsx", {"A": rows}))
    assert found["pay"].to_list() == [1.234, 5.678]
    assert not any("thousands" in note for note in notes)


@pytest.mark.parametrize("suffix", ["xlsx", "ods"])
def test_a_workbook_holds_nothing_but_the_cells(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    write_file(sf.table({"w": ["=cmd|' /c calc'!A1", "+1", "a"]}), path)
    with zipfile.ZipFile(path) as archive:
        assert not [n for n in archive.namelist() if "meta" in n.lower() and "META-INF" not in n]
        assert not [n for n in archive.namelist() if "docProps" in n]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert str(tmp_path) not in text
    assert "<f>" not in text
    assert "table:formula" not in text
    for word in ("creator", "author", "lastModifiedBy", "created"):
        assert word not in text


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["a\x01", "b"], "a control character"),
        (["", "b"], "an empty text"),
        (["x" * 40_000, "b"], "more than 32,767 characters"),
        ([None, "b"], "no value at all"),
    ],
)
def test_what_no_sheet_holds_is_refused(cells: list[str | None], what: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=what) as refused:
        write_file(sf.table({"w": cells}), tmp_path / "t.xlsx")
    assert "parquet" in (refused.value.remedy or "")
    assert list(tmp_path.iterdir()) == []


def test_options_of_text_files_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "w.xlsx", {"A": PEOPLE})
    with pytest.raises(InputError, match="delimiter cannot be used with xlsx"):
        sf.read(path, delimiter=";")


def test_old_workbooks_are_read_but_not_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="xls is read but not written") as refused:
        sf.write(sf.table({"a": [1]}), tmp_path / "t.xls")
    assert "xlsx" in (refused.value.remedy or "")


def test_a_broken_workbook_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        sf.read(tmp_path / "t.xlsx")


def test_sentinels_and_missing_words_apply(tmp_path: Path) -> None:
    rows = [["pay", "k"], [100, "a"], ["N", "b"], [999, "c"], [250, "k.A."]]
    path = workbook(tmp_path / "w.xlsx", {"A": rows})
    found = sf.read(path, sentinels={"pay": ["N", 999]}, missing=["", "k.A."])
    assert found["pay"].to_list() == [100, None, None, 250]
    assert found["k"].to_list() == ["a", "b", "c", None]
    assert found["pay"].dtype == pl.Int64


@pytest.mark.parametrize("suffix", ["xlsx", "ods"])
def test_everyone_reads_numbers_to_the_last_digit(suffix: str, tmp_path: Path) -> None:
    values = [1.5e-9, 1e-12, 0.5, 1 / 3, 1e300, -1e-300, 5e-324, 1234567.8901234567, 1e17, 1e21]
    codes = ["12345678901234567890", "007"] * 5
    path = tmp_path / f"t.{suffix}"
    sf.write(sf.table({"x": values, "code": codes}), path)
    found = sf.read(path)
    assert found["x"].to_list() == values
    assert found["code"].to_list() == codes


def binary(path: Path, rows: list[list[object]]) -> Path:
    """An XLSB of one sheet: records of a number, a length and a body."""

    def record(kind: int, body: bytes = b"") -> bytes:
        number = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        return number + bytes([len(body)]) + body

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode("utf-16-le")

    cells = b""
    for i, row in enumerate(rows):
        cells += record(0, struct.pack("<I", i) + bytes(13))
        for j, value in enumerate(row):
            place = struct.pack("<II", j, 0)
            if isinstance(value, str):
                cells += record(6, place + text(value))
            elif value is not None:
                cells += record(5, place + struct.pack("<d", value))
    size = struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    sheet = record(129) + record(148, size) + record(145) + cells + record(146) + record(130)
    listed = record(156, struct.pack("<II", 0, 1) + text("rId1") + text("People"))
    book = record(131) + record(143) + listed + record(144) + record(132)
    office = "http://schemas.openxmlformats.org"
    rels = (
        f'<Relationships xmlns="{office}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.bin"/></Relationships>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", book)
        archive.writestr("xl/_rels/workbook.bin.rels", rels)
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
    return path


def test_binary_workbooks_are_read(tmp_path: Path) -> None:
    rows = [["pay", "town"], [1.5, "Bonn"], [None, "Köln"], [1 / 3, "Kiel"]]
    found = sf.read(binary(tmp_path / "t.xlsb", rows))
    assert found.frame.rows() == [(1.5, "Bonn"), (None, "Köln"), (1 / 3, "Kiel")]


def test_old_workbooks_are_read(tmp_path: Path) -> None:
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    day, moment = xlwt.easyxf(num_format_str="yyyy-mm-dd"), xlwt.easyxf(num_format_str="h:mm")
    sheet = book.add_sheet("People")
    for j, name in enumerate(("n", "pay", "town", "born", "seen", "ill")):
        sheet.write(0, j, name)
    born, seen = dt.date(1999, 12, 31), dt.datetime(2020, 1, 2, 3, 4, 5)
    for i, pay in enumerate((0.1, 1 / 3, 1e17), 1):
        for j, value in enumerate((i, pay, "Köln", born, seen, i < 2)):
            sheet.write(i, j, value, {3: day, 4: moment}.get(j, xlwt.Style.default_style))
    book.add_sheet("Empty")
    book.save(str(tmp_path / "t.xls"))
    found, notes = read_with_notes(tmp_path / "t.xls")
    pays = zip((0.1, 1 / 3, 1e17), (True, False, False), strict=True)
    assert found.frame.rows() == [
        (i, pay, "Köln", born, seen, ill) for i, (pay, ill) in enumerate(pays, 1)
    ]
    assert notes == ["sheet: 'People' (the only one with data)"]


def test_texts_with_decimal_commas_are_numbers_where_they_are_declared(tmp_path: Path) -> None:
    pay = [["Gehalt", "Faktor"], ["4.502,52", 1.234], ["k.A.", 47.128], ["38,5", 2.5]]
    book = workbook(tmp_path / "pay.xlsx", {"Personal": pay})
    assert sf.read(book)["Gehalt"].dtype == pl.String
    kinds = {"Gehalt": "continuous", "Faktor": "continuous"}
    told = sf.read(book, kinds=kinds, sentinels={"Gehalt": ["k.A."]})
    assert told["Gehalt"].to_list() == [4502.52, None, 38.5]
    assert told["Faktor"].to_list() == [1.234, 47.128, 2.5]
