"""One-to-one linkage against every assignment there is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.kernels.neighbours.cross_distances import cross_distances, least_few, nearest_few
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage import one_to_one as assignment_linkage
from sfumato.risk.linkage.assignment import shared_credit
from sfumato.risk.linkage.dbrl import Dbrl
from sfumato.risk.linkage.one_to_one import AssignmentLinkage
from tests.oracle import distance_linkage as oracle


def _table(x: np.ndarray) -> Table:
    names = [f"v{j}" for j in range(x.shape[1])]
    return table(pl.DataFrame(x, schema=names, orient="row"), quasi=names)


def _take(
    original: Table, masked: Table, rows: object = None, seed: int = 3, **parameters: object
) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(seed))
    return AssignmentLinkage(**parameters).measure(context)


@given(
    st.integers(4, 6),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(["euclidean", "standardized", "mahalanobis"]),
    st.integers(0, 2**31),
)
def test_it_is_the_best_of_all_assignments(
    n: int, more: int, twins: bool, kind: str, seed: int
) -> None:
    """More masked records than originals, or some that cannot be told apart."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.concatenate([x + rng.normal(size=(n, 2)), rng.normal(size=(more, 2))])
    if twins:
        y[1] = y[0]
    rows = np.concatenate([np.arange(n), np.full(more, -1)])
    order = rng.permutation(n + more)
    y, rows = y[order], rows[order]
    own = [int(np.flatnonzero(rows == i)[0]) for i in range(n)]
    best = oracle.cheapest(oracle.squared(kind, x, y, own))
    # Twins may change places; any other tie would leave open which is meant.
    assume(len(best) <= 2 if twins else len(best) == 1)
    expected = [np.mean([chosen[i] == own[i] for chosen in best]) for i in range(n)]
    if twins and len(best) == 1:  # only one of them is linked, and either may be
        shared = [own[0], own[1]]
        hits = [best[0][i] in shared and i < 2 for i in range(n)]
        expected = [0.5 if hit else float(best[0][i] == own[i]) for i, hit in enumerate(hits)]
    elif twins:
        both = {best[0][i] for i in range(n)} >= {own[0], own[1]}
        assume(both)
    found = _take(_table(x), _table(y), rows, distance=kind)
    assert found.per_record.tolist() == pytest.approx(expected)
    assert found.detail["candidates"] == "every pair"
    assert found.baseline == pytest.approx(1 / len(y))


def test_fewer_masked_records_than_originals() -> None:
    original = _table(np.array([[0.0], [1.0], [2.0], [9.0]]))
    masked = _table(np.array([[0.9], [9.5]]))
    found = _take(original, masked, [1, 3], distance="euclidean")
    assert found.per_record.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert found.detail["unlinked"] == 2
    assert found.detail["records_not_released"] == 2


def test_it_finds_what_single_links_do_not() -> None:
    # Both are nearest to the first masked record, but only one of them can be it.
    original = _table(np.array([[0.0], [1.0]]))
    masked = _table(np.array([[1.1], [5.0]]))
    found = _take(original, masked, distance="euclidean")
    assert found.value == 1.0
    assert found.detail["naive"] == 0.5
    assert found.detail["gain"] == 0.5


