"""The card: whether there is one, what it holds, and what may go wrong with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

MISSING = "numba-cuda is not installed (the extra `gpu`)"
SHARE = 0.8
"""Of the card's free memory, at most this much is taken."""


def why_none() -> str:
    """Why no card can be used; "" where one can."""
    if find_spec("numba_cuda") is None:
        return MISSING
    try:
        from numba import cuda

        return "" if cuda.is_available() else "there is no GPU, or no driver for it"
    except (ImportError, OSError, RuntimeError) as error:
        return f"CUDA cannot be loaded: {error}"


def name() -> str:
    """The card's name, by which measurements know it."""
    from numba import cuda

    found: Any = getattr(cuda.get_current_device(), "name", "simulator")
    return found.decode() if isinstance(found, bytes) else str(found)


def room() -> int:
    """Bytes of the card's memory that may be taken."""
    from numba import cuda

    return int(min(cuda.current_context().get_memory_info()[0], 1 << 50) * SHARE)


def blamed(error: Exception) -> bool:
    """Whether an error is the card's, its driver's or its compiler's, or tells of too little memory
    on either side."""
    rooms = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return isinstance(error, MemoryError | OSError) or bool(rooms & {"numba", "cuda", "llvmlite"})


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, numba does not remark that a small search is small."""
    from numba.core.errors import NumbaPerformanceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        yield


@dataclass
class Meter:
    """What went to the card and back, and what was computed there."""

    sent: int = 0
    """bytes"""
    fetched: int = 0
    """bytes"""
    products: int = 0
    """multiplications with an addition, in single precision"""
    loaded: int = 0
    """bytes of coordinates that these took from the card's memory or its cache"""
    read: int = 0
    """bytes of coordinates that searches without them read"""


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count what is done inside."""
    meter = Meter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def meter() -> Meter | None:
    """Where to count, if anybody asked."""
    return _meter.get()


def sent(array: np.ndarray) -> Any:
    """The array on the card."""
    from numba import cuda

    if (counted := meter()) is not None:
        counted.sent += array.nbytes
    return cuda.to_device(array)


def fetched(array: Any) -> np.ndarray:
    """The array here."""
    found: np.ndarray = array.copy_to_host()
    if (counted := meter()) is not None:
        counted.fetched += found.nbytes
    return found
