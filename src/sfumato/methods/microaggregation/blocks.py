"""Microaggregation of several blocks of columns, each by itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ...data.codec import Matrix
from ...data.table import Table
from ...errors import MethodError
from ...nested import Search, VerbParameter, named
from ...protocols import Method, Outcome, Partitioner


class Microaggregation(Method):
    """Microaggregate blocks of columns, together or apart.

    Each block is grouped by its own columns and its groups are replaced by themselves. Columns that
    are correlated belong in one block. Two blocks or more keep more of each column, and give no
    k-anonymity: what a record looks like in one block says little about the others, but an intruder
    who knows all of them meets combinations that only one record has.
    """

    name: ClassVar[str] = "microaggregation"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002; Torra 2013, Masking Methods (sets of variables)"
    )
    example: ClassVar[dict[str, Any]] = {
        "blocks": [["age", "zip"], ["height", "weight"]],
        "by": {"use": "mdav", "k": 5},
    }

    blocks: tuple[tuple[str, ...], ...] = Field(
        (), description="lists of columns, each grouped by itself; one of all unless given"
    )
    by: Search = named("mdav", "the search that groups the records of a block")
    replace: VerbParameter = named("centroid", "the verb: what is done to the groups")

    @field_validator("blocks")
    @classmethod
    def _apart(cls, blocks: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        names = [name for block in blocks for name in block]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is in two blocks")
        if not all(blocks):
            raise ValueError("a block needs at least one column")
        return blocks

    def named(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block) or self.columns

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        if not self.blocks:
            return super().targets(table)
        if self.columns:
            raise MethodError(
                "microaggregation was given both columns and blocks", remedy="give only blocks"
            )
        named = [table.schema[name].name for name in self.named()]
        left = [c.name for c in table.schema if c.role in self.roles and c.name not in named]
        return named, left

    def _by(self, block: tuple[str, ...]) -> Partitioner:
        """The search, with the weights of the block's own columns."""
        weights = getattr(self.by, "weights", None)
        if not weights:
            return self.by
        own = {name: weight for name, weight in weights.items() if name in block}
        return self.by.model_copy(update={"weights": own})

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        names, left = self.targets(table)
        blocks = self.blocks or (tuple(names),)
        for name in getattr(self.by, "weights", {}):
            if name not in names:
                raise MethodError(
                    f"microaggregation has a weight for {name!r}, which is in none of its blocks",
                    remedy="remove it from `weights`",
                )
        masked, warnings = table, []
        done: list[dict[str, Any]] = []
        partition = None
        for block in blocks:
            partition = self._by(block).partition(Matrix(table, block), rng)
            outcome = self.replace.apply(masked, partition, block, rng)
            if outcome.rows is not None:
                raise MethodError(
                    f"{self.replace.name} drops records, which microaggregation does not do",
                    remedy="use another verb",
                )
            masked = outcome.table
            done.append({"columns": list(block), **partition.facts, **outcome.facts})
            warnings += [*partition.warnings, *outcome.warnings]
        if len(blocks) > 1:
            partition = None
            warnings.append(
                f"{len(blocks)} blocks were grouped apart: this does not give k-anonymity"
            )
        warnings += [f"{name} is in no block and was left alone" for name in left if self.blocks]
        return Outcome(
            masked,
            partition=partition,
            facts={"columns": names, "blocks": done},
            warnings=tuple(dict.fromkeys(warnings)),
        )
