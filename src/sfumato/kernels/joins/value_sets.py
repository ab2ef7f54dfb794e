"""Sets of more values than a state has bits (MANY), for the innermost loops of local recoding.

A state of one value is its code. A larger set is a negative number that tells how many values it
holds, where they are listed, and which of them is left out:

    -(left out << 40 | list << 22 | count)

`left out` is a place in the list and one more, `list` the number of a list; 0 is none. The lists of
a column lie in `Joins.nodes`, from TABLE on, each STEPS long; list 0 is never written. Without a
list only the count is known, and a value that joins counts as another.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from .lub import COUNT, STEPS, TABLE, count_of, node_at, number_at

_LIST_BITS = 18
_PLACE = 22 + _LIST_BITS
_LISTS = (1 << _LIST_BITS) - 1
MOST_LISTED = COUNT
"""Values that a list has room for, at most."""


def _put(context: Any, address: Any, index: Any, value: Any) -> Any:
    """Write an entry of `Joins.nodes`."""

    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        entry = builder.trunc(arguments[2], ir.IntType(32))
        builder.store(entry, builder.gep(pointer, [arguments[1]]))
        return target_context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


put_node: Any = intrinsic(_put)


@njit(cache=True, nogil=True, inline="always")
def _begin(head: int, j: int, number: int) -> int:
    """Where a list of column j begins."""
    return number_at(head, 8 * j + TABLE) + number * number_at(head, 8 * j + STEPS)


@njit(cache=True, nogil=True)
def holds(head: int, nodes: int, j: int, state: int, code: int) -> bool:
    """Whether a listed set of column j holds a value."""
    at = _begin(head, j, (-state >> 22) & _LISTS)
    left_out = -state >> _PLACE
    length = count_of(state) + (1 if left_out else 0)
    for place in range(length):
        if node_at(nodes, at + place) == code:
            return place + 1 != left_out
    return False


@njit(cache=True, nogil=True)
def with_value(head: int, nodes: int, j: int, number: int, state: int, code: int) -> int:
    """The set and one more value, listed in `number`: the state's own list, unless it has none.

    Where one of the two is less than zero and not listed it was suppressed, and so is the set.
    """
    if code < 0 or state == code:
        return code
    if state < 0 and (-state <= COUNT or holds(head, nodes, j, state, code)):
        return state
    at, count = _begin(head, j, number), count_of(state)
    if state >= 0:
        put_node(nodes, at, state)
    put_node(nodes, at + count, code)
    return -(number << 22 | (count + 1))


@njit(cache=True, nogil=True)
def without(head: int, nodes: int, j: int, state: int, code: int) -> int:
    """A listed set of column j and one value less; none may have been left out before."""
    at, count = _begin(head, j, (-state >> 22) & _LISTS), count_of(state)
    place = 0
    while node_at(nodes, at + place) != code:
        place += 1
    if count == 2:
        return int(node_at(nodes, at + 1 - place))
    return -((place + 1) << _PLACE | ((-state >> 22) & _LISTS) << 22 | (count - 1))


@njit(cache=True, nogil=True)
def unlisted(state: int) -> int:
    """The state of a set whose list will be overwritten."""
    return state if state >= 0 else -count_of(state)
