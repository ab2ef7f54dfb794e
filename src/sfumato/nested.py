"""Parameters that are themselves searches, verbs or measures: `start = { use = "v-mdav" }`.

A search that needs another one declares a field of the protocol's type. It is given as a name, as
a table with `use` and its parameters, or from Python as an instance; the registry finds it, so that
no room imports a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from .errors import SfumatoError
from .protocols import Criterion, Declaration, Measure, Partitioner, Verb
from .registry import find


def found(kind: str, given: Any) -> Any:
    """The thing that a name, a table with `use`, or an instance stands for."""
    if isinstance(given, Declaration):
        return given
    table = {"use": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or "use" not in table:
        what = kind.replace("|", " or an ")
        raise ValueError(f"should be the name of a {what}, or a table {{ use = NAME, ... }}")
    parameters = {key: value for key, value in table.items() if key != "use"}
    if "columns" in parameters and kind in ("partitioner", "verb"):
        raise ValueError("takes its columns from the step that it is part of: name them there")
    try:
        return find(str(table["use"]), *kind.split("|")).load().build(parameters)
    except SfumatoError as error:
        raise ValueError(str(error)) from error


def words(thing: Declaration) -> Any:
    """As a plan file writes it."""
    parameters = thing.plan_words()
    return {"use": thing.name, **parameters} if parameters else thing.name


SCHEMA = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})

Search = Annotated[
    Partitioner,
    BeforeValidator(lambda given: found("partitioner", given)),
    PlainSerializer(words),
    SCHEMA,
]
"""A search, by name, as a table or as an instance."""

VerbParameter = Annotated[
    Verb, BeforeValidator(lambda given: found("verb", given)), PlainSerializer(words), SCHEMA
]
"""What is done to groups, by name, as a table or as an instance."""

MeasureParameter = Annotated[
    Measure,
    BeforeValidator(lambda given: found("measure|attack", given)),
    PlainSerializer(words),
    SCHEMA,
]
"""A measure or an attack, by name, as a table or as an instance."""

Rule = Annotated[
    Criterion,
    BeforeValidator(lambda given: found("criterion", given)),
    PlainSerializer(words),
    SCHEMA,
]
"""A criterion that guides a search, as a table such as `{ use = "t-closeness", at-most = 0.2 }`."""


def named(default: str, description: str) -> Any:
    """A field of one of these kinds that is `default`, by name, unless given."""
    return Field(default=default, description=description)
