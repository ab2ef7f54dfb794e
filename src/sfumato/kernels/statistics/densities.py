"""Nine families of distributions: fitted quickly, compared with the data, and drawn from.

Poisson, exponential, normal, gamma, Weibull, log-normal, uniform, triangular and chi-square (Liew,
Choi & Liew 1985). Estimates are by maximum likelihood where that is closed (Poisson, exponential,
normal, log-normal) or takes a few Newton steps (gamma, Weibull), and by moments otherwise: the
least and the largest value, which would be the natural ends of a uniform and a triangular density,
are somebody's. Families of positive numbers start at zero; none is shifted.

The Kolmogorov-Smirnov distance only ranks: its tables hold for a distribution that was given, and
here the parameters come from the same data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parameters = Mapping[str, float]

DIGITS = 3
"""Significant digits of what is told of a fit."""
_STEPS = 50
_SMALL = 1e-10


class Fit(NamedTuple):
    """A family with its parameters, and how far it is from the data."""

    family: str
    parameters: dict[str, float]
    distance: float
    """Kolmogorov-Smirnov: the largest gap between the two distribution functions."""


class Sample(NamedTuple):
    """What the estimates need of the data, taken once."""

    x: Floats
    """sorted"""
    mean: float
    deviation: float
    skewness: float
    whole: bool
    log: Floats | None
    """logarithms, where all values are positive"""


def sample(x: Floats) -> Sample:
    """The data as the estimates need them; x has no missing and no infinite values."""
    x = np.sort(x)
    # In parts of the largest, since squares of very large and very small numbers leave the floats.
    unit = max(abs(float(x[0])), abs(float(x[-1])))
    mean = float(np.mean(x / unit)) * unit
    centred = x - mean
    unit = float(np.abs(centred).max())
    centred /= unit
    relative = math.sqrt(float(np.mean(centred**2)))
    deviation, skewness = relative * unit, float(np.mean((centred / relative) ** 3))
    log = np.log(x) if x[0] > 0 else None
    return Sample(x, mean, deviation, skewness, bool(np.all(x == np.floor(x))), log)


def _poisson(s: Sample) -> Parameters | None:
    return {"mean": s.mean} if s.whole and s.x[0] >= 0 and 0 < s.mean < 1e15 else None


def _exponential(s: Sample) -> Parameters | None:
    return {"mean": s.mean} if s.x[0] >= 0 and s.mean > 0 else None


def _normal(s: Sample) -> Parameters | None:
    return {"mean": s.mean, "deviation": s.deviation}


def _gamma(s: Sample) -> Parameters | None:
    """log(shape) - digamma(shape) = log(mean) - mean of logarithms, by Minka's Newton steps."""
    from scipy.special import polygamma, psi

    if s.log is None:
        return None
    gap = math.log(s.mean) - float(s.log.mean())
    if gap < 1e-12:
        return None  # nearly constant: the shape would be without bound
    shape = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(_STEPS):
        value = math.log(shape) - float(psi(shape)) - gap
        slope = 1 / shape - float(polygamma(1, shape))
        # Newton on 1 / shape, which is nearly linear and keeps the shape positive.
        step = 1 / shape + value / (shape**2 * slope)
        before, shape = shape, 1 / step if step > 0 else shape * 2
        if abs(shape - before) < _SMALL * shape:
            break
    return {"shape": shape, "scale": s.mean / shape}


def _weibull(s: Sample) -> Parameters | None:
    """sum x^c log x / sum x^c - 1/c = mean of logarithms, by Newton steps in c."""
    if s.log is None:
        return None
    centre = float(s.log.mean())
    y = s.log - centre
    spread = math.sqrt(float(np.mean(y**2)))
    if spread < 1e-12:
        return None
    y = y / spread
    top = float(y[-1])
    c = math.pi / math.sqrt(6)  # by moments of the logarithm, whose deviation is 1 here
    for _ in range(_STEPS):
        weight = np.exp(c * (y - top))
        total = float(weight.sum())
        first = float(weight @ y) / total
        second = float(weight @ (y * y)) / total
        step = (first - 1 / c) / (second - first**2 + 1 / c**2)
        before, c = c, max(c - step, c / 10)
        if abs(c - before) < _SMALL * c:
            break
    scale = math.log(float(np.mean(np.exp(c * (y - top))))) / c + top
    return {"shape": c / spread, "scale": math.exp(scale * spread + centre)}


