"""Full-domain generalization by trying every combination of levels, record by record."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Row = tuple[object, ...]
Paths = dict[object, tuple[str, ...]]
"""A column's hierarchy: each value's labels, level by level, from itself to "*"."""
Keeps = Callable[[list[list[int]], int], list[bool]]
"""Which classes (lists of record numbers, of so many records in all) keep a rule."""


@dataclass(frozen=True)
class Task:
    """What is searched, and for what."""

    rows: Sequence[Row]
    paths: Sequence[Paths]
    k: int
    most: int
    measure: str = "loss"
    weights: Sequence[float] = ()
    rules: Sequence[Keeps] = ()
    aggregate: str = "sum"
    coding: float = 0.5
    target: Sequence[object] = ()
    economics: tuple[float, float, float, float] = (1200.0, 300.0, 300.0, 4.0)
    lowest: Sequence[int] = ()
    highest: Sequence[int] = ()
    averages: Sequence[str] = ()
    """For each column "mean", "median", "mode" or "", where the hierarchy only groups."""


def label(paths: Paths, value: object, level: int) -> str | None:
    """What is published; missing stays missing below the last level."""
    depth = len(next(iter(paths.values())))
    if level == depth - 1:
        return "*"
    return None if value is None else paths[value][level]


def nodes(task: Task) -> list[tuple[int, ...]]:
    top = [len(next(iter(p.values()))) - 1 for p in task.paths]
    low, high = task.lowest or [0] * len(top), task.highest or top
    return list(itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


def groups(task: Task, node: tuple[int, ...]) -> list[list[int]]:
    found: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(task.rows):
        key = tuple(label(p, v, at) for p, v, at in zip(task.paths, row, node, strict=True))
        found[key].append(i)
    return list(found.values())


def short(task: Task, node: tuple[int, ...]) -> int:
    """Records in classes below k."""
    return sum(len(g) for g in groups(task, node) if len(g) < task.k)


def suppressions(task: Task, node: tuple[int, ...]) -> list[tuple[list[list[int]], list[int]]]:
    """Ways to publish a node: kept classes and suppressed records.

    Suppressed records are a class: of k, or none. One more class may have to join them, any.
    """
    n = len(task.rows)
    kept = [g for g in groups(task, node) if len(g) >= task.k]
    gone = [i for g in groups(task, node) if len(g) < task.k for i in g]
    if task.rules:
        fine = _fine(task, kept, gone, n)
        gone = gone + [i for g, ok in zip(kept, fine, strict=False) if not ok for i in g]
        kept = [g for g, ok in zip(kept, fine, strict=False) if ok]
    if len(gone) > task.most:
        return []
    if not 0 < len(gone) < task.k:
        return [(kept, gone)]
    return [
        (kept[:i] + kept[i + 1 :], gone + g)
        for i, g in enumerate(kept)
        if len(gone) + len(g) <= task.most
    ]


def _fine(task: Task, kept: list[list[int]], gone: list[int], n: int) -> list[bool]:
    classes = kept + ([gone] if gone else [])
    verdicts = [rule(classes, n) for rule in task.rules]
    return [all(verdict[i] for verdict in verdicts) for i in range(len(classes))]


def evaluate(task: Task, node: tuple[int, ...]) -> float | None:
    """The least figure with which a node can be published; None if it cannot be."""
    options = [
        (cost(task, node, kept, gone), kept, gone) for kept, gone in suppressions(task, node)
    ]
    if not options:
        return None
    # The cheapest class joins; what the rules say of the result decides.
    least = min(option[0] for option in options)
    fine = [
        all(_fine(task, kept, gone, len(task.rows)))
        for value, kept, gone in options
        if value <= least + 1e-12
    ]
    return least if any(fine) else None


def ambiguous(task: Task, node: tuple[int, ...]) -> bool:
    """Whether several equally cheap classes could join, so that rules may judge either way."""
    options = [
        (cost(task, node, kept, gone), kept, gone) for kept, gone in suppressions(task, node)
    ]
    if not options or not task.rules:
        return False
    least = min(option[0] for option in options)
    return sum(option[0] <= least + 1e-12 for option in options) > 1


def best(task: Task) -> float | None:
    """The least figure of all nodes."""
    values = [evaluate(task, node) for node in nodes(task)]
    return min((value for value in values if value is not None), default=None)


def cost(task: Task, node: tuple[int, ...], kept: list[list[int]], gone: list[int]) -> float:
    n = len(task.rows)
    if task.measure == "discernibility":
        return float(sum(len(g) ** 2 for g in kept) + n * len(gone))
    if task.measure == "average-class-size":
        return n / (len(kept) + bool(gone))
    if task.measure == "height":
        return float(sum(node))
    if task.measure == "classification":
        return (n - sum(_right(task, node, group) for group in kept)) / n
    if task.measure == "ambiguity":
        return _ambiguity(task, node, kept, gone)
    if task.measure == "kl-divergence":
        return _divergence(task, node, kept, gone)
    if task.measure == "payout":
        return _payout(task, node, kept)
    weights = list(task.weights) or [1.0] * len(task.paths)
    figures = [_column(task, node, kept, gone, j) for j in range(len(task.paths))]
    if task.aggregate == "maximum":
        return max(w * f for w, f in zip(weights, figures, strict=True)) / max(weights)
    if task.aggregate == "geometric-mean":
        product = math.prod((1 + f) ** w for w, f in zip(weights, figures, strict=True))
        return float(product ** (1 / sum(weights)) - 1)
    return sum(w * f for w, f in zip(weights, figures, strict=True)) / sum(weights)


def _column(
    task: Task, node: tuple[int, ...], kept: list[list[int]], gone: list[int], j: int
) -> float:
    """What a column loses, generalization and suppression weighed by the coding."""
    g, s = min(1.0, 2 - 2 * task.coding), min(1.0, 2 * task.coding)
    paths, n = task.paths[j], len(task.rows)
    column = [row[j] for row in task.rows]
    if task.averages and task.averages[j]:
        lost = sum(min(1.0, _error(column, group, task.averages[j])) * len(group) for group in kept)
        return (g * lost + s * len(gone)) / n
    lost = sum(
        _cell(task.measure, paths, column, column[i], label(paths, column[i], node[j]))
        for group in kept
        for i in group
    )
    hidden = sum(_cell(task.measure, paths, column, column[i], "*") for i in gone)
    whole = float(n)
    if task.measure == "entropy":
        whole = sum(_cell(task.measure, paths, column, value, "*") for value in column)
    return (g * lost + s * hidden) / whole if whole else 0.0


def average(values: Sequence[float], how: str) -> float:
    """Of the values of a class."""
    if how == "mean":
        return statistics.fmean(values)
    if how == "median":
        return statistics.median(values)
    counts = Counter(values)
    return min(v for v in counts if counts[v] == max(counts.values()))


def _error(column: Sequence[object], group: list[int], how: str) -> float:
    """The squared error of a class relative to the column's variance."""
    everyone = [float(str(v)) for v in column]
    values = [everyone[i] for i in group]
    whole = statistics.pvariance(everyone)
    centre = average(values, how)
    return statistics.fmean((v - centre) ** 2 for v in values) / whole if whole else 0.0


