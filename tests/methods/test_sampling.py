"""Sampling: the designs beside naive ones, and weighted totals without bias."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engines.lowest import lowest
from sfumato.engines.relation import Whole
from sfumato.errors import MethodError, ParameterError
from sfumato.kernels.draws import Draws
from sfumato.kernels.masking.inclusion import pareto, systematic
from sfumato.methods.design import Strata, scales
from sfumato.methods.sampling import Sampling, _equal, _proportional
from sfumato.rng import Key
from tests.contract.tables import ordinary
from tests.oracle import sampling as oracle
from tests.oracle.divided import Divided

sizes = st.lists(st.floats(0.01, 100), min_size=2, max_size=20)
KEY = Key.of_seed(3)


def numbers(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint64)


def chances(size: np.ndarray, stratum: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of records in one part."""
    data = Whole(sf.table({"x": size, "h": stratum}))
    sized = lambda part: (part["h"].to_numpy(), part["x"].to_numpy())  # noqa: E731
    return scales(data, ["x", "h"], sized, counts).chances(stratum, size)


def taken(rank: np.ndarray, stratum: np.ndarray, counts: np.ndarray) -> list[int]:
    """The rows that rank lowest, of records in three parts."""
    table = sf.table({"h": stratum, "rank": rank})
    data = Divided(table, np.arange(rank.size)[::-1], [1, rank.size // 2])
    ranked = lambda part, _: (part["h"].to_numpy(), part["rank"].to_numpy())  # noqa: E731
    cuts = lowest(data, ["h", "rank"], ranked, counts)
    return np.flatnonzero(cuts.holds(stratum, rank, numbers(rank.size))).tolist()


@given(sizes, st.data())
def test_chances_are_proportional_and_sum_to_the_size(x: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(x)))
    found = chances(np.array(x), np.zeros(len(x), dtype=np.int64), np.array([count]))
    assert found == pytest.approx(oracle.chances(x, count), rel=1e-9)
    assert found.sum() == pytest.approx(count)
    assert (found <= 1).all()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.data(), st.integers(0, 99))
def test_designs_in_strata(strata: list[int], data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    stratum = np.array(strata)
    members = np.bincount(stratum, minlength=4)
    counts = np.array([data.draw(st.integers(0, int(size))) for size in members])
    u = rng.random(stratum.size)
    few = rng.integers(0, 5, stratum.size).astype(np.uint64)  # ties are cut by number
    for rank in (u.view(np.uint64), few, few << np.uint64(61)):
        assert taken(rank, stratum, counts) == oracle.smallest(rank, strata, counts)
    pi = chances(rng.random(stratum.size) + 0.1, stratum, counts)
    with np.errstate(divide="ignore"):
        odds = np.where(pi >= 1, -1, u / (1 - u) * ((1 - pi) / np.where(pi > 0, pi, 1e-300)))
    assert taken(pareto(pi, u), stratum, counts) == oracle.smallest(odds, strata, counts)
    start = rng.random(4)
    rows = systematic(pi, stratum, counts, u, start)
    assert np.bincount(stratum[rows], minlength=4).tolist() == counts.tolist()
    expected: list[int] = []
    for h in range(4):
        order = [i for i in np.argsort(u) if stratum[i] == h]
        expected += oracle.systematic(pi.tolist(), order, float(start[h]))
    assert rows.tolist() == sorted(expected)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.data())
def test_allocations(members: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(len(members), sum(members)))
    found = _proportional(np.array(members), wanted)
    # Equal remainders may be settled either way, so the distances to the shares are compared.
    share = np.array(members) * wanted / sum(members)
    plain = np.array(oracle.allocate(members, wanted))
    assert np.sort(found - share) == pytest.approx(np.sort(plain - share), abs=1e-9)
    for counts in (found, _equal(np.array(members), wanted)):
        assert counts.sum() == wanted
        assert (counts >= 1).all()
        assert (counts <= np.array(members)).all()
    equal = _equal(np.array(members), wanted)
    free = equal[equal < np.array(members)]
    assert not free.size or free.max() - free.min() <= 1


