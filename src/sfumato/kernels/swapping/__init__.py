"""Swapping values by rank, within groups and between households."""
