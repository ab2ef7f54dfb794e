"""The room Data: what each column of the file is, and who may know it."""

from __future__ import annotations

import math
from typing import Any

from ...errors import InputError
from ...release.looking.columns import MOST_ORDERED, RECORDS, figures_of, records
from ...release.plan.doubts import settled
from ...release.plan.editing import edited
from ...release.plan.editing_columns import edited_columns
from ...release.report.parts import Markup, clipped, count, join, tag
from ...texts import one_line
from ..asked import Answer, Asked, Room
from ..widgets import button, cards, details, form, lone, notice, private, where, work
from . import data_around, data_cards, data_reading
from .data_cards import called
from .data_look import Look, Seen, again, begin, check, look, section, source
from .data_questions import answer, questions

_CARDS = 60
"""Columns from which on they are rows of a table."""
_FIRST = 12
"""Unsure ones that are shown as cards at once."""
_PAGE, _RECORDS = 500, 100
_WIDE = 200
"""Columns of the records that are shown."""


def _page(asked: Asked) -> Markup:
    found = look(asked.desk)
    begin(asked.desk, found)
    open_ = questions(asked, found) if found.found else Markup("")
    return join(
        (
            _states(asked, found, questions=bool(open_)),
            open_,
            _columns(asked, found),
            _records(asked, found),
            _reading(asked, found),
            data_around.after(asked, found),
        )
    )


# --- what the page shows ---


def _states(asked: Asked, found: Look, *, questions: bool) -> Markup:
    """What is known, and what is being found out."""
    parts: list[object] = []
    file = source(asked.desk)
    if file is None:
        words = "The plan's file is not there: [input] path names it."
        parts.append(notice(words, look="bad"))
    if found.failed is not None:
        parts.append(data_reading.failed(asked, found.failed, "data/read"))
    proposed = _proposed(asked)
    if proposed is not None:
        parts.append(proposed)
    if not found.found:
        if found.under_way is not None:
            parts.append(work(asked, found.under_way))
        elif file is not None and found.failed is None and not asked.desk.problems:
            words = "Other work is under way; the columns are looked at when it is done."
            parts.append(notice(words))
        return join(parts)
    if found.under_way is not None:
        parts.append(notice("The file is being read anew; this page shows what it finds."))
    parts += [_figures(found), data_around.contents(found, questions=questions)]
    parts += [_checked(asked, found), _strangers(asked, found)]
    return join(parts)


def _figures(found: Look) -> Markup:
    exact = (found.checked or {}).get("records")
    of = exact or found.found["of"]
    about = "" if exact or not found.sampled else "about "
    drawn = ""
    if found.sampled:
        drawn = f"shown are {found.found['records']:,} of them, spread over the file"
    open_ = [one for one in found.columns if one.doubt is not None]
    decided = [one for one in found.columns if one.role != "undecided"]
    return join(
        (
            cards(
                (
                    ("Records", f"{about}{of:,}", drawn),
                    ("Columns", f"{len(found.columns):,}", f"{len(decided):,} with a role"),
                    (
                        "To look at",
                        f"{len(open_):,}",
                        "unsure of the role" if open_ else "all said",
                    ),
                )
            ),
            private("Private: values and records of the original. None of it is published."),
        )
    )


def _checked(asked: Asked, found: Look) -> Markup:
    """Whom the columns give away, or the button that finds out."""
    again = form(asked, "data/check", button("Read all records and check"), class_="inline")
    if found.checking is not None and found.checking.state == "running":
        return notice(
            "All records are being read: what is missing is counted, and people looked for."
        )
    if found.checked is None:
        if found.checking is not None:
            return work(asked, found.checking, again=again)
        words = "Not all records were read yet: which columns give people away is not known."
        return notice(words, again) if found.fresh else Markup("")
    if not found.checked_roles:
        return notice("Roles were changed since it was checked whom the columns give away.", again)
    because = found.checked["exposure"]["because"]
    if not because:
        return notice("As they are, no three columns would give people away.", look="good")
    words = "As they are, these columns give people away; that is what steps are for. "
    return notice(words, tag("p", clipped(because, 600), class_="small"))


