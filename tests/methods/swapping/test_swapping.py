"""Swapping by rank: values kept exactly, distances as promised, correlations within their bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.errors import MethodError, ParameterError
from sfumato.kernels.swapping.rank import rank_swap
from sfumato.methods.swapping.data_shuffling import DataShuffling
from sfumato.methods.swapping.ranked_column import RankedColumnSwap
from sfumato.methods.swapping.ranks import (
    RankSwap,
    RankSwapPBuckets,
    RankSwapPDistribution,
    cut_normal,
    reach_of,
)
from sfumato.methods.swapping.similar_value import SPREAD, SimilarValueSwap, largest_share
from sfumato.protocols import Method
from tests.oracle import swapping as oracle
from tests.oracle.methods import rank_distances
from tests.oracle.rank_swap import rank_swap as walk

RARE = 1e-6
"""The false-alarm rate of a statistical test."""

EACH: list[Method] = [
    RankSwap(p=20),
    RankSwap(count=1),
    RankSwapPDistribution(p=20),
    RankSwapPBuckets(buckets=4),
    RankedColumnSwap(subsets=2),
    SimilarValueSwap(enforce=False),
    DataShuffling(columns=("x", "n", "level", "born")),
]


@st.composite
def tables(draw: st.DrawFn) -> sf.Table:
    """Ties, missing and constant columns are common in it."""
    n = draw(st.integers(2, 25))

    def column(values: st.SearchStrategy[Any], dtype: Any) -> pl.Series:
        drawn = st.lists(st.none() | values, min_size=n, max_size=n)
        return pl.Series(draw(drawn), dtype=dtype)

    frame = pl.DataFrame(
        {
            "x": column(st.floats(-9, 9) | st.sampled_from([0.0, 1.0]), pl.Float64),
            "n": column(st.integers(-3, 3), pl.Int16),
            "level": column(st.sampled_from(["low", "high"]), pl.String),
            "born": column(st.dates(), pl.Date),
            "word": column(st.sampled_from("abc"), pl.String),
        }
    )
    return sf.table(
        frame,
        kinds={"level": "ordinal"},
        categories={"level": ["low", "high"]},
        quasi=["x", "n"],
        confidential=["level", "born", "word"],
    )


@pytest.mark.parametrize("method", EACH, ids=str)
@settings(max_examples=25)
@given(table=tables(), seed=st.integers(0, 9))
def test_values_are_kept_and_missing_ones_stay(method: Method, table: sf.Table, seed: int) -> None:
    out = method.mask(table, np.random.default_rng(seed)).table
    assert out.schema == table.schema
    for name in ("x", "n", "level", "born"):
        assert out[name].dtype == table[name].dtype
        assert out[name].sort().equals(table[name].sort(), null_equal=True), name
        assert (out[name].is_null() == table[name].is_null()).all(), name
    assert out["word"].equals(table["word"], null_equal=True)


@given(st.data(), st.integers(2, 60), st.floats(0.1, 100), st.integers(0, 9))
def test_rank_swap_stays_within_p_percent(data: st.DataObject, n: int, p: float, seed: int) -> None:
    values = [float(v) for v in data.draw(st.permutations(range(n)))]
    table = sf.table({"x": values}, quasi=["x"])
    outcome = RankSwap(p=p).mask(table, np.random.default_rng(seed))
    furthest = max(rank_distances(values, outcome.table["x"].to_list()))
    assert furthest <= max(1, p / 100 * n + 1e-9)
    assert furthest <= outcome.facts["largest difference of ranks"]["x"] == reach_of(p, n)


def test_rank_swap_follows_the_slide() -> None:
    """Each value goes to a free one of the next p, or stays: the oracle's walk, on a column."""
    rng = np.random.default_rng(3)
    values = rng.permutation(200).astype(float)
    table = sf.table({"x": values}, quasi=["x"])
    found = RankSwap(count=7).mask(table, np.random.default_rng(5)).table["x"].to_numpy()
    again = np.random.default_rng(5)
    again.permutation(200)  # for the ties
    places = walk(200, 7, again.random(200).tolist())
    assert found.tolist() == [float(places[int(v)]) for v in values]


