"""What must hold: the requirements of the plan as cards, and what may be required besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError, ParameterError
from ...protocols import Criterion, Measure
from ...registry import Entry, entries
from ...release.plan.editing import edited
from ...release.plan.requirement import EXPOSURE, KNOWN_TO, parse_requirement
from ...release.report.parts import Markup, clipped, join, tag
from ...release.report.words import words as presented
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
    notice,
    text_field,
)
from . import planned
from .planned import REQUIRED, Required

WITHSTAND = "withstand"
_WAYS = {"at-most": "at most", "at-least": "at least"}


def shown(asked: Asked) -> Markup:
    """The part of the page."""
    found = planned.requirements(asked.desk)
    cards = [_card(asked, i, one) for i, one in enumerate(found)]
    more = link(asked, "protect?pick=requirement", "Require something more", class_="button")
    intro = (
        "Whatever stands here is counted again on the very file that would be published. Where one "
        "of it does not hold, nothing is written."
    )
    none = "" if found else tag(
        "p", "Nothing else is required yet. k-anonymity is where most begin.", class_="small"
    )  # fmt: skip
    return tag(
        "section",
        tag("h2", "What must hold", id="must-hold"),
        tag("p", intro),
        tag("div", _exposure(asked), *cards, class_="grid wide-cards"),
        none,
        tag("p", more),
        aria_labelledby="must-hold",
    )


# --- the check that is always there ---


def _exposure(asked: Asked) -> Markup:
    raw = planned.section(asked.desk, "require")
    given = raw.get(EXPOSURE)
    off = given is False
    words = {_way(key): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    if isinstance(given, int | float) and not isinstance(given, bool):
        words = {"at-most": given}
    cls = planned.known(EXPOSURE, "measure").load()
    known_to = raw.get(KNOWN_TO, raw.get(KNOWN_TO.replace("-", "_"), ()))
    about = presented(EXPOSURE).meaning
    inside = (
        _limit("exposure", "at-most", words.get("at-most"), cls.limit),
        details(
            "What the check should know besides",
            forms.fields(cls, words, "exposure", but=["known_to"]),
            _known_to(asked, known_to),
            checkbox(
                "off",
                "Publish without this check; the report says so in red",
                checked=off,
                id="exposure-off",
            ),
            id="exposure-more",
            open=off,
        ),
        button("Keep this"),
    )
    state = notice("The check is switched off in this plan.", look="bad") if off else ""
    return card(
        tag("h3", "Exposure check ", tag("span", "always there", class_="tagged good")),
        tag("p", about),
        tag("p", "It also refuses columns that name people, and those that give back what was "
                 "masked in another.", class_="small"),
        state,
        form(asked, "protect/exposure", *inside, auto=True, id="exposure-form"),
    )  # fmt: skip


def _known_to(asked: Asked, given: Any) -> Markup:
    names = planned.columns(asked.desk)
    chosen = [given] if isinstance(given, str) else [*map(str, given or ())]
    boxes = (
        checkbox(KNOWN_TO, clipped(n, 60), checked=n in chosen, value=n, id=f"known-to-{i}")
        for i, n in enumerate(dict.fromkeys([*names, *chosen]))
    )
    legend = tag("legend", "Confidential columns that others may know all the same")
    return tag("fieldset", legend, *boxes, class_="boxes")


def keep_exposure(asked: Asked) -> None:
    """What is said of the exposure check."""
    cls = planned.known(EXPOSURE, "measure").load()
    raw = planned.section(asked.desk, "require").get(EXPOSURE)
    given = raw if isinstance(raw, Mapping) else {}
    given = {key: value for key, value in given.items() if _way(key) not in _WAYS}
    limit = _read_limit(asked, "exposure")
    words = forms.words(cls, asked, "exposure", given)
    value: Any = {**({} if limit is None else {"at-most": limit}), **words} or None
    if value is not None and limit is None:
        value = {"at-most": cls.limit, **words}
    if asked.one("off"):
        value = False
    names = [name for name in asked.many(KNOWN_TO) if name]

    def change(text: str) -> str:
        text = edited(text, ("require", EXPOSURE), value)
        return edited(text, ("require", KNOWN_TO), names or None)

    asked.desk.edit("the exposure check", change, asked.seen)


# --- cards ---


def _card(asked: Asked, number: int, one: Required) -> Markup:
    found = planned.entry(one.name, *REQUIRED)
    prefix = f"require-{number}"
    gone = form(
        asked,
        "protect/unrequire",
        hidden("number", number),
        button("Remove", look="quiet", aria_label=f"Remove {clipped(one.name, 60)}"),
        class_="inline",
    )
    if found is None:
        words = "Nothing of this name can be required; the plan cannot run with it."
        return card(tag("h3", clipped(one.name, 80)), notice(words, look="bad"), gone)
    fields = _fields(asked, found, prefix, *_understood(found, one.words))
    return card(
        tag("h3", found.name, " ", _kind(found)),
        tag("p", meaning(found)),
        form(
            asked, "protect/require", hidden("number", number), fields, button("Keep this"),
            auto=True, id=f"{prefix}-form",
        ) if fields else "",
        gone,
    )  # fmt: skip


def _kind(entry: Entry) -> Markup:
    words = {"measure": "limit on a figure", "attack": "limit on an attack"}
    return tag("span", words.get(entry.kind, "criterion"), class_="tagged")


def meaning(entry: Entry) -> str:
    """What it is, in plain words."""
    return entry.summary if entry.kind == "criterion" else presented(entry.name).meaning


def _understood(entry: Entry, raw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and limits, whichever way the plan writes them."""
    cls = entry.load()
    measure = issubclass(cls, Measure)
    if not isinstance(raw, Mapping):
        if not measure:
            short = cls.shorthand.replace("_", "-")
            return ({short: raw} if short else {}), {}
        way = _own_way(cls)
        return {}, {way: cls.limit if raw is True else raw}
    plain = {_way(key): value for key, value in raw.items()}
    if not measure:
        return plain, {}
    limits = {key: plain.pop(key) for key in _WAYS if key in plain}
    return plain, limits


