"""Taking noise out by the singular value decomposition, as the papers write it."""

from __future__ import annotations

import numpy as np


def strip(y: np.ndarray, deviation: np.ndarray, rule: str) -> np.ndarray:
    """Singular vectors of the centred table in units of the noise; no value missing."""
    mean = y.mean(axis=0)
    u, singular, vt = np.linalg.svd((y - mean) / deviation, full_matrices=False)
    out = np.zeros_like(y)
    for i, value in enumerate(singular):
        variance = value**2 / (len(y) - 1)
        if rule == "components":
            share = 1.0 if variance > 2 or i == 0 else 0.0
        elif i == 0:
            share = 1 - 1 / max(variance, 2.0)
        else:
            edge = (1 + np.sqrt(y.shape[1] / len(y))) ** 2
            share = 1 - 1 / variance if variance > edge else 0.0
        out += share * value * np.outer(u[:, i], vt[i])
    return mean + out * deviation
