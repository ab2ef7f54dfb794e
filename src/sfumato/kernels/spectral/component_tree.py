"""Components that depend on one another, as a forest, and swapping along it.

Principal components are uncorrelated, and may depend on one another all the same. The strongest of
these dependences that are no chance make a forest (Chow & Liu 1968; components in one tree depend
on one another, those of different trees do not: Bach & Jordan 2003). Swapping along a tree keeps
what two neighbours in it have to do with one another, and breaks what more than two have.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats

CELLS = 8
"""Parts of equal size that a component is cut into, to see what it tells of another."""
LEVEL = 0.01
"""Chance that any two of all components are taken for dependent although none are."""
_MOST = 20_000
"""Records that are looked at for the forest."""


def mutual_information(scores: Floats) -> Floats:
    """(r, r): what each two components tell of one another, in nats, above the diagonal."""
    n, r = scores.shape
    rank = np.argsort(np.argsort(scores, axis=0, kind="stable"), axis=0, kind="stable")
    cell = rank * CELLS // max(n, 1)
    found = np.zeros((r, r))
    for a in range(r):
        for b in range(a + 1, r):
            share = np.bincount(cell[:, a] * CELLS + cell[:, b]) / n
            share = share[share > 0]
            found[a, b] = share @ np.log(share * CELLS**2)
    return found


def parents(scores: Floats) -> list[tuple[int, int]]:
    """Each component with the one that it follows in its tree, -1 for the first, parents first."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.special import chdtri

    some = scores[:: max(1, len(scores) // _MOST)]
    n, r = some.shape
    told = mutual_information(some)
    pairs = max(r * (r - 1) / 2, 1)
    # Of independent components, twice n times it is chi-squared.
    chance = chdtri((CELLS - 1) ** 2, LEVEL / pairs) / (2 * max(n, 1))
    edges = minimum_spanning_tree(np.where(told > chance, -told, 0.0)).toarray()
    linked = (edges + edges.T) != 0
    found: list[tuple[int, int]] = []
    seen: set[int] = set()
    for first in range(r):
        stack = [] if first in seen else [(first, -1)]
        while stack:
            here, above = stack.pop()
            seen.add(here)
            found.append((here, above))
            stack += [(int(b), here) for b in np.flatnonzero(linked[here]) if b != above]
    return found


def swapped_along(
    scores: Floats, tree: list[tuple[int, int]], width: int, rng: np.random.Generator
) -> Floats:
    """The first component of a tree in random order; the values of every other dealt by rank of the
    one that it follows, each moved by up to so many ranks. No value is lost or made."""
    n = len(scores)
    out = np.empty_like(scores)
    for here, above in tree:
        if above < 0:
            out[:, here] = rng.permutation(scores[:, here])
            continue
        moved = np.argsort(np.arange(n) + rng.uniform(-width, width, n), kind="stable")
        donors = np.argsort(scores[:, above], kind="stable")[moved]
        out[np.argsort(out[:, above], kind="stable"), here] = scores[donors, here]
    return out
