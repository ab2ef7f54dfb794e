"""The audit against brute force: intervals are the attacker's, no more and no less."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.table_data import tau
from sfumato.errors import MethodError, ParameterError
from sfumato.progress import listening
from sfumato.tabular.audit import range_search
from sfumato.tabular.audit.audit import Audit, audit
from sfumato.tabular.audit.witness import Witnesses
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle.tables import (
    brute_interval,
    is_met,
    is_safe,
    random_problem,
    whole_tables,
)

seeds = st.integers(0, 2**32 - 1)
NEAR = {"rtol": 1e-7, "atol": 1e-7}
few = settings(max_examples=settings().max_examples // 2)


def drawn(seed: int, **kinds: object) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    """A tiny problem, some cells hidden, and what the publication says of each cell."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, **kinds)  # type: ignore[arg-type]
    share = rng.choice([0.3, 0.7, 1.0])
    hidden = problem.primary | (~problem.fixed & (rng.random(problem.n) < share))
    lower, upper = problem.known_bounds(hidden)
    if rng.random() < 0.3:
        # Some of them as intervals, as rounding or interval publication would have it.
        some = hidden & (rng.random(problem.n) < 0.5)
        lower = np.where(some, np.maximum(lower, problem.values - rng.integers(1, 4)), lower)
        upper = np.where(some, np.minimum(upper, problem.values + rng.integers(1, 4)), upper)
    return problem, hidden, lower, upper


@given(seeds)
def test_intervals_are_those_of_brute_force(seed: int) -> None:
    problem, _, lower, upper = drawn(seed)
    found = audit(problem, lower, upper)
    for t, cell in enumerate(problem.threats.cell):
        known = problem.threats.known(t)
        low, high = brute_interval(problem, lower, upper, int(cell), known)
        np.testing.assert_allclose((found.low[t], found.high[t]), (low, high), **NEAR)
        assert found.enough[t] == is_met(problem, t, low, high)
        assert found.disclosed[t] == (high - low < 1e-7)
    assert found.exact
    assert found.counts["audited"] == len(problem.threats)


@pytest.mark.parametrize(
    "kinds", [{"general": True}, {"negative": True}, {"dims": 3}, {"deep": True, "dims": 2}]
)
@few
@given(seeds)
def test_every_kind_of_table(kinds: dict[str, object], seed: int) -> None:
    problem, _, lower, upper = drawn(seed, **kinds)
    found = audit(problem, lower, upper)
    for t, cell in enumerate(problem.threats.cell[:2]):
        ends = brute_interval(problem, lower, upper, int(cell), problem.threats.known(t))
        np.testing.assert_allclose((found.low[t], found.high[t]), ends, **NEAR)


@few
@given(seeds)
def test_no_table_of_whole_numbers_lies_outside(seed: int) -> None:
    problem, _, lower, upper = drawn(seed, most=5)
    found = audit(problem, lower, upper)
    for t, cell in enumerate(problem.threats.cell[:2]):
        known = problem.threats.known(t)
        for table in whole_tables(problem, lower, upper, known, span=2, limit=3000):
            assert found.low[t] - 1e-7 <= table[cell] <= found.high[t] + 1e-7


@few
@given(seeds)
def test_both_ends_are_attained(seed: int) -> None:
    """With the cell put at an end there still is a table, and none a little beyond."""
    problem, _, lower, upper = drawn(seed)
    found = audit(problem, lower, upper)
    for t, cell in enumerate(problem.threats.cell[:2]):
        known = problem.threats.known(t)
        for end, beyond in ((found.low[t], -0.01), (found.high[t], 0.01)):
            if not math.isfinite(end):
                continue
            at = np.clip(end, lower[cell], upper[cell])
            low, high = lower.copy(), upper.copy()
            low[cell] = high[cell] = at
            held = problem.with_(values=np.where(np.arange(problem.n) == cell, at, problem.values))
            brute_interval(held, low, high, int(cell), known)
            low[cell] = high[cell] = at + beyond
            if low[cell] < lower[cell] or high[cell] > upper[cell]:
                continue
            with pytest.raises(ValueError, match="no table"):
                brute_interval(held, low, high, int(cell), known)


