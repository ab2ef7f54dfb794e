"""The frame of every page: the rooms at the left, the work in the middle, the plan at the right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..addresses import ELSEWHERE
from ..addresses import hidden as hidden_words
from ..release.report.parts import Markup, join, tag
from .asked import Asked, Room
from .jobs import Job
from .trust import passwords
from .widgets import button, details, form, hidden, link, lone, notice

MARK = (
    '<svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true"><defs>'
    '<radialGradient id="haze"><stop offset="0.25" stop-color="#2b8fc6"/>'
    '<stop offset="1" stop-color="#2b8fc6" stop-opacity="0"/></radialGradient></defs>'
    '<circle cx="12" cy="12" r="12" fill="url(#haze)"/></svg>'
)


def document(title: str, body: object) -> str:
    """A page with the studio's looks."""
    head = join(
        (
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", title),
            lone("link", rel="icon", href="data:,"),
            lone("link", rel="stylesheet", href="/static/studio.css"),
            tag("script", src="/static/studio.js"),
        )
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def page(asked: Asked, rooms: Sequence[Room], room: Room, inside: object, *said: object) -> str:
    """A room's page; `said` is what one should notice first."""
    desk = asked.desk
    told = [notice(desk.said, look="good")] if desk.said else []
    desk.said = ""
    wrong = desk.problems
    if wrong:
        lines = (tag("li", str(complaint)) for complaint in wrong)
        many = f"The plan has {len(wrong)} problem{'s'[: len(wrong) != 1]}"
        told.append(notice(f"{many}; until mended it cannot run.", tag("ul", *lines), look="bad"))
    body = join(
        (
            tag("a", "Skip to the work", href="#work", class_="skip"),
            _top(asked),
            _rooms(asked, rooms, room),
            tag(
                "main",
                tag("h1", room.title),
                tag("p", room.about, class_="about"),
                *said,
                *told,
                inside,
                id="work",
                tabindex="-1",
            ),
            _plan(asked),
            jobs(asked),
        )
    )
    return document(f"{room.title} · {desk.name} · Sfumato studio", body)


def lobby(inside: object, *said: object) -> str:
    """A page where no plan is open."""
    body = join(
        (
            tag("header", _brand(), _theme(), id="top"),
            tag("main", *said, inside, id="work", class_="lobby", tabindex="-1"),
        )
    )
    return document("Sfumato studio", body)


def _brand() -> Markup:
    return tag("a", Markup(MARK), tag("span", "Sfumato", class_="word"), href="/", class_="brand")


def _theme() -> Markup:
    words = "Light or dark"
    return tag("button", words, type="button", class_="button quiet", data_theme_switch="")


def _top(asked: Asked) -> Markup:
    desk = asked.desk

    def moved(name: str, words: str, what: str) -> Markup:
        title = f"{words}: {what}" if what else f"Nothing to {words.lower()}"
        off = {} if what else {"disabled": ""}
        return form(asked, name, button(words, look="quiet", title=title, **off), class_="inline")

    return tag(
        "header",
        _brand(),
        tag("p", tag("strong", desk.path.name), class_="which"),
        moved("undo", "Undo", desk.undoable),
        moved("redo", "Redo", desk.redoable),
        _theme(),
        id="top",
    )


def _rooms(asked: Asked, rooms: Sequence[Room], here: Room) -> Markup:
    def item(number: int, room: Room) -> Markup:
        current = {"aria_current": "page"} if room is here else {}
        words = join((tag("span", str(number), class_="number", aria_hidden="true"), room.title))
        return tag("li", link(asked, room.key, words, **current))

    return tag(
        "nav",
        tag("ul", *(item(i, room) for i, room in enumerate(rooms, 1))),
        id="rooms",
        aria_label="Rooms",
    )


def _plan(asked: Asked) -> Markup:
    """The plan as it is, to be read beside the work and changed by hand."""
    desk = asked.desk
    text = desk.text
    secret = passwords(text)
    shown = hidden_words(text) if secret else text
    lines = (tag("li", tag("code", line or " ")) for line in shown.splitlines())
    written = tag(
        "div", tag("ol", *lines, class_="code"), class_="scroll", role="region",
        aria_label=f"Text of {desk.path.name}", tabindex="0",
    )  # fmt: skip
    change = details(
        "Change the text",
        form(
            asked,
            "write",
            tag("label", f"Text of {desk.path.name}", for_="plan-text", class_="hidden"),
            tag("textarea", text, name="text", id="plan-text", rows="24", spellcheck="false"),
            button("Keep this text"),
        ),
    )
    if secret:
        words = f"It holds a password. Take it out in an editor; {ELSEWHERE}."
        change = notice(words, look="bad")
    inside = (written, change) if text else (tag("p", "There is no plan yet.", class_="small"),)
    about = "What you do here is written there, and it is all that `sfumato protect` needs."
    return tag(
        "aside",
        tag(
            "div",
            tag("h2", "The plan"),
            tag("p", about, class_="small"),
            *inside,
            class_="beside",
        ),
        id="plan",
        aria_label="The plan",
    )


def jobs(asked: Asked) -> Markup:
    """What is under way, for the foot of the page; it is fetched again and again while there is
    something."""
    running = asked.desk.jobs.running()
    busy = {"data_busy": ",".join(job.name for job in running)} if running else {}
    return tag(
        "div",
        *(_job(asked, job) for job in running),
        id="jobs",
        role="status",
        aria_live="polite",
        data_watch=f"/plan/{asked.desk.key}/jobs",
        **busy,
    )


def _job(asked: Asked, job: Job) -> Markup:
    found = job.progress
    done, of = int(found["done"]), int(found["of"])
    bar = lone("progress", aria_label=job.what)
    if of > 0:
        bar = lone("progress", aria_label=job.what, max=str(of), value=str(min(done, of)))
    bar = Markup(f"{bar}</progress>")
    ending = form(asked, "end", hidden("job", job.name), button("End it", look="quiet"))
    seconds = float(found.get("seconds", 0.0))
    told = f"{found['what']}{_left(seconds, job.silent, done, of, str(found['what']))}"
    return tag(
        "section", tag("strong", job.what), bar, tag("span", told, class_="small"), ending,
        class_="job",
    )  # fmt: skip


_ENDS_EARLY = ("looking for remedies",)
"""Work of which only the most is known: it ends when enough is found."""
_TELLS = 0.2
"""The share that is done from which on the rest can be told; the first pieces are no measure."""


def _left(seconds: float, silent: float, done: int, of: int, what: str = "") -> str:
    """How long it has taken, and about how long it will: `seconds` are those until it last told
    how far it was, `silent` those since.

    >>> _left(8, 2, 4, 8), _left(8, 20, 4, 8), _left(20, 0, 1, 20)
    (' · 10 s, about 6 s more', ' · 28 s', ' · 20 s')
    >>> _left(24, 0, 6, 40, "looking for remedies")
    ' · 24 s, 6 tried of at most 40'
    """
    now = seconds + silent
    told = f" · {now:.0f} s" if now >= 1 else ""
    if what in _ENDS_EARLY and of > 0:
        return f"{told}, {done:,} tried of at most {of:,}"
    if of <= done or done < _TELLS * of or seconds < 3:
        return told
    left = math.ceil(seconds * (of - done) / done - silent)
    return f"{told}, about {left:,} s more" if left > 0 else told
