"""The room Utility: what the release still says, beside the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ...release.looking.pairs import Pairs
from ...release.report.parts import Markup, clipped, join, listed, tag
from ...release.report.report import legend
from ...texts import one_line
from ..asked import Asked, Room
from ..tasks.utility import KEPT
from ..widgets import button, card, field, link, notice, private, select, stored, tabs, work
from . import utility_measures, utility_pairs
from .trials import Trial, asking, cards_of, kept_along, standing, tables_only, trial

_PARTS = (
    ("columns", "By column"),
    ("pair", "By pair"),
    ("correlations", "Correlations"),
    ("measures", "Measures"),
    ("model", "A model"),
    ("any", "Any measure"),
)
_PAGE = 12
"""Pictures of a page."""


def _page(asked: Asked) -> Markup:
    cells = tables_only(asked, "What hiding cells costs is told there.")
    if cells is not None:
        return cells
    found = trial(asked)
    if found is None:
        return _nothing(asked)
    told = found.kept(KEPT)
    if not told:
        words = "This trial was made before this room could look at it."
        return notice(words, tag("p", link(asked, "protect", "Run a trial again")))
    here = asked.query.get("part", "columns")
    here = here if here in dict(_PARTS) else "columns"
    shown = {
        "columns": _columns,
        "pair": _pair,
        "correlations": _correlations,
        "measures": _measures,
        "model": utility_measures.model,
        "any": utility_measures.any_measure,
    }[here]
    items = [(f"utility?part={name}", words) for name, words in _PARTS]
    return join(
        (
            standing(asked, found),
            tabs(asked, items, f"utility?part={here}"),
            private(
                "Private: the original's exact figures are shown here. They are for you alone."
            ),
            _whose(told),
            shown(asked, found, told),
            _compare(asked),
        )
    )


def _nothing(asked: Asked) -> Markup:
    newest = asked.desk.last("protect")
    return join(
        (
            work(asked, newest) if newest is not None and newest.state == "running" else "",
            card(
                tag("h2", "Nothing to compare yet"),
                tag(
                    "p",
                    "Once there is a trial, every column, every pair of columns and every model "
                    "can be looked at here: as it was, and as it would be published.",
                ),
                tag("p", link(asked, "protect", "Run a trial in Protect", class_="button first")),
            ),
        )
    )


def _whose(told: Mapping[str, Any]) -> Markup:
    """What must be known of the release to read its figures."""
    said = []
    if told.get("copies"):
        many = int(told["copies"]) + 1
        said.append(
            f"{many} tables are published together, and what is compared here is the first. "
            "Whoever analyses them takes the mean over all."
        )
    if not told.get("linked"):
        said.append(
            "No record of this release became any other: what can be compared are distributions, "
            "tables and models, not records one by one."
        )
    return join(notice(one) for one in said)


def _compare(asked: Asked) -> Markup:
    place = link(asked, "explore", "Explore")
    words = "To see what other methods would keep, and several releases side by side: "
    return tag("p", words, place, ".", class_="small")


def _address(part: str, **query: object) -> str:
    return "utility?" + urlencode({"part": part, **query})


# --- by column ---


def _columns(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    every: Sequence[Mapping[str, str]] = told["columns"]
    if not every:
        return card(tag("p", "No column is published."))
    chosen = asked.number("column", -1)
    if "column" not in asked.query or not 0 <= chosen < len(every):
        chosen = -1
    page = chosen // _PAGE if chosen >= 0 else min(asked.number("page"), (len(every) - 1) // _PAGE)
    here = list(enumerate(every))[page * _PAGE : (page + 1) * _PAGE]
    key = legend(("grey", "original"), ("blue", "release (line or narrow bar)"))
    pictures = [_picture(j, one, j == chosen) for j, one in here]
    gone = told.get("unpublished", ())
    return join(
        (
            _jump(asked, every, chosen),
            card(
                tag("h2", "Original beside release"),
                key,
                tag("div", *pictures, class_="pictures"),
                _pages(asked, page, len(every)),
                tag("p", f"Not published: {listed(gone, 20)}.", class_="small") if gone else "",
            ),
        )
    )


def _jump(asked: Asked, every: Sequence[Mapping[str, str]], chosen: int) -> Markup:
    if len(every) <= _PAGE:
        return Markup("")
    names = [(str(j), clipped(one_line(one["name"]), 60)) for j, one in enumerate(every)]
    columns = select("column", [("", "choose a column"), *names], str(chosen))
    return asking(
        asked,
        "utility",
        kept_along(part="columns"),
        field("Jump to", columns, id="column"),
        button("Go"),
        auto=True,
        aria_label="Jump to a column",
    )


def _picture(j: int, one: Mapping[str, str], chosen: bool) -> Markup:
    look = {"class_": "here"} if chosen else {}
    if one["drawn"]:
        return tag("div", stored(one["drawn"]), id=f"at-{j}", **look)
    name = tag("figcaption", tag("strong", clipped(one["name"], 60)), f" ({one['about']})")
    why = tag("p", f"Not drawn: {one['why'] or 'there is nothing to draw'}.", class_="small")
    return tag("div", tag("figure", name, why), id=f"at-{j}", **look)


def _pages(asked: Asked, page: int, many: int) -> Markup:
    last = (many - 1) // _PAGE
    if not last:
        return Markup("")
    steps = (("Before", page - 1, page > 0), ("Next", page + 1, page < last))
    items = [
        tag("li", link(asked, _address("columns", page=at), words, class_="button"))
        for words, at, on in steps
        if on
    ]
    at = tag("li", f"Page {page + 1} of {last + 1} · {many:,} columns")
    return tag("nav", tag("ul", at, *items), class_="pages", aria_label="Pages")


# --- the others ---


def _pair(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    if not Pairs.there(found.job.folder):
        return card(tag("p", "This trial kept no pairs of columns."))
    return utility_pairs.part(asked, Pairs(found.job.folder), told.get("matrix", {}))


def _correlations(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    return card(tag("h2", "How correlations moved"), stored(told["correlations"]))


def _measures(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    return join(
        (
            cards_of(told.get("cards", ())),
            card(tag("h2", "Every measure that was taken"), stored(told["measures"])),
        )
    )


ROOM = Room(
    "utility",
    "Utility",
    "What the release still says.",
    _page,
    {"measure": utility_measures.begin},
)
