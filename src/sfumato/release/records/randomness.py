"""Where the random numbers of a release come from: a record's own belong to it.

A record's number is its row in the input. Its random numbers come from the seed, from the step with
its parameters, and from that number: neither other records nor their order matter. Where people
are known again by a ledger, they come from the ledger's key and from the person instead, so that
whoever is published again gets the same noise, which nobody can average away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...data.codec import equals_before
from ...data.linkage.seen import NAMES
from ...data.schema import Role, Schema
from ...data.table import Table
from ...engines.exact import digest
from ...engines.relation import Relation
from ...engines.spread import Spread
from ...kernels.draws import Draws
from ...rng import Key
from ..ledger.key import make_key
from ..ledger.people import numbers_of
from ..ledger.publication import RECORDS, Publication
from ..plan.plan import Plan
from ..plan.step import Records, Step, step_key

Bits = Callable[[np.ndarray], np.ndarray]
BY_LEDGER = (
    "what belongs to a record was drawn by the ledger's key and the person, whatever the seed: "
    "whoever is published again by the same step on the same people's data gets the same noise"
)


@dataclass(frozen=True, eq=False)
class Randomness:
    """The keys and numbers of one release."""

    seed: int
    rows: np.ndarray
    """uint64: of every original record its number, the row in the input."""
    people: Records | None = None
    """By whom records are about, where a ledger knows people."""

    @classmethod
    def of(cls, seed: int, table: Table, rows: np.ndarray | None = None) -> Randomness:
        """Of a table with these rows of the input; None: all."""
        found = np.arange(table.height) if rows is None else rows
        return cls(seed, found.astype(np.uint64))

    def known_by(self, table: Table, plan: Plan, target: str | Path) -> Randomness:
        """The same, where a ledger beside the target knows whose records these are."""
        key = lasting_key(table.schema, plan, target)
        if key is None:
            return self
        numbers = people_numbers(key, self.seed, table, self.rows)
        return Randomness(self.seed, self.rows, Records(of_people(key), numbers))

    def step(
        self,
        steps: Sequence[Step],
        index: int,
        rows: np.ndarray | None,
        table: Table,
        *,
        linked: bool,
    ) -> Records:
        """The key of a step, and the numbers of the records that are left: these rows of the
        original, or all of them. Records that are nobody's are numbered as they lie."""
        found = Records(Key.of_seed(self.seed), np.arange(table.height, dtype=np.uint64))
        if linked:
            known = self.people if lasting(steps[index]) else None
            found = known or found._replace(numbers=self.rows)
            found = found if rows is None else found._replace(numbers=found.numbers[rows])
        return found._replace(key=step_key(steps, index, table, found.key))

    def numbers(self, rows: np.ndarray | None, height: int) -> np.ndarray:
        """uint64: by what the records that are left are ordered: these rows of the original, or as
        they lie where they are nobody's."""
        if rows is not None:
            return np.asarray(self.rows[rows])
        return self.rows if self.rows.size == height else np.arange(height, dtype=np.uint64)


def lasting_key(schema: Schema, plan: Plan, target: str | Path) -> bytes | None:
    """The key of the ledger beside the target, where it knows whose records these are and
    something is drawn that is to last."""
    if not target or schema.person is None or not any(map(lasting, plan.steps)):
        return None
    ledger = Publication(RECORDS, Path(os.path.abspath(target)), plan, {}).ledger
    if ledger.path.exists():
        with ledger.opened() as book:
            if book.off:
                return None
            book.key()  # raises where it is lost: a new one would know nobody again
    return make_key()


def of_people(key: bytes) -> Key:
    """The key of what is drawn for people."""
    return Key(key, lasting=True).of("people")


def people_numbers(key: bytes, seed: int, table: Table, rows: np.ndarray) -> np.ndarray:
    """uint64: a number for each record, by whom it is about; `rows` are the records' own. All
    records of a person must be there."""
    person = table.schema.person
    assert person is not None
    found, named = numbers_of(table[person], key)
    nth = np.zeros(table.height, dtype=np.int64)
    nth[named] = _nth_of_person(table, found, np.flatnonzero(named))
    numbers = np.empty(table.height, dtype=np.uint64)
    for n in range(int(nth.max(initial=0)) + 1):
        which = np.flatnonzero(named & (nth == n))
        numbers[which] = Draws(of_people(key).of("record"), found[which]).bits(n)
    # Who is not known again gets numbers of this release alone.
    unknown = Key.of_seed(seed).of("nobody")
    numbers[~named] = Draws(unknown, rows[~named]).bits()
    return numbers


def lasting(step: Step) -> bool:
    """Whether what it draws for a person is to be the same in every release. Names are not: by a
    pseudonym that stays, anybody could join the releases."""
    use = step.use
    return isinstance(use, Spread) and use.keyed and step.random and not use.handles_identifiers


def shuffle_bits(seed: int, steps: Sequence[Step], original: Schema, masked: Relation) -> Bits:
    """What records are ordered by, from their numbers (uint64): another order for other steps,
    columns, roles or published values, or two releases under one seed could be laid side by side,
    row by row."""
    words = [[(part.name, part.plan_words()) for part in step.parts] for step in steps]
    names = masked.schema.names
    key = Key.of_seed(seed).of("shuffle", words, names, _words(original))
    told = [c.name for c in masked.schema if c.role not in (Role.INSENSITIVE, *NAMES)]
    return partial(_bits, key.of("data", digest(masked, told or names, key)))


def _words(schema: Schema) -> list[Any]:
    return [
        (c.name, c.role, c.kind, None if c.poset is None else (c.poset.name, c.poset.plan_words()))
        for c in schema
    ]


def shuffled(numbers: np.ndarray, bits: Bits) -> np.ndarray:
    """The order of records with these numbers, ties by number."""
    return np.lexsort((numbers, bits(numbers)))


def _bits(key: Key, numbers: np.ndarray) -> np.ndarray:
    return Draws(key, numbers).bits()


def _nth_of_person(table: Table, person: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """int64: of each of these rows, how many of the person's come before by what they hold, so
    that their order does not matter."""
    _, kind, counts = np.unique(person[rows], return_inverse=True, return_counts=True)
    nth = np.zeros(rows.size, dtype=np.int64)
    several = np.flatnonzero(counts[kind] > 1)
    if several.size:
        frame = table.frame[rows[several]]
        columns = [frame.get_column(name) for name in sorted(frame.columns)]
        held = pl.DataFrame([_sortable(one).alias(str(j)) for j, one in enumerate(columns)])
        order = held.with_row_index("row").sort(held.columns, maintain_order=True)["row"]
        sorted_rows = several[order.to_numpy()]
        nth[sorted_rows] = equals_before(kind[sorted_rows])
    return nth


def _sortable(series: pl.Series) -> pl.Series:
    """Values in an order that does not depend on the others."""
    if series.dtype.is_nested():
        return pl.Series(series.name, [repr(value) for value in series.to_list()])
    return series.cast(pl.String) if series.dtype in (pl.Categorical, pl.Enum) else series
