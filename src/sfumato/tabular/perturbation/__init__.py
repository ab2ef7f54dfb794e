"""Rounding, adjustment and cell keys."""