ORDERS = {"job": ("farmer", "clerk", "judge", "queen")}


def _jobs(n: int, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    jobs = rng.choice([*ORDERS["job"]], n).tolist()
    jobs[3] = None
    return sf.table({"job": jobs, "age": rng.permutation(n)}, quasi=["job", "age"])


@pytest.mark.parametrize("method", [RankSwap, RankSwapPDistribution, RankSwapPBuckets])
def test_categories_are_ranked_by_an_order_that_is_given(method: type[Method]) -> None:
    table = _jobs(60)
    left = method(columns=("age",)).mask(table, np.random.default_rng(1)).table
    assert left["job"].equals(table["job"], null_equal=True)
    out = method(orders=ORDERS).mask(table, np.random.default_rng(1))
    assert not out.warnings
    assert not out.table["job"].equals(table["job"], null_equal=True)
    assert out.table["job"].sort().equals(table["job"].sort(), null_equal=True)
    assert out.table["job"].is_null().arg_true().to_list() == [3]
    assert out.table.schema == table.schema


def test_a_given_order_is_that_of_the_same_column_as_an_ordinal() -> None:
    table = _jobs(80, seed=2)
    order = list(ORDERS["job"])
    ordinal = sf.table(
        table.frame, quasi=["job", "age"], kinds={"job": "ordinal"}, categories={"job": order}
    )
    found = RankSwap(count=3, orders=ORDERS).mask(table, np.random.default_rng(4)).table["job"]
    known = RankSwap(count=3).mask(ordinal, np.random.default_rng(4)).table["job"]
    assert found.to_list() == known.cast(pl.String).to_list()
    place = {job: i for i, job in enumerate(order)}
    moved = [
        abs(place[a] - place[b]) for a, b in zip(found, table["job"], strict=True) if a is not None
    ]
    assert max(moved) == 1  # some twenty records have each job: three ranks reach the next alone


def test_an_order_names_every_value_of_a_column_that_is_swapped() -> None:
    table = _jobs(20)
    rng = np.random.default_rng(0)
    with pytest.raises(MethodError, match=r"column 'job' holds 'queen' in row \d+"):
        RankSwap(orders={"job": ORDERS["job"][:3]}).mask(table, rng)
    with pytest.raises(MethodError, match="'pay'"):
        RankSwap(orders={"pay": ("a", "b")}).mask(table, rng)
    with pytest.raises(ParameterError, match="each once"):
        sf.method("rank-swap", orders={"job": ["a", "b", "a"]})
    with pytest.raises(MethodError, match="'age'"):
        RankSwap(orders={"age": ("1", "2")}).mask(table, rng)


@pytest.mark.parametrize("measure", ["rs-rl", "rank-swap-attack", "likelihood-linkage"])
def test_an_intruder_knows_the_order_by_which_categories_were_swapped(measure: str) -> None:
    table = _jobs(200, seed=5)
    order = list(ORDERS["job"])
    ordinal = sf.table(
        table.frame, quasi=["job", "age"], kinds={"job": "ordinal"}, categories={"job": order}
    )
    swap = sf.method("rank-swap", p=4, orders=ORDERS)
    masked = swap.mask(table, np.random.default_rng(1)).table
    same = ordinal.with_columns([masked["job"].cast(pl.Enum(order)), masked["age"]])
    found = sf.measure(measure, table, masked, mechanism=swap)
    known = sf.measure(measure, ordinal, same, mechanism=sf.method("rank-swap", p=4))
    assert found.value == known.value
    assert "left_out" not in found.detail


SLIDE = {
    "a1": ([8, 6, 10, 7, 9, 2, 1, 4, 5, 3], [10, 5, 8, 9, 7, 4, 3, 2, 6, 1]),
    "a2": ([9, 7, 3, 1, 4, 2, 10, 8, 5, 6], [10, 5, 4, 2, 3, 1, 9, 6, 7, 8]),
    "a3": ([1, 10, 4, 2, 6, 8, 3, 7, 5, 9], [3, 8, 2, 4, 5, 10, 1, 9, 6, 7]),
    "a4": ([3, 2, 1, 6, 4, 8, 9, 10, 5, 7], [5, 1, 2, 4, 6, 10, 7, 8, 3, 9]),
}
"""Torra's example of rank swapping with p = 2: the original and the protected columns."""


@pytest.mark.golden
@pytest.mark.parametrize("name", list(SLIDE))
def test_the_slides_example_can_come_out(
    name: str, golden_record: Callable[[str, object, object], None]
) -> None:
    before, after = SLIDE[name]
    table = sf.table({"a": before}, quasi=["a"])
    seen = {
        tuple(RankSwap(count=2).mask(table, np.random.default_rng(seed)).table["a"].to_list())
        for seed in range(400)
    }
    golden_record(
        f"torra example I, {name}: a draw with p = 2 gives it", True, tuple(after) in seen
    )
    assert tuple(after) in seen


def test_p_or_count() -> None:
    for cls in (RankSwap, RankSwapPDistribution):
        with pytest.raises(ParameterError, match="not both"):
            cls.build({"p": 3.0, "count": 2})
    with pytest.raises(ParameterError, match="not both"):
        RankedColumnSwap.build({"subsets": 3, "size": 2})


def swapped_distances(method: Method, n: int, seed: int) -> np.ndarray:
    table = sf.table({"x": np.arange(n)}, quasi=["x"])
    out = method.mask(table, np.random.default_rng(seed)).table["x"].to_numpy()
    return np.abs(out - np.arange(n))


def test_p_distribution_draws_the_distances_it_says() -> None:
    """Normal with mean and deviation p/2, given that they round to 1 or more."""
    method = RankSwapPDistribution(count=40)
    drawn = method.distances(20_000, np.random.default_rng(1))
    cut = stats.truncnorm((0.5 - 20) / 20, np.inf, loc=20, scale=20)
    assert stats.kstest(drawn, cut.cdf).pvalue > RARE
    by_share = RankSwapPDistribution(p=0.2).distances(20_000, np.random.default_rng(1))
    assert by_share == pytest.approx(drawn)


def test_a_far_cut_of_the_normal_distribution_is_exact() -> None:
    u = np.array([0.0, 0.25, 0.5, 0.999])
    found = cut_normal(0.0, 1e-2, 0.5, u)  # 50 deviations away
    assert found == pytest.approx(0.5 - 1e-4 / 0.5 * np.log1p(-u), rel=1e-3)
    assert np.isfinite(cut_normal(0.0, 1e-9, 0.5, u)).all()


@pytest.mark.parametrize(
    "method", [RankSwapPDistribution(count=20), RankSwapPBuckets(buckets=200)], ids=str
)
def test_no_distance_can_be_ruled_out(method: Method) -> None:
    """Rank swapping with the same p never goes beyond 20; these do, though rarely by far."""
    n = 4000
    found = swapped_distances(method, n, 2)
    assert swapped_distances(RankSwap(count=20), n, 2).max() <= 20
    assert 0.02 < np.mean(found > 20) < 0.5
    assert found.max() > 40
    assert np.median(found) < 60


def test_p_buckets_stay_near() -> None:
    """Beyond five buckets of a hundred there are few partners; with another ratio, more."""
    found = swapped_distances(RankSwapPBuckets(buckets=50), 5000, 3)
    assert np.mean(found > 500) < 0.05
    wide = swapped_distances(RankSwapPBuckets(buckets=50, ratio=0.9), 5000, 3)
    assert wide.mean() > 2 * found.mean()


def test_ranked_column_swap_moves_as_order_statistics_do() -> None:
    """Between two random subsets of m records the middle moves by about sqrt(1 / (2 m)) of n."""
    n, m = 20_000, 100
    table = sf.table({"x": np.arange(n)}, quasi=["x"])
    outcome = RankedColumnSwap(size=m).mask(table, np.random.default_rng(4))
    moved = (outcome.table["x"].to_numpy() - np.arange(n)) / n
    middle = np.abs(np.arange(n) / n - 0.5) < 0.05
    expected = np.sqrt(2 * 0.25 / m)
    assert moved[middle].std() == pytest.approx(expected, rel=0.15)
    assert outcome.facts["subsets"] == 200
    assert outcome.secrets["share of values moved"]["x"] == 1.0
    assert outcome.facts["share of values moved"] == {}, "that all were moved is told of nobody"


def test_ranked_column_swap_with_a_remainder_moves_everyone() -> None:
    table = sf.table({"x": list(range(17)), "y": [None, *range(16)]}, quasi=["x", "y"])
    outcome = RankedColumnSwap(subsets=5).mask(table, np.random.default_rng(1))
    assert outcome.facts["values exchanged with the next larger"]["x"] == 2
    with pytest.raises(MethodError, match="divided into 20"):
        RankedColumnSwap(subsets=20).mask(table, np.random.default_rng(1))


@pytest.mark.parametrize(
    "method",
    [
        RankSwap(),
        RankSwapPBuckets(),
        RankSwapPDistribution(),
        RankedColumnSwap(subsets=3),
        SimilarValueSwap(),
    ],
    ids=str,
)
def test_that_few_values_were_moved_is_not_published(method: Method) -> None:
    """Nor that few were not: of 19 values one of the two is always below ten."""
    rng = np.random.default_rng(2)
    few, many = (sf.table({"x": rng.normal(size=n)}, quasi=["x"]) for n in (19, 4000))
    made = method.mask(few, rng)
    moved = (made.table["x"] != few["x"]).mean()
    assert made.facts["share of values moved"] == {}
    assert made.secrets["share of values moved"] == pytest.approx({"x": moved})
    made = method.mask(many, rng)
    moved = (made.table["x"] != many["x"]).to_numpy()
    told = {"x": round(moved.mean(), 2)} if min(moved.sum(), (~moved).sum()) >= 10 else {}
    assert made.facts["share of values moved"] == told
    assert made.secrets["share of values moved"] == pytest.approx({"x": moved.mean()})


def test_the_mean_square_distance_of_a_swap() -> None:
    """2 (1 - 1/ln 2)^2 p^2 in the middle of a column, where no end is in reach."""
    n, reach = 200_000, 2000
    rng = np.random.default_rng(8)
    squares = []
    for _ in range(8):
        places = rank_swap(n, reach, rng.random(n))
        inside = slice(5 * reach, n - 5 * reach)
        squares.append(np.mean(((places - np.arange(n))[inside] / reach) ** 2))
    error = np.std(squares) / np.sqrt(8)
    assert abs(np.mean(squares) - SPREAD) < 8 * error + 1e-3


def linear_uniform(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Two uniform columns, correlated by `share`, each linear in the other."""
    x = rng.random(n)
    return np.column_stack([x, np.where(rng.random(n) < share, x, rng.random(n))])


@pytest.mark.parametrize("bound", [0.9, 0.975])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.statistical
def test_the_derived_p_keeps_correlations_of_uniform_columns(bound: float, both: bool) -> None:
    """In expectation, and not by more than the ends of the columns make up."""
    rng = np.random.default_rng(9)
    factors = []
    for _ in range(40):
        x = linear_uniform(5000, 0.7, rng)
        table = sf.table({"a": x[:, 0], "b": x[:, 1]}, quasi=["a", "b"])
        columns = ("a", "b") if both else ("a",)
        method = SimilarValueSwap(correlation=bound, enforce=False, columns=columns)
        out = method.mask(table, rng).table
        after = oracle.correlation(out["a"].to_list(), out["b"].to_list())
        factors.append(after / oracle.correlation(x[:, 0].tolist(), x[:, 1].tolist()))
    error = np.std(factors) / np.sqrt(len(factors))
    p = largest_share(bound, 0.0, 1 + both)
    assert np.mean(factors) > bound - stats.norm.isf(RARE) * error
    assert np.mean(factors) < bound + (1 - bound) * p + stats.norm.isf(RARE) * error


def test_the_derived_p_keeps_the_means_of_subsets() -> None:
    """95 % of random subsets have a mean within the interval, in standard errors."""
    rng = np.random.default_rng(10)
    x = rng.random(20_000)
    table = sf.table({"x": x}, quasi=["x"])
    method = SimilarValueSwap(correlation=0.5, mean_interval=0.2, enforce=False)
    outcome = method.mask(table, rng)
    change = outcome.table["x"].to_numpy() - x
    inside = 0
    for _ in range(4000):
        rows = rng.integers(0, x.size, 400)
        inside += abs(change[rows].mean()) <= 0.2 * x.std() / np.sqrt(400)
    assert stats.binomtest(inside, 4000, 0.95).pvalue > RARE or inside / 4000 > 0.95
    assert inside / 4000 < 0.97
    assert outcome.facts["widest interval of a mean"] == pytest.approx(0.2, abs=0.01)


def skewed(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0.5], [0, 0.5, 1]], n)
    c = np.where(rng.random(n) < 0.1, np.nan, z[:, 2])
    return sf.table(
        pl.DataFrame({"a": np.exp(z[:, 0] / 2), "b": z[:, 1], "c": pl.Series(c, nan_to_null=True)}),
        quasi=["a", "b"],
        insensitive=["c"],
    )


@settings(max_examples=15)
@given(
    seed=st.integers(0, 99),
    bound=st.sampled_from([0.8, 0.9, 0.95]),
    of=st.sampled_from(["values", "ranks"]),
)
def test_the_bound_holds_on_the_data(seed: int, bound: float, of: str) -> None:
    """Recounted from what came out, the columns that were not swapped included."""
    table = skewed(400, seed)
    method = SimilarValueSwap.build({"correlation": bound, "of": of})
    outcome = method.mask(table, np.random.default_rng(seed))
    facts, out = outcome.facts, outcome.table
    found = []
    for one, other in [("a", "b"), ("a", "c"), ("b", "c")]:
        pair = []
        for source in (table, out):
            both = source.frame.select(one, other)
            if of == "ranks":  # those of the whole column
                both = both.with_columns(pl.all().rank("average"))
            pair.append(oracle.correlation(both[one].to_list(), both[other].to_list()))
        if abs(pair[0]) >= 0.16:
            found.append(pair[1] / pair[0])
    assert min(found) >= bound - 1e-9
    assert facts["smallest factor of a correlation"] >= np.floor(bound * 1000) / 1000
    assert (
        facts["largest difference of ranks, percent"]
        <= (facts["percent derived for uniform values"])
    )
    assert sorted(out["a"].to_list()) == sorted(table["a"].to_list())
    assert out["c"].equals(table["c"], null_equal=True)


def test_p_is_lowered_where_values_are_skewed() -> None:
    method = SimilarValueSwap(correlation=0.95, of="values")
    outcome = method.mask(skewed(2000, 1), np.random.default_rng(0))
    facts = outcome.facts
    assert (
        facts["largest difference of ranks, percent"]
        < 0.9 * facts["percent derived for uniform values"]
    )
    loose = SimilarValueSwap(correlation=0.95, of="values", enforce=False)
    told = loose.mask(skewed(2000, 1), np.random.default_rng(0))
    assert told.facts["smallest factor of a correlation"] < 0.95
    assert any("do not hold" in warning for warning in told.warnings)
    heavy = skewed(2000, 1)
    heavy = heavy.with_columns([(heavy["a"] ** 5).alias("a")])
    barely = SimilarValueSwap(correlation=0.9, of="values").mask(heavy, np.random.default_rng(0))
    assert any("barely move" in warning for warning in barely.warnings)


def test_what_cannot_be_bounded_is_said() -> None:
    rng = np.random.default_rng(0)
    lone = sf.table({"a": rng.random(50)}, quasi=["a"])
    outcome = SimilarValueSwap().mask(lone, rng)
    assert any("no correlation" in warning for warning in outcome.warnings)
    # One value of weight: the top of an even number of values is always swapped with the next.
    heavy = [0.0] * 39 + [1e6]
    one = sf.table({"a": heavy, "b": heavy}, quasi=["a", "b"])
    with pytest.raises(MethodError, match="cannot keep"):
        SimilarValueSwap(of="values").mask(one, rng)
    # 20 records: a correlation of 0.5 may be none.
    few = sf.table({"a": [0.0, 1.0] * 10, "b": [0.0, 1.0, 0.0, 0.0] * 5}, quasi=["a", "b"])
    assert SimilarValueSwap().mask(few, rng).facts["correlations bounded"] == 0
