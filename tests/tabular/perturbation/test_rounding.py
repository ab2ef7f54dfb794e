"""Controlled rounding beside all combinations of multiples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.table_data import as_table
from sfumato.errors import MethodError
from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.outcome import TableOutcome
from sfumato.tabular.perturbation.rounding import ControlledRounding, round_number
from sfumato.tabular.perturbation.unbiased import random_corner
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle import perturbed_tables as oracle
from tests.oracle.tables import random_problem


def without_needs(problem: Problem) -> Problem:
    none = np.zeros(problem.n, bool)
    return problem.with_(threats=Threats.of([], [], []), primary=none)


def rounded(method: ControlledRounding, problem: Problem, seed: int = 0) -> TableOutcome:
    return method.protect(as_table(problem, "x"), problem, np.random.default_rng(seed))


def two_way(rng: np.random.Generator, rows: int, columns: int, most: int = 30) -> Problem:
    flat = [
        Dimension(name, ("Total", *map(str, range(size))), np.array([-1, *[0] * size], np.int64))
        for name, size in (("a", rows), ("b", columns))
    ]
    leaf = rng.integers(0, most, (rows, columns)).astype(float)
    full = np.zeros((rows + 1, columns + 1))
    full[1:, 1:] = leaf
    full[0, 1:], full[1:, 0], full[0, 0] = leaf.sum(0), leaf.sum(1), leaf.sum()
    n = full.size
    shape = CubeShape(tuple(flat), np.arange(n).reshape(full.shape))
    return Problem(
        values=full.ravel(),
        relations=shape.relations(n),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        primary=np.zeros(n, bool),
        fixed=full.ravel() == 0,
        costs=full.ravel(),
        threats=Threats.of([], [], []),
        cubes=(shape,),
    )


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]))
def test_the_best_of_all_roundings(seed: int, base: int) -> None:
    rng = np.random.default_rng(seed)
    problem = without_needs(random_problem(rng, dims=int(rng.integers(1, 3))))
    if problem.n > 16:
        return
    best = next((b for s in (0, 1) if (b := oracle.best_rounding(problem, base, s))), None)
    method = ControlledRounding(base=base, steps=1)
    if best is None:
        with pytest.raises(MethodError, match="no rounding"):
            rounded(method, problem)
        return
    found = rounded(method, problem)
    beyond = [
        oracle.steps_beyond(v, r, base)
        for v, r in zip(problem.values, found.published, strict=True)
    ]
    assert not problem.relations.sums(found.published).any()
    assert not (found.published % base).any()
    assert (sum(beyond), found.cost) == (best[0], pytest.approx(best[1]))
    assert found.facts["zero-restricted"] == (best[0] == 0)
    assert (found.lower <= problem.values).all()
    assert (problem.values <= found.upper).all()
    if best[0]:
        assert any("further" in w for w in found.warnings)
    else:
        assert found.gap == pytest.approx(0, abs=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_three_way_tables_add_up_as_a_whole_and_in_parts(seed: int) -> None:
    problem = without_needs(random_problem(np.random.default_rng(seed), dims=3, general=False))
    costs = {}
    for search in ("whole", "parts"):
        try:
            found = rounded(ControlledRounding(base=3, search=search), problem)
        except MethodError:
            continue
        costs[search] = (found.facts["steps"], found.cost)
        assert not problem.relations.sums(found.published).any()
        assert not (found.published % 3).any()
        assert (found.lower <= problem.values).all()
        assert (problem.values <= found.upper).all()
        zero = problem.fixed & (problem.values == 0)
        assert not found.published[zero].any()
    if len(costs) == 2 and costs["parts"][0] == 0:
        assert costs["whole"][1] <= costs["parts"][1] + 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_sensitive_cells_keep_their_room(seed: int) -> None:
    """A two-way table can always be rounded, and the base that is chosen leaves a direction."""
    rng = np.random.default_rng(seed)
    problem = two_way(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    inner = np.flatnonzero(~problem.fixed)
    at = rng.choice(inner, min(3, inner.size), replace=False)
    problem = problem.with_(
        primary=np.isin(np.arange(problem.n), at),
        threats=Threats.of(at, rng.uniform(0, 9, at.size), rng.uniform(0, 9, at.size)),
    )
    found = rounded(ControlledRounding(), problem)
    t = problem.threats
    top = np.minimum(problem.values[at] + t.up, problem.upper[at])
    bottom = np.maximum(problem.values[at] - t.down, problem.lower[at])
    assert (found.upper[at] >= top - 1e-9).all()
    assert (found.lower[at] <= bottom + 1e-9).all()
    assert not problem.relations.sums(found.published).any()


def test_counts_are_known_to_be_whole() -> None:
    problem = two_way(np.random.default_rng(1), 3, 4)
    whole = as_table(problem, "count")
    found = ControlledRounding().protect(whole, problem, np.random.default_rng(0))
    inside = found.published > 0
    assert found.facts["base"] == 5
    np.testing.assert_array_equal(found.upper - found.published, 4.0 * ~problem.fixed)
    assert (found.lower[inside] >= found.published[inside] - 4).all()
    need = problem.with_(primary=np.arange(problem.n) == 6, threats=Threats.of([6], [20.0], [20.0]))
    wide = ControlledRounding().protect(as_table(need, "count"), need, np.random.default_rng(0))
    assert wide.facts["base"] > 5
    assert any("the base is" in w for w in wide.warnings)
    small = ControlledRounding(base=5).protect(
        as_table(need, "count"), need, np.random.default_rng(0)
    )
    assert any("smaller than what some" in w for w in small.warnings)


@pytest.mark.statistical
def test_random_rounding_is_unbiased() -> None:
    problem = two_way(np.random.default_rng(3), 3, 3, most=12)
    method = ControlledRounding(base=5, objective="random")
    count = 300
    runs = np.array([rounded(method, problem, seed).published for seed in range(count)])
    assert (np.abs(runs - problem.values) < 5).all()
    assert not (runs @ problem.relations.matrix.toarray().T).any()
    rest = problem.values % 5
    error = np.sqrt(rest * (5 - rest) / count)
    bias = runs.mean(axis=0) - problem.values
    assert (np.abs(bias) <= 4.5 * error).all()
    np.testing.assert_array_equal(runs[7], rounded(method, problem, 7).published)


def test_random_corners_mix_to_the_table() -> None:
    """Exactly: the expectation of the first draw, over both outcomes, is the point itself."""
    problem = two_way(np.random.default_rng(8), 2, 2, most=9)
    rest = (problem.values % 5) / 5
    corners = [
        random_corner(problem.relations, rest, np.random.default_rng(s), seconds=10)[0]
        for s in range(300)
    ]
    drawn = np.array(corners)
    assert set(np.unique(drawn)) <= {0.0, 1.0}
    assert (np.abs(drawn.mean(0) - rest) <= 4.5 * np.sqrt(rest * (1 - rest) / 300)).all()


def test_what_cannot_be_done_is_told() -> None:
    problem = random_problem(np.random.default_rng(0), general=True)
    with pytest.raises(MethodError, match="one cube"):
        rounded(ControlledRounding(base=3, search="parts"), problem)


def test_decimals_and_large_values() -> None:
    problem = two_way(np.random.default_rng(5), 6, 6, most=10**9)
    tenth = problem.with_(values=problem.values / 10)
    for base in (0.5, 1000.0, 12345.0):
        found = rounded(ControlledRounding(base=base), tenth)
        assert np.abs(found.published - tenth.values).max() < base
        assert np.abs(tenth.relations.sums(found.published)).max() < 1e-6
    assert [round_number(x) for x in (3, 5, 0.03, 1200)] == [5.0, 5.0, 0.05, 2000.0]
