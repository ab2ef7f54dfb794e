"""Forms from declarations: every parameter of a method, a criterion or a hierarchy as a field, with
its meaning and its domain from where they are declared, and back to the words of a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ..declaration import Declaration, is_secret
from ..errors import Complaint, ParameterError
from ..release.plan import toml
from ..release.report.parts import Markup, join, tag
from .asked import Asked
from .widgets import checkbox, field, select, text_field

_LISTS = ("columns",)
"""Parameters that name columns of the table."""


def fields(
    cls: type[Declaration],
    given: Mapping[str, Any],
    prefix: str,
    *,
    columns: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Markup:
    """The fields of every parameter, or of those named; `given` are those of the plan."""
    schema = cls.model_json_schema()
    named = {key.replace("-", "_"): value for key, value in given.items()}
    shown = []
    for name, about in cls.model_fields.items():
        if is_secret(cls, name) or (only and name not in only):
            continue
        default = None if about.is_required() else about.get_default(call_default_factory=True)
        one = _Field(f"{prefix}.{name}", _plain(schema["properties"][name], schema), columns)
        control = one.control(named.get(name), default, required=about.is_required())
        label = name.replace("_", " ")
        shown.append(
            tag("div", control, tag("p", about.description or "", class_="hint"), class_="field")
            if one.boxed
            else field(label, control, about.description or "", id=one.id)
        )
    return join(shown)


def words(cls: type[Declaration], asked: Asked, prefix: str) -> dict[str, Any]:
    """What a form says, as the words of a plan: only what differs from the defaults. An error names
    every field that is wrong."""
    schema = cls.model_json_schema()
    found: dict[str, Any] = {}
    complaints: list[Complaint] = []
    for name, about in cls.model_fields.items():
        key = f"{prefix}.{name}"
        if key not in asked.form and f"{key}.there" not in asked.form:
            continue
        one = _Field(key, _plain(schema["properties"][name], schema), ())
        try:
            value = one.read(asked)
        except ValueError as error:
            meaning = about.description or ""
            complaints.append(Complaint(name.replace("_", "-"), str(error), meaning))
            continue
        default = None if about.is_required() else about.get_default(call_default_factory=True)
        if value is None or value == _as_written(default):
            continue
        found[name.replace("_", "-")] = value
    complaints += [] if complaints else cls.complaints(found)
    if complaints:
        raise ParameterError(
            "; ".join(f"{c.where}: {c.what}" for c in complaints),
            remedy="; ".join(dict.fromkeys(c.remedy for c in complaints if c.remedy)),
        )
    return found


class _Field:
    """One parameter as a control."""

    def __init__(self, key: str, schema: Mapping[str, Any], columns: Sequence[str]) -> None:
        self.key, self.schema, self.columns = key, schema, columns
        self.id = key.replace(".", "-").replace("_", "-")

    @property
    def boxed(self) -> bool:
        """Whether it brings its own label."""
        return self.schema.get("type") == "boolean" or self._lists

    @property
    def _lists(self) -> bool:
        return bool(self.columns) and self.key.rpartition(".")[2] in _LISTS

    def control(self, value: Any, default: Any, *, required: bool) -> Markup:
        schema = self.schema
        now = default if value is None else value
        told = {} if default is None or default == () else {"placeholder": _short(default)}
        label = self.key.rpartition(".")[2].replace("_", " ")
        there = text_field(f"{self.key}.there", "", type="hidden", id=f"{self.id}-there")
        if schema.get("type") == "boolean":
            return join((checkbox(self.key, label, checked=bool(now), id=self.id), there))
        if self._lists:
            chosen = {*map(str, now or ())}
            boxes = (
                checkbox(self.key, name, checked=name in chosen, value=name, id=f"{self.id}-{i}")
                for i, name in enumerate(self.columns)
            )
            legend = tag("legend", f"{label} (all that apply if none)")
            return tag("fieldset", legend, *boxes, there, class_="columns")
        if "enum" in schema:
            options = [(str(one), str(one) or "not given") for one in schema["enum"]]
            return select(self.key, options, str(now if now is not None else ""), id=self.id)
        if schema.get("type") in ("integer", "number"):
            bounds = {
                name: f"{schema[key]:g}"
                for name, key in (("min", "minimum"), ("max", "maximum"))
                if key in schema
            }
            step = "1" if schema["type"] == "integer" else "any"
            shown = "" if value is None else f"{value}"
            need = {"required": ""} if required else {}
            return text_field(
                self.key, shown, type="number", id=self.id, step=step, **bounds, **told, **need
            )
        shown = "" if value is None else (value if self._texts else toml.value(value))
        need = {"required": ""} if required else {}
        return text_field(self.key, shown, id=self.id, **told, **need)

    @property
    def _texts(self) -> bool:
        return self.schema.get("type") == "string"

    def read(self, asked: Asked) -> Any:
        """What the form says of it; None where it is left as it is by default."""
        schema = self.schema
        if schema.get("type") == "boolean":
            return bool(asked.one(self.key))
        if len(asked.many(self.key)) > 1 or self.key.rpartition(".")[2] in _LISTS:
            return [one for one in asked.many(self.key) if one] or None
        text = asked.one(self.key)
        if "enum" in schema:
            return text or None
        text = text.strip()
        if not text:
            return None
        if schema.get("type") == "integer":
            if not text.lstrip("+-").isdecimal():
                raise ValueError(f"{text!r} is not a whole number")
            return int(text)
        if schema.get("type") == "number":
            number = float(text)  # ValueError says what it is
            return int(number) if number.is_integer() and "." not in text else number
        if self._texts:
            return text
        found = _read(text)
        lists = [one for one in (schema, *schema.get("anyOf", ())) if one.get("type") == "array"]
        if lists and not isinstance(found, Mapping):
            found = found if isinstance(found, list) else [found]
            if lists[0].get("items", {}).get("type") == "string":
                # A list of texts may be typed without quotes.
                found = [one if isinstance(one, str) else toml.value(one) for one in found]
        return found


def _read(text: str) -> Any:
    """What was typed, as TOML says it; a word without quotes is itself, several are a list.

    >>> _read("[5, 3]"), _read("mdav"), _read("age, sex")
    ([5, 3], 'mdav', ['age', 'sex'])
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if any(sign in text for sign in "[]{}=\"'"):
            raise ValueError(f'{text!r} is not understood: e.g. 5, "text", [5, 3]') from None
    listed = [one.strip() for one in text.split(",")]
    return listed if len(listed) > 1 else text


def _plain(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """A parameter's schema without what it may be besides: null, or a reference."""
    if "$ref" in schema:
        return _plain(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "const" in schema:
        return {"enum": [schema["const"]]}
    inside = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _plain(inside[0], whole) if len(inside) == 1 else schema


def _as_written(default: Any) -> Any:
    """A default as a plan would write it."""
    if isinstance(default, Declaration):
        return default.name
    if isinstance(default, tuple):
        return [_as_written(one) for one in default]
    return default


def _short(default: Any) -> str:
    written = _as_written(default)
    return str(written) if isinstance(written, str | int | float) else toml.value(written)
