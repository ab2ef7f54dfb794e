"""The poset of a column that declares none."""

from __future__ import annotations

from ..protocols import PosetSource
from .interval import Interval
from .valueset import ValueSet

_DEFAULTS: dict[str, type[PosetSource]] = {
    "continuous": Interval,
    "integer": Interval,
    "date": Interval,
    "ordinal": ValueSet,
    "nominal": ValueSet,
    "boolean": ValueSet,
    "text": ValueSet,
    "set": ValueSet,
}


def default_poset(kind: str) -> PosetSource:
    """Intervals for numbers and dates, value sets for categories.

    >>> default_poset("integer").name, default_poset("nominal").name
    ('interval', 'value-set')
    """
    try:
        return _DEFAULTS[kind]()
    except KeyError:
        raise ValueError(f"there is no kind {kind!r} -> one of {', '.join(_DEFAULTS)}") from None
