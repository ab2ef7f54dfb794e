"""Microaggregation: groups of k similar points."""
