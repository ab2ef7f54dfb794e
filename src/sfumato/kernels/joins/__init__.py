"""Least upper bounds of records, and what they cost."""
