"""Every registered class in one place: `from sfumato.things import Mdav, Mondrian, PPercent`.

`sf.method("mdav", k=3)` and `Mdav(k=3)` are the same; of the class an editor knows the parameters.
Classes are loaded when they are first used. Type checkers see them in `things.pyi`, which `make
docs` writes from the registry.

>>> from sfumato.things import Mdav
>>> Mdav(k=3).k
3
"""

from __future__ import annotations

from typing import Any

from .registry import Entry, entries


def _by_class() -> dict[str, Entry]:
    return {entry.target.rpartition(":")[2]: entry for entry in entries()}


def __getattr__(name: str) -> Any:
    # Python itself asks for names such as __path__, which are no class's.
    entry = None if name.startswith("__") else _by_class().get(name)
    if entry is None:
        raise AttributeError(f"no registered class is called {name!r}; `sfumato methods` lists all")
    globals()[name] = found = entry.load()
    return found


def __dir__() -> list[str]:
    return sorted(_by_class())
