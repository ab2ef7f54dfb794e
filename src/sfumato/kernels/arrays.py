"""The types of arrays that kernels take and give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]
Rows = NDArray[np.void]
"""Arrays whose entries have named fields."""
