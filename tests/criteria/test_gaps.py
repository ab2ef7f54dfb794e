"""Sums over the records that may be confused, each record compared with each."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.classes import equivalence_classes
from sfumato.criteria.gaps import Gaps
from sfumato.data.table import table
from tests.oracle.individual_risk import matches

cells = st.sampled_from(["a", "b", None])
rows = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=25)


@given(rows, st.integers(0, 2**20))
def test_figures_of_all_that_match_are_added(found: list[tuple[object, ...]], seed: int) -> None:
    frame = pl.DataFrame(found, schema=dict.fromkeys("xyz", pl.String), orient="row")
    t = table(frame, quasi=list("xyz"))
    weight = np.random.default_rng(seed).uniform(0.5, 9, len(found))
    classes = equivalence_classes(t)
    sums = np.bincount(classes.labels, weights=weight)
    gaps = Gaps.of(t, classes)
    assert gaps.cells == sum(cell is None for row in found for cell in row)
    many, heavy = (classes.of_records(one) for one in gaps.sums(classes.sizes, sums))
    for i, row in enumerate(found):
        alike = [j for j, other in enumerate(found) if matches(row, other, wildcard=True)]
        assert many[i] == len(alike)
        assert np.isclose(heavy[i], weight[alike].sum())
