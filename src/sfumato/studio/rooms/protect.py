"""The room Protect: what must hold, what is done, and a trial of both."""

from __future__ import annotations

from ...release.report.parts import Markup, join, tag
from ..asked import Asked, Room
from ..widgets import link, notice
from . import advised, planned, requiring, stepping, trying


def _page(asked: Asked) -> Markup:
    pick = asked.query.get("pick", "")
    if pick == "requirement":
        return requiring.pick(asked)
    if pick == "step":
        return stepping.pick(asked)
    if pick == "method":
        return advised.shown(asked)
    if name := asked.query.get("explain", ""):
        return stepping.one(asked, name)
    if name := asked.query.get("require", ""):
        told = stepping.explained(planned.known(name, *planned.REQUIRED))
        return requiring.one(asked, name, told)
    if planned.document(asked.desk).get("table") is not None:
        # The exposure check is of records: a table is audited instead.
        asks = requiring.shown(asked) if planned.requirements(asked.desk) else ""
        return join((asks, _tables(asked), trying.shown(asked)))
    return join(
        (
            requiring.shown(asked),
            stepping.shown(asked),
            advised.banner(asked),
            trying.shown(asked),
        )
    )


def _tables(asked: Asked) -> Markup:
    where = tag("p", link(asked, "tables", "Open Tables"))
    return notice("This plan makes a table: how its cells are protected is said in Tables.", where)


ROOM = Room(
    "protect",
    "Protect",
    "What must hold, and what is done to the records.",
    _page,
    actions={
        "exposure": requiring.keep_exposure,
        "require": requiring.keep,
        "unrequire": requiring.remove,
        "add-requirement": requiring.add,
        "step": stepping.keep,
        "unstep": stepping.remove,
        "step-up": stepping.up,
        "step-down": stepping.down,
        "take": stepping.take,
        "advise": advised.ask,
        "go-on": advised.go_on,
        "take-plan": advised.take,
        "run": trying.run,
        "remedy": trying.remedy,
        "exception": trying.exception,
    },
)
