r"""How values and sets of values are written in a release, so that they can be read back exactly.

A value stands as it is, a set as `{a, b}`. Inside the braces, a member that could be misread is
quoted as in JSON: `{"a, b", c}` has two members. A single value that looks like a set, an interval
or a suppressed value is quoted too, as in `{"*"}`: whoever reads `*` may rely on its meaning
"suppressed". A group of which some miss a value is written `{a, b} or missing`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

SUPPRESSED = "*"
"""How a suppressed value is published: it could be anything."""

_OR_MISSING = " or missing"

_MISREAD_INSIDE = re.compile(r'[,{}"\\]')
_MISREAD_ALONE = re.compile(r"\{.*|[\[(\]].*,.*[\])\[]|\*|.* or missing|", re.DOTALL)
_JSON = json.JSONDecoder()


def text(value: Any) -> str:
    """A value as text: whole numbers without decimals, other floats in the shortest exact form.

    >>> [text(v) for v in (39, 39.0, 0.1, True, dt.date(2020, 1, 31), "x")]
    ['39', '39', '0.1', 'true', '2020-01-31', 'x']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")  # nanoseconds would come out as a number
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dt.datetime):
        midnight = value.tzinfo is None and value.time() == dt.time()
        return value.date().isoformat() if midnight else value.isoformat()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def float_text(value: float) -> str:
    """The shortest text that reads back as the same float; whole ones without ".0"."""
    if value.is_integer() and abs(value) < 1e16:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return repr(value)


def or_missing(label: str) -> str:
    """What is published for a group of which some have no value and the others this label.

    >>> or_missing("[20, 29]"), or_missing("*"), without_missing("[20, 29] or missing")
    ('[20, 29] or missing', '*', ('[20, 29]', True))
    """
    return label if label == SUPPRESSED or label.endswith(_OR_MISSING) else label + _OR_MISSING


def says_missing(label: str) -> bool:
    """Whether a label reads as that of a group of which some may have no value."""
    return label.endswith(_OR_MISSING)


def without_missing(label: str) -> tuple[str, bool]:
    """The label of the values, and whether some of the group may have none."""
    return label.removesuffix(_OR_MISSING), says_missing(label)


def set_label(members: Sequence[str]) -> str:
    """What is published for a set of values, given as text.

    >>> set_label(["a", "b"]), set_label(["a"]), set_label(["a, b", "c"]), set_label(["*"])
    ('{a, b}', 'a', '{"a, b", c}', '{"*"}')
    """
    if len(members) == 1:
        only = members[0]
        return "{" + _quoted(only) + "}" if _MISREAD_ALONE.fullmatch(only) else only
    return "{" + ", ".join(map(_member, members)) + "}"


def _member(value: str) -> str:
    plain = value and value == value.strip() and value != SUPPRESSED
    return value if plain and not _MISREAD_INSIDE.search(value) else _quoted(value)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_set(label: str) -> list[str]:
    r"""The members of a label in braces; `ValueError` where it is not well formed.

    >>> read_set('{"a, b", c}'), read_set('{a,b}')
    (['a, b', 'c'], ['a', 'b'])
    """
    if not (label.startswith("{") and label.endswith("}")):
        raise ValueError(f"{label!r} is not a set in braces")
    members, at, end = [], 1, len(label) - 1
    while True:
        while label[at].isspace():
            at += 1
        if label[at] == '"':
            try:
                member, at = _JSON.raw_decode(label, at)
            except json.JSONDecodeError as error:
                raise ValueError(f"{label!r} has a quotation mark that does not close") from error
            while label[at].isspace():
                at += 1
        else:
            found = _MISREAD_INSIDE.search(label, at)
            stop = found.start() if found else end
            member, at = label[at:stop].strip(), stop
            if not member:
                raise ValueError(f"{label!r} has an empty member")
        members.append(member)
        if at == end:
            return members
        if label[at] != ",":
            raise ValueError(f"{label!r} has a stray {label[at]!r}")
        at += 1
