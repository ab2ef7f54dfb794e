"""What a table shows, and how its sensitive cells are protected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ParameterError, UnknownName
from ...registry import Entry, entries, find
from ...release.plan.editing import edited
from ...release.plan.table import TablePlan
from ...release.report.parts import Markup, clipped, count, join, tag
from .. import forms
from ..asked import Asked
from ..widgets import button, card, checkbox, details, field, form, link, lone, notice, select, work
from . import table_rules
from .table_words import method_of, now, sentence, set_words, table_of

_OWN = ("dimensions", "value", "rules", "protect", "cells", "relations")
"""Words of [table] that have forms of their own, or are for cells that came as a file."""
_MORE = tuple(name for name in TablePlan.model_fields if name not in _OWN)
HIDES = "cells are hidden"


def page(asked: Asked, document: Mapping[str, Any]) -> Markup:
    """The leaf."""
    table = table_of(document)
    return join(
        (
            _shown(asked, table),
            tag("h2", "Which cells are sensitive"),
            table_rules.section(asked, table),
            tag("h2", "How they are protected"),
            _method(asked, table),
            tag("h2", "See what comes of it"),
            trying(asked),
        )
    )


def trying(asked: Asked) -> Markup:
    """The form that protects the table as a trial."""
    running = asked.desk.current("protect")
    if running is not None and running.state == "running":
        return work(asked, running)
    words = "The table is made, protected and audited. Nothing is published yet."
    return form(
        asked,
        "tables/try",
        button("Protect the table", look="first"),
        tag("p", words, class_="hint"),
    )


# --- what is shown ---


def _shown(asked: Asked, table: Mapping[str, Any]) -> Markup:
    told = sentence(table)
    head = tag("p", tag("strong", told[:1].upper() + told[1:]), ".")
    posets = tag(
        "p",
        "Subtotals follow the hierarchies of these columns: ",
        link(asked, "hierarchies", "look at them"),
        ".",
        class_="small",
    )
    return card(tag("h2", "What the table shows"), head, posets, _change(asked, table))


def _change(asked: Asked, table: Mapping[str, Any]) -> Markup:
    dimensions = table.get("dimensions") or []
    if table.get("cells") or any(not isinstance(one, str) for one in dimensions):
        return tag("p", "Change it in the plan's text, at the right.", class_="small")
    known = _known(asked)
    if known is None:
        job = asked.desk.last("table-columns")
        ask = form(asked, "tables/look", button("Choose other columns"))
        return join((work(asked, job), "" if _runs(job) else ask))
    boxes = (
        checkbox(
            "dimension",
            join((clipped(name, 60), tag("span", f" · {count(many, 'value')}", class_="small"))),
            checked=name in dimensions,
            value=name,
            id=f"dimension-{i}",
        )
        for i, (name, _, many) in enumerate(known)
    )
    adds = [name for name, kind, _ in known if kind in ("continuous", "integer")]
    options = [("", "Count the records"), *((name, f"Add up {clipped(name, 60)}") for name in adds)]
    value = str(table.get("value", ""))
    return details(
        "Choose other columns",
        form(
            asked,
            "tables/shape",
            tag("fieldset", tag("legend", "Columns that span the table"), *boxes, class_="spans"),
            field(
                "What its cells tell",
                select("value", options, value, id="table-value"),
                id="table-value",
            ),
            button("Take these"),
        ),
        id="other-columns",
    )


def _known(asked: Asked) -> list[tuple[str, str, int]] | None:
    """The columns of the file, where somebody looked."""
    job = asked.desk.last("table-columns")
    if job is None or job.state != "done" or not job.of(job.asked.get("text", ""), asked.desk.path):
        return None
    return [(str(n), str(kind), int(many)) for n, kind, many in job.result.get("columns", ())]


def _runs(job: Any) -> bool:
    return job is not None and job.state == "running"


def _look(asked: Asked) -> None:
    asked.desk.start("table-columns", "Looking at the columns of the file")


def _shape(asked: Asked) -> None:
    known = {name for name, _, _ in _known(asked) or ()}
    chosen = [name for name in asked.many("dimension") if name in known]
    value = asked.one("value")
    if not chosen:
        raise ParameterError("no column was chosen", remedy="tick one or more that span the table")
    if value in chosen:
        raise ParameterError(
            f"{clipped(value, 60)} cannot both span the table and be added up",
            remedy="take it once",
        )

    def change(text: str) -> str:
        text = edited(text, ("table", "dimensions"), chosen)
        return edited(text, ("table", "value"), value if value in known else None)

    asked.desk.edit("what the table shows", change, asked.seen)


# --- how they are protected ---


def kind_of(entry: Entry) -> str:
    """What readers find, in a few words."""
    cls = entry.load()
    adds = "totals add up" if cls.keeps_totals else "totals no longer add up"
    return f"{cls.shows}; {adds}" if cls.shows != HIDES else HIDES


def _method(asked: Asked, table: Mapping[str, Any]) -> Markup:
    words = method_of(table)
    taken = str(words["use"])

    def choice(i: int, entry: Entry) -> Markup:
        chosen = {"checked": ""} if entry.name == taken else {}
        own = {"type": "radio", "name": "use", "value": entry.name, "id": f"method-{i}"}
        label = tag(
            "label",
            tag("strong", entry.name),
            tag("span", f" {entry.summary} ", class_="small"),
            tag("span", kind_of(entry), class_="tagged"),
            for_=f"method-{i}",
        )
        return tag("span", lone("input", **own, **chosen), label, class_="check")

    choices = tag(
        "fieldset",
        tag("legend", "Method"),
        *(choice(i, entry) for i, entry in enumerate(entries("table-method"))),
    )
    more = tag(
        "p",
        "Not sure? ",
        link(asked, "tables?show=methods", "Compare them on this table"),
        ".",
        class_="small",
    )
    choose = form(asked, "tables/method", choices, button("Take it"), auto=True, id="choose-method")
    return card(choose, more, _parameters(asked, words), _options(asked, table))


def _parameters(asked: Asked, words: Mapping[str, Any]) -> Markup:
    use = str(words["use"])
    try:
        cls = find(use, "table-method").load()
    except UnknownName as error:
        return notice(str(error), look="bad")
    given = {key: value for key, value in words.items() if key != "use"}
    inside = forms.fields(cls, given, "method")
    if not inside:
        return Markup("")
    return details(
        f"Parameters of {use}",
        form(
            asked,
            "tables/parameters",
            tag("div", inside, class_="options"),
            button("Keep these"),
            id="method-parameters",
        ),
        open=bool(given),
        id="about-method",
    )


def _options(asked: Asked, table: Mapping[str, Any]) -> Markup:
    given = {key: value for key, value in table.items() if key.replace("-", "_") in _MORE}
    return details(
        "What an attacker knows, what hiding costs, and the audit",
        form(
            asked,
            "tables/options",
            tag("div", forms.fields(TablePlan, given, "table", only=_MORE), class_="options"),
            button("Keep these"),
            id="table-options",
        ),
        open=bool(given),
        id="about-table",
    )


def _take(asked: Asked) -> None:
    use = find(asked.one("use"), "table-method").name
    if use != method_of(now(asked.desk.text))["use"]:
        take(asked, {"use": use})


def take(asked: Asked, words: Mapping[str, Any]) -> None:
    """Make this the method of the plan."""
    asked.desk.edit(
        f"the table by {words['use']}",
        lambda text: edited(text, ("table", "protect"), dict(words)),
        asked.seen,
    )


def _keep_parameters(asked: Asked) -> None:
    words = method_of(now(asked.desk.text))
    cls = find(str(words["use"]), "table-method").load()
    take(asked, {"use": words["use"], **forms.words(cls, asked, "method")})


def _keep_options(asked: Asked) -> None:
    table = now(asked.desk.text)
    kept = forms.words(TablePlan, asked, "table")
    rest = {key: value for key, value in table.items() if key.replace("-", "_") not in _MORE}

    def change(text: str) -> str:
        return set_words(text, ("table",), table, kept | _plain(rest), TablePlan)

    asked.desk.edit("how the table is protected", change, asked.seen)


def _plain(words: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "-"): value for key, value in words.items()}


ACTIONS = {
    "look": _look,
    "shape": _shape,
    **table_rules.ACTIONS,
    "method": _take,
    "parameters": _keep_parameters,
    "options": _keep_options,
}
