"""Insiders found when a protected table is at hand, against all owners of hidden cells one by one.

The oracle asks a linear program on the whole system for every owner and every sensitive cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import MethodError
from sfumato.tabular.audit.audit import audit
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.outcome import TableOutcome, suppressed
from sfumato.tabular.rules.minimum_frequency import MinimumFrequency
from sfumato.tabular.rules.p_percent import PPercent
from sfumato.tabular.rules.request import Request
from sfumato.tabular.suppression.sequential import complete
from sfumato.tabular.threats import open_insiders as module
from sfumato.tabular.threats.insiders import joined, threats_of
from sfumato.tabular.threats.open_insiders import open_insiders
from sfumato.tabular.threats.problem import Problem, Threats
from sfumato.tabular.threats.protection_problem import protection_problem
from tests.oracle.tables import brute_interval, is_met

Pair = tuple[int, tuple[int, ...]]
SQUARE = [(r, c) for r in ("r1", "r2", "r3") for c in ("c1", "c2", "c3")]


def square(special: dict[tuple[str, str], list[float]], usual: list[float]) -> pl.DataFrame:
    """Three by three cells, every record a contributor of its own; (r1, c1) asks for protection."""
    rows = [
        (r, c, x, int((r, c) == SQUARE[0])) for r, c in SQUARE for x in special.get((r, c), usual)
    ]
    return pl.DataFrame(rows, schema=["r", "c", "v", "ask"], orient="row")


def pairs(threats: Threats) -> set[Pair]:
    return {(int(c), tuple(sorted(threats.known(t).tolist()))) for t, c in enumerate(threats.cell)}


def too_much(table: CellTable, problem: Problem, outcome: TableOutcome) -> set[Pair]:
    """Every sensitive cell, and every owner of a hidden cell who learns too much of it."""
    assert table.contributions is not None
    who, alone = table.contributions.who[:, 0], table.contributions.count == 1
    hidden = outcome.lower < outcome.upper
    strangers = {
        int(c): t for t, c in enumerate(problem.threats.cell) if not problem.threats.known(t).size
    }
    found = set()
    for owner in np.unique(who[alone & hidden & ~problem.fixed]):
        known = np.flatnonzero(alone & (who == owner) & ~problem.fixed)
        for cell, t in strangers.items():
            here = table.contributions.who[cell] == owner
            own = float(table.contributions.top[cell][here].sum())
            rest = table.values[cell] - own
            if rest <= 1e-9 * table.values[cell]:
                continue
            part = min(rest / own, 1.0) if own else 1.0
            asked = problem.with_(
                threats=Threats.of(
                    [cell],
                    [problem.threats.up[t] * part],
                    [min(problem.threats.down[t] * part, rest)],
                )
            )
            ends = brute_interval(problem, outcome.lower, outcome.upper, cell, known.tolist())
            if not is_met(asked, 0, *ends):
                found.add((cell, tuple(known.tolist())))
    return found


def looped(
    table: CellTable, problem: Problem, *, witnesses: bool = True
) -> tuple[Problem, TableOutcome, int]:
    """Protect, look for insiders, and again until there are none; and how many rounds it took."""
    hidden, proofs = complete(problem, problem.primary)
    for turn in range(10):
        outcome = suppressed(problem, hidden, witnesses=proofs if witnesses else None)
        more = open_insiders(table, problem, outcome)
        if not len(more):
            return problem, outcome, turn
        assert not pairs(more) & pairs(problem.threats)
        problem = problem.with_(threats=joined(problem.threats, more))
        hidden, proofs = complete(problem, hidden, witnesses=proofs)
    raise AssertionError("there is no end to it")


@pytest.mark.parametrize("witnesses", [True, False])
def test_the_other_corner_of_a_block(witnesses: bool) -> None:
    frame = square({("r1", "c1"): [100.0], ("r2", "c2"): [80.0]}, [500.0, 510.0, 520.0, 530.0])
    table = from_microdata(frame, ["r", "c"], "v")
    problem = protection_problem(table, [PPercent(p=10)])
    one, other = table.find(r="r1", c="c1"), table.find(r="r2", c="c2")
    hidden, proofs = complete(problem, problem.primary)
    outcome = suppressed(problem, hidden, witnesses=proofs if witnesses else None)
    low, high = brute_interval(problem, outcome.lower, outcome.upper, other, [one])
    assert (low, high) == pytest.approx((80, 80))
    assert pairs(open_insiders(table, problem, outcome)) == {(one, (other,)), (other, (one,))}
    problem, outcome, turns = looped(table, problem, witnesses=witnesses)
    assert turns == 1
    assert not too_much(table, problem, outcome)


@pytest.mark.parametrize("witnesses", [True, False])
def test_the_owner_of_a_secondary_cell(witnesses: bool) -> None:
    frame = square(
        {("r1", "c1"): [300.0, 5.0], ("r1", "c2"): [150.0], ("r2", "c1"): [160.0]},
        [400.0, 410.0, 420.0],
    )
    table = from_microdata(frame, ["r", "c"], "v", request="ask")
    problem = protection_problem(table, [Request(percent=70)])
    asks = table.find(r="r1", c="c1")
    assert np.flatnonzero(problem.primary).tolist() == [asks]
    assert len(problem.threats) == 1
    hidden, proofs = complete(problem, problem.primary)
    outcome = suppressed(problem, hidden, witnesses=proofs if witnesses else None)
    beside = {(asks, (table.find(r="r1", c="c2"),)), (asks, (table.find(r="r2", c="c1"),))}
    assert pairs(open_insiders(table, problem, outcome)) == beside
    problem, outcome, _ = looped(table, problem, witnesses=witnesses)
    assert not too_much(table, problem, outcome)


def drawn(seed: int) -> CellTable:
    """Records in two or three dimensions, by as many contributors or by fewer."""
    rng = np.random.default_rng(seed)
    count, deep = int(rng.integers(12, 40)), bool(rng.random() < 0.3)
    frame = pl.DataFrame(
        {
            "a": rng.choice(list("pqrst"[: 3 if deep else 5]), count),
            "b": rng.choice(list("wxyz"[: 3 if deep else 4]), count),
            "c": rng.choice(list("uv"), count),
            "v": np.round(rng.lognormal(4, 1, count), 2),
            "h": rng.integers(0, 40, count).astype(str),
        }
    )
    held: dict[str, Any] = {"holding": "h"} if rng.random() < 0.5 else {}
    return from_microdata(frame, ["a", "b", "c"] if deep else ["a", "b"], "v", **held)


@pytest.mark.parametrize("seed", range(12))
def test_nobody_learns_too_much_after_the_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 3 == 0:
        monkeypatch.setattr(module, "BLOCK", 3)
        monkeypatch.setattr(module, "AUDITED", 2)
    table = drawn(seed)
    problem = protection_problem(
        table, [PPercent(p=10), MinimumFrequency(minimum=2)][: 1 + seed % 2]
    )
    hidden, proofs = complete(problem, problem.primary)
    before = suppressed(problem, hidden, witnesses=proofs if seed % 4 else None)
    # All that the linear programs find is found, and nothing else.
    expected = too_much(table, problem, before) - pairs(problem.threats)
    assert pairs(open_insiders(table, problem, before)) == expected
    try:
        problem, outcome, _ = looped(table, problem, witnesses=bool(seed % 4))
    except MethodError as error:
        assert "cannot be protected" in str(error)
    else:
        assert not too_much(table, problem, outcome)


def test_what_is_known_adds_up_through_all_totals() -> None:
    # 1 has 100 of the grand total's 103, two steps below it.
    rows = [("a", "x", 100.0), ("a", "y", 1.0), ("b", "x", 2.0)]
    table = from_microdata(
        pl.DataFrame(rows, schema=["r", "c", "v"], orient="row"), ["r", "c"], "v"
    )
    table = table.with_(contributions=None)
    problem = protection_problem(table, [MinimumFrequency(minimum=4, width=1.0)], singletons=False)
    total, leaf = table.find(), table.find(r="a", c="x")
    mine = np.full(table.n, -1, np.int64)
    mine[leaf] = 0
    made = threats_of(table, problem, mine, np.array([total]), np.array([0]))
    assert made.down[0] == pytest.approx(min(problem.threats.down.max() * 3 / 100, 3))


def test_some_threats() -> None:
    threats = Threats.of([4, 5, 6], [1, 2, 3], [0, 0, 0], known=[[1, 2], [], [3]])
    for some in (threats.take(np.array([2, 0])), threats.take(np.array([True, False, True]))):
        assert pairs(some) == {(4, (1, 2)), (6, (3,))}
    assert threats.take(np.array([2, 0])).known(1).tolist() == [1, 2]
    assert len(threats.take(np.zeros(3, bool))) == 0


def test_a_known_value_is_never_enough_where_room_is_asked_for() -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "v": [1e11, 5.0]})
    table = from_microdata(frame, ["x"], "v")
    cell = table.find(x="a")
    for need, safe in ((0.05, False), (0.0, True)):
        problem = protection_problem(table, [PPercent()], singletons=False).with_(
            threats=Threats.of([cell], [need], [need])
        )
        for hidden in (np.zeros(table.n, bool), np.arange(table.n) == cell):
            seen = audit(problem, *problem.known_bounds(hidden))
            assert seen.disclosed.all()
            assert seen.safe is safe
            assert seen.findings()[0].value == float(safe)
        seen = audit(problem, *problem.known_bounds(np.ones(table.n, bool)))
        assert seen.safe
