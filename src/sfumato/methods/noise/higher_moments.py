"""Moments above the second, freed from noise of a known distribution.

The cumulants of independent terms add up, and raw moments of independent factors multiply: either
way what the noise brought in can be taken out. The figures are consistent, and vary much more than
means and variances do: a fourth moment rests on the outermost few records.
"""

from __future__ import annotations

import numpy as np

LEAST = 4
"""Values that a fourth cumulant needs."""


def cumulants(values: np.ndarray, pull: float, rounded: bool) -> tuple[float, float]:
    """The third and fourth cumulant of masked values, before they were pulled to the mean by a
    factor; rounding to whole numbers takes 1/120 from the fourth (Sheppard)."""
    from scipy.stats import kstat

    present = values[~np.isnan(values)]
    if present.size < LEAST:
        return np.nan, np.nan
    unit = float(np.abs(present).max()) or 1.0
    scaled = present / unit
    scaled = scaled - scaled.mean()  # so that no digits are lost in its powers
    third, fourth = (float(kstat(scaled, n)) * (pull * unit) ** n for n in (3, 4))
    return third, fourth + (pull**4 / 120 if rounded else 0.0)


def of_cumulants(
    third: float, fourth: float, variance: float, noise_fourth: float
) -> dict[str, float]:
    """Central moments of the original, for noise that is symmetric."""
    return _named(third, fourth - noise_fourth + 3 * variance**2, variance)


def of_factors(
    values: np.ndarray, second: float, third: float, fourth: float, rounding: float
) -> dict[str, float]:
    """Central moments of the original, whose values were multiplied by factors with mean 1 and
    these raw moments; `rounding` is the share of values that rounding moved."""
    present = values[~np.isnan(values)]
    if present.size < LEAST:
        return _named(np.nan, np.nan, np.nan)
    unit = float(np.abs(present).max()) or 1.0
    raw = [float(np.mean((present / unit) ** power)) for power in (1, 2, 3, 4)]
    # Sheppard's corrections of raw moments, in the unit.
    step = rounding / unit**2
    raw[1] -= step / 12
    raw[2] -= step * raw[0] / 4
    raw[3] -= step * raw[1] / 2 + rounding / (80 * unit**4)
    m, two, three, four = raw[0], raw[1] / second, raw[2] / third, raw[3] / fourth
    return _named(
        (three - 3 * m * two + 2 * m**3) * unit**3,
        (four - 4 * m * three + 6 * m**2 * two - 3 * m**4) * unit**4,
        (two - m**2) * unit**2,
    )


def _named(third: float, fourth: float, variance: float) -> dict[str, float]:
    """Central moments; standardized ones where there is a variance (kurtosis is 3 if normal)."""
    found = {"third": third, "fourth": fourth}
    if variance > 0:
        found |= {"skewness": third / variance**1.5, "kurtosis": fourth / variance**2}
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}
