"""Workbooks of one sheet, as XLSX and ODS: written here, so that they hold the cells and nothing
else, neither an author nor a clock, and the same table gives the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from ...schema import SUPPRESSED
from ...table import Table
from .cells import sheet_columns

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#13;"))
_SHEET = "data"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"

_XLSX_PARTS = {
    "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
    '+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_CONTENT}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_CONTENT}.worksheet+xml"/>'
    "</Types>",
    "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    f'<sheet name="{_SHEET}" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    # Style 1 is a date, 2 a moment, 3 a text.
    "xl/styles.xml": f'{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="2">'
    '<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    "<fonts><font/></fonts><fills><fill/></fills><borders><border/></borders>"
    "<cellStyleXfs><xf/></cellStyleXfs><cellXfs>"
    '<xf numFmtId="0"/><xf numFmtId="164" applyNumberFormat="1"/>'
    '<xf numFmtId="165" applyNumberFormat="1"/><xf numFmtId="49" applyNumberFormat="1"/>'
    "</cellXfs></styleSheet>",
}


def write_xlsx(table: Table, path: Path, *, suppressed: str = SUPPRESSED) -> None:
    """A workbook for Excel; text stays text, whatever it begins with."""
    rows = _cells(table, suppressed, _xlsx_text, _xlsx_value).with_row_index("row", 1)
    number = pl.col("row").cast(pl.String)
    placed = [
        pl.when(cell != "").then(pl.concat_str(pl.lit(f'<c r="{_letters(i)}'), number, cell))
        for i, cell in enumerate(map(pl.col, rows.columns[1:]))
    ]
    cells = [cell.otherwise(pl.lit("")) for cell in placed]
    lines = rows.select(
        pl.concat_str(pl.lit('<row r="'), number, pl.lit('">'), *cells, pl.lit("</row>"))
    ).to_series()
    head, tail = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>', "</sheetData></worksheet>"
    body = head + "".join(lines.to_list()) + tail
    _zip(path, {**_XLSX_PARTS, "xl/worksheets/sheet1.xml": body})


def _cells(
    table: Table,
    mark: str,
    text: Callable[[pl.Expr], pl.Expr],
    value: Callable[[str, pl.Expr], pl.Expr],
    *,
    nothing: str = "",
    tabs: bool = True,
) -> pl.DataFrame:
    """All cells as XML, the names first: the mark in the hidden cells, and `nothing` in those that
    miss a value."""
    names = [text(pl.lit(name)).alias(str(i)) for i, name in enumerate(table.names)]
    marked = text(pl.lit(mark)) if mark else pl.lit(nothing)
    columns = []
    for i, column in enumerate(sheet_columns(table, mark, tabs=tabs)):
        values = pl.lit(column.values)
        made = text(values) if column.kind == "text" else value(column.kind, values)
        filled = pl.when(pl.lit(column.marked)).then(marked).otherwise(made).fill_null(nothing)
        columns.append(pl.select(filled.alias(str(i))).to_series())
    return pl.concat([pl.select(names), pl.DataFrame(columns)])


def _xlsx_text(text: pl.Expr) -> pl.Expr:
    # A text that a reader would decode as a character, such as _x0041_, is made to stay.
    shown = _escaped(text.str.replace_all("_x", "_x005F_x", literal=True))
    opened = pl.lit('" t="inlineStr" s="3"><is><t xml:space="preserve">')
    return opened + shown + pl.lit("</t></is></c>")


def _xlsx_value(kind: str, values: pl.Expr) -> pl.Expr:
    """A cell behind its place; a day is a number, and a moment a part of one more."""
    if kind == "boolean":
        head, values = '" t="b"><v>', values.cast(pl.Int8)
    elif kind == "date":
        head, values = '" s="1"><v>', values.cast(pl.Int32) + 25_569
    elif kind == "moment":
        head, values = '" s="2"><v>', values.dt.epoch("s").cast(pl.Float64) / 86_400 + 25_569
    else:
        head = '"><v>'
    return pl.lit(head) + values.cast(pl.String) + pl.lit("</v></c>")


def _escaped(text: pl.Expr) -> pl.Expr:
    for plain, entity in _ENTITIES:
        text = text.str.replace_all(plain, entity, literal=True)
    return text


def _letters(index: int) -> str:
    """The name of a column in a sheet.

    >>> _letters(0), _letters(25), _letters(26), _letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(65 + rest) + name
    return name


_MANIFEST = (
    f'{_XML}<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0" manifest:version="1.2">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_ODS_TYPE}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)
_ODS_HEAD = (
    f'{_XML}<office:document-content xmlns:office="{_ODF}:office:1.0" '
    f'xmlns:table="{_ODF}:table:1.0" xmlns:text="{_ODF}:text:1.0" office:version="1.2">'
    f'<office:body><office:spreadsheet><table:table table:name="{_SHEET}">'
)
_ODS_TAIL = "</table:table></office:spreadsheet></office:body></office:document-content>"
_CELL = "<table:table-cell"


def write_ods(table: Table, path: Path, *, suppressed: str = SUPPRESSED) -> None:
    """A workbook for LibreOffice and its relatives."""
    cells = _cells(table, suppressed, _ods_text, _ods_value, nothing=f"{_CELL}/>", tabs=False)
    begin, end = pl.lit("<table:table-row>"), pl.lit("</table:table-row>")
    lines = cells.select(pl.concat_str(begin, pl.all(), end)).to_series()
    parts = {
        "mimetype": _ODS_TYPE,
        "content.xml": _ODS_HEAD + "".join(lines.to_list()) + _ODS_TAIL,
        "META-INF/manifest.xml": _MANIFEST,
    }
    _zip(path, parts)


def _ods_value(kind: str, values: pl.Expr) -> pl.Expr:
    if kind == "boolean":
        said, shown = 'boolean" office:boolean-value="', values.cast(pl.String)
    elif kind == "number":
        said, shown = 'float" office:value="', values.cast(pl.String)
    else:
        form = "%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:%S"
        said, shown = 'date" office:date-value="', values.dt.to_string(form)
    opened = pl.lit(f'{_CELL} office:value-type="{said}')
    return opened + shown + pl.lit('"><text:p>') + shown + pl.lit("</text:p></table:table-cell>")


def _ods_text(text: pl.Expr) -> pl.Expr:
    """Text in paragraphs; blanks that would be taken together are written one by one."""
    shown = _escaped(text).str.replace_all(" ", "<text:s/>", literal=True)
    shown = shown.str.replace_all("\n", "</text:p><text:p>", literal=True)
    opened = pl.lit(f'{_CELL} office:value-type="string"><text:p>')
    return opened + shown + pl.lit("</text:p></table:table-cell>")


def _zip(path: Path, parts: Mapping[str, str]) -> None:
    """The parts of a workbook; an ODS begins with its type, stored as it is."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, text in parts.items():
            info = zipfile.ZipInfo(name, _LONG_AGO)
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, text.encode(), compress_type=how)
    path.write_bytes(sink.getvalue())
