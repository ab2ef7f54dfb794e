"""What the rooms that look at a trial share: which one it is, its parts, and forms that ask."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...release.report.parts import Markup, join, tag
from ..asked import Asked
from ..jobs import Job
from ..widgets import card, link, lone, notice, where, work

PROTECT = "protect"


@dataclass(frozen=True)
class Trial:
    """A trial that is done, and whether the plan says something else by now."""

    job: Job
    stale: bool

    def kept(self, name: str) -> dict[str, Any]:
        """What a room kept of it; nothing where it kept none."""
        return kept(self.job, name)


def kept(job: Job, name: str) -> dict[str, Any]:
    """What a job left for the pages in a file; nothing where there is none."""
    try:
        found = json.loads((job.folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def trial(asked: Asked) -> Trial | None:
    """The newest trial that ended well."""
    desk = asked.desk
    for job in desk.jobs:
        if job.kind == PROTECT and job.state == "done":
            return Trial(job, not job.of(desk.text, desk.path))
    return None


def of_trial(asked: Asked, kind: str, job: Job) -> list[Job]:
    """The work of a kind that was done with a trial, the newest first."""
    return [j for j in asked.desk.jobs if j.kind == kind and j.words.get("trial") == job.name]


def standing(asked: Asked, found: Trial | None) -> Markup:
    """How the newest trial stands, where it is not the one that is shown."""
    newest = asked.desk.last(PROTECT)
    under_way = work(asked, newest) if newest is not None and newest.state == "running" else ""
    if found is None or not found.stale:
        return join((under_way,))
    again = link(asked, PROTECT, "Run a trial again")
    words = "The plan or its file was changed since this trial: what is shown here is of before."
    return join((under_way, notice(words, tag("p", again))))


def tables_only(asked: Asked, what: str) -> Markup | None:
    """What is said where the plan makes a table and no records; None for a plan of records."""
    if "[table]" not in asked.desk.text or asked.desk.problems or asked.desk.plan.table is None:
        return None
    return card(
        tag("p", f"This plan publishes a table with totals, not records. {what}"),
        tag("p", link(asked, "tables", "Go to Tables", class_="button first")),
    )


def asking(asked: Asked, room: str, *children: object, auto: bool = False, **more: str) -> Markup:
    """A form that only asks: what is chosen stands in the address, and nothing is changed."""
    own = {"data_auto": ""} if auto else {}
    return tag(
        "form",
        *children,
        method="get",
        action=where(asked, room),
        **{"class_": "row", **own, **more},
    )


def kept_along(**values: object) -> Markup:
    """What a form that asks carries along."""
    fields = (lone("input", type="hidden", name=k, value=str(v)) for k, v in values.items())
    return join(fields)


def cards_of(items: Sequence[Sequence[str]]) -> Markup:
    """Figures at a glance, with what each means."""
    shown = (
        tag(
            "li",
            tag("p", title, class_="what"),
            tag("p", value, class_="value"),
            tag("p", aside, class_="aside") if aside else "",
            tag("p", sentence, class_="small"),
        )
        for title, value, aside, sentence in items
    )
    return tag("ul", *shown, class_="cards") if items else Markup("")
