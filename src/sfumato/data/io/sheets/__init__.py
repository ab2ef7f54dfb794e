"""Spreadsheets: one sheet of a workbook as a table, and a table as a workbook of one sheet."""

from __future__ import annotations

from .reading import read_sheet, sheet_cells
from .writing import write_ods, write_xlsx

__all__ = ["read_sheet", "sheet_cells", "write_ods", "write_xlsx"]
