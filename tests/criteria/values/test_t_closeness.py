"""t-closeness against the transport problem itself, and against the figures of the paper."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.classes import Grouping
from sfumato.criteria.values.t_closeness import TCloseness
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError
from sfumato.poset.interval import Interval
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle import criteria as oracle

labels = st.sampled_from("abc")
complete = st.lists(st.tuples(labels, st.integers(0, 6)), min_size=1, max_size=30)
with_gaps = st.lists(
    st.tuples(labels, st.one_of(st.none(), st.integers(0, 6))), min_size=1, max_size=30
)


def _table(rows: list[tuple[str, int | None]], kind: str = "integer") -> Table:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "pay": pl.Int64}, orient="row")
    return table(frame, quasi=["q"], confidential=["pay"], kinds={"pay": kind})


def _groups(rows: list[tuple[str, int | None]]) -> list[list[int | None]]:
    return [[rows[i][1] for i in g] for g in oracle.classes([row[:1] for row in rows]).values()]


@given(complete)
def test_ordered_and_equal_are_the_earth_movers(rows: list[tuple[str, int | None]]) -> None:
    groups = _groups(rows)
    domain = sorted({v for _, v in rows if v is not None})
    for kind, distance, ground in (
        ("integer", "ordered", oracle.ordered_ground),
        ("nominal", "equal", oracle.equal_ground),
    ):
        expected = oracle.closeness(groups, domain, ground(len(domain)))
        found = TCloseness(at_most=0.25).check(_table(rows, kind))
        assert found.detail["distance"] == distance
        assert found.value == pytest.approx(max(expected), abs=1e-9)
        assert found.broken == sum(d > 0.25 + 1e-9 for d in expected)
        sizes = [len(g) for g in groups]
        assert found.detail["mean"] == pytest.approx(np.average(expected, weights=sizes), abs=1e-9)


@given(with_gaps)
def test_missing_values_lie_at_distance_one(rows: list[tuple[str, int | None]]) -> None:
    groups = _groups(rows)
    domain = sorted({v for _, v in rows if v is not None})
    m = len(domain)
    # With the equal distance a missing value is one more value.
    far = oracle.closeness(groups, [*domain, None], oracle.equal_ground(m + 1))
    assert TCloseness(at_most=1).check(_table(rows, "nominal")).value == pytest.approx(
        max(far), abs=1e-9
    )
    # With the ordered one it is the documented bound, which never falls below the true distance.
    found = TCloseness(at_most=1).check(_table(rows))
    bound = oracle.ordered_closeness_with_missing(groups)
    assert found.value == pytest.approx(max(bound), abs=1e-9)
    true = oracle.closeness(
        groups, [*domain, None], oracle.ground_with_missing(m, oracle.ordered_ground)
    )
    assert all(b >= t - 1e-9 for b, t in zip(bound, true, strict=True))
    assert found.value <= 1.0 + 1e-12
    assert found.detail.get("missing", 0) == sum(v is None for _, v in rows)


@given(with_gaps, st.sampled_from(["integer", "nominal"]))
def test_joining_classes_never_raises_it(rows: list[tuple[str, int | None]], kind: str) -> None:
    joined = [("ab" if q in "ab" else q, pay) for q, pay in rows]
    t = TCloseness(at_most=0.5)
    assert t.check(_table(joined, kind)).value <= t.check(_table(rows, kind)).value + 1e-12


@given(with_gaps)
def test_records_left_out_take_their_values_along(rows: list[tuple[str, int | None]]) -> None:
    q = np.array([row[0] for row in rows])
    left = np.arange(len(rows)) % 2 == 0
    labels = np.full(len(rows), -1)
    labels[left] = np.unique(q[left], return_inverse=True)[1]
    rest = [row for row, here in zip(rows, left, strict=True) if here]
    t = TCloseness(at_most=0.3)
    found = t.keeps(Grouping.of(_table(rows), labels))
    assert int((~found).sum()) == t.check(_table(rest)).broken


def test_the_salaries_of_the_paper() -> None:
    # Li, Li & Venkatasubramanian, section 4.1: the salaries 3k, 4k ... 11k, each once.
    def away(*chosen: int) -> float:
        rows = [("chosen" if pay in chosen else "rest", pay) for pay in range(3, 12)]
        # Two classes lie on opposite sides of the whole: the smaller one, three of nine, is the
        # further.
        return TCloseness(at_most=0.0).check(_table(rows)).value

    assert away(3, 4, 5) == pytest.approx(0.375)
    assert away(6, 8, 11) == pytest.approx(1 / 6)


def test_a_distance_of_exactly_t_is_allowed() -> None:
    rows = [("a", v) for v in (1, 2, 3)] + [("b", v) for v in (1, 2, 4)]
    found = TCloseness(at_most=1 / 6).check(_table(rows, "nominal"))
    assert found.value == pytest.approx(1 / 6)
    assert (found.met, found.broken) == (True, 0)


def test_one_value_and_one_class_are_close() -> None:
    assert TCloseness(at_most=0).check(_table([("a", 5), ("b", 5)])).met
    assert TCloseness(at_most=0).check(_table([("a", 5), ("a", 6)])).met
    assert TCloseness(at_most=0).check(_table([("a", None), ("b", None)])).met


def test_many_values_and_classes_against_dense_sums() -> None:
    rng = np.random.default_rng(5)
    n = 4000
    q, pay = rng.integers(0, 300, n), rng.integers(0, 800, n) ** 2
    t = table({"q": q, "pay": pay}, quasi=["q"], confidential=["pay"])
    domain, codes = np.unique(pay, return_inverse=True)
    whole = np.cumsum(np.bincount(codes)) / n
    apart = [
        np.abs(
            np.cumsum(np.bincount(codes[q == c], minlength=domain.size)) / (q == c).sum() - whole
        ).sum()
        for c in np.unique(q)
    ]
    assert TCloseness(at_most=1).check(t).value == pytest.approx(
        max(apart) / (domain.size - 1), rel=1e-12
    )


def test_the_order_of_an_ordinal_column_counts() -> None:
    grades = {"kinds": {"pay": "ordinal"}, "categories": {"pay": ["low", "mid", "high"]}}
    frame = {"q": ["a", "a", "b", "b"], "pay": ["low", "mid", "mid", "high"]}
    found = TCloseness(at_most=1).check(table(frame, quasi=["q"], confidential=["pay"], **grades))
    # a: (1/2, 1/2, 0) against (1/4, 1/2, 1/4): 1/4 + 1/4 over two steps. By the alphabet it would
    # be 1/8.
    assert found.value == pytest.approx(0.25)


# After the hierarchy of diseases in Li, Li & Venkatasubramanian's figure 2: height 3.
DISEASES = [
    ["flu", "respiratory infection", "respiratory", "*"],
    ["pneumonia", "respiratory infection", "respiratory", "*"],
    ["bronchitis", "respiratory infection", "respiratory", "*"],
    ["pulmonary edema", "vascular lung", "respiratory", "*"],
    ["gastric ulcer", "stomach", "digestive", "*"],
    ["gastritis", "stomach", "digestive", "*"],
    ["stomach cancer", "stomach", "digestive", "*"],
    ["colitis", "colon", "digestive", "*"],
]


@given(
    st.lists(
        st.tuples(labels, st.sampled_from([None, *(path[0] for path in DISEASES)])),
        min_size=1,
        max_size=25,
    )
)
def test_hierarchical_is_the_earth_movers(rows: list[tuple[str, str | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "ill": pl.String}, orient="row")
    t = table(frame, quasi=["q"], confidential=["ill"], posets={"ill": Hierarchy(levels=DISEASES)})
    found = TCloseness(at_most=0.3, distance="hierarchical").check(t)
    domain = [path[0] for path in DISEASES]
    ground = oracle.ground_with_missing(len(domain), lambda _: oracle.tree_ground(DISEASES))
    groups = [[rows[i][1] for i in g] for g in oracle.classes([row[:1] for row in rows]).values()]
    expected = oracle.closeness(groups, [*domain, None], ground)
    assert found.value == pytest.approx(max(expected), abs=1e-9)
    assert found.broken == sum(d > 0.3 + 1e-9 for d in expected)


@pytest.mark.parametrize(
    ("chosen", "away"),
    [
        (("gastric ulcer", "gastritis", "stomach cancer"), 0.5),
        (("gastric ulcer", "stomach cancer", "pneumonia"), 5 / 18),
    ],
)
def test_the_diseases_of_the_paper(chosen: tuple[str, ...], away: float) -> None:
    # Six diseases, equally frequent; the paper gives 0.5 and 0.278. Two classes of equal size lie
    # equally far.
    everything = ("gastric ulcer", "gastritis", "stomach cancer", "flu", "pneumonia", "bronchitis")
    frame = {"q": [ill in chosen for ill in everything], "ill": list(everything)}
    t = table(frame, quasi=["q"], confidential=["ill"], posets={"ill": Hierarchy(levels=DISEASES)})
    assert TCloseness(at_most=1, distance="hierarchical").check(t).value == pytest.approx(away)


def test_a_branch_of_its_own_is_as_far_as_the_root_is_high() -> None:
    frame = {"q": ["a", "a", "b", "b"], "ill": ["flu", "pneumonia", "colitis", "gastritis"]}
    t = table(frame, quasi=["q"], confidential=["ill"], posets={"ill": Hierarchy(levels=DISEASES)})
    # Half of the mass must go to the other branch and cross the root, at full cost.
    assert TCloseness(at_most=1, distance="hierarchical").check(t).value == pytest.approx(0.5)
    close = {"q": ["a", "a", "b", "b"], "ill": ["flu", "flu", "pneumonia", "pneumonia"]}
    t = table(close, quasi=["q"], confidential=["ill"], posets={"ill": Hierarchy(levels=DISEASES)})
    # Flu and pneumonia meet one level up, of three.
    assert TCloseness(at_most=1, distance="hierarchical").check(t).value == pytest.approx(0.5 / 3)


def test_numbers_and_ordinals_can_have_a_hierarchy_too() -> None:
    bins = Hierarchy(levels=[["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]])
    for kind in ("integer", "ordinal"):
        t = table(
            {"q": ["a", "a", "b", "b"], "pay": [1, 2, 3, 3]},
            quasi=["q"], confidential=["pay"], kinds={"pay": kind}, posets={"pay": bins},
        )  # fmt: skip
        assert TCloseness(at_most=1, distance="hierarchical").check(t).value == pytest.approx(0.5)


def test_what_has_no_order_or_no_hierarchy_is_refused() -> None:
    t = _table([("a", 1)], "nominal")
    with pytest.raises(MeasureError, match="no order"):
        TCloseness(at_most=0.2, distance="ordered").check(t)
    with pytest.raises(MeasureError, match="no hierarchy"):
        TCloseness(at_most=0.2, distance="hierarchical").check(t)
    spans = table(
        {"q": [1, 1], "pay": [1, 2]}, quasi=["q"], confidential=["pay"], posets={"pay": Interval()}
    )
    with pytest.raises(MeasureError, match="no tree"):
        TCloseness(at_most=0.2, distance="hierarchical").check(spans)


def test_the_sentence_and_the_parameters() -> None:
    found = TCloseness(at_most=0.2).check(_table([("a", 1), ("b", 2)]))
    assert str(found) == "t-closeness of pay is 0.5 (limit 0.2) in 2 of 2 classes"
    assert TCloseness.build({"t": 0.2}) == TCloseness.build({"at-most": 0.2})
    with pytest.raises(ParameterError, match="less than or equal to 1"):
        TCloseness.build({"at-most": 1.5})


def test_leaves_right_below_the_root_are_equally_far() -> None:
    flat = Hierarchy(levels=[["a", "*"], ["b", "*"], ["c", "*"]])
    frame = {"q": [1, 1, 2, 2], "ill": ["a", "b", "b", "c"]}
    t = table(frame, quasi=["q"], confidential=["ill"], posets={"ill": flat})
    found = {d: TCloseness(at_most=1, distance=d).check(t) for d in ("hierarchical", "equal")}
    assert found["hierarchical"].value == found["equal"].value == 0.25
