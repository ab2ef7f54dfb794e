"""Compiled functions run by the interpreter, where compiling would take longer than the work.

Both ways give the same bits: such functions hold nothing but numbers, arrays and loops.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numba.extending import is_jitted

F = TypeVar("F", bound=Callable[..., Any])
FEW = 20_000
"""Steps of a loop that the interpreter takes in a fraction of a second."""
_taken: Counter[Any] = Counter()
"""Steps of each function so far."""


def suited(function: F, steps: int) -> F:
    """The function for about so many steps more: interpreted while all in all they are few."""
    _taken[function] += steps
    return interpreted(function) if _taken[function] <= FEW else function


@functools.cache
def interpreted(function: Any) -> Any:
    """A compiled function in plain Python, along with all that it calls."""
    plain = _plain(function)

    @functools.wraps(plain)
    def run(*given: Any) -> Any:
        opened: list[_Rows] = []
        read = [_readable(one, opened) for one in given]
        with np.errstate(all="ignore"):  # numbers wrap around, and infinities are no news
            found = plain(*read)
        for rows in opened:
            rows.put_back()
        return found

    return run


@functools.cache
def _plain(function: Any) -> FunctionType:
    own = function.py_func
    names = [name for name in own.__code__.co_names if name in own.__globals__]
    known = {name: own.__globals__[name] for name in names}
    within = {name: _plain(it) if is_jitted(it) else it for name, it in known.items()}
    return FunctionType(own.__code__, within, own.__name__, own.__defaults__)


def _readable(given: Any, opened: list[_Rows]) -> Any:
    """The same with rows whose fields are attributes, as compiled code has them."""
    if isinstance(given, tuple):
        return type(given)(*(_readable(one, opened) for one in given))
    if not isinstance(given, np.ndarray) or given.dtype.names is None:
        return given
    opened.append(_Rows(given))
    return opened[-1]


class _Rows(dict[Any, Any]):
    """A structured array of which the rows that are used are copied, and put back at the end.

    They are read 300 times as fast as those of numpy.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.size = array, array.shape, array.size
        kinds = [array.dtype[name] for name in array.dtype.names or ()]
        self.wraps = [2**64 if kind.kind == "u" else 0 for kind in kinds]

    def __missing__(self, at: Any) -> Any:
        if isinstance(at, tuple):
            found = self[at[0]][at[1] if len(at) == 2 else at[1:]]
        elif at < 0:
            found = self[at + self.shape[0]]
        elif self.array.ndim > 1:
            found = _Rows(self.array[at])
        else:
            names = self.array.dtype.names or ()
            found = SimpleNamespace(**dict(zip(names, self.array[at].item(), strict=True)))
        super().__setitem__(at, found)
        return found

    def __setitem__(self, at: Any, row: Any) -> None:
        self[at].__dict__.update(row.__dict__)

    def put_back(self) -> None:
        """What was used, into the array."""
        for at, found in self.items():
            if isinstance(found, _Rows):
                found.put_back()
            elif not isinstance(at, tuple) and at >= 0:
                values = zip(found.__dict__.values(), self.wraps, strict=True)
                self.array[at] = tuple(int(v) % wrap if wrap else v for v, wrap in values)
