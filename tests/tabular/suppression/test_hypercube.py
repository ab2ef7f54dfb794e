"""Boxes: the search against all boxes there are, and the whole method against linear programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.table_data import tau
from sfumato.errors import MethodError
from sfumato.kernels.tables.hypercube import _boxes as boxes
from sfumato.tabular.audit.witness import proven
from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.suppression import hypercube
from sfumato.tabular.suppression.hypercube import Hypercube, cover
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle.tables import (
    brute_interval,
    brute_optimum,
    is_met,
    is_safe,
    random_dimension,
    random_problem,
)

SEEDS = st.integers(0, 2**32 - 1)


def vectors(dimension: Dimension) -> list[dict[int, int]]:
    """Every elementary null vector of one dimension, from the definition: code -> sign."""

    def path(code: int) -> list[int]:
        out = [code]
        while dimension.parent[out[-1]] >= 0:
            out.append(int(dimension.parent[out[-1]]))
        return out

    found = []
    for u in dimension.leaves.tolist():
        found.append(dict.fromkeys(path(u), 1))
        for v in dimension.leaves.tolist():
            if u != v:
                one, other = set(path(u)), set(path(v))
                found.append(dict.fromkeys(one - other, 1) | dict.fromkeys(other - one, -1))
    return found


def every_box(shape: CubeShape, cell: int) -> list[dict[int, int]]:
    """Every box that holds this cell with the sign +: cell -> sign."""
    own = [int(c[0]) for c in np.nonzero(shape.cells == cell)]
    lists = [
        [z if z[c] > 0 else {k: -s for k, s in z.items()} for z in vectors(d) if c in z]
        for d, c in zip(shape.dimensions, own, strict=True)
    ]
    found = []
    for parts in itertools.product(*lists):
        box: dict[int, int] = {}
        for entry in itertools.product(*(z.items() for z in parts)):
            at = tuple(code for code, _ in entry)
            box[int(shape.cells[at])] = int(np.prod([sign for _, sign in entry]))
        found.append(box)
    return found


def price_of(
    problem: Problem, box: dict[int, int], cell: int, move: float, costs: np.ndarray
) -> float:
    """What a box costs that moves the cell that far; infinite where it cannot."""
    total = 0.0
    for c, sign in box.items():
        there = problem.values[c] + sign * move
        if not problem.lower[c] <= there <= problem.upper[c]:
            return np.inf
        total += 0.0 if c == cell else costs[c]
    return total


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_cheapest_box_is_the_cheapest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, general=False, hideable=100)
    shape = problem.cubes[0]
    matrix = problem.relations.matrix
    up, down = hypercube.needs(problem)
    field = hypercube._Field.of(problem, shape, problem.primary, up, down)
    costs = np.empty(problem.n)
    costs[field.number] = field.search.cells["price"]
    for cell in rng.choice(problem.n, min(problem.n, 4), replace=False).tolist():
        pos = int(np.flatnonzero(field.number == cell)[0])
        everything = every_box(shape, cell)
        for side in (1, -1):
            need = float(rng.integers(1, 6))
            expected = min(price_of(problem, b, cell, side * need, costs) for b in everything)
            room = problem.upper[cell] if side > 0 else problem.lower[cell]
            if abs(room - problem.values[cell]) < need:
                continue  # the method never asks for more than there is
            got = boxes.cheapest(field.search, pos, side, need, np.inf, 10**9)
            assert got == pytest.approx(expected, rel=1e-12)
            less = expected * (1 - 1e-9)
            assert boxes.cheapest(field.search, pos, side, need, less, 10**9) == np.inf
            if np.isfinite(got):
                boxes.cheapest(field.search, pos, side, need, np.inf, 10**9)
                levels = field.search.levels[:-1]
                leaves = np.column_stack((levels["upper"], levels["lower"]))
                box = field.search.box[0, : boxes.spread(field.search, pos, leaves)]
                moves = np.zeros(problem.n)
                moves[field.number[box["pos"]]] = box["sign"]
                assert not (matrix @ moves).any()
                assert {c: int(moves[c]) for c in np.flatnonzero(moves)} in everything


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_has_a_box_is_protected(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), general=False, hideable=30)
    hidden, witnesses = cover(problem, complete=False)
    assert not (problem.primary & ~hidden).any()
    assert not (problem.fixed & hidden).any()
    lower, upper = problem.known_bounds(hidden)
    found = proven(witnesses, problem.relations, problem.values, lower, upper, problem.threats)
    for t in range(len(problem.threats)):
        cell = int(problem.threats.cell[t])
        value = problem.values[cell]
        low, high = brute_interval(problem, lower, upper, cell, problem.threats.known(t))
        assert high >= value + found[0][t] - 1e-6
        assert low <= value - found[1][t] + 1e-6
    up, down = hypercube.needs(problem)
    for side, (need, got) in enumerate(zip((up, down), found, strict=True)):
        for t in np.flatnonzero(got < need - 1e-9):
            # Nothing was found for it, and indeed no single box carries it.
            costs = np.where(problem.fixed & ~problem.primary, np.inf, 0.0)
            costs[problem.threats.known(int(t))] = np.inf
            cell = int(problem.threats.cell[t])
            move = float(need[t]) * (1 if side == 0 else -1)
            assert not any(
                price_of(problem, box, cell, move, costs) == 0.0
                for box in every_box(problem.cubes[0], cell)
            )


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_every_threat_is_met_and_the_optimum_is_not_undercut(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), general=False, hideable=8)
    best = brute_optimum(problem)
    if best is None:
        with pytest.raises(MethodError):
            cover(problem)
        return
    hidden, witnesses = cover(problem)
    assert is_safe(problem, hidden)
    assert problem.costs[hidden & ~problem.primary].sum() >= best[1] - 1e-9
    again, _ = cover(problem)
    assert np.array_equal(hidden, again)
    lower, upper = problem.known_bounds(hidden)
    up, down = proven(witnesses, problem.relations, problem.values, lower, upper, problem.threats)
    for t in range(len(problem.threats)):
        value = problem.values[problem.threats.cell[t]]
        assert is_met(problem, t, value - down[t], value + up[t])


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_secondary_is_left_that_boxes_do_without(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), general=False, hideable=30, slide=False)
    hidden, witnesses = cover(problem, complete=False)
    shape = problem.cubes[0]
    lower, upper = problem.known_bounds(hidden)
    met = proven(witnesses, problem.relations, problem.values, lower, upper, problem.threats)
    wanted = [
        (t, float(need[t]) * side)
        for side, need, got in zip((1, -1), hypercube.needs(problem), met, strict=True)
        for t in np.flatnonzero((need > 0) & (got >= need * (1 - 1e-9)))
    ]
    candidates = {t: every_box(shape, int(problem.threats.cell[t])) for t, _ in wanted}
    for x in np.flatnonzero(hidden & ~problem.primary):
        if np.isin(x, problem.threats.cell):
            continue
        without = np.where(hidden, 0.0, np.inf)
        without[x] = np.inf

        def does(t: int, move: float, prices: np.ndarray = without) -> bool:
            costs = prices.copy()
            costs[problem.threats.known(t)] = np.inf
            cell = int(problem.threats.cell[t])
            return any(price_of(problem, b, cell, move, costs) == 0.0 for b in candidates[t])

        assert not all(does(int(t), move) for t, move in wanted)


def test_needs_beyond_a_box_are_shared_out() -> None:
    """One large cell between small ones: no other can give what it needs, three together can."""
    dimensions = tuple(random_dimension(np.random.default_rng(0), n, 5, False) for n in "ab")
    leaf = np.full((5, 5), 4.0)
    leaf[0, 0] = 60.0
    full = np.zeros((6, 6))
    full[1:, 1:] = leaf
    full[0] = full.sum(0)
    full[:, 0] = full.sum(1)
    shape = CubeShape(dimensions, np.arange(36).reshape(6, 6))
    cell = int(shape.cells[1, 1])
    problem = Problem(
        values=full.ravel(),
        relations=shape.relations(36),
        lower=np.zeros(36),
        upper=np.full(36, np.inf),
        primary=np.arange(36) == cell,
        fixed=np.isin(np.arange(36), np.r_[shape.cells[0], shape.cells[:, 0]]),
        costs=full.ravel(),
        threats=Threats.of([cell], [12.0], [12.0]),
        cubes=(shape,),
    )
    hidden, witnesses = cover(problem, complete=False)
    assert is_safe(problem, hidden)
    lower, upper = problem.known_bounds(hidden)
    up, down = proven(witnesses, problem.relations, problem.values, lower, upper, problem.threats)
    assert up[0] == pytest.approx(12.0)
    assert down[0] == pytest.approx(12.0)


def linked(rng: np.random.Generator) -> Problem:
    """Two tables with one dimension in common, hence with its line of totals in common."""
    first = random_problem(rng, dims=2, general=False, known=False, slide=False, hideable=100)
    a = first.cubes[0]
    shared = a.cells[:, 0]
    other = random_dimension(rng, "z", 3, False)
    cells = np.full((len(a.dimensions[0]), len(other)), -1)
    cells[:, 0] = shared
    cells[:, 1:] = first.n + np.arange(cells[:, 1:].size).reshape(cells[:, 1:].shape)
    shape = CubeShape((a.dimensions[0], other), cells)
    n = first.n + cells[:, 1:].size
    values = np.concatenate((first.values, np.zeros(n - first.n)))
    for code in range(len(a.dimensions[0]) - 1, -1, -1):
        below = a.dimensions[0].children[code]
        if below.size:
            values[cells[code, 1:]] = values[cells[below, 1:]].sum(0)
        else:
            whole = first.values[shared[code]]
            values[cells[code, 1:]] = whole / 4
            values[cells[code, 1]] = whole - whole / 4 * (len(other) - 2)
    both = [a.relations(n), shape.relations(n)]
    rows = np.concatenate((both[0].rows, both[1].rows + len(both[0])))
    relations = Relations.of(
        rows,
        np.concatenate([r.cells for r in both]),
        np.concatenate([r.coefs for r in both]),
        n,
    )
    assert np.abs(relations.sums(values)).max() < 1e-9
    primary = np.zeros(n, bool)
    primary[rng.choice(n, 3, replace=False)] = True
    need = np.abs(values) / 4
    at = np.flatnonzero(primary & (need > 0))
    low = np.minimum(values, 0) * 2
    return Problem(
        values=values,
        relations=relations,
        lower=low,
        upper=np.full(n, np.inf),
        primary=primary,
        fixed=(values == 0) & ~primary,
        costs=np.abs(values),
        threats=Threats.of(at, need[at], need[at]),
        cubes=(a, shape),
    )


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_linked_tables_are_protected_as_one(seed: int) -> None:
    problem = linked(np.random.default_rng(seed))
    hidden, witnesses = cover(problem, complete=False)
    lower, upper = problem.known_bounds(hidden)
    up, down = proven(witnesses, problem.relations, problem.values, lower, upper, problem.threats)
    # A box is only laid where it is a null vector of both tables.
    for w in range(len(witnesses)):
        t = witnesses.threat[w]
        assert max(up[t], down[t]) > 0
    try:
        hidden, _ = cover(problem)
    except MethodError:
        assert not is_safe(problem, problem.primary | ~problem.fixed)
    else:
        assert is_safe(problem, hidden)


def test_relations_alone_are_refused() -> None:
    problem = random_problem(np.random.default_rng(1), general=True)
    with pytest.raises(MethodError, match="sequential-suppression"):
        cover(problem)


def test_nothing_to_protect_hides_nothing() -> None:
    problem = random_problem(np.random.default_rng(3), dims=2, general=False)
    problem = problem.with_(primary=np.zeros(problem.n, bool), threats=Threats.of([], [], []))
    hidden, witnesses = cover(problem)
    assert not hidden.any()
    assert not len(witnesses)


@pytest.mark.parametrize("clean", ["auto", "always", "never"])
def test_the_method_protects_and_tells_its_secondaries(clean: str) -> None:
    rng = np.random.default_rng(5)
    problem = random_problem(rng, dims=2, general=False, negative=False, hideable=30)
    method = Hypercube.build({"clean": clean})
    outcome = method.protect(None, problem, rng)
    assert is_safe(problem, outcome.hidden)
    assert outcome.private["secondary cells"] == int((outcome.hidden & ~problem.primary).sum())
    assert outcome.facts["cleaned"] is (clean != "never")
    assert outcome.witnesses is not None


@pytest.mark.golden
def test_tau_industry_by_region(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """GaussSuppression hides 138 secondaries here with protection intervals."""
    shared_data("tables")
    problem = tau("industry-region")
    hidden, _ = cover(problem)
    secondary = hidden & ~problem.primary
    golden_record("hypercube tau industry x region, secondaries", 136, int(secondary.sum()))
    assert int(secondary.sum()) == 136
