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

from ...arrays import Ints, Rows

UPPER, LOWER, SPARE = 0, 1, 2
"""Rows of `Search.paths`: the paths with the own code's sign, the others, and space to work in."""
RUN = 32
"""Lists up to this length are sorted by insertion."""


def fields(names: str, floats: str) -> np.dtype[np.void]:
    """Rows with these fields, whole numbers but for some."""
    return np.dtype([(name, "f8" if name in floats.split() else "i8") for name in names.split()])


CODE = fields("parent end", "")
"""A code's parent, -1 for the total; the codes from i to its end are i and all below it."""
CELL = fields(
    "price rise fall cost whole_rise whole_fall use head",
    "price rise fall cost whole_rise whole_fall use",
)
"""What using a cell costs (`price`: nothing while it is hidden, infinite if it must not be used)
and how far it can go up and down, less what fellow boxes take while one is searched. Then what it
costs and how far it goes at all; how many boxes need it; its last entry in the list of users."""
LEVEL = fields(
    "stride own upper lower dimension ways adds least spent reached uppers lowers u v",
    "ways adds least spent",
)
"""Of a dimension: its stride, the cell's own code and the leaves of the box that was found. Of a
level of the search, which is how many dimensions the partial box still lacks: the dimension that
comes next, how many pairs of paths it has, the least that it adds, and that it and all after it
add; what the partial box costs and how many cells it has; how many paths were found, and which pair
comes next."""
PATH = fields("code cost", "cost")
CORNER = fields("pos sign", "")


class Search(NamedTuple):
    """A cube, and space to search it for boxes."""

    tree: Rows
    """CODE[dimension, code]."""
    cells: Rows
    """CELL[position]."""
    levels: Rows
    """LEVEL[dimension or level]."""
    paths: Rows
    """PATH[level, kind of path, entry]."""
    box: Rows
    """CORNER[level, entry]: the cells of the partial boxes, and of the whole one at level 0."""


def search(tree: Rows, cells: Rows, strides: Ints, widest: int) -> Search:
    """Space for searches; `widest` is the most cells that a box can have."""
    dims, codes = tree.shape
    levels = np.zeros(dims + 1, LEVEL)
    levels["stride"][:dims] = strides
    paths, box = np.zeros((dims + 1, 3, codes + 1), PATH), np.zeros((dims + 1, widest), CORNER)
    return Search(tree, cells, levels, paths, box)


@njit(cache=True, nogil=True)
def _added(search: Search, level: int, shift: int, turn: int, need: float, limit: float) -> float:
    """What the cells of a partial box cost when they are repeated `shift` further on."""
    total = 0.0
    for i in range(search.levels[level].reached):
        corner = search.box[level, i]
        cell = search.cells[corner.pos + shift]
        room = cell.rise if corner.sign * turn > 0 else cell.fall
        if room < need:
            return np.inf
        total += cell.price
        if total >= limit:
            return np.inf
    return total


@njit(cache=True, nogil=True)
def _paths(search: Search, level: int, d: int, side: int, need: float, limit: float) -> None:
    """Every path of dimension d that carries the partial box on for less than `limit`.

    Upper paths go from the own code down to a leaf; lower paths from a leaf on the other side up to
    the top of the move, with the own code's way up there. Code -1: up to the total.
    """
    tree, own, stride = search.tree[d], search.levels[d].own, search.levels[d].stride
    kind, turn, base, below, top, found = UPPER, side, 0.0, -1, own, 0
    spare = search.paths[level, SPARE]
    if tree[own].end == own + 1:
        search.paths[level, UPPER, 0].code, search.paths[level, UPPER, 0].cost = own, 0.0
        found = 1
    while top >= 0:
        # All leaves under `top`, which costs `base`, but for those under `below`.
        listed, code = search.paths[level, kind], top + 1
        while code < tree[top].end:
            if code == below:
                code = tree[code].end
                continue
            parent = tree[code].parent
            before = base if parent == top else spare[parent].cost
            cost = before + _added(search, level, (code - own) * stride, turn, need, limit)
            spare[code].cost = cost
            if cost >= limit:
                code = tree[code].end
                continue
            if tree[code].end == code + 1:
                listed[found].code, listed[found].cost = code, cost
                found += 1
            code += 1
        if kind == UPPER:
            search.levels[level].uppers = found
            kind, turn, found = LOWER, -side, 0
        else:
            base += _added(search, level, (top - own) * stride, side, need, limit)
            if base >= limit:
                break
        below, top = top, tree[top].parent
    if top < 0:
        search.paths[level, LOWER, found].code, search.paths[level, LOWER, found].cost = -1, base
        found += 1
    search.levels[level].lowers = found


@njit(cache=True, nogil=True)
def _extend(search: Search, level: int, d: int, u: int, v: int) -> None:
    """The partial box of the next level: this one carried along the paths of u and v."""
    tree, box, levels = search.tree, search.box, search.levels
    top, count, code, sign = -1, 0, u, 1
    if v >= 0:
        top = tree[d, u].parent
        while not (top <= v < tree[d, top].end):
            top = tree[d, top].parent
    while code != top:
        shift = (code - levels[d].own) * levels[d].stride
        for i in range(levels[level].reached):
            box[level - 1, count].pos = box[level, i].pos + shift
            box[level - 1, count].sign = sign * box[level, i].sign
            count += 1
        code = tree[d, code].parent
        if code == top and sign > 0 and v >= 0:
            code, sign = v, -1
    levels[level - 1].reached = count


