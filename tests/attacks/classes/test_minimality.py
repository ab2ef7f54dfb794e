"""What a class tells by not having been cut further."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.classes.covering import Fitting
from sfumato.attacks.classes.minimality import Cuts, Dealt, Minimality, kept_criteria
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.rng import stream
from tests.attacks.classes.small import given
from tests.oracle import looking_up as oracle

VALUES = list("abcdefgh")
OFFSETS = (0, 1, 10, 11, 12)
"""Of five in a class: the cut nearest to the middle that leaves two parts them before the third."""
DIVERSE = {"use": "l-diversity", "l": 2}


def people(n: int, ages: np.ndarray, ills: np.ndarray) -> sf.Table:
    frame = pl.DataFrame({"age": ages[:n], "ill": ills[:n]})
    return sf.table(frame, quasi=["age"], confidential=["ill"])


def released(own: sf.Table, rng: np.random.Generator) -> tuple[sf.Table, np.ndarray]:
    """Classes of a hundred years, in another order, and whose each record is."""
    rows = rng.permutation(own.height)
    decade = pl.col("age") // 100 * 100
    frame = own.frame[rows].with_columns(pl.format("[{}, {}]", decade, decade + 12).alias("age"))
    schema = own.schema.with_column(own.schema["age"].with_(generalized=True))
    return sf.Table(frame, schema), rows


def situation(leak: bool, classes: int = 500) -> Context:
    """Classes of five of whom the two younger have the same value, or whom nothing tells apart."""
    rng = np.random.default_rng(4)
    ages = (np.arange(classes)[:, None] * 100 + OFFSETS).ravel()
    ills = np.stack([rng.permutation(VALUES)[[0, 0, 1, 2, 3]] for _ in range(classes)])
    if not leak:
        ills = rng.permuted(ills, axis=1)
    own = people(ages.size, ages, ills.ravel())
    others = people(ages.size, rng.permutation(ages), rng.choice(VALUES, ages.size))
    masked, rows = released(own, rng)
    search = sf.method("mondrian", k=2, criteria=[DIVERSE])
    return Context(
        Pair(own, masked, rows),
        stream(1, 0, "attack"),
        reference=others,
        mechanism=(search,),
        stream=lambda name: stream(1, 0, name),
    )


def test_what_was_not_cut_since_a_half_would_be_alike_is_learnt() -> None:
    found = Minimality().measure(situation(leak=True))
    trial = found.detail["trials"]["ill"]
    assert trial["criteria"] == ["l-diversity"]
    assert trial["cuttable"] == 1.0
    # The two are sure, and the other three are guessed among three; the class's most frequent value
    # is theirs, and nobody else's.
    assert trial["naive"] == pytest.approx(2 / 5)
    own = found.per_record
    assert own is not None
    assert own.reshape(-1, 5)[:, :2].min() == 1.0
    assert own.reshape(-1, 5)[:, 2:].mean() == pytest.approx(1 / 3, abs=0.08)
    assert found.private["advantages"]["ill"].interval[0] > 0.05
    assert not found.detail.get("refuses")


def test_classes_that_tell_nothing_by_that_are_not_accused() -> None:
    """Of the values of a class any five people say more than others' do: the naive guess as well,
    and whoever believes that something is told by what was not cut loses by it."""
    found = Minimality().measure(situation(leak=False))
    trial = found.detail["trials"]["ill"]
    assert trial["naive"] == pytest.approx(2 / 5)
    assert found.private["advantages"]["ill"].upper() < 0.05


def test_a_search_that_kept_its_criterion_is_attacked_as_it_is() -> None:
    rng = np.random.default_rng(2)
    n = 600
    own, others = (people(n, rng.integers(0, 200, n), rng.choice(VALUES, n)) for _ in range(2))
    search = sf.method("mondrian", k=3, criteria=[DIVERSE])
    pair = sf.protect(own, search, seed=1).pair
    context = Context(pair, stream(1, 0, "a"), reference=others, mechanism=(search,))
    found = Minimality(deals=50).measure(context)
    again = Context(pair, stream(1, 0, "a"), reference=others, mechanism=(search,))
    assert Minimality(deals=50).measure(again).private["advantages"] == found.private["advantages"]
    trial = found.detail["trials"]["ill"]
    assert 0.0 < trial["cuttable"] <= 1.0
    assert found.private["advantages"]["ill"].value < 0.1


@pytest.mark.parametrize(
    ("values", "lower", "least"),
    [("bbacd", 2, 2), ("bbaac", 2, 2), ("bbbac", 3, 2), ("aabbcc", 3, 3), ("aabbc", 1, 2)],
)
def test_what_is_kept_of_the_deals_is_as_counted(values: str, lower: int, least: int) -> None:
    n = len(values)
    own = people(n, np.arange(n), np.array(list(values)))
    masked, rows = released(
        own.with_columns([pl.Series("age", np.arange(n))]), np.random.default_rng(0)
    )
    search = sf.method("mondrian", k=2, criteria=[{**DIVERSE, "l": least}])
    field, context = given(own, masked, own, mechanism=(search,), rows=rows)
    rules, _ = kept_criteria(field)
    fitting = Fitting.of(field, [0])
    dealt = Dealt(field, fitting, 1, rules[1], 20_000, context.rng)
    (halves,) = dealt.posterior(np.array([[0], [lower]]))
    kinds = sorted(set(values))
    for found, wanted in zip(halves, oracle.dealt(values, lower, least), strict=True):
        shares = found[: len(kinds)] / max(found.sum(), 1.0)
        total = sum(wanted.values())
        assert total
        assert shares == pytest.approx([wanted[v] / total for v in kinds], abs=0.02)
        assert found[len(kinds) :].sum() == 0.0


def test_where_no_deal_breaks_anything_the_class_is_all_there_is_to_say() -> None:
    own = people(4, np.arange(4), np.array(list("abcd")))
    masked, rows = released(own, np.random.default_rng(0))
    search = sf.method("mondrian", k=2, criteria=[DIVERSE])
    field, context = given(own, masked, own, mechanism=(search,), rows=rows)
    rules, k = kept_criteria(field)
    assert k == 2
    dealt = Dealt(field, Fitting.of(field, [0]), 1, rules[1], 50, context.rng)
    halves = dealt.posterior(np.array([[0], [2]]))
    assert halves[0, :, :4].tolist() == [[1.0] * 4] * 2
    assert oracle.dealt("abcd", 2, 2) == (Counter(), Counter())


def test_the_cut_is_that_of_the_widest_column_that_can_be_cut() -> None:
    frame = pl.DataFrame({"a": [0, 0, 0, 9, 50], "b": [1, 2, 3, 3, 0], "ill": list("xyxyx")})
    own = sf.table(frame, quasi=["a", "b"], confidential=["ill"])
    labels = frame.with_columns(
        pl.Series("a", ["[0, 9]"] * 4 + ["50"]), pl.Series("b", ["[1, 3]"] * 4 + ["0"])
    )
    schema = own.schema
    for name in ("a", "b"):
        schema = schema.with_column(schema[name].with_(generalized=True))
    field, _ = given(own, sf.Table(labels, schema), own, rows=np.arange(5))
    fitting = Fitting.of(field, [0, 1])
    everybody = np.arange(5)
    # Of a the class spans one of two ranks, of b two of three; with two on both sides, b is cut
    # below 3. Who is alone is not cut.
    side, many = Cuts(field, fitting, 2).sides(fitting.member[everybody], everybody, outside=False)
    assert side.tolist() == [1, 1, 0, 0, 0]
    assert many.tolist() == [2, 2, 2, 2, 0]
    side, many = Cuts(field, fitting, 3).sides(fitting.member[everybody], everybody, outside=False)
    assert many.tolist() == [0] * 5


def test_releases_without_such_a_search_or_without_anybody_are_refused() -> None:
    own = people(5, np.arange(5), np.array(list("ababc")))
    masked, rows = released(own, np.random.default_rng(0))
    far = people(5, np.arange(5) + 1000, np.array(list("ababc")))
    search = sf.method("mondrian", k=2, criteria=[DIVERSE])
    for mechanism, others, what in (
        ((), own, "kept a criterion"),
        ((sf.method("mondrian", k=2),), own, "kept a criterion"),
        ((search,), far, "no class covers anybody"),
    ):
        context = Context(
            Pair(own, masked, rows), stream(1, 0, "a"), reference=others, mechanism=mechanism
        )
        with pytest.raises(MeasureError, match=what):
            Minimality().measure(context)
    nobodys = Context(
        Pair(own, masked, None), stream(1, 0, "a"), reference=own, mechanism=(search,)
    )
    with pytest.raises(MeasureError):
        Minimality().measure(nobodys)
