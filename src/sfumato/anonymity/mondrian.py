"""Mondrian: cut the space of quasi-identifiers like the painter his canvas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..candidate import GROUPS, Candidate
from ..data.codec import Matrix
from ..data.generalized.cell_costs import cell_costs
from ..data.partition import Partition, require_group
from ..engines.blockwise import Blockwise
from ..engines.cuts import Blocks, Cutting
from ..engines.relation import Relation
from ..kernels import recoding as kernel
from ..kernels.joins.prices import in_units
from ..nested import Rule
from ..rng import Key
from .cheap_groups import Priced, keeping
from .constrained import counted_rules, cut_groups


class Mondrian(Blockwise):
    """Cut the records in two, again and again, while both sides keep k.

    Numbers, dates and ordinals are cut between values (strict) or through ties (relaxed);
    columns with a hierarchy are cut into its branches; other categories are cut along a fixed
    order into value sets. Missing is one more value of a column: missing values are cut off as soon
    as both sides keep k, and are until then on the side where they cost less.

    With `criteria`, t-closeness and l-diversity allow only cuts whose sides keep them; a group that
    breaks another criterion is joined with the one that it costs least.
    """

    name: ClassVar[str] = "mondrian"
    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "LeFevre, DeWitt & Ramakrishnan 2006, Mondrian multidimensional k-anonymity"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "classes",
        when="what is published must be true of everybody, and ranges of values will do",
        unless="numbers must stay numbers, or others know many columns of a person",
        ladder=GROUPS,
        usual=1,
        verbs=("swap",),
        after="rank-swap",
        million=(0.84, 0.54),  # seven columns of a million different values each: 29
    )

    k: int = Field(5, ge=2, description="smallest group")
    strict: bool = Field(
        True, description="never divide records with equal values (relaxed: ties may part)"
    )
    choose: Literal["widest", "gain", "expected"] = Field(
        "expected",
        description="which cut to make: through the widest column, the one that narrows most "
        "at once, or the one that promises the narrowest groups",
    )
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="weight of a column's width (1 unless given): dear columns stay precise",
    )
    criteria: tuple[Rule, ...] = Field(
        (), description="criteria that every group must keep; one that does not joins another"
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        return self.partition_block(x, None, Key.of_seed(0))

    def local_only(self) -> str:
        if self.criteria:
            return (
                "cuts that keep `criteria` are chosen by looking at all records of a group: leave "
                "them to [require], with a larger k"
            )
        if self.strict:
            return ""
        return "strict = false shares out records with equal values by rows: leave it out"

    def survey(self, data: Relation, columns: Sequence[str], most: int) -> Blocks:
        require_group(data.height, self.k)
        return self._cutting.blocks(data, columns, most)

    def partition_block(self, x: Matrix, blocks: Blocks | None, key: Key) -> Partition:
        require_group(len(x), self.k)
        labels = self._cutting.groups(x, blocks)
        return Partition(self._keeping(x, labels) if self.criteria else labels)

    @property
    def _cutting(self) -> Cutting:
        return Cutting(self.k, self.strict, self.choose, self.importance)

    def _keeping(self, x: Matrix, labels: np.ndarray) -> np.ndarray:
        found = cell_costs(x, importance=self.importance, exact=True)
        rules = counted_rules(x.table, self.criteria)
        given = kernel.records(found.joins, found.states, self.k, rules=rules)
        priced = Priced(x.table, in_units(found.joins), found.states)
        cut = cut_groups(given, labels, strict=self.strict)
        kept = [keeping(priced, groups, self.criteria) for groups in cut]
        return Partition.of(min(kept, key=priced.loss)).labels
