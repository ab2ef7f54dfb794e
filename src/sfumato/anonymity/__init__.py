"""Searches for partitions in which every group holds at least k records."""
