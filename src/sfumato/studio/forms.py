"""Forms from declarations: every parameter of a method, a criterion or a hierarchy as a field, with
its meaning and its domain from where they are declared, and back to the words of a plan.

A parameter that has a default shows it and may be left empty; secrets are never shown, and stay as
they are.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from ..declaration import Declaration, is_secret
from ..errors import Complaint, ParameterError
from ..registry import entries
from ..release.plan import toml
from ..release.plan.facts import domain
from ..release.report.parts import Markup, clipped, join, tag
from .asked import Asked
from .widgets import checkbox, details, field, lone, select, text_field

_COLUMNS = ("columns", "strata", "known_to", "totals")
"""Parameters that name columns of the table and no more."""
_COLUMN = ("column", "target")
"""Those that name one."""
_THERE = "there"
"""Behind the name of what a browser does not send when nothing is ticked."""


def fields(
    cls: type[Declaration],
    given: Mapping[str, Any],
    prefix: str,
    *,
    columns: Sequence[str] = (),
    only: Iterable[str] | None = None,
    but: Iterable[str] = (),
) -> Markup:
    """The fields of every parameter, of those in `only`, or without those in `but`; `given` are
    the words of the plan."""
    wanted, left = None if only is None else {*only}, {*but}
    named = _plain_names(given)
    shown = []
    for one in _parameters(cls, prefix, columns):
        if (wanted is not None and one.name not in wanted) or one.name in left:
            continue
        value = named.get(one.name)
        control = one.control(value)
        hint = one.hint
        shown.append(
            tag("div", control, tag("p", hint, class_="hint") if hint else "", class_="field")
            if one.boxed
            else field(one.label, control, hint, id=one.id)
        )
    return join(shown)


def parameters(cls: type[Declaration]) -> list[str]:
    """The names of what has a field."""
    return [one.name for one in _parameters(cls, "", ())]


def words(
    cls: type[Declaration], asked: Asked, prefix: str, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What a form says, as the words of a plan: what differs from the defaults, or is written down
    in what is `given`. What has no field on the form stays as it is. An error names every field
    that is wrong."""
    found: dict[str, Any] = {}
    complaints: list[Complaint] = []
    named = _plain_names(given or {})
    there = {one.name: one for one in _parameters(cls, prefix, ()) if one.sent(asked)}
    kept = {name: value for name, value in named.items() if name not in there}
    for name, one in there.items():
        try:
            value = one.read(asked)
        except ValueError as error:
            complaints.append(Complaint(one.label, str(error), one.meaning))
            continue
        said = name in named and _same(value, named[name])  # a default that the plan writes down
        if value is not None and (
            one.required or said or not _same(value, as_written(one.default))
        ):
            found[name.replace("_", "-")] = value
    found = {**{name.replace("_", "-"): value for name, value in kept.items()}, **found}
    complaints += [] if complaints else cls.complaints(found)
    if complaints:
        raise ParameterError(
            "; ".join(f"{c.where}: {c.what}" for c in complaints),
            remedy="; ".join(dict.fromkeys(c.remedy for c in complaints if c.remedy)),
        )
    return found


def _plain_names(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in given.items()}


def _parameters(cls: type[Declaration], prefix: str, columns: Sequence[str]) -> list[_Field]:
    """One for each parameter that may be shown."""
    schema = _schema(cls)
    found = []
    for name, about in cls.model_fields.items():
        if is_secret(cls, name):
            continue
        required = about.is_required()
        found.append(
            _Field(
                f"{prefix}.{name}",
                schema["properties"][name],
                schema.get("$defs", {}),
                columns,
                about.description or "",
                None if required else about.get_default(call_default_factory=True),
                required,
                getattr(about.annotation, "registry_kind", ""),
            )
        )
    return found


@cache
def _schema(cls: type[Declaration]) -> dict[str, Any]:
    return cls.model_json_schema()


def warm() -> None:
    """Load everything that has a form: else the first look at each would wait for its modules."""
    for kind in ("criterion", "partitioner", "verb", "method", "measure", "poset", "attack"):
        for one in entries(kind):
            with suppress(ImportError):  # a plug-in's, or an extra that is not installed
                _schema(one.load())
            time.sleep(0.01)  # pages go first


