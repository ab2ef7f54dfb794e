"""Criteria that groups must keep while they are cut: t-closeness and l-diversity, counted in
compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..criteria.classes import confidential_column
from ..criteria.values.categories import categorized
from ..criteria.values.l_diversity import LDiversity
from ..criteria.values.t_closeness import TCloseness
from ..data.codec import encode
from ..data.schema import ORDERED as ORDERED_KINDS
from ..data.schema import SUPPRESSED
from ..data.table import Table
from ..kernels import recoding as kernel
from ..kernels.recoding import DISTINCT, ENTROPY, EQUAL, MOST_CODES, ORDERED, Rules, make_rules
from ..protocols import Criterion


def cut_groups(given: kernel.Records, free: np.ndarray, *, strict: bool) -> list[np.ndarray]:
    """Groups that were cut freely, and where there are rules groups cut under these; unless
    `strict`, such groups are divided further among records with equal values."""
    if given.rules is None:
        return [free]
    cut = [kernel.cut_down(given, balanced=balanced) for balanced in (False, True)]
    return [free, *(cut if strict else [kernel.split(given, one) for one in cut])]


def counted_rules(table: Table, criteria: Sequence[Criterion]) -> Rules | None:
    """Those of the criteria that the search itself can count."""
    found = []
    for criterion in criteria:
        if isinstance(criterion, TCloseness):
            rule = _closeness(table, criterion)
        elif isinstance(criterion, LDiversity):
            rule = _diversity(table, criterion)
        else:
            rule = None
        if rule is not None:
            found.append(rule)
    return make_rules(table.height, found)


def _closeness(table: Table, criterion: TCloseness) -> tuple[int, float, np.ndarray] | None:
    column = confidential_column(table, criterion.column, criterion.name)
    distance = criterion.distance
    if distance == "auto":
        ordered = column.kind in ORDERED_KINDS and not column.generalized
        distance = "ordered" if ordered else "equal"
    codes = encode(table[column.name]).codes.astype(np.int64)
    if codes.max() > MOST_CODES:
        return None
    if distance == "equal":
        return EQUAL, criterion.at_most, codes
    if distance == "ordered" and codes.min() > 0:
        return ORDERED, criterion.at_most, np.unique(codes, return_inverse=True)[1].reshape(-1) + 1
    return None


def _diversity(table: Table, criterion: LDiversity) -> tuple[int, float, np.ndarray] | None:
    if criterion.variant == "recursive":
        return None
    column = confidential_column(table, criterion.column, criterion.name)
    series = categorized(table, column, criterion.categories, criterion.missing)[column.name]
    codes = encode(series).codes.astype(np.int64)
    if codes.max() >= MOST_CODES:
        return None
    if criterion.missing == "value":
        codes += 1
    elif series.dtype in (pl.String, pl.Categorical, pl.Enum):
        silent = series.cast(pl.String).is_in(["", SUPPRESSED]).fill_null(True).to_numpy()
        codes[silent] = 0
    kind = DISTINCT if criterion.variant == "distinct" else ENTROPY
    return kind, criterion.at_least, codes
