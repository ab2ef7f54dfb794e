"""Suppression that does not look at who is rare."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.table import Table
from ...kernels.suppression.at_random import stop_by_class, stop_by_match
from ...kernels.suppression.matches import pack
from ...protocols import Method, Outcome
from .local import Cells, checked_columns, suppressed_outcome


class RandomSuppression(Method):
    """Suppress cells in random order until every record is k-anonymous.

    Which cells go depends on nobody's values, so that nothing follows from a cell being gone: there
    is no pattern from which a minimal suppression could be undone, and whatever is left is a random
    sample of each column. The price is the number of cells: it must go on until the last record has
    company. With reading = "wildcard" that is often reached when some records have lost all of
    their cells, which then match everybody: a k that protects others little. With reading =
    "category" nearly everything goes.

    Cells of a column with importance c are taken at the rate 1/c. The search stops at the first
    moment at which k is reached, and the moment itself does depend on the data.
    """

    name: ClassVar[str] = "random-suppression"
    perturbs: ClassVar[bool | None] = False
    regroups: ClassVar[bool] = True
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, section 2.3.2 (randomized suppression)"
    )

    k: int = Field(3, ge=2, description="records that must share each combination")
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="cost of a cell by column (1 unless given): dear columns go more slowly",
    )
    reading: Literal["category", "wildcard"] = Field(
        "wildcard", description="what a missing or suppressed cell matches: its like, or anything"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen = checked_columns(self, table, self.k, self.importance)
        cells = Cells.of(table, chosen)
        costs = np.array([self.importance.get(name, 1.0) for name in chosen])
        # Exponential clocks: the first to ring goes first.
        clock = rng.exponential(size=cells.codes.shape) * costs
        wild = self.reading == "wildcard"
        fixed = cells.already | cells.missing if wild else cells.already
        place = np.full(fixed.shape, -1, dtype=np.int64)
        free = np.flatnonzero(~fixed.ravel())
        place.ravel()[free[np.argsort(clock.ravel()[free], kind="stable")]] = np.arange(free.size)
        codes = cells.codes.astype(np.int64)
        if wild:
            stop = stop_by_match(codes, place, self.k)
        else:
            stop = stop_by_class(pack(codes, cells.already), place, self.k)
        gone = (place >= 0) & (place < stop)
        return suppressed_outcome(table, chosen, gone, cells, {"reading": self.reading})
