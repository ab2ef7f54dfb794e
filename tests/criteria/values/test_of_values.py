"""Criteria on confidential values, against what a reader of their papers would count by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.classes import Grouping
from sfumato.criteria.k_anonymity import AverageRisk, KAnonymity
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.likeness import BetaLikeness, DeltaDisclosure
from sfumato.criteria.values.sensitive import AlphaK, PAlphaSensitive, PSensitive
from sfumato.criteria.values.t_closeness import TCloseness
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError
from sfumato.protocols import Criterion
from tests.oracle import criteria as oracle

Rows = list[tuple[str, str | None]]
KINDS = (("hiv", "cancer"), ("flu",), ("cold",))
records = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["flu", "hiv", "cold", "*", None])),
    min_size=1,
    max_size=40,
)
CRITERIA: list[Criterion] = [
    KAnonymity(k=3),
    LDiversity(at_least=2),
    LDiversity(at_least=1.5, variant="entropy"),
    LDiversity(at_least=2, variant="recursive", c=2, missing="value"),
    TCloseness(at_most=0.3),
    AlphaK(k=2, alpha=0.6),
    AlphaK(k=2, alpha=0.6, missing="value"),
    PSensitive(k=3, p=2),
    PAlphaSensitive(k=3, p=2, alpha=0.6),
    PAlphaSensitive(k=2, p=1, alpha=1, categories=KINDS),
    BetaLikeness(at_most=0.7),
    BetaLikeness(at_most=0.7, variant="enhanced"),
    BetaLikeness(at_most=0.7, missing="value"),
    DeltaDisclosure(at_most=1.0),
    AverageRisk(at_most=0.4),
]


def _table(rows: Rows) -> Table:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "ill": pl.String}, orient="row")
    return table(frame, quasi=["q"], confidential=["ill"])


def _groups(rows: Rows) -> list[list[str | None]]:
    return [[rows[i][1] for i in g] for g in oracle.classes([row[:1] for row in rows]).values()]


@given(records)
def test_alpha_k_counts_shares_of_the_known(rows: Rows) -> None:
    groups, t = _groups(rows), _table(rows)
    expected = [oracle.largest_share(g) for g in groups]
    found = AlphaK(k=2, alpha=0.5).check(t)
    assert found.detail["largest_share"] == pytest.approx(max(expected))
    broken = [s > 0.5 + 1e-9 or len(g) < 2 for s, g in zip(expected, groups, strict=True)]
    assert (found.broken, found.met) == (sum(broken), not any(broken))
    if any(ill == "hiv" for _, ill in rows):
        one = AlphaK(k=1, alpha=0.5, value="hiv").check(t)
        assert one.value == pytest.approx(max(oracle.largest_share(g, "hiv") for g in groups))


@given(records)
def test_p_sensitive_and_p_alpha(rows: Rows) -> None:
    groups, t = _groups(rows), _table(rows)
    different = [oracle.distinct_l(oracle.known(g)) for g in groups]
    found = PSensitive(k=3, p=2).check(t)
    broken = [d < 2 or len(g) < 3 for d, g in zip(different, groups, strict=True)]
    assert (found.broken, found.detail["different_values"]) == (sum(broken), min(different))
    both = PAlphaSensitive(k=3, p=2, alpha=0.6).check(t)
    over = [oracle.largest_share(g) > 0.6 + 1e-9 for g in groups]
    assert both.broken == sum(a or b for a, b in zip(broken, over, strict=True))
    weighed = PAlphaSensitive(k=1, p=1, alpha=0.5, categories=KINDS).check(t)
    weights = [oracle.weight_of_kinds(g, KINDS) for g in groups]
    light = [w < 0.5 - 1e-9 or d < 1 for w, d in zip(weights, different, strict=True)]
    assert weighed.broken == sum(light)
    if any(w < 0.5 for w in weights):
        assert weighed.value == pytest.approx(min(weights))


@given(records, st.sampled_from([0.3, 1.0]))
def test_likeness_and_disclosure(rows: Rows, limit: float) -> None:
    groups, t = _groups(rows), _table(rows)
    if not any(oracle.known(g) for g in groups):
        return
    pairs = oracle.gains(groups)
    basic = BetaLikeness(at_most=limit).check(t)
    assert basic.value == pytest.approx(max(oracle.beta_gain(p) for p in pairs), abs=1e-9)
    enhanced = BetaLikeness(at_most=limit, variant="enhanced").check(t)
    assert enhanced.broken == sum(not oracle.enhanced_holds(p, limit) for p in pairs)
    assert enhanced.met == (enhanced.value <= limit + 1e-9)
    apart = DeltaDisclosure(at_most=limit).check(t)
    ratios = [oracle.log_ratio(p) for p in pairs]
    assert apart.broken == sum(r >= limit * (1 - 1e-12) for r in ratios)
    assert apart.value <= max(ratios) + 1e-9
    assert np.isfinite(apart.value), "what is published must be a number"


@given(records, st.integers(0, 2**32 - 1))
def test_keeps_agrees_with_check_and_joining_breaks_nothing(rows: Rows, seed: int) -> None:
    t = _table(rows)
    labels = np.unique(t["q"].to_numpy(), return_inverse=True)[1]
    joined = np.unique(np.where(t["q"].to_numpy() == "a", "b", t["q"].to_numpy()))
    coarse = _table([("b" if q == "a" else q, ill) for q, ill in rows])
    assert len(joined) == len(set(coarse["q"].to_list()))
    for criterion in CRITERIA:
        found = criterion.check(t)
        kept = criterion.keeps(Grouping.of(t, labels))
        assert (int((~kept).sum()), bool(kept.all())) == (found.broken, found.met), criterion
        assert criterion.monotone
        assert criterion.check(coarse).met or not found.met, criterion


@given(records)
def test_records_left_out_are_not_there(rows: Rows) -> None:
    t = _table(rows)
    labels = np.unique(t["q"].to_numpy(), return_inverse=True)[1]
    out = np.arange(len(rows)) % 3 == 0
    if out.all():
        return
    left = np.unique(labels[~out], return_inverse=True)[1]
    thin = np.full(len(rows), -1)
    thin[~out] = left
    rest = t.take(np.flatnonzero(~out))
    for criterion in CRITERIA:
        some = criterion.keeps(Grouping.of(t, thin))
        assert some.tolist() == criterion.keeps(Grouping.of(rest, left)).tolist(), criterion


def test_codes_are_found_once_and_go_with_the_table() -> None:
    from sfumato.data import table as room

    t = _table([("a", "flu"), ("a", "hiv"), ("b", None)])
    grouping = Grouping.of(t, np.array([0, 0, 1]))
    assert grouping.column("ill") is Grouping.of(t, np.array([0, 1, 1])).column("ill")
    number = id(t.frame)
    assert number in room._kept
    del grouping, t
    assert number not in room._kept


def test_many_classes_and_values_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.criteria import classes

    rng = np.random.default_rng(2)
    # Some without a value, the first of the first class among them.
    x = [None if i % 50 == 0 else int(v) for i, v in enumerate(rng.integers(0, 300, 3000))]
    t = table({"q": rng.integers(0, 400, 3000), "x": x}, quasi=["q"])
    monkeypatch.setattr(classes, "_DENSE", 1 << 20)
    dense = Grouping.published(t).counts("x")
    monkeypatch.setattr(classes, "_DENSE", 0)
    sparse = Grouping.published(t).counts("x")
    for a, b in ((dense.cls, sparse.cls), (dense.code, sparse.code), (dense.count, sparse.count)):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize(
    ("cls", "parameters", "complaint"),
    [
        (PSensitive, {"k": 2, "p": 3}, "p is at most k"),
        (PAlphaSensitive, {"k": 2, "p": 2, "alpha": 1.5}, "at most 1"),
        (PAlphaSensitive, {"k": 2, "p": 2, "alpha": 1, "categories": [["a"]]}, "two or more"),
        (PAlphaSensitive, {"k": 2, "p": 2, "alpha": 1, "categories": [["a"], ["a"]]}, "one cat"),
        (BetaLikeness, {"at-most": 0}, "greater than 0"),
        (AlphaK, {"k": 2, "alpha": 0}, "greater than 0"),
    ],
)
def test_parameters_that_make_no_sense(
    cls: type[Criterion], parameters: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ParameterError, match=complaint):
        cls.build(parameters)


def test_other_words_for_the_limit() -> None:
    assert BetaLikeness.build({"beta": 1.0}) == BetaLikeness.build({"at-most": 1.0})
    assert DeltaDisclosure.build({"delta": 1.0}) == DeltaDisclosure.build({"at-most": 1.0})


def test_what_cannot_be_counted_is_refused() -> None:
    t = _table([("a", "flu"), ("a", "hiv")])
    with pytest.raises(MeasureError, match="holds no value 'HIV'"):
        AlphaK(k=1, alpha=0.5, value="HIV").check(t)
    with pytest.raises(MeasureError, match="no category"):
        PAlphaSensitive(k=1, p=1, alpha=1, categories=[["flu"], ["cold"]]).check(t)
    with pytest.raises(MeasureError, match="none"):
        PSensitive(k=1, p=1).check(table({"q": [1]}, quasi=["q"]))


def test_the_part_that_is_broken_is_the_one_told() -> None:
    t = _table([("a", "flu"), ("a", "hiv"), ("b", "flu"), ("b", "hiv"), ("b", "cold")])
    found = AlphaK(k=3, alpha=0.5).check(t)
    assert str(found) == (
        "the smallest class under alpha-k-anonymity is 2 (limit 3) in 1 of 2 classes"
    )
    assert "smallest class" in PSensitive(k=3, p=2).check(t).subject
    assert "smallest class" in PAlphaSensitive(k=3, p=2, alpha=0.5).check(t).subject


def test_every_confidential_column_is_p_sensitive() -> None:
    t = table(
        {"q": [1, 1], "ill": ["flu", "hiv"], "pay": [3, 3]},
        quasi=["q"],
        confidential=["ill", "pay"],
    )
    assert PSensitive(k=2, p=2).check(t).value == 1
    assert PSensitive(k=2, p=2, column="ill").check(t).met


def test_what_is_met_is_told_by_its_share() -> None:
    t = _table([("a", "flu"), ("a", "hiv"), ("b", "flu"), ("b", "hiv")])
    found = PAlphaSensitive(k=2, p=2, alpha=0.5).check(t)
    assert str(found) == "the largest share of a value of ill is 0.5 (limit 0.5)"
