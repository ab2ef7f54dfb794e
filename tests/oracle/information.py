"""Measures of generalization the slow, obvious way: labels as sets of values, records one by one.

The people of these tests have a city (hierarchy), an age (intervals), a kind (sets of values) and
something to be predicted. A label is written here with what it means.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import polars as pl

from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.poset.trees.sources import Hierarchy

PATHS = {
    "Ulm": ["Ulm", "Swabia", "D", "*"],
    "Bonn": ["Bonn", "Rhineland", "D", "*"],
    "Köln": ["Köln", "Rhineland", "D", "*"],
    "Nice": ["Nice", "Riviera", "F", "*"],
    "Lyon": ["Lyon", "Rhône", "F", "*"],
}
TREE = Hierarchy(levels=list(PATHS.values()))
AGES = list(range(20, 41))
KINDS = ["a", "b", "c"]
NAMES = ["city", "age", "kind"]

Person = tuple[str, int, str, str]


def ladder(column: int, value: Hashable) -> list[str]:
    """The labels of a value in these tests, each above the one before."""
    if column == 0:
        return PATHS[str(value)]
    if column == 1:
        low = AGES[0] + (int(str(value)) - AGES[0]) // 5 * 5
        return [str(value), f"[{low}, {min(low + 5, 40)}]", "[20, 40]", "*"]
    return [str(value), "{a, b}" if value in ("a", "b") else "{b, c}", "{a, b, c}", "*"]


def under(column: int, label: str) -> set[Hashable]:
    """The values that a label stands for."""
    if column == 0:
        return {leaf for leaf, path in PATHS.items() if label in path}
    if label == "*":
        return set(AGES if column == 1 else KINDS)
    if column == 1:
        if not label.startswith("["):
            return {int(label)}
        low, high = map(int, label[1:-1].split(","))
        return set(range(low, high + 1))
    return set(label.strip("{}").split(", "))


def height_share(column: int, label: str) -> float:
    """Height over largest height; for intervals the share of the domain; sets 0, 1, 2."""
    if column == 0:
        return max(path.index(label) for path in PATHS.values() if label in path) / 3
    found = under(column, label)
    if column == 1:
        return 1.0 if label == "*" else (max(found) - min(found)) / 20  # type: ignore[operator, type-var]
    return {1: 0.0, 3: 1.0}.get(len(found), 0.5)


def people(rows: Sequence[Person]) -> Table:
    """The original: every age of the domain is in it, in somebody whom the tests do not look at."""
    frame = pl.DataFrame(rows, schema=[*NAMES, "ill"], orient="row")
    return table(frame, quasi=NAMES, confidential="ill", posets={"city": TREE})


def published(rows: Sequence[Person], levels: Sequence[Sequence[int]]) -> Table:
    """Each cell at a rung of its ladder."""
    labels = [
        [ladder(j, row[j])[level] for j, level in enumerate(rungs)] + [row[3]]
        for row, rungs in zip(rows, levels, strict=True)
    ]
    frame = pl.DataFrame(labels, schema=dict.fromkeys([*NAMES, "ill"], pl.String), orient="row")
    schema = Schema(c.with_(generalized=c.name in NAMES) for c in people(rows).schema)
    return Table(frame, schema)


def mutual_information(x: Sequence[Hashable], c: Sequence[Hashable]) -> float:
    n, px, pc, both = len(x), Counter(x), Counter(c), Counter(zip(x, c, strict=True))
    return sum(k / n * math.log2((k / n) / (px[a] / n * pc[b] / n)) for (a, b), k in both.items())


def information_of(
    covered: set[Hashable], x: Sequence[Hashable], c: Sequence[Hashable], rare: int
) -> float:
    """sum over classes of p(c|x) |PMI(x, c)|, x = "the value is one of these"."""
    n = len(x)
    inside = [b for a, b in zip(x, c, strict=True) if a in covered]
    if len(inside) < max(rare, 1):
        return 0.0
    total, prior = Counter(inside), Counter(c)
    return sum(
        k / len(inside) * abs(math.log2((k / n) / ((len(inside) / n) * (prior[b] / n))))
        for b, k in total.items()
    )


def entropy(x: Sequence[Hashable]) -> float:
    return -sum(k / len(x) * math.log2(k / len(x)) for k in Counter(x).values())


def entropy_lost(x: Sequence[Hashable], covered: Sequence[set[Hashable]]) -> float:
    """sum of -log2 P(own value | label) over that of a column of stars."""
    counts = Counter(x)
    lost = 0.0
    for value, label in zip(x, covered, strict=True):
        lost -= math.log2(counts[value] / sum(counts[v] for v in label))
    whole = entropy(x) * len(x)
    return lost / whole if whole else 0.0


def misclassified(groups: Sequence[Hashable], answers: Sequence[str]) -> list[int]:
    """1 where the answer is not the most frequent of the group (ties: the first in order)."""
    out = []
    for group, answer in zip(groups, answers, strict=True):
        inside = Counter(a for g, a in zip(groups, answers, strict=True) if g == group)
        majority = min(inside, key=lambda a: (-inside[a], a))
        out.append(int(answer != majority))
    return out


def ambiguity(labels: Sequence[Sequence[str]], domain: Mapping[int, int]) -> list[int]:
    """The product over the columns of how many values a label stands for."""
    return [
        math.prod(
            domain[j] if label == "*" else len(under(j, label)) for j, label in enumerate(row)
        )
        for row in labels
    ]


def distance(a: Person, b: Person) -> float:
    """Mean over the columns: height of the common ancestor, difference of ages, 0 or 1."""
    shared = next(
        i for i, (x, y) in enumerate(zip(PATHS[a[0]], PATHS[b[0]], strict=True)) if x == y
    )
    return (shared / 3 + abs(a[1] - b[1]) / 20 + (a[2] != b[2])) / 3


def diameters(rows: Sequence[Person], groups: Sequence[Hashable]) -> list[float]:
    """The diameter of each record's group."""
    found = {}
    for group in set(groups):
        inside = [row for row, g in zip(rows, groups, strict=True) if g == group]
        found[group] = max((distance(a, b) for a, b in combinations(inside, 2)), default=0.0)
    return [found[group] for group in groups]


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope and intercept of least squares."""
    slope = statistics.covariance(x, y) / statistics.variance(x)
    return slope, statistics.fmean(y) - slope * statistics.fmean(x)


def shift(
    x: Sequence[float], read: Sequence[float], y: Sequence[float], folds: Sequence[int]
) -> list[float]:
    """How far the prediction of a line, fitted without the record's fold, moves; over the
    deviation of y."""
    out = []
    for i, fold in enumerate(folds):
        train = [k for k, other in enumerate(folds) if other != fold]
        slope, _ = line([x[k] for k in train], [y[k] for k in train])
        out.append(abs(slope * (x[i] - read[i])) / statistics.pstdev(y))
    return out
