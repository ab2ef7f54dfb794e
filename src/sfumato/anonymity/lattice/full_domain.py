"""Full-domain generalization: one level for each column, the best that the criteria leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import encoded
from ...data.domain import Domain
from ...data.partition import Partition
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally, Whole
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.lattice.rollup import Fields, packed, places_of
from ...nested import Rule
from ...protocols import Outcome
from ...rng import Key
from .columns import Ladder, ladder, publish
from .lattice import Lattice
from .optimal import Budget, Found
from .strategies import PAPERS, search
from .terms import Terms

FEWEST_TOLD = 10
"""Records from which a realised share is published, as are all the others."""


class Chosen(NamedTuple):
    """A column at the level that was chosen."""

    ladder: Ladder
    domain: pl.Series
    level: int
    values: np.ndarray
    """int32: for each code of a value in the domain (and for suppressed) its number."""

    @classmethod
    def of(cls, one: Ladder, rows: Table, domain: pl.Series, level: int) -> Chosen:
        """Of a ladder over rows in which every value occurs."""
        values = np.zeros(len(domain) + 2, dtype=np.int32)
        values[one.raw(rows, domain)] = one.values
        return cls(replace(one, values=values[:0]), domain, level, values)

    def of_part(self, part: Table) -> Ladder:
        """The ladder with the values of a part's records."""
        return replace(self.ladder, values=self.values[self.ladder.raw(part, self.domain)])


class Known(NamedTuple):
    """What is published: the level of each column, and which classes are suppressed."""

    chosen: tuple[Chosen, ...]
    fields: Fields
    keys: np.ndarray
    own: np.ndarray
    """int64: the number of each class, -1 if it is suppressed."""
    facts: dict[str, Any]
    warnings: tuple[str, ...]

    def published(self, part: Table) -> tuple[Table, np.ndarray]:
        """A part as it is published, and the class of each of its records."""
        levels = [one.level for one in self.chosen]
        ladders = [one.of_part(part) for one in self.chosen]
        groups = [one.groups[level][one.values] for one, level in zip(ladders, levels, strict=True)]
        places = places_of(packed(groups, self.fields), self.keys, self.fields.words)
        labels = self.own[places]
        return publish(part, ladders, levels, labels < 0), labels


def _domain(rows: Table, name: str, count: np.ndarray) -> Domain:
    """What is known of a column by counted rows."""
    found = encoded(rows, name)
    each = np.bincount(found.codes, count, len(found.domain) + 1).astype(np.int64)
    return Domain(found.domain, each[1:], int(each[0]))


