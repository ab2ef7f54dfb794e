"""How many records of a sample are unique in the population, estimated from class sizes alone.

A sample of n records was drawn from a population of N = n / share. `sizes` are the sizes of the
sample's equivalence classes. Every estimate is the share of the sample's records that nobody else
in the population looks like. Such a record is alone in the sample too, so that no estimate exceeds
the share of records that are alone, which is 0 when no class has size 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit

MODELS = ("pitman", "zayatz", "snb")
_SMALL_SHARE = 0.1
"""Sampling shares up to which Dankar's rule trusts Pitman's model."""
_LEAST_ALPHA = 1e-4
"""Below, Pitman's likelihood loses its digits."""
_FAR = 25.0
"""A fitted parameter this far out (on the scale of its logarithm) has run to its end."""
_CLOSE = {"xatol": 1e-7}
_RAN_AWAY = "the likelihood has no maximum: a parameter ran to its end"


class Estimate(NamedTuple):
    """One model's word."""

    share: float
    """of the records that are unique in the population; NaN where the model has no answer"""
    why_not: str = ""
    """why the model has no answer"""
    parameters: tuple[tuple[str, float], ...] = ()
    """what was fitted"""

    @property
    def found(self) -> bool:
        """Whether the model has an answer."""
        return not np.isnan(self.share)


