"""Whether a step did what it declares. What can be seen of that is checked, and nothing of a step
that did otherwise is published.

A step says which columns it may change, whether it draws, perturbs and regroups (protocols.py), and
its outcome which rows are left and which groups were made. Promises rest on these words.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ...data.codec import code
from ...data.partition import Cover, Partition
from ...data.schema import NUMERIC, Role
from ...errors import MethodError
from ...protocols import Declaration, Method, Outcome
from ...rng import Key

if TYPE_CHECKING:
    from ...data.table import Table
    from ..plan.step import Step

_SLICE = 1 << 20
"""Rows that are compared at once: at ten million, a second copy of a column would not fit."""


@contextlib.contextmanager
def drawing(thing: Declaration, rng: np.random.Generator, *, declared: bool) -> Iterator[None]:
    """Refuse who draws from the stream without having said so."""
    before = str(rng.bit_generator.state)
    yield
    if not declared and str(rng.bit_generator.state) != before:
        raise _drew(thing)


class _Undeclared(Key):
    """The key of a method that says it does not draw: whoever asks it for numbers is refused."""

    __slots__ = ("doer",)

    def __init__(self, doer: Declaration) -> None:
        super().__init__(b"")
        self.doer = doer

    def of(self, *words: object) -> Key:
        return self

    @property
    def words(self) -> np.ndarray:
        raise _drew(self.doer)

    def stream(self) -> np.random.Generator:
        raise _drew(self.doer)


def declared_key(thing: Declaration, key: Key, *, declared: bool) -> Key:
    """The key for a method's random numbers, where it said that it draws any."""
    return key if declared else _Undeclared(thing)


def _drew(thing: Declaration) -> MethodError:
    return MethodError(
        f"{thing.name} draws at random and does not say so",
        remedy=f"declare `random` in {type(thing).__name__}",
    )


def check_declared(step: Step, before: Table, outcome: Outcome, touched: set[str]) -> None:
    """Raise a `MethodError` where a step did what it does not declare, or beyond `touched`."""
    for after in (outcome.table, *outcome.copies):
        if after.names != outcome.table.names:
            raise _refused(step, "made releases of other columns", "give all the same columns")
        _check_rows(step, before, after, outcome)
        _check_columns(step, before, after, outcome, touched)
        _check_groups(step, before, after, outcome, touched)
        if isinstance(step.use, Method) and outcome.linked:
            _check_names(step, before, after, outcome)
            if step.use.random and step.use.perturbs is False:
                _check_truth(step, before, after, outcome)


def _refused(step: Step, what: str, remedy: str) -> MethodError:
    doer = step.use if step.then is None else step.then
    return MethodError(f"{doer.name} {what}", remedy=f"{remedy} ({type(doer).__name__})")


def _check_rows(step: Step, before: Table, after: Table, outcome: Outcome) -> None:
    """Rows are all there, or told by `Outcome.rows`, or stem from nobody."""
    rows = outcome.rows
    if not outcome.linked:
        if not step.perturbs or rows is not None or outcome.partition is not None:
            raise _refused(
                step, "makes records of its own and says otherwise", "declare that it perturbs"
            )
    elif rows is None:
        if after.names and after.height != before.height:  # without columns there are no records
            raise _refused(
                step,
                f"made {after.height:,} records of {before.height:,} and does not say of which",
                "return Outcome(rows=...)",
            )
    elif (
        rows.shape != (after.height,)
        or rows.dtype.kind not in "iu"
        or (rows.size and not 0 <= rows.min() <= rows.max() < before.height)
        or (rows.size and np.bincount(rows).max() > 1)
    ):
        raise _refused(step, "names rows that it was not given", "return Outcome(rows=...)")


def _check_columns(
    step: Step, before: Table, after: Table, outcome: Outcome, touched: set[str]
) -> None:
    """Only the columns that it touches have changed, and none is new or has another role."""
    remedy = "declare it in `touches`"
    for name in after.names:
        if name not in before.schema:
            column = after.schema[name]
            if name in touched and column.role == Role.WEIGHT and column.kind in NUMERIC:
                continue  # a sample's design weights
            # It would have no role, and so be no part of what is counted, whatever it holds.
            raise _refused(step, f"made column {name!r}", "change columns that there are")
        if name not in touched and not outcome.linked:
            raise _refused(step, f"made column {name!r}, which it does not declare", remedy)
        if after.schema[name].role != before.schema[name].role:
            raise _refused(step, f"changed the role of column {name!r}", "leave roles alone")
    if not outcome.linked:
        return
    for name in before.names:
        if name in touched:
            continue
        if name not in after.schema:
            raise _refused(step, f"dropped column {name!r}, which it does not declare", remedy)
        if after.schema[name] != before.schema[name] or not _same(before, after, name, outcome):
            raise _refused(step, f"changed column {name!r}, which it does not declare", remedy)


