"""Values taken out one by one: those that too few people have, at random, or items of sets."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import encode, encoded
from ...data.sets.items import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally, Whole
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.sets.rare_itemsets import rare_itemsets
from ...kernels.sets.rows import weights_of
from ...kernels.suppression.at_random import stop_by_class, stop_by_match
from ...kernels.suppression.matches import pack
from ...progress import report
from ...protocols import Method, Outcome
from ...rng import Key
from ..counts import at_least
from .cells import (
    Cells,
    checked_columns,
    suppressed_outcome,
    suppressed_part,
    suppressed_told,
)

_WAYS = ((1, 1), (1, 0), (0, 1))
"""Which item of a rare combination goes: the least by these powers of utility and frequency."""


class RareValues(Spread):
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

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, _ = self.targets(data.empty)
        if self.remove == "records":
            return self._records(data, chosen)
        rare = {}
        for name in chosen:
            found = data.count_by([name])
            present = ~(found.table.missing(name) | found.table.suppressed(name))
            values, count = found.table.take(np.flatnonzero(present)), found.count[present]
            rare[name] = values[name].filter(pl.Series(self._rare(name, count)))
        return Known(rare, 0)

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        gone = np.column_stack([_among(part, name, rare) for name, rare in known.rare.items()])
        if self.remove == "records":
            keep = np.flatnonzero(~gone.any(axis=1))
            return Part(part.take(keep), keep)
        some = np.array([len(rare) > 0 for rare in known.rare.values()])
        return suppressed_part(part, list(known.rare), gone, some)

    def told(self, known: Known, tally: Tally) -> Told:
        if self.remove == "records":
            return Told({"records left out": at_least(known.left_out)})
        return suppressed_told(list(known.rare), tally, {"k": self.k})

    def _records(self, data: Relation, chosen: list[str]) -> Known:
        """The values whose records are left out. Without these, others' may have become rare."""
        found = data.count_by(chosen)
        codes = np.column_stack([encode(found.table[name]).codes for name in chosen])
        stay = np.ones(len(found.count), dtype=bool)
        rare = [np.zeros(int(column.max(initial=0)) + 1, dtype=bool) for column in codes.T]
        while True:
            for j, few in enumerate(rare):
                counts = np.bincount(codes[stay, j], found.count[stay], few.size)
                few |= (counts > 0) & (counts < self.k)
                few[0] = False
            left = stay & ~np.any([few[codes[:, j]] for j, few in enumerate(rare)], axis=0)
            if left.sum() == stay.sum():
                break
            stay = left
        if not stay.any():
            raise MethodError(
                f"every record has a value that fewer than {self.k} others share",
                remedy='remove = "cells", a lower k, or name the columns in `columns`',
            )
        named = zip(chosen, rare, strict=True)
        values = {n: encode(found.table[n]).domain.filter(pl.Series(few[1:])) for n, few in named}
        return Known(values, int(found.count[~stay].sum()))

    def _rare(self, name: str, counts: np.ndarray) -> np.ndarray:
        """Which values are rare, by how many records have each."""
        rare: np.ndarray = counts < self.k
        if rare.any():
            # A gap that fewer than k share would say who is in it.
            for value in np.argsort(counts, kind="stable")[int(rare.sum()) :].tolist():
                if int(counts[rare].sum()) >= self.k:
                    break
                rare[value] = True
        if rare.any() and int(counts[rare].sum()) < self.k:
            raise MethodError(
                f"column {name!r} has fewer than {self.k} values: a gap would say who is in it",
                remedy='leave the column out, or remove = "records"',
            )
        return rare


class Known(NamedTuple):
    """The rare values of each column, and how many records go for them."""

    rare: dict[str, pl.Series]
    left_out: int


