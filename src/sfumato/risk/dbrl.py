"""Distance-based record linkage with the distances of the literature, averaged over scenarios.

`record-linkage` is the figure that every release is given: one distance, and labels too. This is
the family that the comparisons of masking methods use: DBRL1, DBRL2, Mahalanobis distances and a
kernel distance, for an intruder who knows the first column, the first two, and so on.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ..data.linkage.linking import CONFIDENCE, drawn, limits
from ..errors import MeasureError
from ..kernels.neighbours.linkage import nearest
from ..kernels.neighbours.own_rank import own_rank
from ..protocols import Context, Measure, Measurement
from .distances import MEANINGS, Distance, Files, Points
from .scenarios import random_scenarios, scenarios

_TOLERANCE = 1e-9
_STRANGERS = 10_000
"""Strangers to look for at most: their nearest records are found without a bound to start from."""


class Dbrl(Measure):
    """Share of originals whose nearest masked record is their own, by any of six distances.

    The intruder holds original records and takes for each the nearest masked one. A record whose
    own is among t equally near ones counts 1/t; the interval runs from losing every tie to winning
    every tie, and a record that was not released is not found. With `scenarios` the figure is the
    mean over an intruder who knows the first 1, 2, ..., v columns (the literature's DLD has v = 7).
    The baseline is a masked record guessed at random.

    Categories that differ, and a value beside a missing one, add 1 to the squared distance of the
    Euclidean and standardized distances; Mahalanobis and kernel distances need numbers, all of
    them. A singular covariance is inverted in the directions in which the files vary
    (pseudo-inverse), and one that masking left alone counts more than all the others; `detail` says
    how many there are. A Gaussian kernel is not offered: its distance grows with
    the Euclidean one, so that it makes the same links.

    With a reference table, `detail["non_participants"]` says how often a stranger's nearest masked
    record is at least as close as a participant's own, as in `record-linkage`.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> original = table({"x": [1.0, 2.0, 9.0], "y": [1.0, 5.0, 4.0]}, quasi=["x", "y"])
    >>> masked = table({"x": [1.1, 1.4, 8.0], "y": [5.0, 1.0, 4.0]}, quasi=["x", "y"])
    >>> context = Context(Pair.of(original, masked), np.random.default_rng(0))
    >>> Dbrl(scenarios=2).measure(context).detail["scenarios"]
    {'x': 1.0, 'x, y': 0.3333333333333333}
    """

    name: ClassVar[str] = "dbrl"
    aliases: ClassVar[tuple[str, ...]] = ("dld",)
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods "
        "for microdata; Torra, Abowd & Domingo-Ferrer (2006), Using Mahalanobis distance-based "
        "record linkage for disclosure risk assessment, PSD 2006"
    )
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    decimals: ClassVar[int | None] = None
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    compares: ClassVar[str | None] = "records"
    unit: ClassVar[str] = "%"

    columns: Annotated[
        tuple[str, ...],
        Field(description="columns that the intruder knows; the quasi-identifiers unless given"),
    ] = ()
    distance: Annotated[Distance, Field(description=MEANINGS)] = "standardized"
    degree: Annotated[
        int, Field(ge=2, le=4, description="of the polynomial kernel (1 + x.y)^degree")
    ] = 2
    scenarios: Annotated[
        int,
        Field(
            ge=0,
            description="average over knowing 1, 2, ... this many columns; 0: all columns at once",
        ),
    ] = 0
    subsets: Annotated[
        Literal["first", "random"],
        Field(description="which columns a scenario has: the first ones, or in a random order"),
    ] = "first"
    sample: Annotated[
        int,
        Field(
            ge=0, description="records to link, drawn at random where there are more; 0 links all"
        ),
    ] = 100_000

    def measure(self, context: Context) -> Measurement:
        files = Files(context.pair, self.columns, self.distance, self.name)
        n, m = context.pair.original.height, context.pair.masked.height
        rows = drawn(n, self.sample, context.rng)
        if self.subsets == "random":
            known = random_scenarios(files.names, self.scenarios, context.rng)
        else:
            known = scenarios(files.names, self.scenarios)
        found = [link(files.points(names, self.degree), files.own, rows) for names in known]
        credit = np.mean([one.credit for one in found], axis=0)
        detail: dict[str, Any] = {
            "distance": self.distance,
            "columns": files.names,
            "records": n,
            "masked_records": m,
            "linked_alone": float(np.mean([one.alone.mean() for one in found])),
            "linked_with_ties": float(np.mean([one.won.mean() for one in found])),
            "baseline": "a masked record guessed at random",
            "interval": "from every tie lost to every tie won",
        }
        if self.scenarios:
            detail["scenarios"] = {
                ", ".join(names): float(one.credit.mean())
                for names, one in zip(known, found, strict=True)
            }
        if self.distance == "kernel":
            detail["degree"] = self.degree
        detail |= found[-1].points.place.idle
        if files.left_out:
            detail["left_out"] = files.left_out
        if gone := int((files.own < 0).sum()):
            detail["records_not_released"] = gone
        interval = (detail["linked_alone"], detail["linked_with_ties"])
        if rows.size < n:
            detail["sample"] = int(rows.size)
            detail["interval"] += f", each with its {CONFIDENCE:.0%} confidence limit"
            low = [limits(int(one.alone.sum()), rows.size)[0] for one in found]
            high = [limits(int(one.won.sum()), rows.size)[1] for one in found]
            interval = (float(np.mean(low)), float(np.mean(high)))
        if context.reference is not None:
            detail["non_participants"] = self._control(context, found)
        per_record = np.full(n, np.nan)
        per_record[rows] = credit
        return self.result(
            credit.mean(),
            interval=interval,
            baseline=float((files.own >= 0).mean() / m),
            per_record=per_record,
            per_record_of="original",
            detail=detail,
        )

    def _control(self, context: Context, found: list[Links]) -> dict[str, Any]:
        reference = context.reference
        assert reference is not None
        if not reference.height:
            raise MeasureError(
                "the reference table has no records", remedy="leave it out, or fill it"
            )
        rows = drawn(reference.height, _STRANGERS, context.rng)
        shares = []
        for one in found:
            x, codes = one.points.of(reference, context.pair, self.name)
            theirs = nearest(
                x[rows],
                one.points.b,
                codes_a=codes[rows],
                codes_b=one.points.codes_b,
                tolerance=_TOLERANCE,
            ).distance
            to_own = np.sort(one.to_own[np.isfinite(one.to_own)]) * (1 + _TOLERANCE)
            further = to_own.size - np.searchsorted(to_own, theirs, side="left")
            shares.append(float(further.mean() / max(to_own.size, 1)))
        return {"records": int(rows.size), "at_least_as_close": float(np.mean(shares))}


class Links(NamedTuple):
    """How each record fared: found alone, found among ties, and with what probability."""

    points: Points
    alone: np.ndarray
    won: np.ndarray
    credit: np.ndarray
    to_own: np.ndarray
    """The squared distance to one's own masked record; infinite where there is none."""


def link(points: Points, own: np.ndarray, rows: np.ndarray | None = None) -> Links:
    """Link these rows of the original (all unless given) to their nearest masked records."""
    rows = np.arange(len(points.a)) if rows is None else rows
    x, codes, mine = points.a[rows], points.codes_a[rows], own[rows]
    found = own_rank(
        x,
        points.b,
        mine,
        codes_a=codes,
        codes_b=points.codes_b,
        enough=1,
        tolerance=_TOLERANCE,
    )
    won = (found.nearer == 0) & (found.ties > 0)
    credit = np.where(won, 1.0 / np.maximum(found.ties, 1), 0.0)
    to_own = np.full(rows.size, np.inf)
    has = mine >= 0
    y, other = points.b[mine[has]], points.codes_b[mine[has]]
    gone = np.isnan(x[has]), np.isnan(y)
    squares = np.where(gone[0] | gone[1], gone[0] != gone[1], (x[has] - y) ** 2)
    to_own[has] = squares.sum(axis=1) + (codes[has] != other).sum(axis=1)
    return Links(points, won & (found.ties == 1), won, credit, to_own)
