"""The shapes of things: what methods, searches, verbs, measures, criteria and posets must offer.

Each is a frozen declaration (declaration.py), whose fields are its parameters. What a release may
promise depends on what its parts say that they do; whoever says nothing is taken to do the worst,
and release/records/declared.py checks what can be seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from .candidate import Candidate as Candidate
from .declaration import Declaration as Declaration
from .errors import MeasureError, MethodError
from .measurement import SIZES, Depends, Direction
from .measurement import Finding as Finding
from .measurement import Measurement as Measurement
from .structure import Structure as Structure

if TYPE_CHECKING:
    import numpy as np

    from .criteria.classes import Grouping
    from .data.codec import Matrix
    from .data.pair import Pair
    from .data.partition import Cover, Partition
    from .data.schema import Schema
    from .data.table import Table
    from .engines.counts import Counts
    from .engines.relation import Relation


class _Columnar(Declaration):
    """What methods and searches share: the columns they act on."""

    roles: ClassVar[tuple[str, ...]] = ("quasi",)
    """The roles it acts on unless columns are named."""
    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds it can act on; empty means all."""
    random: ClassVar[bool] = True
    """Whether it draws from the stream that it is given."""
    regroups: ClassVar[bool] = False
    """Whether records that look alike afterwards in its columns do so by more than chance."""
    candidate: ClassVar[Candidate | None] = None
    """For what it is a candidate, where `advise` should try it. It is not inherited."""

    columns: tuple[str, ...] = Field(
        (), description="columns to act on; all suitable quasi-identifiers unless given"
    )

    def named(self) -> tuple[str, ...]:
        """The columns that its parameters name."""
        return self.columns

    def touches(self, table: Table) -> set[str]:
        """The columns that it may change, without asking whether it can."""
        of_role = (c.name for c in table.schema if c.role in self.roles)
        return set(self.named()) or {name for name in of_role if self.suits(table, name)}

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        """The columns to act on, and those of the right role left alone for their kind."""
        if named := self.named():
            for name in named:
                column = table.schema[name]
                if not self.suits(table, name):
                    raise MethodError(
                        f"{self.name} cannot act on column {name!r}, which is {column.kind}"
                        + (" and generalized" if column.generalized else ""),
                        remedy=f"name columns that are {', '.join(self.kinds)}",
                    )
            return list(named), []
        of_role = [c.name for c in table.schema if c.role in self.roles]
        chosen = [name for name in of_role if self.suits(table, name)]
        if not chosen:
            what = f" that are {', '.join(self.kinds)}" if self.kinds else ""
            raise MethodError(
                f"{self.name} found no {' or '.join(self.roles)} columns{what}",
                remedy="give columns a role, or name them in `columns`",
            )
        return chosen, [name for name in of_role if name not in chosen]

    def local_only(self) -> str:
        """Why it runs on records in memory alone, with these parameters; "" where it runs on
        relations of any engine."""
        return "needs all records in memory"

    def suits(self, table: Table, name: str) -> bool:
        """Whether it can act on that column."""
        column = table.schema[name]
        if column.generalized and self.kinds:
            # Labels such as "[20, 29]" are categories, whatever the column was before.
            return "nominal" in self.kinds
        return not self.kinds or column.kind in self.kinds


@dataclass(frozen=True)
class Outcome:
    """What a step returns: the masked table, and everything the evidence must name.

    `rows[i]` is the row of the step's input that became row i; None means all rows, in order.
    `facts` are public; `secrets` (keys, maps) go to the private face only.
    """

    table: Table
    rows: np.ndarray | None = None
    partition: Partition | Cover | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    owner_warnings: tuple[str, ...] = ()
    """What the data made of the step, where already that it is said, or not, would tell of them."""
    linked: bool = True
    """Whether row i stems from one original record. Rows drawn from a model stem from none."""
    copies: tuple[Table, ...] = ()
    """Further releases of the same records, for multiple imputation; `table` is the first."""


