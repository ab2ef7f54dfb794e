"""Intervals in place of cells: what hiding leaves, wide enough that no guess is good."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sfumato as sf
from benchmarks.table_data import as_table
from sfumato.release.tables.release import TableRelease
from sfumato.tabular.suppression.intervals import IntervalPublication, outward
from sfumato.tabular.threats.problem import Problem
from tests.oracle.tables import brute_interval, is_safe, random_problem


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


@cache
def businesses(rule: str, **more: object) -> TableRelease:
    table = sf.tabulate(
        sf.generators.businesses(400, seed=3), ["industry", "size"], "turnover", seed=1
    )
    rules = [sf.method(rule, **more)]
    return sf.protect(table, "interval-publication", seed=1, rules=rules)


def test_intervals_are_what_hiding_leaves() -> None:
    for i, problem in enumerate(solvable(12)):
        method, table = IntervalPublication(by="sequential-suppression"), as_table(problem)
        solved = method.asked(table, problem)
        hidden = method.protect(table, solved, np.random.default_rng(i))
        faced, made = method.told(table, problem, solved, hidden)
        assert made.shown is not None
        shown = ~np.isnan(made.shown[0])
        assert (np.isnan(made.published) == (shown | made.hidden)).all()
        assert np.isnan(made.published[problem.primary]).all()
        np.testing.assert_array_equal(faced.threats.down, problem.threats.down)
        for cell in np.flatnonzero(shown):
            low, high = brute_interval(problem, made.lower, made.upper, int(cell))
            assert made.shown[0][cell] <= low + 1e-6
            assert high <= made.shown[1][cell] + 1e-6


def test_a_width_does_not_tell_the_value() -> None:
    """With widths made from the need, those of lone contributors were nearly the same share of the
    value: half the middle ones of these 40 lay within a few percent of each other."""
    release = businesses("p-percent", p=10)
    assert release.outcome.shown is not None
    low, high = release.outcome.shown
    assert release.cells.contributions is not None
    lone = release.problem.primary & (release.cells.contributions.count == 1) & ~np.isnan(low)
    assert lone.sum() >= 20
    share = (high - low)[lone] / release.cells.values[lone]
    quarter, three = np.quantile(share, [0.25, 0.75])
    assert three > 2.5 * quarter


@pytest.mark.parametrize(
    ("rule", "more"), [("p-percent", {"p": 10}), ("dominance", {"n": 2, "k": 85})]
)
def test_no_guess_holds_more_than_half(rule: str, more: dict[str, object]) -> None:
    """Guess by guess, for strangers and insiders who know that every interval has passed: a value
    that is nearer to an end than its need would not have been published so."""
    release = businesses(rule, **more)
    assert release.outcome.shown is not None
    found = release.audit
    assert not release.outcome.hidden.any()
    assert (np.diff(found.threats.known_starts) > 0).any()
    for t in range(len(found)):
        rate = max(found.need_up[t], found.need_down[t]) / found.values[t]
        x = np.linspace(found.low[t], found.high[t], 400)
        # At zero, which everybody knows, no room below was needed.
        least = found.low[t] / (1 - rate) if found.low[t] > 0 else 0.0
        x = x[(x >= least) & (x * (1 + rate) <= found.high[t])]
        right = np.abs(x[:, None] - x[None, :]) <= rate * x[None, :]
        assert right.mean(axis=1).max() <= 0.5 + 0.01
        assert x[-1] - x[0] >= 0.98 * (found.need_up[t] + found.need_down[t])


def test_needs_near_a_third_leave_crosses() -> None:
    """Whoever owns a part of a total knows what it is at least: with 0.3 on either side too little
    is left, and all cells that hang together with it stay hidden."""
    release = businesses("minimum-frequency", width=0.3)
    assert release.outcome.shown is not None
    assert release.outcome.hidden[release.problem.primary].any()
    assert release.audit.safe


def test_what_fails_the_inversion_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals around the values, as the needs have them: the gate finds them too narrow."""

    def narrow(self, table, problem, solved, outcome):  # type: ignore[no-untyped-def]
        up, down = problem.needs
        at = problem.primary
        low = np.where(at, problem.values - 1.2 * down, np.nan)
        high = np.where(at, problem.values + 1.2 * up, np.nan)
        lower = np.where(at, low, outcome.lower)
        upper = np.where(at, high, outcome.upper)
        from dataclasses import replace

        return solved, replace(outcome, lower=lower, upper=upper, shown=(low, high))

    monkeypatch.setattr(IntervalPublication, "told", narrow)
    monkeypatch.setattr(IntervalPublication, "asked", lambda self, table, problem: problem)
    table = sf.tabulate(sf.generators.businesses(150, seed=3), ["size", "region"], "turnover")
    with pytest.raises(sf.ReleaseRefused, match="knows the method"):
        sf.protect(table, "interval-publication", seed=1, rules=[sf.method("p-percent", p=10)])


def test_rounding_goes_outward_to_readable_numbers() -> None:
    low, high = outward(
        np.array([123.4, -7.7, 0.0, 1234.0, 5.0]), np.array([187.2, 3.1, np.inf, np.inf, 5.0])
    )
    assert low.tolist() == [120.0, -8.0, 0.0, 1200.0, 5.0]
    assert high.tolist() == [190.0, 4.0, np.inf, np.inf, 5.0]
