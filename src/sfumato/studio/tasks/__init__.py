"""What takes long, by name: each task is given its `Work` and returns what the pages show of it, as
plain values. Larger things it leaves in the folder of the work. Tasks run in `worker`, never in the
server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ...progress import Listener
from ...release.plan.plan import Plan


@dataclass(frozen=True)
class Work:
    """What a task is about."""

    folder: Path
    """Its own, for what it leaves; it is private."""
    path: Path
    """The plan file, which may have been changed since."""
    text: str
    """What the plan said when the work was asked for."""
    words: dict[str, Any]
    tell: Listener

    @property
    def base(self) -> Path:
        """The folder that the plan's paths are relative to."""
        return self.path.parent

    @cached_property
    def plan(self) -> Plan:
        return Plan.parse(self.text, name=self.path.name, base=self.base)


Task = Callable[[Work], dict[str, Any]]
_TASKS = {
    # data
    "draft": "looking:draft",
    "columns": "looking:columns",
    "check": "looking:check",
    # hierarchies
    "values": "hierarchies:values",
    "levels": "hierarchies:levels",
    # protect
    "protect": "protecting:attempt",
    "advise": "advising:find_out",
    # explore
    "lattice": "exploring:space",
    "map": "exploring:risk_map",
    "compare": "exploring:side_by_side",
    # risk
    "assess": "risk:as_it_is",
    "attack": "risk:attack_trial",
    # utility
    "measure": "utility:measure",
    # tables
    "draft-table": "tables:draft",
    "table-columns": "tables:columns",
    "compare-tables": "tables:compare",
    "audit-table": "tables:audit",
    # publish
    "publish": "protecting:publish",
    "verify": "protecting:check",
}
"""The module and function of each."""


def task(name: str) -> Task:
    """The task of this name."""
    module, function = _TASKS[name].split(":")
    found: Task = getattr(import_module(f".{module}", __name__), function)
    return found