def _strangers(asked: Asked, found: Look) -> Markup:
    """Where the columns of the file and of the plan are not the same."""
    gone = [one for one in found.columns if not one.found]
    fresh = [one for one in found.columns if one.found and not one.said]
    if not gone or not found.fresh:
        return Markup("")
    words = f"Not in the file: {count(len(gone), 'column')} of the plan"
    if fresh:
        words += f"; not in the plan: {len(fresh):,} of the file"
    return notice(f"{words}.", _anew(asked, "Draft the plan anew"), look="bad")


def _anew(asked: Asked, words: str) -> Markup:
    about = "It is only proposed; you take it or leave it."
    return form(asked, "data/draft", button(words), tag("p", about, class_="hint"))


def _proposed(asked: Asked) -> Markup | None:
    """A draft that was asked for beside a plan."""
    job = asked.desk.last("draft")
    if job is None or not job.words.get("anew"):
        return None
    if job.state != "done":
        return work(asked, job)
    if job.result.get("text") == asked.desk.text or (job.folder / _TAKEN).exists():
        return None
    return notice(
        "A new draft of the plan is ready. Taking it replaces the whole plan; Undo brings it back.",
        form(
            asked, "data/take", button("Take the new draft", look="first"),
            button("Leave it", name="leave", value="yes"),
        ),
    )  # fmt: skip


_TAKEN = "answered"


def _columns(asked: Asked, found: Look) -> Markup:
    """The unsure ones first, then all."""
    if not found.columns:
        return Markup("")
    figures = figures_of(found.job.folder) if found.job is not None else {}
    opened = [one for one in found.columns if str(one.number) == asked.query.get("column")]
    doubts = sorted((o for o in found.columns if o.doubt is not None), key=lambda o: o.doubt or 0)
    first = [one for one in doubts if one not in opened][:_FIRST]
    rest = [one for one in found.columns if one not in first and one not in opened]
    parts: list[object] = []
    if opened:
        parts.append(tag("h2", "The column that you opened", id="columns"))
        parts.append(_grid(asked, found, opened, figures))
    if first:
        these = "this one" if len(doubts) == 1 else f"these {len(doubts)}"
        here = {} if opened else {"id": "columns"}
        parts.append(tag("h2", f"Please look at {these} first", **here))
        if len(doubts) > len(first):
            more = f"The least sure {len(first)} are shown; the others follow."
            parts.append(tag("p", more, class_="small"))
        parts.append(_grid(asked, found, first, figures))
    all_ = "All other columns" if first or opened else "The columns"
    parts.append(tag("h2", all_, **({} if first or opened else {"id": "columns"})))
    parts.append(data_cards.meanings())
    parts.append(details("Change several at once", data_cards.bulk(asked), id="bulk"))
    if len(found.columns) > _CARDS:
        parts.append(_table(asked, found, rest))
    else:
        parts += [_narrow(), _grid(asked, found, rest, figures)]
    return join(parts)


def _grid(asked: Asked, found: Look, ones: list[Seen], figures: object) -> Markup:
    shown = figures if isinstance(figures, dict) else {}
    return tag(
        "div", *(data_cards.card(asked, found, o, shown) for o in ones), class_="grid columns"
    )


def _narrow() -> Markup:
    return tag(
        "div",
        tag("label", "Find a column", for_="find"),
        lone("input", type="search", id="find", data_narrow=".columns .column, tr.column"),
        class_="field narrow",
    )


def _table(asked: Asked, found: Look, rest: list[Seen]) -> Markup:
    """Pages of a table, for files with hundreds of columns."""
    pages = max(1, math.ceil(len(rest) / _PAGE))
    at = min(max(1, asked.number("page", 1)), pages)
    shown = rest[(at - 1) * _PAGE : at * _PAGE]
    links = (
        tag("a", str(i), href=where(asked, f"data?page={i}"),
            **({"aria_current": "page"} if i == at else {}))
        for i in range(1, pages + 1)
    )  # fmt: skip
    turn = tag("nav", *links, class_="row", aria_label="Pages of columns") if pages > 1 else ""
    first = (at - 1) * _PAGE + 1
    caption = f"Columns {first:,} to {first + len(shown) - 1:,} of {len(rest):,}"
    return join((_narrow(), data_cards.rows(asked, found, shown, caption), turn))


