"""Compiles every kernel for a card that need not be there, and prints what its code holds.

It needs NVIDIA's compiler (numba-cuda[cu13]), and no driver. Run by test_compiled.py.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numba.cuda.dispatcher
from numba import cuda, types

from sfumato.kernels.gpu import _grid, _lists, _passes, _recount, _scan, mdav, own_rank, v_mdav

CARD = (9, 0)


def array(kind: Any, dimensions: int) -> Any:
    return types.Array(kind, dimensions, "C")


f1, f2, f3 = (array(types.float64, n) for n in (1, 2, 3))
i1, i2, single1, single2 = (
    *(array(types.int64, n) for n in (1, 2)),
    *(array(types.float32, n) for n in (1, 2)),
)
near = types.NamedTuple([f1, f2, i2, f2, i2, i2, i1], _lists.Lists)
counts = types.NamedTuple([f1, f1, i1, i1, i1], own_rank._Counts)
rows = types.NamedTuple([f2, i1, array(types.int32, 1), f1], _grid.Rows)
notes = types.NamedTuple([f1, i1, f1, i1, f1, i1, i1], _grid.Notes)
scanned = [single2, f2, f1, f3, single2, single1, f2, f1, f3, i1, i1, *[types.float64] * 3]

KERNELS = {
    **{
        f"{name}, {depth} at once": (_scan.scan_of(depth, rule, _scan.SHAPE), [*scanned, lists, i1])
        for name, rule, lists in (
            ("nearest", _lists.NEAREST, near),
            ("own rank", own_rank.COUNTED, counts),
        )
        for depth in (_scan.DEPTHS[0], _scan.DEPTHS[-1])
    },
    "settle": (_recount.settle, [f1, f2, i2, i2, i1, i1, i1]),
    "recount": (_recount.recount, [f1, i1, f2, f2, f3, types.int64, i1, i1, i1, i1]),
    "fill": (_passes._fill, [f1, types.float64]),
    "v-mdav": (
        v_mdav.kernel_of(_grid.SHAPE),
        [rows, notes, f1, i1, i1, types.int64, types.float64, types.int64],
    ),
    "mdav": (mdav.kernel_of(_grid.SHAPE), [rows, notes, f2, i1, types.int64, types.int64]),
}  # fmt: skip


def main() -> None:
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CARD)
    found = {}
    for name, (kernel, given) in KERNELS.items():
        code, _ = cuda.compile_ptx(kernel.py_func, types.void(*given), cc=CARD)
        parts = ("fma.rn.f64", "fma.rn.f32", "add.rn.f64", "add.f64", "sub.f64", "mul.f64")
        found[name] = {part: code.count(part) for part in parts}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
