"""Two releases of the same people, each harmless, joined by an intruder."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ..criteria.coverage.covering import Intersected, intersected
from ..data.linkage.earlier import read_release
from ..data.linkage.linking import require_records
from ..data.pair import Pair
from ..data.table import Table
from ..errors import MeasureError
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement

FEWEST_TOLD = 10
"""People from whom on a share is told."""


class ReleaseIntersection(Attack):
    """Join the release with an earlier one of the same people, and see who stands out.

    The intruder knows a person's quasi-identifiers and that the person is in both releases. In each
    he finds the records that could be that person's; a confidential value that occurs in only one
    of the two sets is ruled out, and of those left he takes the one that is most frequent in the
    release. The figure is the share of people about whom he is right; `naive` is the same with the
    release alone, the baseline a guess of the most frequent value. `detail["certain"]` is the share
    of people with a single value left, `detail["certain_alone"]` what it was before the join, where
    they are not a handful. Both releases must tell the truth: values that were perturbed rule
    nothing out.
    """

    name: ClassVar[str] = "release-intersection"
    paper: ClassVar[str] = (
        "Sweeney (2002), k-anonymity: a model for protecting privacy, IJUFKS 10(5) (complementary "
        "and temporal release attacks); Ganta, Kasiviswanathan & Smith (2008), Composition attacks "
        "and auxiliary information in data privacy, KDD"
    )
    compares: ClassVar[str | None] = "tables"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"

    given: str = Field("", description="the earlier release: its folder, or its data file")
    column: str = Field("", description="confidential column; the only one unless given")

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        if not self.given:
            raise MeasureError(
                f"{self.name} needs the earlier release", remedy='given = "FOLDER of the release"'
            )
        earlier = read_release(self.given, pair.original)
        found, column = self._intersected(pair, earlier)
        share = _most_frequent(pair.original, column)
        detail: dict[str, Any] = {
            "column": column,
            **_shares_by_column("certain", found.left == 1),
            **_shares_by_column("certain_alone", found.alone == 1),
            **_shares_by_column("nothing_fits", found.left == 0),
        }
        return self.outcome(
            float(found.guessed.mean()),
            naive=float(found.guessed_alone.mean()),
            baseline=share,
            detail=detail,
        )

    def _intersected(self, pair: Pair, earlier: Table) -> tuple[Intersected, str]:
        schema = pair.original.schema
        shared = [
            name
            for name in ([self.column] if self.column else schema.confidential)
            if name in pair.masked.schema and name in earlier.schema
        ]
        if len(shared) != 1:
            raise MeasureError(
                f"{self.name} looks at one confidential column of both releases, and there are "
                f"{len(shared)}",
                remedy='column = "NAME"',
            )
        known = [
            tuple(name for name in schema.quasi if name in release.schema)
            for release in (pair.masked, earlier)
        ]
        if not all(known):
            raise MeasureError(
                "a release without quasi-identifiers gives an intruder nothing to compare",
                remedy="give the columns that he may know the role quasi",
            )
        found = intersected(pair.original, pair.masked, earlier, (known[0], known[1]), shared[0])
        return found, shared[0]


def _shares_by_column(name: str, people: np.ndarray) -> dict[str, float]:
    """A share as it may be published: not of a handful, nor of all but a handful."""
    count = int(people.sum())
    few = 0 < count < FEWEST_TOLD or 0 < people.size - count < FEWEST_TOLD
    return {} if few else {name: round(float(people.mean()), 2)}


def _most_frequent(original: Table, column: str) -> float:
    counts = original[column].alias("of").value_counts()["count"].to_numpy()
    return float(np.max(counts) / original.height)