def population() -> tuple[sf.Table, np.ndarray]:
    rng = np.random.default_rng(3)
    n = 60
    size = rng.lognormal(0, 0.8, n)
    y = 3 * size + rng.normal(0, 1, n) + 5
    frame = pl.DataFrame(
        {"size": size, "y": y, "area": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])}
    )
    return sf.table(frame, quasi=["area"]), y


DESIGNS: list[dict[str, Any]] = [
    {"count": 12},
    {"share": 0.25, "strata": ("area",)},
    {"count": 12, "strata": ("area",), "allocation": "equal"},
    {"strata": ("area",), "allocation": "given", "counts": {"a": 8, "b": 4, "c": 2}},
    {"count": 12, "by": "size"},
    {"count": 12, "by": "size", "way": "poisson"},
    {"count": 12, "by": "size", "strata": ("area",)},
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.statistical
def test_weighted_totals_are_unbiased(design: dict[str, Any]) -> None:
    """Horvitz & Thompson: 1,200 draws, and a false alarm once in a million."""
    table, y = population()
    rng = np.random.default_rng(17)
    method = Sampling(weight="w", **design)
    totals, heads = [], np.zeros(table.height)
    for _ in range(1200):
        outcome = method.mask(table, rng)
        weights = outcome.table["w"].to_numpy()
        totals.append(float(weights @ outcome.table["y"].to_numpy()))
        assert outcome.rows is not None
        heads[outcome.rows] += weights
    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - y.sum()) < 4.9 * max(error, 1e-9 * abs(y.sum()))
    # Each record on its own, too: its weight is one over its chance.
    mean = heads / len(totals)
    known = method.survey(Whole(table), KEY)
    largest = 1 / known.chances(table, known.strata.of(table))
    assert np.abs(mean - 1).max() < 6 * np.sqrt(largest.max() / len(totals))


@pytest.mark.statistical
def test_pareto_is_nearly_unbiased() -> None:
    """Its chances are nearly pi: within two per cent here, which Rosen's theory promises."""
    table, y = population()
    method = Sampling(weight="w", count=12, by="size", way="pareto")
    rng = np.random.default_rng(18)
    totals = []
    for _ in range(2000):
        drawn = method.mask(table, rng).table
        assert drawn.height == 12
        totals.append(float(drawn["w"].to_numpy() @ drawn["y"].to_numpy()))
    assert np.mean(totals) == pytest.approx(y.sum(), rel=0.02)


def test_poisson_takes_each_on_its_own() -> None:
    table, _ = population()
    method = Sampling(count=12, by="size", way="poisson")
    outcome = method.mask_keyed(table, KEY, numbers(60))
    pi = chances(table["size"].to_numpy(), np.zeros(60, dtype=np.int64), np.array([12]))
    assert outcome.rows is not None
    assert outcome.rows.tolist() == np.flatnonzero(Draws(KEY, numbers(60)).uniform() < pi).tolist()


SPREAD = [{"way": "pareto", **d} if "by" in d and "way" not in d else d for d in DESIGNS]


@pytest.mark.parametrize("design", SPREAD, ids=str)
@given(data=st.data())
@settings(max_examples=15)
def test_division_and_order_draw_the_same_records(
    design: dict[str, Any], data: st.DataObject
) -> None:
    table, _ = population()
    method = Sampling(weight="w", **design)
    assert method.local_only() == ""
    order = data.draw(st.permutations(range(table.height)))
    cuts = data.draw(st.lists(st.integers(0, table.height), max_size=4))
    whole = method.mask_keyed(table, KEY, numbers(60))
    made, told = method.run_on(Divided(table, order, cuts), KEY)
    assert isinstance(made, Whole)
    assert made.numbers.tolist() == np.asarray(whole.rows).tolist()
    assert made.table.frame.equals(whole.table.frame)
    assert told.facts == whole.facts
    # And rows that move with their numbers.
    rows = np.array(order)
    moved = method.mask_keyed(table.take(rows), KEY, numbers(60)[rows])
    assert np.sort(rows[moved.rows]).tolist() == np.asarray(whole.rows).tolist()


