"""Rounding, coding, randomized response and sampling of columns."""
