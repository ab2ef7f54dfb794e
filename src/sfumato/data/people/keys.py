"""Who is who, from one release to the next: keys of people that only the owner can make.

A release's private folder keeps a key for every published record: the keyed digest of what
identifies the person. Whoever holds that folder and today's data finds the same people again,
whatever their order, and sees who came and who left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import polars as pl

from ...progress import report
from ..codec import equals_before
from ..schema import Role
from ..sets.flat_lists import canonical
from ..table import Table

_SIZE = 16
_BLOCK = 1 << 17
"""Records whose texts are in memory at once."""


def identifying(table: Table) -> list[str]:
    """The columns that tell people apart: the one that was named, else all identifiers. Who has
    none is not known again: people who agree in what others know of them are not one person."""
    person = table.schema.person
    return [person] if person is not None else table.schema.of_role(Role.IDENTIFIER)


def person_keys(table: Table, by: Sequence[str], secret: int) -> pl.Series:
    """A key for each record; records that read alike are numbered in their order.

    >>> from sfumato.data.table import table
    >>> one = table({"id": ["a", "b", "b"]}, identifier="id")
    >>> two = table({"id": ["b", "c", "a"]}, identifier="id")
    >>> person_keys(one, ["id"], 5).is_in(person_keys(two, ["id"], 5).to_list()).to_list()
    [True, True, False]
    """
    secret_bytes = hashlib.sha256(str(secret).encode()).digest()

    def digest(content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=_SIZE, key=secret_bytes).digest()

    def digests(rows: Table, number: str) -> bytes:
        made = bytearray()
        for at in range(0, rows.height, _BLOCK):
            report("keys of people", at, rows.height)
            columns = [_texts(rows[name].slice(at, _BLOCK)) for name in by]
            for cells in zip(*columns, strict=True):
                made += digest("\x1f".join((number, *cells)).encode())
        return bytes(made) if by else digest(number.encode()) * rows.height

    keys = np.frombuffer(digests(table, "0"), dtype=f"V{_SIZE}").copy()
    # Twins get different keys: first, second ... of their kind.
    _, kind, counts = np.unique(keys, return_inverse=True, return_counts=True)
    twins = np.flatnonzero(counts[kind.reshape(-1)] > 1)
    number = equals_before(kind.reshape(-1)[twins])
    for n in range(1, int(number.max(initial=0)) + 1):
        rows = twins[number == n]
        keys[rows] = np.frombuffer(digests(table.take(rows), str(n)), dtype=keys.dtype)
    raw = keys.tobytes()
    listed = [raw[at : at + _SIZE] for at in range(0, len(raw), _SIZE)]
    return pl.Series("person", listed, dtype=pl.Binary)


def _texts(series: pl.Series) -> list[str]:
    """A text for each value, by which equal ones are equal: the items of a set in order."""
    if not isinstance(series.dtype, pl.List | pl.Array):
        return [repr(value) for value in series.to_list()]
    items = canonical(series).cast(pl.List(pl.String))
    return items.list.join("\x1e").fill_null("\x00").to_list()


def found_again(before: pl.Series, now: pl.Series) -> np.ndarray:
    """int64: for each of today's people, their row among those of before; -1 where they are new."""
    known = pl.DataFrame({"person": before, "row": np.arange(len(before))})
    asked = pl.DataFrame({"person": now}).join(
        known, on="person", how="left", maintain_order="left"
    )
    return asked["row"].fill_null(-1).to_numpy().astype(np.int64)
