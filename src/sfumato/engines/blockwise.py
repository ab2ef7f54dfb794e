"""Searches that run where the data are: block by block, and what is published of their groups.

A search that is `Blockwise` learns from counts how the records fall into blocks that fit into
memory (`survey`), and searches each on its own (`partition_block`); a verb that is a `GroupVerb`
publishes the groups of a part, and tells of all from what the parts counted. A table in memory is
one part, so that every engine publishes the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ..data.codec import Matrix
from ..data.partition import Cover, Partition
from ..data.schema import Schema
from ..data.table import Table
from ..errors import MethodError
from ..protocols import Outcome, Partitioner, Verb
from ..rng import Key
from .cuts import with_domains, without_domains
from .relation import Part, Relation, Tally, Whole
from .spread import Told


class Blockwise(Partitioner):
    """A search in blocks."""

    knows_domains: ClassVar[bool] = True
    """Whether it must know what its columns hold in all."""
    most_records: ClassVar[int] = 4_000_000
    """Records that go to one place at most, unless they cannot be parted."""

    def local_only(self) -> str:
        return ""

    @abstractmethod
    def survey(self, data: Relation, columns: Sequence[str], most: int) -> Any:
        """Where each record goes (`map_groups`' route, picklable): to parts of at most `most`
        records that are searched on their own. Columns know their domains."""

    @abstractmethod
    def partition_block(self, x: Matrix, blocks: Any, key: Key) -> Partition:
        """The groups of a part's records, which are in the order of their numbers; its facts are
        counts, which are added up."""

    def told(self, blocks: Any, tally: Tally) -> Told:
        """What the evidence must name besides what the verb tells."""
        return Told()


class GroupVerb(Verb):
    """A verb that publishes groups of a part as it would among all others."""

    def local_only(self) -> str:
        return ""

    @abstractmethod
    def publish(
        self,
        part: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Part:
        """The part with the columns of each group made alike. Types depend on the columns and on
        what is known of the whole, never on the part's values; only labels may be an Enum."""

    @abstractmethod
    def told(self, schema: Schema, columns: Sequence[str], tally: Tally) -> Told:
        """What the evidence must name; the schema is that before."""

    def settled(self, made: Relation, before: Table, tally: Tally) -> Relation:
        """The whole, once all of it is known; `before` has the columns as they were, without
        records."""
        return made

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        part = self.publish(table, partition, columns, rng)
        whole = self.settled(Whole(part.table), table, part.tally)
        assert isinstance(whole, Whole)
        told = self.told(table.schema, columns, part.tally)
        made = _as_text(whole.table, columns)
        return Outcome(made, partition=partition, facts=told.facts, warnings=told.warnings)


def sizes_tally(partition: Partition | Cover) -> Tally:
    """What parts tell of their groups."""
    if isinstance(partition, Partition):
        least = {"smallest group": partition.smallest} if partition.groups else {}
        return Tally({"groups": partition.groups}, least)
    return Tally({}, {"smallest set": int(partition.sizes.min())} if len(partition) else {})


def sizes_told(tally: Tally) -> dict[str, Any]:
    """What is told of the groups."""
    if "groups" in tally.total:
        smallest = tally.least.get("smallest group", 0)
        return {"groups": tally.total["groups"], "smallest group": smallest}
    return {"smallest set": tally.least.get("smallest set", 0)}


def cells_tally(what: str, cells: Mapping[str, int]) -> Tally:
    """Counts of columns."""
    return Tally({f"{what}/{name}": count for name, count in cells.items()})


def cells_told(what: str, columns: Sequence[str], tally: Tally) -> dict[str, int]:
    """The counts of those columns that were counted, in their order."""
    keys = {name: f"{what}/{name}" for name in columns}
    return {name: tally.total[key] for name, key in keys.items() if key in tally.total}


def run_search(
    use: Partitioner, then: Verb, data: Relation, rng: np.random.Generator, most: int = 0
) -> tuple[Relation, Told]:
    """A search and its verb where the data are, and what the evidence must name; `most` records go
    to one place, where the search does not say how many."""
    reason = use.local_only() or then.local_only()
    if reason or not isinstance(use, Blockwise) or not isinstance(then, GroupVerb):
        raise MethodError(f"{use.name} then {then.name}: {reason}", remedy='[engine] use = "local"')
    before = data.empty
    columns, left = use.targets(before)
    if use.knows_domains:
        data = with_domains(data, columns)
    room = data.room(columns) or use.most_records
    blocks = use.survey(data, columns, most or min(room, use.most_records))
    key = Key.drawn(rng) if use.random else Key.of_seed(0)
    made, tally = data.map_groups(blocks, partial(_block, use, then, blocks, columns, key))
    made = then.settled(without_domains(made), before, tally)
    groups, found = use.told(blocks, tally), then.told(before.schema, columns, tally)
    ignored = tuple(f"{name} was left alone: {use.name} cannot group by it" for name in left)
    return made, Told(
        {"columns": columns, **groups.facts, **found.facts},
        found.secrets,
        (*groups.warnings, *found.warnings, *ignored),
    )


def _block(
    use: Blockwise,
    then: GroupVerb,
    blocks: Any,
    columns: Sequence[str],
    key: Key,
    part: Table,
    numbers: np.ndarray,
) -> Part:
    partition = Partition(np.empty(0, dtype=np.int64))
    if part.height:
        partition = use.partition_block(Matrix(part, columns), blocks, key)
    # Verbs that draw are not among these.
    made = then.publish(part, partition, columns, Key.of_seed(0).stream())
    tally = made.tally.plus(Tally(partition.facts))
    return Part(_as_text(made.table, columns), made.rows, tally)


def _as_text(table: Table, columns: Sequence[str]) -> Table:
    """Labels as text: an Enum would have other categories in each part, and what comes after would
    see them in another order."""
    labels = [name for name in columns if table.schema[name].generalized]
    return table.with_columns([table[name].cast(pl.String) for name in labels])
