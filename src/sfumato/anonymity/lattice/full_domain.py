"""Full-domain generalization: one level for each column, the best that the criteria leave."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...candidate import Candidate, settings
from ...data.codec import encoded
from ...data.domain import Domain
from ...data.generalized.information import target_codes, target_column
from ...data.partition import Partition
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally, Whole
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...nested import Rule
from ...protocols import Outcome
from ...rng import Key
from .averaged import Average, Published, check_average, unclustered
from .columns import bounded, ladder
from .known import Chosen, Known, all_hidden, levels_of
from .lattice import Lattice
from .optimal import Budget, Found
from .strategies import PAPERS, search
from .terms import CELLS, ECONOMICS, WEIGHED, Aggregate, Measure, Terms
from .unsatisfied import unsatisfied

FEWEST_TOLD = 10
"""Records from which a realised share is published, as are all the others."""
Level = Annotated[int, Field(ge=0)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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
    - average-class-size: records per class;
    - kl-divergence: bits between the joint distribution of the columns and the one that the release
      implies, each class spread evenly over the combinations of values that its labels cover, and
      the suppressed records over all there are;
    - ambiguity: the mean number of combinations that a record's labels cover;
    - classification: the share of records that are suppressed, or whose `target` is not the most
      frequent one of their class (Iyengar);
    - height: the sum of the levels, whatever is suppressed;
    - payout: what a record pays its publisher on average, as a share of the benefit and the more
      the better, if attackers act for money (`economics`): the benefit but for the share of it that
      is lost, less the penalty times 1 / class size where the attacker's gain times 1 / class size
      exceeds the cost of an attempt; a suppressed record pays nothing.

    Of loss, precision and entropy `aggregate` makes one figure of the columns': their mean, the
    largest, or the geometric mean of 1 + each, less 1. `importance` are their weights: of the mean,
    of the largest relative to the largest weight, of the geometric mean as exponents. `coding` says
    what is dear: at 0.5 a suppressed cell costs as much as one that is "*" by its level; below, it
    costs 2 `coding` of that, so that suppression is preferred, above, generalized cells cost
    2 (1 - `coding`) of what they lose, so that generalization is.

    `levels` fixes the level of some columns, or of all: then that node is published, if it has what
    is asked. `lowest` and `highest` leave the levels between to the search.
    `sfumato lattice PLAN` shows the best nodes to choose from.

    A column in `microaggregate` is grouped by its levels as others are, but published as the mean,
    median, mode or geometric mean of each class; its highest level groups nothing. A cell of it
    loses its class's squared error relative to the column's variance, 1 at most (of categories the
    share of its class that has another value). Missing values are classes of their own in it: if
    there are any, one more level publishes the whole column as "*".

    With strategy "samarati", "incognito", "ola" or "datafly" the search of that paper chooses.
    "top-down" and "bottom-up" walk lattices that are too large for that, within `seconds` or
    `steps`; the facts say how far the result may be from the optimum.

    A column without a hierarchy has two levels, its values and "*". A missing value is a category
    of its own, and becomes "*" at the last level only.

    >>> import sfumato as sf
    >>> people = {"age": [31, 32, 38, 39], "sex": ["f", "m", "f", "m"]}
    >>> tens = {"age": sf.method("bins", edges=[[30, 35, 40], [30, 40]])}
    >>> table = sf.table(people, quasi=["age", "sex"], posets=tens)
    >>> method = sf.method("full-domain", k=2, highest={"age": 1})
    >>> found = method.mask(table, rng=None)
    >>> found.facts["levels"], found.facts["loss"]
    ({'age': 1, 'sex': 1}, 0.6667)
    """

    name: ClassVar[str] = "full-domain"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    aliases: ClassVar[tuple[str, ...]] = ("optimal-lattice", "global-lattice")
    example: ClassVar[dict[str, Any]] = {"k": 5, "suppress": 0.02}
    paper: ClassVar[str] = "; ".join(
        [
            *(PAPERS[name] for name in ("samarati", "incognito", "ola", "optimal")),
            "Kifer & Gehrke (2006), Injecting utility into anonymized datasets, SIGMOD "
            "(kl-divergence)",
            "Nergiz & Clifton (2007), Thoughts on k-anonymization, DKE 63(3) (ambiguity)",
            "Iyengar (2002), Transforming data to satisfy privacy constraints, KDD "
            "(classification)",
            "Wan et al. (2015), A game theoretic framework for analyzing re-identification risk, "
            "PLOS ONE 10(3) (payout)",
        ]
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "classes",
        when="all values of a column must be equally coarse, as tables and codes need them",
        unless="a column has no hierarchy, or a few unusual people would make all values coarse",
        ladder=settings("k", 3, 5, 10, 20, suppress=0.02),
        usual=1,
        million=(0.78, 0.62),
    )

    k: int = Field(5, ge=1, description="records that must share each combination")
    suppress: float = Field(
        0.0, ge=0, le=1, description="share of the records that may be suppressed"
    )
    criteria: tuple[Rule, ...] = Field(
        (), description='further criteria: [{ use = "t-closeness", at-most = 0.2 }]'
    )
    measure: Measure = Field(
        "loss", description="what the best generalization has least of (of payout, most)"
    )
    aggregate: Aggregate = Field(
        "sum",
        description="what loss, precision and entropy make of the columns' figures: their mean, "
        "the largest, or a geometric mean",
    )
    importance: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="weight of a column's cells (1 unless given): dear columns stay precise",
    )
    coding: float = Field(
        0.5,
        ge=0,
        le=1,
        description="0 prefers suppression, which then costs nothing, 1 generalizing, 0.5 neither",
    )
    target: str = Field(
        "",
        description="what measure classification predicts; the target, else the first "
        "confidential column",
    )
    economics: dict[Literal["benefit", "penalty", "gain", "cost"], Money] = Field(
        default_factory=dict,
        description="of measure payout: the publisher's benefit by a record (1200) and penalty for "
        "one that is found (300), the attacker's gain by it (300) and cost of an attempt (4)",
    )
    levels: dict[str, Level] = Field(
        default_factory=dict, description="level of a column, 0 its values; others are searched"
    )
    lowest: dict[str, Level] = Field(
        default_factory=dict, description="level of a column from which on levels are searched"
    )
    highest: dict[str, Level] = Field(
        default_factory=dict, description="level of a column up to which levels are searched"
    )
    microaggregate: dict[str, Average] = Field(
        default_factory=dict,
        description="columns published as an average of each class: mean, median, mode or "
        "geometric-mean",
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
        if self.importance and self.measure not in WEIGHED:
            raise ValueError(f"importance weighs cells, and {self.measure} has no figure of them")
        for name, given in (("aggregate", self.aggregate != "sum"), ("coding", self.coding != 0.5)):
            if given and self.measure not in CELLS:
                raise ValueError(f"{name} goes with the measures {', '.join(CELLS)}")
        if self.microaggregate and self.measure in ("kl-divergence", "ambiguity"):
            raise ValueError(f"{self.measure} counts what labels cover, and an average is none")
        if self.target and self.measure != "classification":
            raise ValueError('target goes with measure = "classification"')
        if self.economics and self.measure != "payout":
            raise ValueError('economics goes with measure = "payout"')
        if self.economics.get("benefit", 1.0) == 0:
            raise ValueError("a benefit of 0 leaves nothing to choose by")
        for name in self.levels:
            if name in self.lowest or name in self.highest:
                raise ValueError(f"the level of {name} is fixed: lowest and highest leave it out")
        for name in self.lowest:
            if self.lowest[name] > self.highest.get(name, self.lowest[name]):
                raise ValueError(f"the lowest level of {name} is above its highest")
        limited = self.seconds is not None or self.steps is not None
        if limited and self.strategy not in ("optimal", "top-down", "bottom-up"):
            raise ValueError(
                f'{self.strategy} has no budget: seconds and steps go with strategy = "optimal", '
                '"top-down" or "bottom-up"'
            )
        return self

    def local_only(self) -> str:
        if self.criteria:
            return (
                "full-domain with criteria asks for the records of every class: leave the criteria "
                "to [require], or use mondrian with them"
            )
        if self.microaggregate:
            return (
                "full-domain with microaggregate looks at the values of every class: leave it out, "
                "or use mdav"
            )
        if self.measure == "classification":
            return (
                "full-domain by classification looks at the target of every record: use another "
                "measure, such as loss"
            )
        return ""

    def survey(self, data: Relation, key: Key) -> Known:
        lattice, domains = self.counted(data)
        budget = Budget(self.seconds, self.steps)
        best = search(lattice, self.strategy, budget)
        if best.levels is None:
            raise unsatisfied(self, lattice, best)
        return self._known(lattice, best, budget, domains)

    def counted(self, data: Relation) -> tuple[Lattice, list[Domain]]:
        """The lattice of a relation's columns, and what is known of them."""
        chosen, _ = self.targets(data.empty)
        self._check(data, chosen)
        if not self.local_only():
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
        return self.lattice(rows.with_schema(schema), chosen, count), domains

    def _known(self, lattice: Lattice, best: Found, budget: Budget, domains: list[Domain]) -> Known:
        assert best.levels is not None
        flat = [
            one.name
            for one in lattice.ladders
            if not one.hierarchy and one.name not in self.microaggregate
        ]
        warnings = [
            f"{name} has no hierarchy of levels: it could only be kept or suppressed as a whole "
            "(give it a poset such as bins, prefix or hierarchy)"
            for name in flat
        ]
        if all_hidden(lattice, best.levels):
            warnings.append("every quasi-identifier had to be suppressed")
        facts = self._facts(lattice, best, flat, budget)
        chosen = [
            Chosen.of(one, lattice.table, domain.values, level)
            for one, domain, level in zip(lattice.ladders, domains, best.levels, strict=True)
        ]
        keys, own = lattice.classes(best.levels)
        labels = lattice.labels(best.levels) if self.microaggregate else own
        averages = [
            Published.of(lattice.table, one.name, self.microaggregate[one.name], labels)
            for one, level in zip(lattice.ladders, best.levels, strict=True)
            if one.name in self.microaggregate and not one.all_hidden(level)
        ]
        return Known(
            tuple(chosen), lattice.fields, keys, own, facts, tuple(warnings), tuple(averages)
        )

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
            self.aggregate,
            self.coding,
            ECONOMICS._replace(**self.economics),
            self._predicted(table, columns),
            tuple(self.microaggregate.get(name, "") for name in columns),
        )
        ladders = []
        for name in columns:
            one = ladder(table, name, count)
            if name in self.microaggregate:
                check_average(table, name, self.microaggregate[name])
                one = unclustered(one)
            fixed = self.levels.get(name)
            low, high = self.lowest.get(name, fixed), self.highest.get(name, fixed)
            ladders.append(bounded(one, low, high))
        return Lattice(table, ladders, terms, count)

    def _predicted(self, table: Table, columns: list[str]) -> np.ndarray | None:
        """int64: the class of each row that measure classification predicts."""
        if self.measure != "classification":
            return None
        target = target_column(table, self.target, self.name)
        if target in columns:
            raise MethodError(
                f"the target {target!r} is among the columns to generalize",
                remedy="name another one as target, or leave it out of `columns`",
            )
        return target_codes(table, target) + 1

    def _check(self, data: Relation, chosen: list[str]) -> None:
        if data.height < max(self.k, 1):
            raise MethodError(
                f"a table of {data.height} cannot be made {self.k}-anonymous",
                remedy="release nothing, or lower k",
            )
        for word in ("importance", "levels", "lowest", "highest", "microaggregate"):
            stray = [name for name in getattr(self, word) if name not in chosen]
            if stray:
                raise MethodError(
                    f"{word} names {stray[0]!r}, which is not among the columns to generalize",
                    remedy=f"the columns are {', '.join(chosen)}",
                )

    def _facts(
        self,
        lattice: Lattice,
        found: Found,
        flat: list[str],
        budget: Budget,
    ) -> dict[str, Any]:
        assert found.levels is not None
        facts: dict[str, Any] = {
            "strategy": self.strategy,
            "paper": PAPERS[self.strategy],
            "levels": dict(levels_of(lattice, found.levels)),
            "highest levels": {one.name: one.last for one in lattice.ladders},
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
            bound = "upper bound" if self.measure == "payout" else "lower bound"
            facts[bound] = round(lattice.published(found.bound), 4)
            gap = lattice.published(found.value) - lattice.published(found.bound)
            facts["gap"] = round(abs(gap), 4)
        return facts
