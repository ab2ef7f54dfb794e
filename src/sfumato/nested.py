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


def _found(kind: str, given: Any) -> Any:
    if isinstance(given, Declaration):
        return given
    words = {"use": given} if isinstance(given, str) else given
    if not isinstance(words, Mapping) or "use" not in words:
        what = kind.replace("|", " or an ")
        raise ValueError(f"should be the name of a {what}, or a table {{ use = NAME, ... }}")
    parameters = {key: value for key, value in words.items() if key != "use"}
    if "columns" in parameters and kind in ("partitioner", "verb"):
        raise ValueError("takes its columns from the step that it is part of: name them there")
    try:
        return find(str(words["use"]), *kind.split("|")).load().build(parameters)
    except SfumatoError as error:
        raise ValueError(str(error)) from error


def _words(thing: Declaration) -> Any:
    """As a plan file writes it."""
    parameters = {key.replace("_", "-"): value for key, value in thing.parameters().items()}
    return {"use": thing.name, **parameters} if parameters else thing.name


_schema = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})

Search = Annotated[
    Partitioner,
    BeforeValidator(lambda given: _found("partitioner", given)),
    PlainSerializer(_words),
    _schema,
]
"""A search, by name, as a table or as an instance."""

Deed = Annotated[
    Verb, BeforeValidator(lambda given: _found("verb", given)), PlainSerializer(_words), _schema
]
"""What is done to groups, by name, as a table or as an instance."""

Gauge = Annotated[
    Measure,
    BeforeValidator(lambda given: _found("measure|attack", given)),
    PlainSerializer(_words),
    _schema,
]
"""A measure or an attack, by name, as a table or as an instance."""

Rule = Annotated[
    Criterion,
    BeforeValidator(lambda given: _found("criterion", given)),
    PlainSerializer(_words),
    _schema,
]
"""A criterion that guides a search, as a table `{ use = "t-closeness", at-most = 0.2 }` or as an
instance."""


def named(default: str, description: str) -> Any:
    """A field of one of these kinds that is `default`, by name, unless given."""
    return Field(default=default, description=description)
