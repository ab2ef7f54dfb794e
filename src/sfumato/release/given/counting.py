"""How many people share what a release and those that are public already show of them together.

Two releases of the same people can each be k-anonymous and yet single somebody out together
(Sweeney's complementary and temporal release attacks). An intruder who puts a person's records of
both side by side sees the pair of classes. Whoever is in one release only has a pair, too, with
nothing on the other side: subtracting one release from the other leaves those who came, and those
who left. So k people must share every pair, or hide among k records all the same (worlds.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...criteria.coverage.covering import in_one_numbering
from ...data.codec import encode
from ...data.pair import Pair
from ...data.people.repeated import repeated_key
from ...data.schema import Role
from ...data.table import Table
from ...errors import ParameterError
from ...protocols import Finding
from ..plan.plan import Plan
from .earlier import Earlier, gone_people
from .places import ABSENT, numbered
from .worlds import Histories


@dataclass(frozen=True)
class Wanted:
    """How many people, or households, must share what is seen."""

    k: int
    unit: str

    @classmethod
    def of(cls, plan: Plan) -> Wanted:
        """What the plan requires."""
        for requirement in plan.requirements:
            if requirement.name == "k-anonymity":
                unit = getattr(requirement.thing, "unit", "record")
                return cls(int(getattr(requirement.thing, "k", 0)), unit)
        raise ParameterError(
            "`given` asks that k people share every pair of classes, and no k is required",
            remedy="[require] k-anonymity = 5",
        )

    def column(self, original: Table) -> str | None:
        """The column whose different values are counted; None where a record is a person."""
        if self.unit != "household":
            return repeated_key(original) if self.unit == "person" else None
        names = original.schema.of_role(Role.HOUSEHOLD)
        if not names:
            raise ParameterError(
                'unit = "household" needs a column of households', remedy='role = "household"'
            )
        return names[0]

    def units(self, original: Table) -> np.ndarray:
        """What is counted, for each original record."""
        name = self.column(original)
        if name is None:
            return np.arange(original.height)
        return np.asarray(encode(original[name]).codes.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Beside:
    """Today's people and those who are gone, in the releases that are public and in the new one."""

    name: str
    people: Histories
    rows: np.ndarray
    """int64: the original row of each person; -1 for those who are gone."""

    def finding(self, k: int) -> Finding:
        """Whether everybody hides among k."""
        sizes, among = self.people.sizes, self.people.hidden(k)
        short = among < k
        side = np.zeros(sizes.size, dtype=bool)
        side[self.people.groups[(self.people.classes < 0).any(axis=1)]] = True
        because = "an intruder who puts both releases side by side sees these classes"
        if (short & side).any():
            because += "; some hold those who are in one of them only, whom subtraction leaves"
        return Finding(
            requirement="k-anonymity",
            subject=f"k-anonymity joined with {self.name}",
            value=float(among.min()),
            limit=float(k),
            met=not bool(short.any()),
            at_least=True,
            broken=int(short.sum()),
            of=int(sizes.size),
            detail={"records_in_broken_classes": int(sizes[short].sum()), "because": because},
        )


