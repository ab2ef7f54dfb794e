"""The measure `exposure`, which every release has to pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from ...measurement import Depends
from ...protocols import Context, Measure, Measurement
from .given_back import GivenBack
from .published import Plain
from .singled import Names
from .view import LIMIT, Share, View


class Exposure(Measure):
    """Share of people whom some three published columns single out; refuses what names people.

    Looked at is what is about to be written, whatever the roles say. It refuses (a) a column that
    is recognized as a name, contact, number of a person, coordinate, exact date or text about
    people, or in which nearly every record has a value of its own, if it is published as it is; (b)
    a set of at most three columns that others can know by which too many people are singled out:
    exactly one record agrees with the person, and it is theirs; (c) a column that gives back what
    was masked in another.
    """

    name: ClassVar[str] = "exposure"
    aliases: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    compares: ClassVar[str | None] = "tables"
    depends: ClassVar[Depends | None] = "values"
    limit: ClassVar[float | None] = LIMIT
    unit: ClassVar[str] = "%"
    usual: ClassVar[bool] = True

    accept: tuple[str | tuple[str, ...], ...] = Field(
        (), description='columns, and sets of them, that may expose people: ["income", ["x", "y"]]'
    )
    known_to: tuple[str, ...] = Field(
        (), description="confidential columns that an intruder may know"
    )

    def measure(self, context: Context) -> Measurement:
        view = View(self, context)
        return self.told(view.naming(), view.giving_back(), view.worst(), view.remarks())

    def told(
        self,
        names: Sequence[Plain],
        back: Sequence[GivenBack],
        worst: Sequence[Share],
        remarks: Mapping[str, Any],
    ) -> Measurement:
        """The measurement of what was found."""
        value = max((found.lower for found in worst), default=0.0)
        because = [f"{one.column} is published as it is ({one.why})" for one in names]
        because += [
            f"{one.by} gives back {one.masked}: guessing by it is right in {one.right:.0%}, by the "
            f"masked {one.masked} in {one.expected:.0%}"
            for one in back[:5]
        ]
        detail: dict[str, Any] = {"refuses": bool(because)}
        if names:
            detail["names people"] = [{"column": one.column, "what": one.what} for one in names]
        if back:
            detail["gives back"] = [{"column": one.by, "masked": one.masked} for one in back]
        if worst:
            most = max(worst, key=lambda found: found.lower)
            because.append(f"whoever knows {_listed(most.columns)} finds {most.share:.0%}")
            detail["singled out"] = [
                {"columns": list(found.columns), "share": found.share} for found in worst
            ]
        detail |= remarks
        if because:
            detail["because"] = "; ".join(because)
        return self.result(value, detail=detail)


def _listed(names: Names) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
