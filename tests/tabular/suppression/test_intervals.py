"""Intervals in place of cells: they hold the value, protect, and do not give it away."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.table_data import as_table
from sfumato.errors import MethodError
from sfumato.tabular.audit.witness import proven
from sfumato.tabular.suppression.intervals import IntervalPublication, outward, placed
from sfumato.tabular.suppression.partial import AT_ONCE, narrowest, unit_costs
from sfumato.tabular.threats.problem import Problem
from tests.oracle.tables import brute_interval, brute_optimum, is_met, is_safe, random_problem


def unmet(problem: Problem, lower: np.ndarray, upper: np.ndarray) -> list[int]:
    return [
        t
        for t in range(len(problem.threats))
        if not is_met(
            problem,
            t,
            *brute_interval(
                problem, lower, upper, int(problem.threats.cell[t]), problem.threats.known(t)
            ),
        )
    ]


@cache
def solvable(count: int) -> list[Problem]:
    """Tiny tables that can be protected."""
    found: list[Problem] = []
    seed = 0
    while len(found) < count:
        problem = random_problem(np.random.default_rng(seed), hideable=6)
        seed += 1
        if is_safe(problem, problem.primary | ~problem.fixed):
            found.append(problem)
    return found


@pytest.mark.parametrize("how", ["partial", "audited"])
def test_every_threat_is_met_by_what_is_printed(how: str) -> None:
    for i, problem in enumerate(solvable(12)):
        method = IntervalPublication(how=how, by="sequential-suppression")
        made = method.protect(as_table(problem), problem, np.random.default_rng(i))
        assert (made.lower <= problem.values).all()
        assert (problem.values <= made.upper).all()
        assert (made.lower >= problem.lower - 1e-9)[~problem.fixed].all()
        assert (made.upper <= problem.upper + 1e-9)[~problem.fixed].all()
        assert not np.isnan(made.published[problem.fixed & ~problem.primary]).any()
        assert np.isnan(made.published[problem.primary]).all()
        assert made.shown is not None
        shown = ~np.isnan(made.shown[0])
        assert (made.lower[shown] == made.shown[0][shown]).all()
        assert not (shown & made.hidden).any()
        assert (np.isnan(made.published) == (shown | made.hidden)).all()
        assert unmet(problem, made.lower, made.upper) == []


def test_audited_intervals_tell_nothing_new() -> None:
    for i, problem in enumerate(solvable(12)):
        method = IntervalPublication(how="audited", by="sequential-suppression")
        made = method.protect(as_table(problem), problem, np.random.default_rng(i))
        unpublished = np.isnan(made.published)
        lower, upper = problem.known_bounds(unpublished)
        for cell in np.flatnonzero(unpublished):
            low, high = brute_interval(problem, lower, upper, int(cell))
            assert made.lower[cell] <= low + 1e-6
            assert high <= made.upper[cell] + 1e-6


def test_partial_is_no_wider_than_the_best_complete_suppression() -> None:
    for problem in solvable(12):
        best = brute_optimum(problem)
        assert best is not None
        found = narrowest(problem)
        room = np.where(best[0], problem.upper - problem.lower, 0.0)
        whole = float(unit_costs(problem)[best[0]] @ room[best[0]])
        assert found.cost <= whole * (1 + 1e-9) + 1e-9
        assert found.bound <= found.cost * (1 + 1e-6)
        assert found.cost - found.bound <= 1e-6 * max(found.cost, 1.0)


def test_cutting_planes_and_one_program_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AT_ONCE > 0
    for problem in solvable(12):
        at_once = narrowest(problem)
        monkeypatch.setattr("sfumato.tabular.suppression.partial.AT_ONCE", 0)
        by_cuts = narrowest(problem)
        monkeypatch.undo()
        assert by_cuts.cost == pytest.approx(at_once.cost, rel=1e-5, abs=1e-6)
        for found in (at_once, by_cuts):
            up, down = proven(
                found.witnesses,
                problem.relations,
                problem.values,
                problem.values - found.below,
                problem.values + found.above,
                problem.threats,
            )
            at = problem.threats.cell
            need_up = np.minimum(problem.threats.up, (problem.upper - problem.values)[at])
            need_down = np.minimum(problem.threats.down, (problem.values - problem.lower)[at])
            assert (up >= need_up - 1e-6).all()
            assert (down >= need_down - 1e-6).all()


def test_midpoints_and_ends_do_not_give_the_value_away() -> None:
    problem = solvable(12)[0]
    # Equal room on both sides, as protection levels often ask for.
    n = 4000
    values = np.random.default_rng(1).uniform(1000, 9000, n)
    many = problem.with_(
        values=values,
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        primary=np.ones(n, bool),
        fixed=np.zeros(n, bool),
    )
    need = np.full(n, 37.0)
    low, high = placed(many, need, need, 0.5, np.random.default_rng(2))
    assert (low <= values - 37).all()
    assert (values + 37 <= high).all()
    off = ((low + high) / 2 - values) / (high - low)
    assert np.mean(np.abs(off) < 0.005) < 0.1
    assert abs(np.mean(off)) < 0.01
    # Where a value may lie in its interval, any place is as likely as another.
    counts = np.histogram(off, bins=6, range=(-0.12, 0.12))[0]
    assert counts.min() > 0.6 * counts.mean()


def test_the_same_seed_gives_the_same_intervals() -> None:
    problem = solvable(12)[0]
    made = [
        IntervalPublication().protect(as_table(problem), problem, np.random.default_rng(7))
        for _ in range(2)
    ]
    assert (made[0].lower == made[1].lower).all()
    assert (made[0].upper == made[1].upper).all()


def test_rounding_goes_outward_to_readable_numbers() -> None:
    low, high = outward(
        np.array([123.4, -7.7, 0.0, 1234.0, 5.0]), np.array([187.2, 3.1, np.inf, np.inf, 5.0])
    )
    assert low.tolist() == [120.0, -8.0, 0.0, 1200.0, 5.0]
    assert high.tolist() == [190.0, 4.0, np.inf, np.inf, 5.0]


def test_what_cannot_be_protected_is_refused() -> None:
    for seed in range(200):
        problem = random_problem(np.random.default_rng(seed))
        if not is_safe(problem, problem.primary | ~problem.fixed):
            with pytest.raises(MethodError, match="cannot be protected"):
                narrowest(problem)
            return
    raise AssertionError("all of them can be protected")