class _Field:
    """One parameter as a control."""

    def __init__(
        self,
        key: str,
        whole: Mapping[str, Any],
        definitions: Mapping[str, Any],
        columns: Sequence[str],
        meaning: str,
        default: Any,
        required: bool,
        kind: str,
    ) -> None:
        self.key, self.columns, self.meaning, self.default = key, columns, meaning, default
        self.required, self.kind = required, kind
        self.schema, self.optional = _without_null(_resolved(whole, definitions), definitions)
        self.domain = domain(dict(whole), dict(definitions))
        self.name = key.rpartition(".")[2]
        self.label = self.name.replace("_", " ")
        self.id = re.sub(r"[^A-Za-z0-9-]+", "-", key)

    # --- of which shape it is ---

    @property
    def boxed(self) -> bool:
        """Whether it brings its own label."""
        return self._ticked or self._lists

    @property
    def _ticked(self) -> bool:
        return self.schema.get("type") == "boolean" and not self.optional

    @property
    def _lists(self) -> bool:
        return bool(self.columns) and self.name in _COLUMNS and self._of_texts

    @property
    def _of_texts(self) -> bool:
        items = self.schema.get("items", {})
        return self.schema.get("type") == "array" and items.get("type") == "string"

    @property
    def _texts(self) -> bool:
        return self.schema.get("type") == "string" and "format" not in self.schema

    @property
    def _chosen(self) -> list[Any] | None:
        """The values of which it is one."""
        if self.schema.get("type") == "boolean" and self.optional:
            return [True, False]
        if "enum" in self.schema:
            return [*self.schema["enum"]]
        found: list[Any] = []
        for one in self.schema.get("anyOf", ()):
            if "enum" not in one and one.get("type") != "boolean":
                return None
            found += one.get("enum", (True, False))
        return found or None

    @property
    def hint(self) -> str:
        """What it means, and what may be typed."""
        if self._lists and self.name == "columns":
            return ""  # the same of everything that acts on columns
        found = self.meaning + (f" ({self._says})" if self._says else "")
        return f"{found[:1].upper()}{found[1:]}"

    @property
    def _says(self) -> str:
        """What may be typed, where the control does not show it."""
        if self.boxed or self._chosen is not None or self._texts or self.kind:
            return ""
        if self.schema.get("type") in ("integer", "number"):
            return _in_words(self.domain)
        if any("object" in one.values() for one in self.schema.get("items", {}).get("anyOf", ())):
            return 'e.g. [{ use = "t-closeness", at-most = 0.2 }]'
        numbers = self.schema.get("items", {}).get("type") in ("integer", "number")
        listed = "e.g. [1, 2]" if numbers else 'e.g. ["a", "b"]'
        shape = {"array": listed, "object": "e.g. { name = 1 }"}
        typed = shape.get(str(self.schema.get("type")), "")
        return f"{self.domain}; {typed}" if typed else self.domain

    # --- to a page ---

    def control(self, value: Any) -> Markup:
        """The control with the plan's value in it; None where the plan says nothing."""
        if self._ticked:
            on = bool(self.default if value is None else value)
            return join((checkbox(self.key, self.label, checked=on, id=self.id), self._there))
        if self._lists:
            return self._boxes(value)
        need = {"required": ""} if self.required else {}
        if (chosen := self._chosen) is not None:
            return self._select(chosen, value)
        if self.name in _COLUMN and self.columns and self._texts and not isinstance(value, list):
            names = [*self.columns, *([value] if value and value not in self.columns else [])]
            first = "choose a column" if self.required else f"left open{self._usual}"
            options = [("", first), *((name, clipped(name, 60)) for name in names)]
            return select(self.key, options, str(value or ""), id=self.id, **need)
        told = {} if self.default is None else {"placeholder": _short(self.default)}
        told = {} if told.get("placeholder") == "" else told
        kind = self.schema.get("type")
        if kind in ("integer", "number") and (value is None or _is_number(value)):
            least, most = (self.schema.get(key) for key in ("minimum", "maximum"))
            bounds = {} if least is None else {"min": _digits(least)}
            bounds |= {} if most is None else {"max": _digits(most)}
            step = "1" if kind == "integer" else "any"
            shown = "" if value is None else _digits(value)
            return text_field(
                self.key, shown, type="number", id=self.id, step=step, **bounds, **told, **need
            )
        if self.schema.get("format") == "date":
            shown = "" if value is None else str(value)
            return text_field(self.key, shown, type="date", id=self.id, **need)
        shown = "" if value is None else self._typed(value)
        listed = self._named()
        more = {"list": f"{self.id}-names"} if listed else {}
        control = text_field(self.key, shown, id=self.id, **told, **need, **more)
        return join((control, listed))

    def _boxes(self, value: Any) -> Markup:
        chosen = [str(one) for one in ([value] if isinstance(value, str) else value or ())]
        names = [*self.columns, *(name for name in chosen if name not in self.columns)]
        boxes = (
            checkbox(
                self.key, clipped(name, 60), checked=name in chosen, value=name, id=f"{self.id}-{i}"
            )
            for i, name in enumerate(names)
        )
        inside = tag("fieldset", tag("legend", f"{self.label}: which?"), *boxes, class_="boxes")
        shown = ", ".join(clipped(name, 40) for name in chosen[:6]) or (
            "all that suit" if self.name == "columns" else "none"
        )
        if len(chosen) > 6:
            shown += f" and {len(chosen) - 6} more"
        summary = f"{self.label[:1].upper()}{self.label[1:]}: {shown}"
        return join((details(summary, inside, id=f"{self.id}-fold"), self._there))

    def _select(self, chosen: list[Any], value: Any) -> Markup:
        places = _places(chosen)
        options = [(place, _called(one)) for place, one in zip(places, chosen, strict=True)]
        if self.required and value is None:
            options.insert(0, ("", "choose one"))
        elif not self.required and (self.default is None or self.default not in chosen):
            options.insert(0, ("", f"left open{self._usual}"))
        now = self.default if value is None else value
        at = next((places[i] for i, one in enumerate(chosen) if _same(one, now)), "")
        if value is not None and at == "":  # the plan says something else, which stays
            options.insert(0, ("=", clipped(toml.value(value), 60)))
            at = "="
        need = {"required": ""} if self.required else {}
        shown = select(self.key, options, at, id=self.id, **need)
        if at != "=":
            return shown
        said = toml.value(value)
        return join((shown, text_field(f"{self.key}.as", said, type="hidden", id=f"{self.id}-as")))

    @property
    def _usual(self) -> str:
        return "" if self.default in (None, "") else f" ({_short(self.default)})"

    @property
    def _there(self) -> Markup:
        return text_field(f"{self.key}.{_THERE}", "", type="hidden", id=f"{self.id}-there")

    def _named(self) -> Markup:
        """What is registered, where a name of it may be typed."""
        if not self.kind:
            return Markup("")
        kinds = {"measure": ("measure", "attack")}.get(self.kind, (self.kind,))
        names = (lone("option", value=one.name) for kind in kinds for one in entries(kind))
        return tag("datalist", *names, id=f"{self.id}-names")

    def _typed(self, value: Any) -> str:
        """A value as somebody would type it: texts bare, where they are read back as they are."""
        if isinstance(value, str):
            try:
                plain = value == value.strip() and value == self._understood(value)
            except ValueError:
                plain = False
            if plain and value and value.isprintable():
                return value
        return toml.value(value)

    # --- and back ---

    def sent(self, asked: Asked) -> bool:
        """Whether the form had it."""
        return self.key in asked.form or f"{self.key}.{_THERE}" in asked.form

    def read(self, asked: Asked) -> Any:
        """What the form says of it; None where it is left as it is by default."""
        if self._ticked:
            return bool(asked.one(self.key))
        if f"{self.key}.{_THERE}" in asked.form:
            return [one for one in asked.many(self.key) if one] or None
        text = asked.one(self.key)
        if not text.strip():
            return None
        if (chosen := self._chosen) is not None:
            if text == "=":
                return tomllib.loads(f"value = {asked.one(f'{self.key}.as')}")["value"]
            if text in (places := _places(chosen)):
                return chosen[places.index(text)]
            raise ValueError(f"{text!r} is none of {', '.join(map(str, chosen))}")
        return self._understood(text.strip())

    def _understood(self, text: str) -> Any:
        """What was typed."""
        kind = self.schema.get("type")
        if kind == "integer":
            if not re.fullmatch(r"[+-]?\d{1,400}", text):
                raise ValueError(f"{text!r} is not a whole number")
            return int(text)
        if kind == "number":
            try:
                number = float(text)
            except ValueError:
                raise ValueError(f"{text!r} is not a number") from None
            whole = re.fullmatch(r"[+-]?\d{1,15}", text) is not None
            return int(text) if whole else number
        if self.schema.get("format") == "date":
            try:
                return dt.date.fromisoformat(text)
            except ValueError:
                raise ValueError(f"{text!r} is not a date such as 2026-01-31") from None
        if self._texts:
            quoted = len(text) > 1 and text[0] == text[-1] == '"'
            return _toml(text) if quoted else text
        lists = [one for one in (self.schema, *self.schema.get("anyOf", ())) if _is_list(one)]
        only = kind == "array" or all(
            one.get("type") in ("array", "object") for one in self.schema.get("anyOf", ({},))
        )
        found = _read(text, lists=bool(lists) and only)
        if isinstance(found, list) and lists and _items(lists[0]) == "string":
            # Texts may be typed without quotes, also those that look like numbers.
            return [one if isinstance(one, str) else toml.value(one) for one in found]
        return found


