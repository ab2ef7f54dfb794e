"""How far apart two records are: other distances than the thesis' (3.1), and weights of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...kernels.neighbours.prediction import Predictions, predictions

Distances = Literal["euclidean", "absolute", "largest", "mahalanobis"]
_NARROW = 1e-3
"""Variances of the uncorrelated directions count as this part of their mean at least."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A distance, with what points are multiplied by before it is taken.

    Uncertainty is the average of the coordinates' variances by the weights, whatever the distance.
    """

    distance: Distances = "euclidean"
    axes: np.ndarray | None = None
    """float64 (d, d); None: points are compared as they are."""
    roots: np.ndarray | None = None
    """float64 (d,): roots of the weights; None where all are 1."""

    @classmethod
    def of(cls, x: np.ndarray, distance: Distances, weight: np.ndarray | None) -> Comparison:
        """For the originals x (n, d), the coordinates of which have these weights."""
        roots = None
        if weight is not None:
            roots = np.sqrt(weight * (weight.size / weight.sum()))
        if distance == "mahalanobis":
            known = x if roots is None else x * roots
            spread, turn = np.linalg.eigh(np.cov(known.T, bias=True).reshape([x.shape[1]] * 2))
            # Where originals hardly differ, a release would be far away in no time.
            least = _NARROW * max(float(spread.mean()), 1e-300)
            axes = turn / np.sqrt(np.maximum(spread, least))
            return cls(distance, axes if roots is None else roots[:, None] * axes, roots)
        if roots is None:
            return cls(distance)
        return cls(distance, np.diag(roots if distance == "euclidean" else roots**2), roots)

    @property
    def said(self) -> dict[str, Any]:
        """What the evidence says of it."""
        return {} if self.distance == "euclidean" else {"distance": self.distance}

    def search(self, people: np.ndarray, points: np.ndarray, k: int) -> Predictions:
        """The predictions of these people from these points."""
        spread = points if self.roots is None else points * self.roots
        if self.axes is not None:
            people, points = people @ self.axes, points @ self.axes
        kind = "euclidean" if self.distance == "mahalanobis" else self.distance
        return predictions(people, points, k, distance=kind, spread=spread)
