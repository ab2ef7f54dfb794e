"""Releases of more records than fit into memory: the same plan, run where the data are."""
