"""A decision tree from a noisy release, as if it had been grown on the original.

A tree that is grown on noisy values finds blurred borders. Where the noise has a known
distribution, that of each column within each class can be had back, and the noisy values of a class
are put where it has them, in their order. An ordinary tree is grown on the result (Agrawal &
Srikant 2000, Privacy-preserving data mining: reconstruction by class). What the noise did to how
columns go together within a class stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...data.codec import encode, floats
from ...data.schema import ORDERED, SET_ASIDE, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...methods.noise.base import NoiseMethod
from ...poset.values.text import text
from .recover import undoable
from .release import Release

MOST_CLASSES = 50
"""Values of a column that are taken for classes or categories."""
_LEAST_LEAF = 10


@dataclass(frozen=True, eq=False)
class RecoveredTree:
    """A tree for one column, and the records that it was grown on."""

    target: str
    classes: tuple[Any, ...]
    columns: tuple[str, ...]
    recovered: tuple[str, ...]
    """Those whose noise was undone, class by class."""
    training: Table
    """The release with these columns as their classes have them, for other models."""
    leaf: int
    """Records that a leaf must have."""

    def predict(self, table: Table) -> list[Any]:
        """The class of each record of a table that has these columns."""
        found = self.model.predict(np.column_stack([one.of_table(table) for one in self._features]))
        return [self.classes[int(code)] for code in found]

    @property
    def rules(self) -> str:
        """The tree in words, one line to a question or an answer."""
        from sklearn.tree import export_text

        names = [name for one in self._features for name in one.names]
        return str(
            export_text(self.model, feature_names=names, class_names=[*map(text, self.classes)])
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "target": self.target,
            "classes": list(self.classes),
            "columns": list(self.columns),
            "recovered": list(self.recovered),
            "leaf": self.leaf,
            "rules": self.rules,
        }

    @cached_property
    def model(self) -> Any:
        """The tree, as scikit-learn has it; classes are their places in `classes`."""
        from sklearn.tree import DecisionTreeClassifier

        code = encode(self.training[self.target]).codes.astype(np.int64) - 1
        rows = np.flatnonzero(code >= 0)
        x = np.column_stack([one.of_table(self.training) for one in self._features])
        tree = DecisionTreeClassifier(min_samples_leaf=self.leaf, random_state=0)
        return tree.fit(x[rows], code[rows])

    @cached_property
    def _features(self) -> list[_Feature]:
        return [_Feature.of(self.training, name) for name in self.columns]


@dataclass(frozen=True)
class _Feature:
    """A column as a tree takes it: its numbers, or a mark for each of its categories."""

    column: Column
    levels: tuple[Any, ...] | None

    @classmethod
    def of(cls, table: Table, name: str) -> _Feature:
        column = table.schema[name]
        if column.kind in ORDERED and not column.generalized:
            return cls(column, None)
        return cls(column, tuple(encode(table[name]).domain.to_list()))

    @property
    def names(self) -> list[str]:
        name = self.column.name
        return [name] if self.levels is None else [f"{name} = {text(v)}" for v in self.levels]

    def of_table(self, table: Table) -> np.ndarray:
        series = table[self.column.name]
        if self.levels is None:
            return floats(series, table.schema[self.column.name])[:, None]
        return np.column_stack([(series == level).fill_null(False) for level in self.levels])


def recover_tree(
    release: Release | str | Path,
    target: str,
    *,
    columns: Sequence[str] = (),
    leaf: int = 0,
) -> RecoveredTree:
    """A decision tree for the classes of one column, from a noisy release or its public folder.

    `columns` are asked about (all that can be, unless given). `leaf` is how many records a leaf
    must have: a hundredth of all, and ten at least, unless given. The classes themselves must be
    published as they are.
    """
    made = undoable(release)
    table, code = made.table, _classes(made.table, target)
    if target in made.touched or target in columns:
        raise MethodError(
            f"column {target!r} was masked itself, or is asked about: its classes are not known",
            remedy="name a column that is published as it was",
        )
    series: list[pl.Series] = []
    for step in made.steps:
        if isinstance(step.method, NoiseMethod) and "distribution" in step.method.recovers:
            found = step.method.by_group(table, step.did, code)
            series += [pl.Series(name, values) for name, values in found.items()]
    if not series:
        raise MethodError(
            "no step of the release added noise whose distribution is known",
            remedy="grow a tree on the release as it is",
        )
    known = [one.name for one in series]
    changed = [table.schema[name].with_(kind=Kind.CONTINUOUS) for name in known]
    training = table.with_columns([one.fill_nan(None) for one in series], changed)
    asked = tuple(columns) or _askable(training, target)
    least = leaf or max(_LEAST_LEAF, table.height // 100)
    classes = tuple(encode(table[target]).domain.to_list())
    return RecoveredTree(target, classes, asked, tuple(known), training, least)


def _classes(table: Table, target: str) -> np.ndarray:
    """The class of each record: 0, 1, ..., and -1 for none."""
    column = table.schema[target]
    found = encode(table[target])
    if column.kind in (Kind.SET, Kind.TEXT) or not 2 <= len(found.domain) <= MOST_CLASSES:
        raise MethodError(
            f"column {target!r} has {len(found.domain):,} values, and is no column of classes",
            remedy=f"name one that has 2 to {MOST_CLASSES}",
        )
    return found.codes.astype(np.int64) - 1


def _askable(table: Table, target: str) -> tuple[str, ...]:
    """The columns that a tree can ask about."""
    return tuple(
        c.name
        for c in table.schema
        if c.name != target
        and c.role not in SET_ASIDE
        and c.kind not in (Kind.SET, Kind.TEXT)
        and (c.kind in ORDERED or table[c.name].n_unique() <= MOST_CLASSES)
    )
