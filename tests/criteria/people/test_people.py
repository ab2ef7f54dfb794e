"""Criteria that look at other people: the population, the originals, the household."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.coverage.containment import containment
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.people.delta_presence import DeltaPresence
from sfumato.criteria.people.originals import K1Anonymity
from sfumato.criteria.people.population import KMap, sampling_share
from sfumato.data.pair import Pair
from sfumato.data.partition import Partition
from sfumato.data.schema import Kind
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError, ReleaseRefused, SchemaError
from sfumato.kernels.coverage.containment import Cover, cover_counts, cover_sums
from sfumato.measurement import Finding
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Criterion
from sfumato.release.plan.step import open_parameters
from tests.oracle import criteria as oracle

ages = st.one_of(st.none(), st.integers(20, 29))
towns = st.sampled_from(["x", "y", "z", None])
people = st.lists(st.tuples(ages, towns), min_size=1, max_size=30)
labels = st.lists(
    st.tuples(
        st.sampled_from(["[20, 24]", "[22, 29]", "25", "[21, 26] or missing", "*", None]),
        st.sampled_from(["x", "{x, y}", "{y, z}", "z or missing", "*", None]),
    ),
    min_size=1,
    max_size=15,
)
Row = tuple[object, ...]


def _people(rows: list[Row]) -> Table:
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "town": pl.String}, orient="row")
    # Everything that a label may name is in the domain.
    return table(frame, quasi=["age", "town"])


def _published(rows: list[Row]) -> Table:
    frame = pl.DataFrame(rows, schema={"age": pl.String, "town": pl.String}, orient="row")
    made = table(frame, quasi=["age", "town"])
    schema = made.schema
    for name, kind in (("age", Kind.INTEGER), ("town", Kind.NOMINAL)):
        schema = schema.with_column(schema[name].with_(kind=kind, generalized=True))
    return made.with_schema(schema)


KNOWN: list[Row] = [(a, t) for a in (20, 25, 29) for t in ("x", "y", "z")]


@given(people, labels)
def test_whom_labels_cover(rows: list[Row], published: list[Row]) -> None:
    everyone = [*KNOWN, *rows]
    found = containment(
        _people(everyone), _published(published), np.arange(len(published)), ["age", "town"]
    )
    expected = oracle.fitting(published, everyone)
    assert found.counts().tolist() == expected
    weights = np.arange(1.0, len(published) + 1)
    sums = [
        sum(w for w, row in zip(weights, published, strict=True)
            if all(oracle.covers(a, b) for a, b in zip(row, person, strict=True)))
        for person in everyone
    ]  # fmt: skip
    assert found.sums(weights) == pytest.approx(sums)


def test_people_in_many_blocks_for_every_number_of_threads() -> None:
    rng = np.random.default_rng(4)
    ranks = rng.integers(0, 50, (20_001, 3))
    low = rng.integers(0, 40, 90)
    high = low + rng.integers(0, 20, 90)
    combinations = np.column_stack([30 * j + rng.integers(0, 30, 70) for j in range(3)])
    cover = Cover(ranks, np.array([0, 30, 60, 90]), np.arange(91), low, high, combinations)
    inside = np.ones((70, 20_001), dtype=bool)
    for j in range(3):
        at = combinations[:, j]
        inside &= (ranks[:, j] >= low[at, None]) & (ranks[:, j] <= high[at, None])
    weights = rng.random(70)
    for threads in (1, 2, 3):
        assert cover_counts(cover, threads=threads).tolist() == inside.sum(axis=1).tolist()
        assert cover_sums(cover, weights, threads=threads) == pytest.approx(weights @ inside)


@given(people, labels, st.integers(1, 4))
def test_k_map_and_k1_are_the_oracles(rows: list[Row], published: list[Row], k: int) -> None:
    everyone = [*KNOWN, *rows]
    fits = [oracle.fitting([row], everyone)[0] for row in oracle.classes(published)]
    release = _published(published)
    counted = KMap(k=k, population=_people(everyone)).check(release)
    assert (counted.value, counted.broken) == (min(fits), sum(f < k for f in fits))
    pair = Pair(_people(everyone), release, None)
    again = K1Anonymity(k=k).check_pair(pair)
    assert (again.value, again.broken) == (min(fits), sum(f < k for f in fits))


@given(people, st.data())
def test_presence_is_the_oracles(rows: list[Row], data: st.DataObject) -> None:
    everyone = [*KNOWN, *rows]
    chosen = data.draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=8, unique=True))
    published: list[Row] = [("[20, 24]" if a is not None and a < 25 else a, t) for a, t in chosen]
    published = [(None if a is None else str(a), t) for a, t in published]
    chances = oracle.presence(published, everyone)
    found = DeltaPresence(at_most=0.4, at_least=0.1, population=_people(everyone)).check(
        _published(published)
    )
    broken = [not 0.1 - 1e-9 <= c <= 0.4 + 1e-9 for c in chances]
    assert (found.broken, found.of, found.met) == (sum(broken), len(everyone), not any(broken))
    assert found.detail["largest"] == pytest.approx(max(chances))
    assert found.detail["smallest"] == pytest.approx(min(chances))


@given(people, st.integers(1, 4), st.sampled_from([0.3, 0.6, 1.0]), st.integers(0, 2**31))
def test_a_search_keeps_what_the_check_accepts(
    rows: list[Row], k: int, most: float, seed: int
) -> None:
    """Counted by the least upper bounds that local recoding publishes."""
    population = _people([*rows, *KNOWN])
    sample = _people(rows)
    groups = np.unique(np.random.default_rng(seed).integers(0, 3, len(rows)), return_inverse=True)[
        1
    ]
    grouping = Grouping.of(sample, groups)
    columns = ["age", "town"]
    release = Generalize().apply(sample, Partition(groups), columns, np.random.default_rng(0)).table
    published = release.frame.rows()
    assert grouping.shown.frame.rows() == [published[i] for i in grouping.classes.first]
    k_map = KMap(k=k, population=population)
    fits = oracle.fitting([published[i] for i in grouping.classes.first], [*rows, *KNOWN])
    assert k_map.keeps(grouping).tolist() == [many >= k for many in fits]
    assert bool(k_map.keeps(grouping).all()) == k_map.check(release).met
    for least in (0.0, 0.05):
        presence = DeltaPresence(at_most=most, at_least=least, population=population)
        kept = presence.keeps(Grouping.published(release))
        assert bool(kept.all()) == presence.check(release).met
        if len(Grouping.published(release)) == len(grouping):  # no two classes look alike
            assert bool(presence.keeps(grouping).all()) == presence.check(release).met
    if K1Anonymity(k=k).keeps(grouping).all():
        assert K1Anonymity(k=k).check_pair(Pair.of(sample, release)).met
    exact = k_map.check(sample)
    assert exact.broken == int((~k_map.keeps(Grouping.published(sample))).sum())


def test_records_left_out_of_a_grouping_do_not_widen_it() -> None:
    sample = _people([(20, "x"), (29, "z"), (21, "x")])
    shown = Grouping.of(sample, np.array([0, -1, 0])).shown
    assert shown.frame.rows() == [("[20, 21]", "x")]


def test_the_same_table_with_other_quasi_identifiers_is_counted_anew() -> None:
    everyone = table({"a": [1, 1, 1, 2], "b": [1, 2, 3, 4]}, quasi=["a", "b"])
    both = table({"a": [1, 2], "b": [1, 4]}, quasi=["a", "b"])
    one = both.with_schema(both.schema.with_column(both.schema["b"].with_(role="insensitive")))
    k_map = KMap(k=3, population=everyone)
    assert k_map.keeps(Grouping.of(both, np.arange(2))).tolist() == [False, False]
    assert k_map.keeps(Grouping.of(one, np.arange(2))).tolist() == [True, False]
    assert k_map.check(one).broken == 1


def test_presence_says_where_it_is_exact() -> None:
    """Of a record in {20, 21, 22} and one in {20, ..., 23} person 23 is one with a chance 1/3."""
    everyone = table({"age": [20, 21, 22, 23]}, quasi=["age"])

    def check(*labels: str) -> Finding:
        made = table({"age": list(labels)}, quasi=["age"])
        return DeltaPresence(at_most=0.5, population=everyone).check(made)

    overlapping = check("[20, 22]", "[20, 23]")
    assert not overlapping.detail["exact"]
    assert overlapping.detail["smallest"] == 0.25
    assert str(overlapping).endswith("in 3 of 4 people")
    assert check("[20, 21]", "[22, 23]").detail["exact"]


def test_where_the_population_lies_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pl.DataFrame({"q": list("aaabbb")}).write_csv(path)
    t = table({"q": list("aabb")}, quasi=["q"])
    steps = [sf.method("full-domain", k=2, criteria=[KMap(k=3, population=str(path))])]
    release = sf.protect(t, steps, seed=0)
    release.save(tmp_path / "release", allow_guessable_seed=True)
    written = [f.read_text() for f in (tmp_path / "release").glob("*.*") if f.suffix != ".parquet"]
    assert written
    assert not any(str(tmp_path) in text for text in written)
    assert any("people.csv" in text for text in written)


def test_joining_labels_never_lowers_what_they_fit() -> None:
    everyone = _people([*KNOWN, (21, "x"), (28, "z")])
    fine = _published([("[20, 24]", "x"), ("[22, 29]", "{x, y}")])
    coarse = _published([("[20, 29]", "{x, y}")] * 2)
    k_map = KMap(k=1, population=everyone)
    assert k_map.monotone
    assert k_map.check(coarse).value >= k_map.check(fine).value


def test_the_population_as_a_file_with_a_hierarchy(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pl.DataFrame({"zip": ["02139", "02141", "10001"], "name": list("abc")}).write_csv(path)
    tree = Hierarchy(levels=[["02139", "021*", "*"], ["02141", "021*", "*"], ["10001", "1*", "*"]])
    t = table({"zip": ["021*", "1*"]}, quasi=["zip"], posets={"zip": tree})
    t = t.with_schema(t.schema.with_column(t.schema["zip"].with_(generalized=True)))
    found = KMap(k=2, population=str(path)).check(t)
    assert (found.value, found.broken) == (1, 1)
    assert found.detail["population"] == "counted among 3 people"
    assert K1Anonymity(k=1, original=str(path)).check(t).met
    assert KMap.build({"k": 2, "population": str(path)}).parameters()["population"] == str(path)


def test_estimates_by_share_and_by_weights() -> None:
    t = table({"q": list("aab"), "w": [2.0, 3.0, 4.0]}, quasi=["q"], weight="w")
    weighed = KMap(k=5).check(t)
    assert (weighed.value, weighed.met) == (4.0, False)
    assert "weights in w" in weighed.detail["population"]
    assert KMap(k=5).keeps(Grouping.published(t)).tolist() == [True, False]
    assert KMap(k=5).keeps(Grouping.of(t, np.array([0, -1, 1]))).tolist() == [False, False]
    shared = KMap(k=5, share=0.25).check(t)
    assert (shared.value, shared.detail["population"]) == (
        4.0,
        "estimated by the given sampling share",
    )
    with pytest.raises(MeasureError, match="what share"):
        KMap(k=5).check(table({"q": [1]}, quasi=["q"]))
    bad = table({"q": [1, 1], "w": [1.0, -1.0]}, quasi=["q"], weight="w")
    with pytest.raises(MeasureError, match="row 2"):
        KMap(k=5).check(bad)


def test_what_cannot_be_counted_is_refused() -> None:
    release = _published([("[20, 24]", "x")])
    with pytest.raises(MeasureError, match="no column 'town'"):
        KMap(k=2, population=table({"age": [20]})).check(release)
    everyone = _people([(29, "x"), (20, "y")])
    with pytest.raises(MeasureError, match="does not hold"):
        DeltaPresence(at_most=0.5, population=everyone).check(release)
    with pytest.raises(MeasureError, match="original records"):
        K1Anonymity(k=2).check(release)
    with pytest.raises(ParameterError, match="not both"):
        KMap.build({"k": 2, "share": 0.1, "population": "x.csv"})
    with pytest.raises(ParameterError, match="above at_most"):
        DeltaPresence.build({"at-most": 0.2, "at-least": 0.3, "population": "x.csv"})


def test_households_are_counted_once() -> None:
    frame = {"q": list("aaabb"), "home": ["h1", "h1", "h2", "h3", "h3"]}
    t = table(frame, quasi=["q"], household="home")
    found = KAnonymity(k=2, unit="household").check(t)
    assert (found.value, found.broken, found.detail["k_records"]) == (1, 1, 2)
    assert KAnonymity(k=2, unit="household").keeps(Grouping.published(t)).tolist() == [True, False]
    # A release without the column is counted beside its original, rows as they were kept.
    released = t.without(["home"]).take(np.array([4, 2, 1]))
    pair = Pair(t, released, np.array([4, 2, 1]))
    assert KAnonymity(k=2, unit="household").check_pair(pair).detail["k_records"] == 1
    with pytest.raises(MeasureError, match="role household"):
        KAnonymity(k=2, unit="household").check(released)
    with pytest.raises(MeasureError, match="nobody knows"):
        KAnonymity(k=2, unit="household").check_pair(Pair(t, released, None))
    with pytest.raises(ParameterError, match="category"):
        KAnonymity.build({"k": 2, "unit": "household", "missing": "wildcard"})


def test_records_without_a_household_are_one() -> None:
    frame = {"q": list("aaa"), "home": [None, None, "h"]}
    t = table(frame, quasi=["q"], household="home")
    assert KAnonymity(k=2, unit="household").check(t).value == 2


def test_a_plan_may_require_all_of_them(tmp_path: Path) -> None:
    """Counted on the tables, and again on the written bytes beside the originals."""
    rng = np.random.default_rng(0)
    frame = {
        "age": rng.integers(20, 60, 300),
        "town": rng.choice(list("xyz"), 300),
        "home": [f"h{i // 2}" for i in range(300)],
        "ill": rng.choice(["flu", "hiv", "cold"], 300),
    }
    t = table(frame, quasi=["age", "town"], household="home", confidential="ill")
    t.frame.write_parquet(tmp_path / "all.parquet")
    everyone = f'population = "{tmp_path / "all.parquet"}"'
    plan = sf.Plan.parse(f"""
        [[steps]]
        use = "mondrian"
        k = 20
        [require]
        k-anonymity = [20, {{ k = 10, unit = "household" }}]
        k1-anonymity = 20
        k-map = {{ k = 20, {everyone} }}
        delta-presence = {{ at-most = 1.0, {everyone} }}
        alpha-k-anonymity = {{ k = 20, alpha = 0.9 }}
        p-sensitive = {{ k = 20, p = 2 }}
        p-alpha-sensitive = {{ k = 20, p = 2, alpha = 0.9 }}
        beta-likeness = 3.0
        delta-disclosure = 3.0
        average-risk = 0.05
        population-uniqueness = {{ at-most = 0.0, share = 0.1 }}
        bayes-optimal-privacy = {{ at-most = 0.9 }}
    """)
    release = sf.protect(t, plan, seed=1)
    assert all(finding.met for finding in release.evidence.findings)
    release.save(tmp_path / "release", allow_guessable_seed=True)
    households = next(f for f in release.evidence.findings if "households" in f.subject)
    assert release.pair.rows is not None
    homes = release.table.frame.with_columns(t["home"].gather(release.pair.rows))
    by_hand = homes.group_by("age", "town").agg(pl.col("home").n_unique())["home"].min()
    assert households.value == by_hand
    refused = sf.Plan.parse('[[steps]]\nuse = "mondrian"\nk = 2\n[require]\nk1-anonymity = 200\n')
    with pytest.raises(ReleaseRefused, match=r"\(k,1\)"):
        sf.protect(t, refused, seed=1)


def test_people_without_records_are_refused() -> None:
    release = table({"q": ["a", "b"]}, quasi=["q"])
    with pytest.raises(MeasureError, match="no records"):
        KMap(k=2, population=release.take(np.empty(0, np.int64))).check(release)


def test_weights_below_one_do_not_make_a_table_larger_than_its_population() -> None:
    few = table({"q": ["a", "b"], "w": [0.5, 0.5]}, quasi=["q"], weight="w")
    assert sampling_share(few, None, "k-map") == (1.0, "the sampling weights in w")
    many = table({"q": ["a", "b"], "w": [3.0, 5.0]}, quasi=["q"], weight="w")
    assert sampling_share(many, None, "k-map") == (0.25, "the sampling weights in w")


def test_one_column_of_weights_is_enough() -> None:
    frame = {"q": [1, 1], "w": [1.0, 2.0], "v": [1.0, 2.0]}
    with pytest.raises(MeasureError, match="2 columns have the role weight: w, v"):
        KMap(k=2).check(table(frame, quasi=["q"], weight=["w", "v"]))


def test_who_is_surely_absent_is_told_by_the_smallest_chance() -> None:
    everyone = table({"q": list("aaaab")}, quasi=["q"])
    release = table({"q": ["a", "a"]}, quasi=["q"])
    found = DeltaPresence(at_most=0.5, at_least=0.1, population=everyone).check(release)
    assert str(found) == "the smallest chance of presence is 0 (limit 0.1) in 1 of 5 people"
    assert (found.at_least, found.detail["largest"]) == (True, 0.5)


def test_people_whom_no_hierarchy_knows_are_named() -> None:
    tree = Hierarchy(levels=[["a", "A", "*"], ["b", "A", "*"]])
    release = table({"q": ["A", "A"]}, quasi=["q"], posets={"q": tree})
    release = release.with_schema(
        release.schema.with_column(release.schema["q"].with_(generalized=True))
    )
    known, more = table({"q": ["a", "b"]}), table({"q": ["a", "b", "c"]})
    found = KMap(k=2, population=known).check(release)
    assert (found.value, "values_in_no_hierarchy" in found.detail) == (2, False)
    with pytest.raises(SchemaError, match='value "c" is not in the hierarchy'):
        KMap(k=2, population=more).check(release)


def test_a_label_of_some_values_leaves_out_those_between() -> None:
    everyone = table({"q": list("wxyz")}, quasi=["q"])
    labels = ["{w, y}", "{w, z}", "{w, x, z}", "{x, z}"]
    release = table({"q": labels}, quasi=["q"])
    schema = release.schema.with_column(release.schema["q"].with_(generalized=True))
    found = containment(everyone, release.with_schema(schema), np.arange(4), ["q"])
    assert found.counts().tolist() == [2, 2, 3, 2]


def test_values_are_compared_as_what_they_are() -> None:
    big = 2**60
    for mine, theirs, fits in (
        ([big, big + 1, big + 2], [big + 1], 1),
        ([1.0, 1.5, 2.0], [1], 1),
        ([1, 2], [1.5], 0),
        ([dt.date(2020, 1, 30), dt.date(2020, 2, 2)], [dt.date(2020, 2, 2)], 1),
    ):
        everyone, release = table({"q": mine}, quasi=["q"]), table({"q": theirs}, quasi=["q"])
        assert containment(everyone, release, np.arange(1), ["q"]).counts().tolist() == [fits]


def test_what_a_search_would_publish_can_be_read_by_its_poset() -> None:
    sample = _people([(20, "x"), (29, "z"), (21, "x")])
    shown = Grouping.of(sample, np.array([0, 0, 1])).shown
    for name in ("age", "town"):
        assert shown.schema[name].generalized
        assert shown.schema[name].bound is not None


@pytest.mark.parametrize(
    "criterion",
    [
        KMap(k=2, population=Path("/home/ann/people.csv")),
        DeltaPresence(at_most=0.5, population=Path("/home/ann/people.csv")),
        K1Anonymity(k=2, original=Path("/home/ann/people.csv")),
    ],
)
def test_files_of_people_are_told_by_their_names(criterion: Criterion) -> None:
    assert "/home/ann/people.csv" in criterion.parameters().values()
    shown = open_parameters(criterion)
    assert "people.csv" in shown.values()
    assert not any("ann" in str(value) for value in shown.values())


def test_people_are_a_file_or_a_table() -> None:
    for given_ in (5, ["people.csv"], {"q": [1]}):
        with pytest.raises(ParameterError, match="path of a file, or a table"):
            KMap.build({"k": 2, "population": given_})
