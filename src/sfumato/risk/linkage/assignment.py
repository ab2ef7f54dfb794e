"""One-to-one links: the assignment of largest total weight among candidates, and what it is worth.

Several assignments can have the same total. Which of them a solver returns depends on the order in
which it is given the records, and the order of the files may be the truth. So records are put in
order by what they hold, then at random, and records that look alike share what their links achieve.
"""

from __future__ import annotations

import numpy as np

from ...kernels.neighbours.blocks import distinct_rows


def assigned(
    mine: np.ndarray,
    theirs: np.ndarray,
    weight: np.ndarray,
    n: int,
    m: int,
    *,
    unlinked: float,
) -> np.ndarray:
    """int64 (n,): the masked record that each record is linked to, -1 for none.

    Pair i links record `mine[i]` to masked record `theirs[i]` and is worth `weight[i]`; no masked
    record is linked twice and the sum of the weights is as large as can be. A record for which none
    of its candidates is left stays alone, which is worth `unlinked`.

    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 0])
    >>> assigned(*pairs, np.array([5.0, 4.0, 3.0]), 2, 2, unlinked=0.0).tolist()
    [1, 0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    # Everyone may also be linked to a nobody of his own: a full matching always exists.
    rows = np.concatenate((mine, np.arange(n)))
    columns = np.concatenate((theirs, m + np.arange(n)))
    value = np.concatenate((weight, np.full(n, unlinked)))
    cost = value.max(initial=0.0) - value + 1.0  # an entry of zero would be no entry
    graph = coo_array((cost, (rows, columns)), shape=(n, m + n)).tocsr()
    found, partner = min_weight_full_bipartite_matching(graph)
    chosen = np.full(n, -1, dtype=np.int64)
    chosen[found] = np.where(partner < m, partner, -1)
    return chosen


def mixed(x: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The rows in a random order that does not depend on the order in which they are given."""
    keys = [*codes.T, *x.T]
    ordered = np.lexsort(keys) if keys else np.arange(len(x))
    return ordered[rng.permutation(len(x))]


def look_alikes(x: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """int64 (n,): a label for each row; rows that hold the same have the same.

    >>> none = np.empty((3, 0), np.int32)
    >>> look_alikes(np.array([[0.0, np.nan], [1.0, 2.0], [-0.0, np.nan]]), none).tolist()
    [0, 1, 0]
    """
    plain = np.ascontiguousarray(np.where(np.isnan(x), np.nan, x + 0.0))
    _, label = distinct_rows(plain.view(np.int64), np.ascontiguousarray(codes, np.int32))
    return label.astype(np.int64)


def shared_credit(
    chosen: np.ndarray, own: np.ndarray, mine: np.ndarray, theirs: np.ndarray
) -> np.ndarray:
    """float64 (n,): how probable it is that each record is linked to its own masked record.

    `chosen` and `own` name masked records, -1 for none; `mine` and `theirs` are the labels of the
    records and of the masked records that look alike. Of s records that look alike any may have any
    of their links, and of t masked records that look alike any may be meant: a link to one of those
    is worth 1/t, and is shared by the s.

    >>> two = np.array([0, 0])
    >>> shared_credit(np.array([1, 0]), np.array([0, 1]), np.array([0, 1]), two).tolist()
    [0.5, 0.5]
    """
    kinds = int(theirs.max(initial=-1)) + 1
    linked, released = chosen >= 0, own >= 0
    key, links = np.unique(
        mine[linked] * np.int64(kinds) + theirs[chosen[linked]], return_counts=True
    )
    wanted = mine[released] * np.int64(kinds) + theirs[own[released]]
    at = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    there = key[at] == wanted if key.size else np.zeros(wanted.size, dtype=bool)
    credit = np.zeros(own.size)
    if key.size:
        each = np.bincount(mine)[mine[released]] * np.bincount(theirs)[theirs[own[released]]]
        credit[released] = np.where(there, links[at] / each, 0.0)
    return credit
