"""The room Explore: the lattice of levels, the map of methods, and trials side by side."""

from __future__ import annotations

from ...errors import PlanError
from ...release.report.parts import Markup, join, tag
from ..asked import Asked, Room
from ..widgets import link, notice, tabs
from . import explore_lattice, explore_map, explore_trials

_VIEWS = {
    "map": ("Methods compared", explore_map.view),
    "lattice": ("The lattice of levels", explore_lattice.view),
    "trials": ("Trials side by side", explore_trials.view),
}


def warm() -> None:
    """Load the methods and measures that the form of a map lists."""
    explore_map.warm()


def _page(asked: Asked) -> Markup:
    try:
        plan = asked.desk.plan
    except PlanError:
        return tag("p", "Mend the plan first: its text is at the right.")
    wanted = asked.query.get("view", "")
    if plan.table is not None and wanted != "trials":
        return notice(
            "This plan makes a table with totals: its methods are compared in their own room.",
            tag("p", link(asked, "tables", "Go to the tables")),
        )
    here = wanted if wanted in _VIEWS else "map"

    items = [(f"explore?view={key}", words) for key, (words, _) in _VIEWS.items()]
    return join((tabs(asked, items, f"explore?view={here}"), _VIEWS[here][1](asked)))


ROOM = Room(
    "explore",
    "Explore",
    "What else could be done, and what each way costs.",
    _page,
    {**explore_lattice.ACTIONS, **explore_map.ACTIONS, **explore_trials.ACTIONS},
    explore_lattice.FILES,
)
