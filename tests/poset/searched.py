"""What every poset must keep to in searches and in releases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymity.mondrian import Mondrian
from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.cell_costs import CostRule, cell_costs
from sfumato.data.points.space import space_of
from sfumato.data.table import Table, table
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.or_missing import OrMissing
from sfumato.poset.values.text import or_missing
from sfumato.protocols import PosetSource


def one_column(source: PosetSource, values: Sequence[Any], kind: str | None = None) -> Table:
    """A table with a single quasi-identifier."""
    kinds = {"x": kind} if kind else {}
    return table(pl.DataFrame({"x": values}), kinds=kinds, posets={"x": source}, quasi=["x"])


def check_joins(
    source: PosetSource,
    values: Sequence[Any],
    kind: str | None = None,
    rules: Sequence[CostRule] = ("ncp", "height"),
) -> None:
    """The kernel's costs are the poset's, for every pair of records and for each alone."""
    made = one_column(source, values, kind)
    coded = code(made, "x")
    poset, given = coded.poset, coded.codes.tolist()
    for by in rules:
        cells = cell_costs(Matrix(made, ["x"]), by=by)
        states = cells.states.tolist()
        top = max(poset.height("*"), 1)
        for i, j in combinations_with_replacement(range(len(states)), 2):
            pairs = enumerate(zip(states[i], states[j], strict=True))
            bound = [(c, join(cells.joins, c, a, b)) for c, (a, b) in pairs]
            found = sum(cell_cost(cells.joins, c, state) for c, state in bound)
            if not given[i] or not given[j]:
                assert found == pytest.approx(float(given[i] != given[j]))
                continue
            pair = sorted({given[i], given[j]})
            (label,) = poset.set_labels(np.array([0, len(pair)]), np.array(pair))
            expected = poset.measure(label) if by == "ncp" else poset.height(label) / top
            assert found == pytest.approx(expected, abs=1e-12)


def check_release(
    source: PosetSource, values: Sequence[Any], kind: str | None = None, k: int = 2
) -> Table:
    """Mondrian's groups are published as their bounds, and the release measures as the poset."""
    made = one_column(source, values, kind)
    rng = np.random.default_rng(1)
    found = Mondrian(k=k).partition(Matrix(made, ["x"]), rng)
    masked = Generalize().apply(made, found, ["x"], rng).table
    poset = code(made, "x").poset
    plain = code(made, "x").codes
    published = masked["x"].cast(pl.String).to_list()
    reader = OrMissing(poset) if (plain == 0).any() else poset
    costs = [0.0 if label is None else reader.measure(label) for label in published]
    assert sf.measure("ncp", made, masked).value == pytest.approx(float(np.mean(costs)))
    assert sf.measure("ncp", made, made).value == 0
    for group in range(found.groups):
        rows = np.flatnonzero(found.labels == group)
        members = np.unique(plain[rows])
        assert len({published[row] for row in rows.tolist()}) == 1
        if members[0] > 0:
            (label,) = poset.set_labels(np.array([0, members.size]), members)
            assert published[rows[0]] == label
        elif members.size > 1:
            (label,) = poset.set_labels(np.array([0, members.size - 1]), members[1:])
            assert published[rows[0]] == or_missing(label)
    assert len(space_of(Matrix(made, ["x"])).points) == len(values)
    return masked
