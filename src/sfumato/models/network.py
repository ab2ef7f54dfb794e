"""A Bayesian network over the fields of augmented columns, and exact inference in it by pyagrum.

Within a column each field has the next coarser one as its parent, so that a finer state is drawn
among those below it; between columns there are links at the levels that a search finds
(structure.py). A field's table is kept without its own column's parent, which follows from the
field's state.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import MethodError
from ..progress import report
from .axis import Axis
from .records import Node, Records

FEWEST = 1e-300


@dataclass(frozen=True, eq=False)
class Network:
    """Fields, links between columns, and how probable each state is."""

    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]
    parents: tuple[tuple[int, ...], ...]
    """The fields of other columns that each field depends on, as numbers of nodes."""
    tables: tuple[np.ndarray, ...]
    """(parents..., states): the probability of a state among those below its own coarser one."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How it was learnt: links, and the score in bits for each record of the test part."""

    @cached_property
    def finest(self) -> list[int]:
        """The node of each column's finest field."""
        return [self.nodes.index(Node(a, 0)) for a in range(len(self.axes))]

    def chain(self, node: int) -> int:
        """The node of the next coarser field of the same column, -1 if there is none."""
        axis, level = self.nodes[node]
        return (
            -1 if level + 1 >= self.axes[axis].levels else self.nodes.index(Node(axis, level + 1))
        )

    def log2(self, states: np.ndarray) -> np.ndarray:
        """float64 (n,): the log2 probability of whole records, given by their finest states."""
        found = np.zeros(states.shape[0])
        for i, (axis, level) in enumerate(self.nodes):
            index = [
                self.axes[a].up[up][states[:, a]]
                for a, up in (self.nodes[p] for p in self.parents[i])
            ]
            own = self.axes[axis].up[level][states[:, axis]]
            found += np.log2(self.tables[i][(*index, own)])
        return found

    @cached_property
    def engine(self) -> Engine:
        """Exact inference in this network."""
        return Engine(self)

    @property
    def links(self) -> list[str]:
        """The links between columns, as text."""
        return [
            f"{self.called(p)} -> {self.called(i)}"
            for i, listed in enumerate(self.parents)
            for p in listed
        ]

    def called(self, node: int) -> str:
        """A field as text."""
        axis, level = self.nodes[node]
        return self.axes[axis].name + (f"/{level}" if level else "")


def all_nodes(axes: Sequence[Axis]) -> tuple[Node, ...]:
    """Every field, the coarser ones of a column first."""
    return tuple(
        Node(a, level) for a, axis in enumerate(axes) for level in range(axis.levels - 1, -1, -1)
    )


def backbone(axis: Axis, level: int, counts: np.ndarray) -> np.ndarray:
    """The probability of each state among those below its own coarser one, from their counts."""
    above = axis.above(level)
    branch = np.bincount(above)
    total = np.bincount(above, counts)
    # One record's worth, spread evenly: what never occurred may still occur.
    found: np.ndarray = (counts + 1.0 / branch[above]) / (total[above] + 1.0)
    return found


def conditional(
    axis: Axis, level: int, counts: np.ndarray, base: np.ndarray, strength: float
) -> np.ndarray:
    """The same, given other columns: (parents..., states) counts drawn towards the base, as if
    `strength` more records had been seen there."""
    if counts.ndim == 1:
        return base
    above = axis.above(level)
    flat = counts.reshape(-1, counts.shape[-1])
    total = np.zeros((flat.shape[0], int(above.max()) + 1))
    np.add.at(total.T, above, flat.T)
    found = (flat + strength * base) / (total[:, above] + strength)
    return np.asarray(found.reshape(counts.shape))


def fit(
    records: Records,
    nodes: Sequence[Node],
    parents: Sequence[Sequence[int]],
    strength: float,
    *,
    refine: bool = False,
) -> tuple[np.ndarray, ...]:
    """The tables of a structure, learnt from records."""
    found = []
    for i, node in enumerate(nodes):
        axis = records.axes[node.axis]
        base = backbone(axis, node.level, records.count([node]))
        if not parents[i]:
            found.append(base)
            continue
        counts = records.count([*(nodes[p] for p in parents[i]), node], refine=refine)
        found.append(conditional(axis, node.level, counts, base, strength))
    return tuple(found)


REMEDY = 'pip install "sfumato[bayes]"'
RUNTIME = "install the OpenMP runtime (Debian, Ubuntu: apt-get install libgomp1)"


def library() -> Any:
    """pyagrum, or how to get it."""
    try:
        with warnings.catch_warnings():
            # Its bindings are older than what Python wants to see.
            warnings.simplefilter("ignore", DeprecationWarning)
            import pyagrum
    except ModuleNotFoundError as error:
        raise MethodError("Bayesian networks need pyagrum", remedy=REMEDY) from error
    except ImportError as error:
        # A bare machine lacks the OpenMP runtime that it is built for.
        raise MethodError(f"pyagrum cannot be loaded: {error}", remedy=RUNTIME) from error
    return pyagrum