def test_the_order_of_the_files_decides_nothing() -> None:
    """All records alike: whatever is drawn, every one counts 1/n."""
    same = _table(np.ones((12, 2)))
    found = _take(same, same)
    assert found.per_record.tolist() == pytest.approx([1 / 12] * 12)
    assert found.interval == (0.0, 1.0)
    # All masked records equally far from all originals, but not alike: the right ones are found by
    # chance alone, whatever the order. 400 draws of 1/6 each: five standard errors are 0.04.
    original = table({"s": [f"a{i}" for i in range(6)]}, quasi=["s"])
    masked = table({"s": [f"b{i}" for i in range(6)]}, quasi=["s"])
    shares = [_take(original, masked, seed=seed).value for seed in range(400)]
    assert np.mean(shares) == pytest.approx(1 / 6, abs=0.04)
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = np.round(x + np.random.default_rng(1).normal(size=x.shape))
    order = np.random.default_rng(2).permutation(40)
    straight = _take(_table(x), _table(y))
    shuffled = _take(_table(x), _table(y[order]), order)
    assert shuffled.value == pytest.approx(straight.value)
    # Categories as well, whichever comes first in a file.
    letters = np.random.default_rng(3).choice(list("abcdef"), (2, 30))
    before, after = (table({"s": s}, quasi=["s"]) for s in letters)
    first, second = np.random.default_rng(4).permuted(np.tile(np.arange(30), (2, 1)), axis=1)
    figures = [
        _take(before, after).value,
        _take(before.take(first), after.take(second), np.argsort(first)[second]).value,
    ]
    assert figures[0] == pytest.approx(figures[1])


def test_candidates_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates give the assignment that all pairs give."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 3))
    y = x + 0.5 * rng.normal(size=x.shape)
    every = _take(_table(x), _table(y))
    monkeypatch.setattr(assignment_linkage, "_EXACT", 0)
    few = _take(_table(x), _table(y), candidates=30)
    assert few.detail["candidates"] == 30
    assert few.per_record.tolist() == every.per_record.tolist()
    # With too few, some have none left.
    one = _take(_table(x), _table(y), candidates=1)
    assert one.detail["unlinked"] > 0
    assert one.value <= 1


def test_of_larger_files_some_originals_are_matched_to_all_masked_records() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(400, 2))
    y = x + 0.3 * rng.normal(size=x.shape)
    every = _take(_table(x), _table(y))
    part = _take(_table(x), _table(y), sample=100)
    assert part.detail["sample"] == np.isfinite(part.per_record).sum() == 100
    assert "not drawn" in part.detail["limits"]
    # As many rivals as ever: the naive figure is that of the same records in the whole file.
    assert part.baseline == every.baseline == pytest.approx(1 / 400)
    context = Context(Pair.of(_table(x), _table(y)), np.random.default_rng(0))
    alone = Dbrl().measure(context).per_record
    drawn = np.isfinite(part.per_record)
    assert part.detail["naive"] == pytest.approx(alone[drawn].mean())
    # Four standard errors of 100 links: nothing is won by looking at few.
    error = 4 * np.sqrt(every.value * (1 - every.value) / 100)
    assert part.value < every.value + error
    assert part.interval[0] < part.value < part.interval[1]
    rows = np.concatenate([np.arange(400), np.full(100, -1)])
    more = _table(np.concatenate([y, rng.normal(size=(100, 2))]))
    found = _take(_table(x), more, rows, sample=60)
    assert np.isfinite(found.per_record).sum() == 60
    assert found.baseline == pytest.approx(1 / 500)


