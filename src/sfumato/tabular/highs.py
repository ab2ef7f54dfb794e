"""HiGHS, quiet and on one thread: several linear programs run side by side instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
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
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = relations.n, len(relations)
    lp.col_cost_ = np.asarray(costs, dtype=np.float64)
    lp.col_lower_ = np.asarray(lower, dtype=np.float64)
    lp.col_upper_ = np.asarray(upper, dtype=np.float64)
    lp.row_lower_ = lp.row_upper_ = np.zeros(len(relations))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = relations.starts.astype(np.int32)
    lp.a_matrix_.index_ = relations.cells.astype(np.int32)
    lp.a_matrix_.value_ = relations.coefs
    found.passModel(lp)


def load_rows(
    highs: Any, matrix: Any, costs: Floats, lower: Floats, upper: Floats, low: Floats, high: Floats
) -> None:
    """Give it the program: minimise costs * x, low <= matrix x <= high, lower <= x <= upper."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
    lp.row_lower_, lp.row_upper_ = low, high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data
    highs.passModel(lp)
