"""k-anonymity under both readings of a missing value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria import k_anonymity
from sfumato.criteria.classes import Grouping
from sfumato.criteria.k_anonymity import AverageRisk, KAnonymity
from sfumato.criteria.people.population import KMap
from sfumato.criteria.values.sensitive import AlphaK, PAlphaSensitive, PSensitive
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError
from tests.oracle import criteria as oracle

texts = st.sampled_from(["a", "b", "*", None])
numbers = st.sampled_from([1, 2, None])
sets = st.sampled_from([("p",), ("p", "q"), None])
records = st.lists(st.tuples(texts, numbers, sets), min_size=1, max_size=25)
SCHEMA = {"x": pl.String, "y": pl.Int64, "z": pl.List(pl.String)}


@given(records, st.integers(1, 5))
def test_both_readings_are_those_of_the_oracle(rows: list[tuple[object, ...]], k: int) -> None:
    frame = pl.DataFrame([(x, y, z and list(z)) for x, y, z in rows], schema=SCHEMA, orient="row")
    t = table(frame, quasi=["x", "y", "z"])
    matches = oracle.wildcard_matches(rows)
    groups = oracle.classes(rows)

    category = KAnonymity(k=k).check(t)
    assert category.value == oracle.smallest_class(rows)
    assert category.broken == sum(len(g) < k for g in groups.values())
    assert category.detail["records_in_broken_classes"] == sum(
        len(g) for g in groups.values() if len(g) < k
    )
    assert category.met == (category.value >= k)
    assert category.of == len(groups)

    wildcard = KAnonymity(k=k, missing="wildcard").check(t)
    assert wildcard.value == min(matches)
    assert wildcard.broken == sum(matches[g[0]] < k for g in groups.values())
    open_cells = sum(cell in oracle.WILD for row in rows for cell in row)
    for finding in (category, wildcard):
        assert finding.detail.get("cells_missing_or_suppressed", 0) == open_cells
        if open_cells:
            assert finding.detail["k_wildcard"] == min(matches)
            assert finding.detail["k_category"] == oracle.smallest_class(rows)


def test_wildcards_are_not_transitive() -> None:
    # f and m each match the missing one, not each other.
    t = table({"sex": ["f", None, "m"]}, quasi=["sex"])
    found = KAnonymity(k=2, missing="wildcard").check(t)
    assert (found.value, found.met) == (2.0, True)
    assert not KAnonymity(k=2).check(t).met


def test_a_costly_wildcard_count_is_named_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k_anonymity, "_PATTERNS_UNASKED", 1)
    t = table({"a": ["x", None], "b": [None, "y"]}, quasi=["a", "b"])
    assert "not counted: 2 patterns" in KAnonymity(k=2).check(t).detail["k_wildcard"]
    # Asked for, it is counted whatever it costs.
    assert KAnonymity(k=2, missing="wildcard").check(t).value == 2.0


def test_more_columns_than_bits_of_a_number() -> None:
    frame = {f"q{j}": ["x", None if j == 69 else "x", "y"] for j in range(70)}
    t = table(frame, quasi=list(frame))
    found = KAnonymity(k=2).check(t)
    assert (found.value, found.detail["k_wildcard"]) == (1.0, 1)
    found = KAnonymity(k=2).check(t.take(np.array([0, 1])))
    assert (found.value, found.detail["k_wildcard"]) == (1.0, 2)


def test_without_quasi_identifiers_nothing_is_promised() -> None:
    with pytest.raises(MeasureError, match="quasi"):
        KAnonymity(k=3).check(table({"ill": [1, 2, 3]}, confidential=["ill"]))


def test_the_sentence_and_the_parameters() -> None:
    found = KAnonymity(k=2).check(table({"q": [1, 1, 2]}, quasi=["q"]))
    assert str(found) == "k-anonymity is 1 (limit 2) in 1 of 2 classes"
    with pytest.raises(ParameterError, match="greater than or equal to 1"):
        KAnonymity.build({"k": 0})


def test_a_long_wildcard_count_is_left_to_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two patterns of missing cells in two classes.
    t = table({"a": ["x", None], "b": [None, "y"]}, quasi=["a", "b"])
    monkeypatch.setattr(k_anonymity, "_WORK_UNASKED", 4)
    assert KAnonymity(k=2).check(t).detail["k_wildcard"] == 2
    monkeypatch.setattr(k_anonymity, "_WORK_UNASKED", 3)
    assert "not counted" in KAnonymity(k=2).check(t).detail["k_wildcard"]


def test_beside_the_original_records_are_counted_as_alone() -> None:
    t = table({"q": [1, 1, 2]}, quasi=["q"])
    assert KAnonymity(k=2).check_pair(Pair.of(t, t)) == KAnonymity(k=2).check(t)
    # A release that still says who lives together needs no original to tell.
    home = table({"q": [1, 1], "home": [1, 2]}, quasi=["q"], household="home")
    assert KAnonymity(k=2, unit="household").check_pair(Pair(home, home, None)).met


visits = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["p", "q", "r", "s", None])),
    min_size=2,
    max_size=25,
)


@given(visits, st.integers(1, 5), st.randoms(use_true_random=False))
def test_people_are_counted_where_an_identifier_repeats(
    rows: list[tuple[str, str | None]], k: int, shuffle: object
) -> None:
    seen, people = [(q,) for q, _ in rows], [pid for _, pid in rows]
    known = [pid for pid in people if pid is not None]
    repeats = 1 < len(set(known)) < len(known)
    fewest = oracle.fewest_people(seen, people) if repeats else oracle.smallest_class(seen)
    frame = {"q": [q for q, _ in rows], "pid": pl.Series(people, dtype=pl.String)}
    t = table(frame, quasi=["q"], identifier=["pid"])
    # The release has another order, and no identifier.
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    released = t.without(["pid"]).take(np.array(order))
    for limit in (fewest, fewest + 1):
        criterion = KAnonymity(k=limit)
        whole = criterion.check(t)
        beside = criterion.check_pair(Pair(t, released, np.array(order)))
        for found in (whole, beside):
            assert found.value == fewest
            assert found.met == (limit == fewest)
        assert criterion.keeps(Grouping.published(t)).all() == (limit == fewest)
    records = KAnonymity(k=k, unit="record").check_pair(Pair(t, released, np.array(order)))
    assert records.value == oracle.smallest_class(seen)


def long_form() -> Table:
    frame = {"q": list("aaaabbbb"), "pid": ["p", "p", "p", "q", "r", "s", "t", "u"]}
    return table(frame, quasi=["q"], identifier=["pid"])


def test_five_records_of_one_person_hide_nobody() -> None:
    t = long_form()
    found = KAnonymity(k=4).check_pair(Pair(t, t.without(["pid"]), np.arange(8)))
    assert str(found) == (
        "k-anonymity of people is 2 (limit 4) in 1 of 2 classes (6 people have 8 records, by `pid`)"
    )
    assert (found.detail["k_records"], found.detail["unit"]) == (4, "person")
    # The laxer reading of missing values is not counted in people: the stricter one stands.
    assert KAnonymity(k=2, missing="wildcard").check(t).value == 2


def test_where_nobody_knows_whose_a_record_is_it_says_that_records_were_counted() -> None:
    t = long_form()
    found = KAnonymity(k=4).check_pair(Pair(t, t.without(["pid"]), None))
    assert (found.value, found.met) == (4.0, True)
    assert "records were counted, not people" in found.detail["people"]
    # A pseudonym that is published still tells.
    assert KAnonymity(k=4).check_pair(Pair(t, t, None)).value == 2


def test_other_criteria_of_k_count_people_too() -> None:
    t = long_form().with_columns([pl.Series("ill", list("xyxyxyxy")), pl.Series("w", [2.0] * 8)])
    for name, role in (("ill", "confidential"), ("w", "weight")):
        t = t.with_schema(t.schema.with_column(t.schema[name].with_(role=role)))
    released = t.without(["pid"])
    pair = Pair(t, released, np.arange(8))
    for criterion, at in (
        (AlphaK(k=2, alpha=1.0), {"k": 3}),
        (PSensitive(k=2, p=1), {"k": 3}),
        (PAlphaSensitive(k=2, p=1, alpha=1.0), {"k": 3}),
        (KMap(k=4), {"k": 5}),
        (KMap(k=4, share=0.5), {"k": 5}),
    ):
        assert criterion.check_pair(pair).met
        beyond = criterion.model_copy(update=at)
        assert not beyond.check_pair(pair).met
        assert beyond.check(released).met  # where only records can be counted
        assert beyond.keeps(Grouping.published(t)).tolist() == [False, True]
    # Half of the records are found with a chance of one half, the others with one quarter.
    assert AverageRisk(at_most=1.0).check_pair(pair).value == pytest.approx(3 / 8)
