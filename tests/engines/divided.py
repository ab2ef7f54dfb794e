"""A relation whose records lie in several parts, in any order: what every engine may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.engines.batches import loaded, stored, together
from sfumato.engines.relation import Masked, Tally, Whole


class Divided(Whole):
    """A table in memory that shows itself in parts only, each as if it had travelled."""

    def __init__(
        self, table: Table, numbers: np.ndarray | None = None, parts: int = 2, seed: int = 0
    ) -> None:
        super().__init__(table, numbers)
        self.parts, self.seed = parts, seed

    def _again(self, whole: Whole) -> Divided:
        return Divided(whole.table, whole.numbers, self.parts, self.seed)

    def _pieces(self, columns: Sequence[str] | None = None) -> list[tuple[Table, np.ndarray]]:
        whole = self.table if columns is None else Whole.only(self, columns).table
        order = np.random.default_rng(self.seed).permutation(self.height)
        return [
            loaded(stored(whole.take(rows), self.numbers[rows]), whole.take(rows[:0]))
            for rows in np.array_split(order, self.parts)
        ]

    def only(self, columns: Sequence[str]) -> Divided:
        return self._again(super().only(columns))

    def with_schema(self, schema: Schema) -> Divided:
        return self._again(super().with_schema(schema))

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        return [summary(*piece) for piece in self._pieces(columns)]

    def map_parts(self, masked: Masked) -> tuple[Divided, Tally]:
        return self._mapped(masked, self._pieces())

    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[Divided, Tally]:
        pieces = self._pieces()
        routes = np.concatenate([route(*piece) for piece in pieces])
        whole = together([piece for piece, _ in pieces])
        numbers = np.concatenate([found for _, found in pieces])
        order = np.lexsort((numbers, routes))
        groups = np.split(order, np.flatnonzero(np.diff(routes[order])) + 1)
        return self._mapped(masked, [(whole.take(rows), numbers[rows]) for rows in groups])

    def _mapped(
        self, masked: Masked, pieces: Sequence[tuple[Table, np.ndarray]]
    ) -> tuple[Divided, Tally]:
        empty = masked(self.empty, self.numbers[:0]).table
        found, numbers, tally = [empty], [self.numbers[:0]], Tally()
        for piece, known in pieces:
            made = masked(piece, known)
            assert made.table.frame.schema == empty.frame.schema
            assert made.table.schema == empty.schema
            found.append(made.table)
            numbers.append(known if made.rows is None else known[made.rows])
            tally = tally.plus(made.tally)
        whole, known = together(found), np.concatenate(numbers)
        order = np.argsort(known)
        return self._again(Whole(whole.take(order), known[order])), tally
