"""The `[table]` of a plan: which table to make, which cells are sensitive, how to protect them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from ...addresses import is_address
from ...nested import named
from ...protocols import Declaration
from ...tabular.base import CellRule, Protection


class TablePlan(Declaration):
    """A table to publish."""

    name: ClassVar[str] = "table"

    dimensions: tuple[str | tuple[str, ...], ...] = Field(
        (),
        description='columns that span the table; [["industry", "region"], ["industry", '
        '"size"]] are two linked tables',
    )
    value: str = Field("", description="column to add up; records are counted if none")
    weight: str = Field("", description="column of sampling weights")
    holding: str = Field("", description="column of the contributor, where one has several records")
    request: str = Field(
        "", description="column that says who asked for protection (0 or empty: did not)"
    )
    record_key: str = Field("", description="column of random record keys in [0, 1); drawn if none")
    hierarchies: dict[str, Any] = Field(
        default_factory=dict,
        description="hierarchy file of a dimension, or several of them (linked tables); posets of "
        "[columns] unless given",
    )
    depth: dict[str, int] = Field(
        default_factory=dict, description="how many levels below its total a dimension keeps"
    )
    bounds: tuple[float, float] | None = Field(
        None,
        description="the least and the most that any cell can be, as everybody knows; none: "
        "that nothing is negative (unless something is)",
    )
    zeros: Literal["published", "hidden-able"] = Field(
        "published", description="whether empty cells are published as zeros, or may be hidden"
    )
    cells: str = Field("", description="file of cells to protect, in place of records")
    relations: str = Field(
        "", description="file of relations between the cells: relation, cell, coef"
    )
    statuses: str = Field(
        "",
        description="file of codes with a status (sensitive, publish, zero), cost, or "
        "protection levels up and down",
    )
    rules: tuple[CellRule, ...] = Field(
        (), description="which cells are sensitive: [[table.rules]]"
    )
    protect: Protection = named(
        "modular-suppression", "how the table is protected: [table.protect]"
    )
    cost: Literal["value", "frequency", "log", "unity", "given"] = Field(
        "value", description="what hiding a cell costs"
    )
    singletons: bool = Field(
        True, description="protect against contributors who are alone in a cell, and know it"
    )
    within: float | None = Field(
        None,
        gt=0,
        description="percent within which an attacker knows every value beforehand; none: only "
        "that nothing is negative (unless something is)",
    )
    slide: float = Field(
        0.0, ge=0, description="smallest width of an interval, as a share of the cell's value"
    )
    audit: Literal["auto", "exact", "enough"] = Field(
        "auto",
        description="whether the attacker's intervals are computed to the end, or until they "
        "are wide enough; auto: to the end for up to 500 of them",
    )
    sample: int | None = Field(
        None, ge=1, description="audit only so many sensitive cells, drawn at random"
    )

    @field_validator("dimensions")
    @classmethod
    def _of_one_shape(cls, given: Any) -> Any:
        shapes = {isinstance(one, str) for one in given}
        if len(shapes) > 1:
            raise ValueError("should be a list of columns, or a list of lists of columns")
        return given

    def files(self, base: Path) -> dict[str, Any]:
        """The files that it names, relative to the plan's folder; those not named left out."""

        def beside(given: Any) -> Any:
            if isinstance(given, list | tuple):
                return [beside(one) for one in given]
            beside_it = isinstance(given, str) and not is_address(given)
            return str(base / given) if beside_it else given

        named = {
            key: beside(getattr(self, key))
            for key in ("cells", "relations", "statuses")
            if getattr(self, key)
        }
        if self.hierarchies:
            named["hierarchies"] = {name: beside(file) for name, file in self.hierarchies.items()}
        return named

    @property
    def linked(self) -> bool:
        """Whether there are several tables that share cells."""
        return bool(self.dimensions) and not isinstance(self.dimensions[0], str)
