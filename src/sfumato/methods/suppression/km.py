"""Items left out of sets, so that nobody can be found by m items."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.sets.item_utilities import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...kernels.sets.rare_itemsets import rare_itemsets
from ...kernels.sets.rows import weights_of
from ...progress import report
from ...protocols import Method, Outcome


class KmSuppression(Method):
    """Suppress items until any m of them that occur together are shared by k records.

    Of every combination that is too rare, the item is given up that is worth least to all together
    (its utility times its frequency), in the records that hold the combination and nowhere else.
    That makes other combinations rarer, so it goes in rounds, until none is rare: the release is
    k^m-anonymous. No set is joined with another, and no item is generalized.

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

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        changed, before, after, most = table, 0.0, 0.0, 0
        for name in chosen:
            sets = SetTable.of(table, name)
            worth = item_utilities(table.schema[name], sets.names)
            starts, items, rounds = self._suppressed(sets, worth)
            before += float(weights_of(sets.starts, sets.items, worth).sum())
            after += float(weights_of(starts, items, worth).sum())
            most = max(most, rounds)
            shown = SetTable(starts, items, sets.names, sets.missing.copy()).to_column(name)
            changed = changed.with_columns([shown], [table.schema[name]])
        kept = round(after / before, 2) if before else 1.0
        warnings = tuple(f"{name} was left alone: it holds no sets" for name in left)
        return Outcome(changed, facts={"rounds": most, "utility kept": kept}, warnings=warnings)

    def _suppressed(self, sets: SetTable, worth: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        starts, items, d = sets.starts, sets.items, len(sets.names)
        row = np.repeat(np.arange(len(sets)), sets.sizes)
        rounds = 0
        while True:
            support = np.bincount(items, minlength=d)
            found = rare_itemsets(starts, items, d, self.k, self.m, worth * support)
            rounds += 1
            gone = int(found.drops.sum())
            if not gone:
                report("suppressing rare combinations", 1, 1)
                return starts, items, rounds
            report("suppressing rare combinations", sets.items.size - items.size, sets.items.size)
            items, row = items[~found.drops], row[~found.drops]
            starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(sets)))))
