"""Attacks on a trial: those that were run with it, and those that are run now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...registry import entries
from ...release.report.attacked import BESIDE, OWN, PLAIN
from ...release.report.parts import Markup, clipped, definitions, join, table, tag
from ..asked import Asked
from ..jobs import Job
from ..widgets import (
    button,
    card,
    checkbox,
    details,
    field,
    form,
    link,
    notice,
    private,
    stored,
    text_field,
    work,
)
from .trials import Trial, of_trial, trial

_WITHSTAND = "withstand"
_MINUTES, _MOST = 10, 600
_READ = (
    ("people, controls", "how many of your people were attacked, and how many who are not in the "
     "data"),
    ("right", "the share of attempts on your people that succeed"),
    ("controls", "the share of the same attempts on the others"),
    ("beyond", "what is left: of that which the others leave to be guessed, how much more is got "
     "of yours"),
    ("at most", "the upper 95 % bound of that, corrected for how many ways were tried"),
    ("leaks", "even the lower 95 % bound is above 5 %, and an exact test agrees: believe it"),
    ("not shown", "fewer than 2,000 people or controls were tried, or fewer could decide: such an "
     "attack proves nothing"),
)  # fmt: skip


def part(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    """What attacks got of the trial, and the form for more."""
    jobs = of_trial(asked, "attack", found.job)
    newest = jobs[0] if jobs else None
    done = next((job for job in jobs if job.state == "done"), None)
    running = newest is not None and newest.state == "running"
    return join(
        (
            work(asked, newest),
            _result(done) if done is not None else "",
            _required(told),
            "" if running else _form(asked, found),
        )
    )


def _required(told: Mapping[str, Any]) -> Markup:
    """What was tried with the trial, since the plan asks for it."""
    if not told.get("attacks"):
        return Markup("")
    return card(
        tag("h2", "What the plan required"),
        private(),
        stored(told["attacks"]),
        class_="card attacked",
    )


def _result(job: Job) -> Markup:
    """The result of attacks, as the command tells it."""
    found = job.result
    leaks = bool(found.get("leaks"))
    verdict = [
        notice(clipped(one, 600), look="bad" if leaks else "note") for one in found["verdict"]
    ]
    parts: list[object] = [tag("h2", "What attacks got"), private(OWN), *verdict]
    if found["beside"]:
        rows = [[row[0], _judged(row[-1]), *row[1:-1]] for row in found["beside"]]
        head = [BESIDE[0], "result", *BESIDE[1:-1]]
        parts.append(
            table("Attacks beside people who are not in the data", head, rows, (2, 3, 4, 5, 6, 7))
        )
    if found["plain"]:
        parts.append(table("Attacks beside chance", [*PLAIN], found["plain"], (1, 2, 3, 4)))
    if not (found["beside"] or found["plain"]):
        parts.append(tag("p", "No attack applies to this release."))
    said = [*found["unseen"], *found["notes"]]
    if said:
        lines = (tag("li", clipped(one, 400)) for one in said)
        parts.append(details(f"{len(said)} notes", tag("ul", *lines, class_="small"), id="notes"))
    parts.append(details("How to read it", definitions(_READ), id="reading"))
    if found["section"]:
        examples = stored(found["section"])
        words = "What each intruder has, and an attempt of each that succeeded"
        parts.append(details(words, private(), examples, id="examples"))
    return card(*parts, class_="card attacked")


def _judged(verdict: str) -> Markup | str:
    if verdict == "leaks":
        return tag("span", "✗ leaks", class_="bad")
    return verdict or tag("span", "✓ does not show", class_="good")


def _form(asked: Asked, found: Trial) -> Markup:
    """Which attacks, and for how long."""
    chosen = [entry for entry in entries("attack") if entry.name != _WITHSTAND]
    boxes = (
        tag(
            "div",
            checkbox("attacks", entry.name, value=entry.name),
            tag("p", entry.summary, class_="hint"),
            class_="field",
        )
        for entry in chosen
    )
    minutes = text_field("minutes", _MINUTES, type="number", min="1", max=str(_MOST), step="1")
    return card(
        tag("h2", "Attack this release now"),
        tag(
            "p",
            "Let somebody try before you publish: every attack is tried on people in your data and "
            "on people who are not. What it gets of yours beyond the others is what the release "
            "gives away.",
        ),
        tag("p", _beside(asked)),
        form(
            asked,
            "risk/attack",
            field(
                "Minutes at most", minutes, "what is not done by then is not tried", id="minutes"
            ),
            details(
                "Only some attacks",
                tag("p", "All that apply are tried if none is ticked.", class_="small"),
                tag("fieldset", tag("legend", "Attacks"), *boxes, class_="attacks"),
                id="which",
            ),
            button("Attack this release now", look="first"),
        ),
        tag(
            "p",
            "To have it judged whenever the plan is run, require it: ",
            link(asked, "protect", "“withstand” in Protect"),
            ".",
            class_="small",
        ),
    )


def _beside(asked: Asked) -> str:
    """Who the others are."""
    desk = asked.desk
    known = "" if desk.problems else desk.plan.input.reference
    if known:
        return (
            "The others are people whom the plan keeps out of the release, or names: this release "
            "itself is attacked."
        )
    return (
        "The plan holds nobody out. So the plan is run again on a random half of the people, with "
        "the other half as the others: then the plan is attacked, not this release itself. With "
        "reference = 0.5 under [input] half of the people are held out, and the release is."
    )


def begin(asked: Asked) -> str | None:
    """Begin to attack."""
    found = trial(asked)
    if found is None:
        raise InputError("there is no trial to attack", remedy="run one in Protect")
    known = {entry.name for entry in entries("attack")}
    names = [name for name in asked.many("attacks") if name in known]
    text = asked.one("minutes") or str(_MINUTES)
    if not (text.isdecimal() and 1 <= int(text) <= _MOST):
        raise InputError("minutes are a whole number", remedy=f"from 1 to {_MOST}")
    words = {"trial": found.job.name, "attacks": names, "seconds": 60.0 * int(text)}
    asked.desk.start("attack", "Attacking the release", words)
    return "risk?part=attacks"
