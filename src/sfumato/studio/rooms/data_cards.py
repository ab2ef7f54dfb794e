"""The room Data: one card a column, and rows of a table where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...release.looking.columns import KINDS, MOST_ORDERED, ROLES
from ...release.report.parts import Markup, clipped, count, join, percent, tag
from ...texts import one_line
from ..asked import Asked
from ..widgets import button, details, form, hidden, link, lone, select, stored
from .data_look import Look, Seen

BULK = "several"
"""The id of the form for several columns at once."""
_KIND_WORDS = {word: plain for word, plain, _ in KINDS}


def called(one: Seen, most: int = 60) -> str:
    """A column's name as it can be shown."""
    return clipped(one_line(one.name), most) or "(a name that cannot be seen)"


def card(asked: Asked, look: Look, one: Seen, figures: Mapping[str, str]) -> Markup:
    """One column."""
    drawn = stored(figures.get(str(one.number), "")) if one.found else ""
    return tag(
        "section",
        tag("div", tag("h3", called(one), id=f"name-{one.key}"), tick(one), class_="head"),
        _taken_for(one),
        tag("figure", drawn) if drawn else "",
        *(tag("p", note, class_="small") for note in one.found.get("notes", ())),
        tag("p", spread(look, one), class_="small"),
        *(tag("p", words, class_="exposed") for words in exposed(look, one)),
        _form(asked, one),
        _order(asked, one),
        _right(asked, one),
        class_=f"card column{' doubt' if one.doubt is not None else ''}",
        aria_labelledby=f"name-{one.key}",
    )


def rows(asked: Asked, look: Look, columns: Sequence[Seen], caption: str) -> Markup:
    """Many columns, a line each."""
    head = ("", "Column", "Role", "Kind", "Taken for", "Missing", "Values")
    lines = (
        tag(
            "tr",
            tag("td", tick(one)),
            tag("th", link(asked, f"data?column={one.number}", called(one)), scope="row"),
            tag("td", one.role),
            tag("td", _KIND_WORDS.get(one.kind, one.kind)),
            tag("td", clipped(one.found.get("why", "it is not in the file"), 80)),
            tag("td", _missing(look, one), class_="number"),
            tag("td", f"{_counts(look, one)[1]:,}" if one.found else "", class_="number"),
            class_="column",
        )
        for one in columns
    )
    top = (tag("th", word or tag("span", "Tick", class_="hidden"), scope="col") for word in head)
    inside = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", *top)), tag("tbody", *lines)
    )
    return tag(
        "div", inside, class_="scroll tall", role="region", aria_label=caption, tabindex="0",
        id="columns-table",
    )  # fmt: skip


def tick(one: Seen) -> Markup:
    """The box that adds a column to those that are changed together."""
    own = f"tick-{one.key}"
    box = lone("input", type="checkbox", name="column", value=one.key, id=own, form=BULK)
    words = tag("span", f"Tick {called(one)}", class_="hidden")
    return tag("span", box, tag("label", words, for_=own), class_="pick")


def _taken_for(one: Seen) -> Markup:
    found = one.found
    if not found:
        return tag(
            "p", "The file has no such column. The plan names it all the same.", class_="bad"
        )
    why, sure = found["why"], float(found["confidence"])
    surely = "" if sure == 1 else f" ({percent(round(sure, 2))} sure)"
    label = [tag("p", f"The file calls it “{found['label']}”.", class_="small")]
    words = f"{why[:1].upper()}{why[1:]}{surely}."
    mine = ""
    if one.said.get("role") and one.role != found["role"]:
        mine = f" Sfumato would make it {found['role']}; you made it {one.role}."
    return join((tag("p", words, mine), *(label if found["label"] else ())))


def _counts(look: Look, one: Seen) -> tuple[int, int]:
    """Missing and distinct values: of all records where these were read."""
    exact = (look.checked or {}).get("counts", {}).get(one.name)
    found = exact or (one.found.get("missing", 0), one.found.get("distinct", 0))
    return int(found[0]), int(found[1])


def _missing(look: Look, one: Seen) -> str:
    if not one.found:
        return ""
    of = (look.checked or {}).get("records") or look.found["records"]
    missing = _counts(look, one)[0]
    return percent(missing / max(1, of)) if missing else "none"


