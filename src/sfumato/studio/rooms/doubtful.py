"""What a plan leaves open that a careful owner would not: said before anything is published, and
to be accepted there. All of it is allowed; none of it shall happen unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...release.plan.requirement import EXPOSURE, usual_exposure
from ...release.report.parts import Markup, percent, tag
from ..desk import Desk
from ..jobs import Job
from ..widgets import notice
from . import planned

FEW = 3
"""Records that look alike, below which a group hides hardly anybody."""
_FOUND = "Found by three columns"


def doubts(desk: Desk, trial: Job | None) -> list[str]:
    """What stands out in a plan of records, and in what came of it, as sentences."""
    if planned.section(desk, "table"):
        return []
    found = _exposure(desk, trial)
    if found and "quasi" not in map(str, planned.roles(desk).values()):
        found.append(
            "No column is said to be known to others (quasi): everybody counts as alike, and risks "
            "by groups of alike people tell nothing."
        )
    if found and not planned.requirements(desk):
        found.append("Nothing else is required.")
    return found + _groups(desk)


def shown(found: list[str], head: str) -> Markup:
    """The same on a page, where there is anything to be said."""
    if not found:
        return Markup("")
    return notice(head, tag("ul", *(tag("li", one) for one in found)), look="bad")


def _exposure(desk: Desk, trial: Job | None) -> list[str]:
    words = planned.section(desk, "require").get(EXPOSURE)
    if words is False:
        finds = _headline(trial)
        told = f" Three columns find {finds} of the people." if finds else ""
        return [
            "The exposure check is switched off: columns may name people, give back what was "
            f"masked, or single people out together.{told}"
        ]
    limit = words.get("at-most", words.get("at_most")) if isinstance(words, Mapping) else words
    usual = usual_exposure()
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= usual:
        return []
    counted = _counted(trial)
    if counted is not None and counted <= usual:
        return []
    told = f": {percent(counted)} of them are found by three columns" if counted is not None else ""
    return [
        f"The exposure check lets {percent(float(limit))} of the people be singled out, where "
        f"{percent(usual)} is usual{told}."
    ]


def _counted(trial: Job | None) -> float | None:
    for one in () if trial is None else trial.result.get("findings", ()):
        if one.get("requirement") == EXPOSURE and isinstance(one.get("value"), int | float):
            return float(one["value"])
    return None


def _headline(trial: Job | None) -> str:
    heads = () if trial is None else trial.result.get("headlines", ())
    return next((str(value) for title, value, *_ in heads if title == _FOUND), "")


def _groups(desk: Desk) -> list[str]:
    asked = [_size(one.words) for one in planned.requirements(desk) if one.name == "k-anonymity"]
    sizes = [size for size in asked if size is not None]
    if not sizes or max(sizes) >= FEW:
        return []
    told = "the other of the two is known to either" if max(sizes) == 2 else "nobody is hidden"
    return [f"Groups of {max(sizes)} are enough for k-anonymity here: {told}."]


def _size(words: Any) -> int | None:
    found = words.get("k") if isinstance(words, Mapping) else words
    return found if isinstance(found, int) and not isinstance(found, bool) else None
