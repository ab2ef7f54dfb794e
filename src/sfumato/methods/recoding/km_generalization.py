"""Items of sets generalized everywhere alike, until few known items find nobody."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.sets.items import UNCLOSED, check_utilities, item_parents, item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...errors import MethodError
from ...kernels.sets.km_cut import km_cut
from ...kernels.sets.top_down import unclosed
from ...progress import report
from ...protocols import Method, Outcome


class KmGeneralization(Method):
    """Generalize items, everywhere alike, until any m that occur together are shared by k records.

    Sets must hold what stands above their items (`enumerate_sets`, `sets = { columns = ["buys"],
    hierarchies = true }`): to generalize milk to dairy is to leave out milk, and all else that
    stands below dairy, of every set. Of each combination that is too rare the items are raised as
    far as they must be, in the way that loses least utility; where nothing else helps an item is
    left out altogether. The release is k^m-anonymous, and every item has one meaning in it.

    >>> import sfumato as sf
    >>> from sfumato.data.sets.enumeration import enumerate_sets
    >>> kinds = {"kind": "items", "parents": {"milk": "dairy", "cheese": "dairy"}}
    >>> buys = [["milk", "tea"], ["cheese", "tea"], ["tea"]]
    >>> baskets = sf.table({"buys": buys}, quasi=["buys"], posets={"buys": kinds})
    >>> whole = enumerate_sets(baskets, ["buys"], into="buys")
    >>> shown = sf.protect(whole, sf.method("km-generalization", k=2), seed=0).table["buys"]
    >>> sorted(shown.to_list())
    [['dairy', 'tea'], ['dairy', 'tea'], ['tea']]
    """

    name: ClassVar[str] = "km-generalization"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis & Kalnis 2008, Privacy-preserving anonymization of set-valued data "
        "(PVLDB 1; AA, the loss counted in utility)"
    )
    kinds: ClassVar[tuple[str, ...]] = ("set",)

    k: int = Field(5, ge=2, description="records that share a combination")
    m: int = Field(2, ge=1, le=4, description="items of a person that an intruder knows")

    def local_only(self) -> str:
        return (
            "counts combinations of items again after each that it raised, over all sets: use "
            "set-mondrian or two-phase"
        )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        changed, before, after = table, 0.0, 0.0
        for name in chosen:
            sets = SetTable.of(table, name)
            check_utilities(table.schema[name], sets.names)
            worth = item_utilities(table.schema[name], sets.names)
            shown = self._generalized(sets, worth, item_parents(table.schema[name], sets.names))
            before += float(worth[sets.items].sum())
            after += float(worth[shown.items].sum())
            changed = changed.with_columns([shown.to_column(name)], [table.schema[name]])
        kept = round(after / before, 2) if before else 1.0
        warnings = tuple(f"{name} was left alone: it holds no sets" for name in left)
        return Outcome(changed, facts={"utility kept": kept}, warnings=warnings)

    def _generalized(self, sets: SetTable, worth: np.ndarray, parents: np.ndarray) -> SetTable:
        if unclosed(sets.starts, sets.items, parents) >= 0:
            raise MethodError(f"{self.name} needs {UNCLOSED[0]}", remedy=UNCLOSED[1])

        def tell(done: int, of: int) -> None:
            report("generalizing items", done, of)

        gone = km_cut(sets.starts, sets.items, worth, parents, self.k, self.m, tell)
        stay = ~gone[sets.items]
        ends = np.concatenate(([0], np.cumsum(stay)))[sets.starts]
        return SetTable(ends, sets.items[stay], sets.names, sets.missing.copy())
