"""Equivalence classes: how large they are, and how unlike their records."""

ORDER = ("sizes", "ambiguity", "diameter")