class Engine:
    """Posterior probabilities in one network.

    Evidence is a likelihood over the finest states of each column: one state is a known value,
    ones throughout are nothing known.
    """

    def __init__(self, network: Network) -> None:
        gum = library()
        self.network = network
        net = gum.BayesNet()
        self._names = [f"f{i}" for i in range(len(network.nodes))]
        for i, (axis, level) in enumerate(network.nodes):
            # One state alone is no variable: a second one, which never occurs, keeps it company.
            top = max(network.axes[axis].size(level), 2) - 1
            net.add(gum.RangeVariable(self._names[i], "", 0, top))
        for i in range(len(network.nodes)):
            for parent in self._parents(i):
                net.addArc(self._names[parent], self._names[i])
        for i in range(len(network.nodes)):
            table = self._dense(i)
            # pyagrum's arrays run from the last parent to the first, and then the field itself.
            count = table.ndim - 1
            turned = table.transpose([*range(count - 1, -1, -1), count])
            net.cpt(self._names[i])[:] = np.ascontiguousarray(turned)
        self.net = net
        self._lazy = gum.LazyPropagation(net)
        self._lazy.setNumberOfThreads(1)

    def _parents(self, node: int) -> list[int]:
        chain = self.network.chain(node)
        return [*([chain] if chain >= 0 else []), *self.network.parents[node]]

    def _dense(self, node: int) -> np.ndarray:
        """(own parent, other parents..., states), padded to two states."""
        network = self.network
        axis_no, level = network.nodes[node]
        axis, table = network.axes[axis_no], network.tables[node]
        chain = network.chain(node)
        if chain >= 0:
            above = axis.above(level)
            size = axis.size(level + 1)
            own = np.zeros((size, *table.shape))
            own[above, ..., np.arange(above.size)] = np.moveaxis(table, -1, 0)
            table = own
        pads = [(0, max(2 - size, 0)) for size in table.shape]
        padded = np.pad(table, pads)
        empty = padded.sum(axis=-1) <= 0
        padded[empty, 0] = 1.0
        return padded

    def evidence(self, axis: int, likelihood: np.ndarray) -> dict[str, Any]:
        """What is set for one column: a state at the finest level that is certain, and a likelihood
        where more is known than that."""
        found: dict[str, Any] = {}
        where = np.flatnonzero(likelihood)
        one = self.network.axes[axis]
        if where.size == likelihood.size and bool((likelihood == likelihood[0]).all()):
            return found
        for level in range(one.levels):
            states = np.unique(one.up[level][where])
            if states.size > 1:
                continue
            node = self.network.finest[axis] - level
            found[self._names[node]] = int(states[0])
            inside = one.up[level] == states[0]
            whole = bool((likelihood[inside] == likelihood[where[0]]).all())
            if not whole:
                found[self._names[self.network.finest[axis]]] = self._padded(likelihood)
            break
        else:
            found[self._names[self.network.finest[axis]]] = self._padded(likelihood)
        return found

    def _padded(self, likelihood: np.ndarray) -> list[float]:
        scaled = likelihood / likelihood.max()
        return [*scaled.tolist(), *([0.0] * (2 - scaled.size))]

    def _set(self, likelihoods: Sequence[np.ndarray | None]) -> None:
        evidence: dict[str, Any] = {}
        for axis, likelihood in enumerate(likelihoods):
            if likelihood is not None:
                evidence |= self.evidence(axis, likelihood)
        self._lazy.setEvidence(evidence)

    def probability(self, likelihoods: Sequence[np.ndarray | None]) -> float:
        """How probable the evidence is: each likelihood in parts of its largest entry."""
        self._set(likelihoods)
        return float(self._lazy.evidenceProbability())

    def shown(self, levels: np.ndarray, states: np.ndarray) -> float:
        """How probable a combination is of which each column is shown at a level; a level beyond
        the last says nothing."""
        evidence = {
            self._names[self.network.finest[a] - int(level)]: int(states[a])
            for a, level in enumerate(levels)
            if level < self.network.axes[a].levels
        }
        if not evidence:
            return 1.0
        self._lazy.setEvidence(evidence)
        return float(self._lazy.evidenceProbability())

    def posterior(
        self, likelihoods: Sequence[np.ndarray | None], asked: Sequence[int]
    ) -> list[np.ndarray]:
        """The probability of each finest state of the asked columns."""
        self._set(likelihoods)
        finest = self.network.finest
        self._lazy.setTargets({self._names[finest[a]] for a in asked})
        self._lazy.makeInference()
        sizes = [self.network.axes[a].size() for a in asked]
        found = [
            self._lazy.posterior(self._names[finest[a]]).toarray()[:size]
            for a, size in zip(asked, sizes, strict=True)
        ]
        self._lazy.eraseAllTargets()
        return found

    def posteriors(
        self, patterns: Sequence[Sequence[np.ndarray | None]], asked: Sequence[Sequence[int]]
    ) -> list[list[np.ndarray]]:
        """The same for many evidences."""
        found = []
        for i, (pattern, wanted) in enumerate(zip(patterns, asked, strict=True)):
            if not i % 256:
                report("inferring", i, len(patterns))
            found.append(self.posterior(pattern, wanted))
        return found
