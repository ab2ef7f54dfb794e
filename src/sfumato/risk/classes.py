"""Disclosure risk that follows from the sizes of equivalence classes.

Three intruders (El Emam & Dankar 2008): the prosecutor knows that a person is in the file, the
journalist wants anyone at all and knows only the population, the marketer wants as many as
possible. All figures are taken on the masked table's quasi-identifiers, with the same figure on the
original as baseline.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ..criteria.classes import Classes, Grouping, comparable, equivalence_classes, first_equal
from ..criteria.people.population import PopulationUniqueness, Share, sampling_share, weights_of
from ..data.pair import Pair
from ..data.schema import Role, Schema
from ..data.table import Table
from ..engines.counts import Counts, Sizes
from ..errors import MeasureError
from ..kernels.coverage.linkage import cover_counts
from ..kernels.statistics.population_uniqueness import MODELS, dankar, estimate
from ..measurement import Depends, Direction
from ..protocols import Context, Measure, Measurement
from .linkage.covering import build

SAMPLE = "the sample stands for the population: no reference table, no weights"


@dataclass(frozen=True, eq=False)
class Population:
    """The classes of a table, and the size of each in the population."""

    of: Sizes
    """In the table: class by class, or those of one size together."""
    sizes: np.ndarray
    facts: dict[str, Any]
    classes: Classes | None = None

    @classmethod
    def by_class(cls, classes: Classes, sizes: np.ndarray, facts: dict[str, Any]) -> Population:
        """Of each class by itself."""
        one = np.ones(len(classes), dtype=np.int64)
        return cls(Sizes(classes.columns, classes.sizes, one), sizes, facts, classes)

    @classmethod
    def of_sample(cls, sizes: Sizes) -> Population:
        """Of classes of a sample that stands for the population."""
        return cls(sizes, sizes.size.astype(np.float64), {"population": SAMPLE})

    @property
    def matched(self) -> float:
        """The share of records that a match within the class finds."""
        return float((self.of.size / self.sizes * self.of.many).sum() / self.of.records)


def population_of(
    pair: Pair,
    table: Table,
    reference: Table | None,
    *,
    holds_sample: bool,
    grouping: Grouping | None = None,
) -> Population:
    """Class sizes in the population: counted, estimated by weights, or the sample's own.

    A reference of non-participants is added to the sample; one that holds the sample is the
    population itself. `table` is the original or the masked table of the pair. With a grouping of
    it, the sample's people are counted, otherwise its records.
    """
    if grouping is None:
        classes = equivalence_classes(table)
        own, each = classes.sizes, np.ones(table.height, dtype=np.int64)
    else:
        classes, own, each = grouping.classes, grouping.people, grouping.records_each
    if reference is not None:
        return _counted(pair, table, classes, own, reference, holds_sample)
    weights = weights_of(table)
    if weights is not None:
        return _weighted(classes, own, weights[0], weights[1] / each)
    return Population.by_class(classes, own.astype(np.float64), {"population": SAMPLE})


def _counted(
    pair: Pair,
    table: Table,
    classes: Classes,
    own: np.ndarray,
    reference: Table,
    holds_sample: bool,
) -> Population:
    """With as many of each class in the sample as `own` says."""
    grid = build(pair.original, reference, table, classes.columns)
    alike = [comparable(reference[name]).alias(name) for name in classes.columns]
    # Equal reference records are looked up once.
    firsts = (
        first_equal(pl.DataFrame(alike)) if alike else np.zeros(reference.height, dtype=np.int64)
    )
    distinct, many = np.unique(firsts, return_counts=True)
    found = cover_counts(grid.queries(distinct), grid.published(classes.first, classes.sizes), many)
    facts: dict[str, Any] = {"reference_records": reference.height}
    if grid.outside:
        facts["reference_values_in_no_hierarchy"] = dict(grid.outside)
    if not holds_sample:
        facts["population"] = "the sample and the non-participants of the reference table"
        return Population.by_class(classes, (own + found).astype(np.float64), facts)
    short = np.flatnonzero(found < own)
    if short.size:
        row = int(classes.first[short[0]])
        raise MeasureError(
            f"the reference table does not hold the sample: {short.size:,} classes have more "
            f"records in the sample, the first that of record {row + 1} "
            f"({int(own[short[0]]):,} against {int(found[short[0]]):,})",
            remedy='give the whole population, or say reference = "non-participants"',
        )
    facts["population"] = "the reference table"
    return Population.by_class(classes, found.astype(np.float64), facts)


def _weighted(classes: Classes, own: np.ndarray, name: str, weight: np.ndarray) -> Population:
    sums = np.bincount(classes.labels, weights=weight, minlength=len(classes))
    facts: dict[str, Any] = {"population": f"estimated by the sum of the weights in {name}"}
    low = sums < own
    if low.any():
        # The sample is in the population: no class is smaller there.
        facts["classes_with_weights_below_their_records"] = int(low.sum())
    return Population.by_class(classes, np.maximum(sums, own), facts)


class ClassRisk(Measure):
    """A share that follows from the classes of a release; they can be counted by anybody."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "release"
    compares: ClassVar[str | None] = "classes"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"


