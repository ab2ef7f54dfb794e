"""What Sfumato can do, by name: each name points to "module:Class" and loads only when it is used.

To add a method: write its file and run `make docs`, which makes the catalogue anew from the
classes. Others join by an entry point in the group `sfumato`, or at run time by `register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .catalogue import KINDS as KINDS
from .catalogue import lines, mark_of, summary_of
from .errors import SfumatoError, UnknownName


@dataclass(frozen=True)
class Entry:
    """One registered thing."""

    kind: str
    name: str
    target: str
    summary: str
    aliases: tuple[str, ...] = ()
    usual: bool = False
    """Whether every release takes this measure."""
    family: str = ""
    """Of a candidate for a release (candidate.py); empty for all other things."""
    when: str = ""
    """When to take that candidate."""

    def load(self) -> Any:
        """Import the class."""
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


def _marked(mark: str) -> tuple[bool, str, str]:
    """Whether it is usual; the family of a candidate, and when to take it."""
    family, _, when = mark.partition(": ")
    return mark == "usual", family if when else "", when


_BUILT_IN = tuple(
    Entry(kind, name, f"sfumato.{target}", summary, tuple(aliases), *_marked(mark))
    for kind, name, target, mark, summary, *aliases in lines()
)

_extra: dict[tuple[str, str], Entry] = {}
_entry_points_read = False


def register(cls: type, *, kind: str | None = None) -> type:
    """Join a class to the registry at run time; usable as a decorator.

    The class's base says its kind, `cls.name` its name and the docstring's first line its summary.
    """
    kind = kind or getattr(cls, "registry_kind", None)
    name = getattr(cls, "name", None)
    if kind not in KINDS or not isinstance(name, str) or not name:
        raise SfumatoError(
            f"{cls.__name__} cannot be registered: it needs a `name` and one of the bases {KINDS}",
            remedy='class Mine(sf.Method): name = "mine"',
        )
    for known in entries(kind):
        if known.name == name and known.target != f"{cls.__module__}:{cls.__qualname__}":
            raise SfumatoError(f"a {kind} named {name!r} is registered already", remedy="rename it")
    _extra[kind, name] = _RuntimeEntry.of(kind, cls)
    return cls


@dataclass(frozen=True)
class _RuntimeEntry(Entry):
    """An entry whose class exists already (a notebook's classes cannot be imported by name)."""

    cls: type = object

    @staticmethod
    def of(kind: str, cls: Any) -> _RuntimeEntry:
        target, aliases = f"{cls.__module__}:{cls.__qualname__}", tuple(cls.aliases)
        marked = _marked(mark_of(cls))
        return _RuntimeEntry(kind, cls.name, target, summary_of(cls), aliases, *marked, cls)

    def load(self) -> Any:
        return self.cls


def _read_entry_points() -> None:
    """Third parties: each entry point of the group `sfumato` names a module that registers."""
    global _entry_points_read
    if _entry_points_read:
        return
    _entry_points_read = True
    from importlib.metadata import entry_points

    for point in entry_points(group="sfumato"):
        point.load()


def entries(kind: str | None = None) -> Iterator[Entry]:
    """Every registered thing, in the order of the field's textbook."""
    _read_entry_points()
    for entry in (*_BUILT_IN, *_extra.values()):
        if kind is None or entry.kind == kind:
            yield entry


def find(name: str, *kinds: str) -> Entry:
    """The entry of that name (or alias) among the kinds; with a suggestion if there is none.

    A name goes before an alias: a measure may have the name of a criterion for one.
    """
    wanted = [entry for entry in entries() if not kinds or entry.kind in kinds]
    named = [entry for entry in wanted if name == entry.name]
    if found := named or [entry for entry in wanted if name in entry.aliases]:
        return found[0]
    known = [n for entry in wanted for n in (entry.name, *entry.aliases)]
    raise UnknownName(" or ".join(kinds) or "thing", name, known)
