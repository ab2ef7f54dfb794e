"""Any clusterer of scikit-learn, with groups brought to size."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...data.points.space import Space
from ...errors import MethodError, suggest
from ...kernels.micro.size_repair import as_points, repair
from .base import Grouping, Microaggregator

MODULES = ("sklearn.cluster", "sklearn.mixture")
NUMBERS = ("n_clusters", "n_components")
"""What estimators call the number of groups."""


class Clusterer(Microaggregator):
    """Any clusterer of scikit-learn, its clusters repaired to groups of at least k.

    The number of clusters is records / k unless the options name one. Clusters that are too small
    are joined, dissolved or filled up from their neighbours, those of 2k or more are split, and
    records that the clusterer calls noise are placed, each at the least cost. Groups have
    k to 2k - 1 records.
    """

    name: ClassVar[str] = "clusterer"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = "Pedregosa et al. 2011, Scikit-learn: Machine Learning in Python"

    estimator: str = Field(
        "KMeans", description="a class of sklearn.cluster or sklearn.mixture with fit_predict"
    )
    options: dict[str, bool | int | float | str] = Field(
        default_factory=dict,
        description="parameters of the estimator, as scikit-learn names them",
    )

    @field_validator("estimator")
    @classmethod
    def _known(cls, name: str) -> str:
        known = estimators()
        if name not in known:
            close = suggest(name, known)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"is no clusterer of scikit-learn: {hint}it has {', '.join(known)}")
        return name

    @field_validator("options")
    @classmethod
    def _without_memory(cls, options: dict[str, Any]) -> dict[str, Any]:
        if "memory" in options:  # what is remembered in a folder is code to whoever reads it back
            raise ValueError("memory is not taken: a plan must not run what lies in a folder")
        return options

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points = as_points(space.points, self.k)
        options: dict[str, Any] = dict(self.options)
        kind = estimators()[self.estimator]
        accepted = inspect.signature(kind).parameters
        for number in NUMBERS:
            if number in accepted:
                # A threshold takes the place of a number.
                wanted = None if "distance_threshold" in options else len(space) // self.k
                options.setdefault(number, wanted)
        if "random_state" in accepted:
            options.setdefault("random_state", int(rng.integers(2**31)))
        # One thread: how sums are shared among threads would show in their last digits.
        with warnings.catch_warnings(record=True) as heard, threadpool_limits(1):
            warnings.simplefilter("always")
            # About what scikit-learn will change one day, not about these records.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                found = np.asarray(kind(**options).fit_predict(points))
            except Exception as error:  # whatever an estimator makes of its options
                raise MethodError(
                    f"{self.estimator} cannot cluster these {len(space):,} records: {error}",
                    remedy="change its `options`, or choose another `estimator`",
                ) from error
        labels = repair(points, found, self.k)
        facts = {
            "clusters": int(np.unique(found[found >= 0]).size),
            "noise": int(np.count_nonzero(found < 0)),
        }
        warned = tuple(dict.fromkeys(f"{self.estimator}: {w.message}" for w in heard))
        return Grouping(labels, facts, warned)


def estimators() -> dict[str, Any]:
    """The clusterers of scikit-learn by name: public classes that can fit and predict at once.

    >>> "DBSCAN" in estimators(), "FeatureAgglomeration" in estimators()
    (True, False)
    """
    found = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in module.__all__:
            kind = getattr(module, name)
            # Biclusterers and the agglomeration of features do not label records.
            if inspect.isclass(kind) and callable(getattr(kind, "fit_predict", None)):
                found[name] = kind
    return dict(sorted(found.items()))
