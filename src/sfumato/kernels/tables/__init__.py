"""Cells of tables with totals."""
