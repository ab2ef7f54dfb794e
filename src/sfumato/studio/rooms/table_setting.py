"""What a table shows, which of its cells are sensitive, and how they are protected."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ...declaration import Declaration
from ...errors import ParameterError, UnknownName
from ...registry import Entry, entries, find
from ...release.plan.editing import edited
from ...release.plan.table import TablePlan
from ...release.report.parts import Markup, clipped, count, join, listed, tag
from .. import forms
from ..asked import Asked
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
    notice,
    select,
    work,
)

_OWN = ("dimensions", "value", "rules", "protect", "cells", "relations")
"""Words of [table] that have forms of their own, or are for cells that came as a file."""
_MORE = tuple(name for name in TablePlan.model_fields if name not in _OWN)
DEFAULT = "modular-suppression"
HIDES = "cells are hidden"


def table_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The [table] of a plan; words that cannot be meant are left out, the plan's problems tell."""
    given = document.get("table")
    table = dict(given) if isinstance(given, dict) else {}
    for key in ("dimensions", "rules"):
        if not isinstance(table.get(key), list):
            table.pop(key, None)
    if not isinstance(table.get("protect"), str | dict):
        table.pop("protect", None)
    return table


def sentence(table: Mapping[str, Any]) -> str:
    """What a table shows, in words."""
    shown = table.get("dimensions") or ()
    linked = [one for one in shown if isinstance(one, list)]
    value = str(table.get("value", ""))
    what = f"{clipped(value, 60)}, added up" if value else "records, counted"
    if table.get("cells"):
        return f"the cells of {clipped(table['cells'], 60)}"
    if linked:
        tables = "; ".join(listed([*map(str, one)]) for one in linked)
        return f"{what}, in {count(len(linked), 'linked table')}: {tables}"
    return f"{what}, by {listed([*map(str, shown)])}" if shown else what


def page(asked: Asked, document: Mapping[str, Any]) -> Markup:
    """The leaf."""
    table = table_of(document)
    return join(
        (
            _shown(asked, table),
            tag("h2", "Which cells are sensitive"),
            _rules(asked, table),
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
        job = asked.desk.last("columns")
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
    job = asked.desk.last("columns")
    if job is None or job.state != "done" or not job.of(job.asked.get("text", ""), asked.desk.path):
        return None
    return [(str(n), str(kind), int(many)) for n, kind, many in job.result.get("columns", ())]


def _runs(job: Any) -> bool:
    return job is not None and job.state == "running"


def _look(asked: Asked) -> None:
    asked.desk.start("columns", "Looking at the columns of the file")


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


# --- which cells are sensitive ---


def _listed_rules(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules as tables, however the plan writes them."""
    given = table.get("rules") or []
    return [dict(one) if isinstance(one, dict) else {"use": str(one)} for one in given]


def _rules(asked: Asked, table: Mapping[str, Any]) -> Markup:
    cards = [_rule(asked, i, words) for i, words in enumerate(_listed_rules(table))]
    none = notice(
        "There is no rule: only cells that are said to be sensitive will be protected. "
        "Add one: minimum-frequency is the usual one for counts, p-percent for amounts.",
        look="bad",
    )
    options = [(one.name, f"{one.name}: {one.summary}") for one in entries("rule")]
    add = form(
        asked,
        "tables/add",
        field("Another rule", select("use", options, id="new-rule"), id="new-rule"),
        button("Add it"),
    )
    about = tag(
        "p",
        "A cell is sensitive if any of these rules says so. Their figures stay private.",
        class_="small",
    )
    shown = tag("div", *cards, class_="grid") if cards else none
    return join((about, shown, card(add)))


def _rule(asked: Asked, i: int, words: Mapping[str, Any]) -> Markup:
    use = str(words.get("use", ""))
    remove = form(
        asked,
        "tables/remove",
        hidden("rule", i),
        button("Remove", look="quiet", aria_label=f"Remove rule {i + 1}, {clipped(use, 40)}"),
        class_="inline",
    )
    try:
        entry = find(use, "rule")
    except UnknownName as error:
        return card(tag("h3", clipped(use, 60)), notice(str(error), look="bad"), remove)
    given = {key: value for key, value in words.items() if key != "use"}
    change = form(
        asked,
        "tables/rule",
        hidden("rule", i),
        forms.fields(entry.load(), given, f"rule{i}"),
        button("Keep", aria_label=f"Keep rule {i + 1}, {use}"),
        auto=True,
        id=f"rule-{i}",
    )
    return card(tag("h3", entry.name), tag("p", entry.summary, class_="small"), change, remove)


def _number(asked: Asked, rules: Sequence[Any]) -> int:
    text = asked.one("rule")
    if not text.isdecimal() or int(text) >= len(rules):
        raise ParameterError("there is no such rule any more", remedy="look at the page again")
    return int(text)


def now(text: str) -> dict[str, Any]:
    return table_of(tomllib.loads(text))


def _change_rule(asked: Asked) -> None:
    rules = _listed_rules(now(asked.desk.text))
    i = _number(asked, rules)
    use = str(rules[i].get("use", ""))
    cls = find(use, "rule").load()
    kept = forms.words(cls, asked, f"rule{i}")
    path = ("table", "rules", i)

    def change(text: str) -> str:
        if not isinstance(now(text)["rules"][i], dict):
            told = [*rules[:i], {"use": use, **kept}, *rules[i + 1 :]]
            return edited(text, ("table", "rules"), told)
        return set_words(text, path, rules[i], kept, cls)

    asked.desk.edit(f"the rule {use}", change, asked.seen)


def set_words(
    text: str,
    path: tuple[str | int, ...],
    given: Mapping[str, Any],
    words: Mapping[str, Any],
    cls: type[Declaration],
) -> str:
    """The text with these words in place of those that a declaration has there."""
    written = {key.replace("_", "-"): key for key in given}
    for name in cls.model_fields:
        plain = name.replace("_", "-")
        key = written.get(plain, plain)
        if given.get(key) != words.get(plain):
            text = edited(text, (*path, key), words.get(plain))
    return text


def _add(asked: Asked) -> None:
    use = find(asked.one("use"), "rule").name
    rules = _listed_rules(now(asked.desk.text))
    asked.desk.edit(
        f"one more rule: {use}",
        lambda text: edited(text, ("table", "rules"), [*rules, {"use": use}]),
        asked.seen,
    )


def _remove(asked: Asked) -> None:
    rules = _listed_rules(now(asked.desk.text))
    i = _number(asked, rules)
    rest = [*rules[:i], *rules[i + 1 :]]
    asked.desk.edit(
        f"without the rule {rules[i].get('use', '')}",
        lambda text: edited(text, ("table", "rules"), rest or None),
        asked.seen,
    )


# --- how they are protected ---


def method_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The method with its parameters, however the plan writes it."""
    given = table.get("protect") or DEFAULT
    return {"use": given} if isinstance(given, str) else {"use": DEFAULT, **given}


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
    "add": _add,
    "rule": _change_rule,
    "remove": _remove,
    "method": _take,
    "parameters": _keep_parameters,
    "options": _keep_options,
}
