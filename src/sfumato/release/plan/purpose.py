"""What a release is for: how it will be used, what it must keep, and who may look for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ...data.schema import missing_column
from ...declaration import Declaration
from ...errors import ParameterError, SchemaError, SfumatoError
from .requirement import Gate, Requirement, parse_requirement

SUBJECT = "the purpose"
"""Of what is wrong with the columns that it names."""
LIMIT = 0.05
"""What an attack may get of people in the data beyond others, unless a purpose says otherwise."""
_SHARE = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
_WEIGHT = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _named(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


def _grouped(given: Any) -> Any:
    """Every use as a tuple of columns, whether it is one column or several."""
    if isinstance(given, str):
        return ((given,),)
    if isinstance(given, list | tuple):
        return tuple((one,) if isinstance(one, str) else one for one in given)
    return given


_Names = Annotated[tuple[str, ...], BeforeValidator(_named)]


class Purpose(Declaration):
    """What a release is for, by which methods are compared."""

    name: ClassVar[str] = "purpose"

    uses: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_grouped)] = Field(
        (),
        description='columns that are analysed, alone or together: ["age", ["income", "region"]]; '
        "all pairs of columns unless given",
    )
    weights: tuple[_WEIGHT, ...] = Field((), description="how much each use counts; alike if none")
    target: str = Field("", description="column that a model is to predict from the others")
    totals: _Names = Field((), description="columns whose totals must stand")
    one_to_one: bool = Field(False, description="every row must stay the row of a person")
    perturb: bool = Field(True, description="whether values may change at random")
    attackers: _Names = Field(
        (), description="columns that others may know; the quasi-identifiers unless given"
    )
    at_most: _SHARE | None = Field(
        None,
        description="what an attack may get of people in the data beyond others; that of withstand "
        "in [require], else 0.05",
    )
    seconds: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="time that the search may take"
    )
    trials: int | None = Field(None, ge=3, description="plans that may be tried")
    require: dict[str, Any] = Field(
        default_factory=dict,
        description="what must hold, as in [require], where there is no plan that says it",
    )

    @field_validator("require")
    @classmethod
    def _understood(cls, given: Any) -> Any:
        try:
            _read(given)
        except SfumatoError as error:
            raise ValueError(str(error)) from None
        return given

    @model_validator(mode="after")
    def _fits(self) -> Purpose:
        if self.weights and not self.uses:
            raise ValueError(
                'weights without uses: name what they weigh, uses = ["age", ["income", "region"]]'
            )
        if self.weights and len(self.weights) != len(self.uses):
            raise ValueError(
                f"{len(self.uses)} uses have {len(self.weights)} weights: one for each use"
            )
        if any(not use or len(set(use)) < len(use) for use in self.uses):
            raise ValueError("a use names no column, or one twice")
        for i, use in enumerate(self.uses):
            if any(set(use) == set(other) for other in self.uses[:i]):
                raise ValueError(f"the use {' by '.join(use)} is named twice: give it a weight")
        return self

    @classmethod
    def of(cls, given: Any) -> Purpose:
        """A purpose from words with hyphens or without, or as it is."""
        if isinstance(given, Purpose):
            return given
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"a purpose is a table, not {given!r}", remedy='{"uses": ["age"], "target": "y"}'
            )
        made: Purpose = cls.build(given)
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that it names, once."""
        listed = [name for use in self.uses for name in use]
        target = (self.target,) if self.target else ()
        return tuple(dict.fromkeys((*listed, *target, *self.totals, *self.attackers)))

    def checked(self, names: Any) -> Purpose:
        """The same, or an error that names every column that is not there."""
        there = list(names)
        if missing := [missing_column(name, there) for name in self.names if name not in there]:
            raise SchemaError(SUBJECT, missing)
        return self

    def requirements(self) -> tuple[Gate, tuple[Requirement, ...]]:
        """What it requires, as a plan has it."""
        return _read(self.require)


def _read(given: Mapping[str, Any]) -> tuple[Gate, tuple[Requirement, ...]]:
    gate, rest, complaints = Gate.taken_from(given)
    found: list[Requirement] = []
    for name, words in rest.items():
        good, bad = parse_requirement(name, words)
        found += good
        complaints += bad
    if complaints:
        raise ParameterError("; ".join(map(str, complaints)))
    return gate, tuple(found)
