"""Who fits whom among originals and published records with sets: every pair is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = Sequence[Any]


def contains(person: Any, shown: Any) -> bool:
    """Whether a published set may be the person's; None is a missing set, which is like an empty
    one but is published as such."""
    if shown is None:
        return person is None
    return set(shown) <= set(person or ())


def fits(person: Row, shown: Row) -> bool:
    """Whether every cell of a published record may be the person's; "*" may be anybody's."""
    return all(
        theirs == "*"
        or (
            contains(mine, theirs)
            if isinstance(mine, list | tuple) or isinstance(theirs, list | tuple) or theirs is None
            else mine == theirs
        )
        for mine, theirs in zip(person, shown, strict=True)
    )


def classes(rows: Sequence[Row]) -> list[list[int]]:
    """The records that look alike, where lists are sets."""
    seen: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        key = tuple(frozenset(v) if isinstance(v, list | tuple) else v for v in row)
        seen.setdefault(key, []).append(i)
    return list(seen.values())


def k1(originals: Sequence[Row], published: Sequence[Row]) -> list[int]:
    """For each class of published records, the originals that it fits."""
    return [
        sum(fits(person, published[group[0]]) for person in originals)
        for group in classes(published)
    ]


def one_k(originals: Sequence[Row], published: Sequence[Row]) -> list[int]:
    """For each original, the published records that fit it."""
    return [sum(fits(person, row) for row in published) for person in originals]
