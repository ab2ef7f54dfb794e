"""What local recoding minimizes, as it is defined: by the posets' own words, and by trying all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.data.codec import Matrix
from sfumato.data.table import Table
from sfumato.kernels.joins.lub import Joins, cell_cost, join


def cost(joins: Joins, states: np.ndarray, labels: Sequence[int]) -> float:
    """The sum over records of what their group's least upper bound costs; -1 is suppressed."""
    total = 0.0
    for label in sorted(set(labels)):
        rows = np.flatnonzero(np.asarray(labels) == label)
        for j in range(states.shape[1]):
            if label < 0:
                total += rows.size * float(joins.star[j])
                continue
            state = int(states[rows[0], j])
            for row in rows[1:]:
                state = int(join(joins, j, state, int(states[row, j])))
            total += rows.size * float(cell_cost(joins, j, state))
    return total


def ncp(table: Table, labels: Sequence[int]) -> float:
    """The mean certainty penalty of a partition, by `Poset.lub` and `Poset.measure`; missing, where
    there is any, is one more of the m values, and a width counts (m - 1)/m of what it does."""
    matrix = Matrix(table, table.schema.quasi)
    total = 0.0
    for j, name in enumerate(matrix.names):
        poset, values = matrix.coded(j).poset, table[name].to_list()
        m = max(poset.positions.size - 1, 1)
        for label in set(labels):
            own = [value for value, of in zip(values, labels, strict=True) if of == label]
            there = [value for value in own if value is not None]
            if label < 0:
                total += len(own)
            elif there:
                share = poset.measure(poset.lub(there))
                everything = share >= 1.0 and poset.structure.reads != "interval"
                if None in values and everything:
                    share = 1.0
                elif None in values:
                    share = (share * (m - 1) + (len(there) < len(own))) / m
                total += len(own) * share
    return total / (len(matrix.names) * table.height)


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """All partitions of n records into groups of at least k, as labels."""

    def grow(labels: list[int], groups: int) -> Iterator[list[int]]:
        if len(labels) == n:
            if min(Counter(labels).values()) >= k:
                yield list(labels)
            return
        for label in range(min(groups + 1, n // k)):
            yield from grow([*labels, label], max(groups, label + 1))

    return grow([], 0)


def total_variation(codes: Sequence[int], rows: Sequence[int]) -> float:
    """Half the sum of the differences of shares, between some records and all."""
    whole, here = Counter(codes), Counter(codes[row] for row in rows)
    return sum(abs(here[c] / len(rows) - whole[c] / len(codes)) for c in whole) / 2


def ordered_distance(codes: Sequence[int], rows: Sequence[int]) -> float:
    """The earth mover's distance on ranks, between some records and all."""
    values = sorted(set(codes))
    area = 0.0
    for value in values[:-1]:
        here = sum(codes[row] <= value for row in rows) / len(rows)
        area += abs(here - sum(code <= value for code in codes) / len(codes))
    return area / max(len(values) - 1, 1)


def effective_values(codes: Sequence[int], rows: Sequence[int]) -> float:
    """exp(entropy) of the codes above 0; 0 where there is none."""
    counts = np.array(list(Counter(codes[row] for row in rows if codes[row] > 0).values()))
    if not counts.size:
        return 0.0
    share = counts / counts.sum()
    return float(np.exp(-(share * np.log(share)).sum()))
