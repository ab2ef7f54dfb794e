"""Controlled adjustment beside every way that sensitive cells can go."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from benchmarks.table_data import as_table
from sfumato.errors import MethodError, ReleaseRefused
from sfumato.tabular.audit.inversion import Needs, cover
from sfumato.tabular.outcome import TableOutcome
from sfumato.tabular.perturbation.adjustment import (
    ControlledAdjustment,
    adjustment,
    moved_enough,
    needs,
    unit_of,
)
from sfumato.tabular.perturbation.origins import came_from
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle import perturbed_tables as oracle
from tests.oracle.tables import random_problem
from tests.tabular.perturbation.test_rounding import two_way


def adjusted(method: ControlledAdjustment, problem: Problem, measure: str = "x") -> TableOutcome:
    return method.protect(as_table(problem, measure), problem, np.random.default_rng(0))


def check(problem: Problem, found: TableOutcome) -> None:
    size = np.abs(problem.values).max(initial=1.0)
    assert np.abs(problem.relations.sums(found.published)).max(initial=0.0) <= 1e-9 * size
    assert (found.published >= problem.lower - 1e-9 * size).all()
    assert (found.published <= problem.upper + 1e-9 * size).all()
    assert moved_enough(problem, found.published).all()
    np.testing.assert_array_equal(found.published[problem.fixed], problem.values[problem.fixed])


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["L1", "L2"]), st.sampled_from(["relative", "unit"]))
def test_the_best_of_all_ways(seed: int, distance: str, weights: str) -> None:
    problem = random_problem(np.random.default_rng(seed), hideable=30, known=False)
    method = ControlledAdjustment(
        excess=0, distance=distance, weights=weights, integer=False, seconds=20
    )
    size = method._weights(problem)
    task = adjustment(problem, size)
    up, down = np.zeros(problem.n), np.zeros(problem.n)
    up[task.at[task.ups]], down[task.at[task.downs]] = task.up[task.ups], task.down[task.downs]
    best = oracle.best_adjustment(problem, size, up, down, squares=distance == "L2")
    if best is None:
        with pytest.raises(MethodError):
            adjusted(method, problem)
        return
    found = adjusted(method, problem)
    check(problem, found)
    assert found.cost == pytest.approx(best, rel=1e-5, abs=1e-7)
    assert found.bound is not None
    assert best * (1 - 1e-4) - 1e-6 <= found.bound <= best * (1 + 1e-5) + 1e-7


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["L1", "L2"]))
def test_counts_stay_whole(seed: int, distance: str) -> None:
    rng = np.random.default_rng(seed)
    problem = two_way(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    inner = problem.cubes[0].cells[1:, 1:].ravel()
    inner = inner[~problem.fixed[inner]]
    at = rng.choice(inner, min(4, inner.size), replace=False)
    problem = problem.with_(
        primary=np.isin(np.arange(problem.n), at),
        threats=Threats.of(at, np.full(at.size, 3.0), np.minimum(3.0, problem.values[at])),
    )
    try:
        found = adjusted(
            ControlledAdjustment(excess=0, distance=distance, seconds=5), problem, "count"
        )
    except MethodError:
        return
    check(problem, found)
    np.testing.assert_array_equal(found.published, np.rint(found.published))
    assert not problem.relations.sums(found.published).any()


def test_many_sensitive_cells_and_large_numbers() -> None:
    rng = np.random.default_rng(4)
    problem = two_way(rng, 30, 40, most=10**6)
    inner = problem.cubes[0].cells[1:, 1:].ravel()
    at = rng.choice(inner[~problem.fixed[inner]], 450, replace=False)
    need = 0.15 * problem.values[at]
    problem = problem.with_(
        primary=np.isin(np.arange(problem.n), at), threats=Threats.of(at, need, need)
    )
    for distance in ("L1", "L2"):
        method = ControlledAdjustment(excess=0, distance=distance, integer=False, seconds=2)
        found = adjusted(method, problem)
        check(problem, found)
        # The table's numbers are whole: those that still are were not moved, as anybody sees.
        moved = np.abs(found.published - problem.values) > 1e-6
        np.testing.assert_array_equal(found.lower[moved], 0)
        np.testing.assert_array_equal(found.upper[~moved], problem.values[~moved])
        assert set(found.facts) == {"distance"}  # more would tell the rule


def test_needs_end_at_the_bounds() -> None:
    problem = two_way(np.random.default_rng(2), 2, 2)
    cell = int(problem.cubes[0].cells[1, 1])
    upper = problem.upper.copy()
    upper[cell] = problem.values[cell]
    problem = problem.with_(
        upper=upper, threats=Threats.of([cell], [5.0], [4.0], [9.0]), fixed=np.zeros(9, bool)
    )
    up, down = needs(problem)
    assert up[0] == 0  # no room above, so it must go down
    assert down[0] == min(4.0 + 2.5, problem.values[cell])
    assert not moved_enough(problem, problem.values)[0]
    found = adjusted(ControlledAdjustment(excess=0), problem)
    assert found.published[cell] <= problem.values[cell] - down[0] + 1e-6


def test_what_cannot_be_done_is_told() -> None:
    problem = two_way(np.random.default_rng(2), 2, 2)
    inner = problem.cubes[0].cells[1, 1]
    threat = Threats.of([inner], [3.0], [3.0])
    held = np.ones(problem.n, bool)
    with pytest.raises(MethodError, match="must be published as it is"):
        adjusted(ControlledAdjustment(excess=0), problem.with_(threats=threat, fixed=held))
    held[inner] = False
    with pytest.raises(MethodError, match="no adjusted table exists"):
        adjusted(ControlledAdjustment(excess=0), problem.with_(threats=threat, fixed=held))
    calm = adjusted(ControlledAdjustment(excess=0), problem)
    np.testing.assert_array_equal(calm.published, problem.values)


def test_the_move_does_not_tell_the_rule() -> None:
    """Cells move further than they need, each by its own share."""
    rng = np.random.default_rng(1)
    problem = two_way(rng, 5, 6, most=1000)
    inner = problem.cubes[0].cells[1:, 1:].ravel()
    at = rng.choice(inner[~problem.fixed[inner]], 4, replace=False)
    need = 0.1 * problem.values[at]
    problem = problem.with_(
        primary=np.isin(np.arange(problem.n), at), threats=Threats.of(at, need, need)
    )
    up, down = needs(problem)
    shares = set()
    for seed in range(6):
        method = ControlledAdjustment(excess=1.0, seconds=5)
        table = as_table(problem, "x")
        found = method.protect(table, problem, np.random.default_rng(seed))
        assert moved_enough(problem, found.published).all()
        move = found.published[problem.threats.cell] - problem.values[problem.threats.cell]
        need = np.where(move > 0, up, down)
        shares |= {round(float(share), 6) for share in np.abs(move[need > 0]) / need[need > 0]}
    assert len(shares) > 3


def businesses(digits: int) -> sf.CellTable:
    """Turnovers with so many decimals."""
    records = sf.generators.businesses(300, seed=5).frame
    records = records.with_columns((pl.col("turnover") / 7).round(digits))
    return sf.tabulate(records, ["size", "region"], "turnover", seed=1)


@pytest.mark.parametrize("digits", [0, 2])
def test_moved_cells_look_like_the_others(digits: int) -> None:
    """Where moved cells had decimals of their own, every number without them was the true one."""
    table = businesses(digits)
    rules = [sf.method("p-percent", p=10)]
    release = sf.protect(table, "controlled-adjustment", seed=1, rules=rules)
    published = release.outcome.published
    moved = published != np.round(table.values, digits)
    assert moved[release.problem.primary].all()
    assert 0 < moved.sum() < table.n
    np.testing.assert_array_equal(published, np.round(published, digits))
    off = table.relations.sums(published)
    assert np.abs(off).max() <= 1e-9 * np.abs(published).max()


@pytest.mark.parametrize(
    ("rule", "more"), [("p-percent", {"p": 10}), ("minimum-frequency", {"minimum": 3})]
)
def test_the_least_move_is_refused_and_drawn_ones_pass(rule: str, more: dict[str, object]) -> None:
    table = businesses(0)
    rules = [sf.method(rule, **more)]
    with pytest.raises(sf.ReleaseRefused, match="knows the method"):
        sf.protect(table, ControlledAdjustment(excess=0, seconds=5), seed=1, rules=rules)
    release = sf.protect(table, ControlledAdjustment(seconds=5), seed=1, rules=rules)
    assert release.audit.safe
    assert (np.diff(release.audit.threats.known_starts) > 0).any()


def test_values_that_a_move_comes_from() -> None:
    """Every move that can be drawn leads to a number from which the value is found possible, and
    shorter ones lead elsewhere; after longer ones anything beyond the need is possible."""
    rng = np.random.default_rng(3)
    for sign in (1.0, -1.0):
        values = sign * rng.uniform(10, 1000, 500)
        needs_ = Needs.of(values, 0.1 * np.abs(values), 0.1 * np.abs(values))
        factor = rng.uniform(0.5, 5.0, 500) * rng.choice((-1.0, 1.0), 500)
        pieces = came_from(values, values + factor * needs_.size, needs_, 4.0)
        amount = np.abs(values)[:, None]
        inside = ((pieces[:, :, 0] <= amount) & (amount <= pieces[:, :, 1])).any(axis=1)
        np.testing.assert_array_equal(inside, np.abs(factor) >= 1)
        np.testing.assert_array_equal(np.isinf(pieces[:, 1, 1]), np.abs(factor) > 4)


@settings(max_examples=60)
@given(st.floats(0.02, 0.2), st.floats(0.3, 3.5), st.floats(1.0, 3.5), st.booleans())
def test_a_move_passes_where_no_guess_holds_half(
    rate: float, excess: float, drawn: float, rises: bool
) -> None:
    """Beside every value and every guess of a fine grid, up to the limit and beyond it."""
    factor = min(drawn, 1 + excess) * rate
    value = np.full(1, 1000.0)
    published = value * (1 + factor if rises else 1 - factor)
    needs_ = Needs.of(value, rate * value, rate * value)
    found = cover(came_from(value, published, needs_, 1.0 + excess), needs_)[0]
    x = np.linspace(300, 5000, 20_000)
    move = np.abs(published - x) / (rate * x)
    x = x[(move >= 1) & (move <= 1 + excess)]
    guesses = np.linspace(x[0], x[-1], 600)
    held = max(float((np.abs(x - guess) < rate * x).mean()) for guess in guesses)
    if abs(held - 0.5) > 0.01:
        assert (found >= 1) == (held < 0.5)


@pytest.mark.parametrize("minimum", [2, 3, 5])
def test_a_small_count_is_not_told_by_where_it_went(minimum: int) -> None:
    """Whatever a small count was, it is above all of them: moved by one or two, a published 2 where
    1 and 2 are sensitive would be a 1."""
    records = sf.generators.businesses(400, seed=3)
    table = sf.tabulate(records, ["size", "region"], seed=1)
    rules = [sf.method("minimum-frequency", minimum=minimum)]
    release = sf.protect(table, ControlledAdjustment(seconds=5), seed=2, rules=rules)
    small = release.problem.primary & (table.values <= 3)
    assert (release.outcome.published[small] > table.values[small].max()).all()
    assert release.audit.safe


def test_rounding_up_is_no_longer_move() -> None:
    """Moved by its need and rounded to a whole number: whoever knows that has two guesses."""
    values = np.array([1003.0, 1003.0])
    need = Needs.of(values, 0.1 * values, 0.1 * values)
    pieces = came_from(values, np.array([1104.0, 902.0]), need, 1.0, grain=1.0)
    assert ((pieces[:, :, 1] - pieces[:, :, 0]) < 1.2).all()
    assert (cover(pieces, need) < 1).all()


def test_decimals_are_found() -> None:
    assert unit_of(np.array([3.0, 10.0])) == 1.0
    assert unit_of(np.array([3.25, 10.0])) == 0.01
    assert unit_of(np.array([1 / 3])) == 0.0


def crossed(cells: list[tuple[str, str, int]], value: str | None) -> sf.CellTable:
    frame = pl.DataFrame(cells, schema=["a", "b", "v"], orient="row")
    return sf.tabulate(sf.table(frame), ["a", "b"], value)


def test_a_small_count_that_nobody_has_is_not_published_for_another() -> None:
    """With a minimum of 3, a published 2 could only have been a 1."""
    rng = np.random.default_rng(0)
    seen = 0
    for trial in range(5):
        counts = rng.integers(4, 20, (4, 5))
        counts[rng.integers(4, size=4), rng.integers(5, size=4)] = 1
        people = [(f"r{i}", f"c{j}", 1) for (i, j), n in np.ndenumerate(counts) for _ in range(n)]
        table = crossed(people, None)
        rule = sf.method("minimum-frequency", minimum=3)
        made = sf.protect(table, "controlled-adjustment", seed=trial, rules=[rule])
        for (i, j), n in np.ndenumerate(counts):
            published = made.outcome.published[table.find(a=f"r{i}", b=f"c{j}")]
            assert n > 1 or published > 2
            seen += n == 1
    assert seen


def test_whole_amounts_too_small_to_move_by_less_than_one_are_refused() -> None:
    """A lone 1 goes to 0 or 2 whatever is drawn, and comes from nowhere else."""
    rng = np.random.default_rng(3)
    firms = [
        (f"r{i}", f"c{j}", int(v))
        for i in range(4)
        for j in range(5)
        for v in rng.integers(5, 40, 6)
    ]
    firms = [one for one in firms if one[:2] != ("r1", "c1")] + [("r1", "c1", 1)]
    with pytest.raises(ReleaseRefused):
        sf.protect(
            crossed(firms, "v"),
            "controlled-adjustment",
            seed=0,
            rules=[sf.method("p-percent", p=10)],
        )