def _way(key: str) -> str:
    return key.replace("_", "-")


def _own_way(cls: type[Measure]) -> str:
    return "at-most" if cls.direction == "lower" else "at-least"


def _fields(
    asked: Asked, entry: Entry, prefix: str, words: Mapping[str, Any], limits: Mapping[str, Any]
) -> Markup:
    """The form of a requirement: what one sets first, and the rest folded."""
    cls, names = entry.load(), planned.columns(asked.desk)
    parts: list[Markup] = []
    if issubclass(cls, Measure):
        way = next(iter(limits), _own_way(cls))
        parts.append(_limit(prefix, way, limits.get(way), cls.limit))
        first: set[str] = {"columns", "column"} & {*cls.model_fields}
    else:
        required = {name for name, about in cls.model_fields.items() if about.is_required()}
        told = {key.replace("-", "_") for key in (*words, *cls.example)}
        first = required | (told & {*cls.model_fields}) | ({"column"} & {*cls.model_fields})
        first |= {cls.shorthand} - {""}
    rest = [name for name in forms.parameters(cls) if name not in first]
    parts.append(forms.fields(cls, words, prefix, columns=names, only=first))
    if rest:
        folded = forms.fields(cls, words, prefix, columns=names, only=rest)
        parts.append(details("More", folded, id=f"{prefix}-more"))
    return join(parts)


def _limit(prefix: str, way: str, value: Any, default: float | None) -> Markup:
    told = {} if default is None else {"placeholder": f"{default:g}"}
    need = {"required": ""} if default is None else {}
    number = text_field(
        f"{prefix}.limit", "" if value is None else value, type="number", step="any",
        id=f"{prefix}-limit", **told, **need,
    )  # fmt: skip
    label = {"at-most": "At most", "at-least": "At least"}[way]
    hint = "As a share: 0.05 is 5 %." if default is not None and default <= 1 else ""
    return join((hidden(f"{prefix}.way", way), field(label, number, hint, id=f"{prefix}-limit")))


def _read_limit(asked: Asked, prefix: str) -> float | int | None:
    text = asked.one(f"{prefix}.limit").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not a number", remedy="a limit such as 0.05") from None
    return int(text) if text.lstrip("+-").isdecimal() else number


# --- deeds ---