class Method(_Columnar, ABC):
    """Masks a table in one step."""

    registry_kind: ClassVar[str] = "method"

    handles_identifiers: ClassVar[bool] = False
    """Whether a column that it acted on no longer names anyone."""
    perturbs: ClassVar[bool | None] = None
    """Whether it changes values at random, so that records which look alike are so by chance. A
    method that does not say perturbs every column; one that does changes `touches` alone."""
    drawn_anew: ClassVar[bool] = False
    """Whether other parameters or other values have other random numbers under the same seed: of
    noise e and 2e the values could be solved for."""
    recovers: ClassVar[tuple[str, ...]] = ()
    """What `recover` gives back, such as "mean" and "covariance"; empty where there is nothing."""

    def touches(self, table: Table) -> set[str]:
        return set(table.names) if self.perturbs is None else super().touches(table)

    @abstractmethod
    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        """The masked table. The input is never modified."""

    def mask_against(
        self, table: Table, rng: np.random.Generator, reference: Table | None
    ) -> Outcome:
        """The masked table; methods that choose how to mask may look at non-participants."""
        return self.mask(table, rng)

    def recover(self, table: Table, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The original's statistics, from the masked table, the parameters and the facts."""
        raise MethodError(
            f"{self.name} has nothing to recover: statistics are taken from the release as it is"
        )


class Partitioner(_Columnar, ABC):
    """Puts similar records into groups; what is done to a group is a verb's business."""

    registry_kind: ClassVar[str] = "partitioner"
    default_verb: ClassVar[str] = "generalize"

    @abstractmethod
    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        """A group label for each record."""


class Engine(Declaration, ABC):
    """Where the steps of a plan run, and what it takes there.

    An engine that holds the records of a plan in memory runs everything; any other opens its input
    as a `Relation`, and runs what runs on that (release/large/gaps.py). What it cannot do even so,
    it says in `gaps`.
    """

    registry_kind: ClassVar[str] = "engine"

    in_memory: ClassVar[bool] = False
    """Whether all records are in memory at once, in this process."""
    gaps: ClassVar[Mapping[str, str]] = {}
    """By the name of a step, requirement or measure that runs on a relation but not here: what to
    use instead."""

    def beside(self, folder: Path) -> Engine:
        """The same, writing aside in this folder what does not fit into memory, unless it was told
        where to."""
        return self

    @abstractmethod
    def opened(self, source: str, options: Mapping[str, Any]) -> AbstractContextManager[Relation]:
        """The records of a folder, a file or a database, as `[input]` of a plan describes them:
        kinds by their types, no roles. What it wrote aside is gone when the block ends."""


class Verb(Declaration, ABC):
    """What is done to the groups of a partition."""

    registry_kind: ClassVar[str] = "verb"

    perturbs: ClassVar[bool | None] = None
    """Whether it draws values at random, so that a group's records do not look alike. A verb that
    does not say perturbs every column; one that does changes the given columns alone."""

    @property
    def random(self) -> bool:
        """Whether it draws from the stream that it is given: whatever perturbs does."""
        return self.perturbs is not False

    def local_only(self) -> str:
        """Why it is done to groups in memory alone; "" where it is done on any engine."""
        return "needs all records in memory"

    @abstractmethod
    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        """The table with the columns of each group made alike."""


@dataclass(frozen=True, eq=False)
class Again:
    """Runs the plan of a release anew, on other people."""

    run: Callable[[Table, int], Pair]
    """The people, and the number of the run, whose randomness is its own; gives their pair."""
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What came of runs, which know nothing of the release itself, for as long as it lives."""


@dataclass(frozen=True)
class Given:
    """Other releases of the same people that are public already."""

    paths: tuple[str, ...]
    """Their folders or data files, as the plan names them, in order of time."""
    rows: Callable[[str, Table], np.ndarray | None]
    """Where each of some people is in a release: the record, -1 for none; None where nobody knows
    who is in it."""


@dataclass(frozen=True)
class Context:
    """Everything a measure may look at."""

    pair: Pair
    rng: np.random.Generator
    partition: Partition | None = None
    reference: Table | None = None
    mechanism: tuple[Method | Partitioner, ...] = ()
    """The steps that made the release, with their published parameters."""
    again: Again | None = None
    """What runs the plan on other people; None where nobody can."""
    given: Given | None = None
    """The releases beside which the plan puts this one."""
    stream: Callable[[str], np.random.Generator] | None = None
    """A stream by its name, the same whoever asks."""
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What measures of one release have found out together."""


class Measure(Declaration, ABC):
    """A figure of disclosure risk or information loss."""

    registry_kind: ClassVar[str] = "measure"
    about: ClassVar[Literal["risk", "utility"]]
    direction: ClassVar[Direction] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    compares: ClassVar[str | None] = None
    """What it compares: "classes" of records that look alike, which means nothing once values are
    perturbed; "records", so that it must know which is whose; or "tables" as wholes. A measure that
    does not say is taken neither of perturbed records nor where nobody knows which is whose."""
    whole_records: ClassVar[bool] = False
    """Whether its intruder knows every column, not the quasi-identifiers alone."""
    needs_reference: ClassVar[bool] = False
    """Whether its figure compares with people who are not in the data."""
    limit: ClassVar[float | None] = None
    """What a requirement of `true` means, where the measure says itself what is enough."""
    decimals: ClassVar[int | None] = 2
    """Digits after the point that may be published at most; None where their number depends on that
    of the records alone."""
    depends: ClassVar[Depends | None] = None
    """What of the original its figure depends on: "release", on nothing but what is published, so
    that it is published as it is; "domain", besides that on the ends and categories of the
    original's columns; "records", on shares of records, of which one moves it by a few n-ths;
    "values", of which one can move it at will. The latter three are published of the original as
    the release lets anyone see it, the last two rounded by the number of records. The figure of
    a measure that does not say is the owner's."""
    leverage: ClassVar[float] = 1.0
    """Of a figure without bounds, n times what one of n records can move it by: 1 for shares and
    means in deviations, 3 for variances, 100 and 300 for the same in percent, infinity for sums
    over records."""
    squares: ClassVar[bool] = False
    """Whether one record moves it by the square of how far out it lies, as it moves a variance:
    then it is rounded by how far out published numbers lie, too."""
    shown: ClassVar[tuple[str, ...]] = ()
    """Details that the release or the plan tells by itself, which are published as they are;
    "baseline" where that is so of the baseline, "before" where the same figure before masking is a
    share of records and may be published, rounded."""
    unit: ClassVar[str] = ""
    """How the figure reads: "%" of 0..1 shares, or a word."""
    usual: ClassVar[bool] = False
    """Whether it is taken of every release, not only on request."""
    costly: ClassVar[bool] = False
    """Whether it takes minutes: then it is judged last, and only where all else is kept."""
    by_counts: ClassVar[bool] = False
    """Whether its figure is a function of counts, so that it is exact of releases larger than
    memory. Of the others, those that compare records or tables are taken of a sample of them."""

    def uncounted(self, schema: Schema) -> str:
        """Why counts of a table with these columns do not tell its figure; empty where they do."""
        return ""

    def from_counts(self, counts: Counts) -> Measurement:
        """Take the measurement of records that do not fit into memory."""
        raise MeasureError(
            f"{self.name} looks at all records at once", remedy='[engine] use = "local"'
        )

    @property
    def counts_classes(self) -> bool:
        """Whether it may count records that look alike."""
        return self.compares not in ("records", "tables")

    @property
    def needs_alignment(self) -> bool:
        """Whether it may have to know which masked record belongs to which original."""
        return self.compares not in ("classes", "tables")

    @abstractmethod
    def measure(self, context: Context) -> Measurement:
        """Take the measurement."""

    def published(self, found: Measurement) -> Measurement | None:
        """Its figure as anybody may see it, where that is made of the figure itself, in few steps;
        None where it is taken anew of what the release shows, and rounded."""
        return None

    def result(self, value: float, **more: Any) -> Measurement:
        """A measurement with this measure's name, direction and bounds."""
        return Measurement(
            name=self.name,
            value=float(value),
            direction=self.direction,
            bounds=self.bounds,
            decimals=self.decimals,
            depends=self.depends,
            leverage=self.leverage,
            squares=self.squares,
            shown=(*SIZES, *self.shown),
            **more,
        )


class Attack(Measure, ABC):
    """An intruder who tries. Its figure is the share of attempts that succeed.

    `baseline` is the success of a random guess, `detail["naive"]` that of the match that anybody
    would try, `detail["gain"]` how much the attack adds to it, and `detail["control"]` what it
    achieves against people who are not in the data, where a reference sample is given.
    """

    registry_kind: ClassVar[str] = "attack"
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"

    def outcome(
        self,
        success: float,
        *,
        naive: float,
        baseline: float,
        control: float | None = None,
        detail: Mapping[str, Any],
        **more: Any,
    ) -> Measurement:
        """What every attack reports."""
        said: dict[str, Any] = {"naive": naive, "gain": success - naive, **detail}
        if control is not None:
            said["control"] = control
        return self.result(success, baseline=baseline, detail=said, **more)


OnParts = Literal["sizes", "classes", "whole"]


class Criterion(Declaration, ABC):
    """What a release must satisfy, counted from the release alone."""

    registry_kind: ClassVar[str] = "criterion"
    monotone: ClassVar[bool] = False
    """Whether joining classes never breaks it, so that searches may prune."""
    beside_cover: ClassVar[bool] = False
    """Whether it still says something where records were published by sets that overlap: an
    intruder chooses among all records that fit a person, and those need not look alike."""
    after_perturbing: ClassVar[bool] = False
    """Whether it still says something where records look alike by chance."""
    on_parts: ClassVar[OnParts | None] = None
    """What it needs where a release is larger than memory and is counted part by part, every class
    whole in one part: how many are in a class; besides, the values there; besides, the counts of
    the whole's values. A criterion that does not say cannot be counted so."""

    def gap(self, schema: Schema) -> str:
        """Why it cannot be counted on parts of a release with these columns; empty where it can."""
        if self.on_parts is None:
            return f"{self.name} compares records of all classes, or with people beside the release"
        return ""

    def check_people(self, table: Table, key: str) -> Finding:
        """Count it on a table with the column that tells people apart."""
        return self.check(table)

    def joined(self, findings: Sequence[Finding], records: Sequence[int]) -> Finding:
        """One finding of those on parts that hold so many records each."""
        raise MethodError(
            f"{self.name} cannot be counted on parts of a release", remedy='[engine] use = "local"'
        )

    @abstractmethod
    def check(self, table: Table) -> Finding:
        """Count it on the equivalence classes of the table's quasi-identifiers."""

    def check_pair(self, pair: Pair) -> Finding:
        """Count it on a masked table whose original is at hand, for criteria that compare."""
        return self.check(pair.masked)

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """bool: which classes of a search's grouping satisfy it; all or none, if on the whole."""
        raise MethodError(
            f"{self.name} cannot guide a search", remedy="leave it to [require], which counts it"
        )


class Poset(ABC):
    """Values, their generalizations, and the order between them, bound to one column's domain.

    Values are what the column holds; generalizations are labels, as they are published. For
    searches, every value has a code 1..m (0 is kept for missing), and where `spans` is true the
    least upper bound of a set of values is that of its smallest and its largest code. A poset whose
    `structure` tells nothing is priced as categories, cut in no order, and asked value by value.
    """

    spans: ClassVar[bool] = False

    @property
    def structure(self) -> Structure:
        """How it is joined, cut, numbered and read back."""
        return Structure()

    @abstractmethod
    def leq(self, lower: Any, upper: Any) -> bool:
        """Whether `upper` is `lower` or a generalization of it."""

    @abstractmethod
    def lub(self, values: Iterable[Any]) -> Any:
        """The least upper bound: the most specific generalization that covers them all."""

    @abstractmethod
    def height(self, value: Any) -> int:
        """Steps from the value itself: 0 for an ungeneralized one."""

    def height_share(self, label: str) -> float:
        """A label's height divided by that of "*"."""
        top = self.height("*")
        return min(self.height(label) / top, 1.0) if top > 0 else 0.0

    @abstractmethod
    def measure(self, value: Any) -> float:
        """The share of the domain that a published value leaves open: 0 exact, 1 suppressed (NCP);
        `ValueError` for a label that it does not know."""

    @abstractmethod
    def codes(self, values: Sequence[Any]) -> np.ndarray:
        """The code 1..m of each value (int64); `ValueError` names a value that it does not know."""

    @property
    @abstractmethod
    def positions(self) -> np.ndarray:
        """float64[m + 1]: where each code lies, for measuring widths; entry 0 is unused."""

    @abstractmethod
    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        """What is published for groups whose codes run from low[i] to high[i] (both 1..m)."""

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        """What is published for groups with the sorted codes codes[starts[i]:starts[i+1]]."""
        if self.spans:
            return self.labels(codes[starts[:-1]], codes[starts[1:] - 1])
        alone, ends = self.labels(codes, codes), starts.tolist()
        return [str(self.lub(alone[a:b])) for a, b in pairwise(ends)]

    def count(self, label: str) -> int | None:
        """How many values a label stands for; None where only `leq` can tell."""
        return None


class PosetSource(Declaration, ABC):
    """How a plan describes a poset, before it has seen the column."""

    registry_kind: ClassVar[str] = "poset"
    takes_lists: ClassVar[bool] = False
    """Whether it is bound to the lists of a column of sets as they are, not to their text."""
    categories: ClassVar[bool] = False
    """Whether values have nothing above them but sets of one another."""

    @property
    def interval_step(self) -> Any:
        """What the ends of its intervals are multiples of; None where it has no intervals."""
        return None

    @property
    def ends(self) -> tuple[Any, Any] | None:
        """Where it says that the domain ends, None for an end of which it says nothing; None where
        it has no intervals."""
        return None

    def with_ends(self, low: Any, high: Any) -> PosetSource:
        """The same over a domain with these ends, where it has intervals."""
        return self

    @property
    def rises(self) -> bool:
        """Whether nothing costs less than what is below it."""
        return True

    def utilities_of(self, names: Sequence[str]) -> np.ndarray | None:
        """float64: what each of these items is worth; None where nothing is said of items."""
        return None

    def named(self) -> set[str]:
        """The items that a utility is given of."""
        return set()

    def above(self) -> Mapping[str, str]:
        """Of each item what stands next above it, where anything does but "*"."""
        return {}

    def for_ordered(self) -> PosetSource:
        """The source for a column whose values have an order."""
        return self

    @abstractmethod
    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Poset:
        """The poset over the sorted distinct values; `counts` says how often each occurs."""
