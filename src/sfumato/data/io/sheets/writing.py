"""Workbooks of one sheet, as XLSX and ODS: written here, so that they hold the cells and nothing
else, neither an author nor a clock, and the same table gives the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl

from ...schema import SUPPRESSED
from ...table import Table
from .cells import SheetColumn, sheet_columns

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))
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
    columns = sheet_columns(table, suppressed)
    head = "".join(f'<c r="{_letters(i)}1" {_text_cell(n)}' for i, n in enumerate(table.names))
    rows = pl.DataFrame(
        [_xlsx_cells(c, i, suppressed) for i, c in enumerate(columns)]
    ).with_row_index("row", 2)
    number = pl.col("row").cast(pl.String)
    cells = [pl.col(str(i)).str.replace("#", number, literal=True) for i in range(len(columns))]
    lines = rows.select(
        pl.concat_str(pl.lit('<row r="'), number, pl.lit('">'), *cells, pl.lit("</row>"))
    ).to_series()
    body = (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData><row r="1">{head}</row>'
        + "".join(lines.to_list())
        + "</sheetData></worksheet>"
    )
    _zip(path, {**_XLSX_PARTS, "xl/worksheets/sheet1.xml": body})


def _text_cell(text: str) -> str:
    preserved = escape(_unread(text), {"\r": "&#13;"})
    return f't="inlineStr" s="3"><is><t xml:space="preserve">{preserved}</t></is></c>'


def _unread(text: str) -> str:
    """A text that a reader would decode as a character, such as _x0041_, made to stay."""
    return text.replace("_x", "_x005F_x")


def _xlsx_cells(column: SheetColumn, index: int, mark: str) -> pl.Series:
    """The cells of a column as XML, with # for the row's number; nothing where one is missing."""
    cell = f'<c r="{_letters(index)}#" '
    text = pl.lit(column.values)
    if column.kind == "text":
        shown = _escaped(text.str.replace_all("_x", "_x005F_x", literal=True))
        head, tail = 't="inlineStr" s="3"><is><t xml:space="preserve">', "</t></is></c>"
    elif column.kind == "boolean":
        head, shown, tail = 't="b"><v>', text.cast(pl.Int8).cast(pl.String), "</v></c>"
    elif column.kind == "date":
        days = text.cast(pl.Int32) + 25_569
        head, shown, tail = 's="1"><v>', days.cast(pl.String), "</v></c>"
    elif column.kind == "moment":
        days = text.dt.epoch("s").cast(pl.Float64) / 86_400 + 25_569
        head, shown, tail = 's="2"><v>', days.cast(pl.String), "</v></c>"
    else:
        head, shown, tail = "><v>", text.cast(pl.String), "</v></c>"
    made = pl.lit(cell + head) + shown + pl.lit(tail)
    return _filled(made, column, cell + _text_cell(mark) if mark else "", index)


def _filled(made: pl.Expr, column: SheetColumn, marked: str, index: int) -> pl.Series:
    """The mark in the hidden cells, and nothing at all in those that miss a value."""
    filled = pl.when(pl.lit(column.marked)).then(pl.lit(marked)).otherwise(made).fill_null("")
    return pl.select(filled.alias(str(index))).to_series()


def _escaped(text: pl.Expr) -> pl.Expr:
    for plain, entity in (*_ENTITIES, ("\r", "&#13;")):
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
    columns = sheet_columns(table, suppressed, tabs=False)
    head = pl.select([_ods_text(pl.lit(name)).alias(str(i)) for i, name in enumerate(table.names)])
    rows = pl.DataFrame([_ods_cells(c, i, suppressed) for i, c in enumerate(columns)])
    begin, end = pl.lit("<table:table-row>"), pl.lit("</table:table-row>")
    lines = pl.concat([head, rows]).select(pl.concat_str(begin, pl.all(), end)).to_series()
    parts = {
        "mimetype": _ODS_TYPE,
        "content.xml": _ODS_HEAD + "".join(lines.to_list()) + _ODS_TAIL,
        "META-INF/manifest.xml": _MANIFEST,
    }
    _zip(path, parts)


def _ods_cells(column: SheetColumn, index: int, mark: str) -> pl.Series:
    values = pl.lit(column.values)
    if column.kind == "text":
        made = _ods_text(values)
    elif column.kind == "boolean":
        made = _ods_value("boolean", "boolean-value", values.cast(pl.String))
    elif column.kind == "number":
        made = _ods_value("float", "value", values.cast(pl.String))
    else:
        form = "%Y-%m-%d" if column.kind == "date" else "%Y-%m-%dT%H:%M:%S"
        made = _ods_value("date", "date-value", values.dt.to_string(form))
    marked = pl.select(_ods_text(pl.lit(mark))).item() if mark else f"{_CELL}/>"
    filled = pl.when(pl.lit(column.marked)).then(pl.lit(marked)).otherwise(made)
    return pl.select(filled.fill_null(f"{_CELL}/>").alias(str(index))).to_series()


def _ods_value(kind: str, attribute: str, shown: pl.Expr) -> pl.Expr:
    opened = f'{_CELL} office:value-type="{kind}" office:{attribute}="'
    paragraph = pl.lit("<text:p>") + shown + pl.lit("</text:p>")
    return pl.lit(opened) + shown + pl.lit('">') + paragraph + pl.lit("</table:table-cell>")


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
