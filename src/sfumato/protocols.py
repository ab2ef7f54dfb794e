"""The shapes of things: what a method, a search, a verb, a measure, a criterion and a poset must
offer.

Each is a frozen declaration (declaration.py), whose fields say what its parameters are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from .declaration import Declaration as Declaration
from .declaration import hide_secrets as hide_secrets
from .declaration import is_secret as is_secret
from .errors import MethodError

if TYPE_CHECKING:
    import numpy as np

    from .data.codec import Matrix
    from .data.pair import Pair
    from .data.partition import Cover, Partition
    from .data.table import Table

Direction = Literal["lower", "higher"]


class _Columnar(Declaration):
    """What methods and searches share: the columns they act on."""

    roles: ClassVar[tuple[str, ...]] = ("quasi",)
    """The roles it acts on unless columns are named."""
    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds it can act on; empty means all."""
    random: ClassVar[bool] = False
    """Whether its result depends on the seed."""

    columns: Annotated[
        tuple[str, ...],
        Field(description="columns to act on; all suitable quasi-identifiers unless given"),
    ] = ()

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        """The columns to act on, and those of the right role that were left alone for their
        kind."""
        if self.columns:
            for name in self.columns:
                column = table.schema[name]
                if not self.suits(table, name):
                    raise MethodError(
                        f"{self.name} cannot act on column {name!r}, which is {column.kind}"
                        + (" and generalized" if column.generalized else ""),
                        remedy=f"name columns that are {', '.join(self.kinds)}",
                    )
            return list(self.columns), []
        of_role = [c.name for c in table.schema if c.role in self.roles]
        chosen = [name for name in of_role if self.suits(table, name)]
        if not chosen:
            what = f" that are {', '.join(self.kinds)}" if self.kinds else ""
            raise MethodError(
                f"{self.name} found no {' or '.join(self.roles)} columns{what}",
                remedy="give columns a role, or name them in `columns`",
            )
        return chosen, [name for name in of_role if name not in chosen]

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


class Method(_Columnar, ABC):
    """Masks a table in one step."""

    registry_kind: ClassVar[str] = "method"

    handles_identifiers: ClassVar[bool] = False
    """Whether a column that it acted on no longer names anyone."""
    perturbs: ClassVar[bool] = False
    """Whether it changes values at random, so that records which look alike are so by chance."""

    @abstractmethod
    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        """The masked table. The input is never modified."""


class Partitioner(_Columnar, ABC):
    """Puts similar records into groups; what is done to a group is a verb's business."""

    registry_kind: ClassVar[str] = "partitioner"
    default_verb: ClassVar[str] = "generalize"

    @abstractmethod
    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        """A group label for each record."""


class Engine(Protocol):
    """Where steps run. An engine that cannot run a task exactly says so by a `MethodError`."""

    name: ClassVar[str]

    def run(
        self,
        task: Callable[[Table, np.random.Generator], Outcome],
        table: Table,
        rng: np.random.Generator,
    ) -> Outcome:
        """The task's outcome."""


class Verb(Declaration, ABC):
    """What is done to the groups of a partition."""

    registry_kind: ClassVar[str] = "verb"

    perturbs: ClassVar[bool] = False
    """Whether it draws values at random, so that a group's records do not look alike."""

    @abstractmethod
    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        """The table with the columns of each group made alike."""