class SizeRisk(ClassRisk):
    """A figure of the sizes of classes alone."""

    by_counts: ClassVar[bool] = True

    @abstractmethod
    def of_sizes(self, after: Sizes, before: Sizes) -> Measurement:
        """The figure of the release, beside the same of the original."""

    @abstractmethod
    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        """What the records of classes of these sizes have each."""

    def measure(self, context: Context) -> Measurement:
        classes = equivalence_classes(context.pair.masked)
        before = equivalence_classes(context.pair.original)
        found = self.of_sizes(*(Sizes.of(one.columns, one.sizes) for one in (classes, before)))
        return replace(found, per_record=classes.of_records(self.of_class(classes.sizes)))

    def from_counts(self, counts: Counts) -> Measurement:
        return self.of_sizes(counts.sizes("masked"), counts.sizes("original"))


BEFORE = "the same figure before masking"
_EL_EMAM = (
    "El Emam & Dankar (2008), Protecting privacy using k-anonymity, JAMIA 15(5); "
    "Dankar & El Emam (2010), A method for evaluating marketer re-identification risk, PAIS"
)
Threshold = Annotated[
    float, Field(ge=0, le=1, description="risk above which a record counts as at risk")
]


class ClassSizes(SizeRisk):
    """Size of the smallest equivalence class.

    `detail["histogram"]` lists [size, classes, records] for every size that occurs; mean and median
    are over the classes. The per-record vector holds the size of each masked record's class.
    """

    name: ClassVar[str] = "class-sizes"
    paper: ClassVar[str] = (
        "Sweeney (2002), k-anonymity: a model for protecting privacy, IJUFKS 10(5)"
    )
    usual: ClassVar[bool] = True
    direction: ClassVar[Direction] = "higher"
    bounds: ClassVar[tuple[float, float]] = (1.0, float("inf"))
    unit: ClassVar[str] = "records"

    def of_sizes(self, after: Sizes, before: Sizes) -> Measurement:
        listed = zip(after.size.tolist(), after.many.tolist(), strict=True)
        detail = {
            **_facts(after),
            "mean": after.records / after.classes,
            "median": after.median,
            "histogram": [[size, many, size * many] for size, many in listed],
            "baseline": BEFORE,
        }
        return self.result(after.smallest, baseline=float(before.smallest), detail=detail)

    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        return sizes


class Uniques(SizeRisk):
    """Share of records that are alone.

    A record is alone when no other has the same quasi-identifiers. The per-record vector marks them
    with 1.
    """

    name: ClassVar[str] = "uniques"
    shown: ClassVar[tuple[str, ...]] = ("before",)
    paper: ClassVar[str] = (
        "Bethlehem, Keller & Pannekoek (1990), Disclosure control of microdata, JASA 85(409)"
    )
    usual: ClassVar[bool] = True

    def of_sizes(self, after: Sizes, before: Sizes) -> Measurement:
        detail = {**_facts(after), "uniques": after.alone, "baseline": BEFORE}
        return self.result(
            after.alone / after.records, baseline=before.alone / before.records, detail=detail
        )

    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        return np.asarray(sizes == 1, dtype=np.float64)


class ProsecutorRisk(SizeRisk):
    """Chance of finding a given participant, at worst.

    The intruder knows that the person is in the file and guesses within the class: 1 over the size
    of the smallest class. `detail` holds the mean over the records and the share of records whose
    own risk is above `threshold`.
    """

    name: ClassVar[str] = "prosecutor-risk"
    paper: ClassVar[str] = _EL_EMAM
    usual: ClassVar[bool] = True

    threshold: Threshold = 0.2

    def of_sizes(self, after: Sizes, before: Sizes) -> Measurement:
        detail = {
            **_facts(after),
            **_spread(after, 1.0 / after.size, self.threshold),
            "baseline": BEFORE,
        }
        return self.result(1.0 / after.smallest, baseline=1.0 / before.smallest, detail=detail)

    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        return np.asarray(1.0 / sizes)


class PopulationRisk(ClassRisk):
    """A figure that asks for the population that the file is a sample of."""

    reference: Literal["non-participants", "population"] = Field(
        "non-participants",
        description="whether the reference table leaves the participants out or holds them too",
    )

    by_counts: ClassVar[bool] = True
    mean: ClassVar[bool] = False
    """Whether one person of the population moves the figure by an n-th at most."""

    @abstractmethod
    def of_population(self, after: Population, before: Population) -> Measurement:
        """The figure of the release, beside the same of the original."""

    def measure(self, context: Context) -> Measurement:
        found, before = self._populations(context)
        made = self.of_population(found, before)
        assert found.classes is not None
        made = replace(made, per_record=found.classes.of_records(self.of_class(found.sizes)))
        if context.reference is not None and not self.mean:
            return replace(made, depends=None)  # it would tell how many others are like one record
        return made

    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        """What the records of classes of these sizes in the population have each."""
        return np.asarray(1.0 / sizes)

    def uncounted(self, schema: Schema) -> str:
        named = schema.of_role(Role.WEIGHT)
        return f"{self.name} adds up the weights {named[0]!r} of each class" if named else ""

    def from_counts(self, counts: Counts) -> Measurement:
        """Where the sample stands for the population."""
        if why := self.uncounted(counts.masked.schema):
            raise MeasureError(why, remedy='[engine] use = "local"')
        after, before = (Population.of_sample(counts.sizes(s)) for s in ("masked", "original"))
        return self.of_population(after, before)

    def _populations(self, context: Context) -> tuple[Population, Population]:
        """Of the release and of the original."""
        pair, whole = context.pair, self.reference == "population"
        after, before = (
            population_of(pair, table, context.reference, holds_sample=whole)
            for table in (pair.masked, pair.original)
        )
        return after, before


