"""The three readings of l-diversity."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError
from tests.oracle import criteria as oracle

records = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["flu", "hiv", "ulcer", None])),
    min_size=1,
    max_size=40,
)


def _table(rows: list[tuple[str, str | None]]) -> Table:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "ill": pl.String}, orient="row")
    return table(frame, quasi=["q"], confidential=["ill"])


@given(records, st.integers(1, 3), st.sampled_from([0.5, 1.0, 1.5, 3.0]))
def test_the_figures_are_those_of_the_oracle(
    rows: list[tuple[str, str | None]], l: int, c: float
) -> None:
    groups = [[rows[i][1] for i in g] for g in oracle.classes([row[:1] for row in rows]).values()]
    t = _table(rows)
    for variant, figure in (
        ("distinct", oracle.distinct_l),
        ("entropy", oracle.entropy_l),
        ("recursive", lambda values: oracle.recursive_l(values, c)),
    ):
        found = LDiversity(at_least=l, variant=variant, c=c, missing="value").check(t)
        figures = [figure(g) for g in groups]
        assert found.value == pytest.approx(min(figures), rel=1e-12)
        assert found.broken == sum(f < l - 1e-9 for f in figures)
        assert found.met == (found.broken == 0)
        gone = sum(row[1] is None for row in rows)
        assert found.detail.get("missing", 0) == gone
        if gone:
            present = [[v for v in g if v is not None] for g in groups]
            bare = min(figure(g) if g else 0 for g in present)
            assert found.detail["without_missing"] == pytest.approx(bare, rel=1e-12)
            ignored = LDiversity(at_least=l, variant=variant, c=c).check(t)
            assert ignored.value == pytest.approx(bare, rel=1e-12)
            assert ignored.detail["with_missing"] == pytest.approx(min(figures), rel=1e-12)


@given(records, st.sampled_from([0.5, 1.0, 3.0]))
def test_joining_classes_never_lowers_it(rows: list[tuple[str, str | None]], c: float) -> None:
    joined = [("ab" if q in "ab" else q, ill) for q, ill in rows]
    for variant in ("distinct", "entropy", "recursive"):
        criterion = LDiversity(at_least=2, variant=variant, c=c)
        assert criterion.check(_table(joined)).value >= criterion.check(_table(rows)).value - 1e-12


def test_recursive_by_hand() -> None:
    # Counts 5, 3, 2: 5 < 2 (3 + 2) but not 5 < 2 * 2, so it is (2, 2)- and not (2, 3)-diverse.
    t = _table([("q", "flu")] * 5 + [("q", "hiv")] * 3 + [("q", "ulcer")] * 2)
    assert LDiversity(l=2, variant="recursive", c=2).check(t).value == 2.0
    # The comparison is strict: with c = 1, 5 < 3 + 2 fails.
    assert LDiversity(l=2, variant="recursive", c=1).check(t).value == 1.0


def test_equally_frequent_values_are_that_many_effective_ones() -> None:
    t = _table([("q", ill) for ill in ("flu", "hiv", "ulcer")] * 7)
    found = LDiversity(at_least=3, variant="entropy").check(t)
    assert found.met, "rounding must not refuse what is exactly 3-diverse"
    assert found.value == pytest.approx(3.0, abs=1e-12)
    half = LDiversity(at_least=2, variant="entropy").check(
        _table([("q", "flu")] * 3 + [("q", "hiv")])
    )
    assert half.value == pytest.approx(math.exp(0.75 * math.log(4 / 3) + 0.25 * math.log(4)))


def test_which_column_is_meant() -> None:
    t = table({"q": [1, 1], "a": [1, 2], "b": [1, 1]}, quasi=["q"], confidential=["a", "b"])
    with pytest.raises(MeasureError, match=r"2 \(a, b\)"):
        LDiversity(at_least=2).check(t)
    assert LDiversity(at_least=2, column="a").check(t).met
    with pytest.raises(MeasureError, match="none"):
        LDiversity(at_least=2).check(table({"q": [1]}, quasi=["q"]))


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"at_least": 2, "variant": "recursive"}, "needs c"),
        ({"at_least": 2.5}, "whole number"),
        ({}, "is needed"),
        ({"l": 2, "c": 0, "variant": "recursive"}, "greater than 0"),
    ],
)
def test_parameters_that_make_no_sense(parameters: dict[str, object], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        LDiversity.build(parameters)


def test_l_is_another_word_for_at_least() -> None:
    assert LDiversity.build({"l": 3}) == LDiversity.build({"at-least": 3})
    assert LDiversity.build({"l": 3}).parameters() == {"at_least": 3.0}
