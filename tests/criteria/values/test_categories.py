"""Criteria on categories of confidential values, and on values that may or must not be denied."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.sensitive import PAlphaSensitive, PSensitive
from sfumato.data.table import Table
from sfumato.errors import MeasureError, ParameterError
from sfumato.protocols import Criterion
from tests.oracle import criteria as oracle

Rows = list[tuple[str, str | None]]
PODGURSKY = (("cancer", "HIV"), ("healthy", "flu"))
VALUES = ("cancer", "HIV", "healthy", "flu")
records = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([*VALUES, "*", None])),
    min_size=1,
    max_size=40,
)


def _table(rows: Rows) -> Table:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "ill": pl.String}, orient="row")
    return sf.table(frame, quasi=["q"], confidential=["ill"])


def _groups(rows: Rows) -> list[list[str | None]]:
    return [[rows[i][1] for i in g] for g in oracle.classes([row[:1] for row in rows]).values()]


def _two(first: str, second: str) -> Table:
    return _table([("a", first), ("a", second)])


@pytest.mark.parametrize(
    "criterion",
    [
        PSensitive(k=2, p=2, categories=PODGURSKY),
        PAlphaSensitive(k=2, p=2, alpha=1, categories=PODGURSKY),
        LDiversity(at_least=2, categories=PODGURSKY),
        LDiversity(at_least=1.9, variant="entropy", categories=PODGURSKY),
        LDiversity(at_least=2, variant="recursive", c=2, categories=PODGURSKY),
    ],
    ids=str,
)
def test_every_category_is_represented(criterion: Criterion) -> None:
    """Podgursky, p. 8: {cancer, HIV} and {healthy, flu} each occur in every class."""
    assert criterion.check(_two("cancer", "flu")).met
    for pair in PODGURSKY:
        found = criterion.check(_two(*pair))
        assert not found.met
        assert found.broken == 1
        assert not criterion.keeps(Grouping.of(_two(*pair), np.zeros(2, dtype=np.int64))).any()
    assert "categories of ill" in criterion.check(_two("healthy", "flu")).subject


def test_values_are_counted_as_sun_et_al_do_where_asked() -> None:
    values = PAlphaSensitive(k=2, p=2, alpha=1, categories=PODGURSKY, of="values")
    assert values.check(_two("healthy", "flu")).met


@given(records, st.sampled_from([0.5, 1.0, 3.0]))
def test_categories_are_those_of_the_oracle(rows: Rows, c: float) -> None:
    kinds = [oracle.kinds_of(g, PODGURSKY) for g in _groups(rows)]
    t = _table(rows)
    distinct = [oracle.distinct_l(g) for g in kinds]
    for p in (1, 2):
        found = PSensitive(k=2, p=p, categories=PODGURSKY).check(t)
        small = [len(g) < 2 for g in _groups(rows)]
        assert found.broken == sum(d < p or s for d, s in zip(distinct, small, strict=True))
        assert found.detail["different_categories"] == min(distinct)
    for variant, figures in (
        ("distinct", [float(d) for d in distinct]),
        ("entropy", [oracle.entropy_l(g) if g else 0.0 for g in kinds]),
        ("recursive", [float(oracle.recursive_l(g, c)) if g else 0.0 for g in kinds]),
    ):
        words = {"variant": variant, "c": c, "categories": PODGURSKY}
        found = LDiversity(at_least=2, **words).check(t)
        assert found.value == pytest.approx(min(figures), rel=1e-12)
        assert found.broken == sum(f < 2 - 1e-9 for f in figures)


@given(records, st.sets(st.sampled_from(VALUES)), st.sampled_from([0.5, 1.0, 1.5]))
def test_positive_disclosure_is_the_papers_two_cases(rows: Rows, may: set[str], c: float) -> None:
    t, groups = _table(rows), [oracle.known(g) for g in _groups(rows)]
    words = {"variant": "recursive", "c": c, "may_disclose": sorted(may)}
    for l in (1, 2, 3, 4):
        holds = [oracle.pd_recursive(g, sorted(may), c, l) for g in groups]
        found = LDiversity(at_least=l, **words).check(t)
        assert found.broken == holds.count(False)
        assert np.isfinite(found.value)


@given(records, st.sampled_from([0.1, 0.25, 0.5]))
def test_negative_disclosure_keeps_a_share_in_every_class(rows: Rows, c2: float) -> None:
    t = _table(rows)
    never = ("HIV", "healthy")
    words = {"variant": "recursive", "c": 100.0, "never_ruled_out": never, "c2": c2}
    found = LDiversity(at_least=1, **words).check(t)
    held = [
        all(g.count(value) / len(g) >= c2 - 1e-12 for value in never) and bool(oracle.known(g))
        for g in _groups(rows)
    ]
    assert found.broken == held.count(False)


CRITERIA: list[Criterion] = [
    PSensitive(k=2, p=2, categories=PODGURSKY),
    PAlphaSensitive(k=2, p=2, alpha=1, categories=PODGURSKY),
    LDiversity(at_least=2, categories=PODGURSKY, missing="value"),
    LDiversity(at_least=1.5, variant="entropy", categories=PODGURSKY),
    LDiversity(at_least=2, variant="recursive", c=1.5, may_disclose=["healthy", "flu"]),
    LDiversity(
        at_least=2, variant="recursive", c=1.5, may_disclose=["healthy", "flu"],
        categories=PODGURSKY, never_ruled_out=["flu"], c2=0.2,
    ),
]  # fmt: skip


@given(records)
def test_searches_hear_what_a_check_finds_and_joining_breaks_nothing(rows: Rows) -> None:
    t = _table(rows)
    labels = np.unique(t["q"].to_numpy(), return_inverse=True)[1]
    coarse = _table([("b" if q == "a" else q, ill) for q, ill in rows])
    out = labels > 0
    for criterion in CRITERIA:
        found, kept = criterion.check(t), criterion.keeps(Grouping.of(t, labels))
        assert int((~kept).sum()) == found.broken, criterion
        assert criterion.check(coarse).met or not found.met, criterion
        if out.any():
            left = criterion.keeps(Grouping.of(t, labels - 1))
            assert left.tolist() == kept[1:].tolist(), criterion


def test_just_inside_and_just_outside() -> None:
    rows = [("a", "flu")] * 3 + [("a", "HIV")] * 2 + [("a", "cancer")]
    t = _table(rows)
    # HIV is the most frequent that may not be known: 2 < c (1) for l = 3, without flu.
    words = {"variant": "recursive", "may_disclose": ["flu"], "at_least": 3}
    assert LDiversity(c=2.01, **words).check(t).met
    assert not LDiversity(c=2.0, **words).check(t).met
    never = {"variant": "recursive", "at_least": 1, "c": 2.0, "never_ruled_out": ["cancer"]}
    assert LDiversity(c2=1 / 6, **never).check(t).met
    found = LDiversity(c2=1 / 6 + 1e-6, **never).check(t)
    assert not found.met
    assert str(found) == (
        "the least share of a value of ill that is never ruled out is 0.1667 (limit 0.1667) "
        "in 1 of 1 classes"
    )
    # A value that nobody has is ruled out of everybody.
    gone = LDiversity(at_least=1, variant="recursive", c=9, never_ruled_out=["gout"], c2=0.01)
    assert gone.check(t).value == 0


def test_a_height_of_the_tree_sorts_values() -> None:
    codes = ["427.0", "427.8", "428.1", "250.0"]
    t = sf.table(
        {"q": ["a", "a", "b", "b"], "icd": codes},
        quasi=["q"], confidential=["icd"], posets={"icd": {"kind": "prefix", "lengths": [5, 3]}},
    )  # fmt: skip
    assert LDiversity(at_least=2).check(t).met
    found = LDiversity(at_least=2, categories=1).check(t)
    assert (found.value, found.broken) == (1, 1)
    assert PSensitive(k=2, p=2, categories=1).check(t).broken == 1
    assert LDiversity(at_least=2, variant="recursive", c=2, categories=1).check(t).broken == 1
    with pytest.raises(MeasureError, match="one category"):
        LDiversity(at_least=2, categories=9).check(t)


def test_items_are_sorted_too() -> None:
    held = [["HIV", "flu"], ["cancer"], ["cancer"], ["flu"]]
    t = sf.table({"q": ["a", "a", "b", "b"], "ill": held}, quasi=["q"], confidential=["ill"])
    assert LDiversity(at_least=2).check(t).met
    # Everybody of the first class holds something grave.
    found = LDiversity(at_least=2, categories=PODGURSKY).check(t)
    assert (found.value, found.broken) == (1, 1)


def test_missing_values_count_where_they_are_said_to() -> None:
    t = _table([("a", "flu"), ("a", None), ("a", "*"), ("a", "")])
    apart = LDiversity(at_least=2, categories=PODGURSKY, missing="value")
    assert apart.check(t).value == 2
    listed = (*PODGURSKY[:1], ("healthy", "flu", ""))
    assert LDiversity(at_least=2, categories=listed, missing="value").check(t).value == 1
    found = LDiversity(at_least=2, categories=PODGURSKY).check(t)
    assert (found.value, found.detail["with_missing"]) == (1, 2)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"categories": [["flu"]]}, "two or more"),
        ({"categories": [["flu"], ["flu"]]}, "one category only"),
        ({"categories": [["flu"], []]}, "without values"),
        ({"categories": 0}, "greater than"),
        ({"categories": True}, "valid"),
        ({"may-disclose": ["flu"]}, "recursive"),
        ({"variant": "recursive", "c": 2, "never-ruled-out": ["flu"]}, "go together"),
        ({"variant": "recursive", "c": 2, "c2": 0.5}, "go together"),
        (
            {"variant": "recursive", "c": 2, "never-ruled-out": ["flu", "HIV"], "c2": 0.6},
            "no class can hold",
        ),
        ({"variant": "recursive", "c": 2, "may-disclose": ["flu"], "categories": 1}, "list the"),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, object], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        LDiversity.build({"at-least": 2, **more})


def test_values_without_a_category_are_refused() -> None:
    with pytest.raises(MeasureError, match="1 values of column 'ill' belong to no category"):
        PSensitive(k=1, p=1, categories=PODGURSKY).check(_two("flu", "gout"))
    t = sf.table({"q": [1], "ill": ["flu"], "pay": [3]}, quasi=["q"], confidential=["ill", "pay"])
    with pytest.raises(MeasureError, match="of one column"):
        PSensitive(k=1, p=1, categories=PODGURSKY).check(t)
