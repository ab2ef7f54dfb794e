"""Trees that are edited by hand: values dragged into groups, or chosen in a list and moved; and
hierarchy files, in and out."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError, MethodError, SchemaError
from ...explore.grouping import (
    Level,
    Rows,
    as_csv,
    at_level,
    dissolved,
    even,
    moved,
    on_their_own,
    records_at,
    renamed,
    with_level,
    without_level,
)
from ...release.report.parts import Markup, clipped, count, join, tag
from ...texts import one_line
from ..asked import Asked
from ..widgets import (
    Option,
    button,
    card,
    details,
    field,
    form,
    hidden,
    lone,
    notice,
    select,
    tabs,
    text_field,
    where,
)
from .hierarchy_plan import Chosen, keep_rows, of, of_form

_MOST_ITEMS = 600
"""Items of a level that are dragged; more are grouped by a file."""
_NEW, _ALONE = "new", "alone"


def editor(asked: Asked, column: Chosen) -> Markup:
    """The groups of one level, or how to begin."""
    rows = _rows_of(column)
    if rows is None:
        return _beginning(asked, column)
    levels = len(rows[0]) - 2
    level = min(max(asked.number("level", 1), 1), max(levels, 1))
    place = f"hierarchies?column={column.place}&level="
    items = [(f"{place}{n}", f"Level {n}") for n in range(1, levels + 1)]
    nav = tabs(asked, items, f"{place}{level}", label="Levels of the tree")
    parts: list[object] = [tag("h2", "Group the values by hand"), nav if levels > 1 else ""]
    if levels:
        parts.append(_level(asked, column, rows, level))
    parts.append(_levels_form(asked, column, level, levels))
    return card(*parts)


def _rows_of(column: Chosen) -> Rows | None:
    """The tree that the plan has; None where it has none that could be edited."""
    if column.source is None or column.source.name != "hierarchy" or not column.small:
        return None
    try:
        return even(column.values.hierarchy(column.source).rows())
    except (SchemaError, MethodError):
        return None


def _beginning(asked: Asked, column: Chosen) -> Markup:
    """Where there is no tree to edit yet."""
    title = tag("h2", "Group the values by hand")
    if column.source is not None and column.source.name == "hierarchy" and column.small:
        return card(title, tag("p", "The file of this hierarchy has to be mended first, or another "
                               "one brought."))  # fmt: skip
    if not column.small:
        words = (
            f"{count(int(column.about['distinct']), 'value')} are too many to be grouped by hand: "
            "bring a file, or take a kind that makes groups by a rule."
        )
        return card(title, tag("p", words))
    start = form(asked, "hierarchies/begin", of(column), hidden("from", ""),
                 button("Begin with every value on its own", look="first"), id="begin")  # fmt: skip
    more: Markup | str = ""
    if column.source is not None:
        words = f"Begin with the groups of {column.source.name}"
        more = form(asked, "hierarchies/begin", of(column), hidden("from", "plan"), button(words),
                    id="begin-from")  # fmt: skip
    about = (
        "You put values into groups and name them, level by level. The tree is kept in the plan, "
        "or in a file beside it where it is long."
    )
    return card(title, tag("p", about), tag("div", start, more, class_="row"))


def _level(asked: Asked, column: Chosen, rows: Rows, level: int) -> Markup:
    found = at_level(rows, level)
    items = [*found.loose, *(one for inside in found.groups.values() for one in inside)]
    if len(items) > _MOST_ITEMS:
        words = (
            f"{count(len(items), 'label')} are too many to be moved one by one at this level: "
            "bring a file, or group them by a rule first."
        )
        return notice(words)
    records = column.values.records
    below = records_at(rows, level - 1, records)
    here = records_at(rows, level, records)
    where_is = {item: i for i, item in enumerate(items)}

    def chip(item: str) -> Markup:
        shown = clipped(one_line(item), 40) or "(empty)"
        many = tag("span", f"{below.get(item, 0):,}", class_="small")
        place = str(where_is[item])
        return tag("li", shown, " ", many, draggable="true", data_value=place, class_="chip")

    def group(place: int, label: str, inside: list[str]) -> Markup:
        head = tag("h3", clipped(one_line(label), 60), " ",
                   tag("span", f"{here.get(label, 0):,} records", class_="small"))  # fmt: skip
        chips = tag("ul", *map(chip, inside), class_="chips")
        return tag("div", head, chips, data_group=str(place), class_="group")

    boxes = [group(i, label, inside) for i, (label, inside) in enumerate(found.groups.items())]
    alone = tag(
        "div",
        tag("h3", "In no group: each is on its own"),
        tag("ul", *map(chip, found.loose), class_="chips") if found.loose
        else tag("p", "Nothing: every value is in a group.", class_="small"),
        data_group=_ALONE,
        class_="group",
    )  # fmt: skip
    named = [(str(i), f"the group {clipped(one_line(g), 60)}") for i, g in enumerate(found.groups)]
    return join(
        (
            tag("p", "Drag a value into a group, or choose values in the list and press Move. The "
                "number beside each is its records. What you do is kept at once; Undo takes it "
                "back.", class_="small"),
            form(
                asked, "hierarchies/move", of(column), hidden("level", level),
                hidden("moved", ""), hidden("into", ""),
                tag("div", alone, *boxes, class_="groups", id="groups", role="region", tabindex="0",
                    aria_label="Groups"),
                _mover(items, below, named),
                data_groups="", id="groups-form",
            ),
            _renaming(asked, column, found, level) if found.groups else "",
        )
    )  # fmt: skip


def _mover(items: list[str], records: dict[str, int], named: list[Option]) -> Markup:
    """The way of the keyboard: values in a list, groups in another, a button."""
    options = (
        tag("option", f"{clipped(one_line(item), 60)} ({records.get(item, 0):,})", value=str(i))
        for i, item in enumerate(items)
    )
    size = str(min(max(len(items), 2), 8))
    values = tag("select", *options, name="values", id="values", multiple="", size=size)
    into = [(_NEW, "a new group, named below"), *named, (_ALONE, "no group, each on its own")]
    return tag(
        "div",
        field("Values to move (several with Ctrl or Shift)", values, id="values"),
        tag(
            "div",
            field("into", select("target", into, _NEW, id="target"), id="target"),
            field("Name of a new group", text_field("name", id="group-name", maxlength="200"),
                  id="group-name"),
            button("Move", look="first", data_move=""),
        ),
        class_="sides mover",
    )  # fmt: skip


def _renaming(asked: Asked, column: Chosen, found: Level, level: int) -> Markup:
    """Groups renamed or taken away."""
    named = [(str(i), clipped(one_line(label), 60)) for i, label in enumerate(found.groups)]
    return details(
        "Rename a group, or take it away",
        form(
            asked, "hierarchies/rename", of(column), hidden("level", level),
            tag(
                "div",
                field("Group", select("group", named, "0", id="which-group"), id="which-group"),
                field("New name", text_field("name", id="new-name", maxlength="200"),
                      id="new-name"),
                button("Rename it"),
                button("Take the group away", look="danger", name="remove", value="yes"),
                class_="row",
            ),
            id="rename-form",
        ),
        id="renaming",
    )  # fmt: skip


def _levels_form(asked: Asked, column: Chosen, level: int, levels: int) -> Markup:
    add = form(asked, "hierarchies/level", of(column), button("Add a level above"),
               class_="inline", id="add-level")  # fmt: skip
    if not levels:
        return add
    words = f"Remove level {level}"
    gone = form(asked, "hierarchies/unlevel", of(column), hidden("level", level),
                button(words, look="danger"), class_="inline", id="remove-level")  # fmt: skip
    return tag("div", add, gone, class_="row")


# --- files ---


def files(asked: Asked, column: Chosen, *, has_levels: bool) -> Markup:
    """A hierarchy as a file: out, and in."""
    out: Markup | str = ""
    if has_levels:
        address = where(asked, f"hierarchies/file/csv?column={column.place}")
        out = tag("p", tag("a", "Save the hierarchy as a file", href=address, class_="button"),
                  " It holds every value of the column: it is private.")  # fmt: skip
    bring = tag(
        "form",
        lone("input", type="hidden", name="version", value=asked.desk.version),
        lone("input", type="hidden", name="back", value=asked.here),
        of(column),
        field("A hierarchy file (CSV)",
              lone("input", type="file", name="file", id="file", accept=".csv,.txt", required=""),
              "One row a value: value;group;larger group;…;* (ARX writes such files). It is "
              "checked, and kept beside the plan.", id="file"),
        tag("span", lone("input", type="checkbox", name="header", value="yes", id="header"),
            tag("label", "Its first row names the columns", for_="header"), class_="check"),
        button("Check and keep it"),
        method="post",
        action=where(asked, "hierarchies/upload"),
        enctype="multipart/form-data",
    )  # fmt: skip
    return details("Files: bring a hierarchy, or save this one", card(out, bring), id="files")


def csv_of(column: Chosen) -> str:
    """The hierarchy's rows."""
    assert column.source is not None
    return as_csv(column.values.hierarchy(column.source).rows())