def _among(part: Table, name: str, rare: pl.Series) -> np.ndarray:
    """Which cells hold one of these values."""
    if not len(rare):
        return np.zeros(part.height, dtype=bool)
    found = encoded(part, name)
    both = encode(pl.concat([rare, found.domain.alias(rare.name)])).codes
    is_rare = np.zeros(len(found.domain) + 1, dtype=bool)
    is_rare[1:] = np.isin(both[len(rare) :], both[: len(rare)])
    return np.asarray(is_rare[found.codes])


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

    def local_only(self) -> str:
        return (
            "suppresses in one order over all cells until the last record has company: use "
            "rare-values or full-domain"
        )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen = checked_columns(self, Whole(table), self.k, self.importance)
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
        return suppressed_outcome(table, chosen, gone, {"reading": self.reading})


class KmSuppression(Method):
    """Suppress items until any m of them that occur together are shared by k records.

    Of every combination that is too rare one item is given up, in the records that hold the
    combination and nowhere else. That makes other combinations rarer, so it goes in rounds, until
    none is rare: the release is k^m-anonymous. No set is joined with another, and no item is
    generalized. Which item goes is tried in three ways: the one worth least to all together (its
    utility times its frequency), the one of least utility, and the rarest; what keeps most utility
    is published.

    >>> import sfumato as sf
    >>> baskets = sf.table({"buys": [["tea", "milk"], ["tea"], ["tea", "ham"]]}, quasi=["buys"])
    >>> shown = sf.protect(baskets, sf.method("km-suppression", k=2, m=2), seed=0).table["buys"]
    >>> shown.to_list()
    [['tea'], ['tea'], ['tea']]
    """

    name: ClassVar[str] = "km-suppression"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis & Kalnis 2008, Privacy-preserving anonymization of set-valued data "
        "(the promise; they generalize where this suppresses)"
    )
    kinds: ClassVar[tuple[str, ...]] = ("set",)

    k: int = Field(5, ge=2, description="records that share a combination")
    m: int = Field(2, ge=1, le=8, description="items of a person that an intruder knows")

    def local_only(self) -> str:
        return (
            "counts combinations of items again after each round, over all sets: use set-mondrian "
            "or two-phase"
        )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        changed, before, after, most = table, 0.0, 0.0, 0
        for name in chosen:
            sets = SetTable.of(table, name)
            worth = item_utilities(table.schema[name], sets.names)
            starts, items, rounds = self._best(sets, worth)
            before += float(weights_of(sets.starts, sets.items, worth).sum())
            after += float(weights_of(starts, items, worth).sum())
            most = max(most, rounds)
            shown = SetTable(starts, items, sets.names, sets.missing.copy()).to_column(name)
            changed = changed.with_columns([shown], [table.schema[name]])
        kept = round(after / before, 2) if before else 1.0
        warnings = tuple(f"{name} was left alone: it holds no sets" for name in left)
        return Outcome(changed, facts={"rounds": most, "utility kept": kept}, warnings=warnings)

    def _best(self, sets: SetTable, worth: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """The way that keeps most: utility alone at times keeps less of itself than frequency."""
        alike = bool((worth == worth[:1]).all())
        ways = _WAYS[:1] if alike else _WAYS
        tried = [self._suppressed(sets, worth**power, often) for power, often in ways]
        return max(tried, key=lambda found: float(worth[found[1]].sum()))

    def _suppressed(
        self, sets: SetTable, worth: np.ndarray, often: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        starts, items, d = sets.starts, sets.items, len(sets.names)
        row = np.repeat(np.arange(len(sets)), sets.sizes)
        rounds = 0
        while True:
            support = np.bincount(items, minlength=d)
            found = rare_itemsets(starts, items, d, self.k, self.m, worth * support**often)
            rounds += 1
            gone = int(found.drops.sum())
            if not gone:
                report("suppressing rare combinations", 1, 1)
                return starts, items, rounds
            report("suppressing rare combinations", sets.items.size - items.size, sets.items.size)
            items, row = items[~found.drops], row[~found.drops]
            starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(sets)))))
