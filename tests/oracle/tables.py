"""Tiny tables with totals, and what an attacker can work out of them, by brute force.

Nothing here looks for speed: every interval is a linear program on the whole system, or the list
of all tables of whole numbers, and the best pattern is the first safe one among all of them.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import linprog

from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.threats.problem import Problem, Threats

SLACK = 1e-6
"""What `is_safe` lets an interval lack; needs are whole numbers or halves."""


def random_dimension(rng: np.random.Generator, name: str, leaves: int, deep: bool) -> Dimension:
    """A total over some leaves; where deep, the leaves lie under one or two subtotals."""
    codes, parent = ["Total"], [-1]
    if not deep or leaves < 2:
        for i in range(leaves):
            codes.append(f"{name}{i}")
            parent.append(0)
        return Dimension(name, tuple(codes), np.array(parent, np.int64))
    cut = int(rng.integers(1, leaves))
    for part, size in enumerate((cut, leaves - cut)):
        codes.append(f"{name}{part}")
        parent.append(0)
        if size == 1 and rng.random() < 0.7:
            continue  # a leaf beside the subtotal; else a subtotal with an only child
        at = len(codes) - 1
        for i in range(size):
            codes.append(f"{name}{part}.{i}")
            parent.append(at)
    return Dimension(name, tuple(codes), np.array(parent, np.int64))


def _cube_values(shape: CubeShape, leaf: np.ndarray) -> np.ndarray:
    """Every cell of a cube from its leaf cells, added up one dimension at a time."""
    full = np.zeros(shape.cells.shape)
    full[np.ix_(*(d.leaves for d in shape.dimensions))] = leaf
    for axis, d in enumerate(shape.dimensions):
        lines = np.moveaxis(full, axis, 0)
        for code in range(len(d) - 1, 0, -1):
            lines[d.parent[code]] += lines[code]
    return full.ravel()


def random_problem(
    rng: np.random.Generator,
    *,
    dims: int | None = None,
    deep: bool | None = None,
    general: bool | None = None,
    negative: bool | None = None,
    known: bool = True,
    slide: bool = True,
    hideable: int = 10,
    primaries: int = 3,
    most: int = 9,
) -> Problem:
    """A tiny table of whole numbers with needs; what is None is drawn.

    `general` means relations without a cube, with coefficients such as 2 or -3. At most `hideable`
    cells besides the primaries may be hidden, and at most `primaries` are sensitive. Leaf values go
    up to `most`. It may be that even hiding everything does not protect it.
    """
    general = bool(rng.random() < 0.2) if general is None else general
    negative = bool(rng.random() < 0.25) if negative is None else negative
    low = -most if negative else 0
    cubes: tuple[CubeShape, ...] = ()
    if general:
        values, relations = _general(rng, low, most)
    else:
        dims = int(rng.choice([1, 2, 2, 2, 3])) if dims is None else dims
        top = {1: 6, 2: 4, 3: 3}[dims]
        dimensions = tuple(
            random_dimension(
                rng,
                "abc"[i],
                int(rng.integers(2, top)),
                bool(rng.random() < 0.35) if deep is None else deep,
            )
            for i in range(dims)
        )
        sizes = tuple(map(len, dimensions))
        n = math.prod(sizes)
        shape = CubeShape(dimensions, np.arange(n).reshape(sizes))
        leaf = rng.integers(low, most + 1, tuple(d.leaves.size for d in dimensions))
        leaf = np.where(rng.random(leaf.shape) < 0.15, 0, leaf)
        values, relations, cubes = (
            _cube_values(shape, leaf.astype(float)),
            shape.relations(n),
            (shape,),
        )
    n = values.size
    # A cell that holds nothing is mostly known to.
    fixed = (values == 0) & (rng.random(n) < 0.7)
    free = np.flatnonzero(~fixed)
    primary = np.zeros(n, bool)
    if free.size:
        count = int(rng.integers(1, min(primaries, free.size) + 1))
        primary[rng.choice(free, count, replace=False)] = True
    rest = rng.permutation(np.flatnonzero(~fixed & ~primary))
    fixed[rest[hideable:]] = True
    lower, upper = _prior(rng, values, negative)
    lower[fixed & (values == 0)] = upper[fixed & (values == 0)] = 0.0
    return Problem(
        values=values,
        relations=relations,
        lower=lower,
        upper=upper,
        primary=primary,
        fixed=fixed,
        costs=_costs(rng, values),
        threats=_threats(rng, values, lower, upper, primary, known, slide),
        cubes=cubes,
    )


def _general(rng: np.random.Generator, low: int, most: int) -> tuple[np.ndarray, Relations]:
    """A few cells drawn, and a few that are sums of earlier ones with other coefficients."""
    drawn, made = int(rng.integers(3, 6)), int(rng.integers(1, 5))
    values = [float(v) for v in rng.integers(low, most + 1, drawn)]
    triplets = []
    for row in range(made):
        terms = rng.choice(len(values), min(len(values), int(rng.integers(2, 4))), replace=False)
        coefs = rng.choice([1.0, 1.0, 1.0, 2.0, -1.0, 3.0], terms.size)
        scale = float(rng.choice([1.0, 1.0, 2.0]))
        values.append(float(coefs @ np.array(values)[terms]))
        triplets += [(row, int(c), scale * float(a)) for c, a in zip(terms, coefs, strict=True)]
        triplets.append((row, len(values) - 1, -scale))
    relation, cell, coef = map(np.array, zip(*triplets, strict=True))
    return np.array(values), Relations.of(relation, cell, coef, len(values))


def _prior(
    rng: np.random.Generator, values: np.ndarray, negative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """What everybody knows beforehand: nothing, not negative, or within some share or distance."""
    n = values.size
    kind = rng.integers(3)
    if kind == 0:
        open_below = negative or bool((values < 0).any())
        return np.full(n, -np.inf if open_below else 0.0), np.full(n, np.inf)
    if kind == 1:
        width = np.ceil(np.abs(values) / 2)
        return values - width, values + width
    width = rng.integers(1, 8, n).astype(float)
    lower = values - width
    return (lower if (values < 0).any() else np.maximum(lower, 0.0)), values + width


def _costs(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    kind = rng.integers(3)
    if kind == 0:
        return np.abs(values)
    return np.ones(values.size) if kind == 1 else rng.integers(0, 9, values.size).astype(float)


def _threats(
    rng: np.random.Generator,
    values: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    primary: np.ndarray,
    known: bool,
    slide: bool,
) -> Threats:
    """An outsider against every primary, and some attackers who know other primaries."""
    cell, up, down, wide, knows = [], [], [], [], []
    at = np.flatnonzero(primary)
    for c in at:
        need = float(rng.integers(0, 5)) / float(rng.choice([1, 1, 2]))
        other = at[at != c]
        insiders = [()]
        if known and other.size and rng.random() < 0.35:
            count = int(rng.integers(1, other.size + 1))
            insiders.append(tuple(int(k) for k in rng.choice(other, count, replace=False)))
        for who in insiders:
            above, below = min(need, upper[c] - values[c]), min(need, values[c] - lower[c])
            cell.append(int(c))
            up.append(above)
            down.append(below)
            more = float(rng.integers(0, 4)) if slide and rng.random() < 0.2 else 0.0
            wide.append(min(above + below + more, upper[c] - lower[c]) if more else 0.0)
            knows.append(who)
    return Threats.of(cell, up, down, wide, knows)


def brute_interval(
    problem: Problem,
    lower: np.ndarray,
    upper: np.ndarray,
    cell: int,
    known: Sequence[int] = (),
) -> tuple[float, float]:
    """The least and greatest value of a cell in any table that keeps the relations and bounds and
    has the true values in `known`: two linear programs on the whole system.

    A ValueError where there is no such table.
    """
    low, high = np.array(lower, float), np.array(upper, float)
    fix = np.asarray(known, dtype=np.int64)
    low[fix] = high[fix] = problem.values[fix]
    bounds = [
        (None if math.isinf(a) else a, None if math.isinf(b) else b)
        for a, b in zip(low, high, strict=True)
    ]
    matrix = problem.relations.matrix.toarray()
    ends = []
    for sign in (1.0, -1.0):
        cost = np.zeros(problem.n)
        cost[cell] = sign
        if len(matrix):
            found = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds)
        else:
            found = linprog(cost, bounds=bounds)
        if found.status == 3 or (found.status == 4 and "unbounded" in found.message.lower()):
            ends.append(-sign * math.inf)
        elif found.status == 0:
            ends.append(sign * float(found.fun))
        else:
            raise ValueError(f"no table is consistent: {found.message}")
    return ends[0], ends[1]


def whole_tables(
    problem: Problem,
    lower: np.ndarray,
    upper: np.ndarray,
    known: Sequence[int] = (),
    *,
    span: int = 6,
    limit: int = 200_000,
) -> Iterator[np.ndarray]:
    """Every table of whole numbers that keeps the relations and bounds, no cell further than `span`
    from its true value. At most `limit` steps of the search."""
    low = np.ceil(np.maximum(lower, problem.values - span) - 1e-9)
    high = np.floor(np.minimum(upper, problem.values + span) + 1e-9)
    fix = np.asarray(known, dtype=np.int64)
    low[fix] = high[fix] = problem.values[fix]
    matrix = problem.relations.matrix.toarray()
    reach_low = np.where(matrix > 0, matrix * low, matrix * high)
    reach_high = np.where(matrix > 0, matrix * high, matrix * low)
    reach_low[matrix == 0] = reach_high[matrix == 0] = 0.0
    # What the cells from i on can still add to each relation.
    after_low = np.concatenate(
        (np.cumsum(reach_low[:, ::-1], 1)[:, ::-1], np.zeros((len(matrix), 1))), 1
    )
    after_high = np.concatenate(
        (np.cumsum(reach_high[:, ::-1], 1)[:, ::-1], np.zeros((len(matrix), 1))), 1
    )
    steps = itertools.count()
    made = np.zeros(problem.n)

    def deeper(i: int, sums: np.ndarray) -> Iterator[np.ndarray]:
        if next(steps) > limit:
            return
        if ((sums + after_low[:, i] > 1e-9) | (sums + after_high[:, i] < -1e-9)).any():
            return
        if i == problem.n:
            yield made.copy()
            return
        for value in np.arange(low[i], high[i] + 1):
            made[i] = value
            yield from deeper(i + 1, sums + matrix[:, i] * value)

    yield from deeper(0, np.zeros(len(matrix)))


def whole_interval(
    problem: Problem,
    lower: np.ndarray,
    upper: np.ndarray,
    cell: int,
    known: Sequence[int] = (),
    *,
    span: int = 6,
) -> tuple[float, float]:
    """The least and greatest value of a cell among `whole_tables`; never outside of what
    `brute_interval` says, and often narrower."""
    found = [float(t[cell]) for t in whole_tables(problem, lower, upper, known, span=span)]
    return (min(found), max(found)) if found else (math.inf, -math.inf)


def is_met(problem: Problem, t: int, low: float, high: float) -> bool:
    """Whether threat t finds this interval wide enough; needs end at what everybody knows."""
    threats, c = problem.threats, int(problem.threats.cell[t])
    value, least, most = problem.values[c], problem.lower[c], problem.upper[c]
    return bool(
        high >= min(value + threats.up[t], most) - SLACK
        and low <= max(value - threats.down[t], least) + SLACK
        and high - low >= min(threats.slide[t], most - least) - SLACK
    )


def is_safe(problem: Problem, hidden: np.ndarray) -> bool:
    """Whether hiding these cells protects: every primary is hidden, no fixed cell is, and every
    threat finds its cell wide enough."""
    if (problem.primary & ~hidden).any() or (problem.fixed & hidden).any():
        return False
    lower, upper = problem.known_bounds(hidden)
    for t in range(len(problem.threats)):
        c = int(problem.threats.cell[t])
        if not is_met(problem, t, problem.values[c], problem.values[c]) and not is_met(
            problem, t, *brute_interval(problem, lower, upper, c, problem.threats.known(t))
        ):
            return False
    return True


def brute_optimum(problem: Problem) -> tuple[np.ndarray, float] | None:
    """The cheapest safe pattern and the cost of its secondaries, among all subsets of the cells
    that may be hidden, cheapest first. None where even hiding all of them does not protect."""
    free = np.flatnonzero(~problem.primary & ~problem.fixed)
    free = free[np.argsort(problem.costs[free], kind="stable")]
    everything = problem.primary | ~problem.fixed
    if not is_safe(problem, everything):
        return None
    matrix = problem.relations.matrix.toarray() != 0
    real = np.zeros(problem.n, bool)
    for t in range(len(problem.threats)):
        c = int(problem.threats.cell[t])
        real[c] |= not is_met(problem, t, problem.values[c], problem.values[c])
    queue: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while queue:
        cost, chosen = heapq.heappop(queue)
        hidden = problem.primary.copy()
        hidden[free[list(chosen)]] = True
        # A cell that is alone in a relation is what the others leave.
        alone = (matrix @ hidden.astype(int)) == 1
        if not (matrix[alone] & (hidden & real)).any() and is_safe(problem, hidden):
            return hidden, cost
        for i in range(chosen[-1] + 1 if chosen else 0, free.size):
            heapq.heappush(queue, (cost + float(problem.costs[free[i]]), (*chosen, i)))
    raise AssertionError("the whole was safe")