def _labels(task: Task, node: tuple[int, ...], i: int) -> list[str | None]:
    each = zip(task.paths, task.rows[i], node, strict=True)
    return [label(p, v, at) for p, v, at in each]


def _right(task: Task, node: tuple[int, ...], group: list[int]) -> int:
    """Records of a class that are as most are; of those with nothing but "*", none."""
    if set(_labels(task, node, group[0])) == {"*"}:
        return 0
    return max(Counter(task.target[i] for i in group).values())


def _ambiguity(task: Task, node: tuple[int, ...], kept: list[list[int]], gone: list[int]) -> float:
    def covered(paths: Paths, shown: str | None) -> int:
        if shown == "*":
            return len(paths)
        return 1 if shown is None else sum(shown in path for path in paths.values())

    everything = math.prod(len(paths) for paths in task.paths)
    total = everything * len(gone)
    for group in kept:
        each = zip(task.paths, _labels(task, node, group[0]), strict=True)
        total += len(group) * math.prod(covered(p, shown) for p, shown in each)
    return total / len(task.rows)


def _divergence(task: Task, node: tuple[int, ...], kept: list[list[int]], gone: list[int]) -> float:
    """By the definition: the probability of every combination of values, one by one."""
    n = len(task.rows)
    domains = []
    for j, paths in enumerate(task.paths):
        missing = [None] if any(row[j] is None for row in task.rows) else []
        domains.append([*paths, *missing])
    cells = list(itertools.product(*domains))
    implied = dict.fromkeys(cells, len(gone) / n / len(cells))
    for group in kept:
        shown = _labels(task, node, group[0])
        inside = [
            cell
            for cell in cells
            if [label(p, v, at) for p, v, at in zip(task.paths, cell, node, strict=True)] == shown
        ]
        for cell in inside:
            implied[cell] += len(group) / n / len(inside)
    original = Counter(task.rows)
    return sum(c / n * math.log2(c / n / implied[row]) for row, c in original.items())


