"""Prediction distance, ambiguity and uncertainty: what the nearest released record tells."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...protocols import Context, Direction, Measurement
from .predicted import Predicting

PAPER = "Lasko (2007), Spectral anonymization of data, PhD thesis, MIT, section 3.1"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class _Prediction(Predicting):
    """One of the three: its median over the originals."""

    aspect: ClassVar[str] = ""
    direction: ClassVar[Direction] = "higher"
    paper: ClassVar[str] = PAPER

    def measure(self, context: Context) -> Measurement:
        found = self.predicted(context)
        values = found.lowest(found.by_release, self.aspect)
        detail = {"moments": self.moments, **found.facts}
        private: dict[str, Any] = {"quantiles": quantiles(values)}
        baseline = None
        if found.others >= self.k:
            theirs = found.lowest(found.by_reference, self.aspect)
            baseline = float(np.median(theirs))
            private["reference_quantiles"] = quantiles(theirs)
            detail["baseline"] = "predicted from as many people who did not take part"
            if found.others < found.released:
                detail["baseline"] = (
                    "predicted from people who did not take part, of whom there are fewer than "
                    "released records: compare it with `same_size`"
                )
                as_many = found.lowest(found.by_as_many, self.aspect)
                detail["same_size"] = float(np.median(as_many))
        per_record = np.full(found.records, np.nan)
        per_record[found.rows] = values
        return self.result(
            float(np.median(values)),
            baseline=baseline,
            per_record=per_record,
            per_record_of="original",
            detail=detail,
            private=private,
        )


class PredictionDistance(_Prediction):
    """Median distance from an original record to the nearest released one.

    The root mean square difference over the coordinates: numbers are standardized (after a
    logarithm where that makes them less skewed), two values lie at -1 and +1, each of three
    categories or more is such a coordinate of its own. It is the closest that an intruder can come
    who takes a released record for the original one, and needs no link between them: records drawn
    from a model are measured too. What a label stands for lies in its middle, and a suppressed
    value at the column's mean.

    Released numbers are standardized in two ways, and for each original the smaller value counts,
    in each of the three measures of prediction and in their baselines. By their own means and
    deviations: adding a constant or changing the unit does not look like protection (two values
    outside the original's, and numbers far from them that have a logarithm, are brought back
    first). By the original's: nor does leaving out the extreme people, which alters the deviation.
    `moments` names one way.

    0 is a copy. How large is large enough depends on the columns and on the number of records:
    where a reference sample is given, the baseline is the distance to the nearest of as many people
    who did not take part. `non-participation` compares the whole distributions.

    Where there are more than `sample` originals, the same ones are drawn for each of the three
    measures of prediction, which share one search.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [0.0, 10.0, 11.0, 12.0]}, quasi="x")
    >>> sf.measure("prediction-distance", people, people, k=2).value
    0.0
    """

    name: ClassVar[str] = "prediction-distance"
    aspect: ClassVar[str] = "distance"


class PredictionAmbiguity(_Prediction):
    """Median ratio of the distances to the nearest and to the k-th nearest released record.

    Near 0 the nearest record stands out, at 1 all k are equally near. Where k released records
    equal the original, both distances are 0 and the ambiguity is 1: nobody can tell which of them
    is meant, though all of them give the values away, which `prediction-distance` shows. Distances
    and parameters are those of `prediction-distance`.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [0.0, 10.0, 11.0, 12.0]}, quasi="x")
    >>> release = sf.table({"x": [0.0, 10.5, 10.5, 12.0]}, quasi="x")
    >>> found = sf.measure("prediction-ambiguity", people, release, k=2, moments="original")
    >>> found.per_record.round(3).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "prediction-ambiguity"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    aspect: ClassVar[str] = "ambiguity"


class PredictionUncertainty(_Prediction):
    """Median variance among the k released records nearest to an original one.

    The population variance (divided by k) of each coordinate among the k nearest, averaged over the
    coordinates: what an intruder risks who chooses the wrong one of them. Distances and parameters
    are those of `prediction-distance`.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [0.0, 0.0, 1.0, 1.0]}, quasi="x")
    >>> sf.measure("prediction-uncertainty", people, people, k=2).value
    0.0
    """

    name: ClassVar[str] = "prediction-uncertainty"
    aspect: ClassVar[str] = "uncertainty"


def quantiles(values: np.ndarray) -> dict[str, float]:
    """Some quantiles, by their names."""
    found = np.quantile(values, QUANTILES)
    return {f"{share:.0%}": float(one) for share, one in zip(QUANTILES, found, strict=True)}
