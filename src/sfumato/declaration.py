"""A named thing with parameters: what methods, searches, measures, criteria and posets all are.

It is a frozen pydantic model. Its fields, with their domains and one-line meanings, are the only
place where a parameter is described: the check, the error text, the plan file, the command line
and the reference page are all made from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import Complaint, ParameterError, suggest
from .registry import find


class Declaration(BaseModel):
    """A named thing with parameters."""

    # Built when first used: of the classes that a module declares, most runs use one or two.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)

    registry_kind: ClassVar[str] = ""
    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = ""
    """Where the algorithm was published."""
    example: ClassVar[Mapping[str, Any]] = {}
    """Parameters that show it well, where the defaults do not."""
    shorthand: ClassVar[str] = ""
    """The parameter that a bare value stands for: `k-anonymity = 5`."""

    @classmethod
    def build(cls, parameters: Mapping[str, Any]) -> Any:
        """Make one from plain values, hyphens or underscores; every complaint at once."""
        complaints = cls.complaints(parameters)
        if complaints:
            takes = ", ".join(name.replace("_", "-") for name in cls.model_fields)
            raise ParameterError(
                f"{cls.name}: " + "; ".join(str(complaint) for complaint in complaints),
                remedy=f"sfumato explain {cls.name}"
                if cls.registry_kind
                else f"[{cls.name}] takes {takes}",
            )
        return cls(**{key.replace("-", "_"): value for key, value in parameters.items()})

    @classmethod
    def complaints(cls, parameters: Mapping[str, Any]) -> list[Complaint]:
        """What is wrong with these parameters, each with its remedy."""
        plain = {key.replace("-", "_"): value for key, value in parameters.items()}
        found = [
            Complaint(key, f"is given twice, as {key} and {key.replace('-', '_')}", "give it once")
            for key in parameters
            if "-" in key and key.replace("-", "_") in parameters
        ]
        for key, value in plain.items():
            field = cls.model_fields.get(key)
            if isinstance(value, bool) and field is not None and field.annotation in (int, float):
                what = f"should be a number (got {value})"
                found.append(Complaint(key, what, field.description or ""))
        try:
            cls(**plain)
        except ValidationError as error:
            found += [cls._complaint(dict(problem)) for problem in error.errors()]
        return found

    @classmethod
    def _complaint(cls, problem: dict[str, Any]) -> Complaint:
        where = ".".join(str(part) for part in problem["loc"])
        known = sorted(cls.model_fields)
        if problem["type"] == "extra_forbidden":
            close = suggest(where, known)
            remedy = f'did you mean "{close[0]}"?' if close else f"it takes {', '.join(known)}"
            return Complaint(where, f"{cls.name} has no such parameter", remedy)
        top = str(problem["loc"][0]) if problem["loc"] else ""
        meaning = cls.model_fields[top].description if top in cls.model_fields else ""
        if problem["type"] == "missing":
            return Complaint(where, "is needed", meaning or "")
        what = problem["msg"].removeprefix("Value error, ")
        what = what[:1].lower() + what[1:]
        # What is nested may have secrets of its own.
        if is_secret(cls, top) or isinstance(problem.get("input"), Mapping):
            return Complaint(where, what, meaning or "")
        return Complaint(where, f"{what} (got {problem.get('input')!r})", meaning or "")

    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, as plain values for a plan file."""
        shown = self.model_dump(exclude_defaults=True)
        fields = type(self).model_fields
        # A search or a measure named by default is its name there, and a declaration here.
        named = {
            key: value
            for key, value in shown.items()
            if isinstance(getattr(self, key), Declaration) and not fields[key].is_required()
        }
        usual = {key: fields[key].get_default(call_default_factory=True) for key in named}
        return {key: v for key, v in shown.items() if key not in named or v != usual[key]}

    def plan_words(self) -> dict[str, Any]:
        """The same as a plan file writes them, with hyphens."""
        return {key.replace("_", "-"): value for key, value in self.parameters().items()}

    def parts(self) -> Iterator[Declaration]:
        """Itself, and the declarations among its parameters, however deep."""
        yield self
        for name in type(self).model_fields:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple | list) else (value,):
                if isinstance(one, Declaration):
                    yield from one.parts()

    def __str__(self) -> str:
        shown = hide_secrets(type(self), self.parameters())
        shown = {key: value for key, value in shown.items() if not is_secret(type(self), key)}
        inside = ", ".join(f"{key}={value!r}" for key, value in shown.items())
        return f"{self.name}({inside})"


def is_secret(cls: type[Declaration], name: str) -> bool:
    """Whether a parameter must never be shown."""
    field = cls.model_fields.get(name)
    extra = field.json_schema_extra if field is not None else None
    return isinstance(extra, dict) and bool(extra.get("secret"))


def hide_secrets(cls: type[Declaration], values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values of parameters, with secret ones replaced, in nested declarations too."""
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if value and is_secret(cls, name.replace("-", "_")):
            shown[name] = "(kept private)"
        elif isinstance(value, Mapping) and isinstance(value.get("use"), str):
            shown[name] = hide_secrets(find(value["use"]).load(), value)
        else:
            shown[name] = value
    return shown
