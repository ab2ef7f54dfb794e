"""Who is easiest to find: a page of records, and why one of them is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from urllib.parse import urlencode

from ...release.looking.people import PAGE, People, Record
from ...release.report.parts import (
    Markup,
    clipped,
    count,
    join,
    listed,
    number,
    percent,
    table,
    tag,
)
from ...texts import one_line
from ..asked import Asked
from ..widgets import button, card, field, form, hidden, link, private, select, text_field
from .trials import asking, kept_along

_FEW = 60
"""Values of a column up to which they are a list to choose from."""
_ALONE = (
    ("", "everybody"),
    ("before", "who is alone in the original"),
    ("after", "who is alone in the release"),
)
_SHOWN = 40
"""Characters of a value in the table."""


def address(query: Mapping[str, object]) -> str:
    """A page of this room."""
    return "risk?" + urlencode({k: v for k, v in query.items() if v not in ("", None)})


class _View:
    """What is asked for, by positions alone."""

    def __init__(self, asked: Asked, people: People) -> None:
        names = people.names
        self.alone = asked.query.get("alone", "")
        self.alone = self.alone if self.alone in dict(_ALONE) else ""
        self.column = asked.number("column", -1)
        self.column = self.column if self.column < len(names) else -1
        self.values: tuple[int, int] | None = None
        if self.column >= 0 and asked.query.get("value", "").isdecimal():
            self.values = (asked.number("value"), asked.number("value"))
        # A range belongs to the column that it was looked for in.
        elif "from" in asked.query and self.column == asked.number("of", self.column) >= 0:
            self.values = (asked.number("from"), asked.number("to"))
        sorts = {key for key, _ in sorts_of(people)}
        self.by = asked.query.get("by", "") if asked.query.get("by", "") in sorts else ""
        self.down = bool(asked.query.get("down"))
        self.first = asked.number("first") // PAGE * PAGE

    def query(self, **other: object) -> dict[str, object]:
        """The same, as an address says it; `other` replaces."""
        found: dict[str, object] = {"part": "people", "alone": self.alone, "by": self.by}
        found["down"] = "yes" if self.down else ""
        if self.column >= 0:
            found["column"] = self.column
        if self.values is not None:
            found |= {"from": self.values[0], "to": self.values[1]}
        return {**found, "first": self.first or "", **other}


def sorts_of(people: People) -> list[tuple[str, str]]:
    """What the records can be put in order by."""
    own = [(f"q{j}", clipped(one_line(name), 40)) for j, name in enumerate(people.names)]
    more = [("before", "alike before")]
    if people.about.get("aligned"):
        more += [("after", "alike after")]
    return [*more, ("score", "SUDA score"), ("row", "row of the file"), *own]


def part(asked: Asked, people: People, *, released: bool) -> Markup:
    """The records that are easiest to find, or why one of them is."""
    mark = private(
        "Private: these are single people of the original, for you alone. None of it is published."
    )
    if not people.names or not people.about["records"]:
        return join((mark, card(tag("p", _nobody()), tag("p", link(asked, "data", "Go to Data")))))
    view = _View(asked, people)
    record = asked.number("record", -1)
    one = people.record(record) if record >= 0 else None
    if one is not None:
        return join((mark, _one(asked, people, view, one)))
    shown = people.page(
        view.first,
        alone=view.alone,
        column=view.column,
        values=view.values,
        by=view.by,
        down=view.down,
    )
    head = tag("h2", "Who is easiest to find")
    return join(
        (
            mark,
            card(head, tag("p", _about(people, released)), _filters(asked, people, view)),
            card(
                _table(asked, people, view, shown.records, shown.total),
                _pages(asked, view, shown.total),
            ),
        )
    )


def _nobody() -> str:
    return (
        "No column is marked as one that others may know (quasi), so that nobody is easier to "
        "find than anybody else. Say in Data what others may know of people."
    )


def _about(people: People, released: bool) -> str:
    about = people.about
    alone = count(about["alone"], "record")
    words = f"{alone} of {about['records']:,} stand alone in the original by what others may know"
    if about.get("aligned"):
        words += f"; {count(about['alone after'], 'record')} do in the release"
    words += ". Those most at risk come first."
    if released and not about.get("aligned"):
        words += (
            " Nobody knows which record of the release is whose, so this is who stands out in the "
            "original; attacks show whether the release tells of them."
        )
    return words


# --- what is looked for ---


def _filters(asked: Asked, people: People, view: _View) -> Markup:
    names = [clipped(one_line(name), 40) for name in people.names]
    alone = _ALONE if people.about.get("aligned") else _ALONE[:2]
    columns = [("", "any"), *((str(j), name) for j, name in enumerate(names))]
    value = _values(people, view)
    along: dict[str, object] = {"part": "people"}
    if view.values is not None and view.values[0] != view.values[1]:
        along |= {"of": view.column, "from": view.values[0], "to": view.values[1]}
    ask = asking(
        asked,
        "risk",
        kept_along(**along),
        field("Show", select("alone", alone, view.alone), id="alone"),
        field(
            "Where the column",
            select("column", columns, str(view.column) if view.column >= 0 else ""),
            id="column",
        ),
        value,
        field("In the order of", select("by", [("", "risk"), *sorts_of(people)], view.by), id="by"),
        field(
            "Direction",
            select("down", [("", "from the least"), ("yes", "from the most")], "yes" * view.down),
            id="down",
        ),
        button("Show"),
        auto=True,
        aria_label="Which records are shown",
    )
    return join((ask, _typed(asked, people, view), _chosen(asked, people, view)))


def _values(people: People, view: _View) -> Markup:
    """The values of a column of few, to choose from."""
    if view.column < 0 or people.about["columns"][view.column]["values"] > _FEW:
        return Markup("")
    frame = people.values(view.column).select("text", "records")
    options = [("", "any")]
    for j, (text, many) in enumerate(frame.iter_rows()):
        told = "(missing)" if text is None else clipped(one_line(text), 60) or "(empty)"
        options.append((str(j), f"{told} · {count(many, 'record')}"))
    single = view.values is not None and view.values[0] == view.values[1]
    now = str(view.values[0]) if single and view.values is not None else ""
    return field("is", select("value", options, now), id="value")


def _typed(asked: Asked, people: People, view: _View) -> Markup:
    """A value to type, of a column of many. It is sent, and never stands in an address."""
    if view.column < 0:
        return Markup("")
    about = people.about["columns"][view.column]
    if not about["scale"] and about["values"] <= _FEW:
        return Markup("")
    kind = "date" if about["kind"] == "date" else "text"
    name = clipped(one_line(about["name"]), 60)
    low = text_field("low", "", id="low", type=kind, autocomplete="off")
    if about["scale"]:
        high = text_field("high", "", id="high", type=kind, autocomplete="off")
        fields = [field(f"{name} from", low, id="low"), field("to", high, id="high")]
    else:
        fields = [field(f"{name} is", low, id="low")]
    return form(
        asked, "risk/find", hidden("column", view.column), *fields, button("Look for it"),
        class_="row",
    )  # fmt: skip


def _chosen(asked: Asked, people: People, view: _View) -> Markup:
    """What was looked for, with the way back to all."""
    if view.values is None:
        return Markup("")
    low, high = (clipped(text, 60) for text in people.texts(view.column, view.values))
    said = low if low == high else f"{low} to {high}"
    name = clipped(one_line(people.names[view.column]), 60)
    back = view.query(column="", first="", **{"from": "", "to": ""})
    return tag("p", f"Only where {name} is {said}. ", link(asked, address(back), "Show all"))


# --- the table ---


def _table(asked: Asked, people: People, view: _View, records: list[Record], total: int) -> Markup:
    if not records:
        return tag("p", "No record is so.")
    about = people.about
    aligned, judged = bool(about.get("aligned")), bool(about.get("how"))
    names = [clipped(one_line(name), 30) for name in people.names]
    head = ["Row", "Why", *(["Risk"] * judged), "Alike before", *(["Alike after"] * aligned)]
    head += ["SUDA score", "Unique by", *names]
    numeric = (0, *range(2, 4 + aligned + judged))
    rows = [_row(asked, view, one, aligned, judged, about["size"]) for one in records]
    last = view.first + len(records)
    caption = f"Records {view.first + 1:,} to {last:,} of {total:,}, easiest to find first"
    if view.by:
        caption = f"Records {view.first + 1:,} to {last:,} of {total:,}"
    notes = [
        "Row: as counted from 1 in your file, names of columns aside. Alike: records with the same "
        "values in these columns, this one among them.",
        f"Risk: {about['how']}." if judged else "",
        f"Unique by: the smallest set of columns (of at most {about['size']}) on which no other "
        "record is the same. The SUDA score is higher where few columns suffice, and many sets do."
        if about["size"]
        else "There are too many columns and records to say at once by which each is unique: the "
        "page of a record says so of it.",
    ]
    shown = table(caption, head, rows, numeric, "people")
    return join((shown, *(tag("p", one, class_="small") for one in notes if one)))


def _row(
    asked: Asked, view: _View, one: Record, aligned: bool, judged: bool, size: int
) -> list[object]:
    words = f"Why row {one.row + 1:,}"
    why = link(asked, address(view.query(record=one.place)), "why", aria_label=words)
    cells: list[object] = [f"{one.row + 1:,}", why]
    if judged:
        cells.append("" if one.risk is None else percent(round(one.risk, 6)))
    cells.append(f"{one.before:,}")
    if aligned:
        cells.append(f"{one.after:,}" if one.after else "not published")
    cells.append(number(round(one.score, 4)) if one.score else "")
    by = ", ".join(clipped(one_line(name), 30) for name in one.smallest)
    cells.append(by or (f"more than {size}" if one.before == 1 and size else ""))
    return [*cells, *map(_value, one.values)]


def _value(text: str | None) -> Markup | str:
    if text is None:
        return tag("span", "missing", class_="small")
    short = clipped(one_line(text), _SHOWN)
    return tag("span", short, class_="date") if len(short) < 12 else short


def _pages(asked: Asked, view: _View, total: int) -> Markup:
    if total <= PAGE:
        return Markup("")
    last = (total - 1) // PAGE * PAGE
    steps = (
        ("First", 0, view.first > 0),
        ("Before", max(view.first - PAGE, 0), view.first > 0),
        ("Next", view.first + PAGE, view.first < last),
        ("Last", last, view.first < last),
    )
    shown = [
        tag("li", link(asked, address(view.query(first=at or "")), words, class_="button"))
        for words, at, on in steps
        if on
    ]
    at = f"Page {view.first // PAGE + 1:,} of {math.ceil(total / PAGE):,}"
    return tag("nav", tag("ul", tag("li", at), *shown), class_="pages", aria_label="Pages")


# --- one record ---


def _one(asked: Asked, people: People, view: _View, one: Record) -> Markup:
    """What is known of one record, and why it is found."""
    why = people.reasons(one.place)
    names = people.names
    back = link(asked, address(view.query()), "Back to the list")
    rows: list[list[object]] = [
        [clipped(one_line(name), 60), _value(value)]
        for name, value in zip(names, one.values, strict=True)
    ]
    head = ["Column", "Value"]
    published = people.published(one.place)
    if published is not None:
        head.append("In the release")
        for row, text in zip(rows, published, strict=True):
            row.append(_value(text) if text != "" else tag("span", "left out", class_="small"))
    if one.before == 1:
        head.append("Others like it if nobody knew that column")
        for j, row in enumerate(rows):
            row.append(f"{why.without[j]:,}" if j < len(why.without) else "")
    last = (len(head) - 1,) if one.before == 1 else ()
    return join(
        (
            card(
                tag("h2", f"Row {one.row + 1:,} of the file"),
                tag("p", _standing(people, one)),
                table("What others may know of it", head, rows, last),
                tag("p", back),
            ),
            card(tag("h2", "Why it is found"), _why(names, why, one)),
        )
    )


def _standing(people: People, one: Record) -> str:
    others = count(one.before - 1, "other record")
    words = "It stands alone in the original." if one.before == 1 else (
        f"In the original {others} {'has' if one.before == 2 else 'have'} the same values."
    )  # fmt: skip
    if not people.about.get("aligned"):
        return words
    if not one.after:
        return f"{words} It is not published."
    after = f" In the release it is one of {one.after:,} that look the same."
    return words + (" In the release it is alone." if one.after == 1 else after)


def _why(names: list[str], why: object, one: Record) -> Markup:
    from ...release.looking.reasons import Reasons

    assert isinstance(why, Reasons)
    if why.alike:
        return tag(
            "p",
            f"No set of these columns singles it out: {count(why.alike, 'other record')} "
            f"{'agrees' if why.alike == 1 else 'agree'} with it on all of them.",
        )
    if one.before > 1:
        return tag(
            "p",
            "Only records of the same person are like it, and they do not hide a person: whoever "
            "knows all of these columns finds them.",
        )
    if not why.sets:
        return tag(
            "p",
            f"No {count(why.size, 'column')} or fewer single it out; all {len(names)} together do.",
        )
    items = [
        tag(
            "li",
            listed([names[j] for j in chosen], 20),
            tag("span", f" ({count(len(chosen), 'column')})", class_="small"),
        )
        for chosen in why.sets[:24]
    ]
    few = len(why.sets[0])
    words = (
        f"Whoever knows {'this column' if few == 1 else f'these {few} columns'} of a person finds "
        "this record and no other. Each line is enough by itself, and no part of it is."
    )
    more = ""
    if why.size < len(names):
        more = f"Sets of more than {why.size} columns were not looked at."
    return join(
        (
            tag("p", words),
            tag("ol", *items),
            tag("p", more, class_="small") if more else "",
            tag(
                "p",
                "It is hidden where each of these sets holds a column that is published more "
                "coarsely, changed, or left out.",
                class_="small",
            ),
        )
    )
