"""Double precision on the card in the CPU's order of operations, nothing contracted.

A compiler may turn x * y + z into one operation with one rounding, which is another number. The
functions of libdevice name their rounding and are left as they are. Numba's simulator has none of
them, and contracts nothing.
"""

from __future__ import annotations

from typing import Any

from numba import cuda
from numba.cuda import config

SIMULATED = bool(config.ENABLE_CUDASIM)

plus: Any
minus: Any
times: Any

if SIMULATED:

    @cuda.jit(device=True)
    def plus(x: float, y: float) -> float:
        return x + y

    @cuda.jit(device=True)
    def minus(x: float, y: float) -> float:
        return x - y

    @cuda.jit(device=True)
    def times(x: float, y: float) -> float:
        return x * y

else:
    from numba.cuda import libdevice

    @cuda.jit(device=True)
    def plus(x: float, y: float) -> float:
        return libdevice.dadd_rn(x, y)

    @cuda.jit(device=True)
    def minus(x: float, y: float) -> float:
        return libdevice.dadd_rn(x, -y)

    @cuda.jit(device=True)
    def times(x: float, y: float) -> float:
        return libdevice.dmul_rn(x, y)


@cuda.jit(device=True)
def squared(x: Any, i: int, y: Any, k: int) -> float:
    """Squared distance of row i of x and row k of y, coordinates in their order."""
    total = 0.0
    for j in range(x.shape[1]):
        step = minus(x[i, j], y[k, j])
        total = plus(total, times(step, step))
    return total


@cuda.jit(device=True)
def apart(x: Any, i: int, y: Any, k: int) -> float:
    """Least squared distance of box i of x and box k of y, as the CPU bounds it.

    Boxes are (2, columns, boxes): least and greatest coordinates. Every operation is one that a
    distance between points of the boxes has too, on numbers that are no smaller, and rounding is
    monotone: the bound exceeds none of these distances as they are computed.
    """
    total = 0.0
    for j in range(x.shape[1]):
        step = max(minus(y[0, j, k], x[1, j, i]), minus(x[0, j, i], y[1, j, k]))
        if step > 0.0:
            total = plus(total, times(step, step))
    return total
