"""What each attack achieved, as the command and the studio show it to the owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...texts import one_line

if TYPE_CHECKING:
    from ..records.evidence import Evidence

BESIDE = ("attack", "people", "controls", "right", "controls", "beyond", "at most", "")
PLAIN = ("attack", "succeeds", "naive match", "chance", "non-participants")
OWN = "These figures are exact, and yours alone: publish the release's own report, not this."


@dataclass(frozen=True)
class Attacked:
    """The rows of two tables, and what is said below them."""

    beside: list[tuple[str, ...]]
    """Attacks with a control: by what they get beyond it (`BESIDE`)."""
    claims: list[tuple[str, ...]]
    """Claims that somebody is in the data: how well they tell (`attacks.CLAIMS`)."""
    plain: list[tuple[str, ...]]
    """The others, beside chance and the match anybody would try (`PLAIN`)."""
    notes: list[str]
    """Who the controls are, what was not tried, and what was found out on the way."""
    verdict: list[str]
    """Whether anything leaks."""
    unseen: list[str]
    """Columns that no attack looked at."""
    leaks: bool


def attacked(evidence: Evidence) -> Attacked:
    """What attacks achieved of a release."""
    from ...attacks.controlled import LIMIT
    from .attacks import membership, story

    whole = evidence.measurements.get("withstand")
    found = Attacked([], [*map(tuple, membership(evidence.measurements))], [], [], [], [], False)
    leaks = []
    for name, one in evidence.measurements.items():
        detail = one.detail
        if "people" in detail and "controls" in detail:
            upper = one.value if whole is None else whole.detail["attacks"][name]["upper"]
            leaking = detail["leaks"]
            verdict = "leaks" if leaking else "not shown" if detail.get("refuses") else ""
            leaks += [(detail["advantage"], name, detail["worst"])] if leaking else []
            shares = detail["success"], detail["control"], detail["advantage"], upper
            sizes = f"{detail['people']:,}", f"{detail['controls']:,}"
            found.beside.append((name, *sizes, *map(_share, shares), verdict))
        elif one is not whole:
            plain = one.value, detail.get("naive"), one.baseline, detail.get("control")
            found.plain.append((name, *map(_share, plain)))
        if "control_is" in detail:
            found.notes.append(f"{name}: non-participants: {detail['control_is']}")
    for name, why in evidence.not_taken.items():
        found.notes.append(f"{name}: not tried: {one_line(why)}")
    found.notes.extend(f"note: {one_line(note)}" for note in dict.fromkeys(evidence.notes))
    for _, name, _ in leaks:
        if told := story(name, evidence.measurements[name]):
            found.notes.append(f"for example, {one_line(told)}")
    if leaks:
        most, name, how = max(leaks)
        found.verdict.append(
            f"{len(leaks)} of {len(found.beside)} attacks get more than {_share(LIMIT)} beyond "
            f"the control; the most: {name} ({one_line(how)}), {_share(most)}"
        )
    if whole is not None and whole.detail.get("refuses", False):
        found.verdict.append(one_line(whole.detail["because"]))
    elif whole is not None and not leaks:
        found.verdict.append(
            f"no attack that was tried gets more than {_share(whole.value)} beyond the control "
            f"(95 %); the most: {one_line(whole.detail['worst'])}"
        )
    unseen = {} if whole is None else whole.detail.get("left_out", {})
    found.unseen.extend(f"not attacked: {name} ({why})" for name, why in unseen.items())
    return Attacked(
        found.beside,
        found.claims,
        found.plain,
        found.notes,
        found.verdict,
        found.unseen,
        bool(leaks),
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * float(value):.1f} %"
