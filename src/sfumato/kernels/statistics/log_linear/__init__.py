"""Log-linear models of sparse tables, and what they say of the people who are alone in a cell.

Skinner & Shlomo (2008), "Assessing identification risk in survey microdata using log-linear
models", JASA 103(483). The sample count f of a cell is Poisson with mean mu, the population count F
with mean lam, and each of F was drawn with chance pi = mu / lam.
"""

from __future__ import annotations

from ._cells import Cells as Cells
from ._risk import diagnose as diagnose
from ._risk import gamma_risk as gamma_risk
from ._risk import gamma_shape as gamma_shape
from ._risk import poisson_risk as poisson_risk
from ._risk import risks as risks
from ._search import Model as Model
from ._search import search as search
