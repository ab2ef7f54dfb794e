"""Rounding, adjustment and cell keys."""

ORDER = ("rounding", "adjustment", "cell_key")