def _places(chosen: Sequence[Any]) -> list[str]:
    """What a form says for each of the values: words themselves, else their number.

    >>> _places(["mean", "", 2])
    ['mean', '1', '2']
    """

    def speaks(one: Any) -> bool:
        return isinstance(one, str) and bool(one.strip()) and not one.isdecimal() and one != "="

    return [one if speaks(one) else str(i) for i, one in enumerate(chosen)]


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array"


def _items(schema: Mapping[str, Any]) -> Any:
    """Of what type a list's items are."""
    items = schema.get("items", {})
    return items.get("type") if isinstance(items, Mapping) else None


def _read(text: str, *, lists: bool = False) -> Any:
    """What was typed, as TOML says it; a word without quotes is itself, several are a list.

    >>> _read("[5, 3]"), _read("mdav"), _read("age, sex"), _read("age", lists=True)
    ([5, 3], 'mdav', ['age', 'sex'], ['age'])
    """
    try:
        found = _toml(text)
    except ValueError:
        if any(sign in text for sign in "[]{}\"'"):
            raise
        found = [one.strip() for one in text.split(",")] if "," in text else text
    return [found] if lists and not isinstance(found, list | dict) else found


def _toml(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        shown = clipped(repr(text), 80)
        raise ValueError(f'{shown} is not understood: e.g. 5, "text", [5, 3]') from None
    if len(found) != 1:
        raise ValueError(f"{clipped(repr(text), 80)} says more than one thing")
    return found["value"]


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references to others."""
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {"enum": [schema["const"]]} if "const" in schema else schema


def _without_null(
    schema: Mapping[str, Any], definitions: Mapping[str, Any]
) -> tuple[Mapping[str, Any], bool]:
    """A schema without null, and whether it may be null besides."""
    listed = [_resolved(one, definitions) for one in schema.get("anyOf", ())]
    inside = [one for one in listed if one.get("type") != "null"]
    if not inside:
        return schema, False
    optional = len(inside) < len(listed)
    return (inside[0], optional) if len(inside) == 1 else ({"anyOf": inside}, optional)


def as_written(default: Any) -> Any:
    """A default as a plan would write it."""
    if isinstance(default, Declaration):
        given = default.plan_words()
        return {"use": default.name, **given} if given else default.name
    if isinstance(default, tuple | list):
        return [as_written(one) for one in default]
    if isinstance(default, Mapping):
        return {str(key): as_written(value) for key, value in default.items()}
    return default


def _same(value: Any, default: Any) -> bool:
    """Whether a plan that says the one says the other; true is no 1."""
    if isinstance(value, bool) != isinstance(default, bool):
        return False
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        both = zip(value, default, strict=False)
        return len(value) == len(default) and all(_same(a, b) for a, b in both)
    return bool(value == default)


def _in_words(domain: str) -> str:
    """The domain of a number without signs.

    >>> _in_words("integer >= 2"), _in_words("number > 0, <= 1"), _in_words("integer")
    ('whole number, at least 2', 'above 0, at most 1', 'whole number')
    """
    kind, _, limits = domain.partition(" ")
    signs = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}
    said = [] if kind == "number" else [kind.replace("integer", "whole number")]
    for one in filter(None, limits.split(", ")):
        sign, _, value = one.partition(" ")
        said.append(f"{signs.get(sign, sign)} {value}")
    return ", ".join(said)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _digits(value: float) -> str:
    whole = float(value).is_integer() and abs(value) < 1e15
    return f"{int(value):d}" if whole else repr(value)


def _called(value: Any) -> str:
    """A choice as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    signs = {"": "not given", "\t": "tab", " ": "blank"}
    return signs.get(value, str(value)) if isinstance(value, str) else str(value)


def _short(default: Any) -> str:
    written = as_written(default)
    if written in ([], {}):
        return ""
    if isinstance(written, bool):
        return "yes" if written else "no"
    text = str(written) if isinstance(written, str | int | float) else toml.value(written)
    return clipped(text, 60)