def test_candidates_of_a_sample_are_of_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 2))
    y = x + 0.3 * rng.normal(size=x.shape)
    every = _take(_table(x), _table(y), sample=80)
    monkeypatch.setattr(assignment_linkage, "_EXACT", 0)
    few = _take(_table(x), _table(y), sample=80, candidates=15)
    assert few.detail["candidates"] == 15
    same = np.isfinite(every.per_record)
    assert few.per_record[same].tolist() == every.per_record[same].tolist()
    # Fewer where the pairs would be too many.
    monkeypatch.setattr(assignment_linkage, "_PAIRS", 500 * 30)
    assert _take(_table(x), _table(y)).detail["sample"] == 30


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**31))
def test_look_alikes_share_their_links(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mine, theirs = rng.integers(0, 3, n), rng.integers(0, 3, m)
    own = rng.permutation(np.concatenate([np.arange(m), np.full(n, -1)]))[:n]
    chosen = rng.permutation(np.concatenate([np.arange(m), np.full(n, -1)]))[:n]
    expected = oracle.shared(chosen.tolist(), own.tolist(), mine.tolist(), theirs.tolist())
    assert shared_credit(chosen, own, mine, theirs).tolist() == pytest.approx(expected)


@given(
    st.integers(1, 30), st.integers(1, 30), st.integers(0, 3), st.integers(0, 2),
    st.integers(0, 2**31),
)  # fmt: skip
def test_the_kernel_measures_every_pair(n: int, m: int, p: int, q: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, p)), rng.normal(size=(m, p))
    a[rng.random(a.shape) < 0.2] = np.nan
    b[rng.random(b.shape) < 0.2] = np.nan
    ca = rng.integers(0, 3, (n, q)).astype(np.int32)
    cb = rng.integers(0, 3, (m, q)).astype(np.int32)
    expected = np.zeros((n, m))
    for i in range(n):
        for k in range(m):
            for u, v in zip(a[i], b[k], strict=True):
                gaps = int(np.isnan(u)) + int(np.isnan(v))
                expected[i, k] += (u - v) ** 2 if not gaps else gaps % 2
            expected[i, k] += int((ca[i] != cb[k]).sum())
    assert cross_distances(a, b, ca, cb) == pytest.approx(expected)
    few = min(4, m)
    where, apart = nearest_few(a, b, ca, cb, 4)
    assert np.sort(apart, axis=1) == pytest.approx(np.sort(expected, axis=1)[:, :few])
    assert np.take_along_axis(expected, where, axis=1) == pytest.approx(apart)


def test_what_cannot_be_matched_says_why() -> None:
    mixed = table({"x": [1.0, 2.0], "s": ["a", "b"]}, quasi=["x", "s"])
    with pytest.raises(MeasureError, match="which masked record"):
        AssignmentLinkage().measure(
            Context(Pair.of(mixed, mixed, "none"), np.random.default_rng(0))
        )
    with pytest.raises(MeasureError, match="no records"):
        _take(mixed, mixed.take(np.array([], dtype=np.int64)))
    assert _take(mixed, mixed).value == 1.0
    with pytest.raises(ValueError, match="same columns"):
        cross_distances(
            np.ones((1, 2)), np.ones((1, 1)), np.ones((1, 0), np.int32), np.ones((1, 0), np.int32)
        )


def test_open_cells_are_matched_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose own record shows least is left over when the others have theirs."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(150, 4)).round(2)
    original = _table(x)
    gone = rng.random(x.shape) < 0.4
    gone[:5] = True
    masked = original.with_columns(
        [pl.Series(f"v{j}", np.where(gone[:, j], np.nan, x[:, j]), nan_to_null=True)
         for j in range(4)],
        suppressed={f"v{j}": gone[:, j] for j in range(4)},
    )  # fmt: skip
    found = _take(original, masked)
    fits = ((x[:, None] == x[None]) | gone[None]).all(axis=2)
    # Every true link fits, so that all of them together cost as little as any assignment.
    assert fits.diagonal().all()
    assert found.value >= found.detail["naive"] > 0.9
    assert found.detail["unlinked"] == 0
    context = Context(Pair.of(original, masked), np.random.default_rng(0))
    assert found.detail["naive"] == Dbrl().measure(context).value
    monkeypatch.setattr(assignment_linkage, "_EXACT", 0)
    few = _take(original, masked, candidates=40)
    assert few.detail["candidates"] == 40
    assert few.value >= few.detail["naive"]
    part = _take(original, masked, candidates=40, sample=60)
    assert part.detail["sample"] == 60


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**31))
def test_the_cheapest_few_of_both_sides(n: int, m: int, k: int, seed: int) -> None:
    every = np.random.default_rng(seed).permutation(n * m).reshape(n, m) / 7.0
    where, apart, back, farther = least_few(lambda low, high: every[low:high], n, m, k, threads=2)
    assert np.sort(apart, axis=1).tolist() == np.sort(every, axis=1)[:, :k].tolist()
    assert np.take_along_axis(every, where, axis=1).tolist() == apart.tolist()
    assert np.sort(farther, axis=1).tolist() == np.sort(every.T, axis=1)[:, :k].tolist()
    assert np.take_along_axis(every.T, back, axis=1).tolist() == farther.tolist()
