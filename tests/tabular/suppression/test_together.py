"""Movements for many cells at once, and programs that the simplex method gives up: still proven."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.table_data import as_table
from sfumato.tabular.suppression import local_lp, sequential
from sfumato.tabular.suppression.joint_proof import prove_jointly
from sfumato.tabular.suppression.optimal import OptimalSuppression
from sfumato.tabular.suppression.sequential import Search, complete, searched
from sfumato.tabular.threats.problem import Problem
from tests.oracle.tables import brute_optimum, is_safe, random_problem

SEEDS = st.integers(0, 2**32 - 1)


def possible(seed: int, **kinds: object) -> Problem | None:
    problem = random_problem(np.random.default_rng(seed), **kinds)  # type: ignore[arg-type]
    return problem if is_safe(problem, problem.primary | ~problem.fixed) else None


@given(SEEDS)
def test_what_is_proven_together_is_met(seed: int) -> None:
    problem = possible(seed, hideable=12, primaries=4)
    if problem is None:
        return
    search = Search(problem, problem.primary)
    left = set(range(len(search.ledger)))
    for served in prove_jointly(search, left):
        assert served > 0
    threats = problem.threats
    for t in range(len(threats)):
        sides = np.flatnonzero(search.ledger.threat == t)
        if not left.intersection(sides.tolist()):
            alone = problem.with_(threats=threats.take(np.array([t])))
            assert is_safe(alone, search.hidden())


def test_most_needs_of_a_plain_table_are_met_together() -> None:
    rng = np.random.default_rng(0)
    met = asked = 0
    for _ in range(20):
        problem = random_problem(rng, dims=2, general=False, negative=False, hideable=30)
        if not is_safe(problem, problem.primary | ~problem.fixed):
            continue
        search = Search(problem, problem.primary)
        left = {s for s in range(len(search.ledger)) if not search.ledger.known[s]}
        asked += len(left)
        met += sum(prove_jointly(search, left))
    assert asked > 40
    assert met > 0.5 * asked


@pytest.mark.parametrize("many", [0, 10**9])
def test_laboured_programs_end_in_the_same_promise(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every program is too much for one simplex iteration: interior points, with and without
    movements for many."""
    monkeypatch.setattr(local_lp, "LABOURED", 1)
    monkeypatch.setattr(local_lp, "PER_COLUMN", 0.0)
    monkeypatch.setattr(sequential, "MANY", many)
    laboured = 0
    for seed in range(30):
        problem = possible(seed)
        if problem is None:
            continue
        search = Search(problem, problem.primary)
        search.complete()
        laboured += search.program.laboured
        assert search.ledger.complete
        assert is_safe(problem, search.hidden()), seed
        search.clean()
        assert is_safe(problem, search.hidden()), seed
        best = brute_optimum(problem)
        assert best is not None
        hidden, _ = complete(problem, problem.primary)
        assert problem.costs[hidden & ~problem.primary].sum() >= best[1] - 1e-9
    assert laboured > 10


def test_a_search_whose_time_is_up_says_so() -> None:
    problem = possible(3, hideable=12, primaries=4)
    assert problem is not None
    late = searched(problem, 1, 10**6, until=time.monotonic() - 1)
    assert late.late
    assert late.tired()
    assert not late.ledger.complete
    assert searched(problem, 1, 10**6).ledger.complete


@settings(max_examples=20)
@given(SEEDS)
def test_optimal_goes_on_from_an_unfinished_start(seed: int) -> None:
    problem = possible(seed, hideable=8)
    if problem is None:
        return
    best = brute_optimum(problem)
    assert best is not None
    method = OptimalSuppression(seconds=1e-6)
    found = method.protect(as_table(problem, "value"), problem, np.random.default_rng(0))
    assert is_safe(problem, found.hidden)
    assert found.bound is not None
    assert found.bound <= best[1] + 1e-6 <= found.cost + 2e-6
