"""Values taken out one by one: those that too few people have, or at random."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import encode
from ...data.table import Table
from ...errors import MethodError
from ...kernels.suppression.at_random import stop_by_class, stop_by_match
from ...kernels.suppression.matches import pack
from ...protocols import Method, Outcome
from ..published_counts import at_least
from .local import Cells, checked_columns, suppressed_outcome


class RareValues(Method):
    """Suppress the values of a column that fewer than k records have.

    In a village where one person differs from all others, k-anonymity hides that person's value and
    nobody else's: the gap says who it is, whatever k is. With remove = "records" the records with
    rare values are left out, as Katirai does. With remove = "cells" only the cells go, and where
    fewer than k would go in a column, the next rarest value goes too, so that a gap always has the
    company of k. Missing values are left alone: they are published as missing.

    >>> import sfumato as sf
    >>> village = sf.table({"race": ["white"] * 6 + ["black"] + ["asian"] * 3}, quasi=["race"])
    >>> shown = sf.protect(village, sf.method("rare-values", k=3), seed=0).table["race"]
    >>> sorted(shown.fill_null("*"))
    ['*', '*', '*', '*', 'white', 'white', 'white', 'white', 'white', 'white']
    """

    name: ClassVar[str] = "rare-values"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy, pp. 25 and 63; Sweeney "
        "2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5)"
    )

    k: int = Field(5, ge=2, description="records that must share a value")
    remove: Literal["cells", "records"] = Field(
        "cells", description="what goes: the cells with rare values, or the whole records"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        gone = np.zeros((table.height, len(chosen)), dtype=bool)
        for j, name in enumerate(chosen):
            codes = encode(table[name]).codes
            present = ~(table.missing(name) | table.suppressed(name))
            gone[:, j] = self._rare(name, codes, present) & present
        if self.remove == "cells":
            cells = Cells.of(table, chosen)
            return suppressed_outcome(table, chosen, gone, cells, {"k": self.k})
        # Without these records, others' values may have become rare.
        keep = np.flatnonzero(~gone.any(axis=1))
        while True:
            rare = np.zeros(keep.size, dtype=bool)
            for name in chosen:
                codes = encode(table[name]).codes[keep]
                few = np.bincount(codes, minlength=1) < self.k
                few[0] = False
                rare |= few[codes]
            if not rare.any():
                break
            keep = keep[~rare]
        if not keep.size:
            raise MethodError(
                f"every record has a value that fewer than {self.k} others share",
                remedy='remove = "cells", a lower k, or name the columns in `columns`',
            )
        facts: dict[str, Any] = {"records left out": at_least(table.height - keep.size)}
        return Outcome(table.take(keep), rows=keep, facts=facts)

    def _rare(self, name: str, codes: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Which records have a rare value."""
        counts = np.bincount(codes[present], minlength=int(codes.max(initial=0)) + 1)
        rare = (counts > 0) & (counts < self.k)
        if self.remove == "cells" and rare.any():
            rarest = np.argsort(np.where(counts > 0, counts, codes.size + 1), kind="stable")
            # A gap that fewer than k share would say who is in it.
            for value in rarest[int(rare.sum()) : int((counts > 0).sum())].tolist():
                if int(counts[rare].sum()) >= self.k:
                    break
                rare[value] = True
        if rare.any() and self.remove == "cells" and int(counts[rare].sum()) < self.k:
            raise MethodError(
                f"column {name!r} has fewer than {self.k} values: a gap would say who is in it",
                remedy='leave the column out, or remove = "records"',
            )
        return rare[codes]


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
