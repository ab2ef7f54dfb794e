"""Records drawn from a normal distribution behind the ranks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...kernels.statistics.covariance import normal_rows
from ...kernels.statistics.scores import normal_distribution
from .ranks import Points, RankModel, RankSynthesizer


class GaussianCopula(RankSynthesizer):
    """Draw records that keep every column's distribution and the rank correlations.

    Each column is taken as a rising function of a standard normal variable (Lasko 2.14); rows are
    drawn from N(0, Q) and go back by the columns' inverse distribution functions (2.16 and 2.17,
    where the thesis prints the distribution function for its inverse). The means of the normal
    variables are zero by construction. For columns without ties Q = 2 sin(pi R/6) with Spearman's R
    (2.15). Ties weaken rank correlations; for columns that have them Q is the matrix that gives the
    original's R once more after the values have been looked up, found by Mehler's expansion. A Q
    that no data could have becomes the nearest correlation matrix, and the facts say by how much.

    All kinds but sets and text take part. A category with three values or more is one variable, its
    values in the order in which they differ most in the other columns: association beyond that one
    axis is lost, as is every interaction of higher order. Whether a value is missing is drawn too,
    by a variable of its own that keeps its rank correlations with the other columns; how it goes
    with the very value that is missing nobody can see, and is taken from the others (missing at
    random given them; in tables of more than 200 such variables, as if there were no such link).

    Rows stem from no single record, but values may: see `smooth` and `tails`.
    """

    name: ClassVar[str] = "gaussian-copula"
    aliases: ClassVar[tuple[str, ...]] = ("copula",)
    paper: ClassVar[str] = (
        "Clemen & Reilly 1999, Correlations and copulas for decision and risk analysis, "
        "Management Science 45(2); Lasko 2007, 2.14-2.17"
    )

    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        return Points(normal_distribution(normal_rows(model.latent, rows, rng)))
