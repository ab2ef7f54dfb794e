"""Witnesses and audits at their limits: what just proves enough, and what just does not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import MethodError
from sfumato.tabular.audit.audit import audit
from sfumato.tabular.audit.witness import Witnesses, proven
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.threats.problem import Problem, Threats
from tests.tabular.audit.test_audit import INNER, square

SQUARE = np.array([0, 1, 3, 4])


def witnesses(*each: tuple[int, dict[int, float]]) -> Witnesses:
    """For a threat, the cells that move and how far."""
    sizes = [len(moved) for _, moved in each]
    return Witnesses(
        np.array([threat for threat, _ in each]),
        np.concatenate(([0], np.cumsum(sizes))),
        np.array([cell for _, moved in each for cell in moved]),
        np.array([move for _, moved in each for move in moved.values()]),
    )


def turn(d: float, slip: float = 0.0) -> dict[int, float]:
    """The inner cells of a square moved around, the second of them somewhat less."""
    return {0: d, 1: -d * (1 - slip), 3: -d, 4: d}


def shown(problem: Problem, given: Witnesses, **bounds: dict[int, float]) -> tuple[float, float]:
    lower, upper = problem.known_bounds(INNER)
    for side, changes in (("lower", bounds.get("lower", {})), ("upper", bounds.get("upper", {}))):
        for cell, bound in changes.items():
            (lower if side == "lower" else upper)[cell] = bound
    up, down = proven(given, problem.relations, problem.values, lower, upper, problem.threats)
    return float(up[0]), float(down[0])


@pytest.mark.parametrize(
    ("moved", "bounds", "up", "down"),
    [
        (turn(3), {}, 3, 0),
        (turn(-3), {}, 0, 3),
        # A relation may be off by a billionth of the largest move.
        (turn(3, slip=9e-10), {}, 3, 0),
        (turn(3, slip=2e-9), {}, 0, 0),
        # Cell 1 is 4: no further down than to 0, but for rounding.
        (turn(4), {}, 4, 0),
        (turn(4 * (1 + 9e-10)), {}, 4 * (1 + 9e-10), 0),
        (turn(4 * (1 + 2e-9)), {}, 0, 0),
        # Cell 0 is 10, and said to be at most 12, or at least 9.
        (turn(2), {"upper": {0: 12.0}}, 2, 0),
        (turn(2 + 9e-9), {"upper": {0: 12.0}}, 2 + 9e-9, 0),
        (turn(2 + 2e-8), {"upper": {0: 12.0}}, 0, 0),
        (turn(-1), {"lower": {0: 9.0}}, 0, 1),
        (turn(-1 - 2e-8), {"lower": {0: 9.0}}, 0, 0),
        # A cell that is published does not move, nor one at its upper bound.
        ({**turn(3), 2: 1e-3}, {}, 0, 0),
        (turn(1), {"upper": {4: 7.0}}, 0, 0),
        # It does not speak of its own cell.
        ({1: 0.0, 3: 0.0}, {}, 0, 0),
    ],
)
def test_what_a_witness_proves(
    moved: dict[int, float], bounds: dict[str, dict[int, float]], up: float, down: float
) -> None:
    problem = square([10, 4, 20, 7])
    found = shown(problem, witnesses((0, moved)), **bounds)
    assert found == pytest.approx((up, down), rel=1e-13)


def test_the_best_witness_counts_and_false_ones_beside_it_do_not() -> None:
    problem = square([10, 4, 20, 7])
    many = witnesses((0, turn(1)), (0, turn(9)), (0, turn(3)), (0, turn(-2)), (0, turn(-99)))
    assert shown(problem, many) == (3, 2)
    none = np.empty(0, np.int64)
    nothing = Witnesses(none, np.zeros(1, np.int64), none, np.empty(0))
    assert shown(problem, nothing) == (0, 0)


def test_nobody_is_shown_a_table_that_he_knows_to_be_false() -> None:
    """Each attacker's own knowledge counts, and nobody else's."""
    threats = Threats.of([0, 0, 3, 0], [1.0] * 4, [1.0] * 4, known=[[], [1], [4], [2, 8]])
    problem = square([10, 4, 20, 7]).with_(threats=threats)
    lower, upper = problem.known_bounds(INNER)
    each = witnesses(*((t, turn(3)) for t in range(4)))
    up, down = proven(each, problem.relations, problem.values, lower, upper, threats)
    assert up.tolist() == [3, 0, 0, 3]
    assert down.tolist() == [0, 0, 0, 0]
    back = witnesses(*((t, turn(-3)) for t in range(4)))
    up, down = proven(back, problem.relations, problem.values, lower, upper, threats)
    assert (up.tolist(), down.tolist()) == ([0, 0, 0, 0], [3, 0, 0, 3])


def pairs() -> Problem:
    """a + b = t and c + d = u: two relations that share no cell. a, b, t, c, d, u."""
    relation, cell = np.repeat([0, 1], 3), np.arange(6)
    values = np.array([5.0, 5.0, 10.0, 5.0, 5.0, 10.0])
    return Problem(
        values=values,
        relations=Relations.of(relation, cell, np.tile([1.0, 1.0, -1.0], 2), 6),
        lower=np.zeros(6),
        upper=np.full(6, np.inf),
        primary=np.arange(6) == 0,
        fixed=np.zeros(6, bool),
        costs=values,
        threats=Threats.of([0], [1.0], [1.0]),
    )


def test_what_relations_are_off_is_not_what_the_move_is_made_of() -> None:
    problem = pairs()
    lower, upper = problem.known_bounds(np.array([1, 1, 0, 1, 1, 0], bool))
    for slip, move in ((9e-11, 1e-4), (2e-10, 0.0)):
        given = witnesses((0, {0: 1e-4, 1: -1e-4, 3: 1.0, 4: -(1.0 - slip)}))
        up, _ = proven(given, problem.relations, problem.values, lower, upper, problem.threats)
        assert up[0] == move


def grid(down: float = 3.0, up: float = 3.0, cell: int = 0) -> tuple[Problem, np.ndarray]:
    """3 x 3 cells of 10 with totals; of the first row two are hidden, of the others all."""
    number = np.arange(16).reshape(4, 4)
    inner = np.full((4, 4), 10.0)
    inner[3], inner[:, 3] = 30.0, 30.0
    inner[3, 3] = 90.0
    lines = np.concatenate([*number, *number.T])
    hidden = np.zeros((4, 4), bool)
    hidden[:3, :3] = True
    hidden[0, 2] = False
    problem = Problem(
        values=inner.ravel(),
        relations=Relations.of(
            np.repeat(np.arange(8), 4), lines, np.tile([1.0, 1.0, 1.0, -1.0], 8), 16
        ),
        lower=np.zeros(16),
        upper=np.full(16, np.inf),
        primary=np.arange(16) == cell,
        fixed=np.zeros(16, bool),
        costs=np.ones(16),
        threats=Threats.of([cell], [up], [down]),
    )
    return problem, hidden.ravel()


@pytest.mark.parametrize("cell", [0, 1])
def test_an_audit_takes_over_what_witnesses_prove(cell: int) -> None:
    """Cells 0 and 1 move together, one up and the other down: both sides are taken over."""
    problem, hidden = grid(down=2.0, up=3.0, cell=cell)
    lower, upper = problem.known_bounds(hidden)
    sign = 1.0 if cell == 0 else -1.0

    def round_(d: float) -> dict[int, float]:
        return {0: sign * d, 1: -sign * d, 4: -sign * d, 5: sign * d}

    both = witnesses((0, round_(3.0)), (0, round_(-2.0)))
    found = audit(problem, lower, upper, exact=False, witnesses=both)
    assert (found.low[0], found.high[0]) == (8.0, 13.0)
    assert (found.by, found.programs, found.safe) == (("witness",), 0, True)
    # One side proven is not both, and a witness that lies is no proof.
    for given in (witnesses((0, round_(3.0))), witnesses((0, round_(-2.0)))):
        more = audit(problem, lower, upper, exact=False, witnesses=given)
        assert more.safe
        assert more.by != ("witness",)
    full = audit(problem, lower, upper, witnesses=both)
    assert (full.low[0], full.high[0]) == pytest.approx((0.0, 20.0))
    assert full.exact


def test_a_witness_whose_own_cell_hardly_moves_is_left_aside() -> None:
    problem, hidden = grid(down=0.004, up=0.004)
    lower, upper = problem.known_bounds(hidden)
    for others, by in ((4.0, ("witness",)), (4.1, ("linear program",))):
        each = [
            (0, {0: d, 1: -d, 4: -d - o, 5: d + o, 8: o, 9: -o})
            for d, o in ((0.004, others - 0.004), (-0.004, -others + 0.004))
        ]
        found = audit(problem, lower, upper, exact=False, witnesses=witnesses(*each))
        assert found.safe
        assert (found.by == ("witness",)) == (by == ("witness",))


LITTLE = 1e-6
"""What an interval may lack, as a share of its need."""


@pytest.mark.parametrize("side", ["up", "down", "slide"])
@pytest.mark.parametrize(
    ("share", "enough"),
    [(1.0, True), (1 - 0.9 * LITTLE, True), (1 - 1.2 * LITTLE, False), (0.99, False)],
)
def test_exactly_the_need_is_enough_and_less_is_not(side: str, share: float, enough: bool) -> None:
    needs = {"up": 0.0, "down": 0.0, "slide": 0.0, side: 2.0}
    threats = Threats.of([0], [needs["up"]], [needs["down"]], [needs["slide"]])
    problem = square([10, 4, 20, 7]).with_(threats=threats)
    lower, upper = problem.known_bounds(INNER)
    width = 2.0 * share if side != "slide" else share
    lower[SQUARE], upper[SQUARE] = problem.values[SQUARE] - width, problem.values[SQUARE] + width
    for exact in (True, False):
        found = audit(problem, lower, upper, exact=exact)
        assert found.enough.tolist() == [enough]
        (finding,) = found.findings()
        assert (finding.met, finding.broken) == (enough, int(not enough))
        assert finding.value == pytest.approx(1.0 if enough else share)


def test_no_more_is_needed_than_everybody_knows_beforehand() -> None:
    threats = Threats.of([0], [3.0], [3.0], [9.0])
    problem = square([10, 4, 20, 7]).with_(threats=threats)
    problem = problem.with_(
        upper=np.where(np.arange(9) == 0, 11.0, np.inf), lower=np.where(np.arange(9) == 0, 8.0, 0)
    )
    found = audit(problem, *problem.known_bounds(INNER))
    assert (found.need_up[0], found.need_down[0], found.need_width[0]) == (1.0, 2.0, 3.0)
    assert (found.low[0], found.high[0], found.safe) == (8.0, 11.0, True)


@pytest.mark.parametrize(("low", "high"), [(10.0, 12.0), (8.0, 10.0), (8.0, 12.0)])
def test_an_interval_that_the_totals_close_is_no_protection(low: float, high: float) -> None:
    problem = square([10, 4, 20, 7])
    lower, upper = problem.values.copy(), problem.values.copy()
    lower[0], upper[0] = low, high
    found = audit(problem, lower, upper)
    assert (found.by, found.safe) == (("follows",), False)
    assert found.determined.tolist() == [True, *[False] * 8]
    assert "1 hidden cells follow exactly" in found.summary()
    assert "1 is too narrow, 1 of them known exactly" in found.summary()


def test_what_is_told_of_a_safe_table() -> None:
    problem = square([10, 4, 20, 7])
    found = audit(problem, *problem.known_bounds(INNER))
    assert "follow exactly" not in found.summary()
    assert "could not be settled" not in found.summary()
    assert found.counts["too narrow"] == found.counts["disclosed"] == 0
    nothing = problem.with_(threats=Threats.of([], [], []))
    assert "nothing to audit" in audit(nothing, *problem.known_bounds(INNER)).summary()


def test_a_need_that_is_rounding_is_met_by_any_width_but_none() -> None:
    problem = square([10, 4, 20, 7]).with_(threats=Threats.of([0], [1e-12], [0.0]))
    assert audit(problem, *problem.known_bounds(INNER)).safe
    assert not audit(problem, *problem.known_bounds(problem.primary)).safe


@pytest.mark.parametrize(
    ("side", "bound", "holds"),
    [
        ("lower", 10 * (1 + 0.9e-9), True),
        ("lower", 10 * (1 + 1.005e-9), False),
        ("upper", 10 * (1 - 0.9e-9), True),
        ("upper", 10 * (1 - 1.005e-9), False),
        ("upper", -1.0, False),
    ],
)
def test_bounds_must_hold_but_for_rounding(side: str, bound: float, holds: bool) -> None:
    problem = square([10, 4, 20, 7])
    lower, upper = problem.known_bounds(INNER)
    (lower if side == "lower" else upper)[0] = bound
    if holds:
        found = audit(problem, lower, upper)
        assert (found.low[0] if side == "lower" else found.high[0]) == pytest.approx(10)
        return
    with pytest.raises(MethodError, match="cell 0 is said to lie between"):
        audit(problem, lower, upper)


def test_relations_must_hold_but_for_rounding() -> None:
    problem = square([10, 4, 20, 7])
    # The last relation is s0 + s1 = all, 30 + 11 = 41 of 82 in all.
    for off, holds in ((0.9e-6, True), (1.005e-6, False)):
        values = problem.values + np.where(np.arange(9) == 8, 82 * off, 0.0)
        broken = problem.with_(values=values)
        if holds:
            assert audit(broken, *broken.known_bounds(INNER)).safe
            continue
        with pytest.raises(MethodError, match="relation 2 does not hold: its cells add up to"):
            audit(broken, *broken.known_bounds(INNER))


def test_the_relation_that_is_off_is_named() -> None:
    """Not the one that is off by more, and yet by nothing beside what it adds up."""
    values = np.array([5e9, 5e9, 1e10 + 100, 5.0, 5.0, 11.0])
    problem = pairs().with_(values=values)
    with pytest.raises(MethodError, match="relation 1 does not hold"):
        audit(problem, *problem.known_bounds(problem.primary))


def test_a_cell_that_stays_does_not_make_a_witness_false() -> None:
    problem = pairs().with_(values=np.array([5.0, 5.0, 10.0, 0.0, 0.0, 0.0]))
    lower, upper = problem.known_bounds(np.array([1, 1, 0, 0, 0, 0], bool))
    given = witnesses((0, {0: 1.0, 1: -1.0, 3: 0.0}))
    up, _ = proven(given, problem.relations, problem.values, lower, upper, problem.threats)
    assert up[0] == 1.0


def test_a_false_witness_settles_nothing() -> None:
    problem = square([10, 4, 20, 7])
    bounds = problem.known_bounds(INNER)
    for moved in ({0: 1e9}, turn(9)):
        found = audit(problem, *bounds, witnesses=witnesses((0, moved)))
        assert found.by == audit(problem, *bounds).by == ("bounds",)
        assert (found.low[0], found.high[0]) == (3.0, 14.0)
