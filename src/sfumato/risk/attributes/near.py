"""Masked numbers that stayed near: how many records are told by what they became.

Whoever knows how a file was masked expects the original near the masked value. Both measures count
records, original beside masked: `drisk` by intervals that are as wide for everybody, `drisk-robust`
by intervals that are wider for those who lie further out, since they are recognized from afar.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ...data.linkage.linked import moments_of, own_rows
from ...data.linkage.linking import numbers_of
from ...errors import MeasureError
from ...kernels.statistics.robust_distance import robust_distances
from ...measurement import Depends
from ...protocols import Context, Measure, Measurement
from .intervals import number_columns

_ROUNDING = 1e-9
"""Ends belong to an interval, however a difference is rounded."""


class _Space(NamedTuple):
    """Both files in the units of a measure, and how far from each original value is near."""

    names: list[str]
    x: np.ndarray
    y: np.ndarray
    reach: np.ndarray
    """By column, or by record and column."""
    facts: dict[str, Any]

    def inside(self, rows: np.ndarray) -> np.ndarray:
        """bool: which original values these masked rows are near; -1 and missing are not."""
        gone = np.full((1, self.y.shape[1]), np.nan)
        apart = np.abs(self.x - np.vstack((self.y, gone))[rows])
        return np.asarray(apart <= self.reach * (1 + _ROUNDING))


class _Near(Measure):
    """What both measures share."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    decimals: ClassVar[int | None] = None
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    compares: ClassVar[str | None] = "records"
    unit: ClassVar[str] = "%"

    columns: tuple[str, ...] = Field(
        (),
        description="columns to look at; quasi-identifiers and confidential ones with numbers "
        "unless given",
    )

    @abstractmethod
    def _space(
        self, names: list[str], x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> _Space:
        """Both files in the measure's units."""

    @abstractmethod
    def _at_risk(self, space: _Space, rows: np.ndarray) -> np.ndarray:
        """bool: the original records that these masked rows are near."""

    @abstractmethod
    def _told(self, space: _Space, own: np.ndarray, near: np.ndarray) -> dict[str, Any]:
        """Details."""

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        names, left_out = number_columns(pair, self.columns, self.name)
        x, y = numbers_of(pair.original, names, pair), numbers_of(pair.masked, names, pair)
        known = ~np.isnan(x).all(axis=1)
        if not known.any():
            raise MeasureError(
                f"{self.name}: no column has a value in the original",
                remedy="name columns that hold values in `columns`",
            )
        # Records without a value are in nobody's reach.
        space, own = self._space(names, x[known], y, context.rng), own[known]
        near = self._at_risk(space, own)
        by_chance = self._at_risk(space, context.rng.permutation(own))
        detail = {
            **self._told(space, own, near),
            **space.facts,
            "baseline": "near the masked record of somebody drawn at random",
        }
        if left_out:
            detail["left_out"] = left_out
        if not known.all():
            detail["records_without_values"] = int((~known).sum())
        if gone := int((own < 0).sum()):
            detail["records_not_released"] = gone
        per_record = np.full(known.size, np.nan)
        per_record[known] = near
        return self.result(
            near.mean(),
            baseline=float(by_chance.mean()),
            per_record=per_record,
            per_record_of="original",
            detail=detail,
        )


class DRisk(_Near):
    """Share of records whose every number stayed near its masked value.

    A record is at risk if no value differs from the masked one by more than `within` standard
    deviations of the masked column. A column that is constant in the release is near where it is
    equal. A missing value of the original is left out; one that is missing or suppressed in the
    release is near nothing, and so is a record that was not released. sdcMicro also counts records
    of which one value lies outside.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> original = table({"x": [1.0, 2.0, 3.0, 9.0]}, quasi="x")
    >>> masked = table({"x": [1.1, 2.5, 3.0, 9.0]}, quasi="x")
    >>> context = Context(Pair.of(original, masked), np.random.default_rng(0))
    >>> DRisk().measure(context).value
    0.75
    """

    name: ClassVar[str] = "drisk"
    paper: ClassVar[str] = (
        "Mateo-Sanz, Sebe & Domingo-Ferrer (2004), Outlier protection in continuous microdata "
        "masking, PSD 2004"
    )
    depends: ClassVar[Depends | None] = "records"

    within: float = Field(
        0.05, gt=0, description="how near counts, in standard deviations of the masked column"
    )

    def _space(
        self, names: list[str], x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> _Space:
        return _Space(names, x, y, self.within * _deviations(y), {})

    def _at_risk(self, space: _Space, rows: np.ndarray) -> np.ndarray:
        return np.asarray((space.inside(rows) | np.isnan(space.x)).all(axis=1))

    def _told(self, space: _Space, own: np.ndarray, near: np.ndarray) -> dict[str, Any]:
        inside, known = space.inside(own), ~np.isnan(space.x)
        counts = zip(space.names, inside.sum(axis=0), known.sum(axis=0), strict=True)
        shares = {name: float(hits / of) for name, hits, of in counts if of}
        # One column's is the figure itself, and rounded twice it would be told more finely.
        return {"columns": shares} if len(shares) > 1 else {}


def _deviations(x: np.ndarray) -> np.ndarray:
    """Standard deviations by column, missing aside, of samples (n - 1); 0 where nothing varies."""
    count = (~np.isnan(x)).sum(axis=0)
    low = np.where(np.isnan(x), np.inf, x).min(axis=0, initial=np.inf)
    high = np.where(np.isnan(x), -np.inf, x).max(axis=0, initial=-np.inf)
    found = moments_of(x)[1] * np.sqrt(count / np.maximum(count - 1, 1))
    return np.where(low < high, found, 0.0)


class DRiskRobust(_Near):
    """Share of records of which a number stayed near, with wider reach for who lies far out.

    Numbers are in standard deviations of the original. Around each value lies an interval that
    reaches `within` times the record's robust Mahalanobis distance to both sides: from the mean and
    covariance of the half of the records that lie closest together (MCD). A record is at risk if
    any of its masked values is in its interval: this is risk 1, and the figure. Risk 2 in `detail`
    counts those of them alone beside whose masked record there is no other within `apart`.

    Columns that are constant in the original are left out by name: nobody stands out there. For the
    distance a missing value counts as the mean; in no interval, it puts nobody at risk. Where
    columns add up, as a total and its parts do, the direction without variance is left out; where
    half of the records hardly differ, all records' variance is taken, and `detail` counts such
    directions. sdcMicro divides each file by its own deviations, measures from the plain mean and
    multiplies the intervals by 0.05 once more.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> original = table({"x": [*map(float, range(30)), 500.0]}, quasi="x")
    >>> masked = table({"x": [*(x + 1.5 for x in range(30)), 501.5]}, quasi="x")
    >>> context = Context(Pair.of(original, masked), np.random.default_rng(0))
    >>> DRiskRobust().measure(context).per_record.nonzero()[0].tolist()
    [30]
    """

    name: ClassVar[str] = "drisk-robust"
    paper: ClassVar[str] = (
        "Templ & Meindl (2008), Robust statistics meets SDC: new disclosure risk measures for "
        "continuous microdata masking, PSD 2008"
    )
    depends: ClassVar[Depends | None] = "values"
    squares: ClassVar[bool] = True

    within: float = Field(
        0.01, gt=0, description="how near counts, in robust distances of the record itself"
    )
    apart: float = Field(
        0.05, gt=0, description="how near another masked record must be for risk 2 to be none"
    )

    def _space(
        self, names: list[str], x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> _Space:
        varying = _deviations(x) > 0
        if not varying.any():
            raise MeasureError(
                f"{self.name}: no column has two different values in the original",
                remedy="name columns that vary in `columns`",
            )
        centre, scale = moments_of(x[:, varying])
        x, y = ((part[:, varying] - centre) / scale for part in (x, y))
        found = robust_distances(np.nan_to_num(x, nan=0.0), int(rng.integers(2**31)))
        constant = [name for name, kept in zip(names, varying, strict=True) if not kept]
        facts = {
            "constant_columns": constant,
            "directions_without_variance": found.idle,
            "directions_with_all_records_variance": found.flat,
        }
        return _Space(
            [name for name in names if name not in constant],
            x,
            y,
            self.within * found.of[:, None],
            {what: fact for what, fact in facts.items() if fact},
        )

    def _at_risk(self, space: _Space, rows: np.ndarray) -> np.ndarray:
        return np.asarray(space.inside(rows).any(axis=1))

    def _told(self, space: _Space, own: np.ndarray, near: np.ndarray) -> dict[str, Any]:
        alone = ~_crowded(space.y, own[near], self.apart)
        return {"risk2": float(alone.sum() / near.size)}


def _crowded(y: np.ndarray, rows: np.ndarray, apart: float) -> np.ndarray:
    """bool: which of these rows have another within that distance; a missing value is as near as
    another missing one, and near no other."""
    from scipy.spatial import cKDTree

    far = float(np.abs(y).max(initial=0.0, where=~np.isnan(y))) + 2.0 * apart
    # Equal records are one point: a tree of many equal points has no depth to it.
    points, place, many = np.unique(
        np.nan_to_num(y, nan=far), axis=0, return_inverse=True, return_counts=True
    )
    place = place.reshape(-1)[rows]
    # The first is the point itself.
    most = apart * (1 + _ROUNDING)
    near, _ = cKDTree(points).query(points[place], [2], distance_upper_bound=most)
    return np.asarray((many[place] > 1) | np.isfinite(near[:, 0]))
