"""Nodes of a lattice of levels, and counts rolled up along it."""
