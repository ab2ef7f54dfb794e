"""Distance-based record linkage with the distances of the literature, averaged over scenarios.

`record-linkage` is the figure that every release is given: one distance, and labels too. This is
the family that the comparisons of masking methods use: DBRL1, DBRL2, Mahalanobis distances and a
kernel distance, for an intruder who knows the first column, the first two, and so on.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy.spatial import cKDTree

from ...data.linkage.linked import TOLERANCE, Credit, at_least_as_close, facts_of
from ...data.linkage.linking import Sample, drawn, require_reference
from ...data.table import Table
from ...kernels.neighbours.linkage import nearest
from ...kernels.neighbours.own_rank import own_rank
from ...protocols import Context, Measurement
from .base import LinkageMeasure, random_scenarios, scenarios
from .distances import MEANINGS, Distance, Files, Points, distances
from .open_file import PLAIN, best_of, said

_STRANGERS = 10_000
"""Strangers to look for at most: their nearest records are found without a bound to start from."""


class Dbrl(LinkageMeasure):
    """Share of originals whose nearest masked record is their own, by any of seven distances.

    The intruder holds original records and takes for each the nearest masked one. A record whose
    own is among t equally near ones counts 1/t; the interval runs from losing every tie to winning
    every tie, and a record that was not released is not found. With `scenarios` the figure is the
    mean over an intruder who knows the first 1, 2, ..., v columns (the literature's DLD has v = 7).
    The baseline is a masked record guessed at random.

    Categories that differ, and a value beside a missing one, add 1 to the squared distance of the
    Euclidean and standardized distances, which take labels, sets and suppressed cells as
    `record-linkage` does; the others need numbers, all of them. A singular
    covariance is inverted in the directions in which the files vary (pseudo-inverse), and one that
    masking left alone counts more than all the others; `detail` says how many there are. A Gaussian
    kernel is not offered: its distance grows with the Euclidean one, so that it makes the same
    links.

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

    distance: Distance = Field("standardized", description=MEANINGS)
    degree: int = Field(2, ge=2, le=4, description="of the polynomial kernel (1 + x.y)^degree")
    scenarios: int = Field(
        0,
        ge=0,
        description="average over knowing 1, 2, ... this many columns; 0: all columns at once",
    )
    subsets: Literal["first", "random"] = Field(
        "first", description="which columns a scenario has: the first ones, or in a random order"
    )
    sample: Sample = 100_000

    def measure(self, context: Context) -> Measurement:
        files = Files(context.pair, self.columns, self.distance, self.name)
        rows = drawn(files.own.size, files.most(self.sample), context.rng)
        if self.subsets == "random":
            known = random_scenarios(files.names, self.scenarios, context.rng)
        else:
            known = scenarios(files.names, self.scenarios)
        found = [link(files.points(names, self.degree), files.own, rows) for names in known]
        detail: dict[str, Any] = {
            "distance": self.distance,
            "columns": files.names,
            **facts_of(context.pair, files.own, files.left_out),
            "linked_alone": float(np.mean([one.credit.alone / rows.size for one in found])),
            "linked_with_ties": float(np.mean([one.credit.won / rows.size for one in found])),
            **found[-1].points.place.idle,
            **said(one.intruder for one in found if one.points.open),
        }
        if self.scenarios:
            detail["scenarios"] = {
                ", ".join(names): one.credit.value for names, one in zip(known, found, strict=True)
            }
        if self.distance == "kernel":
            detail["degree"] = self.degree
        ends = [one.credit.interval(rows.size < files.own.size) for one in found]
        low, high = (float(np.mean(end)) for end in zip(*ends, strict=True))
        if context.reference is not None:
            detail["non_participants"] = self._control(context, context.reference, found)
        credit = np.mean([one.credit.records for one in found], axis=0)
        return self.linked(context, files.own, rows, credit, (low, high), detail)

    def _control(self, context: Context, reference: Table, found: list[Links]) -> dict[str, Any]:
        require_reference(reference)
        rows = drawn(reference.height, _STRANGERS, context.rng)
        shares = []
        for one in found:
            x, codes = one.points.of(reference, context.pair, self.name)
            if one.points.sums:
                theirs = cKDTree(one.points.b).query(x[rows], p=1)[0]
            elif one.points.open is not None:
                nobody = np.full(rows.size, -1, dtype=np.int64)
                links = one.points.open.link(reference, rows, x[rows], nobody)
                theirs = links[one.intruder].distance
            else:
                theirs = nearest(
                    x[rows],
                    one.points.b,
                    codes_a=codes[rows],
                    codes_b=one.points.codes_b,
                    tolerance=TOLERANCE,
                ).distance
            shares.append(at_least_as_close(theirs, one.to_own))
        return {"records": int(rows.size), "at_least_as_close": float(np.mean(shares))}


class Links(NamedTuple):
    """How the records fared in one scenario."""

    points: Points
    credit: Credit
    to_own: np.ndarray
    """The distance to one's own masked record, squared unless it is a sum; infinite where there is
    none."""
    intruder: str = PLAIN


def link(points: Points, own: np.ndarray, rows: np.ndarray | None = None) -> Links:
    """Link these rows of the original (all unless given) to their nearest masked records."""
    rows = np.arange(len(points.a)) if rows is None else rows
    x, codes, mine = points.a[rows], points.codes_a[rows], own[rows]
    if points.open is not None:
        intruders = points.open.link(points.open.pair.original, rows, x, mine)
        best = best_of(intruders)
        return Links(points, intruders[best].credit, intruders[best].own, best)
    if points.sums:
        return _by_sums(points, x, mine)
    found = own_rank(
        x,
        points.b,
        mine,
        codes_a=codes,
        codes_b=points.codes_b,
        enough=1,
        tolerance=TOLERANCE,
    )
    won = (found.nearer == 0) & (found.ties > 0)
    to_own = np.full(rows.size, np.inf)
    has = mine >= 0
    to_own[has] = distances(x[has], points.b[mine[has]], codes[has], points.codes_b[mine[has]])
    return Links(points, Credit.of(won, found.ties), to_own)


def _by_sums(points: Points, x: np.ndarray, mine: np.ndarray) -> Links:
    """The same by sums of absolute differences."""
    tree = cKDTree(points.b)
    least = tree.query(x, p=1)[0] * (1 + TOLERANCE)
    ties = tree.query_ball_point(x, least, p=1, return_length=True)
    to_own = np.full(len(x), np.inf)
    has = mine >= 0
    to_own[has] = np.abs(x[has] - points.b[mine[has]]).sum(axis=1)
    return Links(points, Credit.of(to_own <= least, np.asarray(ties)), to_own)
