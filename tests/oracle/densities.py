"""Distributions as scipy has them, and the Kolmogorov-Smirnov distance by its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats


def frozen(family: str, p: Mapping[str, float]) -> Any:
    """The fitted distribution by scipy.stats."""
    made = {
        "poisson": lambda: stats.poisson(p["mean"]),
        "exponential": lambda: stats.expon(scale=p["mean"]),
        "normal": lambda: stats.norm(p["mean"], p["deviation"]),
        "gamma": lambda: stats.gamma(p["shape"], scale=p["scale"]),
        "weibull": lambda: stats.weibull_min(p["shape"], scale=p["scale"]),
        "log-normal": lambda: stats.lognorm(p["deviation"], scale=np.exp(p["mean"])),
        "uniform": lambda: stats.uniform(p["low"], p["high"] - p["low"]),
        "triangular": lambda: stats.triang(
            (p["mode"] - p["low"]) / (p["high"] - p["low"]), p["low"], p["high"] - p["low"]
        ),
        "chi-square": lambda: stats.chi2(p["freedom"]),
    }
    return made[family]()


def ks_distance(family: str, p: Mapping[str, float], x: np.ndarray) -> float:
    """The largest gap, looked for at every value, just before it, and (for whole numbers) at every
    whole number around."""
    law = frozen(family, p)
    places = list(x)
    if family == "poisson":
        places += list(np.arange(np.floor(x.min()) - 2, np.ceil(x.max()) + 3))
    gaps = []
    for place in places:
        gaps.append(abs(np.mean(x <= place) - law.cdf(place)))
        before = law.cdf(np.ceil(place) - 1) if family == "poisson" else law.cdf(place)
        gaps.append(abs(np.mean(x < place) - before))
    return float(max(gaps))


def most_kept(before: list[int], counts: list[int]) -> int:
    """The most places that can stay as they are if each value must occur so often."""
    return sum(min(before.count(value), count) for value, count in enumerate(counts))