# --- the records ---


def _records(asked: Asked, found: Look) -> Markup:
    if not found.found:
        return Markup("")
    shown, of = found.found["shown"], found.found["of"]
    words = f"The first {shown:,} of " if shown < of and not found.sampled else ""
    caption = f"{words}{of:,} records"
    if found.sampled:
        caption = f"{shown:,} records, drawn from about {of:,}"
    names = [called(one, 40) for one in found.columns if one.found]
    left = len(names) - _WIDE
    more = f" Of the columns, the first {_WIDE} are shown." if left > 0 else ""
    return join(
        (
            tag("h2", "The records", id="the-records"),
            private(f"Private: the records as they are, {caption}.{more}"),
            _rows(asked, found, 0, caption, names[:_WIDE]),
        )
    )


def _rows(asked: Asked, found: Look, first: int, caption: str, names: list[str]) -> Markup:
    assert found.job is not None
    ended = tag("p", "The records were swept away; they are read again soon.")
    try:
        listed = records(found.job.folder / RECORDS, first, _RECORDS)
    except OSError:
        return ended
    lines = (
        tag(
            "tr",
            tag("th", f"{first + i:,}", scope="row", class_="number"),
            *map(_cell, row[:_WIDE]),
        )
        for i, row in enumerate(listed, 1)
    )
    top = (tag("th", name, scope="col") for name in ("Record", *names))
    after = first + _RECORDS
    more = {}
    if after < found.found["shown"]:
        more = {"data_more": where(asked, f"data/file/rows?of={found.job.name}&first={after}")}
    inside = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", *top)), tag("tbody", *lines)
    )
    return tag(
        "div", inside, class_="scroll tall records", role="region", aria_label="The records",
        tabindex="0", id="records", **more,
    )  # fmt: skip


def _cell(value: str | None) -> Markup:
    if value is None:
        return tag("td", tag("span", "missing", class_="missing"))
    return tag("td", clipped(value, 200))


def _more(asked: Asked) -> Answer:
    """More of the records, fetched as one scrolls: of the same work, or none."""
    found = look(asked.desk)
    if found.job is None or found.job.name != asked.query.get("of"):
        return Answer(b"")
    names = [called(one, 40) for one in found.columns if one.found][:_WIDE]
    rows = _rows(asked, found, asked.number("first"), "Records", names)
    return Answer(rows.encode("utf-8", "replace"))


# --- how it is read ---


def _reading(asked: Asked, found: Look) -> Markup:
    desk = asked.desk
    notes = [tag("li", clipped(note, 300)) for note in found.found.get("notes", ())]
    noted = join((tag("p", "The reader noted:"), tag("ul", *notes))) if notes else ""
    given = section(desk.text, "input")
    shown: object = ""
    if found.failed is None:
        parts = data_reading.parts_left(desk.last("draft"))
        shown = data_reading.reading_form(asked, "data/read", source(desk), given, parts)
    names = [one.name for one in found.columns]
    keys = [one.key for one in found.columns]
    return join(
        (
            tag("h2", "The file", id="the-file"),
            details(
                "How the file is read",
                noted,
                shown,
                _anew(asked, "Draft the whole plan anew"),
                id="reading",
            ),
            details(
                "People, and columns that nobody named",
                data_reading.whole(asked, names, keys),
                id="whole",
            ),
        )
    )


# --- what its forms do ---


def _change(asked: Asked, ones: list[Seen], role: str, kind: str, what: str) -> None:
    """The role and kind of columns, where they are others than now."""

    changes: dict[str, dict[str, Any]] = {}
    for one in ones:
        wanted: dict[str, Any] = {}
        if role and role != one.role:
            wanted["role"] = None if role == "undecided" else role
        if kind and kind != one.kind:
            wanted |= {"kind": kind} | _categories(one, kind)
        if wanted:
            changes[one.name] = wanted

    def change(text: str) -> str:
        return settled(edited_columns(text, changes), [one.name for one in ones])

    asked.desk.edit(what, change, asked.seen)


