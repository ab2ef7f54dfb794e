"""One-to-one links: the assignment of largest total weight among candidates."""

from __future__ import annotations

import numpy as np


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