@few
@given(seeds)
def test_stopping_early_never_says_enough_when_it_is_not(seed: int) -> None:
    problem, hidden, lower, upper = drawn(seed)
    quick, full = audit(problem, lower, upper, exact=False), audit(problem, lower, upper)
    np.testing.assert_array_equal(quick.enough, full.enough)
    assert (quick.low >= full.low - 1e-7).all()
    assert (quick.high <= full.high + 1e-7).all()
    narrow = ~full.enough
    np.testing.assert_allclose(quick.low[narrow], full.low[narrow], **NEAR)
    if np.array_equal((lower, upper), problem.known_bounds(hidden)):
        assert quick.safe == is_safe(problem, hidden)


@few
@example(1417545)  # Two cells of one class, one of them too narrow.
@given(seeds)
def test_surroundings_and_pieces_change_nothing(seed: int) -> None:
    """Small components are one program; cut up as large ones are, they tell the same."""
    problem, _, lower, upper = drawn(seed)
    plain = audit(problem, lower, upper), audit(problem, lower, upper, exact=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_search, "SMALL", 0)
        patch.setattr(range_search, "HUGE", 0)
        patch.setattr(range_search, "AROUND", (3, 6))
        patch.setattr(range_search, "CHUNK", 2)
        pieces = audit(problem, lower, upper), audit(problem, lower, upper, exact=False)
    np.testing.assert_allclose(pieces[0].low, plain[0].low, **NEAR)
    np.testing.assert_allclose(pieces[0].high, plain[0].high, **NEAR)
    np.testing.assert_array_equal(pieces[1].enough, plain[1].enough)


def square(values: list[float], *, upper: float = math.inf, known: bool = False) -> Problem:
    """A 2 x 2 table with totals: a b | r0, c d | r1, s0 s1 | all; a is sensitive."""
    a, b, c, d = values
    x = np.array([a, b, a + b, c, d, c + d, a + c, b + d, a + b + c + d])
    rows = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]
    entries = [
        (r, cell, 1.0 if i < 2 else -1.0)
        for r, row in enumerate(rows)
        for i, cell in enumerate(row)
    ]
    relation, cell, coef = map(np.array, zip(*entries, strict=True))
    primary = np.zeros(9, bool)
    primary[0] = True
    return Problem(
        values=x,
        relations=Relations.of(relation, cell, coef, 9),
        lower=np.zeros(9),
        upper=np.full(9, upper),
        primary=primary,
        fixed=np.zeros(9, bool),
        costs=x.copy(),
        threats=Threats.of([0], [3.0], [3.0], known=[[1] if known else []]),
    )


INNER = np.array([1, 1, 0, 1, 1, 0, 0, 0, 0], bool)


def test_a_rectangle_moves_as_one() -> None:
    problem = square([10, 4, 20, 7])
    found = audit(problem, *problem.known_bounds(INNER))
    assert (found.low[0], found.high[0]) == (3.0, 14.0)
    assert found.safe
    assert found.programs == 0
    assert "every interval is wide enough" in found.summary()
    assert found.findings()[0].met


def test_who_knows_a_neighbour_knows_all() -> None:
    problem = square([10, 4, 20, 7], known=True)
    found = audit(problem, *problem.known_bounds(INNER))
    assert found.disclosed[0]
    assert not found.safe
    assert found.by == ("follows",)


def test_a_cell_alone_follows() -> None:
    problem = square([10, 4, 20, 7])
    found = audit(problem, *problem.known_bounds(problem.primary))
    assert found.disclosed[0]
    assert found.determined[0]
    assert found.determined.sum() == 1
    (finding,) = found.findings()
    assert "cell 0 lies between 10 and 10" in str(finding)
    assert (finding.broken, finding.of, finding.met, finding.value) == (1, 1, False, 0.0)


