"""Data shuffling: a model says where each value goes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.schema import ORDERED, Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.swapping.shuffling import (
    draw_given,
    normal_correlations,
    possible,
    rank_correlations,
)
from ...protocols import Method, Outcome
from .base import (
    gathered,
    mean_ranks,
    others_with_order,
    refuse_lone,
    sorted_rows,
    without_order,
)


class DataShuffling(Method):
    """Reorder the values of confidential columns by a normal model given the others.

    Scores of the columns are drawn from a multivariate normal distribution, given the normal scores
    of the columns `given`: the correlations are those that have the rank correlations of the data,
    2 sin(pi r / 6). Then each score is replaced by the value of equal rank. Columns keep their
    values exactly. What is published depends on a record's own values of `columns` through these
    correlations alone: beyond what `given` tells, nothing is learned about a record.

    Rank correlations among the columns, and with those given, are kept as the number of records
    grows: always with none or one given, and with several where the normal scores of these are
    jointly normal. That is for continuous columns: where many records share a value, correlations
    come out weaker, because which of equal values a record has makes no difference. Of normal
    columns cut into equal parts, ten parts keep 0.97 of a correlation, five 0.90, three 0.75 and
    two 0.50 (0.58 becomes 0.29). The facts state the largest change.

    With given = [] this is synthetic-guided swapping (Lasko 2.3.3): rows are drawn anew, and
    nothing ties a row to a record but the columns that are not shuffled.

    Ties are broken at random. Missing values stay; correlations are over the pairs of values that
    are present, and a record is drawn given what it has of `given`.
    """

    name: ClassVar[str] = "data-shuffling"
    aliases: ClassVar[tuple[str, ...]] = ("synthetic-guided-swapping",)
    roles: ClassVar[tuple[str, ...]] = ("confidential",)
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    perturbs: ClassVar[bool | None] = True
    paper: ClassVar[str] = (
        "Muralidhar & Sarathy 2006, Data shuffling: a new masking approach for numerical data, "
        "Management Science 52(5)"
    )

    given: tuple[str, ...] | None = Field(
        None,
        description="columns to keep the relations with; all others that have an order unless "
        "given",
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        refuse_lone(table, self.name)
        chosen, left = self.targets(table)
        given = self._given(table, chosen)
        orders = [sorted_rows(table[name], rng) for name in [*chosen, *given]]
        # Ties at random on all sides, so that scores are normal also where values repeat.
        u = np.column_stack([_scores(order, table.height) for order in orders])
        model, changed = possible(normal_correlations(rank_correlations(u)))
        d = len(chosen)
        drawn = draw_given(model, _normal(u[:, d:]), rng.standard_normal((table.height, d)))
        sources = [_placed(orders[j], drawn[:, j]) for j in range(d)]
        series = [gathered(table[name], s) for name, s in zip(chosen, sources, strict=True)]
        facts: dict[str, Any] = {
            "columns": chosen,
            "given": given,
            "largest change of a rank correlation": _largest_change(
                np.column_stack([mean_ranks(table[name]) for name in [*chosen, *given]]), sources
            ),
        }
        warnings = [*without_order(left)]
        if changed > 1e-6:
            warnings.append(
                "the rank correlations are those of no normal distribution; the model's "
                f"correlations were changed by up to {changed:.2g}"
            )
        apart = {*chosen, *table.schema.of_role(Role.IDENTIFIER)}
        linked = bool(set(table.names) - apart)
        return Outcome(
            table.with_columns(series), facts=facts, warnings=tuple(warnings), linked=linked
        )

    def _given(self, table: Table, chosen: list[str]) -> list[str]:
        if self.given is None:
            return others_with_order(table, chosen)
        for name in self.given:
            column = table.schema[name]
            if name in chosen:
                raise MethodError(
                    f"column {name!r} is shuffled and cannot be given",
                    remedy="name it in `columns` or in `given`, not in both",
                )
            if column.generalized or column.kind not in ORDERED:
                raise MethodError(
                    f"column {name!r} cannot be given: it has no order",
                    remedy=f"name columns that are {', '.join(ORDERED)}",
                )
        return list(dict.fromkeys(self.given))


def _scores(order: np.ndarray, n: int) -> np.ndarray:
    """Ranks 1..m divided by m + 1 for the rows in this order; NaN for the others of n."""
    scores = np.full(n, np.nan)
    scores[order] = np.arange(1.0, order.size + 1) / (order.size + 1)
    return scores


def _normal(u: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    found: np.ndarray = ndtri(u)
    return found


def _placed(order: np.ndarray, key: np.ndarray) -> np.ndarray:
    """For each row the row whose value it receives: the r-th smallest where the key is r-th."""
    rows = np.sort(order)
    source = np.arange(key.size)
    source[rows[np.argsort(key[rows], kind="stable")]] = order
    return source


def _largest_change(ranks: np.ndarray, sources: list[np.ndarray]) -> float:
    """Of a rank correlation with at least one of the first columns, which take their values from
    these rows; to three decimals."""
    after = ranks.copy()
    for j, source in enumerate(sources):
        after[:, j] = ranks[source, j]
    change = rank_correlations(after) - rank_correlations(ranks)
    return round(float(np.abs(change[: len(sources)]).max(initial=0.0)), 3)
