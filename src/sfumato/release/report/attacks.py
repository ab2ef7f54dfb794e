"""What attacks got of people in the data beyond people who are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .parts import Markup, clipped, count, join, listed, paragraphs, percent, plain, table, tag

if TYPE_CHECKING:
    from ...protocols import Measurement
    from ..records.evidence import Evidence

WITHSTAND = "withstand"
NONE = "No attack was tried on this release; `sfumato attack RELEASE` tries all that apply."
_HOW = (
    "Each attack was tried on people in the data and, in the same way, on people who are not. What "
    "it gets of both is learnt from anybody's data; what counts is what it gets beyond that. At "
    "most: the upper 95 % bound, corrected for the number of attacks. That none of these succeeds "
    "does not prove that none can."
)
_PLAN = (
    "Nobody was held out before masking. So the plan was run again on a random half of the people, "
    "the others were the control, and the plan was attacked, not this release itself."
)

CLAIMS = ("AUC", "True at 1 % false", "True at 0.1 % false")
"""What is told of a claim of membership."""


def tried(evidence: Evidence) -> dict[str, Mapping[str, Any]]:
    """By the name of each attack with a control: on how many, and what it got at most; the worse,
    where it was tried by itself, too, with other parameters."""
    found: dict[str, Mapping[str, Any]] = {}
    if WITHSTAND in evidence:
        found |= evidence[WITHSTAND].detail.get("attacks", {})
    for name, m in evidence.measurements.items():
        if "people" in m.detail and "controls" in m.detail:
            own = {**m.detail, "upper": m.value, "shown": not m.detail.get("refuses")}
            if name not in found or not own["shown"] or own["upper"] > found[name]["upper"]:
                found[name] = own
    return found


def not_attacked(evidence: Evidence) -> str:
    """The published columns that none of the attacks looked at, as a sentence."""
    each = [
        m.detail.get("left_out", {})
        for name, m in evidence.measurements.items()
        if name == WITHSTAND or "controls" in m.detail
    ]
    named = [
        f"{name} ({why})"
        for name, why in (each[0] if each else {}).items()
        if all(name in one for one in each)
    ]
    return f" Not attacked: {listed(named, 20)}." if named else ""


def sentence(evidence: Evidence) -> str:
    """The line of the first page."""
    found = tried(evidence)
    if not found:
        return NONE
    people, controls = (max(one[who] for one in found.values()) for who in ("people", "controls"))
    worst = max(one["upper"] for one in found.values())
    if WITHSTAND in evidence:
        worst = max(worst, evidence[WITHSTAND].value)
    what = "the plan of this release" if _by_plan(evidence) else "this release"
    doubt = [name for name, one in found.items() if not one["shown"]]
    short = f" Too few people to show anything: {listed(doubt)}." if doubt else ""
    return (
        f"Attacks on {what}, on at most {count(people, 'person', 'people')} and "
        f"{count(controls, 'control', 'controls')}: {listed(list(found), 20)}. What the best of "
        f"them got beyond the control is at most {percent(worst)}.{short}{not_attacked(evidence)}"
    )


def membership(measured: Mapping[str, Measurement]) -> list[list[str]]:
    """Of each way of claiming that somebody is in the data: its name, its AUC, and the true claims
    at 1 % and 0.1 % false ones, where there are controls enough to tell."""
    rows = []
    for name, m in measured.items():
        for what, one in m.detail.get("trials", {}).items():
            if "auc" in one:
                told = (one.get(f"true positives at {rate} %") for rate in ("1", "0.1"))
                shares = ("" if t is None else percent(t["share"]) for t in told)
                rows.append([f"{name}: {what}", f"{one['auc']:.3f}", *shares])
    return rows


def section(evidence: Evidence, *, owner: bool) -> Markup:
    """Every attack, with whom it was tried; for the owner also how far it came, and with whom."""
    found = tried(evidence)
    if not found:
        return tag("p", NONE)
    full = _measured(evidence) if owner else {}
    rows: list[list[str]] = []
    numeric: tuple[int, ...] = (1, 2, 3)
    head = ["Attack", "People", "Controls", "Beyond the control, at most"]
    for name, one in found.items():
        row = [name, f"{one['people']:,}", f"{one['controls']:,}"]
        row.append(percent(one["upper"]) if one["shown"] else "not shown")
        rows.append(row + (_more(full[name]) if name in full else [""] * 4 * owner))
    if owner:
        head += ["Right", "Controls", "Beyond", "Beyond, 1 % most atypical"]
        numeric = (1, 2, 3, 4, 5, 6, 7)
    left = evidence[WITHSTAND].detail.get("not_applicable", ()) if WITHSTAND in evidence else ()
    notes = [_HOW, _PLAN if _by_plan(evidence) else ""]
    notes.append(
        f"Attacks that do not apply to this release: {listed(sorted(left), 30)}." * bool(left)
    )
    notes.append(not_attacked(evidence).strip())
    shown: list[object] = [table("Attacks beside a control", head, rows, numeric)]
    shown.append(paragraphs(notes, class_="small"))
    if full:
        knows = [
            tag("li", tag("strong", name), f": {m.detail['knows']}") for name, m in full.items()
        ]
        shown += [tag("h3", "What each intruder has"), tag("ul", *knows, class_="small")]
        if claims := membership(full):
            title = "Claims that somebody is in the data"
            shown.append(table(title, ["Claim", *CLAIMS], claims, (1, 2, 3)))
        stories = [tag("li", said) for name, m in full.items() if (said := story(name, m))]
        if stories:
            shown += [tag("h3", "An attempt of each that succeeded"), tag("ul", *stories)]
    return join(shown)


def _by_plan(evidence: Evidence) -> bool:
    """Whether the plan was attacked, and not the release itself."""
    told = [m.detail.get("attacked", "") for m in evidence.measurements.values()]
    return any(str(one).startswith("the plan") for one in told)


def _measured(evidence: Evidence) -> dict[str, Measurement]:
    whole = evidence.measurements.get(WITHSTAND)
    inner = {} if whole is None else dict(whole.private.get("measurements", {}))
    return inner | {n: m for n, m in evidence.measurements.items() if "success" in m.detail}


def _more(m: Measurement) -> list[str]:
    """The owner's figures of an attack: all people, and the most atypical."""
    detail = m.detail
    low, high = detail["interval"]
    few = detail["atypical"].get(detail["worst"])
    rare = ""
    if few is not None:
        rare = f"{percent(few['advantage'])} ({few['attempts']:,} attempts)"
    return [
        percent(detail["success"]),
        percent(detail["control"]),
        f"{percent(detail['advantage'])} ({percent(low)} to {percent(high)}), {detail['worst']}",
        rare,
    ]


def story(name: str, m: Measurement) -> str:
    """An attempt that succeeded, in one line for the owner; empty where none did."""
    told = m.private.get("example")
    if not told:
        return ""
    words = "; ".join(f"{key}: {plain(value)}" for key, value in told.items() if key != "values")
    known = ", ".join(f"{key} {plain(value)}" for key, value in told.get("values", {}).items())
    return clipped(f"{name}: {words}. The person: {known}." if known else f"{name}: {words}.", 900)