def _categories(one: Seen, kind: str) -> dict[str, Any]:
    """An order has categories, and nothing else has."""
    if kind == "ordinal" and not one.said.get("categories"):
        order = one.found.get("order")
        if not order:
            raise InputError(
                f"{clipped(one_line(one.name), 60)} has too many or too few values to order",
                remedy=f"an order is for 2 to {MOST_ORDERED} categories; numbers have theirs",
            )
        return {"categories": [*order]}
    if kind != "ordinal" and one.said.get("categories"):
        return {"categories": None}
    return {}


def _column(asked: Asked) -> None:
    one = look(asked.desk).named(asked.one("column"))
    role, kind = asked.one("role"), asked.one("kind")
    changed = [
        f"{word} {new}"
        for word, new, now in (("role", role, one.role), ("kind", kind, one.kind))
        if new and new != now
    ]
    _change(asked, [one], role, kind, f"{called(one)}: {', '.join(changed) or 'as it is'}")


def _several(asked: Asked) -> None:
    found = look(asked.desk)
    which = asked.one("which")
    ones = [found.named(one) for one in asked.many("column")]
    if which in ("unsure", "all"):
        ones = [one for one in found.columns if which == "all" or one.doubt is not None]
    if not ones:
        raise InputError("no column is chosen", remedy="tick those that are to be changed")
    right = bool(asked.one("right"))
    role, kind = ("", "") if right else (asked.one("role"), asked.one("kind"))
    if not right and not role and not kind:
        raise InputError("neither a role nor a kind is chosen", remedy="choose one of them")
    many = count(len(ones), "column")
    what = f"{many} as said" if right else f"{many}: {' '.join(filter(None, (role, kind)))}"
    _change(asked, ones, role, kind, what)


def _right(asked: Asked) -> None:
    one = look(asked.desk).named(asked.one("column"))
    what = f"{called(one)} is {one.role}"
    asked.desk.edit(what, lambda text: settled(text, [one.name]), asked.seen)


def _order(asked: Asked) -> None:
    one = look(asked.desk).named(asked.one("column"))
    order = [*(one.said.get("categories") or one.found.get("order") or ())]
    up = asked.one("up")
    if up == "turn":
        order.reverse()
    elif up.isdecimal() and 0 < int(up[:9]) < len(order):
        i = int(up[:9])
        order[i - 1], order[i] = order[i], order[i - 1]

    def change(text: str) -> str:
        text = edited(text, ("columns", one.name, "categories"), order)
        return settled(text, [one.name])

    asked.desk.edit(f"the order of {called(one)}", change, asked.seen)


def _answer(asked: Asked) -> None:
    answer(asked, look(asked.desk))


def _whole(asked: Asked) -> None:
    found, chosen = look(asked.desk), asked.one("person")
    person = found.named(chosen).name if chosen else None
    data_reading.keep_whole(asked, person)


def _read(asked: Asked) -> None:
    data_reading.read_so(asked)
    if look(asked.desk).failed is not None:
        again(asked.desk)


def _check(asked: Asked) -> None:
    check(asked.desk)


def _take(asked: Asked) -> None:
    """A proposed draft becomes the plan, or is left."""
    desk = asked.desk
    job = desk.last("draft")
    if job is None or not job.words.get("anew") or job.state != "done":
        raise InputError("there is no new draft", remedy="draft it anew")
    if not asked.one("leave"):
        text = str(job.result["text"])
        desk.edit("a new draft", lambda _: text, asked.seen)
    (job.folder / _TAKEN).touch(mode=0o600)


ROOM = Room(
    "data",
    "Data",
    "What each column is, and who may know it.",
    _page,
    {
        "column": _column,
        "several": _several,
        "right": _right,
        "order": _order,
        "answer": _answer,
        "read": _read,
        "draft": data_reading.draft,
        "take": _take,
        "whole": _whole,
        "check": _check,
    },
    {"rows": _more},
)
