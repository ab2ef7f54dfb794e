"""A relation whose records lie in several parts and in any order, as those of an engine do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.engines.batches import together
from sfumato.engines.relation import Masked, Tally, Whole


class Divided(Whole):
    """A table cut before these places, after its records were put into this order."""

    def __init__(
        self,
        table: Table,
        order: Sequence[int] | np.ndarray,
        cuts: Sequence[int],
        numbers: np.ndarray | None = None,
    ) -> None:
        super().__init__(table, numbers)
        self.order = np.asarray(order, dtype=np.int64)
        self.rows = np.split(self.order, sorted(cuts))
        self.cuts = cuts

    def only(self, columns: Sequence[str]) -> Divided:
        return Divided(super().only(columns).table, self.order, self.cuts, self.numbers)

    def with_schema(self, schema: Schema) -> Divided:
        return Divided(self.table.with_schema(schema), self.order, self.cuts, self.numbers)

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        table = super().only(columns).table
        return [summary(table.take(rows), self.numbers[rows]) for rows in self.rows]

    def map_parts(self, masked: Masked) -> tuple[Whole, Tally]:
        """All parts, in the order of their numbers."""
        masked = pickle.loads(pickle.dumps(masked))  # as it travels to workers
        empty = masked(self.empty, self.numbers[:0]).table
        parts, numbers, tally = [empty], [], Tally()
        for rows in self.rows:
            made = masked(self.table.take(rows), self.numbers[rows])
            assert made.table.schema == empty.schema, "a part has a schema of its own"
            assert made.table.frame.schema == empty.frame.schema, "a part has types of its own"
            parts.append(made.table)
            own = self.numbers[rows]
            numbers.append(own if made.rows is None else own[made.rows])
            tally = tally.plus(made.tally)
        found = np.concatenate(numbers)
        order = np.argsort(found, kind="stable")
        return Whole(together(parts).take(order), found[order]), tally
