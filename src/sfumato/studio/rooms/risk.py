"""The room Risk: how easily people are found, who, and what attacks get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ...release.looking.people import People
from ...release.report.parts import Markup, join, tag
from ..asked import Asked, Room
from ..jobs import Job
from ..tasks.risk import KEPT, SUDA
from ..widgets import (
    button,
    card,
    checkbox,
    details,
    form,
    link,
    notice,
    private,
    stored,
    tabs,
    work,
)
from . import risk_attacks, risk_people
from .trials import Trial, cards_of, kept, standing, tables_only, trial

_PARTS = (("overview", "At a glance"), ("people", "Who is easiest to find"), ("attacks", "Attacks"))
_CARRIED = (
    "part", "alone", "column", "value", "from", "to", "by", "down", "first", "record", "before",
)  # fmt: skip


def _page(asked: Asked) -> Markup:
    cells = tables_only(asked, "Who may be found in its cells is looked at there.")
    if cells is not None:
        return cells
    found, before = trial(asked), _assessed(asked)
    here = asked.query.get("part", "overview")
    parts = _PARTS if found is not None else _PARTS[:2]
    if here not in dict(parts):
        here = "overview"
    head = join((standing(asked, found), _tabs(asked, parts, here)))
    if here == "people":
        return join((head, _people(asked, found, before)))
    if here == "attacks" and found is not None:
        return join((head, risk_attacks.part(asked, found, found.kept(KEPT))))
    shown = _file(asked, before) if found is None else _release(asked, found, found.kept(KEPT))
    return join((head, shown))


def _tabs(asked: Asked, parts: Sequence[tuple[str, str]], here: str) -> Markup:
    items = [(f"risk?part={name}", words) for name, words in parts]
    return tabs(asked, items, f"risk?part={here}")


def _assessed(asked: Asked) -> Job | None:
    """The newest assessment of the file as the plan has it now."""
    jobs = (j for j in asked.desk.jobs if j.kind == "assess")
    return next((j for j in jobs if j.of(asked.desk.text, asked.desk.path)), None)


# --- before a trial ---


def _file(asked: Asked, job: Job | None) -> Markup:
    """The file as it is."""
    done = job is not None and job.state == "done"
    what = card(
        tag("h2", "The file as it is"),
        tag(
            "p",
            "Before anything is done to it: how many people stand alone with what others can "
            "know of them, and who. That is what a release has to change.",
        ),
        work(asked, job),
        _assess(asked, again=done) if job is None or job.state != "running" else "",
        tag(
            "p",
            "What is left of it after masking is shown here once there is a trial: ",
            link(asked, "protect", "run one in Protect"),
            ".",
        ),
    )
    if not done or job is None:
        return what
    found = kept(job, KEPT)
    return join((what, private(), _nobody(found), cards_of(found.get("cards", ())), _shown(found)))


def _assess(asked: Asked, *, again: bool) -> Markup:
    words = "Look at it again" if again else "Look at the file"
    special = checkbox(
        SUDA, "also by which few columns records are singled out (special uniques)", checked=True
    )
    return form(asked, "risk/assess", special, button(words, look="" if again else "first"))


def _begin(asked: Asked) -> str | None:
    words = {SUDA: bool(asked.one(SUDA))}
    asked.desk.start("assess", "Looking at the file as it is", words)
    return "risk"


# --- after a trial ---


def _release(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    if not told:
        words = "This trial was made before this room could look at it."
        return notice(words, tag("p", link(asked, "protect", "Run a trial again")))
    more = []
    if told.get("copies"):
        many = int(told["copies"]) + 1
        more.append(f"{many} tables are published together; these figures are of the first.")
    if not told.get("linked"):
        more.append(
            "The records of this release are nobody's: none of them became any other. Whether the "
            "release gives people away all the same is for attacks to show."
        )
    elif told.get("perturbed"):
        more.append(
            "Values were changed, so that records look alike by chance: sizes of classes say "
            "little here, and record linkage says more."
        )
    return join(
        (
            private(),
            _nobody(told),
            *(notice(one) for one in more),
            cards_of(told.get("cards", ())),
            _shown(told),
        )
    )


def _nobody(told: Mapping[str, Any]) -> Markup:
    """Where no column is one that others know."""
    if told.get("people", {}).get("columns"):
        return Markup("")
    return notice(
        "No column is marked as one that others may know, so that nobody can be told apart by "
        "any. Is that so? Age, sex, place or a date are known of most people."
    )


def _shown(told: Mapping[str, Any]) -> Markup:
    """The figures and tables of the report."""
    parts: list[object] = []
    for key, title in (
        ("classes", "How many look alike"),
        ("risks", "Risk before and after"),
        ("exposure", "Whom the columns give away"),
    ):
        if told.get(key):
            parts.append(card(tag("h2", title), stored(told[key])))
    if told.get("measures"):
        measures = stored(told["measures"])
        parts.append(details("All measures of risk that were taken", card(measures), id="measures"))
    return join(parts)


# --- people ---


def _source(asked: Asked, found: Trial | None, before: Job | None) -> Job | None:
    """The job whose people are shown: the trial's, else those of the file as it is."""
    if found is not None and People.there(found.job.folder):
        return found.job
    if before is not None and before.state == "done" and People.there(before.folder):
        return before
    return None


def _people(asked: Asked, found: Trial | None, before: Job | None) -> Markup:
    job = _source(asked, found, before)
    if job is None:
        return join(
            (
                card(
                    tag("p", "Nobody has looked at the records yet."),
                    work(asked, before),
                    _assess(asked, again=False),
                    tag("p", "or ", link(asked, "protect", "run a trial in Protect"), "."),
                ),
            )
        )
    return risk_people.part(asked, People(job.folder), released=found is not None)


def _find(asked: Asked) -> str | None:
    """What was typed as a value becomes its place: no value stands in an address."""
    job = _source(asked, trial(asked), _assessed(asked))
    if job is None:
        raise InputError("there are no records to look at", remedy="run a trial in Protect")
    people = People(job.folder)
    text = asked.one("column")
    column = int(text) if text.isdecimal() else -1
    if not 0 <= column < len(people.names):
        raise InputError("no such column is known of people", remedy="choose one of the list")
    places = people.places(column, asked.one("low"), asked.one("high"))
    if places is None:
        raise InputError("no record has such a value", remedy="look for another one")
    query = {"part": "people", "column": column, "from": places[0], "to": places[1]}
    for name in ("alone", "by", "down"):
        if asked.query.get(name):
            query[name] = asked.query[name]
    return risk_people.address(query)


ROOM = Room(
    "risk",
    "Risk",
    "Who is easiest to find, and what attacks got.",
    _page,
    {"assess": _begin, "find": _find, "attack": risk_attacks.begin},
)