def _same(before: Table, after: Table, name: str, outcome: Outcome) -> bool:
    """Whether a column holds what it held, row by row."""
    marks, rows = before.suppressed(name), outcome.rows
    if not np.array_equal(marks if rows is None else marks[rows], after.suppressed(name)):
        return False
    if rows is None:
        return before[name].equals(after[name], null_equal=True)
    return _equal_at(before[name], rows, after[name])


def _equal_at(source: pl.Series, rows: np.ndarray, made: pl.Series) -> bool:
    """Whether made[i] is source[rows[i]] everywhere."""
    return all(
        source.gather(rows[at : at + _SLICE]).equals(made.slice(at, _SLICE), null_equal=True)
        for at in range(0, rows.size, _SLICE)
    )


def _check_groups(
    step: Step, before: Table, after: Table, outcome: Outcome, touched: set[str]
) -> None:
    """Records of a group look alike in what was changed, unless values were drawn for them: else
    groups that overlap could pass for classes. Whoever regroups makes them alike in all it
    touches."""
    found = outcome.partition
    if found is None:
        return
    if len(found) != after.height:
        raise _refused(
            step, f"groups {len(found):,} records of {after.height:,}", "label every record"
        )
    if step.perturbs or isinstance(found, Cover):
        return
    first = _first_of_group(found)
    for name in sorted(touched):
        if name not in after.schema:
            continue
        as_before = _same(before, after, name, outcome)
        if as_before and not step.regroups:
            continue
        if not _equal_at(after[name], first, after[name]):
            if as_before and code(before, name).structure.unchanged:
                continue  # the column's owner lets it through
            raise _refused(
                step,
                f"says that it makes classes, yet records of one group differ in column {name!r}",
                "return a Cover where groups overlap, or declare that it perturbs",
            )


def _first_of_group(found: Partition) -> np.ndarray:
    """The first row of each row's group; a suppressed record stands for itself."""
    own = np.arange(len(found))
    first = np.zeros(found.groups, dtype=np.int64)
    inside = found.labels >= 0
    first[found.labels[inside][::-1]] = own[inside][::-1]
    return np.where(inside, first[found.labels] if found.groups else own, own)


def _check_names(step: Step, before: Table, after: Table, outcome: Outcome) -> None:
    """Whoever says that identifiers no longer name anyone has left none as it was."""
    if not (isinstance(step.use, Method) and step.use.handles_identifiers):
        return
    for name in step.use.targets(before)[0]:
        named = before.schema[name].role in (Role.IDENTIFIER, Role.HOUSEHOLD)
        if not named or name not in after.schema:
            continue
        was, now = before[name], after[name]
        if outcome.rows is not None:
            was = was.gather(outcome.rows)
        if was.dtype != now.dtype:
            was, now = was.cast(pl.String, strict=False), now.cast(pl.String, strict=False)
        if (was == now).any():
            raise _refused(
                step,
                f"says that column {name!r} no longer names anyone, and left names as they were",
                "do not declare `handles_identifiers`",
            )


def _check_truth(step: Step, before: Table, after: Table, outcome: Outcome) -> None:
    """A method that draws and does not perturb suppresses cells, renames values one to one, or
    publishes groups that look alike; anything else it does to a quasi-identifier is noise."""
    found = outcome.partition
    alone = None  # groups of several were found to look alike
    if isinstance(found, Partition):
        alone = np.append(found.sizes == 1, True)[found.labels]
    for name in before.schema.quasi:
        if name not in after.schema or _same(before, after, name, outcome):
            continue
        kept = ~after.suppressed(name)
        was, now = _there(
            before, after, name, outcome.rows, kept if alone is None else kept & alone
        )
        if was.equals(now, null_equal=True):
            continue
        if not _pairs(was, now) == was.n_unique() == now.n_unique():
            raise _refused(
                step,
                f"says that it does not perturb, and gave column {name!r} other values at random",
                "declare that it perturbs",
            )


def locally_recoded(before: Table, outcome: Outcome, touched: set[str]) -> set[str]:
    """The quasi-identifiers whose labels are not told by the values that they stand for, such as
    an interval around each record: where no groups were named, these may overlap."""
    found = set()
    for table in (outcome.table, *outcome.copies):
        for name in table.schema.quasi:
            if name in touched and table.schema[name].generalized:
                kept = ~table.suppressed(name)
                was, now = _there(before, table, name, outcome.rows, kept)
                if _pairs(was, now) != was.n_unique():
                    found.add(name)
    return found


def _there(
    before: Table, after: Table, name: str, rows: np.ndarray | None, kept: np.ndarray
) -> tuple[pl.Series, pl.Series]:
    """A column before and after, of these records."""
    given = before[name] if rows is None else before[name].gather(rows)
    return given.filter(kept), after[name].filter(kept)


def _pairs(was: pl.Series, now: pl.Series) -> int:
    """How many different values became how many others."""
    return was.alias("was").to_frame().with_columns(now.alias("now")).unique().height
