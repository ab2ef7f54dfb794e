"""Noise addition and multiplication: one method to a file, with what an analyst can recover."""

from .correlated import CorrelatedNoise as CorrelatedNoise

ORDER = (
    "uncorrelated", "correlated", "normal_score", "resampled", "mixture", "coloured", "density",
    "multiplicative",
)  # fmt: skip
