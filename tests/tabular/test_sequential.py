"""Sequential suppression: always protected, always proven, never dearer after cleaning."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import MethodError
from sfumato.tabular.problem import Problem, Threats
from sfumato.tabular.relations import Relations
from sfumato.tabular.suppression.sequential import SequentialSuppression, Search, clean, complete
from sfumato.tabular.witness import proven
from tests.oracle.tables import brute_optimum, is_safe, random_problem

SEEDS = range(250)


def _cost(problem: Problem, hidden: np.ndarray) -> float:
    return float(problem.costs[hidden & ~problem.primary].sum())


def _all_proven(problem: Problem, hidden: np.ndarray, witnesses) -> bool:
    threats = problem.threats
    up, down = proven(
        witnesses, problem.relations, problem.values, *problem.known_bounds(hidden), threats
    )
    value = problem.values[threats.cell]
    above = problem.upper[threats.cell] - value
    below = value - problem.lower[threats.cell]
    wide = np.minimum(threats.slide, above + below)
    return bool(
        (up >= np.minimum(threats.up, above) * (1 - 1e-8)).all()
        and (down >= np.minimum(threats.down, below) * (1 - 1e-8)).all()
        and (up + down >= wide * (1 - 1e-8)).all()
    )


def test_every_threat_is_met_and_the_optimum_is_near() -> None:
    ratios = []
    for seed in SEEDS:
        problem = random_problem(np.random.default_rng(seed))
        best = brute_optimum(problem)
        if best is None:
            continue
        try:
            hidden, witnesses = complete(problem, problem.primary)
        except MethodError:
            assert (problem.threats.slide > 0).any(), seed
            continue
        assert is_safe(problem, hidden), seed
        assert _all_proven(problem, hidden, witnesses), seed
        cleaned, proofs = clean(problem, hidden, witnesses)
        assert is_safe(problem, cleaned), seed
        assert _all_proven(problem, cleaned, proofs), seed
        assert _cost(problem, cleaned) <= _cost(problem, hidden) + 1e-9, seed
        assert _cost(problem, cleaned) >= best[1] - 1e-9, seed
        if best[1] > 0:
            ratios.append(_cost(problem, cleaned) / best[1])
    print(f"cost beside the optimum: median {np.median(ratios):.3f}, mean {np.mean(ratios):.3f}")
    assert len(ratios) > 50
    assert np.median(ratios) <= 1.0 + 1e-9
    assert np.mean(ratios) < 1.2
