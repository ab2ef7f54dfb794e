"""Which cells of a table are sensitive: its rules as forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ParameterError, UnknownName
from ...registry import entries, find
from ...release.plan.editing import edited
from ...release.report.parts import Markup, clipped, join, tag
from .. import forms
from ..asked import Asked
from ..widgets import button, card, field, form, hidden, notice, select
from .table_words import listed_rules, now, set_words


def section(asked: Asked, table: Mapping[str, Any]) -> Markup:
    """The rules, each with its parameters, and one more."""
    cards = [_rule(asked, i, words) for i, words in enumerate(listed_rules(table))]
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


def _change_rule(asked: Asked) -> None:
    rules = listed_rules(now(asked.desk.text))
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


def _add(asked: Asked) -> None:
    use = find(asked.one("use"), "rule").name
    rules = listed_rules(now(asked.desk.text))
    asked.desk.edit(
        f"one more rule: {use}",
        lambda text: edited(text, ("table", "rules"), [*rules, {"use": use}]),
        asked.seen,
    )


def _remove(asked: Asked) -> None:
    rules = listed_rules(now(asked.desk.text))
    i = _number(asked, rules)
    rest = [*rules[:i], *rules[i + 1 :]]
    asked.desk.edit(
        f"without the rule {rules[i].get('use', '')}",
        lambda text: edited(text, ("table", "rules"), rest or None),
        asked.seen,
    )


ACTIONS = {"add": _add, "rule": _change_rule, "remove": _remove}
