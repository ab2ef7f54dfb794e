"""Every microaggregation on any table: groups within the promised sizes, and means preserved."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.methods.microaggregation.base import PointSearch
from sfumato.registry import entries
from sfumato.rng import stream

SEARCHES = [entry.name for entry in entries("partitioner") if issubclass(entry.load(), PointSearch)]
ANY_SIZE = ("crest", "t-closeness-mst", "class-restricted")
"""They keep groups of k, and promise no more than that."""

number = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False))


@st.composite
def tables(draw: st.DrawFn, name: str) -> sf.Table:
    """Ties, missing values and constant columns are common in it."""
    n = draw(st.integers(3, 25))
    columns = 1 if name == "optimal-univariate" else draw(st.integers(1, 3))
    frame: dict[str, Any] = {
        f"x{j}": pl.Series(draw(st.lists(number, min_size=n, max_size=n)), dtype=pl.Float64)
        for j in range(columns)
    }
    if name not in ("optimal-univariate", "delaunay") and draw(st.booleans()):
        letters = st.sampled_from(["a", "b", "c", None])
        frame["kind"] = pl.Series(draw(st.lists(letters, min_size=n, max_size=n)), dtype=pl.String)
    quasi = list(frame)
    classes = draw(st.lists(st.sampled_from(["yes", "no"]), min_size=n, max_size=n))
    return sf.table(pl.DataFrame({**frame, "ill": classes}), quasi=quasi, confidential="ill")


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=25)
@given(data=st.data(), k=st.integers(2, 3), seed=st.integers(0, 9))
def test_sizes_and_means(name: str, data: st.DataObject, k: int, seed: int) -> None:
    table = data.draw(tables(name))
    search = sf.method(name, k=k)
    step = sf.step(search, then="centroid")
    outcome = step.run(table, stream(seed, 1, name))
    groups = outcome.partition
    assert isinstance(groups, sf.Partition)
    assert groups.smallest >= k
    most = 2 ** int(np.ceil(np.log2(k))) * 2 if name == "matching" else 2 * k
    if name not in ANY_SIZE:
        assert groups.sizes.max() < most
    for column in table.schema.quasi:
        if column == "kind":
            continue
        before, after = table[column].to_numpy(), outcome.table[column].to_numpy()
        for rows in groups:
            shown = after[rows]
            if np.isnan(shown).any():
                # Missing in the whole group, or suppressed since some of it miss the value.
                assert np.isnan(shown).all()
                assert np.isnan(before[rows]).any()
            else:
                scale = max(1.0, float(np.abs(before[rows]).max()))
                assert abs(shown.mean() - before[rows].mean()) <= 1e-9 * scale