def _payout(task: Task, node: tuple[int, ...], kept: list[list[int]]) -> float:
    """What a record costs on average, in benefits: less than nothing, if it pays."""
    benefit, penalty, gain, price = task.economics
    weights = list(task.weights) or [1.0] * len(task.paths)
    paid = 0.0
    for group in kept:
        for i in group:
            loss = 0.0
            for j, paths in enumerate(task.paths):
                column = [row[j] for row in task.rows]
                shown = label(paths, column[i], node[j])
                loss += weights[j] / sum(weights) * _cell("loss", paths, column, column[i], shown)
            if loss < 1 - 1e-12:
                paid += benefit * (1 - loss) - penalty / len(group) * (gain / len(group) > price)
    return -paid / len(task.rows) / benefit


def _cell(
    measure: str, paths: Paths, column: list[object], value: object, shown: str | None
) -> float:
    if measure == "entropy":
        if value is None:
            return 0.0
        counts = Counter(v for v in column if v is not None)
        under = sum(c for v, c in counts.items() if shown == "*" or shown in paths[v])
        return math.log2(under / counts[value])
    if shown == "*":
        return 1.0
    if shown is None:
        return 0.0
    if measure == "precision":
        return paths[value].index(shown) / (len(paths[value]) - 1)
    under = sum(shown in path for path in paths.values())
    if under == len(paths) > 1:
        return 1.0  # all there is, whatever it is called
    # Missing is one more value of a column of which some are missing.
    return (under - 1) / max(len(paths) - 1 + (None in column), 1)


def minimal(task: Task) -> set[tuple[int, ...]]:
    """Nodes within the limit below which no other is (k only)."""
    good = {node for node in nodes(task) if short(task, node) <= task.most}

    def below(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return {v for v in good if not any(below(w, v) for w in good)}


def distinct_values(confidential: Sequence[object], least: int) -> Keeps:
    """Distinct l-diversity."""
    return lambda classes, n: [len({confidential[i] for i in g}) >= least for g in classes]


def close(confidential: Sequence[object], most: float) -> Keeps:
    """t-closeness by total variation."""
    whole = Counter(confidential)

    def far(group: list[int]) -> float:
        here = Counter(confidential[i] for i in group)
        return 0.5 * sum(
            abs(here[v] / len(group) - c / len(confidential)) for v, c in whole.items()
        )

    return lambda classes, n: [far(g) <= most + 1e-12 for g in classes]


def mean_risk(most: float) -> Keeps:
    """Classes per record at most so much: a rule of the whole release, which is not monotone with
    suppression."""
    return lambda classes, n: [len(classes) / n <= most + 1e-12] * len(classes)
