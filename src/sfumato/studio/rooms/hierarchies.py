"""The room Hierarchies: what may be published in place of each value, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError, PlanError
from ...explore.column_values import index_of, kept_up_to, nested
from ...registry import find
from ...release.plan.editing import edited
from ...release.plan.plan import Plan
from ...release.report.parts import Markup, clipped, count, join, number, table, tag
from ...texts import one_line
from ..asked import Answer, Asked, Room
from ..forms import words as form_words
from ..jobs import Job
from ..widgets import button, card, form, link, notice, private, work
from . import hierarchy_forms as forms
from . import hierarchy_trees as trees
from .hierarchy_plan import (
    MOST_UPLOADED,
    Chosen,
    chosen,
    columns_of,
    counting,
    keep,
    keep_file,
    levels_of,
    of_form,
    reading,
)


def _page(asked: Asked) -> Markup:
    try:
        plan = asked.desk.plan
    except PlanError:
        return tag("p", "Mend the plan first: its text is at the right.")
    if plan.table is not None:
        return notice(
            "This plan makes a table with totals, which has its own hierarchies.",
            tag("p", link(asked, "tables", "Go to the tables")),
        )
    job = counting(asked, plan)
    if job is None or job.state != "done":
        again = form(asked, "hierarchies/count", button("Count the values", look="first"))
        waiting = work(asked, job, again=again) if job is not None else again
        listed = columns_of(plan, {})
        nothing = _empty(asked) if not listed and plan.input.others != "quasi" else ""
        return join((waiting, nothing))
    counted = index_of(str(job.folder))
    names = columns_of(plan, counted)
    if not names:
        return _empty(asked)
    place = min(asked.number("column"), len(names) - 1)
    column = chosen(asked.desk, job, names[place], place)
    inside = (
        _column(asked, plan, column)
        if column is not None
        else notice(
            "The values of this column were not counted: it is a set, or is not read as the plan "
            "says. Sets are grouped by their items, in the text of the plan."
        )
    )
    return join(
        (
            private("Counts of values are for you alone: they tell who is rare."),
            _list(asked, plan, names, place),
            inside,
        )
    )


def _empty(asked: Asked) -> Markup:
    return notice(
        "No column is a quasi-identifier yet: none that others may know of a person.",
        tag("p", link(asked, "data", "Say in the room Data what the columns are")),
    )


def _list(asked: Asked, plan: Plan, names: list[str], here: int) -> Markup:
    """The columns, with what each has."""

    def item(place: int, name: str) -> Markup:
        about = plan.columns.get(name)
        source = None if about is None else about.poset
        has = "no hierarchy yet" if source is None else source.name
        current = {"aria_current": "true"} if place == here else {}
        shown = clipped(one_line(name), 40)
        words = join((tag("strong", shown), tag("span", has, class_="small")))
        return tag("li", link(asked, f"hierarchies?column={place}", words, **current))

    return tag(
        "nav",
        tag("h2", "Columns", class_="hidden"),
        tag("ul", *(item(i, name) for i, name in enumerate(names)), class_="choices"),
        aria_label="Columns",
    )


def _column(asked: Asked, plan: Plan, column: Chosen) -> Markup:
    about, source = column.about, column.source
    facts = (
        f"{about['kind']}, {count(int(about['distinct']), 'value')} in "
        f"{count(int(about['records']), 'record')}"
        + (f", {int(about['missing']):,} missing" if about["missing"] else "")
    )
    kind = forms.kind_shown(asked, column)
    head = card(
        tag("h2", clipped(one_line(column.name), 80)),
        tag("p", facts, class_="small"),
        forms.proposal(asked, column) if source is None else "",
        _levels(asked, plan, column),
    )
    by_hand = kind == "hierarchy"
    edit = trees.editor(asked, column) if by_hand else forms.editor(asked, column, kind)
    return join(
        (
            head,
            edit if kind else "",
            forms.others(asked, column, kind),
            trees.files(asked, column, has_levels=source is not None),
        )
    )


def _levels(asked: Asked, plan: Plan, column: Chosen) -> Markup:
    """What would be published at each level, and how many records each group has."""
    source = column.source
    if source is None:
        joined = (
            "widened to intervals, as wide as the records need"
            if column.values.measured
            else "joined to sets of values, as large as the records need"
        )
        return tag(
            "p", f"The plan says nothing of it: its values are {joined}, or hidden altogether. "
            "With a hierarchy they become coarser in steps that you choose.",
        )  # fmt: skip
    found = levels_of(asked, column)
    if found is None:
        return notice("Its levels are counted when other work is done.")
    if isinstance(found, Job):
        return work(asked, found)
    if "faults" in found:
        lines = (
            tag("li", f["what"], tag("span", f" → {f['remedy']}" if f["remedy"] else ""))
            for f in found["faults"]
        )
        many = len(found["faults"])
        return notice(
            f"This hierarchy does not fit the values ({count(many, 'problem')}):",
            tag("ul", *lines),
            look="bad",
        )
    summary = find(source.name, "poset").summary
    if not found["levels"]:
        return tag(
            "p", tag("code", source.name), f": {summary} It has no fixed levels: how coarse a "
            "value becomes is found record by record.",
        )  # fmt: skip
    return join(
        (
            tag("p", tag("code", source.name), f": {summary}"),
            _table(found["levels"], _wanted(plan)),
        )
    )


def _wanted(plan: Plan) -> int:
    """The k that the plan requires; 0 where it requires none."""
    for one in plan.requirements:
        if one.name == "k-anonymity":
            k = one.thing.parameters().get("k", one.to_plan())
            return int(k) if isinstance(k, int | float) else 0
    return 0


def _table(levels: list[Mapping[str, Any]], k: int) -> Markup:
    def sizes(level: Mapping[str, Any]) -> Markup:
        low, middle, high = int(level["smallest"]), float(level["median"]), int(level["largest"])
        told = f"{low:,} to {high:,}, the middle one {number(middle)}"
        told = f"{low:,}" if low == high else told
        few = tag("span", f"fewer than {k}", class_="tagged bad") if 0 < low < k else ""
        return join((told, " ", few))

    def example(level: Mapping[str, Any]) -> Markup:
        shown = [
            tag(
                "li",
                tag("span", clipped(one_line(one["label"]), 40), class_="label"),
                tag("span", f"{one['records']:,}", class_="small"),
            )
            for one in level["first"]
        ]
        more = int(level["groups"]) - len(shown)
        tail = tag("li", f"and {more:,} more", class_="small") if more > 0 else ""
        return tag("ul", *shown, tail, class_="labels")

    def name(level: int) -> str:
        if not level:
            return "0: as it is"
        return f"{level}: hidden" if level == levels[-1]["level"] else str(level)

    rows = [[name(one["level"]), f"{one['groups']:,}", sizes(one), example(one)] for one in levels]
    head = ("Level", "Groups", "Records in a group", "Such as, with their records")
    return table("What would be published at each level", head, rows, (1,), "levels")


# --- what its forms do ---


def _count(asked: Asked) -> None:
    asked.desk.start("values", "Counting the values of the columns", reading(asked.desk.plan))


def _use(asked: Asked) -> str | None:
    """Take a hierarchy as a form declares it."""
    column, kind = of_form(asked), asked.one("kind")
    cls = find(kind, "poset").load()
    if kind == "date":
        words: dict[str, Any] = {"levels": asked.many("levels")}
    else:
        words = form_words(cls, asked, forms.PREFIX)
    keep(asked, column, {"kind": cls.name, **words}, f"hierarchy {cls.name}")
    return _back(asked)


def _propose(asked: Asked) -> str | None:
    """Take what suits the column."""
    column = of_form(asked)
    words = column.about["proposal"].get("poset")
    if not words:
        raise InputError("nothing is proposed for this column", remedy="choose a kind")
    keep(asked, column, words, "the proposed hierarchy")
    return _back(asked)


def _nothing(asked: Asked) -> str | None:
    name = of_form(asked).name
    path = ("columns", name, "poset")
    asked.desk.edit(f"no hierarchy for {name}", lambda text: edited(text, path, None), asked.seen)
    return _back(asked)


def _cuts(asked: Asked) -> None:
    """Cuts that were moved, added or taken away."""
    column = of_form(asked)
    gone = asked.one("remove")
    cuts = [
        forms.cut_of(asked, f"cut.{i}", f"upto.{i}")
        for i in range(len([key for key in asked.form if key.startswith("cut.")]))
        if str(i) != gone
    ]
    if asked.one("cut-new").strip():
        cuts.append(forms.cut_of(asked, "cut-new", "upto-new"))
    told = [cut for cut in cuts if cut is not None]
    if not told:
        raise InputError("a column that is cut needs a cut", remedy="take another kind instead")
    words: dict[str, Any] = {"kind": "bins", "edges": nested(told)}
    pattern = getattr(column.source, "pattern", "")
    if pattern:
        words["pattern"] = pattern
    keep(asked, column, words, "cuts")


def _by_hand(asked: Asked) -> str | None:
    """Bins of one width as cuts that can be moved one by one."""
    column = of_form(asked)
    levels = [] if column.source is None else column.values.edges(column.source)
    if not levels:
        raise InputError("there are no cuts to move, or too many", remedy="take a larger width")
    words: dict[str, Any] = {"kind": "bins", "edges": nested(kept_up_to(levels))}
    if pattern := getattr(column.source, "pattern", ""):
        words["pattern"] = pattern
    keep(asked, column, words, "cuts one by one")
    return _back(asked)


def _upload(asked: Asked) -> str | None:
    """A hierarchy file, checked and kept beside the plan."""
    column, given = of_form(asked), asked.files.get("file")
    if given is None or not given.name:
        raise InputError("no file was chosen", remedy="choose a hierarchy file (CSV)")
    body = given.file.read(MOST_UPLOADED + 1)
    if len(body) > MOST_UPLOADED:
        raise InputError(
            f"a hierarchy file of more than {MOST_UPLOADED >> 20} MiB is not taken here",
            remedy='put it beside the plan: poset = { kind = "hierarchy", path = "..." }',
        )
    try:
        body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8", remedy="save it as CSV in UTF-8") from None
    more = {"header": True} if asked.one("header") else {}
    keep_file(asked, column, body, "hierarchy from a file", **more)
    return _back(asked)


def _back(asked: Asked) -> str | None:
    """The column without the kind that was looked at, which is the plan's now."""
    return f"hierarchies?column={asked.number('column')}"


def _csv(asked: Asked) -> Answer:
    """The hierarchy as a file, in ARX's layout."""
    job = counting(asked, asked.desk.plan)
    place = asked.number("column")
    if job is None or job.state != "done":
        raise InputError("the values are not counted yet", remedy="wait until they are")
    names = columns_of(asked.desk.plan, index_of(str(job.folder)))
    if place >= len(names):
        raise InputError("there is no such column any more")
    column = chosen(asked.desk, job, names[place], place)
    if column is None or column.source is None:
        raise InputError("the column has no hierarchy", remedy="choose one first")
    return Answer(
        trees.csv_of(column).encode(), "text/csv; charset=utf-8", download=trees.download(column)
    )


_ACTIONS = {
    "count": _count,
    "use": _use,
    "propose": _propose,
    "nothing": _nothing,
    "cuts": _cuts,
    "by-hand": _by_hand,
    "upload": _upload,
    **trees.ACTIONS,
}

ROOM = Room(
    "hierarchies",
    "Hierarchies",
    "What is published in place of a value: in steps, from exact to hidden.",
    _page,
    _ACTIONS,
    {"csv": _csv},
)
