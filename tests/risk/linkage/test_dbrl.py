"""Distance-based record linkage against every pair, and against the published table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage.base import random_scenarios, scenarios
from sfumato.risk.linkage.dbrl import Dbrl
from sfumato.risk.linkage.distances import features
from sfumato.risk.linkage.nearest import RecordLinkage
from tests.oracle import distance_linkage as oracle

DISTANCES = [
    "euclidean",
    "standardized",
    "standardized-difference",
    "city-block",
    "mahalanobis",
    "mahalanobis-linked",
    "kernel",
]


def _table(x: np.ndarray) -> Table:
    names = [f"v{j}" for j in range(x.shape[1])]
    return table(pl.DataFrame(x, schema=names, orient="row"), quasi=names)


def _take(
    original: Table,
    masked: Table,
    rows: object = None,
    reference: Table | None = None,
    **parameters: object,
) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(3), reference=reference)
    return Dbrl(**parameters).measure(context)


@given(
    st.sampled_from(DISTANCES),
    st.integers(4, 20),
    st.integers(1, 3),
    st.floats(0.05, 2),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_it_is_as_by_every_pair(
    kind: str, n: int, p: int, noise: float, repeated: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)
    y = x + noise * rng.normal(size=(n, p))
    if repeated:
        y[1::2] = y[::2][: n // 2]  # masked records that cannot be told apart
    released = rng.permutation(n)[: max(p + 2, n - 3)]
    own = [int(np.flatnonzero(released == i)[0]) if i in released else -1 for i in range(n)]
    y = y[released]
    apart = oracle.squared(kind, x, y, own)
    assume(not oracle.doubtful(apart, own))
    expected = oracle.credits(apart, own)
    found = _take(_table(x), _table(y), released, distance=kind)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx(expected)
    assert found.value == pytest.approx(np.mean(expected))
    assert found.baseline == pytest.approx(len(released) / n / len(y))
    assert found.interval[0] == pytest.approx(np.mean([c == 1 for c in expected]))
    assert found.interval[1] == pytest.approx(np.mean([c > 0 for c in expected]))
    assert found.detail.get("records_not_released", 0) == n - len(released)


@pytest.mark.golden
def test_the_published_table_of_five_distances(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """EIA masked by IPSO-A: the quasi-identifiers fitted by regression on the other five columns.

    Torra's slides (Torra, Abowd & Domingo-Ferrer 2006), links of 4,092. The slide heads the two
    Mahalanobis columns the wrong way round (distances.py).
    """
    frame = pl.read_csv(shared_data("casc") / "eia.csv")
    v = frame.select(frame.columns[-10:]).to_numpy().astype(float)
    known, others = [0, 1, 6, 7, 8], [2, 3, 4, 5, 9]
    design = np.column_stack([np.ones(len(v)), v[:, others]])
    design /= np.linalg.norm(design, axis=0)
    fitted = design @ np.linalg.lstsq(design, v[:, known], rcond=None)[0]
    original, masked = _table(v[:, known]), _table(fitted)
    published = {
        ("v0",): (14, 9, 9, 9, 14),
        ("v0", "v2", "v3"): (16, 15, 18, 9, 16),
        ("v0", "v1", "v2", "v3", "v4"): (65, 121, 3206, 143, 63),
    }
    kinds = (
        "standardized",
        "standardized-difference",
        "mahalanobis-linked",
        "mahalanobis",
        "kernel",
    )
    for columns, figures in published.items():
        for kind, figure in zip(kinds, figures, strict=True):
            found = _take(original, masked, columns=columns, distance=kind)
            links = round(found.value * len(v), 6)
            golden_record(f"IPSO-A, {len(columns)} known, {kind}", figure, links)
            assert links == figure


def test_without_categories_it_is_record_linkage() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    original, masked = _table(x), _table(np.round(x + 0.5 * rng.normal(size=x.shape), 1))
    context = Context(Pair.of(original, masked), np.random.default_rng(0))
    assert Dbrl().measure(context).value == RecordLinkage().measure(context).value


def test_categories_and_missing_values_are_compared_too() -> None:
    original = table({"x": [1.0, 2.0, None, 4.0], "s": ["a", "b", "b", "a"]}, quasi=["x", "s"])
    masked = table({"x": [4.0, 2.0, None, 1.0], "s": ["a", "b", "b", "a"]}, quasi=["x", "s"])
    found = _take(original, masked)
    # The first and the last are each other's; a missing value is nearest to a missing one.
    assert found.per_record.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert found.detail["columns"] == ["x", "s"]


def test_scenarios_are_averaged() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 4))
    original, masked = _table(x), _table(x + 0.4 * rng.normal(size=x.shape))
    alone = [_take(original, masked, columns=tuple(f"v{j}" for j in range(k))) for k in range(1, 4)]
    found = _take(original, masked, scenarios=3)
    assert list(found.detail["scenarios"]) == ["v0", "v0, v1", "v0, v1, v2"]
    assert list(found.detail["scenarios"].values()) == [one.value for one in alone]
    assert found.value == pytest.approx(np.mean([one.value for one in alone]))
    assert found.per_record == pytest.approx(np.mean([one.per_record for one in alone], axis=0))
    assert alone[0].value < alone[2].value
    # More scenarios than columns are as many as there are.
    assert len(_take(original, masked, scenarios=9).detail["scenarios"]) == 4
    shuffled = _take(original, masked, scenarios=4, subsets="random")
    assert list(shuffled.detail["scenarios"])[-1] == "v0, v1, v2, v3"


def test_which_columns_a_scenario_knows() -> None:
    assert scenarios(["a", "b", "c"], 0) == [["a", "b", "c"]]
    assert scenarios(["a", "b", "c"], 7) == [["a"], ["a", "b"], ["a", "b", "c"]]
    with pytest.raises(ValueError, match="negative"):
        scenarios(["a"], -1)
    rng = np.random.default_rng(0)
    firsts = {random_scenarios(["a", "b", "c"], 3, rng)[0][0] for _ in range(60)}
    assert firsts == {"a", "b", "c"}
    for known in random_scenarios(["a", "b", "c"], 3, rng):
        assert known == sorted(known)


@pytest.mark.parametrize("kind", DISTANCES)
def test_an_unmasked_file_is_found(kind: str) -> None:
    x = np.random.default_rng(2).normal(size=(50, 3))
    found = _take(_table(x), _table(x), distance=kind)
    assert found.value == 1.0
    if kind == "mahalanobis-linked":
        assert found.detail["directions_that_masking_left_alone"] == 3


def test_a_singular_covariance_is_said() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    e = 0.3 * rng.normal(size=(80, 2))
    y = x + np.column_stack([e, e.sum(axis=1)])
    found = _take(_table(x), _table(y), distance="mahalanobis")
    assert found.detail["directions_without_variance"] == 1
    # The third column says nothing new.
    two = _take(_table(x), _table(y), distance="mahalanobis", columns=("v0", "v1"))
    assert found.per_record.tolist() == two.per_record.tolist()
    # One column that masking left alone decides, if it tells records apart.
    x[:, 0] = rng.permutation(80)
    y = x + np.column_stack([np.zeros(80), 3 * rng.normal(size=(80, 2))])
    assert _take(_table(x), _table(y), distance="mahalanobis-linked").value == 1.0
    assert _take(_table(x), _table(y), distance="mahalanobis").value < 1.0


def test_mahalanobis_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))
    y = x + rng.normal(size=x.shape)
    mixed = rng.normal(size=(3, 3))
    for kind in ("mahalanobis", "mahalanobis-linked"):
        one = _take(_table(x), _table(y), distance=kind)
        other = _take(_table(x @ mixed + 7), _table(y @ mixed + 7), distance=kind)
        assert one.per_record.tolist() == other.per_record.tolist()


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 2**31))
def test_features_have_the_kernel_as_inner_product(p: int, degree: int, seed: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=(2, 1, p))
    inner = float((features(x, degree) @ features(y, degree).T)[0, 0])
    assert inner + 1 == pytest.approx(float((1 + x[0] @ y[0]) ** degree))


def test_strangers_are_the_control() -> None:
    original = table({"x": [0.0, 1.0, 2.0, 3.0], "s": list("aabb")}, quasi=["x", "s"])
    moved = table({"x": [0.0, 1.0, 2.0, 4.0], "s": list("aabb")}, quasi=["x", "s"])
    strangers = table({"x": [0.5, 2.0], "s": ["a", "b"]}, quasi=["x", "s"])
    found = _take(original, moved, reference=strangers, distance="euclidean")
    # Own records at 0, 0, 0 and 1: the stranger at 0.25 is nearer than one of them, the other than
    # all.
    assert found.detail["non_participants"] == {
        "records": 2,
        "at_least_as_close": pytest.approx((1 / 4 + 1) / 2),
    }
    # A category that no masked record has is far from all.
    odd = table({"x": [2.0], "s": ["z"]}, quasi=["x", "s"])
    found = _take(original, moved, reference=odd, distance="euclidean")
    assert found.detail["non_participants"]["at_least_as_close"] == pytest.approx(1 / 4)
    with pytest.raises(MeasureError, match="reference table has no column 's'"):
        _take(original, moved, reference=strangers.without(["s"]))
    empty = strangers.take(np.array([], dtype=np.int64))
    with pytest.raises(MeasureError, match="no records"):
        _take(original, moved, reference=empty)


def test_a_sample_links_some_and_says_so() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3))
    original, masked = _table(x), _table(x + 0.5 * rng.normal(size=x.shape))
    every, some = _take(original, masked), _take(original, masked, sample=100, scenarios=2)
    assert some.detail["sample"] == np.isfinite(some.per_record).sum() == 100
    assert "confidence" in some.detail["interval"]
    assert some.interval[0] < some.value < some.interval[1]
    assert every.interval == (every.value, every.value)


def test_what_cannot_be_linked_says_why() -> None:
    mixed = table({"x": [1.0, 2.0, 3.0], "s": ["a", "b", "c"]}, quasi=["x", "s"])
    found = _take(mixed, mixed, distance="mahalanobis")
    assert found.detail["left_out"] == {"s": "has no numbers for a mahalanobis distance"}
    with pytest.raises(MeasureError, match="no place for column 's'"):
        _take(mixed, mixed, distance="kernel", columns=("x", "s"))
    with pytest.raises(MeasureError, match="no quasi-identifier has numbers"):
        _take(mixed.without(["x"]), mixed.without(["x"]), distance="kernel")
    gaps = table({"x": [1.0, None, 3.0]}, quasi=["x"])
    with pytest.raises(MeasureError, match="missing in row 2"):
        _take(gaps, gaps, distance="mahalanobis")
    huge = table({"x": [1.0, 1e300, 3.0]}, quasi=["x"])
    with pytest.raises(MeasureError, match="overflow"):
        _take(huge, huge, distance="euclidean")
    assert _take(huge, huge).value == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    with pytest.raises(MeasureError, match="several masked records"):
        _take(mixed, mixed, [0, 0, 1])
    with pytest.raises(MeasureError, match="which masked record"):
        Dbrl().measure(Context(Pair.of(mixed, mixed, "none"), np.random.default_rng(0)))
    starred = mixed.with_columns(
        [pl.Series("x", [None, 2.0, 3.0])], suppressed={"x": np.array([True, False, False])}
    )
    with pytest.raises(MeasureError, match="missing in row 1 of the masked"):
        _take(mixed, starred, distance="mahalanobis")
    wide = _table(np.random.default_rng(0).normal(size=(60_000, 30)))
    with pytest.raises(MeasureError, match="features"):
        _take(wide, wide, distance="kernel", degree=4)


def test_a_scenario_may_know_categories_alone() -> None:
    original = table({"s": list("aabb"), "x": [1.0, 2.0, 3.0, 4.0]}, quasi=["s", "x"])
    found = _take(original, original, scenarios=2)
    assert found.detail["scenarios"] == {"s": 0.5, "s, x": 1.0}


@pytest.mark.parametrize("distance", ["standardized", "euclidean", "standardized-difference"])
def test_labels_sets_and_suppressed_cells_are_taken_as_by_record_linkage(distance: str) -> None:
    rng = np.random.default_rng(6)
    n = 60
    frame = {
        "age": rng.integers(20, 60, n),
        "sex": rng.choice(["f", "m"], n),
        "buys": [["tea", "rum"][: 1 + i % 2] for i in range(n)],
    }
    original = table(frame, quasi=[*frame])
    gone = rng.random(n) < 0.3
    decades = [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in frame["age"]]
    sexes = pl.Series("sex", [None if g else s for s, g in zip(frame["sex"], gone, strict=True)])
    masked = original.with_columns([sexes], suppressed={"sex": gone})
    labelled = masked.with_columns(
        [pl.Series("age", decades)], [masked.schema["age"].with_(generalized=True)]
    )
    for release in (masked, labelled):
        context = Context(Pair.of(original, release), np.random.default_rng(0), reference=original)
        plain = RecordLinkage().measure(context)
        found = Dbrl(distance=distance).measure(context)
        # Nothing was changed, so that it does not matter how numbers are compared.
        assert found.value == pytest.approx(plain.value)
        assert found.detail["intruder"] == plain.detail["intruder"]
        assert found.value >= sf.measure("marketer-risk", original, release).value - 1e-12
        control = "at_least_as_close"
        assert found.detail["non_participants"][control] == pytest.approx(
            plain.detail["non_participants"][control]
        )
        several = Dbrl(distance=distance, scenarios=3).measure(context)
        assert list(several.detail["scenarios"]) == ["age", "age, sex", "age, sex, buys"]
        assert several.value < found.value