def _value(asked: Asked, entry: Entry, prefix: str, given: Mapping[str, Any]) -> Any:
    """What the form says, as `[require]` writes it."""
    cls = entry.load()
    words = forms.words(cls, asked, prefix, given)
    if issubclass(cls, Measure):
        way = asked.one(f"{prefix}.way") or _own_way(cls)
        limit = _read_limit(asked, prefix)
        if way not in _WAYS:
            raise InputError(f"a limit is at most or at least something, not {way!r}")
        if limit is None and cls.limit is None:
            raise ParameterError(f"{entry.name} needs a limit", remedy="a number")
        value: Any = {way: cls.limit if limit is None else limit, **words}
    else:
        short = cls.shorthand.replace("_", "-") if issubclass(cls, Criterion) else ""
        value = words[short] if short and {*words} == {short} else words
    _, wrong = parse_requirement(entry.name, value)
    if wrong:
        raise ParameterError("; ".join(map(str, wrong)))
    return value


def _listed(asked: Asked, name: str) -> list[Any]:
    raw = planned.section(asked.desk, "require").get(name)
    return [*raw] if isinstance(raw, list) else [] if raw is None else [raw]


def _put(asked: Asked, name: str, values: list[Any], what: str) -> None:
    value = None if not values else values[0] if len(values) == 1 else values
    asked.desk.edit(what, lambda text: edited(text, ("require", name), value), asked.seen)


def _one(asked: Asked) -> tuple[int, Required]:
    found = planned.requirements(asked.desk)
    number = planned.number(asked.one("number"), len(found))
    return number, found[number]


def keep(asked: Asked) -> None:
    """A requirement with other words."""
    number, one = _one(asked)
    entry = planned.known(one.name, *REQUIRED)
    value = _value(asked, entry, f"require-{number}", _understood(entry, one.words)[0])
    values = _listed(asked, one.name)
    values[one.at or 0] = value
    _put(asked, one.name, values, f"{entry.name}, which must hold")


def remove(asked: Asked) -> None:
    """A requirement less."""
    _, one = _one(asked)
    values = _listed(asked, one.name)
    del values[one.at or 0]
    _put(asked, one.name, values, f"{clipped(one.name, 60)} need not hold any more")


def add(asked: Asked) -> str:
    """One more."""
    entry = planned.known(asked.one("name"), *REQUIRED)
    if entry.name == EXPOSURE:
        raise InputError("the exposure check is there already", remedy="change it on its card")
    value = _value(asked, entry, "new", {})
    values = _listed(asked, entry.name)
    _put(asked, entry.name, [*values, value], f"{entry.name} must hold")
    return "protect#must-hold"


# --- which one ---


def pick(asked: Asked) -> Markup:
    """What may be required, the criteria first."""
    criteria = list(entries("criterion"))
    rest = [one for kind in ("measure", "attack") for one in entries(kind)
            if one.name not in (EXPOSURE, WITHSTAND)]  # fmt: skip
    tried = planned.known(WITHSTAND, *REQUIRED)
    about = presented(WITHSTAND).meaning
    return join(
        (
            tag("p", link(asked, "protect", "Back to the plan")),
            tag("h2", "What else must hold?"),
            _filter("#pick .pickable"),
            tag(
                "div",
                tag("h3", "Criteria: what every group of records must fulfil"),
                _items(asked, criteria),
                tag("h3", "The red team: every attack is tried before anything is published"),
                _items(asked, [tried], about),
                tag("h3", "A limit on any figure or any single attack"),
                _items(asked, rest),
                id="pick",
            ),
        )
    )


def _filter(selector: str) -> Markup:
    box = text_field("filter", "", type="search", id="filter", data_narrow=selector,
                     autocomplete="off")  # fmt: skip
    return field("Find by typing", box, id="filter")


def _items(asked: Asked, found: list[Entry], about: str = "") -> Markup:
    def item(one: Entry) -> Markup:
        also = f" (also {', '.join(one.aliases)})" if one.aliases else ""
        name = link(asked, f"protect?require={one.name}", one.name)
        return tag("li", name, " ", tag("span", f"{about or one.summary}{also}"),
                   class_="pickable")  # fmt: skip

    return tag("ul", *map(item, found), class_="picks")


def one(asked: Asked, name: str, explained: Markup) -> Markup:
    """One that may be required: what it is, and its form."""
    entry = planned.known(name, *REQUIRED)
    fields = _fields(asked, entry, "new", {}, {})
    return join(
        (
            tag("p", link(asked, "protect?pick=requirement", "Back to the list")),
            tag("h2", f"Require {entry.name}"),
            card(
                tag("p", meaning(entry)),
                form(
                    asked, "protect/add-requirement", hidden("name", entry.name), fields,
                    button("Require it", look="first"), id="add-requirement",
                ),
            ),
            explained,
        )
    )  # fmt: skip
