"""Masked numbers that stayed near, against counting record by record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.robust_distance import robust_distances
from sfumato.protocols import Context, Measure, Measurement
from sfumato.risk.attributes.near import DRisk, DRiskRobust
from tests.oracle import near as oracle


def _take(measure: Measure, original: Table, masked: Table, rows: Any = None) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    return measure.measure(Context(Pair(original, masked, place), np.random.default_rng(0)))


def _table(rows: Any) -> Table:
    columns = {f"v{j}": list(column) for j, column in enumerate(zip(*rows, strict=True))}
    return table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64)), quasi=[*columns])


value = st.one_of(st.none(), st.integers(-6, 6).map(float))
row = st.tuples(value, value, value)
files = st.lists(st.tuples(row, row), min_size=1, max_size=25)


@given(files, st.sampled_from([0.01, 0.05, 0.5, 1.5]))
def test_drisk_is_as_counted_one_by_one(pairs: Any, within: float) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    known = [any(v is not None for v in a) for a in x]
    measure = DRisk(within=within)
    if not any(known):
        with pytest.raises(MeasureError, match="no column has a value"):
            _take(measure, _table(x), _table(y))
        return
    found = _take(measure, _table(x), _table(y))
    near = oracle.all_near(x, y, within)
    counted = [float(hit) for hit, there in zip(near, known, strict=True) if there]
    assert found.value == pytest.approx(np.mean(counted))
    assert np.isnan(found.per_record).tolist() == [not there for there in known]
    assert found.per_record[known].tolist() == counted


@pytest.mark.parametrize(("masked", "share"), [(1.05, 1.0), (1.0500001, 0.5)])
def test_the_end_of_the_interval_is_inside(masked: float, share: float) -> None:
    # The masked deviation is 1, whatever the second record moves by.
    original = _table([(1.0,), (masked + 2**0.5,)])
    found = _take(DRisk(), original, _table([(masked,), (masked + 2**0.5,)]))
    assert found.value == share


@given(st.lists(st.tuples(row, row), min_size=2, max_size=25), st.sampled_from([0.01, 0.3]))
def test_drisk_robust_is_as_counted_one_by_one(pairs: Any, within: float) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    varying = [j for j in range(3) if len({a[j] for a in x} - {None}) > 1]
    measure = DRiskRobust(within=within, apart=0.5)
    known = [i for i, a in enumerate(x) if any(v is not None for v in a)]
    if not known or not varying:
        with pytest.raises(MeasureError, match="no column has"):
            _take(measure, _table(x), _table(y))
        return
    found = _take(measure, _table(x), _table(y))
    kept = [[x[i][j] for j in varying] for i in known]
    after = [[y[i][j] for j in varying] for i in known]
    scaled = np.array(kept, dtype=float)
    centre, scale = np.nanmean(scaled, axis=0), np.nanstd(scaled, axis=0)
    scaled = np.nan_to_num((scaled - centre) / scale, nan=0.0)
    seed = int(np.random.default_rng(0).integers(2**31))
    reach = within * robust_distances(scaled, seed).of
    near = oracle.any_near(kept, after, reach)
    assert found.value == pytest.approx(np.mean(near))
    everyone = (np.array([[b[j] for j in varying] for b in y], dtype=float) - centre) / scale
    gaps = [[None if np.isnan(v) else v for v in b] for b in everyone.tolist()]
    alone = [hit and not oracle.crowded(gaps, i, 0.5) for i, hit in zip(known, near, strict=True)]
    assert found.detail["risk2"] == pytest.approx(np.mean(alone))
    assert found.detail.get("constant_columns", []) == [
        f"v{j}" for j in range(3) if j not in varying
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", [DRisk(), DRiskRobust()])
def test_what_was_left_alone_is_near_and_what_was_shuffled_is_not(
    measure: Measure, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(500, 4))
    same = _take(measure, _table(x), _table(x))
    assert same.value == 1.0
    assert same.baseline < 0.15
    mixed = np.column_stack([rng.permutation(column) for column in x.T])
    assert _take(measure, _table(x), _table(mixed)).value < 0.15
    # Other columns may be in another order, and records too.
    order = rng.permutation(500)
    assert _take(measure, _table(x), _table(x[order]), rows=order).value == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_who_lies_far_out_is_recognized_from_afar(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(600, 2))
    x[:6] += 40.0
    masked = x + 0.3 * rng.choice([-1.0, 1.0], size=x.shape)
    found = _take(DRiskRobust(), _table(x), _table(masked)).per_record
    assert found[:6].all()
    assert found[6:].mean() < 0.2


def test_records_and_columns_that_are_gone_are_named() -> None:
    original = table(
        {"x": [1.0, 2.0, None, 9.0], "y": [5.0, 6.0, None, 7.0], "sex": list("fmfm")},
        quasi=["x", "y", "sex"],
    )
    masked = original.take(np.array([0, 1, 2]))
    for measure, wanted in ((DRisk(), 2 / 3), (DRiskRobust(), 2 / 3)):
        found = _take(measure, original, masked, rows=[0, 1, 2])
        assert found.value == pytest.approx(wanted)
        assert found.detail["left_out"] == {"sex": "has no numbers in both tables"}
        assert found.detail["records_without_values"] == 1
        assert found.detail["records_not_released"] == 1
    with pytest.raises(MeasureError, match="drisk: column 'sex' has no numbers"):
        _take(DRisk(columns=("sex",)), original, masked, rows=[0, 1, 2])


def test_a_column_that_the_release_makes_constant_is_near_where_it_is_equal() -> None:
    original = _table([(1.0,), (2.0,), (3.0,)])
    assert _take(DRisk(), original, _table([(2.0,)] * 3)).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("measure", [DRisk(), DRiskRobust()])
def test_who_belongs_to_whom_must_be_known(measure: Measure) -> None:
    t = _table([(1.0,), (2.0,)])
    with pytest.raises(MeasureError, match="which masked record"):
        measure.measure(Context(Pair(t, t, None), np.random.default_rng(0)))


@pytest.mark.parametrize("folder", ["tarragona", "census"])
def test_groups_of_casc_data(
    shared_data: Callable[[str], Path], golden_record: Callable[..., None], folder: str
) -> None:
    frame = pl.read_csv(shared_data("casc") / f"{folder}.csv", infer_schema_length=None)
    numbers = frame.select(pl.selectors.numeric())
    release = sf.protect(
        table(numbers, quasi=numbers.columns),
        sf.Plan.parse('[[steps]]\nuse = "mdav"\nk = 3\n'),
        seed=2**80,
    )
    x = numbers.to_numpy().astype(float)
    y = np.empty_like(x)
    y[release.pair.rows] = release.pair.masked.frame.select(numbers.columns).to_numpy()
    near = np.mean(oracle.all_near(x.tolist(), y.tolist(), 0.5))
    found = release.measure("drisk", within=0.5)
    golden_record(f"{folder}: drisk within half a deviation, MDAV with k = 3", near, found.value)
    assert found.value == pytest.approx(near)
    robust = release.measure("drisk-robust")
    reach = 0.01 * robust_distances((x - x.mean(axis=0)) / x.std(axis=0), 0).of
    any_near = oracle.any_near(x.tolist(), y.tolist(), reach.tolist())
    golden_record(f"{folder}: drisk-robust, MDAV with k = 3", np.mean(any_near), robust.value)
    # Which half of the records lies closest together depends a little on the seed.
    assert robust.value == pytest.approx(np.mean(any_near), abs=0.05)
    assert robust.detail["risk2"] == 0.0  # everybody has two equals
    # Census has a total beside its parts.
    idle = robust.detail.get("directions_without_variance", 0)
    assert idle == (1 if folder == "census" else 0)