class FullDomain(Spread):
    """Generalize every column to one level of its hierarchy, the best there is.

    Level 0 is the value, the last level "*". Records whose class fails k or a criterion are
    suppressed: all their quasi-identifiers become "*", and they stay in the table. They may be
    `suppress` of all records at most. Suppressed records look alike and so are a class themselves:
    it has k records and satisfies the criteria, too, or there is none; where they would be fewer
    than k, the class that costs least joins them.

    By default the level of every column is the optimum for the measure, proved: nodes of the
    lattice are looked at from cheap to dear, and most are ruled out unseen. `measure` is

    - loss: the normalized certainty penalty, a suppressed record costs 1;
    - precision: heights in the hierarchies (1 - PREC);
    - entropy: the share of the columns' entropy that is lost (non-uniform entropy);
    - discernibility: squared class sizes, a suppressed record costs as much as the table has;
    - average-class-size: records per class.

    With strategy "samarati", "incognito", "ola" or "datafly" the search of that paper chooses.
    "top-down" and "bottom-up" walk lattices that are too large for that, within `seconds` or
    `steps`; the facts say how far the result may be from the optimum.

    A column without a hierarchy has two levels, its values and "*". A missing value is a category
    of its own, and becomes "*" at the last level only.
    """

    name: ClassVar[str] = "full-domain"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    aliases: ClassVar[tuple[str, ...]] = ("optimal-lattice", "global-lattice")
    example: ClassVar[dict[str, Any]] = {"k": 5, "suppress": 0.02}
    paper: ClassVar[str] = "; ".join(
        PAPERS[name] for name in ("samarati", "incognito", "ola", "optimal")
    )

    k: int = Field(5, ge=1, description="records that must share each combination")
    suppress: float = Field(
        0.0, ge=0, le=1, description="share of the records that may be suppressed"
    )
    criteria: tuple[Rule, ...] = Field(
        (), description='further criteria: [{ use = "t-closeness", at-most = 0.2 }]'
    )
    measure: Literal["loss", "precision", "entropy", "discernibility", "average-class-size"] = (
        Field("loss", description="what the best generalization loses least of")
    )
    importance: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="weight of a column's cells (1 unless given): dear columns stay precise",
    )
    strategy: Literal[
        "optimal", "samarati", "incognito", "datafly", "ola", "top-down", "bottom-up"
    ] = Field("optimal", description="how the lattice is searched")
    seconds: float | None = Field(
        None, gt=0, description="time for optimal, top-down and bottom-up; the best so far counts"
    )
    steps: int | None = Field(
        None, ge=1, description="the same in nodes looked at, which no clock decides"
    )

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.importance and self.measure in ("discernibility", "average-class-size"):
            raise ValueError(f"importance weighs cells, and {self.measure} looks at classes only")
        limited = self.seconds is not None or self.steps is not None
        if limited and self.strategy not in ("optimal", "top-down", "bottom-up"):
            raise ValueError(
                f'{self.strategy} has no budget: seconds and steps go with strategy = "optimal", '
                '"top-down" or "bottom-up"'
            )
        return self

    def local_only(self) -> str:
        if not self.criteria:
            return ""
        return (
            "full-domain with criteria asks for the records of every class: leave the criteria to "
            "[require], or use mondrian with them"
        )

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, _ = self.targets(data.empty)
        self._check(data, chosen)
        if not self.criteria:
            found = data.count_by(chosen)
            rows, count = found.table, found.count
        elif isinstance(data, Whole):
            rows, count = data.table, np.ones(data.height, dtype=np.int64)
        else:
            raise MethodError(self.local_only())
        domains = [_domain(rows, name, count) for name in chosen]
        known = zip(chosen, domains, strict=True)
        schema = rows.schema
        for name, domain in known:
            schema = schema.with_column(schema[name].with_(whole=domain))
        lattice = self.lattice(rows.with_schema(schema), chosen, count)
        budget = Budget(self.seconds, self.steps)
        best = search(lattice, self.strategy, budget)
        if best.levels is None:
            raise self._none(lattice, best)
        return self._known(lattice, best, budget, domains)

    def _known(self, lattice: Lattice, best: Found, budget: Budget, domains: list[Domain]) -> Known:
        assert best.levels is not None
        flat = [one.name for one in lattice.ladders if not one.hierarchy]
        warnings = [
            f"{name} has no hierarchy of levels: it could only be kept or suppressed as a whole "
            "(give it a poset such as bins, prefix or hierarchy)"
            for name in flat
        ]
        if best.levels == lattice.top:
            warnings.append("every quasi-identifier had to be suppressed")
        facts = self._facts(lattice, best, flat, budget)
        chosen = [
            Chosen.of(one, lattice.table, domain.values, level)
            for one, domain, level in zip(lattice.ladders, domains, best.levels, strict=True)
        ]
        keys, own = lattice.classes(best.levels)
        return Known(tuple(chosen), lattice.fields, keys, own, facts, tuple(warnings))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        return Part(known.published(part)[0])

    def told(self, known: Known, tally: Tally) -> Told:
        return Told(known.facts, warnings=known.warnings)

    def mask_keyed(self, table: Table, key: Key, numbers: np.ndarray) -> Outcome:
        whole = Whole(table.with_columns([]), numbers)
        known = self.survey(whole, key)
        made, labels = known.published(whole.table)
        return Outcome(
            made, partition=Partition(labels), facts=known.facts, warnings=known.warnings
        )

    def lattice(self, table: Table, columns: list[str], count: np.ndarray | None = None) -> Lattice:
        """The lattice of these columns under this declaration's terms; `count` says how many
        records each row stands for."""
        n = table.height if count is None else int(count.sum())
        terms = Terms(
            self.k,
            # So that a third of 30 is 10, whatever the last bit says.
            min(int(self.suppress * n + 1e-9), n),
            self.criteria,
            self.measure,
            tuple(self.importance.get(name, 1.0) for name in columns),
        )
        return Lattice(table, [ladder(table, name, count) for name in columns], terms, count)

    def _check(self, data: Relation, chosen: list[str]) -> None:
        if data.height < max(self.k, 1):
            raise MethodError(
                f"a table of {data.height} cannot be made {self.k}-anonymous",
                remedy="release nothing, or lower k",
            )
        stray = [name for name in self.importance if name not in chosen]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to generalize",
                remedy=f"the columns are {', '.join(chosen)}",
            )

    def _none(self, lattice: Lattice, found: Found) -> MethodError:
        rules = " and ".join([f"k = {self.k}", *(rule.name for rule in self.criteria)])
        broken = lattice.least_suppression(lattice.top)
        needs = (
            f"fully generalized, {broken:.1%} of the records would have to be suppressed"
            if broken < 1
            else "the whole table as one class does not satisfy them either"
        )
        # Which records to suppress for a criterion is tried one way, not every way.
        every = self.strategy == "optimal" and not found.ended
        sure = every and not (self.criteria and lattice.terms.most)
        none = "no combination of levels satisfies" if sure else "found no levels that satisfy"
        return MethodError(
            f"{none} {rules} with {self.suppress:.1%} of the records suppressed: {needs}",
            remedy="raise suppress, lower k, or loosen criteria",
        )

    def _facts(
        self,
        lattice: Lattice,
        found: Found,
        flat: list[str],
        budget: Budget,
    ) -> dict[str, Any]:
        assert found.levels is not None
        ladders = zip(lattice.ladders, found.levels, strict=True)
        facts: dict[str, Any] = {
            "strategy": self.strategy,
            "paper": PAPERS[self.strategy],
            "levels": {one.name: level for one, level in ladders},
            "highest levels": {one.name: one.levels - 1 for one in lattice.ladders},
            self.measure: round(lattice.published(found.value), 4),
            "nodes checked": lattice.looked_at,
            "nodes": lattice.size,
        }
        if flat:
            facts["without a hierarchy"] = flat
        gone = lattice.judge(found.levels).suppressed
        if min(gone, lattice.n - gone) >= FEWEST_TOLD:
            # Two digits that count: of a large table even many records are a small share.
            facts["suppressed share"] = float(f"{gone / lattice.n:.2g}")
        if found.ended and found.bound is not None:
            facts["ended early"] = "by the clock" if budget.by_clock else "after its steps"
            facts["lower bound"] = round(lattice.published(found.bound), 4)
            gap = lattice.published(found.value) - lattice.published(found.bound)
            facts["gap"] = round(gap, 4)
        return facts