class JournalistRisk(PopulationRisk):
    """Chance of finding someone known to be in the population, at worst.

    1 over F, the size in the population of the smallest class, over the classes that the masked
    table has. F is counted where there is a reference table, is estimated by the sum of the
    sampling weights where a column has the role `weight`, and otherwise the sample stands for the
    population, which makes this the prosecutor's risk; `detail["population"]` says which. A
    reference record belongs to every class whose labels cover it.
    """

    name: ClassVar[str] = "journalist-risk"
    usual: ClassVar[bool] = True
    paper: ClassVar[str] = _EL_EMAM

    threshold: Threshold = 0.2

    def of_population(self, after: Population, before: Population) -> Measurement:
        detail = {
            **_facts(after.of),
            **_spread(after.of, 1.0 / after.sizes, self.threshold),
            **after.facts,
            "baseline": BEFORE,
        }
        return self.result(
            1.0 / after.sizes.min(), baseline=float(1.0 / before.sizes.min()), detail=detail
        )


class MarketerRisk(PopulationRisk):
    """Expected share of records that an intruder matches correctly.

    With f records of a class in the file and F in the population, f/F of them are matched correctly
    on average, if the intruder matches everyone: the sum over the classes, divided by the records.
    Where the sample stands for the population that is the number of classes divided by the number
    of records.
    """

    name: ClassVar[str] = "marketer-risk"
    mean: ClassVar[bool] = True
    usual: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("before",)
    paper: ClassVar[str] = _EL_EMAM

    def of_population(self, after: Population, before: Population) -> Measurement:
        detail = {**_facts(after.of), **after.facts, "baseline": BEFORE}
        return self.result(after.matched, baseline=before.matched, detail=detail)


def _facts(sizes: Sizes) -> dict[str, Any]:
    return {
        "quasi_identifiers": list(sizes.columns),
        "classes": sizes.classes,
        "records": sizes.records,
    }


def _spread(sizes: Sizes, risk: np.ndarray, threshold: float) -> dict[str, Any]:
    """The risk on average, and how many records have more than a limit, of sizes and their risk."""
    n, of = sizes.records, sizes.size * sizes.many
    above = int(of[risk > threshold].sum())
    return {
        "mean": float((of * risk).sum() / n),
        "threshold": threshold,
        "records_at_risk": above,
        "share_at_risk": above / n,
    }


_ASSUMPTIONS = {
    "pitman": "class sizes follow Pitman's sampling formula",
    "zayatz": "classes of the population have the sizes that the sample's have",
    "snb": "a class has 1 + negative binomial members",
}


class UniquenessEstimates(ClassRisk):
    """Estimated share of records that are unique in the population, by four models.

    The value is that of the model which the rule of Dankar et al. picks. `detail["models"]` has
    every model's share, what it supposes, and why it has no answer where it has none. The sampling
    share is `share`, else the records divided by the sum of their sampling weights. Estimates from
    class sizes alone suppose a simple random sample; compare them before trusting one.

    >>> import numpy as np
    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"q": [1, 2, 3, 3, 4, 4, 4]}, quasi=["q"])
    >>> found = UniquenessEstimates(share=0.5).measure(
    ...     Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.detail["picked"], round(found.detail["models"]["zayatz"]["share"], 3)
    ('zayatz', 0.147)
    """

    name: ClassVar[str] = "uniqueness-estimates"
    example: ClassVar[dict[str, Any]] = {"share": 0.1}
    paper: ClassVar[str] = PopulationUniqueness.paper

    share: Share = None

    def measure(self, context: Context) -> Measurement:
        masked, original = context.pair.masked, context.pair.original
        share, how = sampling_share(masked, self.share, self.name)
        classes = equivalence_classes(masked)
        picked, found = dankar(classes.sizes, share)
        models: dict[str, Any] = {}
        for model in MODELS:
            estimated = estimate(classes.sizes, share, model)
            models[model] = {"supposes": _ASSUMPTIONS[model]}
            models[model] |= (
                {"share": estimated.share} if estimated.found else {"no_answer": estimated.why_not}
            )
        before = equivalence_classes(original).sizes
        return self.result(
            found.share,
            baseline=dankar(before, min(1.0, share * before.sum() / masked.height))[1].share,
            detail={
                "picked": picked,
                "models": models,
                "sampling_share": share,
                "sampling_share_from": how,
                "alone": float((classes.sizes == 1).sum() / masked.height),
                "baseline": "the same figure before masking",
            },
        )
