"""Microaggregation: groups of at least k similar records, one search to a file."""
