"""Whom a release larger than memory is about, and who of them has several records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from ...data.people.repeated import repeated_key
from ...data.schema import Column, Kind, Role, Schema
from ...data.table import Table
from ...engines.batches import together
from ...engines.relation import Part, Relation
from ...engines.renumbered import WHOSE, renumbered
from ...engines.sampled import SAMPLE
from ...errors import Complaint, SchemaError
from ...rng import Key
from ..ledger.people import Digests, digests, numbers_of
from ..plan.plan import Plan
from ..records.randomness import lasting_key, of_people, people_numbers

_AT_ONCE = 1 << 19
"""Records whose people are numbered at once."""


def people_of(
    original: Relation, masked: Relation
) -> tuple[Callable[[bytes], Digests] | None, int]:
    """The people whose records are published, by a key, and how many records are nobody's; None
    where no column tells."""
    person = original.schema.person
    if person is None:
        return None, 0
    beside = masked.join(original, [person])
    nameless = sum(beside.fold([person], partial(_nameless, person)))

    def people(key: bytes) -> Digests:
        found = beside.fold([person], partial(_digests, person, key))
        return np.unique(np.concatenate(found), axis=0)

    return people, nameless


def drawn_by_person(
    original: Relation, plan: Plan, seed: int, target: Path
) -> tuple[Relation, Key] | None:
    """What random numbers that last go by, for each record, and their key; None where they go by
    the records' numbers and the seed."""
    person, key = original.schema.person, lasting_key(original.schema, plan, target)
    if key is None or person is None:
        return None
    numbers = partial(people_numbers, key, seed)
    if _most_records(original, person) < 2:
        return renumbered(original.only([person]), numbers), of_people(key)
    # Records of one person are told apart by all that they hold.
    route = partial(_bucket, person, key, original.height // _AT_ONCE + 1)
    return renumbered(original, numbers, route), of_people(key)


def _bucket(person: str, key: bytes, many: int, part: Table, numbers: np.ndarray) -> np.ndarray:
    found, _ = numbers_of(part[person], key)
    return (found % np.uint64(many)).astype(np.int64)


def _nameless(person: str, part: Table, numbers: np.ndarray) -> int:
    return int(part[person].null_count())


def _digests(person: str, key: bytes, part: Table, numbers: np.ndarray) -> Digests:
    return digests(part[person], key)


def repeated_person(original: Relation) -> str | None:
    """The column by which people have several records; None where a record is a person.

    Whether an identifier that comes back stands for one person is asked of all records of some of
    its values, as it is asked of a table in memory; where a value has too many records to look at,
    it does. It is not guessed among several that do.
    """
    schema = original.schema
    said = [column.name for column in schema if column.person]
    names = said or [n for n in schema.of_role(Role.IDENTIFIER) if schema[n].kind != Kind.SET]
    most = {name: _most_records(original, name) for name in names}
    again = [name for name in names if most[name] > 1]
    if said or not again:
        return again[0] if again else None
    if original.height <= SAMPLE:
        return repeated_key(_some(original, "", 1))
    alone = [name for name in names if name not in again]
    found = [n for n in again if most[n] > SAMPLE or _is_of_people(original, n, alone)]
    if len(found) > 1:
        what = "comes back in several records, and so do other identifiers"
        remedy = '[input] person = "..." names the column that tells people apart'
        raise SchemaError("the table", [Complaint(name, what, remedy) for name in found])
    return found[0] if found else None


def _is_of_people(original: Relation, name: str, alone: Sequence[str]) -> bool:
    """Whether the records of a value seem to be one person's; `alone` are identifiers that no two
    records share."""
    schema = original.schema
    kept = [c.name for c in schema if c.role != Role.IDENTIFIER or c.name in (name, *alone)]
    return repeated_key(_some(original.only(kept), name, original.height // SAMPLE)) == name


def _some(original: Relation, name: str, share: int) -> Table:
    """All records of one value in `share`, in the order of their numbers."""
    parts = original.fold(original.schema.names, partial(_chosen, name, share))
    numbers = np.concatenate([found for _, found in parts])
    return together([part for part, _ in parts]).take(np.argsort(numbers))


def _chosen(name: str, share: int, part: Table, numbers: np.ndarray) -> tuple[Table, np.ndarray]:
    if share < 2:
        return part, numbers
    rows = np.flatnonzero(_bucket(name, b"some", share, part, numbers) == 0)
    return part.take(rows), numbers[rows]


def _most_records(original: Relation, name: str) -> int:
    """How many records the commonest value has; missing ones are nobody's."""
    missing = sum(original.fold([name], partial(_nameless, name)))
    size, many = original.class_sizes([name]).T
    many = many - (size == missing)
    return int(size[many > 0].max(initial=0))


def whose(original: Relation, person: str) -> Relation:
    """Whose each record is, alone."""
    return original.only([person]).map_parts(partial(_whose, person))[0]


def _whose(person: str, part: Table, numbers: np.ndarray) -> Part:
    values = part[person].cast(pl.String).alias(WHOSE)
    return Part(Table(pl.DataFrame([values]), Schema([Column(WHOSE, Kind.NOMINAL)])))
