"""Local suppression: take out single cells until nobody stands alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...candidate import Candidate, settings
from ...data.codec import Matrix, code
from ...data.partition import Partition
from ...data.schema import SUPPRESSED, Role
from ...data.table import Table
from ...engines.blockwise import Blockwise
from ...engines.cuts import Blocks, Cutting, with_domains, without_domains
from ...engines.relation import Part, Relation, Tally, Whole
from ...engines.spread import Spread, Told
from ...engines.values import Combinations
from ...engines.within import BlockSize, into_blocks
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.suppression.ladders import MOST_CHOICES, Ladder, choices, climb, two_steps
from ...kernels.suppression.local import local_suppression
from ...kernels.suppression.searches import cell_by_cell, cheapest_sets
from ...poset.trees.tree import Tree
from ...protocols import Outcome
from ...rng import Key
from ..counts import weight_column, weights_of
from .cells import Cells, checked_columns, suppressed_outcome, suppressed_part, suppressed_told
from .until import Goal, Limits


class Known(NamedTuple):
    """The combinations that occur, and which cells of each are suppressed."""

    places: Combinations
    gone: np.ndarray

    @property
    def names(self) -> list[str]:
        """The columns."""
        return self.places.names


class Cut(NamedTuple):
    """The columns, and where records are cut before they are in one place."""

    names: list[str]
    blocks: Blocks | None = None


class LocalSuppression(Spread):
    """Suppress the fewest cells that make every record k-anonymous.

    By default a suppressed cell is a value of its own, so that the k recounted on the file is
    the k that is meant. With reading = "wildcard" a suppressed or missing cell matches every
    value: fewer cells go, but the promise is weaker, and a k-anonymity requirement must then say
    missing = "wildcard" too.

    Three searches. "best" builds groups over all sets of columns and improves them by local search;
    it suppresses least. "optimal-per-record" gives each record in need the cheapest set of its own
    cells that is enough given the others: exact over all sets of columns, and blind to what records
    could do for one another. With suppressed as a value of its own the others in need must choose
    alike, so those whose choice too few share choose again, and the last ones, fewer than k, are
    joined to the class that it costs least to widen; a million records of ten columns may take
    minutes. "greedy" suppresses cell by cell, in each
    round the cell of each record in need that brings most company, up to k, for its cost.

    With `ladder`, a cell of a column with a hierarchy climbs to its parent before it is suppressed;
    a broader label costs the share of the domain that it leaves open (NCP) times the column's
    importance, a suppressed cell the importance itself.

    With `until`, cells go until the risk of a sample in its population is within a limit, and there
    is no k: a record may stay alone if its sampling weight stands for enough people. The individual
    risk is that of the measure of that name, by the column with the role weight; without one the
    sample stands for the population. For a limit on the global or the household risk, every record
    is lowered to one individual risk, the highest of those tried at which the limit holds on the
    recount; the first is that at which it holds even if the others gain nothing. "best" is then the
    cheaper of the other two searches.

    Which cells go depends on all records. `blocks` confines the search: records are cut as Mondrian
    cuts, and each block is made k-anonymous by itself, for records that do not fit into one memory.
    """

    name: ClassVar[str] = "local-suppression"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    regroups: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"k": 3}
    paper: ClassVar[str] = (
        "Samarati & Sweeney 1998; de Waal & Willenborg 1998, Optimal local suppression in "
        "microdata, Journal of Official Statistics 14; Willenborg & de Waal 2001, chapter 5"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "classes",
        when="others know few columns, with few values each: some cells are emptied, the rest stay",
        unless="these columns are continuous, or analyses cannot do with missing values",
        ladder=settings("k", 3, 5, 10, 20),
        million=(2.9, 0.62),
    )
    most_records: ClassVar[int] = Blockwise.most_records
    """Records that go to one place at most, unless they cannot be parted."""

    k: int | None = Field(
        None, ge=2, description="records that must share each combination; 3, unless until is given"
    )
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="cost of a cell by column (1 unless given): dear columns are kept",
    )
    reading: Literal["category", "wildcard"] = Field(
        "category", description="what a missing or suppressed cell matches: its like, or anything"
    )
    search: Literal["best", "optimal-per-record", "greedy"] = Field(
        "best", description="over groups of records, record by record, or cell by cell"
    )
    ladder: bool = Field(
        False, description="climb a column's hierarchy before suppressing (not with best)"
    )
    weights: Literal["none", "cost", "count"] = Field(
        "none",
        description="the weight column: not used, what a record's cells cost, or how many "
        "people of the population a record counts for towards k",
    )
    until: Limits = Field(
        default_factory=dict,
        description="risks to reach in place of k: individual-risk, household-risk, global-risk, "
        "each with the highest allowed",
    )
    blocks: BlockSize = 0

    @model_validator(mode="before")
    @classmethod
    def _k_or_until(cls, given: Any) -> Any:
        plain = isinstance(given, Mapping) and not given.get("until") and given.get("k") is None
        return {**given, "k": 3} if plain else given

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.ladder and self.search == "best":
            raise ValueError('ladder goes with search = "greedy" or "optimal-per-record"')
        if self.ladder and self.reading == "wildcard":
            raise ValueError(
                'ladder goes with reading = "category": a broader label matches its like only'
            )
        if self.weights == "count" and (self.search == "best" or self.reading == "wildcard"):
            raise ValueError(
                'weights = "count" goes with search = "greedy" or "optimal-per-record" and '
                'reading = "category"'
            )
        if self.until and self.k is not None:
            raise ValueError("until says what is enough: give no k, or a step for each")
        if self.until and (self.blocks or self.weights == "count"):
            raise ValueError(
                'until goes without blocks and weights = "count": it weighs all records itself'
            )
        if self.ladder and self.blocks:
            raise ValueError("ladder goes without blocks: labels are chosen among all records")
        return self

    def local_only(self) -> str:
        if self.until:
            return (
                "local-suppression with until adds up the weights of all records that look alike, "
                "and so needs them in one place: use k, with blocks = 10000"
            )
        if self.blocks or (self.reading == "wildcard" and self.search != "best"):
            return ""
        return (
            f"local-suppression with search = {self.search!r} and reading = {self.reading!r} "
            "treats records that are alike differently, and so needs all of them in one place: "
            f"use blocks = 10000{' without ladder' if self.ladder else ''}, reading = "
            '"wildcard" with search = "greedy" or "optimal-per-record", or full-domain, mondrian '
            "or local-recoding"
        )

    def survey(self, data: Relation, key: Key) -> Known | Cut:
        if why := self.local_only():
            raise MethodError(why)
        chosen = checked_columns(self, data, self._least, self.importance)
        if self.weights != "none":
            weight_column(data, self.name)
        if self.search == "optimal-per-record":
            self._check_choices(2.0 ** len(chosen))
        if self.blocks:
            return Cut(chosen)
        found = data.count_by(chosen)
        gone = self._wildcard(Cells.of(found.table, chosen), self._costs(chosen), found.count)
        places = Combinations.of(found.table, chosen, marked=True)
        return Known(places, gone[np.argsort(places.places(found.table))])

    def run_on(self, data: Relation, key: Key) -> tuple[Relation, Told]:
        if not self.blocks:
            return super().run_on(data, key)
        known = self.survey(data, key)
        data = with_domains(data, known.names)
        blocks = self._cutting.blocks(data, known.names, self.most_records)
        cut = Cut(known.names, blocks)
        made, tally = data.map_groups(blocks, self.masked(cut, key))
        return without_domains(made), self.told(cut, tally)

    def mask_part(self, part: Table, known: Known | Cut, draws: Draws) -> Part:
        if isinstance(known, Cut):
            # What a column loses is known only when all blocks are: every column is as if it did.
            some = np.ones(len(known.names), dtype=bool)
            return suppressed_part(part, known.names, self._by_block(part, known, draws), some)
        gone = known.gone[known.places.places(part)]
        some = np.asarray(known.gone.any(axis=0))
        return suppressed_part(part, known.names, gone, some)

    def told(self, known: Known | Cut, tally: Tally) -> Told:
        return suppressed_told(known.names, tally, {"reading": self.reading}, self._warnings)

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        if not self.local_only():
            return super().mask(table, rng)
        chosen = checked_columns(self, Whole(table), self._least, self.importance)
        if not self.until:
            return self._searched(table, chosen)
        wildcard = self.reading == "wildcard"
        goal = Goal.of(table, chosen, self.until, wildcard=wildcard, asking=self.name)
        return goal.reached(table, partial(self._searched, table, chosen), self.name)

    def _searched(self, table: Table, chosen: list[str], goal: Goal | None = None) -> Outcome:
        """The table with the cells that the search chose suppressed."""
        if self.ladder:
            return self._climb(table, chosen, goal)
        gone = self._gone(table, chosen, goal)
        return suppressed_outcome(table, chosen, gone, {"reading": self.reading}, self._warnings)

    @property
    def _least(self) -> int:
        """What the company of every record must be worth: k, or the goal, once."""
        return self.k or 1

    @property
    def _cutting(self) -> Cutting:
        return into_blocks(self._least, self.blocks, importance=self.importance)

    @property
    def _warnings(self) -> tuple[str, ...]:
        if self.until:
            return ("risk is that in the population: a record may stay alone in the file",)
        if self.weights != "count":
            return ()
        return (
            "k counts people of the population by the weights: "
            "a class may hold fewer than k records of the file",
        )

    def _costs(self, chosen: list[str]) -> np.ndarray:
        return np.array([self.importance.get(name, 1.0) for name in chosen])

    def _by_block(self, part: Table, cut: Cut, draws: Draws) -> np.ndarray:
        """Which cells go, of a part that holds whole blocks."""
        gone = np.zeros((part.height, len(cut.names)), dtype=bool)
        if not part.height:
            return gone
        names = dict.fromkeys([*cut.names, *part.schema.of_role(Role.WEIGHT)])
        seen = Whole(part).only(list(names))
        if cut.blocks is None:
            # Lists have no order but that in which they are counted: cuts must know them by it.
            seen = seen.with_schema(with_domains(seen, cut.names).schema)
        for rows in Partition(self._cutting.groups(Matrix(seen.table, cut.names), cut.blocks)):
            ordered = rows[np.argsort(draws.numbers[rows], kind="stable")]
            gone[ordered] = self._gone(seen.table.take(ordered), cut.names)
        return gone

    def _gone(self, table: Table, chosen: list[str], goal: Goal | None = None) -> np.ndarray:
        """Which cells go, of records that are searched together."""
        weight = None if self.weights == "none" else weights_of(table, self.name)
        cells, costs = Cells.of(table, chosen), self._costs(chosen)
        if goal is not None and self.search == "best":
            return self._cheaper(table, chosen, goal, weight)
        if self.search != "best" and self.reading == "wildcard":
            return self._wildcard(cells, costs, goal=goal)
        if self.search != "best":
            most = cells.codes.max(axis=0, initial=0)
            ladders = [two_steps(int(m) + 1, c) for m, c in zip(most, costs.tolist(), strict=True)]
            return self._climbed(cells.codes.astype(np.int64), ladders, cells, weight, goal)[1]
        return local_suppression(
            cells.codes,
            self._least,
            costs,
            missing=cells.missing,
            already=cells.already,
            weights=weight,
            reading=self.reading,
            mark="own",
        )

    def _cheaper(
        self, table: Table, chosen: list[str], goal: Goal, weight: np.ndarray | None
    ) -> np.ndarray:
        """The cheaper of both searches that can be told a goal."""
        ways = ["greedy", "optimal-per-record"]
        tried = ways if 2.0 ** len(chosen) <= MOST_CHOICES else ways[:1]
        found = [
            self.model_copy(update={"search": way})._gone(table, chosen, goal) for way in tried
        ]
        each = np.ones(table.height) if weight is None else weight
        return min(found, key=lambda gone: float(each @ (gone @ self._costs(chosen))))

    def _wildcard(
        self,
        cells: Cells,
        costs: np.ndarray,
        count: np.ndarray | None = None,
        goal: Goal | None = None,
    ) -> np.ndarray:
        search = cheapest_sets if self.search == "optimal-per-record" else cell_by_cell
        wild = cells.missing | cells.already
        if goal is None:
            return search(cells.codes, wild, self._least, costs, count)
        return search(cells.codes, wild, self._least, costs, goal.count, goal.worth)

    def _check_choices(self, found: float) -> None:
        if found > MOST_CHOICES:
            raise MethodError(
                f"optimal-per-record would try {found:,.0f} sets of levels, more than "
                f"{MOST_CHOICES:,}",
                remedy='search = "greedy", fewer columns, or hierarchies of fewer levels',
            )

    def _climbed(
        self,
        codes: np.ndarray,
        ladders: list[Ladder],
        cells: Cells,
        weight: np.ndarray | None,
        goal: Goal | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The labels where suppressed is a value of its own, the last step of a ladder, and which
        cells are suppressed."""
        count = weight if self.weights == "count" else None
        if count is not None and count.sum() < self._least:
            raise self._too_light(float(count.sum()))
        if self.search == "optimal-per-record":
            self._check_choices(choices(ladders))
        shown = climb(
            codes,
            ladders,
            self._least,
            already=cells.already,
            count=count if goal is None else goal.count,
            worth=None if goal is None else goal.worth,
            weight=weight if self.weights == "cost" else None,
            search="greedy" if self.search == "greedy" else "optimal",
        )
        gone = shown == np.array([ladder.top for ladder in ladders])
        return shown, gone & ~cells.already

    def _too_light(self, total: float) -> MethodError:
        if not self.blocks:
            return MethodError(
                f"the weights sum to {total:g}: nobody has the company of {self.k}",
                remedy="lower k, or mend the weights",
            )
        # Of several such blocks any may come first.
        return MethodError(
            f"with blocks = {self.blocks} the weights of a block sum to less than {self.k}: nobody "
            "in it has enough company",
            remedy="larger blocks, a lower k, or mend the weights",
        )

    def _climb(self, table: Table, chosen: list[str], goal: Goal | None) -> Outcome:
        """Cells climb hierarchies before they are suppressed."""
        weight = None if self.weights == "none" else weights_of(table, self.name)
        cells = Cells.of(table, chosen)
        codes, ladders, posets = cells.codes.astype(np.int64), [], {}
        for j, name in enumerate(chosen):
            price = self.importance.get(name, 1.0)
            found = code(table, name)
            if (tree := found.structure.tree) is not None:
                codes[:, j] = found.codes
                ladders.append(tree_ladder(tree, price))
                posets[name] = tree
            else:
                ladders.append(two_steps(int(codes[:, j].max(initial=0)) + 1, price))
        shown, gone = self._climbed(codes, ladders, cells, weight, goal)
        series, columns, broader = [], [], {}
        for j, name in enumerate(chosen):
            if name not in posets:
                continue
            leaves = ladders[j].labels[0, codes[:, j]]
            broader[name] = int(
                ((shown[:, j] != leaves) & ~gone[:, j] & ~cells.already[:, j]).sum()
            )
            if broader[name]:
                series.append(tree_labels(name, posets[name], shown[:, j]))
                columns.append(table.schema[name].with_(generalized=True, bound=posets[name]))
        more = {"reading": self.reading, "broadened cells": broader}
        flat = tuple(
            f"{name} has no hierarchy to climb: its cells were suppressed at once"
            for name in chosen
            if name not in posets
        )
        table = table.with_columns(series, columns)
        return suppressed_outcome(table, chosen, gone, more, flat + self._warnings)


def tree_ladder(tree: Tree, importance: float) -> Ladder:
    """The levels of a hierarchy as a ladder over codes 0 (missing), 1..m; the root is the top."""
    nodes = len(tree.label_of_node)
    labels = np.stack([tree.nodes_at(level) for level in range(tree.levels)]).astype(np.int64)
    labels[:-1, 0] = nodes  # missing is a label of its own until it is suppressed
    labels[-1] = tree.root
    price = np.append(tree.node_costs(), 0.0) * importance
    price[tree.root] = importance
    return Ladder(labels, price)


def tree_labels(name: str, tree: Tree, nodes: np.ndarray) -> pl.Series:
    """The labels of these nodes; one beyond the last is missing, the root is "*"."""
    shown = np.append(tree.shown, tree.shown.size)[nodes]
    used, place = np.unique(shown, return_inverse=True)
    texts = [
        None if node == len(tree.label_of_node)
        else SUPPRESSED if node == tree.root
        else tree.label_of_node[node]
        for node in used.tolist()
    ]  # fmt: skip
    domain = pl.Series(name, texts, dtype=pl.Enum([text for text in texts if text is not None]))
    return domain.gather(pl.Series(place.reshape(-1)))
