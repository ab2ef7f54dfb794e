"""Improve a protection by exchanging cells for cheaper ones, for as long as there is time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ...errors import MethodError
from ...kernels.tables.columns import HIDDEN, OPEN
from .sequential import BLUR, Search

if TYPE_CHECKING:
    from ...kernels.arrays import Bools
    from ..audit.witness import Witnesses
    from ..threats.problem import Problem
    from .local_lp import Move

_ROUNDS = 20


def begun(
    problem: Problem, hidden: Bools, deadline: float, witnesses: Witnesses | None = None
) -> tuple[Bools, list[Move]] | None:
    """Groups that protect, as far as the time allows, and the moves that prove it."""
    try:
        search = Search(_loose(problem), hidden, witnesses)
        _complete(search, deadline)
    except MethodError:
        return None
    return search.state == HIDDEN, _moves(search)


def exchanged(
    problem: Problem, hidden: Bools, witnesses: Witnesses, deadline: float
) -> tuple[Bools, list[Move]] | None:
    """Groups that protect and cost no more, and the moves that prove it; None where the steps of
    sequential suppression do not apply."""
    try:
        search = Search(_loose(problem), hidden, witnesses)
        if not _complete(search, deadline):
            return None
    except MethodError:
        return None
    _publish(search, 0, None, deadline)
    for number in range(_ROUNDS):
        before = search.cost
        _publish(search, 2, np.random.default_rng(number), deadline)
        if time.monotonic() > deadline or (number and search.cost >= before):
            break
    return search.state == HIDDEN, _moves(search)


def _loose(problem: Problem) -> Problem:
    return problem.with_(fixed=problem.fixed & ~problem.primary)


def _moves(search: Search) -> list[Move]:
    return list({id(move): move for move in search.ledger.proof if move is not None}.values())


def _complete(search: Search, deadline: float) -> bool:
    """Prove every side that is not, the widest first; whether that was done in time."""
    ledger = search.ledger
    left = {side for side, proof in enumerate(ledger.proof) if proof is None}
    for side in sorted(left, key=lambda s: (-ledger.need[s], s)):
        if side not in left:
            continue
        if not _time_left(search, deadline):
            return False
        move = search.move(side)
        if move is None:
            return False
        search.state[move.groups] = HIDDEN
        for served in ledger.served(move, left):
            ledger.prove(served, move)
            left.discard(served)
    return True


def _time_left(search: Search, deadline: float) -> bool:
    """Whether there is time for another step; a program that takes longer finds nothing."""
    left, highs = deadline - time.monotonic(), search.program._highs
    highs.setOptionValue("time_limit", highs.getRunTime() + max(left, 0.05))
    return left > 0


def _publish(search: Search, width: int, rng: np.random.Generator | None, deadline: float) -> None:
    """One round over the hidden groups, the dearest first; `Search.clean` with a deadline."""
    costs = search.merged.costs
    if rng is not None:
        search.program.costs = costs * rng.uniform(*BLUR, search.merged.n)
    search.release()
    order = np.flatnonzero((search.state == HIDDEN) & (costs > 0) & ~search.merged.primary)
    for group in order[np.argsort(-costs[order], kind="stable")].tolist():
        if not _time_left(search, deadline):
            return
        if search.state[group] != HIDDEN:
            continue
        if not search.ledger.users[group]:
            search.state[group] = OPEN
        elif search.without(group, search.around(group, width), level=rng is not None):
            search.release()
