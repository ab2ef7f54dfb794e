"""Who is who, from one release to the next: keys of people that only the owner can make.

A release's private folder keeps a key for every published record: the keyed digest of what
identifies the person. Whoever holds that folder and today's data finds the same people again,
whatever their order, and sees who came and who left.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from .schema import Role
from .table import Table

_SIZE = 16


def identifying(table: Table) -> list[str]:
    """The columns that tell people apart: identifiers, else all quasi-identifiers."""
    return table.schema.of_role(Role.IDENTIFIER) or list(table.schema.quasi)


def person_keys(table: Table, by: Sequence[str], secret: int) -> list[bytes]:
    """A key for each record; records that read alike are numbered in their order.

    >>> from sfumato.data.table import table
    >>> one = table({"id": ["a", "b", "b"]}, identifier="id")
    >>> two = table({"id": ["b", "c", "a"]}, identifier="id")
    >>> keys = person_keys(one, ["id"], 5), person_keys(two, ["id"], 5)
    >>> [key in keys[1] for key in keys[0]]
    [True, True, False]
    """
    secret_bytes = hashlib.sha256(str(secret).encode()).digest()
    columns = [[repr(value) for value in table[name].to_list()] for name in by]
    seen: Counter[str] = Counter()
    found = []
    for cells in zip(*columns, strict=True):
        text = "\x1f".join(cells)
        # Twins get different keys: first, second ... of their kind.
        numbered = f"{seen[text]}\x1f{text}".encode()
        seen[text] += 1
        found.append(hashlib.blake2b(numbered, digest_size=_SIZE, key=secret_bytes).digest())
    return found


def found_again(before: Sequence[bytes], now: Sequence[bytes]) -> np.ndarray:
    """int64: for each of today's people, their row among those of before; -1 where they are new."""
    place = {key: row for row, key in enumerate(before)}
    return np.array([place.get(key, -1) for key in now], dtype=np.int64)