def test_a_published_cell_is_known() -> None:
    problem = square([10, 4, 20, 7])
    found = audit(problem, problem.values, problem.values)
    assert found.by == ("published",)
    assert not found.safe


def test_without_bounds_an_end_is_infinite() -> None:
    problem = square([10, 4, 20, 7]).with_(lower=np.full(9, -np.inf))
    found = audit(problem, *problem.known_bounds(INNER))
    assert (found.low[0], found.high[0]) == (-math.inf, math.inf)
    everything = np.ones(9, bool)
    problem = square([10, 4, 20, 7])
    found = audit(problem, *problem.known_bounds(everything))
    assert (found.low[0], found.high[0]) == (0.0, math.inf)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e11])
def test_the_unit_does_not_matter(size: float) -> None:
    problem = square([10, 4, 20, 7])
    problem = problem.with_(
        values=problem.values * size, threats=Threats.of([0], [3.0 * size], [3.0 * size])
    )
    found = audit(problem, *problem.known_bounds(INNER))
    np.testing.assert_allclose((found.low[0], found.high[0]), (3 * size, 14 * size), rtol=1e-12)
    assert found.safe


def test_a_small_cell_in_a_large_component() -> None:
    """A cell of 10 among cells of 1e11 is proven to its own scale."""
    rng = np.random.default_rng(0)
    inner = rng.uniform(1e10, 1e11, (6, 6))
    inner[0, 0] = 10.0
    full = np.zeros((7, 7))
    full[:6, :6] = inner
    full[6], full[:, 6] = full.sum(0), full.sum(1)
    full[6, 6] = inner.sum()
    number = np.arange(49).reshape(7, 7)
    lines = [*number, *number.T]
    relation = np.repeat(np.arange(14), 7)
    coef = np.tile(np.where(np.arange(7) < 6, 1.0, -1.0), 14)
    hidden = np.zeros((7, 7), bool)
    hidden[:6, :6] = True
    for need, enough in ((9.0, True), (1e11, False)):
        problem = Problem(
            values=full.ravel(),
            relations=Relations.of(relation, np.concatenate(lines), coef, 49),
            lower=np.zeros(49),
            upper=np.full(49, np.inf),
            primary=np.arange(49) == 0,
            fixed=np.zeros(49, bool),
            costs=full.ravel(),
            threats=Threats.of([0], [need], [min(need, 10.0)]),
        )
        found = audit(problem, *problem.known_bounds(hidden.ravel()))
        assert found.low[0] == pytest.approx(0.0, abs=1e-6)
        assert found.high[0] == pytest.approx(min(inner[0].sum(), inner[:, 0].sum()), rel=1e-6)
        assert found.safe == (enough or found.high[0] >= 1e11)


def test_a_witness_spares_a_program_and_a_false_one_does_not() -> None:
    problem, _, lower, upper = drawn(5, dims=2, deep=False, negative=False, general=False)
    none = np.empty(0, np.int64)
    full = audit(problem, lower, upper)
    cell = int(problem.threats.cell[0])
    lie = Witnesses(np.array([0]), np.array([0, 1]), np.array([cell]), np.array([1e9]))
    for given_ in (lie, Witnesses(none, np.zeros(1, np.int64), none, np.empty(0))):
        found = audit(problem, lower, upper, witnesses=given_)
        np.testing.assert_allclose(found.low, full.low, **NEAR)
        np.testing.assert_allclose(found.high, full.high, **NEAR)


