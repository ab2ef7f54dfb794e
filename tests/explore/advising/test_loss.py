"""What a release loses for a purpose, beside the plain definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import ParameterError
from sfumato.explore.advising.loss import PAIRS, Loss
from sfumato.protocols import Context, Measure, Measurement
from sfumato.release.plan.plan import Purpose

ROLES = {"quasi": ["a", "b"], "confidential": ["c"]}


def take(measure: Measure, pair: Pair) -> Measurement:
    return measure.measure(Context(pair, np.random.default_rng(0)))


def apart(before: pl.DataFrame, after: pl.DataFrame, names: tuple[str, ...]) -> float:
    """Half of what the shares of all cells differ."""
    sides = [list(zip(*(frame[n] for n in names), strict=True)) for frame in (before, after)]
    cells = {*sides[0], *sides[1]}
    return (
        sum(abs(s.count(c) / len(s) - t.count(c) / len(t)) for c in cells for s, t in [sides]) / 2
    )


@st.composite
def frames(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    size = draw(st.integers(2, 12))

    def made() -> pl.DataFrame:
        words = st.lists(st.sampled_from("xyz"), min_size=size, max_size=size)
        return pl.DataFrame({name: draw(words) for name in "abc"})

    return made(), made()


@given(frames(), st.tuples(*[st.floats(0.1, 9.0)] * 3))
@settings(derandomize=True, max_examples=60)
def test_uses_and_weights(drawn: tuple[pl.DataFrame, pl.DataFrame], weights: tuple) -> None:
    before, after = drawn
    pair = Pair.of(sf.table(before, **ROLES), sf.table(after, **ROLES))
    uses: list[tuple[str, ...]] = [("a",), ("b", "c"), ("a", "b", "c")]
    expected = [
        apart(before, after, ("a",)),
        apart(before, after, ("b", "c")),
        # Of three columns it is the mean of their pairs.
        np.mean([apart(before, after, one) for one in (("a", "b"), ("a", "c"), ("b", "c"))]),
    ]
    purpose = Purpose.of({"uses": uses, "weights": weights})
    loss, parts, columns = Loss.of(purpose, pair.original, frozenset()).figures(pair, take)
    assert loss == pytest.approx(np.dot(expected, weights) / sum(weights))
    assert list(parts) == ["a", "b by c", "a by b by c"]
    assert list(parts.values()) == pytest.approx(expected)
    assert columns == pytest.approx({n: apart(before, after, (n,)) for n in "abc"})
    alone = Loss.of(Purpose(), pair.original, frozenset()).figures(pair, take)
    assert alone[0] == pytest.approx(expected[2])
    assert list(alone[1]) == [PAIRS]


def test_a_column_that_is_not_published_counts_as_nothing_known() -> None:
    before = pl.DataFrame({"a": ["x"] * 3 + ["y"], "b": ["u", "v"] * 2, "c": ["k"] * 4})
    table = sf.table(before, **ROLES)
    pair = Pair.of(table, sf.table(before.drop("a"), quasi=["b"], confidential=["c"]))
    loss, parts, columns = Loss.of(
        Purpose.of({"uses": ["a", "b", ["a", "b"]]}), table, frozenset()
    ).figures(pair, take)
    # Shares of x and y that are 3/4 and 1/4 become 1/2 each.
    assert parts["a"] == pytest.approx(0.25)
    assert parts["b"] == columns["b"] == 0.0
    joint = {("x", "u"): 2, ("x", "v"): 1, ("y", "v"): 1}
    cells = product("xy", "uv")
    assert parts["a by b"] == pytest.approx(
        sum(abs(joint.get(c, 0) / 4 - 1 / 4) for c in cells) / 2
    )
    assert loss == pytest.approx(np.mean([*parts.values()]))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=8), st.integers(-60, 60))
@settings(derandomize=True, max_examples=60)
def test_totals(cells: list[int], more: int) -> None:
    before = pl.DataFrame({"pay": cells, "a": ["x"] * len(cells)})
    after = before.with_columns(pay=pl.Series([cells[0] + more, *cells[1:]]))
    tables = [sf.table(f, quasi=["a"], confidential=["pay"]) for f in (before, after)]
    pair = Pair.of(*tables)
    purpose = Purpose.of({"uses": ["a"], "totals": ["pay"]})
    loss, parts, _ = Loss.of(purpose, tables[0], frozenset()).figures(pair, take)
    size = sum(abs(cell) for cell in cells)
    expected = min(abs(more) / size, 1.0) if size else float(more != 0)
    assert parts["total of pay"] == pytest.approx(expected)
    # What stands for the totals counts as much as what stands for the uses.
    assert loss == pytest.approx((parts["a"] + expected) / 2)


def test_a_total_that_nobody_can_add_up_is_lost() -> None:
    table = sf.table({"pay": [1, 2, 3, 4], "a": list("xxyy")}, quasi=["pay", "a"])
    loss = Loss.of(Purpose.of({"totals": "pay"}), table, frozenset())
    for method in (sf.method("mondrian", k=2), sf.method("drop", columns=["pay"])):
        release = sf.protect(table, method, seed=1)
        assert loss.figures(release.pair, take)[1]["total of pay"] == 1.0
    same = Pair.of(table, table)
    assert loss.figures(same, take)[1]["total of pay"] == 0.0


@pytest.fixture(scope="module")
def study() -> sf.Table:
    """`y` hangs on `a`, and on nothing else."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 300)
    columns = {"a": a, "b": rng.integers(0, 4, 300), "y": np.where(a > 1, "ill", "well")}
    return sf.table(columns, quasi=["a", "b"], target=["y"])


