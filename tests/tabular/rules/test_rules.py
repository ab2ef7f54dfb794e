"""Sensitive cells: the slides' examples, the rules' meaning, weights, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.data.generators import torra_towns
from sfumato.errors import MethodError, ParameterError
from sfumato.registry import find
from sfumato.tabular.base import Rule
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.table import SENSITIVE, CellTable
from sfumato.tabular.rules.dominance import Dominance
from sfumato.tabular.rules.minimum_frequency import MinimumFrequency
from sfumato.tabular.rules.p_percent import PPercent
from sfumato.tabular.rules.prior_posterior import PriorPosterior
from sfumato.tabular.rules.request import Request
from sfumato.tabular.rules.stated import Stated
from tests.oracle.sensitive import closest_estimate, copies, line, most_held, tiny, towns

amounts = st.lists(st.integers(0, 400).map(lambda i: i / 4), min_size=1, max_size=7)


def needs(rule: Rule, table: CellTable, cell: int = 1) -> float:
    found = rule.judge(table)
    assert found.sensitive[cell] == (found.up[cell] > 0)
    return float(found.up[cell])


@pytest.mark.parametrize(
    "name",
    ["minimum-frequency", "dominance", "p-percent", "prior-posterior", "request", "stated"],
)
def test_they_are_registered(name: str) -> None:
    assert find(name).load().name == name


@pytest.mark.golden
@pytest.mark.parametrize("built", [False, True])
def test_the_slides_cells(
    built: bool, golden_record: Callable[[str, object, object], None]
) -> None:
    table = towns()
    if built:
        table = from_microdata(torra_towns(), ["town", "profession"], "salary")
    p5m3 = table.find(town="M3", profession="P5")
    p3m2 = table.find(town="M2", profession="P3")
    assert table.values[p5m3] == 363
    by_dominance = Dominance(n=1, k=50).judge(table)
    both = [
        bool(rule.judge(table).sensitive[p5m3]) for rule in (Dominance(n=1, k=50), PPercent(p=50))
    ]
    golden_record("torra: (P5, M3) is sensitive by (1,50) and by p = 50 %", [True, True], both)
    # 350 of 363 is more than half; so is the lone person's 22 of 22, and 200 of 160 + 200, which
    # the slides do not say.
    p1m1 = table.find(town="M1", profession="P1")
    assert set(np.flatnonzero(by_dominance.sensitive)) == {p1m1, p3m2, p5m3}
    assert by_dominance.up[p5m3] == pytest.approx(350 / 0.5 - 363)
    # 363 - 350 - 4 = 9 is less than half of 350.
    by_p = PPercent(p=50).judge(table)
    assert set(np.flatnonzero(by_p.sensitive)) == {p1m1, p3m2, p5m3}
    assert by_p.up[p5m3] == pytest.approx(0.5 * 350 - 9)
    assert by_p.up[p3m2] == pytest.approx(0.5 * 22)
    few = MinimumFrequency(minimum=3).judge(table)
    assert set(np.flatnonzero(few.sensitive)) == {p1m1, p3m2}
    assert few.up[p3m2] == few.down[p3m2] == pytest.approx(0.3 * 22)


@given(amounts, st.integers(1, 4), st.sampled_from([30, 50, 75, 85]))
def test_dominance_is_what_n_contributors_hold(held: list[float], n: int, k: float) -> None:
    rule = Dominance(n=n, k=k)
    table = line(held, keep=7)
    need = needs(rule, table)
    most = most_held(held, n)
    assert (need > 0) == (most > k / 100 * sum(held) * (1 + 1e-9))
    if need > 0:
        assert most == pytest.approx(k / 100 * (sum(held) + need))


@given(amounts, st.integers(1, 3), st.sampled_from([5, 10, 50, 120]))
def test_p_percent_is_the_closest_estimate(held: list[float], coalition: int, p: float) -> None:
    assume(sum(held) > 0)
    rule = PPercent(p=p, coalition=coalition)
    need = needs(rule, line(held, keep=7))
    closest = closest_estimate(held, sum(held), coalition)
    assert (need > 0) == (closest < p / 100 - 1e-9)
    if need > 0:
        # With that much room above, nobody is estimated within p percent any more; with less, yes.
        assert closest_estimate(held, sum(held) + need, coalition) == pytest.approx(p / 100)


@given(amounts, st.sampled_from([(5, 10), (10, 50), (30, 100)]))
def test_prior_posterior_knows_the_others_within_q(
    held: list[float], pq: tuple[float, float]
) -> None:
    assume(sum(held) > 0)
    p, q = pq
    need = needs(PriorPosterior(p=p, q=q), line(held, keep=7))
    t1, _t2, *rest = [*sorted(held, reverse=True), 0.0]
    error = q / 100 * sum(rest)
    assert (need > 0) == (error < p / 100 * t1 * (1 - 1e-9))
    if need > 0:
        assert q / 100 * (sum(rest) + need) == pytest.approx(p / 100 * t1)
    if q == 100:
        assert need == pytest.approx(needs(PPercent(p=p), line(held, keep=7)))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 3)), min_size=1, max_size=5))
def test_a_whole_weight_is_that_many_contributors(pairs: list[tuple[int, int]]) -> None:
    held, times = [float(a) for a, _ in pairs], [w for _, w in pairs]
    weighted = line(held, keep=5, weights={i: float(w) for i, w in enumerate(times)})
    plain = line(copies(held, times), keep=15)
    for rule in (Dominance(n=3, k=75), PPercent(p=20), PriorPosterior(p=10, q=30)):
        assert needs(rule, weighted) == pytest.approx(needs(rule, plain))


def test_a_fraction_of_a_weight_fills_a_fraction_of_a_place() -> None:
    table = line([100, 60, 10], weights={0: 1.5, 1: 3.0, 2: 1.0})
    # Two places: 100, then half of 100 and half of 60. T = 150 + 180 + 10.
    assert needs(Dominance(n=2, k=50), table) == pytest.approx(180 / 0.5 - 340)


def test_exactly_k_percent_is_not_sensitive() -> None:
    assert needs(Dominance(n=1, k=70), line([0.7, 0.2, 0.1])) == 0
    assert needs(PPercent(p=10), line([1.0, 0.5, 0.05, 0.05])) == 0


def test_losses_do_not_hide_a_large_contributor() -> None:
    table = line([100, -98, 1], lower=-np.inf)
    found = Dominance(n=2, k=85).judge(table)
    assert found.sensitive[1]
    assert found.down[1] == found.up[1] == pytest.approx(198 / 0.85 - 199)


def test_below_no_more_than_the_known_bound_leaves() -> None:
    found = Dominance(n=1, k=30).judge(line([10.0]))
    assert found.up[1] == pytest.approx(10 / 0.3 - 10)
    assert found.down[1] == 10


def test_a_holding_is_one_contributor() -> None:
    records = [(("a",), 7, 5.0), (("a",), 7, 5.0), (("a",), 8, 1.0), (("b",), 9, 1.0)]
    table = tiny(["x"], [["a", "b"]], records)
    found = MinimumFrequency(minimum=3).judge(table)
    assert found.sensitive[1]
    assert needs(PPercent(p=10), table) == pytest.approx(1.0)


def test_counts_need_one_at_least() -> None:
    table = tiny(["x"], [["a", "b", "c"]], [(("a",), i, 1.0) for i in range(2)], measure="count")
    for given_ in (
        table,
        table.with_(contributions=None),
        table.with_(contributions=None, frequency=None),
    ):
        found = MinimumFrequency(minimum=3).judge(given_)
        assert found.sensitive.tolist() == [True, True, False, False]
        assert found.up[1] == found.down[1] == 1


def test_zeros_to_which_people_contribute() -> None:
    records = [(("a",), i, 0.0) for i in range(5)] + [(("b",), 10 + i, 4.0) for i in range(5)]
    table = tiny(["x"], [["a", "b", "c"]], records)
    assert not MinimumFrequency().judge(table).sensitive.any()
    found = MinimumFrequency(zeros=True).judge(table)
    assert found.sensitive.tolist() == [False, True, False, False]
    assert (found.up[1], found.down[1]) == (20, 0)  # the smallest amount; below zero is nothing


def test_those_who_asked() -> None:
    table = line([80, 10, 10], asked={0: 1.0})
    # A stranger: 80 / 0.7 - 100; the second: 10 percent of 80 less 10.
    assert needs(Request(percent=70), table) == pytest.approx(80 / 0.7 - 100)
    assert needs(Request(percent=70, p=40), table) == pytest.approx(0.4 * 80 - 10)
    assert needs(Request(percent=80), table) == 0
    assert needs(Request(percent=70, codes=(2,)), table) == 0
    assert needs(Request(percent=70, codes=(1,)), table) > 0
    assert needs(Request(percent=30), line([50, 45, 5], asked={1: 1.0})) == pytest.approx(
        max(45 / 0.3 - 100, 4.5 - 5)
    )
    assert needs(Request(percent=1), line([50, 45, 5], asked={2: 1.0})) == 0


@given(amounts, st.sampled_from([20, 70]), st.integers(0, 6))
def test_request_is_dominance_of_one(held: list[float], percent: float, who: int) -> None:
    assume(who < len(held))
    need = needs(Request(percent=percent), line(held, keep=7, asked={who: 1.0}))
    order = sorted(range(len(held)), key=lambda i: (-held[i], i))
    asked = who in order[:2] and held[who] > percent / 100 * sum(held) * (1 + 1e-9)
    assert (need > 0) == asked
    if asked:
        assert held[who] <= percent / 100 * (sum(held) + need) * (1 + 1e-9)


def test_what_the_user_states() -> None:
    table = line([3.0, 5.0])
    status = np.array([0, SENSITIVE, SENSITIVE])
    found = Stated().judge(table.with_(status=status))
    assert found.sensitive.tolist() == [False, True, True]
    assert found.up.tolist() == pytest.approx([0, 0.3 * 8, 0.3])
    levels = np.array([9.0, 2.0, 0.0]), np.array([9.0, 20.0, 0.0])
    found = Stated(width=0.5).judge(table.with_(status=status, needs=levels))
    assert found.up.tolist() == [0, 2, 0.5]
    assert found.down.tolist() == [0, 8, 0.5]
    wrong = np.array([0.0, -1.0, 0.0]), levels[1]
    with pytest.raises(MethodError, match="x=a is negative"):
        Stated().judge(table.with_(status=status, needs=wrong))


def test_what_is_missing_is_named() -> None:
    table = line([5.0, 3.0, 2.0, 1.0], keep=2)
    with pytest.raises(MethodError, match="3 largest contributors, but only 2 of the 5"):
        Dominance(n=3, k=50).judge(table)
    bare = table.with_(contributions=None)
    for rule in (Dominance(n=1, k=50), PPercent(p=1), PriorPosterior(p=1, q=2), Request()):
        with pytest.raises(MethodError, match="microdata"):
            rule.judge(bare)
    with pytest.raises(MethodError, match="who asked"):
        Request().judge(table)
    with pytest.raises(MethodError, match="how many contribute"):
        MinimumFrequency().judge(bare.with_(frequency=None))
    with pytest.raises(ParameterError, match="must be less than q"):
        PriorPosterior.build({"p": 20, "q": 10})


def at(rule: Rule, table: CellTable) -> bool:
    return bool(rule.judge(table).sensitive[1])


STEP = 1e-8
"""Beyond what rounding may amount to, and far below one per cent."""


@pytest.mark.parametrize(
    ("rule", "safe", "beyond"),
    [
        (Dominance(n=1, k=70), [7.0, 2.0, 1.0], [7.0 + STEP * 30, 2.0, 1.0]),
        (Dominance(), [50.0, 35.0, 10.0, 5.0], [50.0, 35.0 + STEP * 700, 10.0, 5.0]),
        (PPercent(p=25), [8.0, 4.0, 1.0, 1.0], [8.0 + STEP * 60, 4.0, 1.0, 1.0]),
        (PPercent(), [10.0, 4.0, 1.0], [10.0 + STEP * 200, 4.0, 1.0]),
        (PPercent(p=25, coalition=2), [8.0, 4.0, 3.0, 2.0], [8.0, 4.0, 3.0, 2.0 - STEP * 30]),
        (PriorPosterior(p=20, q=40), [8.0, 4.0, 3.0, 1.0], [8.0, 4.0, 3.0, 1.0 - STEP * 30]),
        (PriorPosterior(), [10.0, 4.0, 2.0], [10.0 + STEP * 100, 4.0, 2.0]),
        (MinimumFrequency(), [1.0, 1.0, 1.0], [1.0, 1.0]),
        (MinimumFrequency(minimum=1), [1.0], None),
        (MinimumFrequency(minimum=2), [1.0, 1.0], [1.0]),
    ],
)
def test_exactly_the_limit_is_safe_and_just_beyond_is_not(
    rule: Rule, safe: list[float], beyond: list[float] | None
) -> None:
    assert not at(rule, line(safe))
    assert beyond is None or at(rule, line(beyond))


def test_one_who_asked_may_hold_exactly_his_percentage() -> None:
    held = [70.0, 20.0, 10.0]
    assert not at(Request(), line(held, asked={0: 1.0}))
    assert at(Request(), line([70.0 + STEP * 1000, 20.0, 10.0], asked={0: 1.0}))
    # p is 10 where nothing is said: 8 less what all but the two largest hold.
    assert needs(Request(), line([80.0, 19.5, 0.5], asked={0: 1.0})) == pytest.approx(
        max(80 / 0.7 - 100, 8 - 0.5)
    )
    # Alone, with one place kept, and as the smaller of two.
    assert needs(Request(p=50), line([5.0], keep=1, asked={0: 1.0})) == pytest.approx(2.5)
    assert needs(Request(percent=90, p=50), line([5.0, 0.2], keep=2, asked={0: 1.0})) == (
        pytest.approx(2.5)
    )
    # Of weight 2 he has a twin, who subtracts his own amount; below that he has none.
    for weight, other in ((1.9, 4.0), (2.0, 10.0), (2.1, 10.0)):
        table = line([10.0, 4.0], asked={0: 1.0}, weights={0: weight, 1: 1.0})
        total = 10 * weight + 4
        stranger = 10 / 0.3 - total
        insider = 0.9 * 10 - (total - 10 - other)
        assert needs(Request(percent=30, p=90), table) == pytest.approx(max(stranger, insider))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Dominance(n=0),
        lambda: Dominance(k=0),
        lambda: Dominance(k=100),
        lambda: PPercent(p=0),
        lambda: PPercent(coalition=0),
        lambda: PriorPosterior(p=0),
        lambda: PriorPosterior(p=10, q=10),
        lambda: MinimumFrequency(minimum=0),
        lambda: MinimumFrequency(width=0),
        lambda: Request(percent=0),
        lambda: Request(percent=100),
        lambda: Request(p=0),
        lambda: Stated(width=0),
    ],
)
def test_rules_that_protect_nobody_are_refused(wrong: Callable[[], Rule]) -> None:
    with pytest.raises(ValueError, match=r"."):
        wrong()


def test_the_outermost_parameters_can_be_asked_for() -> None:
    for rule in (
        Dominance(n=1, k=STEP),
        Dominance(n=1, k=100 - STEP),
        PPercent(p=STEP),
        PriorPosterior.build({"p": STEP, "q": 2 * STEP}),
        MinimumFrequency(minimum=1, width=STEP),
        Request(percent=100 - STEP, p=STEP),
        Stated(width=STEP),
    ):
        assert isinstance(rule, Rule)


def test_a_verdict_does_not_depend_on_the_unit() -> None:
    # Rounding is a share of what the cell holds: thousandths of a cent are judged like millions.
    for size in (1e-9, 1e9):
        held = [size * amount for amount in (7.0, 2.0, 1.0)]
        assert not at(Dominance(n=1, k=70), line(held))
        assert at(Dominance(n=1, k=70 - STEP * 100), line(held))
        assert not at(Request(percent=70), line(held, asked={0: 1.0}))
        assert at(Request(percent=70 - STEP * 100), line(held, asked={0: 1.0}))


def test_contributors_that_were_not_kept() -> None:
    # All three of the total are kept, though the rule looks at four; of four, three do not do.
    assert needs(Dominance(n=4, k=50), line([3.0, 2.0], keep=3)) == pytest.approx(5.0)
    with pytest.raises(MethodError, match="only 3 of the 4 of cell x=Total"):
        Dominance(n=4, k=50).judge(line([3.0, 2.0, 1.0], keep=3))


def test_what_a_zero_needs() -> None:
    """The smallest amount of any cell, however small; 1 where there is none, and for counts."""
    zero = [(("a",), 1, 0.0)]
    half = tiny(["x"], [["a", "b"]], [*zero, (("b",), 2, 0.5)])
    nothing = tiny(["x"], [["a", "b"]], zero)
    rule = MinimumFrequency(zeros=True)
    assert rule.judge(half).up.tolist() == [pytest.approx(0.15), 0.5, pytest.approx(0.15)]
    assert rule.judge(nothing).up[1] == 1.0
    # A cell that nobody contributes to is not sensitive; one whose amounts cancel is not zero.
    for one in (rule, MinimumFrequency(minimum=1, zeros=True)):
        assert one.judge(nothing).sensitive.tolist() == [True, True, False]
    cancel = [(("a",), i, amount) for i, amount in enumerate((4.0, -4.0, 1.0, -1.0))]
    assert not rule.judge(tiny(["x"], [["a", "b"]], cancel, lower=-np.inf)).sensitive[1]
    counts = tiny(["x"], [["a", "b"]], zero, measure="count")
    assert rule.judge(counts).up[1] == 1.0
    bare = half.with_(contributions=None)
    assert rule.judge(bare).sensitive.tolist() == [True, True, True]


def test_levels_that_are_missing_or_negative() -> None:
    table = line([3.0, 5.0], lower=-2.0).with_(status=np.array([0, SENSITIVE, SENSITIVE]))
    nan = np.nan
    for up, down, found in (
        ([nan, nan, 4.0], [nan, nan, nan], [0.3 * 8, 4.0]),
        ([nan, nan, nan], [nan, 7.0, 4.0], [7.0, 4.0]),
        ([0, 0.0, 2.0], [0, 5.0, 0.0], [0.0, 2.0]),
    ):
        judged = Stated().judge(table.with_(needs=(np.array(up), np.array(down))))
        assert judged.up[1:].tolist() == pytest.approx(found)
    # Below, no more than is left above the known bound of -2.
    judged = Stated().judge(table.with_(needs=(np.full(3, 50.0), np.full(3, 50.0))))
    assert judged.down[1:].tolist() == [10.0, 3.0]
    # The first cell is not sensitive and its level is not looked at; the second is zero, not less.
    wrong = np.array([-1.0, 0.0, -1.0])
    for side, levels in (("upper", (wrong, np.zeros(3))), ("lower", (np.zeros(3), wrong))):
        with pytest.raises(MethodError, match=f"the {side} protection level of cell x=b"):
            Stated().judge(table.with_(needs=levels))


@pytest.mark.golden
@pytest.mark.parametrize(
    ("task", "cells", "primaries"),
    [
        ("industry-region", 2448, 375),
        ("size-region", 153, 9),
        ("industry-size-region", 108630, 9769),
    ],
)
def test_tau_primaries(
    task: str,
    cells: int,
    primaries: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    from tests.oracle.tau import tau_table

    table = tau_table(shared_data("tables") / "tauargus", task)
    rules = (Dominance(n=2, k=85), PPercent(p=10))
    found = int(np.logical_or.reduce([rule.judge(table).sensitive for rule in rules]).sum())
    golden_record(f"tau_testW {task}: cells", cells, table.n)
    golden_record(f"tau_testW {task}: dominance (2,85) or p% 10", primaries, found)
    assert (table.n, found) == (cells, primaries)
