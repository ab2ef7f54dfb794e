"""Intervals in place of cells: what hiding leaves, wide enough that no guess is good."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from benchmarks.table_data import as_table
from sfumato.release.tables.release import TableRelease
from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.outcome import suppressed
from sfumato.tabular.suppression.intervals import IntervalPublication, outward
from sfumato.tabular.threats.problem import Problem, Threats
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


def square(x: float, low: float, high: float, need: float) -> tuple[Problem, np.ndarray]:
    """Four hidden cells with published totals, of which the first, x, is between low and high."""
    inner = np.array([[x, high - x], [high - x, x - low]])
    full = np.zeros((3, 3))
    full[1:, 1:] = inner
    full[0, 1:], full[1:, 0], full[0, 0] = inner.sum(0), inner.sum(1), inner.sum()
    names = ("Total", "1", "2")
    axes = [Dimension(name, names, np.array([-1, 0, 0], np.int64)) for name in ("a", "b")]
    shape = CubeShape(tuple(axes), np.arange(9).reshape(3, 3))
    hidden = np.zeros((3, 3), bool)
    hidden[1:, 1:] = True
    problem = Problem(
        values=full.ravel(),
        relations=shape.relations(9),
        lower=np.zeros(9),
        upper=np.full(9, np.inf),
        primary=np.arange(9) == 4,
        fixed=np.zeros(9, bool),
        costs=np.ones(9),
        threats=Threats.of([4], [need], [need]),
        cubes=(shape,),
    )
    return problem, hidden.ravel()


@settings(max_examples=40)
@given(
    st.floats(0.01, 0.3),
    st.floats(0.01, 0.99),
    st.floats(1.0, 1e6),
    st.sampled_from([-1e-4, 1e-4]),
)
def test_what_is_printed_at_the_limit(
    rate: float, place: float, high: float, beyond: float
) -> None:
    """Of [a, b] the values between a / (1 - r) and b / (1 + r) are left to who knows the need r,
    and the best guess is right for those above (1 - r) / (1 + r) of the greatest. Up to the a
    where that is half of them an interval is printed, and none beyond; wherever the value is."""
    limit = (1 - rate) * (1 - 3 * rate) / (1 + rate) ** 2 * high
    low = limit * (1 + beyond)
    least, most = low / (1 - rate), high / (1 + rate)
    x = least + place * (most - least)
    problem, hidden = square(x, low, high, rate * x)
    table, method = as_table(problem), IntervalPublication()
    _, made = method.told(table, problem, problem, suppressed(problem, hidden))
    assert made.shown is not None
    assert bool(np.isfinite(made.shown[0][4])) == (beyond < 0)
    assert bool(made.hidden[hidden].all()) == (beyond > 0)


def test_rounding_goes_outward_to_readable_numbers() -> None:
    low, high = outward(
        np.array([123.4, -7.7, 0.0, 1234.0, 5.0]), np.array([187.2, 3.1, np.inf, np.inf, 5.0])
    )
    assert low.tolist() == [120.0, -8.0, 0.0, 1200.0, 5.0]
    assert high.tolist() == [190.0, 4.0, np.inf, np.inf, 5.0]
