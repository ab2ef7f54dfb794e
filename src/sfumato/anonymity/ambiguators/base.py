"""What Katirai's ambiguators share: k, and the measure of what joining records loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.generalized.cell_costs import CellCosts, cell_costs
from ...data.generalized.information import (
    RARE,
    NodeMatrix,
    column_weights,
    target_column,
    value_costs,
)
from ...data.partition import Cover, Partition
from ...data.schema import Column
from ...errors import MethodError
from ...kernels.classes.ambiguate import grow_classes, grow_cover
from ...kernels.classes.record_trie import exact_costs
from ...kernels.joins.lub import Joins
from ...protocols import Partitioner, PosetSource

_ONLY_K1 = (
    "every published record fits k originals, which is (k,1)-anonymity; sets of records overlap, "
    'and k records need not look alike (repair = "k" makes classes of k)'
)
FEWEST_TOLD = 10
"""Steps from which a share is published, as for the number of the others."""


@dataclass(frozen=True, eq=False)
class Priced:
    """Records as states, and what joining them costs."""

    x: Matrix
    """The columns that are joined."""
    joins: Joins
    states: np.ndarray
    monotone: np.ndarray
    """By column: whether a wider cell never costs less."""


class Ambiguator(Partitioner):
    """A search that joins records until each fits k, by the measure of their least upper bound.

    Measures are sums over columns. "ncp" counts the share of the domain that a published value
    leaves open; "height" the steps up its hierarchy (PREC; Vinterbo's equal weights). "column-mi"
    is "height" with each column weighed by its mutual information with the target; "value-mi" takes
    from each published value what it tells about the target, by its pointwise mutual information.
    Values that occur fewer than six times are set aside for these estimates. "value-mi" is not
    monotone: a wider value may seem to tell more than a narrow one, so that numbers are gladly
    joined with far ones ([10, 45] tells of a dear patient what 10 does). Numbers that are many or
    mostly rare are cut into ranges of about equally many records first, within which a wider
    interval costs nothing more. Columns of sets have no values to weigh; they keep their sizes,
    weighed as columns.
    """

    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True

    k: int = Field(5, ge=2, description="records that each published record fits")
    measure: Literal["ncp", "height", "column-mi", "value-mi"] = Field(
        "ncp",
        description="what joining records loses: share of the domain, steps of the hierarchy, "
        "or what columns or values tell about the target",
    )
    target: str = Field(
        "",
        description="what the measures of information predict; the target, else the first "
        "confidential column",
    )
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="weight of a column's cost (1 unless given): dear columns stay precise",
    )

    def price(self, x: Matrix) -> Priced:
        """The records of a table as this search joins them."""
        if len(x) < self.k:
            raise MethodError(
                f"a table of {len(x)} cannot form a set of {self.k}",
                remedy="release nothing, or lower k",
            )
        plain = None
        if self.measure == "column-mi":
            found = cell_costs(x, by="height", importance=self._weights(x))
        elif self.measure == "value-mi":
            found, plain = self._by_value(x)
        else:
            by: Literal["ncp", "height"] = "height" if self.measure == "height" else "ncp"
            found = cell_costs(x, by=by, importance=self.importance)
        monotone = np.array([_rises(found.x.table.schema[name]) for name in found.x.names])
        if plain is not None:
            monotone &= plain
        return Priced(found.x, exact_costs(found.joins), found.states, monotone)

    def facts(self, ties: int, steps: int) -> dict[str, Any]:
        """What may be told: the measure, and the share of steps that the lowest row decided."""
        found: dict[str, Any] = {"measure": self.measure}
        if self.measure == "value-mi":
            found["measure"] = "value-mi, which is not monotone"
        if min(ties, steps - ties) >= FEWEST_TOLD:
            found["ties"] = round(ties / steps, 2)
        return found

    def _weights(self, x: Matrix) -> dict[str, float]:
        target = target_column(x.table, self.target, f"{self.name} by {self.measure}")
        informative = column_weights(x, target)
        if not any(informative.values()):
            raise MethodError(
                f"no column tells anything about {target!r}, so that nothing would cost anything",
                remedy='measure = "height", or another target',
            )
        stray = [name for name in self.importance if name not in informative]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns",
                remedy=f"the columns are {', '.join(x.names)}",
            )
        return {
            name: weight * self.importance.get(name, 1.0) for name, weight in informative.items()
        }

    def _by_value(self, x: Matrix) -> tuple[CellCosts, np.ndarray]:
        target = target_column(x.table, self.target, f"{self.name} by {self.measure}")
        valued = NodeMatrix(x, RARE)
        nodes, most = value_costs(valued, target)
        plain = [nodes(valued.coded(j).poset, j) is None for j in range(len(valued.names))]
        informative = column_weights(x, target)
        for j, name in enumerate(valued.names):
            if plain[j]:
                told = informative[name]
                valued.shares[j] = min(told / most, 1.0) if most else told
        found = cell_costs(valued, by="height", importance=self.importance, node_costs=nodes)
        return found, np.array(plain)


class GrowingAmbiguator(Ambiguator):
    """A search that grows a set around each record, and can make classes of the sets."""

    repair: Literal["none", "k"] = Field(
        "none", description='"k" makes classes of k; "none" leaves sets that overlap'
    )

    def grow(self, x: Matrix, width: int) -> Partition | Cover:
        """The records' sets, or classes of k that begin with the cheapest of them."""
        found = self.price(x)
        members, cost, ties = grow_cover(
            found.joins, found.states, self.k, width=width, monotone=found.monotone
        )
        if self.repair == "none":
            return self.as_cover(members, int(ties.sum()))
        labels, decided = grow_classes(
            found.joins,
            found.states,
            self.k,
            width=width,
            order=np.argsort(cost, kind="stable"),
            monotone=found.monotone,
        )
        return self.as_classes(labels, decided)

    def as_cover(self, members: np.ndarray, ties: int) -> Cover:
        """Sets of k, a row for each record."""
        n = members.shape[0]
        starts = np.arange(0, n * self.k + 1, self.k)
        facts = self.facts(ties, n * (self.k - 1))
        return Cover(starts, members.reshape(-1), facts, (_ONLY_K1,))

    def as_classes(self, labels: np.ndarray, ties: int) -> Partition:
        """Classes, numbered by their first record."""
        steps = (labels.size // self.k) * (self.k - 1)
        return Partition.of(labels, self.facts(ties, steps))


def _rises(column: Column) -> bool:
    """Whether no wider cell of the column costs less, as declared values may say."""
    parts = () if column.poset is None else column.poset.parts()
    return all(part.rises for part in parts if isinstance(part, PosetSource))
