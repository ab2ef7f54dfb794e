"""Information loss of set-valued columns: every measure against its definition on plain sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.registry import find
from sfumato.release.records.evidence import Measuring, usual_panel
from tests.oracle import set_losses as oracle

WORTH = {"a": 3.0, "b": 0.5, "c": 0.0}
ITEMS = "abcdef"
SET = st.one_of(st.none(), st.frozensets(st.sampled_from(ITEMS), max_size=5))
RECORD = st.tuples(SET, st.frozensets(st.sampled_from(ITEMS)), st.sampled_from("xy"))
RECORDS = st.lists(RECORD, min_size=1, max_size=14)
LISTS = pl.List(pl.String)


def _lists(sets: Any) -> pl.Series:
    # In no order, to see that none is needed.
    return pl.Series([None if s is None else sorted(s, reverse=True) for s in sets], dtype=LISTS)


def _pair(before: Any, after: Any, other: Any = None, rows: Any = None) -> Pair:
    more = {} if other is None else {"other": list(other)}
    quasi = ["buys", *more]
    poset = {"kind": "items", "utilities": WORTH}
    original = table({"buys": _lists(before), **more}, quasi=quasi, posets={"buys": poset})
    shown = {k: v if rows is None else [v[i] for i in rows] for k, v in more.items()}
    masked = table({"buys": _lists(after), **shown}, quasi=quasi)
    return Pair(original, masked, np.arange(len(before)) if rows is None else np.asarray(rows))


def _take(name: str, pair: Pair, **given_: Any) -> Measurement:
    measure = find(name, "measure").load()(**given_)
    return measure.measure(Context(pair, np.random.default_rng(0)))


def _published(records: Any) -> tuple[list[Any], list[Any], list[str]]:
    """What the records hold, show and are otherwise; who has no set shows none."""
    before = [mine for mine, _, _ in records]
    after = [None if mine is None else mine & shown for mine, shown, _ in records]
    return before, after, [other for _, _, other in records]


@given(RECORDS)
def test_utility_and_items_kept(records: Any) -> None:
    before, after, _ = _published(records)
    pair = _pair(before, after)
    for name, worth in (("utility-kept", WORTH), ("items-kept", {})):
        found = _take(name, pair)
        worth = {item: worth.get(item, 1.0) for item in ITEMS}
        left = oracle.kept(before, after, worth)
        whole = [oracle.worth(one, worth) for one in before]
        assert found.value == pytest.approx(sum(left) / sum(whole) if sum(whole) else 1.0)
        own = [a / b if b else 1.0 for a, b in zip(left, whole, strict=True)]
        assert found.per_record == pytest.approx(own)


def test_dropped_records_keep_nothing_and_added_items_do_not_count() -> None:
    before = [{"a", "d"}, {"d"}, {"e", "f"}]
    pair = _pair(before, [{"d", "e"}, {"d"}], rows=[0, 1])
    found = _take("items-kept", pair)
    assert found.value == pytest.approx(2 / 5)
    assert found.detail["items_were_added"] == ["buys"]
    assert found.per_record.tolist() == [0.5, 1.0]
    gone = Pair(pair.original, table({"id": [1, 2]}), np.array([0, 1]))
    assert _take("utility-kept", gone).value == 0.0
    assert _take("utility-kept", gone).detail["dropped_columns"] == ["buys"]


def test_shares_of_single_items_tell_of_many_people_or_not_at_all() -> None:
    before = [{"a", "d"}] * 30 + [{"e"}] * 12
    after = [{"a"}] * 15 + [{"d"}] * 15 + [{"e"}] * 3 + [set()] * 9
    found = _take("items-kept", _pair(before, after))
    assert found.public().detail["by_item"] == {"buys": {"a": 0.5, "d": 0.5}}
    assert found.private["by_item"]["buys"]["e"] == pytest.approx(0.25)
    assert found.public().private == {}
    assert found.public().value == round(33 / 72, 2)


@given(RECORDS)
def test_open_attributes(records: Any) -> None:
    before, after, other = _published(records)
    pair = _pair(before, after, other)
    keys = list(zip(after, other, strict=True))
    left = oracle.open_items(before, after, keys)
    d = max(len(oracle.items_of(before)), 1)
    share = [len(one) / d for one in left]
    assert _take("ncp", pair).detail["by_column"]["buys"] == pytest.approx(np.mean(share))
    assert _take("ncp", pair).per_record == pytest.approx(np.array(share) / 2)
    assert _take("precision", pair).per_record == pytest.approx(1 - np.array(share) / 2)
    found = _take("ambiguity-metric", pair)
    assert found.private["value"] == pytest.approx(np.mean([2.0 ** len(one) for one in left]))
    assert found.private["mean_log2"] == pytest.approx(np.mean([len(one) for one in left]))


@given(RECORDS)
def test_entropy(records: Any) -> None:
    before, after, other = _published(records)
    left = oracle.open_items(before, after, list(zip(after, other, strict=True)))
    f = oracle.frequencies(before) if any(one is not None for one in before) else {}
    lost = [oracle.bits(o, r or frozenset(), f) for o, r in zip(left, before, strict=True)]
    every = frozenset(f)
    whole = sum(oracle.bits(every, r, f) for r in before if r is not None)
    found = _take("entropy-loss", _pair(before, after, other))
    assert found.per_record == pytest.approx(lost, abs=1e-9)
    share = found.detail["by_column"]["buys"]["share"]
    assert share == pytest.approx(sum(lost) / whole if whole else 0.0)


@given(st.lists(SET, min_size=1, max_size=10), st.sampled_from("xy"))
def test_nothing_left_out_costs_nothing(before: Any, other: str) -> None:
    pair = _pair(before, before, [other] * len(before))
    best = {"utility-kept": 1, "items-kept": 1, "ncp": 0, "precision": 1, "entropy-loss": 0}
    best |= {"ambiguity-metric": 1, "suppressed-entries": 0, "dgh-distance": 0, "class-diameter": 0}
    for name, value in best.items():
        assert _take(name, pair).value == pytest.approx(value), name
    found = _take("discernibility", pair)
    assert found.value == found.baseline


def test_everything_left_out_costs_everything() -> None:
    before = [{"a"}, {"b", "c"}, {"a", "d"}, {"e"}]
    pair = _pair(before, [set()] * 4)
    worst = {"utility-kept": 0, "items-kept": 0, "ncp": 1, "precision": 0, "entropy-loss": 1}
    worst |= {"ambiguity-metric": 2**5, "suppressed-entries": 6, "dgh-distance": 5}
    worst |= {"discernibility": 16, "class-diameter": 1}
    for name, value in worst.items():
        assert _take(name, pair).value == pytest.approx(value), name


@given(RECORDS, st.booleans())
def test_suppressed_entries(records: Any, drop: bool) -> None:
    before, after, other = _published(records)
    stars = [o if i % 3 else "*" for i, o in enumerate(other)]
    rows = list(range(len(before)))[: -1 if drop and len(before) > 1 else None]
    pair = _pair(before, [after[i] for i in rows], other, rows)
    masked = pair.masked.with_columns([pl.Series("other", [stars[i] for i in rows])])
    found = _take("suppressed-entries", Pair(pair.original, masked, pair.rows))
    sizes = [len(one or ()) for one in before]
    lost = [sizes[i] - len(after[i] or ()) + (i % 3 == 0) for i in rows]
    gone = sum(sizes[i] + 1 for i in range(len(before)) if i not in rows)
    assert found.value == sum(lost) + gone
    assert found.per_record.tolist() == lost
    assert found.public().value == round(found.value, -1)


def test_suppressed_entries_of_a_plain_table() -> None:
    original = table({"x": [1, 2, None], "s": ["a", "b", "c"]}, quasi=["x", "s"])
    masked = {"x": ["[1, 2]", "*", None], "s": ["*", "*", "c"]}
    found = sf.measure("suppressed-entries", original, masked)
    assert found.value == 3
    assert found.detail["by_column"] == {"x": 1, "s": 2}
    assert found.public().value == 3  # what is suppressed can be counted in the release
    assert sf.measure("suppressed-entries", original, {"s": ["*", "b", "c"]}).value == 3


def _records(before: Any, ages: Any) -> list[Any]:
    return list(zip(before, ages, strict=True))


@given(RECORDS)
def test_diameters(records: Any) -> None:
    before, after, other = _published(records)
    pair = _pair(before, after, other)
    keys = list(zip(after, other, strict=True))

    def apart(a: Any, b: Any) -> float:
        return oracle.jaccard(a[0], b[0], WORTH) + (a[1] != b[1])

    wanted = oracle.diameters(_records(before, other), keys, apart)
    found = _take("class-diameter", pair)
    assert found.per_record * 2 == pytest.approx(wanted)
    assert found.value == pytest.approx(np.mean(wanted) / 2)
    assert found.interval is None


def test_classes_and_the_classification_metric() -> None:
    before = [{"a", "b"}, {"a", "c"}, {"a"}, {"d"}]
    after = [["a"], ["a"], ["a"], []]
    rows = {"buys": [sorted(s) for s in before], "ill": ["flu", "flu", "cut", "cut"]}
    original = table(rows, quasi="buys", confidential="ill")
    found = sf.measure("classification-metric", original, {**rows, "buys": after})
    assert found.value == 0.25
    assert found.baseline == 0.0
    assert sf.measure("discernibility", original, {**rows, "buys": after}).value == 9 + 1


def test_global_suppression_of_items_has_a_distance() -> None:
    before = [{"a", "b"}, {"b"}, {"c", "b"}, {"c"}]
    found = _take("dgh-distance", _pair(before, [{"b"}, {"b"}, {"b"}, set()], "xyxy"))
    assert (found.value, found.baseline) == (2, 3 + 1)
    assert found.detail["levels"] == {"buys": 2, "other": 0}
    with pytest.raises(MeasureError, match="item 'b' is published in some sets only"):
        _take("dgh-distance", _pair(before, [{"b"}, set(), {"b"}, set()], "xyxy"))


def test_measures_say_what_they_need() -> None:
    plain = table({"x": [1, 2]}, quasi="x")
    with pytest.raises(MeasureError, match="no set-valued column"):
        sf.measure("utility-kept", plain, plain)
    with pytest.raises(MeasureError, match="'x' is integer"):
        sf.measure("items-kept", plain, plain, columns=["x"])
    pair = _pair([{"a"}, {"b"}], [{"a"}, {"b"}])
    unaligned = Pair(pair.original, pair.masked, None)
    for name in ("ncp", "suppressed-entries", "utility-kept"):
        with pytest.raises(MeasureError, match="which masked record"):
            _take(name, unaligned)


def test_items_of_two_types_are_compared_as_text() -> None:
    original = table({"buys": [[10, 9], [9, 2]]}, quasi="buys")
    masked = table({"buys": [["10", "9"], ["2"]]}, quasi="buys")
    found = _take("items-kept", Pair.of(original, masked))
    assert found.per_record.tolist() == [1.0, 0.5]


def test_ambiguity_beyond_every_float() -> None:
    wide = [f"i{j}" for j in range(1500)]
    original = table({"buys": [wide[:750], wide[750:]]}, quasi="buys")
    found = sf.measure("ambiguity-metric", original, {"buys": pl.Series([[], []], dtype=LISTS)})
    assert math.isfinite(found.value)
    assert found.detail["log2_mean"] == pytest.approx(1500)
    assert found.per_record == pytest.approx(1500 * math.log10(2))


@given(RECORDS)
def test_a_set_that_is_suppressed_is_lost(records: Any) -> None:
    before, _, _ = _published(records)
    pair = _pair(before, [None] * len(before))
    there = [one is not None for one in before]
    assert _take("ncp", pair).per_record.tolist() == [float(had) for had in there]
    whole = sum(oracle.worth(one, WORTH) for one in before)
    assert _take("utility-kept", pair).value == (0.0 if whole else 1.0)
    f = oracle.frequencies(before) if any(there) else {}
    bits = [oracle.bits(frozenset(f), one, f) if one is not None else 0.0 for one in before]
    assert _take("entropy-loss", pair).per_record == pytest.approx(bits, abs=1e-9)


def test_every_usual_measure_is_taken_or_says_why_not() -> None:
    rng = np.random.default_rng(1)
    n = 60
    rows = {
        "buys": [sorted({str(x) for x in rng.choice(list(ITEMS), 3)}) for _ in range(n)],
        "age": rng.integers(20, 60, n),
        "ill": rng.choice(["flu", "cut"], n),
    }
    original = table(rows, quasi=["buys", "age"], confidential="ill")
    masked = original.with_columns([_lists([row[:1] for row in rows["buys"]]).alias("buys")])
    taken, left = Measuring(1).panel(usual_panel(), Pair.of(original, masked))
    assert {"utility-kept", "ncp", "record-linkage", "class-sizes", "discernibility"} <= set(taken)
    assert not any(math.isnan(found.value) for found in taken.values())
    assert all(left.values())


def test_the_public_figure_of_a_dropped_column_is_that_nothing_is_kept() -> None:
    """What a release hides is taken out of the original first: all of nothing was said to be kept,
    where a column of sets had been dropped."""
    frame = {"age": [30, 31, 40, 41] * 30, "buys": [["tea"], ["milk", "tea"], [], ["milk"]] * 30}
    table = sf.table(frame, quasi=["age", "buys"])
    names = ("items-kept", "utility-kept")
    steps = [sf.method("drop", columns=["buys"]), sf.method("mdav", k=4)]
    release = sf.protect(
        table, steps, seed=1, measures=[find(name, "measure").load()() for name in names]
    )
    for evidence in (release.evidence, release.public().evidence):
        for name in names:
            assert evidence[name].value == 0
            assert evidence[name].detail["by_column"] == {"buys": 0}