@given(seeds)
def test_true_witnesses_change_nothing_but_the_work(seed: int) -> None:
    """Moves along a direction of the null space, for an outsider and as far as bounds let them."""
    problem, _, lower, upper = drawn(seed, known=False)
    rng = np.random.default_rng(seed)
    free = np.flatnonzero(lower < upper)
    from scipy.linalg import null_space

    basis = (
        null_space(problem.relations.matrix.toarray()[:, free]) if free.size else np.empty((0, 0))
    )
    if not basis.shape[1]:
        return
    threat, moved = [], []
    for t in range(len(problem.threats)):
        z = basis @ rng.normal(size=basis.shape[1])
        room = np.where(
            z > 0, upper[free] - problem.values[free], problem.values[free] - lower[free]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(np.abs(z) > 1e-9, room / np.abs(z), np.inf).min()
        threat.append(t)
        moved.append(z * min(step, 5.0))
    m = free.size
    witnesses = Witnesses(
        np.array(threat),
        np.arange(len(threat) + 1) * m,
        np.tile(free, len(threat)),
        np.concatenate(moved),
    )
    plain, helped = (
        audit(problem, lower, upper, exact=False, witnesses=w) for w in (None, witnesses)
    )
    np.testing.assert_array_equal(plain.enough, helped.enough)


def test_a_sample_says_so() -> None:
    problem, _, lower, upper = drawn(11, dims=2, primaries=3)
    count = len(problem.threats)
    assert count > 1
    with pytest.raises(ParameterError, match="rng"):
        audit(problem, lower, upper, sample=1)
    some = audit(problem, lower, upper, sample=1, rng=np.random.default_rng(0))
    assert some.sampled
    assert (len(some), some.of) == (1, count)
    assert f"1 of {count}, drawn at random" in some.summary()
    assert not audit(problem, lower, upper, sample=count).sampled
    for seed in range(5):
        most = audit(problem, lower, upper, sample=count - 1, rng=np.random.default_rng(seed))
        drawn_again = list(zip(most.threats.cell, most.need_up, most.need_down, strict=True))
        everything = list(
            zip(problem.threats.cell, problem.threats.up, problem.threats.down, strict=True)
        )
        assert all(everything.count(one) >= drawn_again.count(one) for one in drawn_again)


def test_out_of_time_counts_as_too_narrow() -> None:
    problem, _, lower, upper = drawn(11, dims=2, primaries=3)
    found = audit(problem, lower, upper, seconds=0.0)
    full = audit(problem, lower, upper)
    assert (found.low >= full.low - 1e-9).all()
    assert (found.high <= full.high + 1e-9).all()
    assert not (found.enough & ~full.enough).any()


@few
@example(69)  # One end is certain, and the other one is not looked for.
@example(252)
@given(seeds)
def test_what_time_did_not_suffice_for_is_left_open(seed: int) -> None:
    problem, _, lower, upper = drawn(seed, known=False, primaries=1)
    found, full = audit(problem, lower, upper, seconds=-1.0), audit(problem, lower, upper)
    assert not (found.disclosed & ~full.disclosed).any(), "nothing is known before it is certain"
    for t, how in enumerate(found.by):
        assert found.enough[t] == (how != "open" and full.enough[t])


def judged(value: float, needs: tuple[float, float, float], room: tuple[float, float]) -> Audit:
    """An audit of one cell by the room that was found above and below it."""
    up, down = (np.array([one]) for one in room)
    need_up, need_down, need_width = (np.array([one]) for one in needs)
    return Audit(
        threats=Threats.of([0], [needs[0]], [needs[1]]),
        values=np.array([value]),
        low=value - down,
        high=value + up,
        exact_low=np.ones(1, bool),
        exact_high=np.ones(1, bool),
        need_up=need_up,
        need_down=need_down,
        need_width=need_width,
        by=("bounds",),
        determined=np.zeros(1, bool),
        of=1,
        _room=(up, down),
    )


def test_a_need_that_is_rounding_is_met_by_any_width_but_none() -> None:
    large = 1e13  # of which ten is rounding
    for side in range(3):
        needs = tuple(0.5 if at == side else 0.0 for at in range(3))
        assert judged(large, needs, (20.0, 0.0)).safe
        assert judged(large, needs, (0.0, 0.0)).cover.tolist() == [0.0]
    # Beside a small value the same need is none of rounding.
    assert judged(10.0, (0.5, 0.0, 0.0), (0.25, 0.0)).cover.tolist() == [0.5]
    assert judged(large, (50.0, 0.0, 0.0), (25.0, 0.0)).cover.tolist() == [0.5]
    assert judged(10.0, (0.0, 0.0, 0.0), (0.0, 0.0)).safe, "nothing is asked for"
    assert judged(10.0, (0.5, 0.0, 0.0), (1.0, 0.0)).counts["linear programs"] == 0


def test_a_need_of_width_is_followed_until_it_is_met() -> None:
    problem = square([10, 4, 20, 7])
    for slide, enough in ((10.9, True), (11.1, False)):
        threats = Threats.of([0], [0.0], [0.0], slide=[slide])
        asked = problem.with_(threats=threats)
        for exact in (True, False):
            found = audit(asked, *problem.known_bounds(INNER), exact=exact)
            assert found.enough.tolist() == [enough]


@few
@given(seeds)
def test_widths_are_followed_until_they_suffice(seed: int) -> None:
    problem, _, lower, upper = drawn(seed, known=False)
    full = audit(problem, lower, upper)
    width, none = full.high - full.low, np.zeros(len(full))
    wide = np.where(np.isfinite(width), 0.9 * width, 1.0)
    asked = problem.with_(threats=Threats.of(problem.threats.cell, none, none, slide=wide))
    assert audit(asked, lower, upper, exact=False).safe


def test_a_witness_counts_however_small_its_move_and_unit() -> None:
    problem = square([10, 4, 20, 7])
    small = problem.with_(values=problem.values / 100)
    small = small.with_(threats=Threats.of([0], [0.0], [0.03]))
    move = np.array([-0.03, 0.03, 0.03, -0.03])
    down = Witnesses(np.array([0]), np.array([0, 4]), np.flatnonzero(INNER), move)
    found = audit(small, *small.known_bounds(INNER), witnesses=down, exact=False)
    assert found.by == ("witness",)
    assert found.safe


def test_bounds_that_do_not_hold_are_refused() -> None:
    problem = square([10, 4, 20, 7])
    lower, upper = problem.known_bounds(INNER)
    lower[0] = 11.0
    with pytest.raises(MethodError, match="cell 0 is said to lie between 11 and inf"):
        audit(problem, lower, upper)
    broken = problem.with_(values=np.where(np.arange(9) == 8, 99.0, problem.values))
    with pytest.raises(MethodError, match="relation 2 does not hold"):
        audit(broken, *broken.known_bounds(INNER))
    missing = problem.with_(values=np.where(np.arange(9) == 8, np.nan, problem.values))
    with pytest.raises(MethodError, match="cell 8 has no value"):
        audit(missing, lower, upper)


def test_progress_is_told() -> None:
    problem, _, lower, upper = drawn(1, dims=3)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *what: heard.append(what)):
        found = audit(problem, lower, upper)
    assert not found.programs or heard[-1][1] == heard[-1][2]


def test_the_frame_has_a_row_to_a_threat() -> None:
    problem = square([10, 4, 20, 7])
    frame = audit(problem, *problem.known_bounds(INNER)).frame()
    assert frame.height == 1
    assert frame["enough"].to_list() == [True]


@pytest.mark.golden
def test_primaries_alone_do_not_protect_tau(
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """Size x region of tau_testW: nine sensitive cells, nothing else hidden."""
    shared_data("tables")
    problem = tau("size-region")
    found: Audit = audit(problem, *problem.known_bounds(problem.primary))
    got = (len(found), int((~found.enough).sum()), int(found.disclosed.sum()))
    golden_record("tau size x region, primaries alone: audited, too narrow, known", (9, 9, 9), got)
    assert got == (9, 9, 9)
