"""Whom the published columns give away: the first part of a report, and the last lines of
`sfumato protect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..plan.requirement import EXPOSURE
from .parts import Markup, join, listed, paragraphs, percent, table, tag

if TYPE_CHECKING:
    from ..records.evidence import Evidence

UNCHECKED = (
    "The exposure check was switched off: these data were published though a column may name "
    "people, give a masked one back, or single people out together with others."
)
_HOW = (
    "Somebody is singled out where exactly one published record agrees with what is known of them, "
    "and it is theirs. All sets of at most three columns that others can know were tried; the "
    "worst of each size are listed."
)


def sentences(evidence: Evidence) -> list[str]:
    """What does not refuse a release and must be known all the same."""
    checked = any(finding.requirement == EXPOSURE for finding in evidence.findings)
    said = [] if checked else [UNCHECKED]
    if EXPOSURE not in evidence:
        return said
    detail = evidence[EXPOSURE].detail
    if not checked and "because" in detail:
        said.append(f"It would have said: {detail['because']}.")
    if numbers := detail.get("confidential"):
        said.append(
            "Of confidential numbers, whoever knows " + ", ".join(map(_finds, numbers)) + "."
        )
    for one in detail.get("accepted", ()):
        said.append(f"Accepted by the owner: {_known(one)}, which {_share(one)}.")
    if keys := detail.get("keys left out of sets of three"):
        said.append(f"Not tried in sets of three, since each is a key by itself: {listed(keys)}.")
    return said


def _known(one: Mapping[str, Any]) -> str:
    return listed(one["columns"])


def _share(one: Mapping[str, Any]) -> str:
    return f"finds {percent(one['share'])}"


def _finds(one: Mapping[str, Any]) -> str:
    names = one["columns"]
    if len(names) == 1:
        return f"one exact value of {names[0]} {_share(one)}"
    return f"those of {' and '.join(names)} {_share(one)}"


def section(evidence: Evidence) -> Markup:
    """The worst sets of columns, and what was accepted."""
    said = sentences(evidence)
    alarm = tag("p", said.pop(0), class_="bad") if said[:1] == [UNCHECKED] else Markup("")
    if EXPOSURE not in evidence:
        return alarm
    worst: Sequence[Mapping[str, Any]] = evidence[EXPOSURE].detail.get("singled out", ())
    rows = [(_known(one), percent(one["share"])) for one in worst]
    shown: Markup = tag("p", "No set of columns that others can know singles anybody out.")
    if rows:
        shown = table("Whom columns single out", ["Known columns", "Singled out"], rows, (1,))
    return join((alarm, shown, paragraphs((*said, _HOW))))
