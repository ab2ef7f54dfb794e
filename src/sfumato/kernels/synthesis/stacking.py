"""How much each of several models is worth in a mixture of them."""

from __future__ import annotations

import numpy as np

_STEPS = 10_000
_SETTLED = 1e-9


def stacking_weights(log_density: np.ndarray) -> np.ndarray:
    """Weights, of sum 1, with which the models' mixture is densest at records that they were not
    fitted to; `log_density` has a row for each record and a column for each model.

    The mean log density of the mixture is concave in the weights, and EM climbs to its maximum.

    >>> stacking_weights(np.log([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
    [0.71, 0.29]
    """
    models = log_density.shape[1]
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    weights = np.full(models, 1.0 / models)
    for _ in range(_STEPS):
        joint = density * weights
        after = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        moved = float(np.abs(after - weights).max())
        weights = after
        if moved < _SETTLED:
            break
    return weights
