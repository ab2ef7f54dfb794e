"""What Sfumato can do, by name: each name points to "module:Class" and loads only when it is used.

To add a method: write its file, then one line here. A test checks that every line agrees with
the class's own `name` and the first line of its docstring. Others join without touching this
file: by an entry point in the group `sfumato`, or at run time by `register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import SfumatoError, UnknownName

KINDS = ("method", "partitioner", "verb", "measure", "criterion", "poset", "attack")


@dataclass(frozen=True)
class Entry:
    """One registered thing."""

    kind: str
    name: str
    target: str
    summary: str
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """Import the class."""
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


def _entry(kind: str, name: str, target: str, summary: str, *aliases: str) -> Entry:
    return Entry(kind, name, f"sfumato.{target}", summary, aliases)


_BUILT_IN = (
    # Identifiers
    _entry("method", "drop", "methods.identifiers:Drop", "Remove identifying columns."),
    _entry(
        "method",
        "hash",
        "methods.identifiers:Hash",
        "Replace identifiers by a keyed hash (HMAC-SHA256).",
    ),
    _entry(
        "method",
        "pseudonymize",
        "methods.identifiers:Pseudonymize",
        "Replace identifiers by short random pseudonyms.",
    ),
    # Non-perturbative
    _entry(
        "method",
        "global-recoding",
        "methods.recoding:GlobalRecoding",
        "Publish every value of a column at one level of its hierarchy.",
    ),
    _entry(
        "method",
        "top-bottom-coding",
        "methods.coding:TopBottomCoding",
        "Publish values beyond a threshold as the threshold.",
        "top-coding",
        "bottom-coding",
    ),
    _entry(
        "method",
        "local-suppression",
        "methods.suppression:LocalSuppression",
        "Suppress the fewest cells that make every record k-anonymous.",
    ),
    # Perturbative
    _entry(
        "method",
        "correlated-noise",
        "methods.noise:CorrelatedNoise",
        "Add noise with the covariance of the data.",
        "noise",
    ),
    _entry(
        "method",
        "rank-swap",
        "methods.swapping:RankSwap",
        "Swap each value with one whose rank is within p.",
    ),
    _entry(
        "method",
        "microaggregation",
        "methods.microaggregation.blocks:Microaggregation",
        "Microaggregate blocks of columns, together or apart.",
    ),
    _entry(
        "method",
        "individual-ranking",
        "methods.individual_ranking:IndividualRanking",
        "Replace each value by the mean of k or more similar values of its column alone.",
    ),
    _entry(
        "method",
        "camp-crest",
        "methods.crest.camp_crest:CampCrest",
        "Clustering and micro-perturbation with class-restricted spanning trees.",
    ),
    # Partition searches and what is done to their groups
    _entry(
        "partitioner",
        "mdav",
        "methods.microaggregation.mdav:Mdav",
        "Maximum distance to average vector: groups of k similar records.",
    ),
    _entry(
        "partitioner",
        "v-mdav",
        "methods.microaggregation.v_mdav:VMdav",
        "Variable-size MDAV: groups of k that take in records nearer to them than to others.",
    ),
    _entry(
        "partitioner",
        "optimal-univariate",
        "methods.microaggregation.optimal:OptimalUnivariate",
        "The groups of one column with the least information loss there is.",
    ),
    _entry(
        "partitioner",
        "mhm",
        "methods.microaggregation.mhm:Mhm",
        "Multivariate Hansen-Mukherjee: the best cut of a tour into groups of k to 2k - 1.",
    ),
    _entry(
        "partitioner",
        "projected",
        "methods.microaggregation.projected:Projected",
        "The best cut of the records in the order of a projection.",
    ),
    _entry(
        "partitioner",
        "mst",
        "methods.microaggregation.mst:MstPartition",
        "Minimum spanning tree partition: cut the longest edges, keep k records on both sides.",
    ),
    _entry(
        "partitioner",
        "ward",
        "methods.microaggregation.ward:MaxDistanceWard",
        "Ward's method from the two most distant records, with groups of at least k.",
    ),
    _entry(
        "partitioner",
        "fuzzy",
        "methods.microaggregation.fuzzy:Fuzzy",
        "Fuzzy c-means: each record's group is drawn by its membership in the clusters.",
    ),
    _entry(
        "partitioner",
        "genetic",
        "methods.microaggregation.genetic:Genetic",
        "Genetic search: partitions are crossed group by group and mutated, from MDAV on.",
    ),
    _entry(
        "partitioner",
        "delaunay",
        "methods.microaggregation.delaunay:Delaunay",
        "Delaunay mesh: its longest edges are removed while every part keeps k records.",
    ),
    _entry(
        "partitioner",
        "matching",
        "methods.microaggregation.matching:RecursiveMatching",
        "Recursive matching: records in pairs, pairs in pairs, until groups have k.",
    ),
    _entry(
        "partitioner",
        "clusterer",
        "methods.microaggregation.clusterer:Clusterer",
        "Any clusterer of scikit-learn, its clusters repaired to groups of at least k.",
    ),
    _entry(
        "partitioner",
        "crest",
        "methods.crest.crest:Crest",
        "Class-restricted spanning tree: similar records, well-spread confidential classes.",
    ),
    _entry(
        "partitioner",
        "t-closeness-mst",
        "methods.crest.t_closeness_mst:TClosenessMst",
        "Cut a minimum spanning tree into groups of k whose classes are t-close to the table's.",
    ),
    _entry(
        "partitioner",
        "mondrian",
        "anonymity.mondrian:Mondrian",
        "Cut the records in two, again and again, while both sides keep k.",
    ),
    _entry(
        "verb",
        "centroid",
        "methods.centroid:Centroid",
        "Replace each value by its group's mean, median or mode.",
    ),
    _entry(
        "verb",
        "generalize",
        "methods.generalize:Generalize",
        "Replace each value by what its group has in common.",
    ),
    _entry(
        "verb",
        "micro-perturbation",
        "methods.micro_perturbation:MicroPerturbation",
        "Replace each value by its group's mean plus noise that restores the covariance.",
    ),
    _entry(
        "verb",
        "r-microhybrid",
        "methods.r_microhybrid:RMicrohybrid",
        "Replace each group by synthetic records with its mean vector and covariance matrix.",
    ),
    # Criteria
    _entry(
        "criterion",
        "k-anonymity",
        "criteria.k_anonymity:KAnonymity",
        "Every combination of quasi-identifiers is shared by at least k records.",
    ),
    _entry(
        "criterion",
        "l-diversity",
        "criteria.l_diversity:LDiversity",
        "Every class holds well-represented confidential values.",
    ),
    _entry(
        "criterion",
        "t-closeness",
        "criteria.t_closeness:TCloseness",
        "Every class's confidential distribution is within t of the whole.",
    ),
    # Disclosure risk
    _entry(
        "measure",
        "class-sizes",
        "risk.classes:ClassSizes",
        "Size of the smallest equivalence class.",
    ),
    _entry("measure", "uniques", "risk.classes:Uniques", "Share of records that are alone."),
    _entry(
        "measure",
        "prosecutor-risk",
        "risk.classes:ProsecutorRisk",
        "Chance of finding a given participant, at worst.",
    ),
    _entry(
        "measure",
        "journalist-risk",
        "risk.classes:JournalistRisk",
        "Chance of finding someone known to be in the population, at worst.",
    ),
    _entry(
        "measure",
        "marketer-risk",
        "risk.classes:MarketerRisk",
        "Expected share of records that an intruder matches correctly.",
    ),
    _entry(
        "measure",
        "record-linkage",
        "risk.linkage:RecordLinkage",
        "Share of originals whose nearest masked record is their own.",
    ),
    _entry(
        "measure",
        "second-closest-linkage",
        "risk.second_closest:SecondClosestLinkage",
        "Share of masked records whose closest or second closest original is their own.",
    ),
    _entry(
        "measure",
        "class-chi-square",
        "risk.class_disclosure:ClassChiSquare",
        "Chi-square distance of the groups' classes from everybody's, X2.",
    ),
    _entry(
        "measure",
        "homogeneous-groups",
        "risk.class_disclosure:HomogeneousGroups",
        "Share of records in groups where everybody has the same confidential class.",
    ),
    _entry(
        "measure",
        "lone-members",
        "risk.class_disclosure:LoneMembers",
        "Share of records that are alone in their class within their group.",
    ),
    _entry(
        "measure",
        "class-divergence",
        "risk.class_disclosure:ClassDivergence",
        "Divergence of the groups' classes from everybody's, in bits.",
    ),
    # Information loss
    _entry("measure", "sse", "utility.sse:Sse", "Within-group squares, 100 * SSE/SST."),
    _entry(
        "measure",
        "mean-difference",
        "utility.moments:MeanDifference",
        "Mean absolute change of the columns' means, in standard deviations.",
    ),
    _entry(
        "measure",
        "variance-difference",
        "utility.moments:VarianceDifference",
        "Mean relative change of the columns' variances.",
    ),
    _entry(
        "measure",
        "correlation-difference",
        "utility.moments:CorrelationDifference",
        "Mean absolute change of the correlations.",
    ),
    _entry("measure", "ncp", "utility.ncp:Ncp", "Normalized certainty penalty, 0 to 1."),
    _entry(
        "measure",
        "discernibility",
        "utility.class_metrics:Discernibility",
        "Sum of squared class sizes.",
    ),
    _entry(
        "measure",
        "average-class-size",
        "utility.class_metrics:AverageClassSize",
        "Records per class, divided by k.",
    ),
    _entry(
        "measure",
        "distribution-distance",
        "utility.distributions:DistributionDistance",
        "Mean distance between the columns' distributions before and after.",
    ),
    _entry(
        "measure",
        "abim",
        "utility.biases:Abim",
        "Average absolute bias in mean, in percent (ABIM).",
    ),
    _entry(
        "measure",
        "abisd",
        "utility.biases:Abisd",
        "Average absolute bias in standard deviation, in percent (ABISD).",
    ),
    _entry(
        "measure",
        "abico",
        "utility.biases:Abico",
        "Average absolute bias in correlation, in percent (ABICO).",
    ),
    # Posets
    _entry(
        "poset", "interval", "poset.interval:Interval", "Numbers and dates, widened to intervals."
    ),
    _entry(
        "poset", "value-set", "poset.valueset:ValueSet", "Categories, joined to sets of values."
    ),
    _entry("poset", "hierarchy", "poset.sources:Hierarchy", "A tree read from a hierarchy CSV."),
    _entry(
        "poset", "prefix", "poset.sources:Prefix", "A tree of ever shorter prefixes (ZIP, ICD)."
    ),
    _entry("poset", "bins", "poset.sources:Bins", "A tree of given bins, then everything."),
    _entry(
        "poset",
        "balanced",
        "poset.sources:Balanced",
        "A tree made from the data, its branches equally frequent.",
    ),
)

_extra: dict[tuple[str, str], Entry] = {}
_entry_points_read = False


def register(cls: type, *, kind: str | None = None) -> type:
    """Join a class to the registry at run time; usable as a decorator.

    The class's base says its kind, `cls.name` its name and the docstring's first line its summary.
    """
    kind = kind or getattr(cls, "registry_kind", None)
    name = getattr(cls, "name", None)
    if kind not in KINDS or not isinstance(name, str) or not name:
        raise SfumatoError(
            f"{cls.__name__} cannot be registered: it needs a `name` and one of the bases {KINDS}",
            remedy='class Mine(sf.Method): name = "mine"',
        )
    for known in entries(kind):
        if known.name == name and known.target != f"{cls.__module__}:{cls.__qualname__}":
            raise SfumatoError(f"a {kind} named {name!r} is registered already", remedy="rename it")
    _extra[kind, name] = _RuntimeEntry.of(kind, cls)
    return cls


@dataclass(frozen=True)
class _RuntimeEntry(Entry):
    """An entry whose class exists already (a notebook's classes cannot be imported by name)."""

    cls: type = object

    @staticmethod
    def of(kind: str, cls: Any) -> _RuntimeEntry:
        summary = (cls.__doc__ or "").strip().split("\n")[0]
        target = f"{cls.__module__}:{cls.__qualname__}"
        return _RuntimeEntry(kind, cls.name, target, summary, tuple(cls.aliases), cls)

    def load(self) -> Any:
        return self.cls


def _read_entry_points() -> None:
    """Third parties: each entry point of the group `sfumato` names a module that calls
    `register`."""
    global _entry_points_read
    if _entry_points_read:
        return
    _entry_points_read = True
    from importlib.metadata import entry_points

    for point in entry_points(group="sfumato"):
        point.load()


def entries(kind: str | None = None) -> Iterator[Entry]:
    """Every registered thing, in the order of the field's textbook."""
    _read_entry_points()
    for entry in (*_BUILT_IN, *_extra.values()):
        if kind is None or entry.kind == kind:
            yield entry


def find(name: str, *kinds: str) -> Entry:
    """The entry of that name (or alias) among the kinds; with a suggestion if there is none."""
    wanted = [entry for entry in entries() if not kinds or entry.kind in kinds]
    for entry in wanted:
        if name == entry.name or name in entry.aliases:
            return entry
    known = [n for entry in wanted for n in (entry.name, *entry.aliases)]
    raise UnknownName(" or ".join(kinds) or "thing", name, known)
