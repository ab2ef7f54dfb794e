"""Ways to expose nobody: columns left out, published coarser, or masked as quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...data.schema import ORDERED, Kind, Role
from ...data.table import Table
from ...protocols import Finding
from ..plan import toml
from ..plan.plan import ColumnPlan, Plan
from ..plan.step import Step, build
from .trying import Trial

_ROUNDS = 8
_BINS = (12, 4)
_RARE = (10, 50)
_LEVELS = (1, 2, 3)
_COARSE = ("coordinate", "date", "date-time", "key")
"""What names people by being exact: the rest names them however coarse it is."""


@dataclass(frozen=True)
class Change:
    """What is to be done to columns."""

    table: Table
    out: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    coarser: Mapping[str, int] = field(default_factory=dict)
    """How often a column was made coarser."""

    def without(self, *names: str) -> Change:
        """The same with columns left out."""
        new = [name for name in names if name not in self.out]
        coarser = {name: n for name, n in self.coarser.items() if name not in names}
        return replace(self, out=(*self.out, *new), coarser=coarser)

    def masked(self, *names: str) -> Change:
        """The same with columns made quasi-identifiers."""
        new = [name for name in names if name not in self.quasi]
        return replace(self, quasi=(*self.quasi, *new))

    def coarsened(self, name: str) -> Change:
        """The same with a column one degree coarser, or out where there is none."""
        degree = self.coarser.get(name, -1) + 1
        if degree >= len(self._degrees(name)):
            return self.without(name)
        return replace(self, coarser={**self.coarser, name: degree})

    def _degrees(self, name: str) -> tuple[int, ...]:
        column = self.table.schema[name]
        if column.poset is not None and not column.poset.categories:
            return _LEVELS
        if column.kind == Kind.SET:
            return ()
        return _BINS if self._cut(name) else _RARE

    def _cut(self, name: str) -> bool:
        kind = self.table.schema[name].kind
        return kind in ORDERED and kind != Kind.ORDINAL

    def of(self, plan: Plan) -> Plan:
        """The changed plan: what is coarser is so before any search sees it."""
        columns = dict(plan.columns)
        roles = dict.fromkeys(self.out, Role.IDENTIFIER) | dict.fromkeys(self.quasi, Role.QUASI)
        for name, role in roles.items():
            columns[name] = replace(columns.get(name, ColumnPlan()), role=role)
        return plan.with_(columns=columns, steps=(*self._steps(), *plan.steps))

    def _recoded(self) -> dict[str, dict[str, int]]:
        """Levels and ranges of the columns that are cut."""
        found: dict[str, dict[str, int]] = {}
        for name, degree in self.coarser.items():
            degrees = self._degrees(name)
            if degrees != _RARE:
                way = "levels" if degrees == _LEVELS else "bins"
                found.setdefault(way, {})[name] = degrees[degree]
        return found

    def _steps(self) -> Iterator[Step]:
        if recoded := self._recoded():
            yield Step(build("method", "global-recoding", recoded))
        for name, degree in self.coarser.items():
            if self._degrees(name) == _RARE:
                yield Step(build("method", "rare-values", {"columns": [name], "k": _RARE[degree]}))

    def __str__(self) -> str:
        said = [f'{name}: role = "identifier", so that it is left out' for name in self.out]
        said += [f'{name}: role = "quasi", so that it is masked' for name in self.quasi]
        said += [
            f'first step: use = "global-recoding", {way} = {toml.value(cut)}'
            for way, cut in self._recoded().items()
        ]
        said += [
            f'first step: use = "rare-values", columns = ["{name}"], k = {_RARE[degree]}'
            for name, degree in self.coarser.items()
            if self._degrees(name) == _RARE
        ]
        return "; ".join(said)


Way = Callable[[Change, Finding], Change | None]


def _named(change: Change, why: Mapping[str, Any], coarse: bool) -> Change:
    """Columns that name people: out, but for those that a coarser version of says little."""
    for one in why.get("names people", ()):
        if coarse and one["what"] in _COARSE:
            change = change.coarsened(one["column"])
        else:
            change = change.without(one["column"])
    return change


def _loosest(change: Change, why: Mapping[str, Any]) -> str:
    """Of the columns that single out most, the one that costs least to change: not one that is
    masked already, and of the others the one with most values."""
    sets = why.get("singled out", ())
    if not sets:
        return ""
    worst = max(sets, key=lambda one: one["share"])["columns"]
    table = change.table
    open_ = [n for n in worst if table.schema[n].role != Role.QUASI and n not in change.quasi]
    return str(max(open_ or worst, key=lambda name: table[name].n_unique()))


def coarsen(change: Change, found: Finding) -> Change | None:
    """Coarser columns, and those out that name people however coarse they are."""
    why = found.detail
    if "names people" in why:
        return _named(change, why, coarse=True)
    name = why["gives back"][0]["column"] if "gives back" in why else _loosest(change, why)
    return change.coarsened(name) if name else None


def leave_out(change: Change, found: Finding) -> Change | None:
    """Columns left out."""
    why = found.detail
    if "names people" in why:
        return _named(change, why, coarse=False)
    name = why["gives back"][0]["column"] if "gives back" in why else _loosest(change, why)
    return change.without(name) if name else None


def make_quasi(change: Change, found: Finding) -> Change | None:
    """Columns that the plan's search masks with the others."""
    why = found.detail
    if "names people" in why:
        return _named(change, why, coarse=False)
    if "gives back" in why:
        names = [why["gives back"][0]["column"]]
    else:
        names = [n for one in why.get("singled out", ()) for n in one["columns"]]
    schema = change.table.schema
    new = [n for n in names if n not in change.quasi and schema[n].role != Role.QUASI]
    # Sets have searches of their own, which mask nothing else.
    if not new or any(schema[n].kind == Kind.SET for n in new):
        return None
    return change.masked(*dict.fromkeys(new))


WAYS: tuple[Way, ...] = (make_quasi, coarsen, leave_out)


def repaired(trial: Trial, start: Plan, way: Way) -> Iterator[tuple[str, Plan]]:
    """The plan changed in one way again and again until nobody is exposed, if that helps."""
    change, plan = Change(trial.original), start
    for _ in range(_ROUNDS):
        tried = trial.run(plan)
        if tried is None:
            return
        if tried.exposed is None:
            yield str(change), plan
            return
        more = way(change, tried.exposed)
        if more is None or more == change:
            return
        change, plan = more, more.of(start)
