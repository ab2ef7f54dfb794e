"""What a person's masked value was, by every released record in turn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

Value = str | None
Matrix = Mapping[Value, Mapping[Value, float]]
DOUBT = 1e-4


def often(column: Sequence[Value], places: int) -> dict[Value, float]:
    """The share of each value, as if each of so many places had occurred once more."""
    counts = Counter(column)
    return {v: (counts[v] + 1) / (len(column) + places) for v in counts}


def posterior(
    person: Mapping[str, Value],
    released: Sequence[Mapping[str, Value]],
    matrices: Mapping[str, Matrix],
    equal: Mapping[str, int],
    target: str,
    places: Mapping[str, int],
) -> dict[Value, float]:
    """The chances of the values of `target`: each record may be the person's, and shows in every
    known column what became of the person's value, or is anybody's. `equal` are the columns that
    were left alone, with the number of values; `places` what the others may show."""
    shares = {c: often([r[c] for r in released], places[c]) for c in matrices}

    def shown(column: str, value: Value, cell: Value) -> float:
        chance = matrices[column][value].get(cell, 0.0)
        return (1 - DOUBT) * chance + DOUBT * shares[column][cell]

    n = len(released)
    prior = {v: k / n for v, k in Counter(r[target] for r in released).items()}
    found = dict.fromkeys(prior, 0.0)
    for record in released:
        weight = math.prod(
            shown(c, person[c], record[c]) / shares[c][record[c]] for c in matrices if c != target
        ) * math.prod(1.0 if person[c] == record[c] else DOUBT / k for c, k in equal.items())
        joint = {v: prior[v] * shown(target, v, record[target]) for v in prior}
        for v in prior:
            found[v] += weight * joint[v] / sum(joint.values())
    total = sum(found.values())
    return {v: p / total for v, p in found.items()}


def own_cells(
    logs: Sequence[np.ndarray],
    people: np.ndarray,
    cells: np.ndarray,
    unequal: Sequence[float],
    same: np.ndarray,
    times: np.ndarray,
    numbers: np.ndarray,
    targets: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Likelihoods by what records show in each target, one record at a time. `same` (people,
    records, columns) says whether they agree in columns that were left alone."""
    mass, sums = [], []
    for i in range(len(people)):
        row, own = [], []
        for q, t in enumerate(targets):
            fit = np.array([
                math.log(times[r])
                + sum(0.0 if agree else u for agree, u in zip(same[i, r], unequal, strict=True))
                + sum(logs[j][people[i, j], cells[j, r]] for j in range(len(logs)) if j != t)
                for r in range(cells.shape[1])
            ])  # fmt: skip
            weight = np.exp(fit - fit.max())
            weight /= weight.sum()
            places = logs[t].shape[1]
            row.append(np.bincount(cells[t], weight, minlength=places))
            own.append(np.bincount(cells[t], weight * numbers[q], minlength=places))
        mass.append(np.concatenate(row))
        sums.append(np.concatenate(own))
    return np.array(mass), np.array(sums)


def summed(shares: Sequence[float], weight: np.ndarray) -> np.ndarray:
    """Chances between bins, by weights of all pairs of equally spaced ranks."""
    n = len(weight)
    ends = np.concatenate(([0.0], np.cumsum(shares))) / sum(shares)
    of = np.searchsorted(ends, (np.arange(n) + 0.5) / n, side="right") - 1
    found = np.zeros((len(shares), len(shares)))
    for a in range(len(shares)):
        for b in range(len(shares)):
            found[a, b] = weight[np.ix_(of == a, of == b)].sum()
    return found / found.sum(axis=1, keepdims=True)