def spread(look: Look, one: Seen) -> str:
    """What is missing, and how many values there are."""
    if not one.found:
        return ""
    missing, distinct = _counts(look, one)
    gone = f"{missing:,} missing ({_missing(look, one)})" if missing else "none missing"
    on = ""
    if look.sampled and not look.checked:
        on = f"; counted on {look.found['records']:,} records of about {look.found['of']:,}"
    return f"{count(distinct, 'different value')}, {gone}{on}."


def exposed(look: Look, one: Seen) -> list[str]:
    """What the exposure check says of a column as it is."""
    if look.checked is None or not look.checked_roles:
        return []
    said: Mapping[str, Any] = look.checked["exposure"]["columns"]
    return [str(words) for words in said.get(one.name, ())]


def role_select(name: str, chosen: str, id: str, first: str = "") -> Markup:
    """The roles, each with what it means."""
    options = [(role, f"{role} – {_short(meaning)}") for role, meaning in ROLES]
    return select(name, [("", first), *options] if first else options, chosen, id=id)


def kind_select(name: str, chosen: str, id: str, first: str = "") -> Markup:
    """The kinds in plain words."""
    options = [(kind, words) for kind, words, _ in KINDS]
    return select(name, [("", first), *options] if first else options, chosen, id=id)


def _short(meaning: str) -> str:
    head = meaning.partition(":")[0].rstrip(".")
    return head[:1].lower() + head[1:]


def _form(asked: Asked, one: Seen) -> Markup:
    role, kind = f"role-{one.key}", f"kind-{one.key}"
    return form(
        asked,
        "data/column",
        hidden("column", one.key),
        tag("label", "Role", for_=role),
        role_select("role", one.role if one.role != "drop" else "undecided", role),
        tag("label", "Kind", for_=kind),
        kind_select("kind", one.kind, kind),
        button("Change"),
        auto=True,
        class_="two",
        aria_label=f"What {called(one)} is",
    )


def _order(asked: Asked, one: Seen) -> Markup:
    """The categories of an ordinal column, which can be moved up."""
    order = [str(value) for value in one.said.get("categories") or one.found.get("order") or ()]
    if one.kind != "ordinal" or not order:
        return Markup("")
    lines = (
        tag(
            "li",
            tag("span", clipped(one_line(value), 60) or "(blank)"),
            button(
                "Up", look="quiet", name="up", value=str(i),
                aria_label=f"Move {clipped(one_line(value), 60)} up",
            ) if i else "",
        )
        for i, value in enumerate(order[:MOST_ORDERED])
    )  # fmt: skip
    return details(
        "The order of its values",
        form(
            asked,
            "data/order",
            hidden("column", one.key),
            tag("ol", *lines, class_="order"),
            button("Turn it round", name="up", value="turn"),
            tag("p", "The lowest comes first.", class_="hint"),
        ),
        open=one.doubt is not None,
        id=f"order-{one.key}",
    )


def _right(asked: Asked, one: Seen) -> Markup:
    if one.doubt is None:
        return Markup("")
    words = f"Yes, it is {one.role}"
    return form(
        asked, "data/right", hidden("column", one.key),
        button(words, look="first", aria_label=f"{words}: {called(one)}"),
    )  # fmt: skip


_WHICH = (
    ("", "those that are ticked"),
    ("unsure", "all that are still to be looked at"),
    ("all", "all columns"),
)


def bulk(asked: Asked) -> Markup:
    """Several columns at once."""
    role, kind = "several-role", "several-kind"
    return form(
        asked,
        "data/several",
        tag("label", "Which columns", for_="several-which"),
        select("which", _WHICH, "", id="several-which"),
        tag("label", "Their role", for_=role),
        role_select("role", "", role, "as it is"),
        tag("label", "Their kind", for_=kind),
        kind_select("kind", "", kind, "as it is"),
        tag(
            "div",
            button("Make these so", look="first"),
            button("These are right as they are", name="right", value="yes"),
            class_="row",
        ),
        id=BULK,
        class_="two",
        aria_label="Several columns at once",
    )


def meanings() -> Markup:
    """What roles and kinds mean."""
    role = (join((tag("dt", word), tag("dd", meaning))) for word, meaning in ROLES)
    kind = (join((tag("dt", plain), tag("dd", example))) for _, plain, example in KINDS)
    return details(
        "What roles and kinds mean",
        tag("h3", "Roles: who may know it"),
        tag("dl", *role),
        tag("h3", "Kinds: what its values are"),
        tag("dl", *kind),
        id="meanings",
    )