def frequencies(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The class sizes that occur, and the classes that have each."""
    return np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)


def estimate(sizes: NDArray[np.int64], share: float, model: str) -> Estimate:
    """The estimate of "pitman", "zayatz", "snb" or, by their rule, "dankar"."""
    if not 0 < share <= 1:
        raise ValueError("the sampling share lies above 0 and is at most 1")
    if model == "dankar":
        return dankar(sizes, share)[1]
    size, many = frequencies(sizes)
    n = int((size * many).sum())
    alone = float(many[0] / n) if size[0] == 1 else 0.0
    if alone == 0.0 or share == 1.0:
        # Who is not alone in the sample is not alone in the population; the whole is its own.
        return Estimate(alone)
    fit = {"pitman": _pitman, "zayatz": _zayatz, "snb": _snb}[model]
    found = fit(size, many, share)
    return found._replace(share=min(found.share, alone)) if found.found else found


def dankar(sizes: NDArray[np.int64], share: float) -> tuple[str, Estimate]:
    """The model that the rule of Dankar et al. (2012) picks, and its estimate.

    Pitman's for sampling shares up to a tenth, else the lesser of Zayatz's and the slide negative
    binomial's; where a model has no answer, Zayatz's takes its place, which always has one.

    >>> dankar(np.array([1, 1, 2, 5]), 1.0)
    ('zayatz', Estimate(share=0.2222222222222222, why_not='', parameters=()))
    """
    zayatz = estimate(sizes, share, "zayatz")
    if share <= _SMALL_SHARE:
        pitman = estimate(sizes, share, "pitman")
        return ("pitman", pitman) if pitman.found else ("zayatz", zayatz)
    snb = estimate(sizes, share, "snb")
    return ("snb", snb) if snb.found and snb.share < zayatz.share else ("zayatz", zayatz)


def _zayatz(size: NDArray[np.int64], many: NDArray[np.int64], share: float) -> Estimate:
    """Zayatz (1991): classes of the population have the sizes that the sample's have.

    Given that, Bayes' rule tells how probably a class of which one record was drawn has no other;
    how many of a class are drawn is hypergeometric.
    """
    n = int((size * many).sum())
    total = max(round(n / share), n)
    fits = total - size >= n - 1
    j = size[fits].astype(np.float64)
    drawn = np.log(j) + _log_choose(total - j, n - 1.0) - _log_choose(float(total), float(n))
    weight = many[fits] * np.exp(drawn)
    certain = weight[0] / weight.sum() if j.size and j[0] == 1 else 1.0
    return Estimate(float(many[0] * certain / n))


def _log_choose(n: NDArray[np.float64] | float, k: float) -> NDArray[np.float64]:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def pitman_log_likelihood(
    size: NDArray[np.int64], many: NDArray[np.int64], theta: float, alpha: float
) -> float:
    """Of Pitman's sampling formula (without the factors that no parameter is in)."""
    u, n = float(many.sum()), float((size * many).sum())
    classes = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    records = gammaln(theta + n) - gammaln(theta + 1)
    inside = (many * (gammaln(size - alpha) - gammaln(1 - alpha))).sum()
    return float(classes - records + inside)


def pitman_uniques(total: float, theta: float, alpha: float) -> float:
    """Classes of size 1 that Pitman's formula expects among `total` records.

    >>> round(pitman_uniques(1, 3.0, 0.5), 9)
    1.0
    """
    return float(
        total
        * np.exp(
            gammaln(theta + alpha + total - 1)
            - gammaln(theta + alpha)
            + gammaln(theta + 1)
            - gammaln(theta + total)
        )
    )


def _pitman(size: NDArray[np.int64], many: NDArray[np.int64], share: float) -> Estimate:
    """Hoshino (2001): theta and alpha by maximum likelihood."""
    # Here, since it is slow to import and few ask for these models.
    from scipy.optimize import minimize_scalar

    if size.size == 1:
        return Estimate(np.nan, "every record is alone, and nothing tells the parameters apart")
    n = int((size * many).sum())

    def best(alpha: float) -> tuple[float, float]:
        """The least loss for this alpha, and log(theta + alpha) there."""

        def loss(b: float) -> float:
            return -pitman_log_likelihood(size, many, float(np.exp(b)) - alpha, alpha)

        run = minimize_scalar(loss, bounds=(-_FAR, _FAR), method="bounded", options=_CLOSE)
        return float(run.fun), float(run.x)

    # The likelihood of alpha alone, theta at its best, on a grid and then around its best point.
    # An alpha of next to nothing is Ewens' formula, which the data may well prefer.
    grid = np.concatenate(([_LEAST_ALPHA], np.linspace(0.05, 0.95, 10), [1 - _LEAST_ALPHA]))
    least = int(np.argmin([best(float(alpha))[0] for alpha in grid]))
    ends = float(grid[max(least - 1, 0)]), float(grid[min(least + 1, grid.size - 1)])
    run = minimize_scalar(lambda a: best(a)[0], bounds=ends, method="bounded", options=_CLOSE)
    alpha = float(run.x)
    log_sum = best(alpha)[1]
    if not run.success:
        return Estimate(np.nan, "the likelihood did not converge")
    if abs(log_sum) > _FAR - 0.1 or alpha > 1 - 2 * _LEAST_ALPHA:
        return Estimate(np.nan, _RAN_AWAY)
    theta = float(np.exp(log_sum)) - alpha
    found = pitman_uniques(n / share, theta, alpha) / (n / share)
    return Estimate(found, "", (("theta", theta), ("alpha", alpha)))


def snb_log_shares(
    size: NDArray[np.int64], share: float, r: float, p: float
) -> tuple[NDArray[np.float64], float]:
    """Log chances that a class shows these numbers of records, and the chance that it shows none.

    A class has 1 + NB(r, p) members, each drawn with chance `share`: one that is drawn or not, and
    a thinned negative binomial.
    """
    seen = p / (1.0 - (1.0 - p) * (1.0 - share))
    shown = size.astype(np.float64)
    others = _log_negative_binomial(shown, r, seen)
    fewer = _log_negative_binomial(shown - 1, r, seen)
    chance = np.logaddexp(np.log1p(-share) + others, np.log(share) + fewer)
    return chance, (1.0 - share) * float(seen**r)


def _log_negative_binomial(k: NDArray[np.float64], r: float, p: float) -> NDArray[np.float64]:
    return gammaln(k + r) - gammaln(r) - gammaln(k + 1.0) + r * np.log(p) + k * np.log1p(-p)


def _snb(size: NDArray[np.int64], many: NDArray[np.int64], share: float) -> Estimate:
    """Chen & Keller-McNulty (1998): classes of 1 + NB(r, p) members, the slide negative binomial.

    r and p by maximum likelihood from the classes that the sample shows; the number of all classes
    follows from the chance that one shows nothing.
    """
    if size.size == 1:
        return Estimate(np.nan, "every record is alone, and nothing tells the parameters apart")
    n, u = int((size * many).sum()), int(many.sum())

    def loss(at: NDArray[np.float64]) -> float:
        r, p = float(np.exp(at[0])), float(expit(at[1]))
        if not 0.0 < p < 1.0:
            return 1e300
        chance, hidden = snb_log_shares(size, share, r, p)
        found = -float((many * chance).sum()) + u * np.log1p(-hidden)
        return float(found) if np.isfinite(found) else 1e300

    starts = [(np.log(r), logit(p)) for r in (0.3, 3.0) for p in (0.05, 0.5)]
    at, why = _least(loss, starts)
    if why:
        return Estimate(np.nan, why)
    r, p = float(np.exp(at[0])), float(expit(at[1]))
    classes = u / (1.0 - snb_log_shares(size[:1], share, r, p)[1])
    found = classes * p**r / (n / share)
    return Estimate(found, "", (("r", r), ("p", p), ("classes", classes)))


def _least(loss: object, starts: list[tuple[float, float]]) -> tuple[NDArray[np.float64], str]:
    """The best minimum from several starts, or why there is none."""
    from scipy.optimize import minimize

    tolerance = {"xatol": 1e-7, "fatol": 1e-7, "maxiter": 2000, "maxfev": 4000}
    runs = [
        minimize(loss, np.array(start), method="Nelder-Mead", options=tolerance) for start in starts
    ]
    best = min(runs, key=lambda run: float(run.fun))
    at = np.asarray(best.x, dtype=np.float64)
    if not best.success:
        return at, "the likelihood did not converge"
    if np.abs(at).max() > _FAR:
        return at, _RAN_AWAY
    return at, ""
