"""Numba's simulator made fit for kernels with many barriers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

_ONE = threading.Lock()


def _shared(self: Any, shape: Any, dtype: Any, alignment: Any = None) -> np.ndarray:
    """One array for each line of a kernel. The simulator's own looks it up and makes it in two
    steps, so that two threads may get two."""
    from numba.cuda import types
    from numba.cuda.np import numpy_support

    kind = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
    caller = sys._getframe(1)
    line = (caller.f_code.co_filename, caller.f_lineno)
    with _ONE:
        found: np.ndarray = self._allocations.setdefault(line, np.empty(shape, kind))
    return found


@contextmanager
def fit() -> Iterator[None]:
    """Inside, threads wait briefly for one another, and share what they share."""
    from numba.cuda import config

    if not config.ENABLE_CUDASIM:
        yield
        return
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    before = sys.getswitchinterval()
    # Threads of the simulator are Python's, and wait for one another at every barrier.
    sys.setswitchinterval(1e-5)
    try:
        with patch.object(FakeCUDAShared, "array", _shared):
            yield
    finally:
        sys.setswitchinterval(before)
