"""The mathematics of camouflage: a vector hidden in the hull of k others, and the ends of what the
hull allows. P is float64 (n, k), one row for each record; NaN is missing.
"""

from __future__ import annotations

import numpy as np

_BATCH = 64
_ROUNDS = 60


def floor_of(k: int) -> float:
    """The least weight of a vector. It leaves a weight the room 2 / (k + 2), which is to the width
    of a record's span what its protection interval is: who knows everything but the weights knows
    no value better than that."""
    return 1.0 / (k + 2)


def secret_weights(k: int, rng: np.random.Generator) -> np.ndarray:
    """Weights of the k vectors, uniform over those that sum to one and are not below the floor."""
    return floor_of(k) + (1 - k * floor_of(k)) * rng.dirichlet(np.ones(k))


def positions(n: int, k: int, top: float, rng: np.random.Generator) -> np.ndarray:
    """Where the k vectors lie in each record's span: one at 0, one at 1, the others between 0 and
    `top`, in random order. They depend on nothing, so they tell nothing of values or weights."""
    x = top * rng.random((n, k))
    x[:, 0], x[:, 1] = 0.0, 1.0
    return rng.permuted(x, axis=1)


def hide_absolute(
    a: np.ndarray, reach: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Vectors with a = P weights, whose span in each record holds a - reach and a + reach.

    The span is reach / floor wide and the value lies at weights . positions in it, which is
    between the floor and one minus the floor.
    """
    k = weights.size
    x = positions(a.size, k, 1.0, rng)
    width = reach / floor_of(k)
    return a[:, None] + (x - (x @ weights)[:, None]) * width[:, None]


def hide_share(
    a: np.ndarray, share: float, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Vectors with a = P weights, whose span in each record holds a (1 - share) and a (1 + share).

    The upper end is a fixed multiple 1 + r of the lower one: were it a share of a itself, the
    width would tell a. With t = weights . positions, L (1 + t r) = a; L <= a (1 - share) asks for
    t r >= share / (1 - share), which the least t, the floor, settles; L (1 + r) >= a (1 + share)
    asks for t <= (1 - (1 - share) floor) / (1 + share), which `top` ensures. A share up to
    (k - 2) / 2 leaves room for that.
    """
    k = weights.size
    least = floor_of(k)
    r = share / (1 - share) / least
    highest = (1 - (1 - share) * least) / (1 + share)
    top = min(1.0, (highest / least - 3) / (k - 2))
    x = positions(a.size, k, max(top, 0.0), rng)
    low = a / (1 + (x @ weights) * r)
    return low[:, None] * (1 + x * r)


def highest_minimum(hull: np.ndarray) -> float:
    """The largest that the smallest entry can be, over all vectors of the hull: max over mu of
    min over records of (P mu), a linear program in k + 1 unknowns.

    Records are added as they are violated. Whatever the solver's tolerance, the result is a true
    upper bound: for any shares w of the records, min <= w . P mu <= max over j of (w . P)_j.
    """
    from scipy.optimize import linprog

    k = hull.shape[1]
    bound = float(hull.max(axis=1).min())
    # A record whose lowest entry is above the bound never is the smallest.
    hull = hull[hull.min(axis=1) < bound]
    if hull.shape[0] == 0:
        return bound
    shift, scale = float(hull.min()), float(np.ptp(hull))
    points = (hull - shift) / scale
    chosen = np.unique(np.argpartition(points, min(_BATCH, len(points)) - 1, axis=0)[:_BATCH])
    for _ in range(_ROUNDS):
        # Unknowns mu_1..mu_k and t: t - P mu <= 0, sum mu = 1, as large a t as possible.
        found = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.column_stack([-points[chosen], np.ones(chosen.size)]),
            b_ub=np.zeros(chosen.size),
            A_eq=np.append(np.ones(k), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * k + [(None, None)],
            method="highs",
        )
        if found.status != 0:
            return bound
        shares = np.clip(-found.ineqlin.marginals, 0.0, None)
        if shares.sum() > 0:
            value = float((shares / shares.sum() @ hull[chosen]).max())
            bound = min(bound, value)
        reached = points @ found.x[:k]
        worst = np.argpartition(reached, min(_BATCH, reached.size) - 1)[:_BATCH]
        new = np.setdiff1d(worst[reached[worst] < found.x[k] - 1e-9], chosen)
        if not new.size:
            break
        chosen = np.concatenate([chosen, new])
    return bound


def lowest_mean(total: float, count: int, extra: np.ndarray) -> float:
    """The smallest mean of `count` values that sum to `total` and any of the `extra` ones.

    Those below the mean lower it: the best set is a prefix of the extras in ascending order.
    """
    sums = total + np.concatenate(([0.0], np.cumsum(np.sort(extra))))
    counts = count + np.arange(sums.size)
    return float((sums[counts > 0] / counts[counts > 0]).min())
