"""Comparing records: nearest, k-th nearest, own rank, agreement."""
