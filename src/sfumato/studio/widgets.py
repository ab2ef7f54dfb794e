"""The bricks of the studio's pages, beside those of the report: forms, fields, cards, work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..release.report.parts import Markup, esc, join, tag
from .asked import Asked
from .jobs import Job

Option = tuple[str, str]
"""A value and what it is called."""


def lone(name: str, /, **attributes: str) -> Markup:
    """An element without content, such as a field.

    >>> lone("input", name="k", value='"')
    '<input name="k" value="&quot;">'
    """
    return Markup(tag(name, **attributes).removesuffix(f"</{name}>"))


def form(
    asked: Asked, action: str, *children: object, auto: bool = False, **attributes: str
) -> Markup:
    """A form of a room: `action` is "room/name". With `auto` it is sent when a field changes; its
    button is for those who have no script."""
    desk = asked.desk
    more = {"data_auto": ""} if auto else {}
    return tag(
        "form",
        lone("input", type="hidden", name="version", value=desk.version),
        lone("input", type="hidden", name="back", value=asked.here),
        *children,
        method="post",
        action=f"/plan/{desk.key}/{action}",
        **more,
        **attributes,
    )


def hidden(name: str, value: object) -> Markup:
    """A value that a form carries along."""
    return lone("input", type="hidden", name=name, value=str(value))


def button(
    words: object, *, look: str = "", name: str = "", value: str = "", **attributes: str
) -> Markup:
    """A button that sends its form. Looks: "first" for what one does next, "quiet", "danger"."""
    more = {"name": name, "value": value} if name else {}
    own = {"type": "submit", "class_": f"button {look}".strip()}
    return tag("button", words, **own, **more, **attributes)


def link(asked: Asked, place: str, words: object, **attributes: str) -> Markup:
    """A link to a page of the same plan: `place` is "room" or "room?query"."""
    return tag("a", words, href=f"/plan/{asked.desk.key}/{place}", **attributes)


def tabs(
    asked: Asked, items: Iterable[Option], here: str, *, label: str = "Parts of this room"
) -> Markup:
    """The parts of a room, each with its place and its words: links, of which one is where one is.
    `here` is the place that is shown."""
    shown = []
    for place, words in items:
        current = {"aria_current": "page"} if place == here else {}
        shown.append(tag("li", link(asked, place, words, **current)))
    return tag("nav", tag("ul", *shown), class_="tabs", aria_label=label)


def where(asked: Asked, place: str) -> str:
    """The address of a page or file of the same plan."""
    return f"/plan/{asked.desk.key}/{place}"


_SHOWING = (
    "abbr|b|br|caption|circle|code|dd|defs|desc|details|div|dl|dt|ellipse|em|figcaption|figure|g|h2"
    "|h3|h4|i|li|line|linearGradient|ol|p|path|pattern|polygon|polyline|pre|rect|section|small|span"
    "|stop|strong|sub|summary|sup|svg|table|tbody|td|text|tfoot|th|thead|title|tr|tspan|ul"
)
_SAYING = (
    r"aria-[a-z]+|class|clip-path|colspan|cx|cy|d|dominant-baseline|dx|dy|fill|fill-opacity|"
    r"font-family|font-size|font-style|font-weight|gradientTransform|gradientUnits|height|id|"
    r"letter-spacing|offset|open|opacity|patternTransform|patternUnits|points|preserveAspectRatio|"
    r"r|role|rowspan|rx|ry|scope|stop-color|stop-opacity|stroke|stroke-[a-z]+|tabindex|"
    r"text-anchor|title|transform|viewBox|width|x|x1|x2|xmlns|y|y1|y2"
)
_TAG = re.compile(
    rf"[^<]+|<(?P<end>/)?(?P<name>{_SHOWING})(?:\s(?:{_SAYING})=\"[^\"<>]*\")*(?P<lone>/)?>"
)


def stored(text: object) -> Markup:
    """A part of a page that a job left ready: taken where it does nothing but show, as all that is
    made by `tag` for tables and figures does. Anything else, which may be from somebody who wrote
    into the room, is told as what it is.

    >>> stored("<p>1 &lt; 2</p>"), "<" in stored('<p onclick="x()">')
    ('<p>1 &lt; 2</p>', False)
    """
    found, at = str(text), 0
    open_: list[str] = []
    while at < len(found):
        part = _TAG.match(found, at)
        if part is None:
            break
        at, name = part.end(), part["name"]
        if part["end"]:
            if not open_ or open_.pop() != name:
                break
        elif name and not part["lone"] and name != "br":
            open_.append(name)
    else:
        if not open_:
            return Markup(found)
    return esc(f"This part cannot be shown; do it again. {found[:200]}")


def field(label: object, control: Markup, hint: object = "", *, id: str = "") -> Markup:
    """A control under its label. The control has the same `id`."""
    head = tag("label", label, **({"for_": id} if id else {}))
    return tag("div", head, control, tag("p", hint, class_="hint") if hint else "", class_="field")


def text_field(
    name: str, value: object = "", *, id: str = "", type: str = "text", **attributes: str
) -> Markup:
    """A line to type in."""
    found = {"id": id or name, "type": type, "name": name, "value": str(value)}
    return lone("input", **found, **attributes)


def select(
    name: str, options: Iterable[Option], chosen: str = "", *, id: str = "", **attributes: str
) -> Markup:
    """A list to choose one of."""

    def option(value: str, words: str) -> Markup:
        return tag("option", words, value=value, **({"selected": ""} if value == chosen else {}))

    inside = (option(value, words) for value, words in options)
    return tag("select", *inside, name=name, id=id or name, **attributes)


def checkbox(
    name: str, label: object, *, checked: bool = False, value: str = "yes", id: str = "",
    **attributes: str,
) -> Markup:  # fmt: skip
    """A box to tick, with its label behind it."""
    own = id or f"{name}-{value}"
    box = lone(
        "input", type="checkbox", name=name, value=value, id=own,
        **({"checked": ""} if checked else {}), **attributes,
    )  # fmt: skip
    return tag("span", box, tag("label", label, for_=own), class_="check")


def card(*children: object, **attributes: str) -> Markup:
    """A part of a page that stands by itself."""
    return tag("section", *children, **{"class_": "card", **attributes})


def notice(words: object, *more: object, look: str = "note") -> Markup:
    """Something to be noticed. Looks: "note", "good", "bad", "private"."""
    role = "alert" if look == "bad" else "note"
    return tag("div", tag("p", words), *more, class_=f"notice {look}", role=role)


def private(words: object = "Private: for you alone. It must never be published.") -> Markup:
    """The mark of what must never be published."""
    return tag("p", words, class_="notice private", role="note")


def details(summary: object, *children: object, open: bool = False, **attributes: str) -> Markup:
    """Something that is folded up."""
    more = {"open": ""} if open else {}
    return tag("details", tag("summary", summary), *children, **more, **attributes)


def problem(error: Mapping[str, Any]) -> Markup:
    """An error as a job or an action left it, with everything it complains of."""
    listed = error.get("complaints") or ()
    if listed:
        lines = [
            tag(
                "li",
                f"line {c['line']}: " if c.get("line") else "",
                tag("strong", c.get("where", "")),
                ": " if c.get("where") else "",
                c.get("what", ""),
                tag("span", f" → {c['remedy']}", class_="remedy") if c.get("remedy") else "",
            )
            for c in listed
        ]
        head = f"{error.get('subject', 'this')}: {len(lines)} problem{'s'[: len(lines) != 1]}"
        return notice(head, tag("ul", *lines), look="bad")
    remedy = error.get("remedy")
    words = error.get("message") or error.get("text") or "it did not work"
    return notice(words, tag("p", f"→ {remedy}", class_="remedy") if remedy else "", look="bad")


def work(asked: Asked, job: Job | None, *, again: Markup | str = "") -> Markup:
    """How a job stands, where its result is not there to show: under way, failed, ended or lost.
    `again` is the form that begins it anew. Nothing for one that is done, or that never was."""
    if job is None or job.state == "done":
        return Markup("")
    if job.state == "running":
        return notice(f"{job.what} … this page shows what comes of it when it is done.")
    if job.state == "failed":
        return join((problem(job.error), again))
    ended = "was ended before it was done" if job.state == "ended" else (
        "ended without a word, perhaps for want of memory"
    )  # fmt: skip
    return join((notice(f"{job.what} {ended}.", look="bad"), again))


def cards(items: Sequence[tuple[object, object, object]]) -> Markup:
    """Figures that are seen at a glance: what, the figure, and beside it."""
    shown = (
        tag(
            "li",
            tag("p", what, class_="what"),
            tag("p", value, class_="value"),
            tag("p", aside, class_="aside") if aside else "",
        )
        for what, value, aside in items
    )
    return tag("ul", *shown, class_="cards")
