"""Releases of tables with totals."""
