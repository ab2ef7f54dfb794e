"""Hidden cells, by going through everything that they could have been."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

Weights = dict[tuple[int, ...], float]


def worlds(parent: Sequence[int], tables: Sequence[Any], said: Sequence[Any]) -> Weights:
    """How probable each combination of states is in a tree, given what a record's cells say."""
    found: Weights = {}
    for states in product(*(range(len(one)) for one in said)):
        chance = 1.0
        for j, state in enumerate(states):
            above = 0 if parent[j] < 0 else states[parent[j]]
            chance *= tables[j][above][state] * said[j][state]
        found[states] = chance
    total = sum(found.values())
    return {states: chance / total for states, chance in found.items()}


def posterior(found: Weights, j: int, states: int) -> list[float]:
    """How probable each state of one column is."""
    return [sum(w for one, w in found.items() if one[j] == s) for s in range(states)]


def label_comes_about(chances: Any, needs: Sequence[set[int]]) -> np.ndarray:
    """(members, values): how probable it is that each need is met, if a member holds a value."""
    members, values = np.shape(chances)
    found = np.zeros((members, values))
    for i in range(members):
        for held in product(range(values), repeat=members):
            if all(set(held) & need for need in needs):
                others = math.prod(chances[m][v] for m, v in enumerate(held) if m != i)
                found[i, held[i]] += others
    return found


def agreeing(
    sizes: Sequence[int], candidates: Sequence[Sequence[int]], chance: Sequence[float],
    tables: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> tuple[int, float]:  # fmt: skip
    """The least excess over the counts that candidates can be held with, and the greatest log
    chance that has it. `candidates` lists those of each group, `tables` their cells and counts."""
    best = (math.inf, 0.0)
    for held in product(*(_shared(s, len(c)) for s, c in zip(sizes, candidates, strict=True))):
        many = {
            v: n
            for c, own in zip(candidates, held, strict=True)
            for v, n in zip(c, own, strict=True)
        }
        excess = 0
        for cell, left in tables:
            for c, count in enumerate(left):
                excess += max(sum(n for v, n in many.items() if cell[v] == c) - count, 0)
        log = sum(n * math.log(chance[v]) for v, n in many.items())
        best = min(best, (excess, -log))
    return int(best[0]), -best[1]


def _shared(many: int, among: int) -> list[tuple[int, ...]]:
    return [one for one in product(range(many + 1), repeat=among) if sum(one) == many]
