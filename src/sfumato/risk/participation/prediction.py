"""What the nearest released record tells of somebody, and whether it points at somebody."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linking import drawn, require_records, require_reference
from ...data.points.encoding import Encoding, LogChoice, Moments
from ...data.points.placement import Placing, distinct, placements
from ...data.table import Table
from ...errors import MeasureError, MethodError
from ...kernels.neighbours.nearest_k import TOLERANCE, nearest_k
from ...measurement import Depends, Direction
from ...protocols import Context, Measure, Measurement
from .predicted import ComparedColumns, Predicting, columns_compared

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


class Isolation(Measure):
    """Share of originals that a released record singles out, (c,t)-isolation.

    A point q isolates an original record x if fewer than t originals, x among them, lie within c
    times the distance from q to x: the point is near to x and far from the crowd. The figure is the
    share of originals that at least one released record isolates. Which record stems from whom need
    not be known. A released record that equals an original isolates it unless t originals are equal
    to it.

    The definition speaks of any point that an intruder can work out; released records are the
    points that cost him nothing, so that the figure is a lower bound. Nobody is safe from being
    isolated by chance: the baseline is the figure when people who are not in the data are released
    in place of the release, where a reference sample is given (as many of them as the release has,
    where there are enough; where not, `detail["same_size"]` is the figure of as many released
    records). Released numbers are standardized in two ways, as `prediction-distance` says, and the
    higher share counts, in the baseline too.

    With t = 5, the crowd is that of the prediction measures and of groups of five: none of five
    equal originals can be isolated. With c = 2 the fifth nearest original must be twice
    as far as the nearest, which chance seldom does in many columns, where distances are much alike,
    and a copy with a little noise often does. (Of 2,000 people of a survey with 28 columns, about
    70 % are isolated after noise of a tenth of the variance, and 0.5 % by 2,000 others.) In one or
    two columns chance does it often, too: look at the baseline.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [0.0, 10.0, 11.0, 12.0]}, quasi="x")
    >>> copy = sf.table({"x": [0.5, 11.2]}, quasi="x")
    >>> sf.measure("isolation", people, copy, "none", t=2, moments="original").value
    0.5
    """

    name: ClassVar[str] = "isolation"
    paper: ClassVar[str] = (
        "Chawla, Dwork, McSherry, Smith & Wee (2005), Toward privacy in public databases, TCC "
        "2005; Lasko (2007), Spectral anonymization of data, section 2.1.1"
    )
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    compares: ClassVar[str | None] = "tables"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    whole_records: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    decimals: ClassVar[int | None] = 3
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = ("coordinates",)

    c: float = Field(2.0, ge=1, le=1e6, description="how much further away the crowd must be")
    t: int = Field(5, ge=2, description="records that make a crowd")
    columns: ComparedColumns = ()
    log: LogChoice = "auto"
    moments: Placing = Field(
        "worst",
        description="released numbers are standardized by their own middle and width, by "
        'the original\'s, or both ways, of which the higher share counts ("worst")',
    )
    sample: int = Field(
        100_000,
        ge=0,
        description="released records to look at, drawn at random where there are more; 0 "
        "looks at all",
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        n = pair.original.height
        if n < self.t:
            raise MeasureError(
                f"{n} records are no crowd of {self.t}", remedy="give a smaller t, or more records"
            )
        names, left_out = columns_compared(pair, None, self.columns)
        try:
            encoding = Encoding.of(pair.original, names, log=self.log)
            originals = encoding.encode(pair.original)
            released = placements(encoding, pair.masked, self.moments)
        except MethodError as error:
            raise MeasureError(error.message, remedy=error.remedy) from error
        size = pair.masked.height
        looked_at = drawn(size, self.sample, context.rng)
        found = self._worst(originals, released, looked_at)
        detail: dict[str, Any] = {
            "columns": names,
            **encoding.said,
            "records": n,
            "released_records": size,
            "moments": self.moments,
        }
        if left_out:
            detail["left_out"] = left_out
        if looked_at.size < size:
            detail["sample"] = int(looked_at.size)
        baseline = None
        if context.reference is not None:
            others = _strangers(context.reference, encoding, self.moments)
            some = drawn(context.reference.height, looked_at.size, context.rng)
            baseline = float(self._worst(originals, others, some).mean())
            detail["non_participants"] = int(some.size)
            detail["baseline"] = "people who are not in the data, released instead"
            if some.size < looked_at.size:
                detail["baseline"] += ", fewer than were: compare it with `same_size`"
                as_many = looked_at[drawn(looked_at.size, some.size, context.rng)]
                detail["same_size"] = float(self._worst(originals, released, as_many).mean())
        return self.result(
            float(found.mean()),
            baseline=baseline,
            per_record=found.astype(np.float64),
            per_record_of="original",
            detail=detail,
        )

    def _worst(
        self, originals: np.ndarray, placed: dict[Moments, np.ndarray], rows: np.ndarray
    ) -> np.ndarray:
        """Whom these rows isolate, as they are placed where they isolate most."""
        found = [
            isolated(originals, placed[place][rows], self.c, self.t) for place in distinct(placed)
        ]
        return max(found, key=lambda one: int(one.sum()))


def isolated(originals: np.ndarray, points: np.ndarray, c: float, t: int) -> np.ndarray:
    """bool (n,): which originals some point (c,t)-isolates.

    If an original has t - 1 others within c times its distance to q, so have all that are further
    from q than it: the t nearest originals of q are all that matter.

    >>> isolated(np.array([[0.0], [4.0], [5.0]]), np.array([[1.0]]), 2.0, 2).tolist()
    [True, False, False]
    """
    found = np.zeros(len(originals), dtype=bool)
    near = nearest_k(points, originals, t)
    crowd = near.squares[:, -1:]
    alone = c * c * near.squares[:, :-1] * (1.0 + TOLERANCE) < crowd
    found[near.rows[:, :-1][alone]] = True
    return found


def _strangers(reference: Table, encoding: Encoding, moments: Placing) -> dict[Moments, np.ndarray]:
    """The non-participants as points, as if they had been released."""
    require_reference(reference, encoding.names)
    return placements(encoding, reference, moments)