def dealt(table: sf.Table, *names: str) -> Pair:
    """Some columns dealt anew over the records."""
    rng = np.random.default_rng(5)
    anew = [
        table[name].sample(fraction=1.0, shuffle=True, seed=int(rng.integers(99))) for name in names
    ]
    return Pair.of(table, table.with_columns(anew))


def test_a_target_moves_the_loss_to_the_model_of_its_column(study: sf.Table) -> None:
    bare = Loss.of(Purpose(), study, frozenset())
    aimed = Loss.of(Purpose.of({"target": "y"}), study, frozenset())
    used = Loss.of(Purpose.of({"uses": ["b"]}), study, frozenset())
    assert set(aimed.uses.values()) == {("a", "y"), ("b", "y")}
    broken, other = dealt(study, "a"), dealt(study, "b")
    found = []
    for pair, least, most in ((broken, 0.5, 1.0), (other, 0.0, 0.2)):
        loss, parts, _ = aimed.figures(pair, take)
        assert least <= parts["model of y"] <= most
        assert loss == pytest.approx(
            (parts["model of y"] + (parts["a by y"] + parts["b by y"]) / 2) / 2
        )
        found.append(loss)
    assert found[0] > 3 * found[1]
    assert bare.figures(broken, take)[0] < found[0] / 2
    # Whoever uses `b` alone loses nothing by either.
    assert used.figures(broken, take)[0] == used.figures(other, take)[0] == 0.0


def drawn(seed: int, n: int = 400) -> sf.Table:
    """A sample of a population in which `y` hangs on `a` and on chance."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 40, n)
    y = np.where(rng.random(n) < 0.1 + 0.02 * a, "ill", "well")
    return sf.table({"a": a, "b": rng.integers(0, 9, n), "y": y}, quasi=["a", "b"], target=["y"])


def test_records_that_are_nobodys_are_not_charged_for_what_nobody_should_know_by_heart() -> None:
    """A fresh sample of the population is the best that a synthesis can be."""
    people, others = drawn(1), drawn(2)
    loss = Loss.of(Purpose.of({"target": "y"}), people, frozenset())
    fresh = drawn(3)
    anew = fresh.with_columns([fresh["y"].sample(fraction=1.0, shuffle=True, seed=1)])
    lost = {
        name: loss.figures(Pair(people, made, None), take, others)[1]["model of y"]
        for name, made in (("fresh", fresh), ("anew", anew))
    }
    assert lost["fresh"] < 0.25
    assert lost["anew"] > 0.8
    # Without others the model of the originals is tested on those whom it knows by heart.
    assert loss.figures(Pair(people, fresh, None), take)[1]["model of y"] > 2 * lost["fresh"]


def test_a_target_that_is_not_published_is_lost(study: sf.Table) -> None:
    loss = Loss.of(Purpose.of({"target": "y"}), study, frozenset())
    pair = sf.protect(study, sf.method("drop", columns=["y"]), seed=1).pair
    assert loss.figures(pair, take)[1]["model of y"] == 1.0


def test_names_that_look_like_others_are_kept_apart() -> None:
    names = ["a", "b", "a by b", "total of a", PAIRS]
    table = sf.table({name: [1, 2, 3, 3] for name in names}, quasi=names)
    uses = [["a", "b"], ["a by b"], ["total of a"], [PAIRS]]
    purpose = Purpose.of({"uses": uses, "weights": [1, 2, 3, 4], "totals": ["a"]})
    loss = Loss.of(purpose, table, frozenset())
    assert list(loss.uses.values()) == [tuple(use) for use in uses]
    figure, parts, _ = loss.figures(Pair.of(table, table), take)
    assert figure == 0.0
    assert len(parts) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"uses": ["who"]},
            "the purpose uses 'who', which is not published .its role is identifier",
        ),
        ({"target": "who"}, "the purpose uses 'who', which is not published"),
        ({"uses": ["gone"]}, "the purpose uses 'gone', which is not published"),
        ({"totals": ["town"]}, "wants the total of 'town', which holds no numbers"),
    ],
)
def test_a_purpose_that_cannot_be_judged_is_refused(words: dict, said: str) -> None:
    table = sf.table(
        {"who": list("pqr"), "town": list("uvv"), "gone": [1, 2, 3], "age": [1, 2, 3]},
        identifier=["who"], quasi=["town", "age"],
    )  # fmt: skip
    with pytest.raises(ParameterError, match=said) as told:
        Loss.of(Purpose.of(words), table, frozenset({"gone"}))
    assert told.value.remedy
