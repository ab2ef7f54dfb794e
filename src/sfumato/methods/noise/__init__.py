"""Noise addition and multiplication, with what an analyst can recover."""

from .additive import CorrelatedNoise as CorrelatedNoise

ORDER = ("additive", "normal_score", "resampled", "multiplicative")