@njit(cache=True, nogil=True)
def _sort(listed: Rows, spare: Rows, count: int) -> None:
    """Cheapest path first, equal ones in their order: runs by insertion, which are then merged."""
    for i in range(1, count):
        code, cost, j = listed[i].code, listed[i].cost, i
        while j % RUN > 0 and listed[j - 1].cost > cost:
            listed[j] = listed[j - 1]
            j -= 1
        listed[j].code, listed[j].cost = code, cost
    width = RUN
    while width < count:
        for start in range(0, count - width, 2 * width):
            for i in range(width):
                spare[i] = listed[start + i]
            first, second, last = 0, start + width, min(start + 2 * width, count)
            at = start
            while first < width:
                if second < last and listed[second].cost < spare[first].cost:
                    listed[at] = listed[second]
                    second += 1
                else:
                    listed[at] = spare[first]
                    first += 1
                at += 1
        width *= 2


@njit(cache=True, nogil=True)
def _least(listed: Rows, count: int) -> int:
    """The first of the cheapest paths."""
    best = 0
    for i in range(1, count):
        if listed[i].cost < listed[best].cost:
            best = i
    return best


@njit(cache=True, nogil=True)
def _place(search: Search, pos: int) -> None:
    """Begin with the cell at this position alone, at every level."""
    levels, rest = search.levels, pos
    for d in range(levels.size - 1):
        levels[d].own, levels[d + 1].reached = rest // levels[d].stride, 1
        search.box[d + 1, 0].pos, search.box[d + 1, 0].sign = pos, 1
        rest -= levels[d].own * levels[d].stride


@njit(cache=True, nogil=True)
def spread(search: Search, pos: int, leaves: Ints) -> int:
    """All cells of a box, int64[dimension, 2], into level 0; how many they are."""
    _place(search, pos)
    dims = leaves.shape[0]
    for d in range(dims):
        _extend(search, dims - d, d, leaves[d, 0], leaves[d, 1])
    return search.levels[0].reached


@njit(cache=True, nogil=True, inline="always")
def _outlook(search: Search, side: int, need: float, limit: float) -> bool:
    """Order the dimensions, fewest paths first, and the least that each must add; False if none."""
    levels, paths = search.levels, search.paths
    dims = levels.size - 1
    for d in range(dims):
        at = dims - d
        _paths(search, at, d, side, need, limit)
        uppers, lowers = levels[at].uppers, levels[at].lowers
        if uppers == 0 or lowers == 0:
            return False
        up, low = _least(paths[at, UPPER], uppers), _least(paths[at, LOWER], lowers)
        adds, ways = paths[at, UPPER, up].cost + paths[at, LOWER, low].cost, float(uppers) * lowers
        while at < dims and levels[at + 1].ways > ways:
            levels[at].dimension = levels[at + 1].dimension
            levels[at].ways, levels[at].adds = levels[at + 1].ways, levels[at + 1].adds
            at += 1
        levels[at].dimension, levels[at].ways, levels[at].adds = d, ways, adds
    levels[0].least = 0.0
    for level in range(1, dims + 1):
        levels[level].least = levels[level - 1].least + levels[level].adds
    return levels[dims].least < limit


@njit(cache=True, nogil=True)
def cheapest(search: Search, pos: int, side: int, need: float, limit: float, tries: int) -> float:
    """The cheapest box that moves the cell at `pos` by `need` to this side, below `limit`.

    Branch and bound: the paths of all dimensions but the last are tried in turn, cheapest first,
    and for the last one the best pair of paths is known at once. The leaves of the box are left in
    `levels`; infinity if there is none (or none among the first `tries`).
    """
    levels, paths = search.levels, search.paths
    dims = levels.size - 1
    _place(search, pos)
    if not _outlook(search, side, need, limit):
        return np.inf
    best, found, level, fresh = limit, False, dims, True
    levels[level].spent = 0.0
    while level <= dims:
        d, spent = levels[level].dimension, levels[level].spent
        if fresh:
            tries -= 1
            _paths(search, level, d, side, need, best - spent - levels[level - 1].least)
        uppers, lowers = levels[level].uppers, levels[level].lowers
        upper, lower = paths[level, UPPER], paths[level, LOWER]
        if level == 1:
            if uppers > 0 and lowers > 0:
                u, v = _least(upper, uppers), _least(lower, lowers)
                cost = spent + upper[u].cost + lower[v].cost
                if cost < best:
                    best, found = cost, True
                    levels[level].u, levels[level].v = u + 1, v
                    for e in range(1, dims + 1):
                        box = levels[levels[e].dimension]
                        box.upper = paths[e, UPPER, levels[e].u - 1].code
                        box.lower = paths[e, LOWER, levels[e].v].code
            level += 1
            fresh = False
            if best <= 0.0 or tries <= 0:
                break
            continue
        if fresh:
            for kind in range(2):
                count = uppers if kind == UPPER else lowers
                _sort(paths[level, kind], paths[level, SPARE], count)
            levels[level].u = levels[level].v = 0
        u, v = levels[level].u, levels[level].v
        bound = best - spent - levels[level - 1].least
        # A row of pairs ends where the next upper path is too dear; so does the list of rows.
        while v < lowers and (u >= uppers or upper[u].cost + lower[v].cost >= bound):
            v = lowers if u == 0 else v + 1
            u = 0
        if v >= lowers or uppers == 0:
            level += 1
            fresh = False
            continue
        levels[level].u, levels[level].v = u + 1, v
        levels[level - 1].spent = spent + upper[u].cost + lower[v].cost
        _extend(search, level, d, upper[u].code, lower[v].code)
        level -= 1
        fresh = True
    return best if found else np.inf
