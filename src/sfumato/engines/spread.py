"""`Spread`: a method that runs where the data are, in two phases.

First it learns of the whole what it must know (`survey`), which is small; then it masks each part
on its own (`mask_part`), with random numbers that belong to the records. A table in memory is one
part, so that there is one way in which it masks, and every engine gives the same records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..data.table import Table
from ..kernels.draws import Draws
from ..protocols import Method, Outcome
from ..rng import Key
from .exact import digest
from .relation import Masked, Part, Relation, Tally, Whole


@dataclass(frozen=True)
class Told:
    """What the evidence must name."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class Spread(Method):
    """A method in two phases."""

    @abstractmethod
    def survey(self, data: Relation, key: Key) -> Any:
        """What must be known of the whole: small, picklable, the same however it is divided."""

    @abstractmethod
    def mask_part(self, part: Table, known: Any, draws: Draws) -> Part:
        """A part masked. Types of columns depend on `known` alone, never on the part's values."""

    @abstractmethod
    def told(self, known: Any, tally: Tally) -> Told:
        """What the evidence must name."""

    def local_only(self) -> str:
        """Why these parameters ask for all records in one place, and what to use instead."""
        return ""

    @property
    def keyed(self) -> bool:
        """Whether records in one place are masked by `mask_keyed`, too; else `mask` has a way of
        its own, with a stream for all of them."""
        return not self.local_only()

    def bound(self, data: Relation, key: Key) -> Key:
        """The key for these data. The same numbers on other data, such as the same values in
        another order or with another sign, would give values back; what people are to keep for
        longer is told apart by their own values instead (`Draws.beside`)."""
        if key.lasting or not self.random or self.perturbs is False:
            return key
        return key.of("data", digest(data, self.targets(data.empty)[0], key))

    def mask_keyed(self, table: Table, key: Key, numbers: np.ndarray) -> Outcome:
        """A table in memory masked, its records having these numbers."""
        table = table.with_columns([])  # what is kept with its frame goes when this is done
        whole = Whole(table, numbers)
        known = self.survey(whole, key)
        part = self.mask_part(table, known, Draws(key, whole.numbers))
        told = self.told(known, part.tally)
        return Outcome(
            part.table, part.rows, facts=told.facts, secrets=told.secrets, warnings=told.warnings
        )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        # What draws nothing leaves the stream as it is.
        key = Key.drawn(rng) if self.random else Key.of_seed(0)
        return self.mask_keyed(table, key, np.arange(table.height, dtype=np.uint64))

    def run_on(self, data: Relation, key: Key) -> tuple[Relation, Told]:
        """The records masked where they are."""
        known = self.survey(data, key)
        made, tally = data.map_parts(self.masked(known, key))
        return made, self.told(known, tally)

    def masked(self, known: Any, key: Key) -> Masked:
        """What becomes of any part."""
        return partial(_masked, self, known, key)


def _masked(method: Spread, known: Any, key: Key, part: Table, numbers: np.ndarray) -> Part:
    return method.mask_part(part, known, Draws(key, numbers))
