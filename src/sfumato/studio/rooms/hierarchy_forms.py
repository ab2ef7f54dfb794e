"""How a hierarchy is changed: cuts of numbers, periods of dates, and forms from declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError, SfumatoError
from ...explore.column_values import kept_up_to
from ...registry import entries, find
from ...release.report.cuts import cuts_chart
from ...release.report.parts import Markup, clipped, join, tag
from ..asked import Asked
from ..forms import fields
from ..forms import words as form_words
from ..widgets import (
    button,
    card,
    checkbox,
    details,
    field,
    form,
    hidden,
    link,
    lone,
    select,
    text_field,
)
from .hierarchy_plan import Chosen, of
from .pictures import picture

PREFIX = "poset"
_MOST_CUTS = 80
_MOST_LEVELS = 6
_WIDTH = ("width", "fanouts", "low", "high", "origin", "pattern")
_PERIODS = {
    "day": "day",
    "week": "week",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
    "decade": "decade",
    "iso-year": "year of the week (above weeks)",
    "weekday": "day of the week (above days, alone)",
}
_NOT_HERE = {"items", "power-set", "code-frequency"}
"""Kinds for sets, and one that is made of another: they are written in the text of the plan."""
_TITLES = {
    "bins": "Cut the numbers",
    "date": "Join days to periods",
    "redaction": "Hide characters",
    "prefix": "Keep the beginning",
}


def kind_shown(asked: Asked, column: Chosen) -> str:
    """The kind whose form is shown: the one that was asked for, else that of the plan."""
    wanted = asked.query.get("kind", "")
    known = {entry.name for entry in entries("poset")} - _NOT_HERE
    if wanted in known:
        return wanted
    return "" if column.source is None else column.source.name


def proposal(asked: Asked, column: Chosen) -> Markup | str:
    """What suits the column, where it has nothing yet or something else."""
    made = column.about["proposal"]
    if not made:
        return ""
    words = dict(made["poset"])
    if column.source is not None and column.source.name == words["kind"]:
        return ""
    why = f" ({clipped(made['why'], 200)})" if made.get("why") else ""
    told = tag("p", "Proposed: ", tag("code", _told(words)), why, class_="small")
    look = "first" if column.source is None else ""
    press = button("Take the proposal", look=look)
    return tag("div", told, form(asked, "hierarchies/propose", of(column), press), class_="offer")


def _told(words: Mapping[str, Any]) -> str:
    """A hierarchy in a few words."""
    more = [f"{k} {clipped(str(v).strip('[]'), 60)}" for k, v in words.items() if k != "kind"]
    return ", ".join([str(words["kind"]), *more])


def editor(asked: Asked, column: Chosen, kind: str) -> Markup:
    """The form of a kind, with what the plan says of it."""
    if not kind or kind in _NOT_HERE:
        return Markup("")
    now = column.source is not None and column.source.name == kind
    title = tag("h2", _TITLES.get(kind, f"Settings of {kind}"))
    about = "" if now else tag("p", find(kind, "poset").summary, class_="small")
    # Days that are cut at given days have a form, and no line in the figure.
    if kind == "bins" and column.values.measured and column.about["kind"] != "date":
        drawn = _drawn(column) if now else ""
        if now and getattr(column.source, "edges", None) is not None:
            return card(title, drawn, _cuts(asked, column))
        return card(title, about, drawn, _widths(asked, column, now=now))
    if kind == "date":
        return card(title, about, _periods(asked, column, now=now))
    return card(title, about, _declared(asked, column, kind, now=now))


def _declared(asked: Asked, column: Chosen, kind: str, *, now: bool) -> Markup:
    """The parameters of a kind, as they are declared."""
    cls = find(kind, "poset").load()
    inside = fields(cls, _given(asked, column, kind), PREFIX)
    words = "Keep these settings" if now else f"Use {kind}"
    return form(
        asked,
        "hierarchies/use",
        of(column),
        hidden("kind", kind),
        inside or tag("p", "It has no settings."),
        button(words, look="first") if inside or not now else "",
        id=f"use-{kind}",
    )


def _given(asked: Asked, column: Chosen, kind: str) -> dict[str, Any]:
    """What stands in the fields: what was typed and refused, else the plan, the proposal, or an
    example."""
    cls = find(kind, "poset").load()
    if asked.one("kind") == kind:
        try:
            return form_words(cls, asked, PREFIX)
        except SfumatoError:
            pass
    if column.source is not None and column.source.name == kind:
        return {key: _plain(value) for key, value in column.source.parameters().items()}
    made = dict(column.about["proposal"].get("poset") or {})
    if made.pop("kind", "") == kind:
        return made
    needed = any(about.is_required() for about in cls.model_fields.values())
    return {key: _plain(value) for key, value in cls.example.items()} if needed else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


# --- numbers ---


def _drawn(column: Chosen) -> Markup | str:
    """The values of the column, and the cuts through them."""
    edges, counts = column.values.histogram()
    if not edges.size or column.source is None:
        return ""
    cuts = kept_up_to(column.values.edges(column.source))
    title = f"Records by {clipped(column.name, 60)}, with its cuts"
    about = f"{len(cuts)} cuts: " + ", ".join(f"{cut:g}" for cut, _ in cuts[:_MOST_CUTS])
    drawn = picture(cuts_chart(edges, counts, cuts), "cuts", title, about)
    words = (
        "Grey: records. Lines: where the groups of the first level begin; the bolder, the more "
        "levels a cut is kept up to."
    )
    return join((drawn, tag("p", words, class_="small")))


def _widths(asked: Asked, column: Chosen, *, now: bool) -> Markup:
    """Bins of one width, of which some join at each level."""
    cls = find("bins", "poset").load()
    given = _given(asked, column, "bins")
    if not given.get("width") and not given.get("edges"):
        given = {"width": 10}
    even = form(
        asked,
        "hierarchies/use",
        of(column),
        hidden("kind", "bins"),
        fields(cls, given, PREFIX, only=("width", "fanouts")),
        details("More: open ends, where bins begin, how they are written",
                fields(cls, given, PREFIX, only=_WIDTH[2:]), id="more-bins"),
        button("Keep this width" if now else "Cut it so", look="first"),
        id="use-bins",
    )  # fmt: skip
    if not now or column.source is None or not column.values.edges(column.source):
        return even
    press = form(asked, "hierarchies/by-hand", of(column), button("Move the cuts one by one"))
    return join((even, press))


def _cuts(asked: Asked, column: Chosen) -> Markup:
    """Every cut as a number that can be changed, and up to which level it is kept."""
    assert column.source is not None
    cuts = kept_up_to(column.values.edges(column.source))
    if len(cuts) > _MOST_CUTS:
        words = f"{len(cuts)} cuts are too many to be moved one by one; they stand in the plan."
        return join((tag("p", words), _widths(asked, column, now=False)))
    highest = min(max(level for _, level in cuts) + 1, _MOST_LEVELS)
    levels = [(str(n), f"level {n}") for n in range(1, highest + 1)]
    rows = [
        tag(
            "li",
            tag("label", f"Cut {i + 1}", for_=f"cut-{i}", class_="hidden"),
            text_field(f"cut.{i}", f"{cut:.15g}", id=f"cut-{i}", type="number", step="any"),
            tag("label", f"Cut {i + 1} is kept up to", for_=f"upto-{i}", class_="hidden"),
            select(f"upto.{i}", levels, str(kept), id=f"upto-{i}"),
            button("Remove", look="quiet", name="remove", value=str(i),
                   aria_label=f"Remove the cut at {cut:g}"),
        )
        for i, (cut, kept) in enumerate(cuts)
    ]  # fmt: skip
    new = tag(
        "div",
        field("A new cut at", text_field("cut-new", type="number", step="any", data_wait=""),
              id="cut-new"),
        field("kept up to", select("upto-new", levels, "1", data_wait=""), id="upto-new"),
        button("Add the cut", look="first keep"),
        class_="row",
    )  # fmt: skip
    about = (
        "A group begins at each cut and ends before the next. A cut that is kept up to level 2 "
        "also parts the coarser groups of level 2. What you change is kept at once; Undo takes "
        "it back."
    )
    moved = form(
        asked,
        "hierarchies/cuts",
        of(column),
        # Return in a field keeps what was typed: it must not take the first cut away.
        lone("input", type="submit", class_="hidden", value="Keep the cuts", tabindex="-1"),
        tag("ul", *rows, class_="cuts"),
        new,
        auto=True,
        id="cuts-form",
    )
    anew = details("Begin again with bins of one width", _anew(asked, column), id="anew")
    return join((tag("p", about, class_="small"), moved, anew))


def _anew(asked: Asked, column: Chosen) -> Markup:
    cls = find("bins", "poset").load()
    made = dict(column.about["proposal"].get("poset") or {})
    given = made if made.get("width") else {"width": 10}
    return form(
        asked,
        "hierarchies/use",
        of(column),
        hidden("kind", "bins"),
        fields(cls, given, PREFIX, only=("width", "fanouts")),
        button("Cut it so"),
        id="use-width",
    )


def cut_of(asked: Asked, cut: str, upto: str) -> tuple[float | int, int] | None:
    """A cut of the form; none where its field was emptied."""
    text = asked.one(cut).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{clipped(text, 40)!r} is no number") from None
    level = asked.one(upto, "1")
    kept = int(level) if level.isdecimal() and len(level) < 3 else 1
    return int(value) if value.is_integer() else value, max(1, min(kept, _MOST_LEVELS))


# --- dates ---


def _periods(asked: Asked, column: Chosen, *, now: bool) -> Markup:
    """Which periods stand above the days."""
    given = _given(asked, column, "date").get("levels") or ("month", "quarter", "year", "decade")
    boxes = (
        checkbox("levels", words, checked=period in given, value=period)
        for period, words in _PERIODS.items()
    )
    about = tag("p", "Each period must lie within one of the next: a week lies in no month.",
                class_="small")  # fmt: skip
    return form(
        asked,
        "hierarchies/use",
        of(column),
        hidden("kind", "date"),
        about,
        tag("fieldset", tag("legend", "Periods, from fine to coarse"), *boxes),
        button("Keep these periods" if now else "Use periods", look="first"),
        id="use-date",
    )


# --- all other kinds ---


def others(asked: Asked, column: Chosen, kind: str) -> Markup:
    """Every other kind of hierarchy, a search away."""

    def item(name: str, summary: str) -> Markup:
        here = {"aria_current": "true"} if name == kind else {}
        place = f"hierarchies?column={column.place}&kind={name}"
        words = "Group the values by hand, or bring a file." if name == "hierarchy" else summary
        return tag("li", link(asked, place, name, **here), " ", tag("span", words, class_="small"))

    listed = [item(e.name, e.summary) for e in entries("poset") if e.name not in _NOT_HERE]
    find_ = field(
        "Find a kind",
        lone("input", type="search", id="find-kind", data_narrow="#kinds li"),
        id="find-kind",
    )
    nothing = ""
    if column.source is not None:
        press = button("Take its hierarchy away", look="danger")
        nothing = form(asked, "hierarchies/nothing", of(column), press)
    return details(
        "Other kinds of hierarchies",
        card(
            proposal(asked, column) if column.source is not None else "",
            find_,
            tag("ul", *listed, id="kinds", class_="kinds"),
            nothing,
        ),
        open=not kind,
        id=f"kinds-beside-{kind or 'none'}",
    )
