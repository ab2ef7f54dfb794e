"""A category drawn by a tree of yes-or-no questions, each a logistic regression.

The categories stand in a row (an ordinal's own order; else by where their records lie in the
space of the predictors). Each question splits them where their counts are halved, and is fitted
to the records of its own categories (nested dichotomies, Fox 1997; Frank & Kramer 2004). A
logistic regression with a constant reproduces the counts it was fitted to: those of the first
question exactly in expectation, those of later ones as far as the questions before them fit. A
record passes log2 of the categories, where a multinomial model would carry all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .regression import Logistic, chance, fit_logistic

Make = Callable[[np.ndarray], Iterator[tuple[slice, np.ndarray]]]
"""The design of some records, in blocks."""

_PART = 30_000


@dataclass(frozen=True)
class Leaf:
    """Categories that are told apart by their frequencies only."""

    categories: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Question:
    """Whether the category is among the later ones."""

    model: Logistic
    earlier: Leaf | Question
    later: Leaf | Question


def fit_tree(
    codes: np.ndarray, categories: np.ndarray, make: Make, width: int, least: int
) -> Leaf | Question:
    """The questions for records with these codes; fewer than `least` records are asked nothing."""
    place = np.zeros(int(categories.max(initial=0)) + 1, dtype=np.int64)
    place[categories] = np.arange(categories.size)
    places = place[codes]

    def grow(rows: np.ndarray, first: int, last: int) -> Leaf | Question:
        counts = np.bincount(places[rows] - first, minlength=last - first)
        if last - first == 1 or rows.size < least:
            return Leaf(categories[first:last], counts)
        sums = np.cumsum(counts)[:-1]
        cut = first + 1 + int(np.argmin(np.abs(sums - rows.size / 2)))
        later = places[rows] >= cut
        model = _ask(rows, later, make, width)
        return Question(model, grow(rows[~later], first, cut), grow(rows[later], cut, last))

    return grow(np.arange(codes.size), 0, categories.size)


def _ask(rows: np.ndarray, later: np.ndarray, make: Make, width: int) -> Logistic:
    """The regression of one question; of many records a part first, for a place to start."""

    def fit(step: int, start: np.ndarray | None) -> Logistic:
        def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for part, x in make(rows[::step]):
                yield x, later[::step][part].astype(np.float64)

        return fit_logistic(blocks, width, start)

    step = rows.size // _PART
    return fit(1, fit(step, None).coefficients if step > 1 else None)


def draw_tree(
    tree: Leaf | Question,
    blocks: Iterator[tuple[slice, np.ndarray]],
    n: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """A category for each of n records, given their design in blocks; the parameters of every
    model are drawn once, for all of them."""
    nodes = _listed(tree)
    place = {id(node): i for i, node in enumerate(nodes)}
    drawn = [_parameters(node, rng) for node in nodes]
    out = np.zeros(n, dtype=np.int64)
    for part, x in blocks:
        at = np.zeros(len(x), dtype=np.int64)
        made = np.zeros(len(x), dtype=np.int64)
        for i, node in enumerate(nodes):
            here = np.flatnonzero(at == i)
            if isinstance(node, Leaf):
                made[here] = rng.choice(node.categories, size=here.size, p=drawn[i])
            else:
                yes = rng.random(here.size) < chance(x[here] @ drawn[i])
                at[here] = np.where(yes, place[id(node.later)], place[id(node.earlier)])
        out[part] = made
    return out


def _listed(tree: Leaf | Question) -> list[Leaf | Question]:
    """Every node, questions before what follows from them."""
    if isinstance(tree, Leaf):
        return [tree]
    return [tree, *_listed(tree.earlier), *_listed(tree.later)]


def _parameters(node: Leaf | Question, rng: np.random.Generator) -> np.ndarray:
    """Coefficients, or the shares of a leaf's categories, from their posterior."""
    if isinstance(node, Question):
        return node.model.draw(rng)
    shares = np.zeros(node.categories.size)
    shares[node.counts > 0] = rng.dirichlet(node.counts[node.counts > 0].astype(np.float64))
    return shares


def shared_leaves(tree: Leaf | Question) -> int:
    """How many categories share a leaf with others."""
    if isinstance(tree, Leaf):
        return tree.categories.size if tree.categories.size > 1 else 0
    return shared_leaves(tree.earlier) + shared_leaves(tree.later)


def along_predictors(codes: np.ndarray, make: Make, width: int) -> np.ndarray:
    """The categories 1..c that occur, in the order of their records' means along the direction
    that separates these means most, in units of the spread (the first canonical variate)."""
    top = int(codes.max(initial=0))
    counts = np.bincount(codes, minlength=top + 1).astype(np.float64)
    sums, gram = np.zeros((top + 1, width)), np.zeros((width, width))
    for part, x in make(np.arange(codes.size)):
        np.add.at(sums, codes[part], x)
        gram += x.T @ x
    used = np.flatnonzero(counts)
    mean = sums.sum(axis=0) / codes.size
    spread = gram / codes.size - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    if width == 1 or not kept.any():
        return used
    apart = (sums[used] / counts[used, None] - mean) @ (vectors[:, kept] / np.sqrt(values[kept]))
    weighted = apart * np.sqrt(counts[used])[:, None]
    scatter = weighted.T @ weighted
    direction = np.linalg.eigh(scatter)[1][:, -1]
    # A direction has no sign of its own: take the one that puts the first category lower.
    line = apart @ direction
    return used[np.argsort(line if line[0] <= line[-1] else -line, kind="stable")]
