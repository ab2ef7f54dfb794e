"""Sums over columns for LANES records or boxes at once, in vector registers.

MDAV looks at hundreds of small pieces for each group, of LANES points or boxes each. From loops,
a piece costs five times as much as its arithmetic: the compiler cannot tell that the sums do not
overlap the columns, and so checks, loads and stores them for every column. These functions are
therefore written in the compiler's vector operations (numba's `intrinsic`), which it translates for
every processor that numba supports. Nothing is reordered or fused: a lane gets exactly the sum that
a loop would give.

A piece starts at `data[at]` with LANES values at which the sums start, and then has LANES values to
a column, or two times LANES, one side after the other. Columns are added in their order: the
numeric ones first, then the nominal ones, of which there are as many as `weights`. Arrays are
contiguous and hold numbers of one kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16

_INDEX = ir.IntType(64)


def _splat(builder: Any, value: Any) -> Any:
    """A vector with the same value in all lanes."""
    one = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = builder.insert_element(one, value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, one, lanes)


def _pointer(builder: Any, array: Any, at: Any) -> Any:
    """LANES elements of an array as a vector in memory."""
    first = builder.gep(array.data, [at])
    vector = ir.VectorType(first.type.pointee, LANES)
    return builder.bitcast(first, vector.as_pointer())


def _load(builder: Any, array: Any, at: Any) -> Any:
    vector = builder.load(_pointer(builder, array, at))
    vector.align = 4  # arrays promise no more than their elements need
    return vector


def _add_columns(sides: int, number: Callable[..., Any], code: Callable[..., Any]) -> Any:
    """A compiled function that adds one term per column; a term is made of `sides` vectors."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(_typing: Any, data: Any, at: Any, values: Any, weights: Any, out: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            columns, value, weight, result = (
                context.make_array(signature.args[i])(context, builder, given[i])
                for i in (0, 2, 3, 4)
            )
            start = _load(builder, columns, given[1])
            total = cgutils.alloca_once_value(builder, start)  # type: ignore[no-untyped-call]

            def add_column(j: Any, term: Callable[..., Any]) -> None:
                first = builder.add(given[1], builder.mul(j, ir.Constant(_INDEX, sides * LANES)))
                vectors = [
                    _load(builder, columns, builder.add(first, ir.Constant(_INDEX, side * LANES)))
                    for side in range(1, sides + 1)
                ]
                point = _splat(builder, builder.load(builder.gep(value.data, [j])))
                added = term(builder, vectors, point)
                builder.store(builder.fadd(builder.load(total), added), total)

            nominal = builder.extract_value(weight.shape, 0)
            numeric = builder.sub(builder.extract_value(value.shape, 0), nominal)
            with cgutils.for_range(builder, numeric) as loop:
                add_column(loop.index, number)
            with cgutils.for_range(builder, nominal) as loop:
                cost = _splat(builder, builder.load(builder.gep(weight.data, [loop.index])))
                nothing = ir.Constant(cost.type, [0.0] * LANES)
                add_column(
                    builder.add(numeric, loop.index),
                    lambda *given: builder.select(code(*given), cost, nothing),
                )
            stored = builder.store(
                builder.load(total), _pointer(builder, result, ir.Constant(_INDEX, 0))
            )
            stored.align = 4
            return context.get_dummy_value()

        return types.void(data, at, values, weights, out), emit

    return add


def _square(builder: Any, vectors: list[Any], point: Any) -> Any:
    step = builder.fsub(vectors[0], point)
    return builder.fmul(step, step)


def _gap(builder: Any, vectors: list[Any], point: Any) -> Any:
    under, over = builder.fsub(vectors[0], point), builder.fsub(point, vectors[1])
    step = builder.select(builder.fcmp_ordered(">", under, over), under, over)
    zero = ir.Constant(step.type, [0.0] * LANES)
    step = builder.select(builder.fcmp_ordered(">", step, zero), step, zero)
    return builder.fmul(step, step)


def _differ(builder: Any, vectors: list[Any], point: Any) -> Any:
    return builder.fcmp_ordered("!=", vectors[0], point)


def _outside(builder: Any, vectors: list[Any], point: Any) -> Any:
    under = builder.fcmp_ordered("<", point, vectors[0])
    over = builder.fcmp_ordered(">", point, vectors[1])
    return builder.or_(under, over)


add_distances = _add_columns(1, _square, _differ)
"""Squared differences of numbers, and the weights of the codes that differ."""
add_gaps = _add_columns(2, _gap, _outside)
"""Squared distances to intervals and weights of the codes outside; the sides are their ends."""


def _compare_lanes(sign: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def compare(_typing: Any, sums: Any, limit: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, given[0])
            lanes = _load(builder, array, ir.Constant(_INDEX, 0))
            hits = builder.fcmp_ordered(sign, lanes, _splat(builder, given[1]))
            return builder.zext(builder.bitcast(hits, ir.IntType(LANES)), _INDEX)

        return types.int64(sums, limit), emit

    return compare


lanes_at_most = _compare_lanes("<=")
"""The lanes of LANES sums that are at most `limit`, a number of the same kind: bit i for lane i."""
lanes_at_least = _compare_lanes(">=")
"""The lanes of LANES sums that are at least `limit`."""


def _lowest_lane(_typing: Any, bits: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(bits), emit


lowest_lane: Any = intrinsic(_lowest_lane)
"""The lowest lane whose bit is set; one must be."""
