"""The solution space of full-domain generalization: its nodes, what is known of them, the best."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ..anonymity.lattice.full_domain import FullDomain
from ..anonymity.lattice.known import levels_of
from ..anonymity.lattice.lattice import Lattice
from ..anonymity.lattice.optimal import Budget, Found, optimal
from ..anonymity.lattice.strategies import AFFORDABLE, check_size
from ..anonymity.lattice.terms import Levels
from ..aside import replacing
from ..engines.relation import Whole
from ..errors import ParameterError
from ..progress import Listener, listening, report, silent
from ..release.records.run import as_plan, drafted, with_columns_of
from ..texts import json_text
from .figure_files import TABLES, check

ENDINGS = (*TABLES, ".json")
"""What a lattice can be written as."""
MOST_LISTED = 1 << 16
"""Nodes that are listed, or judged one by one."""
Verdict = Literal["optimal", "allowed", "refused", "ruled out", "open"]
_LOOKED_AT = ("optimal", "allowed", "refused")
_LISTED = ("optimal", "allowed", "open", "ruled out", "refused")


@dataclass(frozen=True)
class LatticeNode:
    """A level for each column, and what is known of publishing them."""

    levels: Mapping[str, int]
    height: int
    """The sum of the levels."""
    verdict: Verdict
    """optimal, allowed and refused were looked at. What is ruled out was not: it cannot be among
    the best that were asked for, or keeps less than a node that is refused. Of what is open nothing
    is known, since the search's budget ended."""
    value: float | None = None
    """The measure, where it may be published."""
    bound: float | None = None
    """What the measure is at least (of payout at most), where it was not looked at."""
    suppressed: float | None = None
    """The share of records that are suppressed; that would have to be, where it is refused."""
    classes: int | None = None
    """Combinations of labels that occur, those that are suppressed among them."""

    @property
    def words(self) -> str:
        """The line of a plan's full-domain step that publishes this node."""
        return f"levels = {{ {', '.join(f'{_key(k)} = {v}' for k, v in self.levels.items())} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True)