def _log_normal(s: Sample) -> Parameters | None:
    if s.log is None:
        return None
    spread = float(s.log.std())
    return {"mean": float(s.log.mean()), "deviation": spread} if spread > 0 else None


def _uniform(s: Sample) -> Parameters | None:
    half = math.sqrt(3) * s.deviation
    low, high = s.mean - half, s.mean + half
    return {"low": low, "high": high} if low < high else None


def _triangular(s: Sample) -> Parameters | None:
    """The mode from the skewness, the width from the variance, the place from the mean.

    With the mode at the share t of the width w: variance w^2 (1 - t + t^2) / 18, mean low +
    w (1 + t) / 3, skewness sqrt(2) (1 - 2t)(2 - t)(1 + t) / (5 (1 - t + t^2)^1.5), which falls from
    0.566 to -0.566; beyond that the mode is at an end.
    """

    def skewness(t: float) -> float:
        return math.sqrt(2) * (1 - 2 * t) * (2 - t) * (1 + t) / (5 * (1 - t + t * t) ** 1.5)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if skewness(middle) > s.skewness else (low, middle)
    t = (low + high) / 2
    width = s.deviation * math.sqrt(18 / (1 - t + t * t))
    start = s.mean - width * (1 + t) / 3
    end = start + width
    return {"low": start, "mode": min(start + t * width, end), "high": end} if start < end else None


def _chi_square(s: Sample) -> Parameters | None:
    return {"freedom": s.mean} if s.x[0] >= 0 and s.mean > 0 else None


_FITS: dict[str, Callable[[Sample], Parameters | None]] = {
    "poisson": _poisson,
    "exponential": _exponential,
    "normal": _normal,
    "gamma": _gamma,
    "weibull": _weibull,
    "log-normal": _log_normal,
    "uniform": _uniform,
    "triangular": _triangular,
    "chi-square": _chi_square,
}
FAMILIES = tuple(_FITS)


def distribution(family: str, parameters: Parameters, x: Floats) -> Floats:
    """The family's distribution function at x.

    >>> distribution("uniform", {"low": 0.0, "high": 4.0}, np.array([1.0, 9.0])).tolist()
    [0.25, 1.0]
    """
    from scipy import special

    p = parameters
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        found: Floats
        if family == "poisson":
            found = np.where(x < 0, 0.0, special.pdtr(np.maximum(np.floor(x), 0.0), p["mean"]))
        elif family == "exponential":
            found = -np.expm1(-np.maximum(x, 0.0) / p["mean"])
        elif family == "normal":
            found = special.ndtr((x - p["mean"]) / p["deviation"])
        elif family == "gamma":
            found = special.gammainc(p["shape"], np.maximum(x, 0.0) / p["scale"])
        elif family == "weibull":
            found = -np.expm1(-((np.maximum(x, 0.0) / p["scale"]) ** p["shape"]))
        elif family == "log-normal":
            z = (np.log(np.maximum(x, 0.0)) - p["mean"]) / p["deviation"]
            found = np.where(x > 0, special.ndtr(z), 0.0)
        elif family == "uniform":
            found = np.clip((x - p["low"]) / (p["high"] - p["low"]), 0.0, 1.0)
        elif family == "triangular":
            found = _triangle(p, x)
        elif family == "chi-square":
            found = special.gammainc(p["freedom"] / 2, np.maximum(x, 0.0) / 2)
        else:
            raise ValueError(f"there is no family {family!r}: one of {', '.join(FAMILIES)}")
    return found


