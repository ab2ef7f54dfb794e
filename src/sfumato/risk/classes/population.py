"""How many people of the population share a record's published quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import Classes, comparable, equivalence_classes, first_equal
from ...criteria.people.population import weights_of
from ...data.pair import Pair
from ...data.table import Table
from ...errors import MeasureError
from ...kernels.coverage.linkage import cover_counts
from ..linkage.covering import build


@dataclass(frozen=True, eq=False)
class Population:
    """The classes of a table, and the size of each in the population."""

    classes: Classes
    sizes: np.ndarray
    facts: dict[str, Any]


def population_of(
    pair: Pair, table: Table, reference: Table | None, *, holds_sample: bool
) -> Population:
    """Class sizes in the population: counted, estimated by weights, or the sample's own.

    A reference of non-participants is added to the sample; one that holds the sample is the
    population itself. `table` is the original or the masked table of the pair.
    """
    classes = equivalence_classes(table)
    if reference is not None:
        return _counted(pair, table, classes, reference, holds_sample)
    weights = weights_of(table)
    if weights is not None:
        return _weighted(classes, *weights)
    facts = {"population": "the sample stands for the population: no reference table, no weights"}
    return Population(classes, classes.sizes.astype(np.float64), facts)


def _counted(
    pair: Pair, table: Table, classes: Classes, reference: Table, holds_sample: bool
) -> Population:
    grid = build(pair.original, reference, table, classes.columns)
    alike = [comparable(reference[name]).alias(name) for name in classes.columns]
    # Equal reference records are looked up once.
    firsts = (
        first_equal(pl.DataFrame(alike)) if alike else np.zeros(reference.height, dtype=np.int64)
    )
    distinct, many = np.unique(firsts, return_counts=True)
    no_numbers = np.empty((max(reference.height, table.height), 0))
    found = cover_counts(
        grid.queries(distinct, no_numbers),
        grid.published(classes.first, no_numbers, classes.sizes),
        many,
    )
    facts: dict[str, Any] = {"reference_records": reference.height}
    if grid.outside:
        facts["reference_values_in_no_hierarchy"] = dict(grid.outside)
    if not holds_sample:
        facts["population"] = "the sample and the non-participants of the reference table"
        return Population(classes, (classes.sizes + found).astype(np.float64), facts)
    short = np.flatnonzero(found < classes.sizes)
    if short.size:
        row = int(classes.first[short[0]])
        raise MeasureError(
            f"the reference table does not hold the sample: {short.size:,} classes have more "
            f"records in the sample, the first that of record {row + 1} "
            f"({int(classes.sizes[short[0]]):,} against {int(found[short[0]]):,})",
            remedy='give the whole population, or say reference = "non-participants"',
        )
    facts["population"] = "the reference table"
    return Population(classes, found.astype(np.float64), facts)


def _weighted(classes: Classes, name: str, weight: np.ndarray) -> Population:
    sums = np.bincount(classes.labels, weights=weight, minlength=len(classes))
    facts: dict[str, Any] = {"population": f"estimated by the sum of the weights in {name}"}
    low = sums < classes.sizes
    if low.any():
        # The sample is in the population: no class is smaller there.
        facts["classes_with_weights_below_their_records"] = int(low.sum())
    return Population(classes, np.maximum(sums, classes.sizes), facts)