def download(column: Chosen) -> str:
    """The name of its file."""
    return f"{''.join(c if c.isalnum() else '-' for c in column.name)[:60]}-hierarchy.csv"


# --- what the forms do ---


def _changed(asked: Asked) -> tuple[Chosen, Rows, int, Level]:
    """The tree that a form changes."""
    column = of_form(asked)
    rows = _rows_of(column)
    if rows is None:
        raise InputError("there is no tree to change any more", remedy="begin one")
    text = asked.one("level", "1")
    level = int(text) if text.isdecimal() and len(text) < 4 else 0
    return column, rows, level, at_level(rows, level)


def _begin(asked: Asked) -> str:
    column = of_form(asked)
    if not column.small:
        raise InputError("there are too many values", remedy="bring a file")
    if asked.one("from") and column.source is not None:
        rows = even(column.values.hierarchy(column.source).rows())
    else:
        rows = on_their_own(column.values.records)
    keep_rows(asked, column, rows, "a tree to edit")
    return f"hierarchies?column={asked.number('column')}"


def _move(asked: Asked) -> None:
    """Values into a group: dragged ones, or those that were chosen."""
    column, rows, level, found = _changed(asked)
    items = [*found.loose, *(one for inside in found.groups.values() for one in inside)]
    dragged = asked.one("moved")
    places = [dragged] if dragged else asked.many("values")
    into = asked.one("into") if dragged else asked.one("target")
    chosen = {_at(items, place) for place in places}
    if into == _ALONE:
        group, told = "", "on their own"
    elif into == _NEW:
        group = asked.one("name").strip()
        told = f"into {group}"
        if not group:
            raise InputError("a new group needs a name", remedy="write one beside the list")
    else:
        group = _at([*found.groups], into)
        told = f"into {group}"
    what = clipped(one_line(next(iter(chosen), "")), 40) if len(chosen) == 1 else (
        count(len(chosen), "value")
    )  # fmt: skip
    done = moved(rows, level, chosen, group)
    keep_rows(asked, column, done, f"{what} {clipped(one_line(told), 60)}")


