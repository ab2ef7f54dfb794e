"""Criteria that count which originals published records fit, which a release does not hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Criterion, Finding
from ..classes import Grouping
from ..coverage.containment import containment, published_of
from ..verdict import verdict
from .population import People, people_of

Held = Callable[[], np.ndarray]
"""Counts the published records that each original fits."""


class OfOriginals(Criterion):
    """A criterion counted against the original records."""

    shorthand: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True
    beside_cover: ClassVar[bool] = True
    words: ClassVar[str]
    """How the field calls it."""

    k: int = Field(ge=1, description="originals that every published record fits")
    original: People = Field(
        "",
        description="file of the originals, for a release without them",
        json_schema_extra={"file": True},
    )

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """Classes of at least k: their label covers them all, and they are k records alike."""
        kept: np.ndarray = grouping.sizes >= self.k
        return kept

    def check(self, table: Table) -> Finding:
        if self.original == "":
            raise MeasureError(
                f"{self.words} is counted against the original records, which a release does not "
                "hold",
                remedy=f'{self.name} = {{ k = 5, original = "FILE" }}, or require it in the plan '
                "that makes the release",
            )
        return self._counted(table, self.original)

    def check_pair(self, pair: Pair) -> Finding:
        return self._counted(pair.masked, pair.original, pair.rows)

    def _counted(self, table: Table, original: Any, rows: np.ndarray | None = None) -> Finding:
        grouping = Grouping.published(table)
        columns = grouping.classes.columns
        people = people_of(original, table, columns, who="the original table")
        found = containment(people, table, grouping.classes.first, columns)
        own = published_of(rows, grouping.classes.labels, people.height)
        detail: dict[str, Any] = {"quasi_identifiers": list(columns), "records": table.height}
        if found.sets is not None:
            detail["counted"] = "up to k"
        fits = found.counts(at_most=self.k, own=own)
        sizes = grouping.sizes.astype(np.float64)
        held = partial(found.sums, sizes, at_most=self.k, own=own)
        return self._judged(grouping, fits, held, detail)

    def _judged(
        self, grouping: Grouping, fits: np.ndarray, held: Held, detail: dict[str, Any]
    ) -> Finding:
        """The finding, by how many originals each class fits."""
        return self._of_classes(grouping, fits, self.words, detail)

    def _of_classes(
        self, grouping: Grouping, fits: np.ndarray, subject: str, detail: dict[str, Any]
    ) -> Finding:
        kept, limit = fits >= self.k, self.k
        return verdict(
            self, grouping, fits, kept, subject=subject, limit=limit, at_least=True, detail=detail
        )