@dataclass(frozen=True)
class Context:
    """Everything a measure may look at."""

    pair: Pair
    rng: np.random.Generator
    partition: Partition | None = None
    reference: Table | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """A figure with what is needed to judge it. Compares and formats like its value."""

    name: str
    value: float
    direction: Direction = "lower"
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    interval: tuple[float, float] | None = None
    """Bounds or a confidence interval of the value; `detail["interval"]` says which."""
    baseline: float | None = None
    """What the value would be by chance, or before masking; `detail["baseline"]` says which."""
    per_record: np.ndarray | None = None
    per_record_of: Literal["original", "masked"] = "masked"
    """Whose records the vector runs over."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    """Details that are not for publication, such as exact levels of the original."""
    decimals: int | None = None
    """Digits after the point that may be published; None means all."""

    def public(self) -> Measurement:
        """The measurement as it may be published: rounded, without its private parts."""

        def rounded(value: Any) -> Any:
            if self.decimals is None:
                return value
            if isinstance(value, float):
                return round(value, self.decimals)
            if isinstance(value, Mapping):
                return {key: rounded(inner) for key, inner in value.items()}
            return [rounded(inner) for inner in value] if isinstance(value, list) else value

        return replace(
            self,
            value=rounded(self.value),
            interval=self.interval and (rounded(self.interval[0]), rounded(self.interval[1])),
            baseline=None if self.baseline is None else rounded(self.baseline),
            per_record=None,
            detail=rounded(self.detail),
            private={},
        )

    def __float__(self) -> float:
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Measurement):
            return self.name == other.name and self.value == other.value
        return self.value == other

    def __hash__(self) -> int:
        return hash((self.name, self.value))

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def to_dict(self) -> dict[str, Any]:
        """The public part: everything but the per-record vector."""
        plain: dict[str, Any] = {
            "value": self.value,
            "direction": self.direction,
            # JSON has no infinity.
            "bounds": [b if abs(b) != float("inf") else None for b in self.bounds],
        }
        if self.interval is not None:
            plain["interval"] = list(self.interval)
        if self.baseline is not None:
            plain["baseline"] = self.baseline
        if self.detail:
            plain["detail"] = dict(self.detail)
        return plain


class Measure(Declaration, ABC):
    """A figure of disclosure risk or information loss."""

    registry_kind: ClassVar[str] = "measure"
    about: ClassVar[Literal["risk", "utility"]]
    direction: ClassVar[Direction] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    needs_alignment: ClassVar[bool] = False
    """Whether it must know which masked record belongs to which original."""
    counts_classes: ClassVar[bool] = False
    """Whether it counts records that look alike, which means nothing once values are perturbed."""
    decimals: ClassVar[int | None] = None
    """Digits after the point that may be published, where more would give the original away."""
    unit: ClassVar[str] = ""
    """How the figure reads: "%" of 0..1 shares, or a word."""
    usual: ClassVar[bool] = True
    """Whether it is taken of every release, not only on request."""

    @abstractmethod
    def measure(self, context: Context) -> Measurement:
        """Take the measurement."""

    def result(self, value: float, **more: Any) -> Measurement:
        """A measurement with this measure's name, direction and bounds."""
        return Measurement(
            name=self.name,
            value=float(value),
            direction=self.direction,
            bounds=self.bounds,
            decimals=self.decimals,
            **more,
        )


@dataclass(frozen=True)
class Finding:
    """One requirement, counted on what is about to be published."""

    requirement: str
    subject: str
    """What was counted, as the subject of a sentence: "t-closeness of diagnosis"."""
    value: float
    limit: float
    met: bool
    at_least: bool
    """Whether the limit is a floor (k) or a ceiling (t)."""
    broken: int = 0
    """Classes (or records) that break the limit."""
    of: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None
    """Digits after the point that may be published; None means all."""

    def public(self) -> Finding:
        """The finding as it may be published."""
        return (
            self if self.decimals is None else replace(self, value=round(self.value, self.decimals))
        )

    def __str__(self) -> str:
        found = f"{self.subject} is {self.value:.4g} (limit {self.limit:.4g})"
        if self.broken:
            found += f" in {self.broken:,} of {self.of:,} classes"
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for evidence and `--json`."""
        return {
            "requirement": self.requirement,
            "value": self.value,
            "limit": self.limit,
            "at_least": self.at_least,
            "met": self.met,
            "broken": self.broken,
            "of": self.of,
            **({"detail": dict(self.detail)} if self.detail else {}),
        }


class Criterion(Declaration, ABC):
    """What a release must satisfy, counted from the release alone."""

    registry_kind: ClassVar[str] = "criterion"
    monotone: ClassVar[bool] = False
    """Whether joining classes never breaks it, so that searches may prune."""

    @abstractmethod
    def check(self, table: Table) -> Finding:
        """Count it on the equivalence classes of the table's quasi-identifiers."""


class Poset(ABC):
    """Values, their generalizations, and the order between them, bound to one column's domain.

    Values are what the column holds; generalizations are labels, as they are published. For
    searches, every value has a code 1..m (0 is kept for missing), and where `spans` is true the
    least upper bound of a set of values is that of its smallest and its largest code.
    """

    spans: ClassVar[bool] = True

    @abstractmethod
    def leq(self, lower: Any, upper: Any) -> bool:
        """Whether `upper` is `lower` or a generalization of it."""

    @abstractmethod
    def lub(self, values: Iterable[Any]) -> Any:
        """The least upper bound: the most specific generalization that covers them all."""

    @abstractmethod
    def height(self, value: Any) -> int:
        """Steps from the value itself: 0 for an ungeneralized one."""

    @abstractmethod
    def measure(self, value: Any) -> float:
        """The share of the domain that a published value leaves open: 0 exact, 1 suppressed (NCP).

        Raises `ValueError` for a label that this poset does not know.
        """

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
        """What is published for groups with the distinct sorted codes
        codes[starts[i]:starts[i+1]]."""
        return self.labels(codes[starts[:-1]], codes[starts[1:] - 1])


class PosetSource(Declaration, ABC):
    """How a plan describes a poset, before it has seen the column."""

    registry_kind: ClassVar[str] = "poset"

    @abstractmethod
    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Poset:
        """The poset over the column's sorted distinct values (missing left out).

        `counts` says how often each occurs, for sources that look at the data.
        """
