"""Sums over columns for LANES records or boxes at once, in vector registers.

MDAV looks at hundreds of small pieces for each group, of LANES points or boxes each. From loops,
a piece costs five times as much as its arithmetic: the compiler cannot tell that the sums do not
overlap the columns, and so checks, loads and stores them for every column. These functions are
therefore written in the compiler's vector operations (numba's `intrinsic`), which it translates for
every processor that numba supports. Nothing is reordered or fused: a lane gets exactly the sum that
a loop would give.

Each of the first four computes `out[i] = base[base_at + i] + term(0) + term(1) + ...` for all lanes
i, over the columns j in their order. The LANES values of column j start at `data[at + j * LANES]`;
with two sides to a column they are at `data[at + 2 * j * LANES]`, one side after the other. Arrays
are contiguous; `data` and `values` hold numbers of one kind, `weights`, `base` and `out` too.
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


def _add_columns(sides: int, term: Callable[..., Any]) -> Any:
    """A compiled function that adds one term per column; a term is made of `sides` vectors."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(
        _typing: Any,
        data: Any,
        at: Any,
        values: Any,
        weights: Any,
        base: Any,
        base_at: Any,
        out: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kinds = signature.args

            def array(i: int) -> Any:
                return context.make_array(kinds[i])(context, builder, given[i])

            columns, value, weight, result = array(0), array(2), array(3), array(6)
            start = _load(builder, array(4), given[5])
            total = cgutils.alloca_once_value(builder, start)  # type: ignore[no-untyped-call]
            count = builder.extract_value(value.shape, 0)
            with cgutils.for_range(builder, count) as loop:
                j = loop.index
                first = builder.add(given[1], builder.mul(j, ir.Constant(_INDEX, sides * LANES)))
                vectors = [
                    _load(builder, columns, builder.add(first, ir.Constant(_INDEX, side * LANES)))
                    for side in range(sides)
                ]
                point = _splat(builder, builder.load(builder.gep(value.data, [j])))
                added = term(builder, vectors, point, builder.gep(weight.data, [j]))
                builder.store(builder.fadd(builder.load(total), added), total)
            stored = builder.store(
                builder.load(total), _pointer(builder, result, ir.Constant(_INDEX, 0))
            )
            stored.align = 4
            return context.get_dummy_value()

        return types.void(data, at, values, weights, base, base_at, out), emit

    return add


def _zero(builder: Any, like: Any) -> Any:
    return ir.Constant(like.type, [0.0] * LANES)


def _square(builder: Any, vectors: list[Any], point: Any, weight: Any) -> Any:
    step = builder.fsub(vectors[0], point)
    return builder.fmul(step, step)


def _gap(builder: Any, vectors: list[Any], point: Any, weight: Any) -> Any:
    under, over = builder.fsub(vectors[0], point), builder.fsub(point, vectors[1])
    step = builder.select(builder.fcmp_ordered(">", under, over), under, over)
    zero = _zero(builder, step)
    step = builder.select(builder.fcmp_ordered(">", step, zero), step, zero)
    return builder.fmul(step, step)


def _weigh(builder: Any, apart: Any, weight: Any) -> Any:
    cost = _splat(builder, builder.load(weight))
    return builder.select(apart, cost, _zero(builder, cost))


def _differ(builder: Any, vectors: list[Any], point: Any, weight: Any) -> Any:
    return _weigh(builder, builder.icmp_signed("!=", vectors[0], point), weight)


def _outside(builder: Any, vectors: list[Any], point: Any, weight: Any) -> Any:
    under = builder.icmp_signed("<", point, vectors[0])
    over = builder.icmp_signed(">", point, vectors[1])
    return _weigh(builder, builder.or_(under, over), weight)


add_squares = _add_columns(1, _square)
"""Squared differences of numbers; `weights` is not looked at."""
add_gaps = _add_columns(2, _gap)
"""Squared distances to intervals, whose least and greatest values are the two sides."""
add_weights = _add_columns(1, _differ)
"""The weight of a column where codes differ."""
add_gap_weights = _add_columns(2, _outside)
"""The weight of a column where a code is outside an interval of codes."""


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