def test_strata_of_parts_are_those_of_the_whole() -> None:
    """Sets in whatever order, minus zero, and what is missing."""
    lists = [["a", "b"], ["b", "a"], ["c"], None, ["c"], ["a", "b"]]
    frame = pl.DataFrame({"s": lists, "f": [0.0, -0.0, 1.0, None, float("nan"), 0.0]})
    table = sf.table(frame, others="insensitive")
    strata = Strata.by(Whole(table), ("s", "f"))
    assert strata.sizes.tolist() == [1, 3, 1, 1]
    assert strata.of(table).tolist() == [1, 1, 3, 0, 2, 1]
    assert strata.of(table.take(np.array([4, 1]))).tolist() == [2, 1]


def test_what_walks_in_one_order_stays_local(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = population()
    method = Sampling(count=12, by="size")
    assert "pareto" in method.local_only()
    rows = np.random.default_rng(0).permutation(60)
    whole = method.mask_keyed(table, KEY, numbers(60))
    moved = method.mask_keyed(table.take(rows), KEY, numbers(60)[rows])
    assert np.sort(rows[moved.rows]).tolist() == np.asarray(whole.rows).tolist()
    monkeypatch.setattr("sfumato.methods.sampling.Whole", str)  # records that lie elsewhere
    with pytest.raises(MethodError, match="systematic"):
        method.run_on(Divided(table, range(60), [30]), KEY)


def test_existing_weights_are_multiplied() -> None:
    table = sf.table({"w": [2, 3, 4, 5], "x": [1, 2, 3, 4]}, weight="w", quasi="x")
    outcome = Sampling(count=2).mask(table, np.random.default_rng(0))
    assert outcome.rows is not None
    assert outcome.table["w"].to_list() == [2.0 * w for w in table["w"].gather(outcome.rows)]
    assert outcome.table.schema["w"].kind == "continuous"
    assert outcome.table["x"].to_list() == table["x"].gather(outcome.rows).to_list()


def test_rows_are_distinct_and_in_order() -> None:
    outcome = Sampling(share=0.4).mask(ordinary(), np.random.default_rng(1))
    assert outcome.rows is not None
    assert outcome.rows.size == 24
    assert (np.diff(outcome.rows) > 0).all()
    assert outcome.facts == {"records": 60, "drawn": 24}


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"count": 61}, "61 records"),
        ({"count": 3, "strata": ("zip", "sex")}, "strata"),
        ({"by": "sex"}, "size is a number"),
        ({"by": "pay", "weight": "age"}, "already"),
        ({"strata": ("sex",), "allocation": "given", "counts": {"f": 3}}, "no count for 'm'"),
        ({"strata": ("sex",), "allocation": "given", "counts": {"f": 999, "m": 1}}, "stratum"),
    ],
)
def test_what_cannot_be_drawn(words: dict[str, Any], match: str) -> None:
    with pytest.raises(MethodError, match=match):
        Sampling(**words).mask(ordinary(), np.random.default_rng(0))


def test_missing_or_negative_sizes_are_named() -> None:
    for bad in (None, -1.0):
        table = sf.table({"s": [1.0, bad, 2.0]})
        with pytest.raises(MethodError, match="row 2"):
            Sampling(by="s", count=1).mask(table, np.random.default_rng(0))


def test_zero_sizes_are_said() -> None:
    table = sf.table({"s": [1.0, 0.0, 2.0]}, confidential="s")
    outcome = Sampling(by="s", count=2, weight="w").mask(table, np.random.default_rng(0))
    assert outcome.table["s"].to_list() == [1.0, 2.0]
    assert any("no chance" in note for note in outcome.warnings)
    assert any("weights tell" in note for note in outcome.warnings)


@pytest.mark.parametrize(
    "words",
    [
        {"columns": ("age",)},
        {"count": 3, "share": 0.2},
        {"allocation": "equal"},
        {"counts": {"a": 1}},
        {"way": "pareto"},
    ],
)
def test_parameters_that_contradict_each_other(words: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Sampling.build(words)


def test_a_release_may_hold_the_weights_that_sampling_makes() -> None:
    table = sf.table({"age": [20, 30, 40, 50] * 10}, quasi="age")
    release = sf.protect(table, sf.method("sampling", share=0.5, weight="w"), seed=1)
    assert release.table["w"].to_list() == [2.0] * 20
    assert release.table.schema["w"].role == "weight"
