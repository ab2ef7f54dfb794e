"""HiGHS, quiet and on one thread: several linear programs run side by side instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.arrays import Floats
from .cells.relations import Relations


def solver(**options: Any) -> Any:
    """A new HiGHS object that prints nothing."""
    import highspy

    made: Any = highspy.Highs
    found = made()
    for key, value in {"output_flag": False, "threads": 1, **options}.items():
        found.setOptionValue(key, value)
    return found


def load(found: Any, relations: Relations, costs: Floats, lower: Floats, upper: Floats) -> None:
    """Give it the program: minimise costs * x, relations hold, lower <= x <= upper."""
    zeros = np.zeros(len(relations))
    found.passModel(model(relations.matrix, costs, lower, upper, zeros, zeros))


def model(
    matrix: Any, costs: Floats, lower: Floats, upper: Floats, low: Floats, high: Floats
) -> Any:
    """The program: minimise costs * x, low <= matrix x <= high, lower <= x <= upper."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
    lp.row_lower_, lp.row_upper_ = low, high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    return lp
