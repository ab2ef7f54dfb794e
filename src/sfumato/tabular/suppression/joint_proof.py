"""One movement for many sensitive cells at once, where one at a time would take too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, hstack

from ...kernels.tables.columns import BARRED, HIDDEN
from ..highs import model, solver
from .local_lp import DEAR, INTERIOR, NOTHING, WORTH, Move, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...kernels.arrays import Floats, Ints
    from .sequential import Search

TURNS = 8
"""Movements that are tried, each with other directions for the cells that are left."""
ROUNDS = 5
"""Programs to a movement: the first spreads it over many cells, each further one over fewer."""
REWARD = 50.0
"""What meeting a need is worth, beside the costs of usual cells."""
SPREAD = 0.5
"""What is added to a move, as a share of a usual need, before its cost is taken by the unit."""


def prove_jointly(search: Search, left: set[int]) -> Iterator[int]:
    """Hide what a few movements need that meet as many needs as possible; the sides proven are
    taken from `left`, and their number is told after each movement.

    A movement that stays within the room of every cell in both directions is one upwards for some
    sensitive cells and one downwards for the others, and its opposite the other way round. Which
    way each cell goes is drawn, since cells that lie in one relation cannot all go the same way;
    those that did not get far enough are drawn again. Attackers who know cells are left out.
    """
    ledger, merged = search.ledger, search.merged
    both_ways = np.minimum(merged.up, merged.down)
    for turn in range(TURNS):
        need = np.zeros(merged.n)
        asked = np.array([s for s in sorted(left) if not ledger.known[s]], np.int64)
        np.maximum.at(need, ledger.group[asked], ledger.need[asked])
        need[need > both_ways] = 0.0
        if not need.any():
            return
        way = np.random.default_rng(turn).choice([-1.0, 1.0], merged.n)
        move = _movement(search, need * way, both_ways)
        served = [] if move is None else ledger.served(move, left)
        if move is None or not served:
            return
        search.state[move.groups] = HIDDEN
        for side in served:
            ledger.prove(side, move)
        left.difference_update(served)
        yield len(served)


def _movement(search: Search, wanted: Floats, room: Floats) -> Move | None:
    """A movement that takes as many groups as possible where they are wanted (nowhere in particular
    where that is 0), and hides little."""
    import highspy

    merged, program = search.merged, search.program
    targets = np.flatnonzero(wanted)
    unit = float(np.median(np.abs(wanted[targets])))
    room = np.where(search.state == BARRED, 0.0, np.minimum(room / unit, np.abs(wanted).sum()))
    aim: Floats = np.abs(wanted[targets]) / unit
    matrix, upper = _columns(search, wanted, room, aim)
    cost, shown, _ = program.hiding_costs(np.arange(merged.n), 0.02)
    price = cost / np.clip(room, 1e-6, 1.0)
    reward = REWARD * max(1.0, float(cost[shown].mean()) if shown.any() else 1.0)
    still, zeros = np.zeros(upper.size), np.zeros(matrix.shape[0])
    moved: Floats = np.zeros(merged.n)
    for _ in range(ROUNDS):
        price = np.minimum(price, DEAR)
        highs = solver(primal_feasibility_tolerance=1e-9, **INTERIOR)
        costs = np.concatenate((price, price, -reward / aim))
        highs.passModel(model(matrix, costs, still, upper, zeros, zeros))
        highs.run()
        program.steps += WORTH * max(int(highs.getInfo().ipm_iteration_count), 1)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        x = np.asarray(highs.getSolution().col_value)
        moved = x[: merged.n] - x[merged.n : 2 * merged.n]
        moved[targets] += np.sign(wanted[targets]) * x[2 * merged.n :]
        price = cost / (np.abs(moved) + SPREAD)
    there: Ints = np.flatnonzero(np.abs(moved) > NOTHING * np.abs(moved).max(initial=1.0))
    return fitted(merged, there, moved[there] * unit) if there.size else None


def _columns(search: Search, wanted: Floats, room: Floats, aim: Floats) -> tuple[csr_array, Floats]:
    """The relations over three kinds of columns, and how large each may be: what every group rises
    by, what it falls by, and the part of that by which a target gets where it is wanted."""
    relations, n = search.merged.relations.matrix, search.merged.n
    targets = np.flatnonzero(wanted)
    way = np.sign(wanted[targets])
    there = csr_array((way, (targets, np.arange(targets.size))), shape=(n, targets.size))
    matrix = csr_array(hstack((relations, -relations, relations @ there)))
    upper = np.concatenate((room, room, aim))
    beyond = np.maximum(room[targets] - aim, 0.0)
    upper[targets] = np.where(way > 0, beyond, 0.0)
    upper[n + targets] = np.where(way < 0, beyond, 0.0)
    return matrix, upper