class SolutionSpace:
    """The nodes of a lattice. It is for the owner: shares of few people are told exactly."""

    measure: str
    highest: Mapping[str, int]
    """The highest level of each column."""
    size: int
    """Nodes that there are to choose from."""
    looked_at: int
    """Nodes whose records were grouped."""
    best: tuple[LatticeNode, ...]
    """The best nodes, the very best first."""
    nodes: tuple[LatticeNode, ...] = field(repr=False)
    """All nodes, finest columns last to change; of very large lattices those looked at."""
    ended: bool = False
    """Whether the search's budget ended it, so that there may be better ones."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The nodes as a table, their levels in columns such as "level of age"."""
        levels = {
            f"level of {name}": pl.Series(
                [node.levels[name] for node in self.nodes], dtype=pl.Int64
            )
            for name in self.highest
        }
        kinds = {
            "height": pl.Int64,
            "verdict": pl.String,
            "value": pl.Float64,
            "bound": pl.Float64,
            "suppressed": pl.Float64,
            "classes": pl.Int64,
        }
        more = {
            name: pl.Series([getattr(node, name) for node in self.nodes], dtype=dtype)
            for name, dtype in kinds.items()
        }
        return pl.DataFrame({**levels, **more})

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """Places in `nodes` of all pairs of which the second is one level up in one column."""
        place = {tuple(node.levels.values()): i for i, node in enumerate(self.nodes)}
        found = []
        for levels, i in place.items():
            for j in range(len(levels)):
                above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
                if above in place:
                    found.append((i, place[above]))
        return found

    def save(self, path: str | Path) -> None:
        """The nodes as .csv or .parquet, or all of it as .json; readable by you alone."""
        target = Path(path)
        check(target, "lattice", ENDINGS)
        with replacing(target, replace=True, private=True) as aside:
            if target.suffix == ".json":
                aside.write_text(json_text(self.to_dict(), indent=2), encoding="utf-8")
            elif target.suffix == ".csv":
                self.frame.write_csv(aside)
            else:
                self.frame.write_parquet(aside)

    def told(self, drawn: int, row: int, listed: int) -> dict[str, Any]:
        """What a page shows of it, as plain values: nodes worth a picture, with the edges between
        them (all up to `drawn` of them, else the best and what is around them, `row` of a height),
        and `listed` of the others, those first that may be published."""
        chosen = self._near(drawn, row)
        kept = {node: place for place, node in enumerate(chosen)}
        order = {verdict: i for i, verdict in enumerate(_LISTED)}

        def rank(i: int) -> tuple[int, float, int]:
            node = self.nodes[i]
            value = node.value if node.value is not None else node.bound
            cost = 0.0 if value is None else -value if self.measure == "payout" else value
            return order[node.verdict], cost, node.height

        rest = sorted((i for i in range(len(self.nodes)) if i not in kept), key=rank)
        edges = [(kept[a], kept[b]) for a, b in self.edges if a in kept and b in kept]
        place = {tuple(node.levels.values()): i for i, node in enumerate(self.nodes)}
        best = [place[tuple(node.levels.values())] for node in self.best]
        return {
            "measure": self.measure,
            "highest": dict(self.highest),
            "size": self.size,
            "known": len(self.nodes),
            "looked_at": self.looked_at,
            "ended": self.ended,
            "best": [kept[node] for node in best if node in kept],
            "nodes": [asdict(self.nodes[i]) for i in chosen],
            "edges": edges,
            "rest": [asdict(self.nodes[i]) for i in rest[:listed]],
        }

    def _near(self, most: int, row: int) -> list[int]:
        """Places of all nodes where they are few; else of the best and, height by height from
        theirs on, of so many that are tied to what was taken, or were looked at."""
        if len(self.nodes) <= most:
            return list(range(len(self.nodes)))
        beside: dict[int, list[int]] = {}
        for a, b in self.edges:
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)
        rows: dict[int, list[int]] = {}
        for i, node in enumerate(self.nodes):
            rows.setdefault(node.height, []).append(i)
        place = {tuple(node.levels.values()): i for i, node in enumerate(self.nodes)}
        found = {place[tuple(node.levels.values())] for node in self.best}
        middle = self.best[0].height if self.best else max(rows)

        def wanted(i: int) -> tuple[bool, int, int, float]:
            node, tied = self.nodes[i], sum(other in found for other in beside.get(i, ()))
            seen = _LOOKED_AT.index(node.verdict) if node.verdict in _LOOKED_AT else len(_LOOKED_AT)
            value = 0.0 if node.value is None else node.value
            return i not in found, seen if tied else seen + len(_LOOKED_AT) + 1, -tied, value

        for height in sorted(rows, key=lambda h: (abs(h - middle), h)):
            found.update(sorted(rows[height], key=wanted)[:row])
        return sorted(found)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "measure": self.measure,
            "highest": dict(self.highest),
            "size": self.size,
            "looked_at": self.looked_at,
            "ended": self.ended,
            "best": [asdict(node) for node in self.best],
            "nodes": [asdict(node) for node in self.nodes],
            "edges": self.edges,
        }


def lattice(
    table: Any,
    plan: Any = None,
    *,
    best: int = 5,
    exhaustive: bool = False,
    seed: int = 0,
    progress: Listener | None = None,
    **parameters: Any,
) -> SolutionSpace:
    """The nodes that `full-domain` chooses from, and the best of them, proved.

    `plan` is a full-domain method, or a plan or its file with such a step; or its parameters are
    given by name. The `best` nodes are found by branch and bound, and every other node of the
    lattice says what was found of it, or why it was left out. With `exhaustive` every node is
    judged. Steps before it are done first, as with that seed. To publish a node, give the step its
    `levels`.

    What it returns is for the owner of the table: it tells how many records stand out at which
    levels, however few they are.

    >>> from sfumato.data.table import table
    >>> people = table({"age": [30, 31, 31, 38], "sex": ["f", "f", "m", "m"]}, quasi=["age", "sex"])
    >>> found = lattice(people, k=2, best=2)
    >>> [(dict(node.levels), node.value) for node in found.best]
    [({'age': 1, 'sex': 0}, 0.5), ({'age': 1, 'sex': 1}, 1.0)]
    >>> found.best[0].words
    'levels = { age = 1, sex = 0 }'
    """
    if best < 1:
        raise ParameterError(f"the {best} best nodes are none", remedy="best = 1, or more")
    with listening(progress or silent):
        method, records = _asked(table, plan, parameters, seed)
        found, _ = method.counted(Whole(records.with_columns([])))
        check_size(found, "optimal")
        if exhaustive and found.size > MOST_LISTED:
            raise ParameterError(
                f"the lattice has {found.size:,} nodes, too many to judge each",
                remedy=f"levels, lowest or highest that leave {MOST_LISTED:,}, or no `exhaustive`",
            )
        return _Space(method, found, best, exhaustive=exhaustive).made()


