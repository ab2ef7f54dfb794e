"""What a registered thing says about itself: for `sfumato explain`, its reference, the studio."""

from __future__ import annotations

import inspect
from typing import Any

from ...candidate import FAMILIES, Candidate
from ...protocols import Declaration, Measure
from ...registry import Entry
from . import toml


def facts(entry: Entry) -> dict[str, Any]:
    """Everything a declaration says about itself."""
    cls: type[Declaration] = entry.load()
    schema = cls.model_json_schema()
    parameters = []
    for name, field in cls.model_fields.items():
        required = field.is_required()
        parameters.append(
            {
                "name": name.replace("_", "-"),
                "meaning": field.description or "",
                "domain": domain(schema["properties"][name], schema.get("$defs", {})),
                "default": None if required else field.get_default(call_default_factory=True),
                "required": required,
            }
        )
    return {
        "kind": entry.kind,
        "name": entry.name,
        "aliases": list(entry.aliases),
        "summary": entry.summary,
        "about": _about(cls),
        "paper": cls.paper,
        "acts_on": _acts_on(cls),
        "candidate": candidate(vars(cls).get("candidate")),
        "parameters": parameters,
        "example": example(entry, cls),
    }


def domain(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> str:
    """A parameter's values in words.

    >>> domain({"type": "integer", "minimum": 2}), domain({"enum": ["mean", "median"]})
    ('integer >= 2', 'mean | median')
    """
    if "$ref" in schema:
        return domain((definitions or {}).get(schema["$ref"].rpartition("/")[2], {}), definitions)
    if "enum" in schema:
        return " | ".join('""' if value == "" else str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        inside = [domain(one, definitions) for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(inside))
    words = {"string": "text", "array": "list", "object": "table"}
    kind = schema.get("type", "value")
    text = words.get(kind, kind)
    if kind == "array" and isinstance(schema.get("items"), dict):
        text = f"list of {domain(schema['items'], definitions)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        text = f"table of {domain(schema['additionalProperties'], definitions)}"
    if schema.get("format") == "date":
        text = "date"
    signs = (
        ("minimum", ">="),
        ("exclusiveMinimum", ">"),
        ("maximum", "<="),
        ("exclusiveMaximum", "<"),
    )
    limits = [f"{sign} {schema[key]:g}" for key, sign in signs if key in schema]
    if "pattern" in schema:
        limits.append(f"like {schema['pattern']}")
    return " ".join([text, *(", ".join(limits),)] if limits else [text])


def example(entry: Entry, cls: type[Declaration]) -> str:
    """Lines for a plan file."""
    shown: dict[str, Any] = dict(cls.example)
    for name, field in cls.model_fields.items() if not shown else ():
        default = None if field.is_required() else field.default
        if isinstance(default, int | float) and not isinstance(default, bool) and default:
            shown[name.replace("_", "-")] = default
    if entry.kind in ("method", "partitioner"):
        return toml.table("steps", {"use": entry.name, **shown}, array=True)
    if entry.kind == "verb":
        return toml.table("steps", {"use": "mdav", "k": 5, "then": entry.name}, array=True)
    if entry.kind == "criterion":
        return toml.table("require", {entry.name: shown})
    if issubclass(cls, Measure) and cls.costly and cls.limit is not None:
        return toml.table("require", {entry.name: {"at-most": cls.limit}})
    if entry.kind in ("measure", "attack"):
        return toml.table("measures", {entry.name: {}})
    if entry.kind == "rule":
        return toml.table("table.rules", {"use": entry.name, **shown}, array=True)
    if entry.kind == "table-method":
        return toml.table("table.protect", {"use": entry.name, **shown})
    if entry.kind == "engine":
        return toml.table("engine", {"use": entry.name, **shown})
    column = "age" if entry.name in ("interval", "bins") else "zip"
    return toml.table(
        "columns", {column: {"role": "quasi", "poset": {"kind": entry.name, **shown}}}
    )


def candidate(own: Candidate | None) -> dict[str, Any] | None:
    """When to take a candidate for a release, and what it costs; None of all other things."""
    if own is None:
        return None
    return {
        "family": own.family,
        "when": own.when,
        "unless": own.unless,
        "million": _cost(own.million),
        "tenth": _cost(own.tenth),
    }


def _cost(found: tuple[float, float] | None) -> dict[str, float] | None:
    return found and {"cpu_seconds": found[0], "gib": found[1]}


def taking(found: dict[str, Any]) -> list[str]:
    """What `candidate` says, in sentences."""
    told = [
        f"Take it when {found['when']}.",
        f"Not when {found['unless']}.",
        f"Family {found['family']}: {FAMILIES[found['family']]}.",
    ]
    if cost := found["million"] or found["tenth"]:
        records = "A million" if found["million"] else "100,000"
        told.append(
            f"{records} records of a register of ten columns take about {cost['cpu_seconds']:g} "
            f"CPU seconds and {cost['gib']:g} GiB; columns of more values may take more."
            + (" A million did not end in ten minutes." if found["tenth"] else "")
        )
    return told


def toml_or_dash(default: Any) -> str:
    """A default as a plan would write it."""
    if default is None:
        return "-"
    return toml.value(default)


def _about(cls: type[Declaration]) -> str:
    """The docstring, without the examples that are there for the tests."""
    return inspect.cleandoc(cls.__doc__ or "").partition(">>>")[0].rstrip()


def _acts_on(cls: Any) -> str:
    if not hasattr(cls, "roles"):
        return ""
    kinds = f" that are {', '.join(cls.kinds)}" if cls.kinds else ""
    return f"{' and '.join(cls.roles)} columns{kinds}, unless columns are named"