def _triangle(p: Parameters, x: Floats) -> Floats:
    low, mode, high = p["low"], p["mode"], p["high"]
    z = np.clip(x, low, high)
    width = high - low
    left = (z - low) / width * ((z - low) / (mode - low)) if mode > low else np.zeros_like(z)
    right = 1 - (high - z) / width * ((high - z) / (high - mode)) if mode < high else left
    return np.where(z < mode, left, right)


def ks_distance(family: str, parameters: Parameters, x: Floats) -> float:
    """The largest gap between the family's distribution function and that of the sorted data.

    Between two values neither function falls, so that the largest gap is at a value or just before
    it; ties and the steps of a Poisson distribution are met exactly.
    """
    n = x.size
    starts = np.flatnonzero(np.concatenate(([True], x[1:] != x[:-1])))
    below = starts / n
    upto = np.append(starts[1:], n) / n
    values = x[starts]
    at = distribution(family, parameters, values)
    before = distribution(family, parameters, np.ceil(values) - 1) if family == "poisson" else at
    return min(1.0, float(max(np.abs(upto - at).max(), np.abs(below - before).max())))


def fit(x: Floats, families: tuple[str, ...] = FAMILIES) -> list[Fit]:
    """The families that could hold these numbers, fitted, the nearest first.

    x has no missing values. A constant column has no density: nothing is returned.

    >>> x = np.random.default_rng(0).exponential(3.0, 20_000)
    >>> best = fit(x)[0]
    >>> best.family in ("exponential", "gamma", "weibull"), best.distance < 0.01
    (True, True)
    """
    if not x.size or x.min() == x.max():
        return []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        data = sample(x)
        found = []
        for family in families:
            made = _FITS[family](data) if math.isfinite(data.deviation) else None
            if made is None or not all(math.isfinite(value) for value in made.values()):
                continue
            distance = ks_distance(family, made, data.x)
            if math.isfinite(distance):
                found.append(Fit(family, dict(made), distance))
    return sorted(found, key=lambda one: one.distance)


def draw(found: Fit, n: int, rng: np.random.Generator) -> Floats:
    """n numbers of the fitted family."""
    p = found.parameters
    ways: dict[str, Callable[[], Floats]] = {
        "poisson": lambda: rng.poisson(p["mean"], n).astype(np.float64),
        "exponential": lambda: rng.exponential(p["mean"], n),
        "normal": lambda: rng.normal(p["mean"], p["deviation"], n),
        "gamma": lambda: rng.gamma(p["shape"], p["scale"], n),
        "weibull": lambda: p["scale"] * rng.weibull(p["shape"], n),
        "log-normal": lambda: rng.lognormal(p["mean"], p["deviation"], n),
        "uniform": lambda: rng.uniform(p["low"], p["high"], n),
        "triangular": lambda: rng.triangular(p["low"], p["mode"], p["high"], n),
        "chi-square": lambda: rng.chisquare(p["freedom"], n),
    }
    return ways[found.family]()


def published(found: Fit) -> dict[str, Any]:
    """What may be told of a fit: figures of three significant digits. Exact sums and squares of a
    sample would let those who know the rest of it work out the last values.

    >>> published(Fit("normal", {"mean": 56518.83, "deviation": 24797.7}, 0.01234567))
    {'family': 'normal', 'parameters': {'mean': 56500.0, 'deviation': 24800.0},
     'ks_distance': 0.0123}
    """
    return {
        "family": found.family,
        "parameters": {name: short(value) for name, value in found.parameters.items()},
        "ks_distance": short(found.distance),
    }


def short(value: float) -> float:
    """The number in three significant digits.

    >>> short(31234.5), short(-0.00098765), short(0.0)
    (31200.0, -0.000988, 0.0)
    """
    return float(f"{value:.{DIGITS}g}")
