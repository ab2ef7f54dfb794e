"""Whom the published columns give away: the first part of a report, and the last lines of
`sfumato protect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..plan.requirement import EXPOSURE, usual_exposure
from .parts import Markup, clipped, join, listed, paragraphs, percent, table, tag

if TYPE_CHECKING:
    from ..records.evidence import Evidence

UNCHECKED = (
    "The exposure check was switched off: these data were published though a column may name "
    "people, give a masked one back, or single people out together with others."
)
_NAMED = 4
"""Columns that a sentence names."""
_NOTICED = 0.01
_HOW = (
    "Somebody is singled out where exactly one published record agrees with what is known of them, "
    "and it is theirs. All sets of at most three columns that others can know were tried; the "
    "worst of each size are listed."
)


def sentences(evidence: Evidence, *, assessed: bool = False) -> list[str]:
    """What does not refuse a release and must be known all the same. One that is only assessed was
    not held to anything."""
    checked = assessed or any(finding.requirement == EXPOSURE for finding in evidence.findings)
    said = [] if checked else [UNCHECKED]
    if EXPOSURE not in evidence:
        return said
    detail = evidence[EXPOSURE].detail
    said += _widened(evidence)
    if not checked and "because" in detail:
        said.append(f"It would have said: {detail['because']}.")
    if numbers := _more_each(detail.get("confidential", ())):
        said.append(
            "Of confidential numbers, whoever knows " + ", ".join(map(_finds, numbers)) + "."
        )
    if one := detail.get("confidential together"):
        said.append(
            f"Whoever knows one exact value of {clipped(one['columns'][0], 60)} and the published "
            f"{listed(one['with'], _NAMED)} {_share(one)}."
        )
    for one in detail.get("accepted", ()):
        said.append(f"Accepted by the owner: {_known(one)}, which {_share(one)}.")
    if left := detail.get("left out of sets of three"):
        why = "each is a key by itself, or tells fewer apart than many others"
        said.append(f"Not tried in sets of three, since {why}: {listed(left)}.")
    if strange := detail.get("not in the original"):
        said.append(f"Not compared, since the original has no such columns: {listed(strange)}.")
    return said


def _widened(evidence: Evidence) -> list[str]:
    """Why more people may be singled out than the check allows by itself."""
    limits = {finding.requirement: finding.limit for finding in evidence.findings}
    limit, linkage = limits.get(EXPOSURE, 0.0), limits.get("record-linkage", -1.0)
    usual = usual_exposure()
    if limit != linkage or limit <= usual:
        return []
    return [
        f"Columns may single out {percent(limit)} of the people here, not {percent(usual)}: the "
        "plan allows record-linkage as many."
    ]


def _more_each(numbers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One value, and two where they find noticeably more."""
    found: list[Mapping[str, Any]] = []
    for one in numbers:
        if not found or one["share"] >= found[-1]["share"] + _NOTICED:
            found.append(one)
    return found


def _known(one: Mapping[str, Any]) -> str:
    return listed(one["columns"])


def _share(one: Mapping[str, Any]) -> str:
    return f"finds {percent(one['share'])}"


def _finds(one: Mapping[str, Any]) -> str:
    names = one["columns"]
    if len(names) == 1:
        return f"one exact value of {names[0]} {_share(one)}"
    return f"those of {' and '.join(names)} {_share(one)}"


def section(evidence: Evidence, *, assessed: bool = False) -> Markup:
    """The worst sets of columns, and what was accepted."""
    said = sentences(evidence, assessed=assessed)
    if assessed and EXPOSURE in evidence and "because" in evidence[EXPOSURE].detail:
        said.insert(0, f"The check says: {evidence[EXPOSURE].detail['because']}.")
    alarm = tag("p", said.pop(0), class_="bad") if said[:1] == [UNCHECKED] else Markup("")
    if EXPOSURE not in evidence:
        return alarm
    worst: Sequence[Mapping[str, Any]] = evidence[EXPOSURE].detail.get("singled out", ())
    rows = [(_known(one), percent(one["share"])) for one in worst]
    shown: Markup = tag("p", "No set of columns that others can know singles anybody out.")
    if rows:
        shown = table("Whom columns single out", ["Known columns", "Singled out"], rows, (1,))
    return join((alarm, shown, paragraphs((*said, _HOW))))
