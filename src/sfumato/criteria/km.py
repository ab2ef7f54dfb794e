"""k^m-anonymity of sets, for intruders who know no more than m items of a person."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from ..data.schema import Kind
from ..data.sets.table import SetTable
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.sets.rare_itemsets import rare_itemsets
from ..protocols import Criterion, Finding


class KmAnonymity(Criterion):
    """Whoever knows m items of a person finds none or at least k records with them.

    That is less than k-anonymity, which holds against people who know the whole set, and keeps far
    more items. The figure is the fewest records that hold a combination of at most m items that
    occurs; combinations that contain a rare one are not looked at. A missing set holds nothing.
    People of whom more than m items are known are not protected, nor is knowledge of what somebody
    lacks.

    >>> from sfumato.data.table import table
    >>> t = table({"buys": [["tea", "milk"], ["tea", "milk"], ["tea"]]}, quasi=["buys"])
    >>> KmAnonymity(k=2, m=2).check(t).met
    True
    >>> print(KmAnonymity(k=3, m=1).check(t))
    the fewest records with 1 item of buys is 2 (limit 3) in 2 of 3 records
    """

    name: ClassVar[str] = "km-anonymity"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"k": 5, "m": 2}
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis & Kalnis (2008), Privacy-preserving anonymization of set-valued "
        "data, PVLDB 1(1)"
    )

    k: int = Field(ge=1, description="records that share a combination, if any has it")
    m: int = Field(2, ge=1, le=8, description="items of a person that an intruder knows")
    column: str = Field(
        "", description="column of sets; the only quasi-identifier of sets unless given"
    )

    def check(self, table: Table) -> Finding:
        name = self._column(table)
        sets = SetTable.of(table, name)
        found = rare_itemsets(sets.starts, sets.items, len(sets.names), self.k, self.m)
        broken = int(found.records.sum())
        what = "1 item" if self.m == 1 else f"up to {self.m} items"
        # Where nothing is told of anybody, nothing can be looked up.
        least = found.least if found.looked_at else table.height
        return Finding(
            requirement=self.name,
            subject=f"the fewest records with {what} of {name}",
            value=float(least),
            limit=float(self.k),
            met=not broken,
            at_least=True,
            broken=broken,
            of=table.height,
            of_what="records",
            detail={"column": name, "m": self.m, "combinations_looked_at": found.looked_at},
        )

    def _column(self, table: Table) -> str:
        if self.column:
            if table.schema[self.column].kind != Kind.SET or table.schema[self.column].generalized:
                raise MeasureError(
                    f"{self.name} counts items, and column {self.column!r} holds no sets",
                    remedy="name a column of sets",
                )
            return self.column
        found = [c.name for c in table.schema if c.kind == Kind.SET and c.role == "quasi"]
        if len(found) != 1:
            which = f"{len(found)} ({', '.join(found)})" if found else "none"
            raise MeasureError(
                f"{self.name} speaks of one quasi-identifier of sets, and the table has {which}",
                remedy=f'{self.name} = {{ column = "{found[0] if found else "NAME"}", ... }}',
            )
        return found[0]
