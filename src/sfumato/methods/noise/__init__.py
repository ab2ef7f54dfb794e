"""Noise addition and multiplication: one method to a file, with what an analyst can recover."""

from .correlated import CorrelatedNoise as CorrelatedNoise
