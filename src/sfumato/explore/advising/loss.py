"""What a release loses for its purpose: one figure, and that of each use and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...data.codec import floats
from ...data.pair import Pair
from ...data.schema import NUMERIC, SET_ASIDE, Column, Kind
from ...data.table import Table
from ...errors import MeasureError, ParameterError, SfumatoError
from ...protocols import Context, Measure, Measurement
from ...release.plan.plan import Purpose
from ...utility.analyses.prediction import PredictionLoss
from ...utility.distributions.marginals import Marginals

PAIRS = "pairs of columns"
"""How the loss of all pairs of columns together is called."""

_LOOKED_AT = 1_000
"""Records by which it is seen whether a column can be compared."""

Take = Callable[[Measure, Pair], Measurement]


@dataclass(frozen=True)
class Loss:
    """The mean of what is lost of the uses, of the target and of the totals: 0 nothing, 1 all.

    A use is judged by `marginals` of its column, or of its pairs of columns; a column that is not
    published counts as suppressed. Of a target it is the share of what a model knows beyond the
    naive guess that is no longer learnt; of a total its relative change.
    """

    uses: Mapping[str, tuple[str, ...]]
    """Columns by the name of the use."""
    weights: tuple[float, ...]
    target: str
    totals: tuple[str, ...]
    columns: tuple[str, ...]
    """Every column that can be compared, for what is said of each."""

    @classmethod
    def of(cls, purpose: Purpose, table: Table, dropped: frozenset[str]) -> Loss:
        """That of a purpose, for a table of which some columns are never published."""
        open_ = [c.name for c in table.schema if c.role not in SET_ASIDE and c.name not in dropped]
        _check(purpose, table, open_)
        columns = tuple(name for name in open_ if _compared(table, name))
        if not columns:
            taken = ", ".join(f"{c.name} is {_taken(c)}" for c in table.schema)
            raise ParameterError(
                f"the table has no column by which releases could be compared: {taken}",
                remedy="sfumato init FILE drafts a plan: give a column the role quasi, "
                "confidential or insensitive there, then sfumato advise PLAN",
            )
        if purpose.uses:
            uses = _named(purpose)
            weights = purpose.weights or (1.0,) * len(uses)
        elif purpose.target:
            others = [name for name in columns if name != purpose.target]
            uses = {f"{name} by {purpose.target}": (name, purpose.target) for name in others}
            weights = (1.0,) * len(uses)
        else:
            uses, weights = {PAIRS: columns}, (1.0,)
        return cls(uses, weights, purpose.target, purpose.totals, columns)

    def figures(
        self, pair: Pair, take: Take, others: Table | None = None
    ) -> tuple[float, dict[str, float], dict[str, float]]:
        """The loss of a release, that of each part, and that of each column by itself. `others` are
        people who are not in it, on whom models are tested."""
        parts = {name: _distance(use, pair, take) for name, use in self.uses.items()}
        groups = [float(np.average(list(parts.values()), weights=self.weights))] if parts else []
        if self.target:
            parts[f"model of {self.target}"] = lost = _unlearnt(self.target, pair, take, others)
            groups.append(lost)
        if self.totals:
            changes = {f"total of {name}": _changed(name, pair) for name in self.totals}
            parts |= changes
            groups.append(float(np.mean(list(changes.values()))))
        alone = {name: _distance((name,), pair, take) for name in self.columns}
        return float(np.mean(groups)), parts, alone


def _named(purpose: Purpose) -> dict[str, tuple[str, ...]]:
    """The uses by a name of each: what columns are called may make two of them alike, or like what
    else is judged."""
    taken = {PAIRS, f"model of {purpose.target}", *(f"total of {name}" for name in purpose.totals)}
    found: dict[str, tuple[str, ...]] = {}
    for use in purpose.uses:
        name = " by ".join(use)
        found[repr(use) if name in taken or name in found else name] = use
    return found


def _taken(column: Column) -> str:
    return "a set" if column.kind == Kind.SET else str(column.role)


def _check(purpose: Purpose, table: Table, open_: list[str]) -> None:
    """Raise where a purpose names what will not be published, or no number as a total."""
    used = [name for use in purpose.uses for name in use]
    for name in (*used, *((purpose.target,) if purpose.target else ()), *purpose.totals):
        if name not in open_:
            raise ParameterError(
                f"the purpose uses {name!r}, which is not published "
                f"(its role is {table.schema[name].role})",
                remedy="give the column another role, or leave it out of the purpose",
            )
        if name in used and not _compared(table, name):
            raise ParameterError(
                f"the purpose uses {name!r}, of which no distribution can be compared",
                remedy="leave it out of the purpose",
            )
    for name in purpose.totals:
        if table.schema[name].kind not in NUMERIC:
            raise ParameterError(
                f"the purpose wants the total of {name!r}, which holds no numbers",
                remedy='name columns of numbers: totals = ["income"]',
            )
    if purpose.target and table.schema[purpose.target].kind == Kind.SET:
        raise ParameterError(
            f"no model predicts {purpose.target!r}, a column of sets",
            remedy="name a column of single values as target",
        )


def _compared(table: Table, name: str) -> bool:
    """Whether a release of the column could be compared with it."""
    some = table.take(np.arange(min(table.height, _LOOKED_AT)))
    try:
        _marginals((name,)).measure(Context(Pair.of(some, some), np.random.default_rng(0)))
    except SfumatoError:
        return False
    return True


def _marginals(columns: tuple[str, ...]) -> Marginals:
    return Marginals(columns=columns, unpublished="suppressed")


def _distance(use: tuple[str, ...], pair: Pair, take: Take) -> float:
    return take(_marginals(use), pair).value


def _unlearnt(target: str, pair: Pair, take: Take, others: Table | None) -> float:
    """The share of what is known beyond the naive guess that a model no longer learns.

    Where rows are nobody's, a model of the originals would be tested on those it was trained on,
    and the best synthesis seem to lose what that one only knows by heart: both are then tested on
    others, as both are by folds where rows are people's.
    """
    measure = PredictionLoss(target=target)
    try:
        if pair.rows is None and others is not None and set(pair.original.names) <= {*others.names}:
            bare, found = (
                take(measure, Pair(others, side, None)).detail["scores"]
                for side in (pair.original, pair.masked)
            )
            lost, known = bare["masked"] - found["masked"], bare["masked"] - bare["constant"]
        else:
            whole = take(measure, pair)
            lost, known = whole.value, whole.baseline or 0.0
    except MeasureError:
        return 1.0  # it is not published as values
    return min(max(lost / known, 0.0), 1.0) if known > 0 else 0.0


def _changed(name: str, pair: Pair) -> float:
    """The relative change of a column's total; 1 where it is not published as numbers."""
    if name not in pair.masked.schema:
        return 1.0
    masked = pair.masked.schema[name]
    if masked.generalized or masked.kind not in NUMERIC:
        return 1.0
    sums = [floats(t[name], t.schema[name]) for t in (pair.original, pair.masked)]
    size = float(np.nansum(np.abs(sums[0])))
    apart = abs(float(np.nansum(sums[1]) - np.nansum(sums[0])))
    return min(apart / size, 1.0) if size else float(apart > 0)
