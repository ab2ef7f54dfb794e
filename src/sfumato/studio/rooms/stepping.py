"""What is done: the steps of the plan as cards, and every method that may be one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...candidate import FAMILIES
from ...errors import InputError
from ...registry import Entry, entries
from ...release.plan.editing import edited, inserted, moved_step, removed_step
from ...release.plan.facts import facts, taking
from ...release.report.parts import Markup, clipped, join, tag
from .. import forms
from ..asked import Asked
from ..widgets import button, card, details, field, form, hidden, link, notice, select, text_field
from . import planned
from .planned import DONE

_ALWAYS = ("columns", "k", "share")
"""Parameters that are shown at once, beside those that a method cannot do without."""


def shown(asked: Asked) -> Markup:
    """The part of the page."""
    found = planned.steps(asked.desk)
    cards = [tag("li", _card(asked, i, one, len(found))) for i, one in enumerate(found)]
    none = notice(
        "Nothing is done to the records yet: they would be published as they are."
    ) if not cards else ""  # fmt: skip
    which = link(asked, "protect?pick=method", "Which method?", class_="button")
    every = link(asked, "protect?pick=step", "All methods", class_="button")
    return tag(
        "section",
        tag("h2", "What is done", id="what-is-done"),
        tag("p", "The records go through these steps, one after the other."),
        none,
        tag("ol", *cards, class_="steps") if cards else "",
        tag("p", which, " ", every, class_="row"),
        aria_labelledby="what-is-done",
    )


# --- cards ---


def _card(asked: Asked, number: int, words: Mapping[str, Any], many: int) -> Markup:
    name = str(words.get("use", ""))
    found = planned.entry(name, *DONE)
    title = f"{number + 1}. {clipped(name, 60) or 'a step without a method'}"
    if found is None:
        why = "Nothing that a step can use has this name; the plan cannot run with it."
        return card(tag("h3", title), notice(why, look="bad"), _deeds(asked, number, name, many))
    told = tag("p", found.summary)
    if found.when:
        told = join((told, tag("p", f"Take it when {found.when}.", class_="small")))
    more = link(asked, f"protect?explain={found.name}", f"More about {found.name}")
    return card(
        tag("h3", title),
        told,
        form(
            asked,
            "protect/step",
            hidden("number", number),
            hidden("name", found.name),
            _fields(asked, found, f"step-{number}", _parameters(words), words.get("then")),
            button("Keep this"),
            auto=True,
            id=f"step-{number}-form",
        ),
        tag("p", more, class_="small"),
        _deeds(asked, number, name, many),
    )


def _parameters(words: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in words.items() if key not in ("use", "then")}


def _deeds(asked: Asked, number: int, name: str, many: int) -> Markup:
    whose = f"step {number + 1}, {clipped(name, 60)}"

    def deed(action: str, words: str, **more: str) -> Markup:
        return form(
            asked, f"protect/{action}", hidden("number", number),
            button(words, look="quiet", aria_label=f"{words}: {whose}", **more), class_="inline",
        )  # fmt: skip

    up = deed("step-up", "Move up", **({} if number else {"disabled": ""}))
    down = deed("step-down", "Move down", **({"disabled": ""} if number == many - 1 else {}))
    return tag("div", up, down, deed("unstep", "Remove"), class_="row")


def _common(entry: Entry, words: Iterable[str]) -> list[str]:
    """The parameters that one sets first."""
    cls = entry.load()
    candidate = vars(cls).get("candidate")
    told = {key for one in (candidate.ladder if candidate else ()) for key in one}
    told |= {*words, *cls.example, *_ALWAYS}
    told |= {name for name, about in cls.model_fields.items() if about.is_required()}
    plain = {key.replace("-", "_") for key in told}
    return [name for name in forms.parameters(cls) if name in plain]


def _fields(asked: Asked, entry: Entry, prefix: str, words: Mapping[str, Any], then: Any) -> Markup:
    cls, names = entry.load(), planned.columns(asked.desk)
    first = _common(entry, words)
    rest = [name for name in forms.parameters(cls) if name not in first]
    parts = [
        forms.fields(cls, words, prefix, columns=names, only=[n for n in first if n != "columns"]),
        tag("p", _acts_on(cls), class_="small") if "columns" in first else "",
        forms.fields(cls, words, prefix, columns=names, only=["columns"]),
    ]
    if entry.kind == "partitioner":
        parts.append(_then(cls, prefix, then))
    if rest:
        folded = forms.fields(cls, words, prefix, columns=names, only=rest)
        many = f"{len(rest)} more setting{'s'[: len(rest) != 1]}"
        parts.append(details(many, folded, id=f"{prefix}-more"))
    return join(parts)


def _acts_on(cls: Any) -> str:
    kinds = f" that are {', '.join(cls.kinds)}" if cls.kinds else ""
    return f"It acts on {' and '.join(cls.roles)} columns{kinds}, unless you choose some."


def _then(cls: Any, prefix: str, then: Any) -> Markup:
    """What is done to the groups of a search."""
    name, given = _verb(cls, then)
    options = [(one.name, f"{one.name}: {one.summary}") for one in entries("verb")]
    if name not in dict(options):
        options.insert(0, (name, clipped(name, 60)))
    chosen = select(f"{prefix}.then", options, name, id=f"{prefix}-then")
    found = planned.entry(name, "verb")
    inside = Markup("") if found is None else forms.fields(found.load(), given, f"{prefix}.verb")
    return join(
        (
            field("What is then done to each group", chosen, id=f"{prefix}-then"),
            hidden(f"{prefix}.was", name),
            details(f"Settings of {clipped(name, 60)}", inside, id=f"{prefix}-verb")
            if inside
            else "",
        )
    )


def _verb(cls: Any, then: Any) -> tuple[str, dict[str, Any]]:
    """Its name and its parameters, whichever way the plan writes them."""
    if isinstance(then, Mapping):
        given = {key: value for key, value in then.items() if key != "use"}
        return str(then.get("use", cls.default_verb)), given
    return str(then or cls.default_verb), {}


# --- deeds ---


def _words(asked: Asked, entry: Entry, prefix: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """A step as the form says it."""
    cls = entry.load()
    found: dict[str, Any] = {"use": entry.name}
    found |= forms.words(cls, asked, prefix, _parameters(before))
    if entry.kind != "partitioner":
        return found
    name, given = _verb(cls, before.get("then"))
    chosen = asked.one(f"{prefix}.then") or name
    if chosen == asked.one(f"{prefix}.was"):
        verb = planned.known(chosen, "verb")
        own = forms.words(verb.load(), asked, f"{prefix}.verb", given if chosen == name else {})
    else:  # another one begins with its own defaults
        planned.known(chosen, "verb")
        own = {}
    if own:
        found["then"] = {"use": chosen, **own}
    elif chosen != cls.default_verb:
        found["then"] = chosen
    return found


def _number(asked: Asked) -> int:
    return planned.number(asked.one("number"), len(planned.steps(asked.desk)))


def keep(asked: Asked) -> None:
    """A step with other words; what does not change keeps its line and its comment."""
    number = _number(asked)
    before = planned.steps(asked.desk)[number]
    entry = planned.known(before.get("use"), *DONE)
    if asked.one("name") != entry.name:
        raise InputError("the steps were changed meanwhile", remedy="look at them again")
    after = _words(asked, entry, f"step-{number}", before)
    after["use"] = before["use"]
    plain = {key.replace("_", "-"): key for key in before}

    def change(text: str) -> str:
        for key in before:
            if key.replace("_", "-") not in after:
                text = edited(text, ("steps", number, key), None)
        for key, value in after.items():
            written = plain.get(key, key)
            if before.get(written) != value:
                text = edited(text, ("steps", number, written), value)
        return text

    asked.desk.edit(f"step {number + 1}, {entry.name}", change, asked.seen)


def remove(asked: Asked) -> None:
    """A step less."""
    number = _number(asked)
    what = f"step {number + 1} removed"
    asked.desk.edit(what, lambda text: removed_step(text, number), asked.seen)


def up(asked: Asked) -> None:
    """A step one place earlier."""
    _move(asked, -1)


def down(asked: Asked) -> None:
    """A step one place later."""
    _move(asked, 1)


def _move(asked: Asked, by: int) -> None:
    number = _number(asked)
    to = number + by
    if 0 <= to < len(planned.steps(asked.desk)):
        what = f"step {number + 1} moved {'up' if by < 0 else 'down'}"
        asked.desk.edit(what, lambda text: moved_step(text, number, to), asked.seen)


def take(asked: Asked) -> str:
    """A method as a new step, or in the place of one."""
    entry = planned.known(asked.one("name"), *DONE)
    words = _words(asked, entry, "new", {})
    found = planned.steps(asked.desk)
    place = asked.one("place")
    if place == "end":
        at = len(found)
        what = f"{entry.name} as step {at + 1}"
        asked.desk.edit(what, lambda text: inserted(text, at, words), asked.seen)
    else:
        at = planned.number(place, len(found))
        what = f"{entry.name} in the place of step {at + 1}"
        asked.desk.edit(what, lambda text: inserted(removed_step(text, at), at, words), asked.seen)
    return "protect#what-is-done"


# --- which one ---


def pick(asked: Asked) -> Markup:
    """Every method and search: what each is for first, then all by name."""
    listed = [one for kind in DONE for one in entries(kind)]
    families = [
        join(
            (
                tag("h3", f"{does[0].upper()}{does[1:]}"),
                _items(asked, [one for one in listed if one.family == family], when=True),
            )
        )
        for family, does in FAMILIES.items()
    ]
    rest = [one for one in listed if not one.family]
    box = text_field("filter", "", type="search", id="filter", data_narrow="#pick .pickable",
                     autocomplete="off")  # fmt: skip
    which = link(asked, "protect?pick=method", "let the adviser try what may suit")
    return join(
        (
            tag("p", link(asked, "protect", "Back to the plan")),
            tag("h2", "What shall be done to the records?"),
            tag("p", "Beside each name stands when to take it. If you do not know, ", which, "."),
            field("Find by typing", box, id="filter"),
            tag("div", *families, tag("h3", "All others"), _items(asked, rest), id="pick"),
        )
    )


def _items(asked: Asked, found: Sequence[Entry], *, when: bool = False) -> Markup:
    def item(one: Entry) -> Markup:
        also = f" (also {', '.join(one.aliases)})" if one.aliases else ""
        told = f"when {one.when}" if when else one.summary
        inside = (link(asked, f"protect?explain={one.name}", one.name), " ", f"{told}{also}")
        hint = tag("span", f" {one.summary}", class_="small") if when else ""
        return tag("li", *inside, hint, class_="pickable")

    return tag("ul", *map(item, found), class_="picks")


def one(asked: Asked, name: str) -> Markup:
    """One of them: what it is, its form, and where it goes."""
    entry = planned.known(name, *DONE)
    found = planned.steps(asked.desk)
    places = [
        *((str(i), f"in the place of step {i + 1}, {clipped(s.get('use', ''), 60)}")
          for i, s in enumerate(found)),
        ("end", "as one more step, the last"),
    ]  # fmt: skip
    names = [planned.entry(s.get("use", ""), *DONE) for s in found]
    last = [i for i, one in enumerate(names) if one is not None and one.family]
    usual = str(last[-1]) if entry.family and last else "end"
    place = select("place", places, usual, id="place")
    return join(
        (
            tag("p", link(asked, "protect?pick=step", "Back to the list")),
            tag("h2", entry.name),
            explained(entry),
            card(
                tag("h3", f"Take {entry.name}"),
                form(
                    asked,
                    "protect/take",
                    hidden("name", entry.name),
                    _fields(asked, entry, "new", {}, None),
                    field("Where", place, id="place"),
                    button(f"Take {entry.name}", look="first"),
                    id="take",
                ),
            ),
        )
    )


def explained(entry: Entry) -> Markup:
    """All that `sfumato explain` tells of a thing, but for its parameters, which the form has:
    when to take it, and how it works, which few read."""
    found = facts(entry)
    first, _, rest = found["about"].partition("\n\n")
    told = (
        [tag("li", sentence) for sentence in taking(found["candidate"])]
        if found["candidate"]
        else []
    )
    parts = [
        tag("p", first),
        tag("ul", *told) if told else "",
        tag("p", f"Acts on {found['acts_on']}.", class_="small") if found["acts_on"] else "",
        details("How it works", *prose(rest), id="how-it-works") if rest.strip() else "",
        tag("p", f"Paper: {found['paper']}", class_="small") if found["paper"] else "",
        details("In a plan", tag("pre", found["example"].rstrip()), id="in-a-plan"),
    ]
    return card(*parts)


def prose(text: str) -> list[Markup]:
    """The paragraphs and lists of a docstring.

    >>> print(*prose("By `k`:\\n\\n- one, which\\n  is long;\\n- two."))
    <p>By <code>k</code>:</p> <ul><li>one, which is long;</li><li>two.</li></ul>
    """
    shown = []
    for part in filter(None, (one.strip() for one in text.split("\n\n"))):
        if part.startswith("- "):
            items = re.split(r"(?:^|\s)- (?=\S)", part)[1:]
            shown.append(tag("ul", *(tag("li", _coded(one)) for one in items)))
        else:
            shown.append(tag("p", _coded(part)))
    return shown


def _coded(text: str) -> Markup:
    """Text with what stands in backticks as code."""
    parts = " ".join(text.split()).split("`")
    return join(tag("code", one) if i % 2 else one for i, one in enumerate(parts))
