"""Everything that comes with Sfumato, by name, without importing any of it.

`catalogue.tsv` holds one line to a thing: kind, name, "module:Class" below sfumato, a mark, the
first line of its docstring, and its other names. The mark is "usual" where every release takes the
measure, and of a candidate "family: when to take it". It is made from the classes themselves by
`python -m sfumato.catalogue` (part of `make docs`): whoever adds a method writes its file and runs
that. Kinds come in the order of `KINDS`, rooms in that of `ROOMS`, and files in the order that
their package gives as `ORDER`, which is that of the field's textbook; files that it does not name
follow by their names.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .candidate import Candidate

KINDS = (
    "method",
    "partitioner",
    "verb",
    "measure",
    "criterion",
    "poset",
    "attack",
    "rule",
    "table-method",
    "engine",
)
ROOMS = (
    *("methods", "anonymity", "criteria", "risk", "utility", "attacks", "poset", "tabular"),
    "engines",
)

FILE = Path(__file__).with_name("catalogue.tsv")


def lines() -> Iterator[list[str]]:
    """Kind, name, target below `sfumato`, mark, summary, and other names, of each thing."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        yield line.split("\t")


def made() -> str:
    """The catalogue as the classes say it."""
    found = [line for room in ROOMS for line in _declared(f"sfumato.{room}")]
    found.sort(key=lambda line: KINDS.index(line[0]))
    return "".join("\t".join(line) + "\n" for line in found)


def mark_of(cls: Any) -> str:
    """What tells it from the others of its kind; a candidate says so itself, not by its base."""
    own = vars(cls).get("candidate")
    if isinstance(own, Candidate):
        return f"{own.family}: {own.when}"
    return "usual" if getattr(cls, "usual", False) else ""


def summary_of(cls: Any) -> str:
    """The first line of a class's docstring."""
    return str(cls.__doc__ or "").strip().split("\n")[0]


def _declared(module_name: str) -> Iterator[tuple[str, ...]]:
    """The lines of every thing that has a name of its own in a module or below it."""
    module = importlib.import_module(module_name)
    for cls in vars(module).values():
        if isinstance(cls, type) and cls.__module__ == module_name and "name" in vars(cls):
            kind = getattr(cls, "registry_kind", "")
            if kind in KINDS:
                declared: Any = cls
                target = f"{module_name.removeprefix('sfumato.')}:{cls.__name__}"
                said = (mark_of(cls), summary_of(cls))
                yield (kind, declared.name, target, *said, *declared.aliases)
    for name in _parts(module):
        yield from _declared(f"{module_name}.{name}")


def _parts(module: ModuleType) -> list[str]:
    """The modules of a package: first those that it puts in order."""
    order = getattr(module, "ORDER", ())
    names = sorted(info.name for info in pkgutil.iter_modules(getattr(module, "__path__", ())))
    return [*order, *(name for name in names if name not in order)]


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
    print(FILE)
