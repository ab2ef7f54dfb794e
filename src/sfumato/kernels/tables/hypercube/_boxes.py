"""Boxes: the null vectors of a hierarchical cube that are products of one path in each dimension.

Codes are numbered so that everything below a code follows it (preorder). In one dimension a path
goes from a leaf up to just below the top of the move, with the sign +, and from another leaf up to
there, with the sign -; or from one leaf up to the total, which then moves too. The product of one
such vector in each dimension leaves every relation of the cube as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Floats, Ints


class Cube(NamedTuple):
    """The trees of the dimensions, side by side; dimension d has the codes 0..size[d]."""

    parent: Ints
    """int64[d, codes], -1 for the total."""
    end: Ints
    """int64[d, codes]: the codes from i to end[i] are i and all below it."""
    stride: Ints
    size: Ints


class Cells(NamedTuple):
    """What a search looks at, by position in the cube."""

    price: Floats
    """What using a cell costs: 0 if it is hidden anyway, infinite if it must not be used."""
    rise: Floats
    """How far a cell can go up ..."""
    fall: Floats
    """... and down, less what fellow boxes take while one is searched."""
    whole_rise: Floats
    whole_fall: Floats


class Room(NamedTuple):
    """Space to work in, made once."""

    paths: Floats
    """Path costs, one row to a level and one entry to a code."""
    codes: Ints
    """Found leaves, [level, upper or lower path, entry]."""
    costs: Floats
    length: Ints
    turn: Ints
    at: Ints
    """Cells of the partial box, one row to a level."""
    sign: Ints
    reached: Ints
    spent: Floats
    least: Floats
    order: Ints
    own: Ints
    chosen: Ints


@njit(cache=True)
def room(cube: Cube, widest: int) -> Room:
    """Space for searches; `widest` is the most cells that a box can have."""
    dims, codes = cube.parent.shape
    return Room(
        np.empty((dims, codes)),
        np.empty((dims, 2, codes + 1), np.int64),
        np.empty((dims, 2, codes + 1)),
        np.zeros((dims, 2), np.int64),
        np.zeros((dims, 2), np.int64),
        np.empty((dims + 1, widest), np.int64),
        np.empty((dims + 1, widest), np.int64),
        np.zeros(dims + 1, np.int64),
        np.zeros(dims + 1),
        np.zeros(dims + 1),
        np.zeros(dims, np.int64),
        np.zeros(dims, np.int64),
        np.full((dims, 2), -1, np.int64),
    )


@njit(cache=True, nogil=True)
def _added(
    cells: Cells, at: Ints, sign: Ints, many: int, shift: int, turn: int, need: float, limit: float
) -> float:
    """What the cells of a partial box cost when they are repeated `shift` further on."""
    total = 0.0
    for i in range(many):
        pos = at[i] + shift
        room = cells.rise[pos] if sign[i] * turn > 0 else cells.fall[pos]
        if room < need:
            return np.inf
        total += cells.price[pos]
        if total >= limit:
            return np.inf
    return total


@njit(cache=True, nogil=True)
def _paths(
    cube: Cube, cells: Cells, work: Room, level: int, d: int, side: int, need: float, limit: float
) -> None:
    """Every path of dimension d that carries the partial box on for less than `limit`.

    Upper paths (0) go from the own code down to a leaf; lower paths (1) from a leaf on the other
    side up to the top of the move, with the own code's way up there. Code -1: up to the total.
    """
    parent, end, stride, c = cube.parent[d], cube.end[d], cube.stride[d], work.own[d]
    at, sign, many = work.at[level], work.sign[level], work.reached[level]
    path, codes, costs = work.paths[level], work.codes[level], work.costs[level]
    found = 0
    path[c] = 0.0
    if end[c] == c + 1:
        codes[0, 0], costs[0, 0], found = c, 0.0, 1
    code = c + 1
    while code < end[c]:
        path[code] = path[parent[code]] + _added(
            cells, at, sign, many, (code - c) * stride, side, need, limit
        )
        if path[code] >= limit:
            code = end[code]
            continue
        if end[code] == code + 1:
            codes[0, found], costs[0, found] = code, path[code]
            found += 1
        code += 1
    work.length[level, 0] = found
    found, base, below, top = 0, 0.0, c, parent[c]
    while True:
        if top < 0:
            codes[1, found], costs[1, found] = -1, base
            found += 1
            break
        code = top + 1
        while code < end[top]:
            if code == below:
                code = end[code]
                continue
            before = base if parent[code] == top else path[parent[code]]
            path[code] = before + _added(
                cells, at, sign, many, (code - c) * stride, -side, need, limit
            )
            if path[code] >= limit:
                code = end[code]
                continue
            if end[code] == code + 1:
                codes[1, found], costs[1, found] = code, path[code]
                found += 1
            code += 1
        base += _added(cells, at, sign, many, (top - c) * stride, side, need, limit)
        if base >= limit:
            break
        below, top = top, parent[top]
    work.length[level, 1] = found


@njit(cache=True, nogil=True)
def _extend(cube: Cube, work: Room, level: int, d: int, u: int, v: int) -> None:
    """The partial box of the next level: this one carried along the paths of u and v."""
    parent, stride, c = cube.parent[d], cube.stride[d], work.own[d]
    at, sign, many = work.at[level], work.sign[level], work.reached[level]
    onto, signs = work.at[level + 1], work.sign[level + 1]
    top, end, count = -1, cube.end[d], 0
    if v >= 0:
        top = parent[u]
        while not (top <= v < end[top]):
            top = parent[top]
    for which in range(2):
        code = u if which == 0 else v
        if code < 0:
            continue
        while code != top:
            shift = (code - c) * stride
            for i in range(many):
                onto[count] = at[i] + shift
                signs[count] = sign[i] if which == 0 else -sign[i]
                count += 1
            code = parent[code]
    work.reached[level + 1] = count


@njit(cache=True, nogil=True)
def _sort(codes: Ints, costs: Floats, count: int) -> None:
    """Cheapest path first, by insertion: the lists are short."""
    if count > 32:
        order = np.argsort(costs[:count], kind="mergesort")
        costs[:count] = costs[:count][order]
        codes[:count] = codes[:count][order]
        return
    for i in range(1, count):
        cost, code, j = costs[i], codes[i], i
        while j > 0 and costs[j - 1] > cost:
            costs[j], codes[j] = costs[j - 1], codes[j - 1]
            j -= 1
        costs[j], codes[j] = cost, code


@njit(cache=True, nogil=True)
def place(cube: Cube, work: Room, pos: int) -> None:
    """Begin with the cell at this position alone."""
    for d in range(cube.size.size):
        work.own[d] = (pos // cube.stride[d]) % cube.size[d]
    work.at[0, 0], work.sign[0, 0], work.reached[0] = pos, 1, 1


@njit(cache=True, nogil=True)
def spread(cube: Cube, work: Room, pos: int, chosen: Ints) -> int:
    """All cells of a box, into the last level of `work`; how many they are."""
    place(cube, work, pos)
    dims = cube.size.size
    for d in range(dims):
        _extend(cube, work, d, d, chosen[d, 0], chosen[d, 1])
    return work.reached[dims]


@njit(cache=True, nogil=True)
def _outlook(cube: Cube, cells: Cells, work: Room, side: int, need: float, limit: float) -> bool:
    """Order the dimensions, fewest paths first, and the least that each must add; False if none."""
    dims = cube.size.size
    ways, least = np.empty(dims), np.empty(dims)
    for d in range(dims):
        _paths(cube, cells, work, 0, d, side, need, limit)
        if work.length[0, 0] == 0 or work.length[0, 1] == 0:
            return False
        least[d] = (
            work.costs[0, 0, : work.length[0, 0]].min()
            + work.costs[0, 1, : work.length[0, 1]].min()
        )
        ways[d] = float(work.length[0, 0]) * work.length[0, 1]
    order = np.argsort(ways, kind="mergesort")
    work.least[dims] = 0.0
    for level in range(dims - 1, -1, -1):
        work.order[level] = order[level]
        work.least[level] = work.least[level + 1] + least[order[level]]
    return bool(work.least[0] < limit)


@njit(cache=True, nogil=True)
def cheapest(
    cube: Cube,
    cells: Cells,
    work: Room,
    pos: int,
    side: int,
    need: float,
    limit: float,
    tries: int,
) -> float:
    """The cheapest box that moves the cell at `pos` by `need` to this side, below `limit`.

    Branch and bound: the paths of all dimensions but the last are tried in turn, cheapest first,
    and for the last one the best pair of paths is known at once. The leaves of the box are left in
    work.chosen; infinity if there is none (or none among the first `tries`).
    """
    dims = cube.size.size
    place(cube, work, pos)
    if not _outlook(cube, cells, work, side, need, limit):
        return np.inf
    best, found, level = limit, False, 0
    pair = np.empty((dims, 2), np.int64)
    work.spent[0] = 0.0
    fresh = True
    while level >= 0:
        d = work.order[level]
        if fresh:
            tries -= 1
            _paths(
                cube, cells, work, level, d, side, need,
                best - work.spent[level] - work.least[level + 1],
            )  # fmt: skip
        upper, lower = work.length[level, 0], work.length[level, 1]
        codes, costs = work.codes[level], work.costs[level]
        if level == dims - 1:
            if upper > 0 and lower > 0:
                u, v = costs[0, :upper].argmin(), costs[1, :lower].argmin()
                cost = work.spent[level] + costs[0, u] + costs[1, v]
                if cost < best:
                    best, found = cost, True
                    pair[d, 0], pair[d, 1] = codes[0, u], codes[1, v]
                    for e in range(dims - 1):
                        other = work.order[e]
                        work.chosen[other] = pair[other]
                    work.chosen[d] = pair[d]
            level -= 1
            fresh = False
            if best <= 0.0 or tries <= 0:
                break
            continue
        if fresh:
            _sort(codes[0], costs[0], upper)
            _sort(codes[1], costs[1], lower)
            work.turn[level, 0] = work.turn[level, 1] = 0
        u, v = work.turn[level, 0], work.turn[level, 1]
        bound = best - work.spent[level] - work.least[level + 1]
        # A row of pairs ends where the next upper path is too dear; so does the list of rows.
        while v < lower and (u >= upper or costs[0, u] + costs[1, v] >= bound):
            v = lower if u == 0 else v + 1
            u = 0
        if v >= lower or upper == 0:
            level -= 1
            fresh = False
            continue
        work.turn[level, 0], work.turn[level, 1] = u + 1, v
        pair[d, 0], pair[d, 1] = codes[0, u], codes[1, v]
        work.spent[level + 1] = work.spent[level] + costs[0, u] + costs[1, v]
        _extend(cube, work, level, d, codes[0, u], codes[1, v])
        level += 1
        fresh = True
    return best if found else np.inf