class Counting:
    """Counts one draft after another beside the same earlier releases."""

    def __init__(self, wanted: Wanted, pair: Pair, earlier: Sequence[Earlier]) -> None:
        assert pair.rows is not None
        self.k, self.earlier, self._rows = wanted.k, earlier, pair.rows
        self._height = pair.original.height
        self._household = wanted.unit == "household"
        self._several = wanted.unit == "person" and any(one.several for one in earlier)
        self._units = wanted.units(pair.original)
        self._values = [
            _values(pair, chosen, gone)
            for chosen in self._chosen()
            for gone in [gone_people(chosen)]
        ]

    def _chosen(self) -> list[Sequence[Earlier]]:
        """Each earlier release alone, and all of them together."""
        each: list[Sequence[Earlier]] = [[one] for one in self.earlier]
        return [*each, self.earlier] if len(self.earlier) > 1 else each

    def beside(self, now: np.ndarray) -> Iterator[Beside]:
        """The people beside each earlier release and beside all, with these classes of published
        records; -1: not published after all."""
        shown = np.full(self._height, ABSENT, dtype=np.int64)
        shown[self._rows] = now
        for chosen, values in zip(self._chosen(), self._values, strict=True):
            name = chosen[0].name if len(chosen) == 1 else "all of them"
            yield self._one(name, chosen, shown, values)

    def _one(
        self, name: str, chosen: Sequence[Earlier], now: np.ndarray, values: np.ndarray
    ) -> Beside:
        gone = gone_people(chosen)
        columns = [
            np.concatenate([one.classes, np.where(at >= 0, one.labels[at], ABSENT)])
            if gone.size
            else one.classes
            for one, at in zip(chosen, gone.T, strict=True)
        ]
        left = np.full(gone.shape[0], ABSENT, dtype=np.int64)
        classes = np.column_stack([*columns, np.concatenate([now, left])])
        units = self._counted(gone.shape[0])
        rows = np.concatenate([np.arange(now.size), left])
        # Those who are in none of the releases tell nothing.
        seen = (classes >= 0).any(axis=1)
        own = values[seen]
        people = Histories(classes[seen], own[:, -1], units[seen], own[:, :-1])
        return Beside(name, people, rows[seen])

    def _counted(self, gone: int) -> np.ndarray:
        units = self._units
        # Which of those who are gone were one person, or one household, nobody knows any more:
        # where several records may be one, they count as one.
        several = self._household or self._several or np.unique(units).size < units.size
        ids = np.zeros(gone, dtype=np.int64) if several else np.arange(gone)
        return np.concatenate([units, units.max(initial=0) + 1 + ids])


def findings(wanted: Wanted, pair: Pair, earlier: Sequence[Earlier]) -> list[Finding]:
    """Whether a release stands beside all earlier ones; where not, beside which of them, too."""
    now = equivalence_classes(pair.masked).labels
    found = list(Counting(wanted, pair, earlier).beside(now))
    last = found[-1].finding(wanted.k)
    # Whoever hides from one who has all releases hides from one who has some of them.
    return [last] if last.met else [*(one.finding(wanted.k) for one in found[:-1]), last]


def _values(pair: Pair, chosen: Sequence[Earlier], gone: np.ndarray) -> np.ndarray:
    """int64 (people, releases + 1): what each release publishes of each person beside the classes,
    of the columns that several of them show, as one number; last what all say, -1 where they do
    not, or where nobody knows whose record is whose."""
    assert pair.rows is not None
    many = pair.original.height + gone.shape[0]
    if any(one.table is None for one in chosen):
        return np.full((many, len(chosen) + 2), ABSENT, dtype=np.int64)
    now = np.full(many, ABSENT, dtype=np.int64)
    now[pair.rows] = np.arange(pair.rows.size)
    places = [np.concatenate([one.rows, at]) for one, at in zip(chosen, gone.T, strict=True)]
    shown = [(one.table, at) for one, at in zip(chosen, places, strict=True) if one.table]
    shown.append((pair.masked, now))
    changed = np.zeros(many, dtype=bool)
    parts = [np.zeros(many * (len(shown) + 1), dtype=np.int64)]
    for name in dict.fromkeys(name for table, _ in shown for name in table.names):
        having = [i for i, (table, _) in enumerate(shown) if name in table.schema]
        if len(having) > 1 and name not in pair.original.schema.quasi:
            seen = _seen([shown[i][0][name] for i in having], [shown[i][1] for i in having])
            agreed = seen.max(axis=1)
            changed |= ((seen >= 0) & (seen != agreed[:, None])).any(axis=1)
            whole = np.repeat(agreed[:, None], len(shown) + 1, axis=1)
            whole[:, having] = np.where(seen >= 0, seen, agreed[:, None])
            parts.append(whole.reshape(-1))
    found = numbered(parts).reshape(many, -1)
    found[changed, -1] = ABSENT
    return found


def _seen(columns: Sequence[pl.Series], places: Sequence[np.ndarray]) -> np.ndarray:
    """int64 (people, releases): the code of what each release shows of each, -1 for nothing."""
    codes = in_one_numbering(columns)
    found = [np.where(at >= 0, code[at], -1) for code, at in zip(codes, places, strict=True)]
    return np.column_stack(found)
