"""For what a method is a candidate: how it says so, for whoever chooses among methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Family = Literal["classes", "averages", "exchange", "synthesis"]
Scope = Literal["quasi", "all"]

FAMILIES: dict[Family, str] = {
    "classes": "groups of records are made alike: what is said is true, only coarser",
    "averages": "records in groups get the mean of their group: numbers stay numbers",
    "exchange": "values move between people or get noise: columns keep their shape",
    "synthesis": "records are drawn from a model: no row belongs to a person",
}
"""What methods of a family do, in one sentence."""


@dataclass(frozen=True)
class Candidate:
    """What a method is good for, and with which settings it is worth a trial."""

    family: Family
    when: str
    """When to take it."""
    unless: str
    """When not to."""
    ladder: tuple[Mapping[str, Any], ...] = ({},)
    """Its settings from the least protection to the most."""
    usual: int = 0
    """Which of these to try first."""
    scopes: tuple[Scope, ...] = ("quasi",)
    """Whether it acts on the quasi-identifiers, on all columns, or is tried both ways."""
    verbs: tuple[str, ...] = ()
    """What else is worth doing to its groups, besides its usual verb."""
    after: str = ""
    """A method for the confidential columns, worth a trial where it acts on the others alone."""
    rest: str = ""
    """What masks the columns that it cannot act on."""
    linked: bool = True
    """Whether every row stays the row of a person."""
    million: tuple[float, float] | None = None
    """CPU seconds and GiB for a million records of ten columns, by `benchmarks/costs.py`."""
    tenth: tuple[float, float] | None = None
    """Those of 100,000, where a million did not end in ten minutes."""


def settings(parameter: str, *values: Any, **always: Any) -> tuple[Mapping[str, Any], ...]:
    """A ladder of one parameter.

    >>> settings("k", 5, 10)
    ({'k': 5}, {'k': 10})
    """
    return tuple({parameter: value, **always} for value in values)


GROUPS = settings("k", 3, 5, 10, 20, 50, 100, 200, 500)
"""Sizes of groups worth a trial."""
