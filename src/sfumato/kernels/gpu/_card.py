"""The card: whether there is one, what it holds, and what may go wrong with it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

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


def faults() -> tuple[type[Exception], ...]:
    """What the card, its driver and its compiler raise, and too little memory on either side."""
    from numba.core.errors import NumbaError
    from numba.cuda.cudadrv import driver, error

    here = [
        found
        for module in (driver, error)
        for word in dir(module)
        if isinstance(found := getattr(module, word), type)
        and issubclass(found, Exception)
        and found.__module__.startswith("numba")
    ]
    return (NumbaError, MemoryError, OSError, *here)
