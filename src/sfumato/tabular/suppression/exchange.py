"""Improve a protection by exchanging cells for cheaper ones, for as long as there is time."""

from __future__ import annotations

import time

import numpy as np

from ...errors import MethodError
from ...kernels.arrays import Bools
from ...kernels.tables.columns import HIDDEN
from ..audit.witness import Witnesses
from ..threats.problem import Problem
from .local_lp import Move
from .sequential import Search

_ROUNDS = 20
_ENDLESS = 2**62


def begun(
    problem: Problem, hidden: Bools, deadline: float, witnesses: Witnesses | None = None
) -> tuple[Bools, list[Move]] | None:
    """Groups that protect, as far as the time allows, and the moves that prove it."""
    try:
        search = _search(problem, hidden, witnesses, deadline)
        _complete(search)
    except MethodError:
        return None
    return search.state == HIDDEN, _moves(search)


def exchanged(
    problem: Problem, hidden: Bools, witnesses: Witnesses, deadline: float
) -> tuple[Bools, list[Move]] | None:
    """Groups that protect and cost no more, and the moves that prove it; None where the steps of
    sequential suppression do not apply."""
    try:
        search = _search(problem, hidden, witnesses, deadline)
        if not _complete(search):
            return None
    except MethodError:
        return None
    search.clean()
    for number in range(_ROUNDS):
        before = search.cost
        search.clean(2, np.random.default_rng(number))
        if time.monotonic() > deadline or (number and search.cost >= before):
            break
    return search.state == HIDDEN, _moves(search)


def _search(
    problem: Problem, hidden: Bools, witnesses: Witnesses | None, deadline: float
) -> Search:
    loose = problem.with_(fixed=problem.fixed & ~problem.primary)
    return Search(loose, hidden, witnesses, steps=_ENDLESS, until=deadline)


def _moves(search: Search) -> list[Move]:
    return list({id(move): move for move in search.ledger.proof if move is not None}.values())


def _complete(search: Search) -> bool:
    """Prove every side that is not, the widest first; whether that was done in time."""
    ledger = search.ledger
    left = {side for side, proof in enumerate(ledger.proof) if proof is None}
    for side in sorted(left, key=lambda s: (-ledger.need[s], s)):
        if side not in left:
            continue
        if search.tired():
            return False
        move = search.move(side)
        if move is None:
            return False
        search.state[move.groups] = HIDDEN
        ledger.rest(left, move)
    return True
