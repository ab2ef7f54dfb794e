"""How trees come about: from rows of labels, or by joining values until one group is left."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from ..bound import MOST_FAULTS, Faults
from ..values.text import SUPPRESSED
from .tree import Nodes


def nodes_from_rows(
    rows: Sequence[Sequence[str]], name: str, *, first_row: int = 1, levels: int = 1
) -> Nodes:
    """A tree from rows of labels, each a leaf and then its ancestors up to the root.

    A label that repeats upwards in a row is one node. A row may be shorter than others, and may be
    there twice; one that begins with a group of others says no more than they do. `Faults` names
    the rows where a label has two parents, cells are empty, or there is more than one root.

    >>> found = nodes_from_rows([("Bonn", "Germany", "*"), ("Monaco", "Monaco", "*")], "the tree")
    >>> found.labels, found.parent.tolist(), found.paths.tolist()
    (['Bonn', 'Germany', '*', 'Monaco'], [1, 2, -1, 2], [[0, 3], [1, 3], [2, 2]])
    """
    ids: dict[str, int] = {}
    labels: list[str] = []
    parent: list[int] = []
    seen: list[int] = []  # the row that a label was first seen in
    joined: list[int] = []  # the row that gave it its parent
    paths: dict[int, list[int]] = {}
    faults: list[str] = []
    torn: set[tuple[int, int]] = set()  # labels and second parents that were told of
    for at, row in enumerate(rows, first_row):
        if len(row) < 2 or "" in row or row[0] == SUPPRESSED:
            faults.append(_bad_row(row, name, at))
            continue
        path: list[int] = []
        for label in row:
            node = ids.setdefault(label, len(labels))
            if node == len(labels):
                labels.append(label)
                parent.append(-1)
                seen.append(at)
                joined.append(at)
            if path and node != path[-1]:
                below = path[-1]
                if parent[below] < 0:
                    parent[below], joined[below] = node, at
                elif parent[below] != node and (below, node) not in torn:
                    torn.add((below, node))
                    faults.append(
                        f'{name}, row {at}: "{labels[below]}" goes to "{label}", but in row '
                        f'{joined[below]} to "{labels[parent[below]]}" -> '
                        "each label has one parent: rename one of the two"
                    )
            path.append(node)
        paths.setdefault(path[0], path)
    if labels:
        faults += _shape_faults(labels, parent, seen, name)
    if faults:
        more = len(faults) - MOST_FAULTS
        told = [f"{name}: {more:,} more faults -> mend these first"] if more > 0 else []
        raise Faults(faults[:MOST_FAULTS] + told)
    if not labels:
        return Nodes([SUPPRESSED], np.array([-1]), np.zeros((levels, 0), dtype=np.int64))
    groups = set(parent)
    paths = {leaf: path for leaf, path in paths.items() if leaf not in groups}
    return Nodes(labels, np.array(parent), _even_paths(paths, np.array(parent), levels))


def _bad_row(row: Sequence[str], name: str, at: int) -> str:
    if len(row) < 2:
        what = f'"{row[0]}" has no ancestor' if row else "it is empty"
        remedy = f'a row is a value, then its ancestors, last "{SUPPRESSED}"'
        return f"{name}, row {at}: {what} -> {remedy}"
    if row[0] == SUPPRESSED:
        what = f'"{SUPPRESSED}" is a value, but it means suppressed'
        return f"{name}, row {at}: {what} -> rename it, or make it missing"
    what = "the value" if not row[0] else f"column {list(row).index('') + 1}"
    return f"{name}, row {at}: {what} is empty -> fill it in, or repeat the label before it"


def _shape_faults(
    labels: Sequence[str], parent: Sequence[int], seen: Sequence[int], name: str
) -> list[str]:
    up = np.array(parent, dtype=np.int64)
    roots = np.flatnonzero(up < 0)
    if roots.size > 1:
        one = roots[0]
        return [
            f'{name}: row {seen[one]} ends in "{labels[one]}" and row {seen[other]} in '
            f'"{labels[other]}" -> end every row in the same label, such as "{SUPPRESSED}" '
            "(if the first row holds column names: header = true)"
            for other in roots[1:].tolist()
        ]
    # Each doubling of the steps halves the way to the root; whoever is not there goes in a circle.
    above = np.where(up < 0, np.arange(up.size), up)
    for _ in range(up.size.bit_length()):
        above = above[above]
    circling = np.flatnonzero(above != roots[0]) if roots.size else np.arange(up.size)
    if circling.size:
        label = labels[circling[0]]
        return [
            f'{name}: going up from "{label}" (row {seen[circling[0]]}) never ends -> '
            "a label must not be among its own ancestors"
        ]
    if SUPPRESSED in labels and labels[roots[0]] != SUPPRESSED:
        return [
            f'{name}: "{SUPPRESSED}" stands below "{labels[roots[0]]}", but it means suppressed -> '
            f'rename it, or end every row in "{SUPPRESSED}"'
        ]
    return []


def check_labels(columns: Sequence[Sequence[str]], name: str, remedy: str) -> None:
    """`ValueError` unless a label stands for the same values wherever it occurs.

    `columns` are the labels of all values, level by level; "*" may stand for any of them.

    >>> check_labels([["1", "2"], ["1", "1"]], "the tree", "rename one")
    Traceback (most recent call last):
    ValueError: the tree: "1" stands for two groups -> rename one
    """
    known: dict[str, tuple[int, ...]] = {}
    for column in columns:
        members: dict[str, list[int]] = {}
        for at, label in enumerate(column):
            members.setdefault(label, []).append(at)
        for label, found in members.items():
            same = known.setdefault(label, tuple(found)) == tuple(found)
            if not same and label != SUPPRESSED:
                raise ValueError(f'{name}: "{label}" stands for two groups -> {remedy}')


def _even_paths(paths: dict[int, list[int]], up: np.ndarray, levels: int) -> np.ndarray:
    levels = max(levels, *map(len, paths.values()))
    out = np.full((len(paths), levels), -1, dtype=np.int64)
    for i, path in enumerate(paths.values()):
        out[i, : len(path)] = path
    for level in range(1, levels):
        # A short row goes on upwards, and stays at the root once there.
        short = np.flatnonzero(out[:, level] < 0)
        below = out[short, level - 1]
        out[short, level] = np.where(up[below] < 0, below, up[below])
    return out.T


def nodes_from_merges(
    leaves: Sequence[str], merges: Sequence[np.ndarray], label: Callable[[np.ndarray], str]
) -> Nodes:
    """A tree by joining: group j of level l joins the group merges[l][j] (0..) of level l + 1.

    The groups of level 0 are the leaves; the last level is one group, the root. `label` names a
    group by its leaves, in order.
    """
    size = len(leaves)
    labels = list(leaves)
    parent = np.full(2 * size + len(merges) + 1, -1, dtype=np.int64)
    paths = np.zeros((len(merges) + 1, size), dtype=np.int64)
    paths[0] = node_of = group = np.arange(size)
    for level, merge in enumerate(merges, 1):
        sizes = np.bincount(merge)
        # A group of one is that one: a second node would share its label. But a root is no leaf.
        fresh = (sizes > 1) | (level == len(merges))
        above = np.empty(sizes.size, dtype=np.int64)
        above[merge] = node_of
        above[fresh] = len(labels) + np.arange(int(fresh.sum()))
        joining = fresh[merge]
        parent[node_of[joining]] = above[merge[joining]]
        node_of, group = above, merge[group]
        order = np.argsort(group, kind="stable")
        stops = np.cumsum(np.bincount(group)).tolist()
        if level == len(merges):
            labels.append(SUPPRESSED)
        else:
            for j in np.flatnonzero(fresh).tolist():
                labels.append(label(order[stops[j - 1] if j else 0 : stops[j]]))
        paths[level] = node_of[group]
    return Nodes(labels, parent[: len(labels)], paths)


def group_numbers(size: int, fanout: int, levels: int | None) -> list[int]:
    """How many groups each level has, from level 1 up to the root's one.

    >>> group_numbers(10, 2, None), group_numbers(10, 2, 3), group_numbers(1, 2, None)
    ([5, 3, 2, 1], [3, 1], [1])
    """
    numbers = []
    left = size
    while left > 1:
        left = -(-left // fanout)
        numbers.append(left)
    numbers = numbers or [1]
    if levels is None or len(numbers) < levels:
        return numbers
    steps = levels - 1
    return [max(1, round(size ** (1 - step / steps))) for step in range(1, steps + 1)]


def balance_ordered(counts: np.ndarray, groups: int) -> np.ndarray:
    """The group 0.. of each item: neighbours stay together, and groups are about equally frequent.

    Cuts lie where the running total is nearest to equal shares, moved apart so that no group is
    empty. No group has more than an equal share and the most frequent item together.

    >>> balance_ordered(np.array([1, 1, 1, 1, 4]), 2).tolist()
    [0, 0, 0, 0, 1]
    """
    size = counts.size
    total = np.concatenate(([0], np.cumsum(counts, dtype=np.float64)))
    shares = total[-1] * np.arange(1, groups) / groups
    after = np.clip(np.searchsorted(total, shares), 1, size)
    nearer = shares - total[after - 1] < total[after] - shares
    cuts = np.where(nearer, after - 1, after)
    index = np.arange(1, groups)
    cuts = np.maximum.accumulate(np.maximum(cuts - index, 0)) + index
    cuts = np.minimum(cuts, size - groups + index)
    out = np.zeros(size, dtype=np.int64)
    out[cuts] = 1
    return np.cumsum(out)


def balance_unordered(counts: np.ndarray, groups: int) -> np.ndarray:
    """The group 0.. of each item: the most frequent first, each to the group with the least so far.

    This is the longest-processing-time rule (R. L. Graham: Bounds on multiprocessing timing
    anomalies, 1969): the largest group is within 4/3 of the best possible. Groups are numbered by
    their first item.

    >>> balance_unordered(np.array([5, 1, 1, 1, 2]), 2).tolist()
    [0, 1, 1, 1, 1]
    """
    heap = [(0, 0, group) for group in range(groups)]
    found = np.zeros(counts.size, dtype=np.int64)
    for item in np.argsort(-counts, kind="stable").tolist():
        load, size, group = heap[0]
        found[item] = group
        heapq.heapreplace(heap, (load + int(counts[item]), size + 1, group))
    _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]
