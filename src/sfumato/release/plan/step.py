"""A step of a plan: a method, or a search with what is done to its groups."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from ...data.codec import Matrix
from ...data.partition import Cover, Partition
from ...declaration import hide_secrets
from ...engines.relation import Whole
from ...engines.spread import Spread
from ...errors import ParameterError
from ...protocols import Declaration, Measure, Method, Outcome, Partitioner, Verb
from ...registry import find
from ...rng import Key, stream
from ..records.declared import declared_key, drawing

if TYPE_CHECKING:
    from ...data.table import Table


@dataclass(frozen=True)
class Step:
    """One method, or one partitioner and a verb (its default verb if none is given)."""

    use: Method | Partitioner
    then: Verb | None = None

    def __post_init__(self) -> None:
        if isinstance(self.use, Partitioner) and self.then is None:
            object.__setattr__(self, "then", build("verb", self.use.default_verb, {}))
        if isinstance(self.use, Method) and self.then is not None:
            raise ParameterError(
                f"{self.use.name} is a method, not a search: nothing comes after it",
                remedy="remove `then`, or use a search such as mondrian",
            )

    @property
    def parts(self) -> tuple[Declaration, ...]:
        """The method or search, the verb, and what is named in their parameters."""
        return (*self.use.parts(), *(() if self.then is None else self.then.parts()))

    @property
    def perturbs(self) -> bool:
        """Whether it draws values at random, so that records look alike by chance: unless all that
        change values say that they do not."""
        return any(
            part.perturbs is not False for part in self.parts if isinstance(part, Method | Verb)
        )

    @property
    def vouched(self) -> bool:
        """Whether all that change values say how. Of one that does not, every column may have
        changed, so that nothing shows whether its rows are those that it names."""
        changing = (part for part in self.parts if isinstance(part, Method | Verb))
        return all(part.perturbs is not None for part in changing)

    @property
    def random(self) -> bool:
        """Whether another seed may give another result."""
        return self.perturbs or any(
            part.random for part in self.parts if isinstance(part, Method | Partitioner | Verb)
        )

    @property
    def regroups(self) -> bool:
        """Whether records that look alike afterwards do so by more than chance."""
        return self.use.regroups and not self.perturbs

    def touches(self, table: Table) -> set[str]:
        """The columns that it may change, without asking whether it can."""
        if self.then is not None and self.then.perturbs is None:
            return set(table.names)
        return self.use.touches(table)

    def run(
        self,
        table: Table,
        rng: np.random.Generator,
        reference: Table | None = None,
        records: Records | None = None,
    ) -> Outcome:
        """The masked table, and what the evidence must name. Random numbers come from the stream,
        or belong to the records where the method can tell theirs."""
        if isinstance(self.use, Spread) and self.use.keyed and records is not None:
            key = declared_key(self.use, records.key, declared=self.random)
            key = self.use.bound(Whole(table, records.numbers), key)
            return self.use.mask_keyed(table, key, records.numbers)
        if isinstance(self.use, Method):
            with drawing(self.use, rng, declared=self.random):
                return self.use.mask_against(table, rng, reference)
        columns, left = self.use.targets(table)
        searches = (part for part in self.use.parts() if isinstance(part, Partitioner))
        with drawing(self.use, rng, declared=any(part.random for part in searches)):
            partition = self.groups(self.use, Matrix(table, columns), rng)
        assert self.then is not None
        with drawing(self.then, rng, declared=self.then.random):
            outcome = self.then.apply(table, partition, columns, rng)
        ignored = tuple(
            f"{name} was left alone: {self.use.name} cannot group by it" for name in left
        )
        return Outcome(
            table=outcome.table,
            rows=outcome.rows,
            # Whatever a verb says of them, groups that overlap are no classes.
            partition=partition if isinstance(partition, Cover) else outcome.partition or partition,
            facts={"columns": columns, **partition.facts, **outcome.facts},
            secrets=outcome.secrets,
            warnings=(*partition.warnings, *outcome.warnings, *ignored),
            owner_warnings=outcome.owner_warnings,
            linked=outcome.linked,
            copies=outcome.copies,
        )

    def groups(self, search: Partitioner, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        """What the search finds."""
        return search.partition(x, rng)

    def at(self, rows: np.ndarray | None) -> Step:
        """The step for these rows of the original; None: all of them."""
        return self

    def with_(self, parameters: Mapping[str, Any]) -> Step:
        """The same with some parameters changed, which are checked."""
        now = {name: getattr(self.use, name) for name in self.use.parameters()}
        return Step(type(self.use).build({**now, **parameters}), self.then)

    def to_plan(self, *, show_secrets: bool = True) -> dict[str, Any]:
        """The step as a plan file writes it."""

        def words(thing: Declaration) -> dict[str, Any]:
            given = thing.plan_words()
            return given if show_secrets else hide_secrets(type(thing), given)

        found: dict[str, Any] = {"use": self.use.name, **words(self.use)}
        if self.then is not None and isinstance(self.use, Partitioner):
            if parameters := words(self.then):
                found["then"] = {"use": self.then.name, **parameters}
            elif self.then.name != self.use.default_verb:
                found["then"] = self.then.name
        return found

    def public(self) -> dict[str, Any]:
        """The step for the public face: parameters in full, secrets left out."""
        found = {
            "use": self.use.name,
            "paper": self.use.paper,
            "parameters": open_parameters(self.use),
        }
        if self.then is not None:
            found["then"] = {"use": self.then.name, "parameters": open_parameters(self.then)}
        return found

    def __str__(self) -> str:
        return str(self.use) if self.then is None else f"{self.use} then {self.then}"


class Records(NamedTuple):
    """Where the random numbers of records come from."""

    key: Key
    numbers: np.ndarray
    """uint64: one for each record."""


def step_keys(steps: Sequence[Step], key: Key) -> list[Key]:
    """The key of each step: by its name and parameters, and how many like it came before. Where it
    stands in its plan does not matter; with other parameters it has other numbers."""
    named = [(step.use.name, step.use.plan_words()) for step in steps]
    return [key.of("step", named[:index].count(one), *one) for index, one in enumerate(named)]


def step_key(steps: Sequence[Step], index: int, table: Table, key: Key) -> Key:
    """The key of a step on this table. What lasts is another after steps that have perturbed the
    same columns: who got the same value from them would have the same noise as without them."""
    found = step_keys(steps[: index + 1], key)[index]
    own = steps[index].touches(table)
    before = [one for one in steps[:index] if one.perturbs and own & one.touches(table)]
    if not key.lasting or not before:
        return found
    return found.of("after", [(part.name, part.plan_words()) for s in before for part in s.parts])


def step_stream(steps: Sequence[Step], index: int, table: Table, seed: int) -> np.random.Generator:
    """What a step draws that belongs to no record."""
    use = steps[index].use
    if not (isinstance(use, Method) and use.drawn_anew):
        return stream(seed, index + 1, use.name)
    values = hashlib.sha256()
    for name in use.targets(table)[0]:
        numbers = table[name].to_physical().cast(pl.Float64, strict=False)
        values.update(numbers.fill_null(np.nan).to_numpy().tobytes())
    key = step_keys(steps[: index + 1], Key.of_seed(seed))[index]
    return key.of("values", values.hexdigest()).stream()


def build(kind: str, name: str, parameters: Mapping[str, Any]) -> Any:
    """An instance of a registered thing; `kind` may be several, separated by "|"."""
    return find(name, *kind.split("|")).load().build(parameters)


def measure_of(given: Any, parameters: Mapping[str, Any]) -> Measure:
    """A measure or an attack by its name, or as it is; of a function, what it loses."""
    if isinstance(given, Measure):
        if parameters:
            raise ParameterError(
                f"{given.name} has its parameters already: {', '.join(parameters)} came besides",
                remedy=f'sf.measure("{given.name}", ..., {next(iter(parameters))}=...)',
            )
        return given
    found: Measure
    if callable(given):
        found = build("measure", "function-loss", {"function": given, **parameters})
    else:
        found = build("measure|attack", given, parameters)
    return found


def open_parameters(thing: Declaration) -> dict[str, Any]:
    """Every parameter with its value, but for those that must stay private; files by name only."""
    return _file_names(type(thing), hide_secrets(type(thing), thing.model_dump(mode="json")))


def _file_names(cls: type[Declaration], values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters, nested ones too, with files by name: where they lie is the owner's business."""

    def shown(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [shown(one) for one in value]
        if isinstance(value, Mapping) and isinstance(value.get("use"), str):
            return _file_names(find(value["use"]).load(), value)
        return value

    def is_file(name: str) -> bool:
        field = cls.model_fields.get(name.replace("-", "_"))
        extra = field.json_schema_extra if field is not None else None
        return isinstance(extra, dict) and bool(extra.get("file"))

    return {
        name: re.split(r"[/\\]", value)[-1]
        if isinstance(value, str) and is_file(name)
        else shown(value)
        for name, value in values.items()
    }


def as_steps(given: Any) -> tuple[Step, ...]:
    """Steps from a step, a method, a search, or a list of them."""
    if isinstance(given, Step):
        return (given,)
    if isinstance(given, Method | Partitioner):
        return (Step(given),)
    if isinstance(given, list | tuple):
        return tuple(step for one in given for step in as_steps(one))
    raise ParameterError(
        f"a {type(given).__name__} is not a step",
        remedy='give sf.method("mdav", k=5), a list of such, a Plan, or the path of a plan file',
    )