def _asked(
    table: Any, plan: Any, parameters: Mapping[str, Any], seed: int
) -> tuple[FullDomain, Any]:
    """The step whose nodes are asked for, and the records as they come to it."""
    if plan is not None and parameters:
        raise ParameterError(
            f"the plan has the step's parameters, and {', '.join(parameters)} is given as well",
            remedy="change the plan, or give no plan",
        )
    whole = as_plan(FullDomain.build(parameters) if plan is None else plan)
    where = [i for i, step in enumerate(whole.steps) if isinstance(step.use, FullDomain)]
    if len(where) != 1:
        raise ParameterError(
            f"the plan has {len(where)} full-domain steps" if where else "the plan has no lattice",
            remedy='one step with use = "full-domain"',
        )
    records = with_columns_of(whole, table)
    before, method = whole.steps[: where[0]], whole.steps[where[0]].use
    if before:
        records = drafted(whole.with_(steps=before), records, seed, None)[0].pair.masked
    assert isinstance(method, FullDomain)
    return method, records


class _Space:
    """What a search leaves behind, node by node."""

    def __init__(
        self, method: FullDomain, lattice: Lattice, wanted: int, *, exhaustive: bool
    ) -> None:
        self.method, self.lattice, self.exhaustive = method, lattice, exhaustive
        budget = Budget(None, None) if exhaustive else Budget(method.seconds, method.steps)
        self.found: Found = optimal(lattice, budget, wanted)
        self.looked_at = lattice.looked_at

    def made(self) -> SolutionSpace:
        lattice = self.lattice
        nodes: Iterable[Levels] = product(*(range(size) for size in lattice.shape.tolist()))
        if self.exhaustive:
            nodes = list(nodes)
            for i, levels in enumerate(nodes):
                lattice.judge(levels)
                report("nodes judged", i, lattice.size)
            self.looked_at = lattice.looked_at
        seen = {one.levels for one in lattice.seen()}
        if lattice.size > MOST_LISTED or lattice.size * len(seen) > AFFORDABLE:
            nodes, bounds = sorted(seen), None
        else:
            bounds = self._bounds()
        return SolutionSpace(
            self.method.measure,
            {one.name: one.last for one in lattice.ladders},
            lattice.size,
            self.looked_at,
            tuple(self._judged(levels) for _, _, levels in self.found.best),
            tuple(self._judged(v) if v in seen else self._left(v, bounds) for v in nodes),
            self.found.ended,
        )

    def _judged(self, levels: Levels) -> LatticeNode:
        lattice = self.lattice
        seen, judged = lattice.see(levels), lattice.judge(levels)
        verdict: Verdict = "allowed" if judged.allowed else "refused"
        if levels == self.found.levels and not self.found.ended:
            verdict = "optimal"
        gone = judged.suppressed if judged.allowed else seen.short
        share = gone / lattice.n
        if not judged.allowed and seen.short <= lattice.terms.most:
            share = lattice.least_suppression(levels)
        value = lattice.published(judged.value) if judged.allowed else None
        names = dict(levels_of(lattice, levels))
        height = sum(names.values())
        return LatticeNode(names, height, verdict, value, None, share, seen.classes)

    def _left(self, levels: Levels, bounds: np.ndarray | None) -> LatticeNode:
        names = dict(levels_of(self.lattice, levels))
        assert bounds is not None
        bound = self.lattice.published(int(bounds[levels]))
        verdict: Verdict = "open" if self.found.ended else "ruled out"
        return LatticeNode(names, sum(names.values()), verdict, None, bound)

    def _bounds(self) -> np.ndarray:
        """int64: what each node costs at least, by what was seen above and below it."""
        lattice = self.lattice
        owed = np.zeros(lattice.shape.tolist(), dtype=np.int64)
        floors = lattice.objective.floors().reshape(owed.shape)
        for seen in lattice.seen():
            below = tuple(slice(0, level + 1) for level in seen.levels)
            np.maximum(owed[below], seen.owed, out=owed[below])
            if lattice.objective.upward:
                above = tuple(slice(level, None) for level in seen.levels)
                np.maximum(floors[above], seen.least, out=floors[above])
        # Either holds: what is owed is beside the floor alone.
        owing = lattice.objective.floors().reshape(owed.shape) + owed
        return np.asarray(np.maximum(owing, floors))