def _at(listed: list[str], place: str) -> str:
    if not place.isdecimal() or len(place) > 6 or int(place) >= len(listed):
        raise InputError("nothing that is there was chosen", remedy="choose it again")
    return listed[int(place)]


def _rename(asked: Asked) -> None:
    column, rows, level, found = _changed(asked)
    group = _at([*found.groups], asked.one("group"))
    shown = clipped(one_line(group), 40)
    if asked.one("remove"):
        keep_rows(asked, column, dissolved(rows, level, group), f"without the group {shown}")
        return
    done = renamed(rows, level, group, asked.one("name").strip())
    keep_rows(asked, column, done, f"another name for {shown}")


def _more(asked: Asked) -> str:
    column = of_form(asked)
    rows = _rows_of(column)
    if rows is None:
        raise InputError("there is no tree to change any more", remedy="begin one")
    keep_rows(asked, column, with_level(rows), "one more level")
    return f"hierarchies?column={asked.number('column')}&level={len(rows[0]) - 1}"


def _less(asked: Asked) -> str:
    column, rows, level, _ = _changed(asked)
    keep_rows(asked, column, without_level(rows, level), f"without level {level}")
    return f"hierarchies?column={asked.number('column')}"


ACTIONS: dict[str, Callable[[Asked], str | None]] = {
    "begin": _begin,
    "move": _move,
    "rename": _rename,
    "level": _more,
    "unlevel": _less,
}
