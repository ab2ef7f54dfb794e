"""Two things that Mondrian tells the machine itself: numba's language has no words for them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from sfumato.kernels.mondrian._layout import LANES


def _borrow(context: Any, arrays: Any) -> Any:
    """The same tuple of arrays without reference counts, for as long as the caller holds them.

    Compiled functions count references to every array of a tuple on each call, atomically. On small
    nodes, which are most of a partition, that is a good part of the work, and all threads count at
    the same place.
    """

    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = arguments[0]
        for i, kind in enumerate(signature.args[0].types):
            held = builder.extract_value(whole, i)
            array = target_context.make_array(kind)(target_context, builder, held)
            array.meminfo = ir.Constant(array.meminfo.type, None)
            whole = builder.insert_value(whole, array._getvalue(), i)
        return whole

    return arrays(arrays), generate


def _move_block(
    context: Any, source: Any, at: Any, target: Any, to: Any, low: Any, high: Any, extreme: Any
) -> Any:
    """Copy LANES codes, and lower `low` and raise `high` to take them in.

    Written as vector instructions, because the compiler cannot know that the arrays do not overlap
    and would handle one code at a time, which makes the move about three times slower.
    """
    signature = types.void(source, at, target, to, low, high, extreme)

    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        dtype = signature.args[0].dtype
        vector = ir.VectorType(target_context.get_data_type(dtype), LANES)
        align = dtype.bitwidth // 8

        def place(array: int, index: int) -> Any:
            kind = signature.args[array]
            data = target_context.make_array(kind)(target_context, builder, arguments[array]).data
            return builder.bitcast(builder.gep(data, [arguments[index]]), vector.as_pointer())

        codes = builder.load(place(0, 1), align=align)
        builder.store(codes, place(2, 3), align=align)
        for array, order in ((4, "<"), (5, ">")):
            pointer = place(array, 6)
            known = builder.load(pointer, align=align)
            better = builder.icmp_unsigned(order, codes, known)
            builder.store(builder.select(better, codes, known), pointer, align=align)
        return target_context.get_dummy_value()

    return signature, generate


# Compiled code calls them without the context, which is the compiler's; hence no declared types.
borrow: Any = intrinsic(_borrow)
move_block: Any = intrinsic(_move_block)
