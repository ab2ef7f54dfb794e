"""A plan: what to read, what the columns are, what to do, what must hold, where to write."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, field_validator

from ...addresses import bare
from ...bounds import Limits
from ...data.io.sets import specs
from ...data.schema import Kind, Role
from ...engines.local import Local
from ...errors import Complaint, InputError, PlanError, SchemaError
from ...nested import MeasureParameter, named
from ...protocols import Declaration, Engine, Measure, Method, Partitioner, PosetSource
from ...registry import find
from . import toml
from .output import Output as Output
from .purpose import SUBJECT
from .purpose import Purpose as Purpose
from .requirement import Gate, Requirement
from .step import Step
from .table import TablePlan

Others = Literal[
    "drop",
    "identifier",
    "quasi",
    "confidential",
    "target",
    "weight",
    "household",
    "insensitive",
    "undecided",
]
Sentinel = StrictInt | StrictFloat | StrictStr
SECTIONS = (
    *("input", "engine", "columns", "table", "steps"),
    *("purpose", "tune", "map", "require", "measures", "output"),
)


class Input(Declaration):
    """Where the data come from."""

    name: ClassVar[str] = "input"

    path: str = Field("", description="file or database URL to read")
    table: str = Field("", description="table of a database")
    query: str = Field("", description="SQL query to read instead of a table")
    key: str = Field(
        "",
        description="column that numbers the records of a database's table, which has no order of "
        "its own; no value missing or twice",
    )
    sheet: str = Field("", description="sheet of a workbook; the only one with data unless given")
    delimiter: str = Field("", description="column separator; detected unless given")
    encoding: str = Field("", description="text encoding; detected unless given")
    decimal: Literal["", ".", ","] = Field("", description="decimal mark; detected unless given")
    thousands: Literal["", "'", " ", ".", ","] = Field(
        "", description="what stands between thousands; detected unless given"
    )
    missing: tuple[str, ...] = Field(
        (), description="texts that mean a missing value, besides the empty one"
    )
    sentinels: tuple[Sentinel, ...] | dict[str, tuple[Sentinel, ...]] = Field(
        (),
        description='numbers and words that mean a missing value: [999, "N"], or by column: '
        '{ income = ["N"], "*" = [-9] }; the reader takes none that is not named here, and '
        "`sfumato init` writes down those that it proposes",
    )
    header: bool | Literal[2] | None = Field(
        None,
        description="whether a text file or sheet begins with names; 2 where these have a second "
        "line, which is left out; detected unless given",
    )
    dates: dict[str, str | tuple[str, ...]] = Field(
        default_factory=dict,
        description='formats of dates: { born = "%d/%m/%Y" }, or several that are tried in turn',
    )
    others: Others = Field(
        "undecided",
        description="the role of columns without one, or drop to leave them out; undecided ones "
        "stop a release",
    )
    person: str = Field(
        "",
        description="column that tells who a record is about, from one file to the next; the only "
        "identifier unless given",
    )
    sets: dict[str, Any] | tuple[dict[str, Any], ...] = Field(
        default_factory=dict,
        description='a long table of items: { id = "person", item = "code" }; '
        '{ column = "codes", separator = ";" }; { columns = ["sex", "job"], into = "attributes" }; '
        '{ column = "codes", sensitive = ["b20"], into = "hidden" }; or a list of such',
    )
    limits: dict[str, StrictInt | StrictStr] = Field(
        default_factory=dict,
        description='bounds of what is read: { unpacked = "8 GiB", columns = 200000, '
        'cell = "20 MiB" }; what a compressed file may become (2 GiB, or 64 times its size if '
        "that is more), its columns (20,000), and the bytes of a cell (16 MiB)",
    )
    reference: str | float = Field(
        "",
        description="non-participants: a file of the same columns, or the share of records to "
        "hold out before masking",
    )
    given: tuple[str, ...] = Field(
        (),
        description="releases of the same people that are public already (folders or files): "
        "k people must share every combination of classes",
    )
    given_join: Literal["refuse", "coarsen", "keep"] = Field(
        "refuse",
        description="what is done beside the releases given: refuse a release that singles people "
        "out; coarsen, join its classes until it does not; or keep old people in the classes that "
        "they had and group new ones apart, holding back whom that does not hide",
    )

    def options(self) -> dict[str, Any]:
        """What a reader is told, of what is said here."""
        texts = ("table", "query", "key", "sheet", "delimiter", "encoding", "decimal", "thousands")
        keys = (*texts, "sentinels", "dates", "sets", "others", "person", "limits")
        found = {key: value for key in keys if (value := getattr(self, key))}
        if self.header is not None:
            found["header"] = self.header
        if self.missing:
            found["missing"] = ("", *self.missing)
        return found

    def bare(self) -> Input:
        """The same without passwords, for what others may read."""
        other = bare(self.reference) if isinstance(self.reference, str) else self.reference
        named = {"path": bare(self.path), "reference": other, "given": tuple(map(bare, self.given))}
        return self.model_copy(update=named)

    def told(self, more: Mapping[str, Any]) -> Input:
        """The same with some words changed, which are checked."""
        made: Input = Input.build({**self.plan_words(), **more})
        return made

    @field_validator("limits")
    @classmethod
    def _bounds(cls, given: Any) -> Any:
        try:
            Limits.of(given)
        except InputError as error:
            raise ValueError(f"{error.message} -> {error.remedy}") from None
        return given

    @field_validator("sets")
    @classmethod
    def _understood(cls, given: Any) -> Any:
        if given:
            try:
                specs(given)
            except InputError as error:
                raise ValueError(f"{error.message} -> {error.remedy}") from None
        return given


class Tune(Declaration):
    """Which parameter to raise until a measure is low enough."""

    name: ClassVar[str] = "tune"

    measure: MeasureParameter = named("second-closest-linkage", "the measure to bring down")
    at_most: float = Field(allow_inf_nan=False, description="the measure's limit")
    parameter: str = Field("k", description="the parameter to raise, a whole number")
    step: int | None = Field(
        None, ge=1, description="its step, counted from 1; the first that has it"
    )
    start: int | None = Field(
        None, ge=1, description="the first value to try; the step's own unless given"
    )
    stop: int | None = Field(
        None, ge=1, description="the last value to try; half the records unless given"
    )
    draws: int = Field(5, ge=1, description="releases to average over, where the steps are random")
    judge_by: Literal["worst", "mean"] = Field(
        "worst", description="what must keep the limit: every draw, or their mean"
    )
    also: tuple[MeasureParameter, ...] = Field(
        (), description="other measures to show beside each value tried"
    )


class Map(Declaration):
    """Which releases to compare by risk and loss."""

    name: ClassVar[str] = "map"

    risk: MeasureParameter = named("record-linkage", "what a release risks, the lower the better")
    loss: MeasureParameter = named("marginals", "what a release loses, the lower the better")
    draws: int = Field(1, ge=1, description="releases to average over, where a method is random")
    methods: tuple[dict[str, Any], ...] = Field(
        (), description="methods with their parameters; a list of values is one release each"
    )


@dataclass(frozen=True)
class ColumnPlan:
    """What a plan says about one column."""

    role: Role | None = None
    kind: Kind | None = None
    categories: tuple[str, ...] = ()
    poset: PosetSource | None = None

    def to_plan(self) -> dict[str, Any]:
        """As a plan file writes it."""
        found: dict[str, Any] = {}
        if self.role is not None:
            found["role"] = self.role.value
        if self.kind is not None:
            found["kind"] = self.kind.value
        if self.categories:
            found["categories"] = list(self.categories)
        if self.poset is not None:
            found["poset"] = {"kind": self.poset.name, **self.poset.parameters()}
        return found


@dataclass(frozen=True)
class Plan:
    """Everything that makes a release, but the data and the seed.

    >>> plan = Plan.parse('''
    ... [columns]
    ... zip = { role = "quasi", poset = { kind = "prefix", lengths = [5, 3] } }
    ... [[steps]]
    ... use = "mondrian"
    ... k = 5
    ... [require]
    ... k-anonymity = 5
    ... ''')
    >>> plan.steps[0].use.k, plan.requirements[0].name
    (5, 'k-anonymity')
    >>> Plan.parse(plan.to_toml()) == plan
    True
    """

    steps: tuple[Step, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    gate: Gate = field(default_factory=Gate)
    """The exposure check, which is required of every release unless the plan says otherwise."""
    measures: tuple[Measure, ...] | None = None
    """None stands for the usual panel."""
    columns: Mapping[str, ColumnPlan] = field(default_factory=dict)
    input: Input = field(default_factory=Input)
    engine: Engine = field(default_factory=Local)
    output: Output = field(default_factory=Output)
    purpose: Purpose | None = None
    tune: Tune | None = None
    map: Map | None = None
    table: TablePlan | None = None

    @property
    def mechanism(self) -> tuple[Method | Partitioner, ...]:
        """How the release is made, as everybody may know."""
        return tuple(step.use for step in self.steps)

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """A plan from a file; its relative paths are relative to that file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise InputError(
                f"there is no file {path}", remedy="sfumato init DATA drafts a plan"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        return cls.parse(text, name=path.name, base=path.parent)

    @classmethod
    def parse(cls, text: str, *, name: str = "the plan", base: Path | None = None) -> Plan:
        """A plan from TOML; every complaint at once, each with its line."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(
                name, [Complaint("", f"is not TOML: {error}", "mend that line")]
            ) from None
        except RecursionError:
            complaint = Complaint("", "is nested too deeply", "no plan needs that many brackets")
            raise PlanError(name, [complaint]) from None
        from .reader import Reader  # which makes plans, and so imports this file

        return Reader(text, document, base).plan(name)

    def to_toml(self, *, show_secrets: bool = True) -> str:
        """The plan as a file, without passwords; without other secrets where others may read it."""

        def section(header: str, words: Mapping[str, Any] | None) -> list[str]:
            return [] if words is None else [toml.table(header, words)]

        measures = self.measures
        listed = {m.name: m.parameters() for m in measures or ()}
        body = [
            *section("input", self.input.bare().plan_words() or None),
            *section("engine", self._engine_words() or None),
            *section("columns", {n: c.to_plan() for n, c in self.columns.items()} or None),
            *section("table", None if self.table is None else self.table.plan_words()),
            *(
                toml.table("steps", step.to_plan(show_secrets=show_secrets), array=True)
                for step in self.steps
            ),
            *section("purpose", None if self.purpose is None else self.purpose.plan_words()),
            *section("tune", None if self.tune is None else self.tune.plan_words()),
            *section("map", None if self.map is None else self.map.plan_words()),
            *section("require", {**self.gate.to_plan(), **_by_name(self.requirements)} or None),
            *section("measures", None if measures is None else listed),
            *section("output", self.output.plan_words() or None),
        ]
        return "\n".join(body)

    def _engine_words(self) -> dict[str, Any]:
        if self.engine == Local():
            return {}
        return {"use": self.engine.name, **self.engine.plan_words()}

    def on_engine(self, name: str, words: Mapping[str, Any]) -> Plan:
        """A copy for another engine, or for the same with some of its words changed."""
        same = not name or name == self.engine.name
        cls = type(self.engine) if same else find(name, "engine").load()
        made: Engine = cls.build({**(self.engine.plan_words() if same else {}), **words})
        return replace(self, engine=made)

    def excepted(self, reason: str) -> Plan:
        """A copy that says why people are published again."""
        output = self.output.model_copy(update={"ledger_exception": reason.strip()})
        return replace(self, output=output)

    def without(self, *which: int | str) -> Plan:
        """A copy without some steps, by number (from 1) or name, or requirements by name.

        >>> plan = Plan.parse("steps = [{ use = 'drop' }, { use = 'mondrian', k = 5 }]")
        >>> [str(step.use) for step in plan.without("drop").steps]
        ['mondrian()']
        """
        from .changing import without

        return without(self, which)

    def replace(self, which: int | str, new: Any = None, /, **parameters: Any) -> Plan:
        """A copy with another step in the place of one, or with some of its parameters changed;
        or with other words for a requirement.

        >>> plan = Plan.parse("steps = [{ use = 'mondrian' }]\\n[require]\\nk-anonymity = 5")
        >>> plan = plan.replace("mondrian", k=10).replace("k-anonymity", 10)
        >>> str(plan.steps[0].use), plan.requirements[0].to_plan()
        ('mondrian(k=10)', 10)
        """
        from .changing import replaced

        return replaced(self, which, new, parameters)

    def with_(self, **changes: Any) -> Plan:
        """A copy with some parts changed."""
        return replace(self, **changes)


@contextlib.contextmanager
def lines_of(path: Path) -> Iterator[None]:
    """Complaints about columns, with the line of the plan that speaks of the column."""
    try:
        yield
    except SchemaError as error:
        text = path.read_text(encoding="utf-8-sig")
        where = f" ({error.subject})" if "/" in error.subject else ""  # one of many files
        section = "purpose" if error.subject == SUBJECT else "columns"
        placed = [
            replace(c, what=c.what + where, line=toml.locate(text, (section, c.where)) or c.line)
            for c in error.complaints
        ]
        raise PlanError(path.name, sorted(placed, key=lambda c: c.line or 0)) from error


def _by_name(requirements: tuple[Requirement, ...]) -> dict[str, Any]:
    """Requirements as `[require]` writes them: several on one criterion become a list."""
    grouped: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        grouped.setdefault(requirement.name, []).append(requirement)
    return {
        name: same[0].to_plan() if len(same) == 1 else [one.to_plan() for one in same]
        for name, same in grouped.items()
    }
