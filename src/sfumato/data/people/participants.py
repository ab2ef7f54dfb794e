"""Participants and a sample of people who do not take part, from one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ParameterError
from ...rng import checked_seed, stream
from ..codec import encode
from ..schema import Role
from ..table import Table, table
from .repeated import repeated_key

if TYPE_CHECKING:
    import polars as pl


def reference_split(
    source: Any,
    share: float = 0.5,
    *,
    records: int | None = None,
    seed: int = 0,
    strata: str | Sequence[str] | None = None,
) -> tuple[Table, Table]:
    """Participants, and a sample of the same population that has none of them.

    A random `share` of the records, or so many `records`, is held out before masking: what a
    release tells about people who are not in it is the standard for what it may tell about those
    who are. Rows keep their order.

    A household stays on one side (role "household"), and so does a person with several records, who
    agree in every identifier that repeats (role "identifier"): relatives and earlier visits are no
    strangers. The size is then met about, as whole households allow. `strata` names columns
    whose values are to be as frequent on both sides; a household counts by its first record.

    Choices that look at a reference must be confirmed on another: split it once more.

    >>> people = table({"id": range(8), "age": [31, 45, 52, 38, 61, 29, 44, 70]})
    >>> participants, reference = reference_split(people, 0.5)
    >>> choosing, confirming = reference_split(reference, 0.5, seed=1)
    >>> participants.height, choosing.height, confirming.height
    (4, 2, 2)
    """
    given = source if isinstance(source, Table) else table(source)
    out = held_out(
        given, share, records=records, rng=stream(checked_seed(seed), 0, "reference"), strata=strata
    )
    return given.take(np.flatnonzero(~out)), given.take(np.flatnonzero(out))


def held_out(
    given: Table,
    share: float,
    *,
    rng: np.random.Generator,
    records: int | None = None,
    strata: str | Sequence[str] | None = None,
) -> np.ndarray:
    """bool (n,): the records of the reference sample."""
    n = given.height
    size = _size(n, share, records)
    unit = kept_together(given)
    stratum = _strata(given, strata)
    if unit is None:
        unit = np.arange(n)
        first, weight = unit, np.ones(n, dtype=np.int64)
    else:
        first, weight = np.unique(unit, return_index=True)[1], np.bincount(unit)
    if first.size < 2:
        raise ParameterError(
            "all records belong to one household or person: none can be held out",
            remedy="give the column that joins them another role",
        )
    return np.asarray(_drawn(weight, stratum[first], size / n, rng)[unit])


def _size(n: int, share: float, records: int | None) -> int:
    if n < 2:
        raise ParameterError(
            f"a table of {n} record{'' if n == 1 else 's'} cannot be split",
            remedy="give at least two",
        )
    if records is not None:
        if records != int(records) or not 0 < records < n:
            raise ParameterError(
                f"records = {records} cannot be held out of {n}",
                remedy=f"a number from 1 to {n - 1}",
            )
        return int(records)
    if not 0 < share < 1:
        raise ParameterError(
            f"share = {share} is not a share between 0 and 1", remedy="share = 0.5 holds out half"
        )
    size = max(1, round(share * n))
    if size >= n:
        raise ParameterError(
            f"holding out {size} of {n} records leaves none", remedy="a smaller share"
        )
    return size


def kept_together(given: Table) -> np.ndarray | None:
    """int64 (n,): 0.. for records that must stay together; None where each stands alone.

    A person in two households joins them. Missing values join nobody.
    """
    listed = [_numbered(given[name]) for name in given.schema.of_role(Role.HOUSEHOLD)]
    person = [_numbered(given[name]) for name in _of_people(given)]
    person = [codes for codes in person if _repeats(codes)]
    if person:
        known = np.logical_or.reduce([codes >= 0 for codes in person])
        listed.append(np.where(known, _joint([codes + 1 for codes in person]), -1))
    listed = [codes for codes in listed if _repeats(codes)]
    if not listed:
        return None
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Records and what joins them are the nodes of a graph, whose components stay together.
    rows, goals, nodes = [], [], given.height
    for codes in listed:
        here = np.flatnonzero(codes >= 0)
        rows.append(here)
        goals.append(codes[here] + nodes)
        nodes += int(codes.max()) + 1
    ends = np.concatenate(rows), np.concatenate(goals)
    links = coo_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=(nodes, nodes))
    component = connected_components(links, directed=False)[1][: given.height]
    return np.asarray(np.unique(component, return_inverse=True)[1])


def _of_people(given: Table) -> list[str]:
    """The columns whose values, taken together, are a person's own.

    The column that was named as the person's decides. A member's number that nobody has twice says
    that records are people, and namesakes are not one; unless it is an admission's number, and
    another column's records agree in what does not change of a person. Else only those who agree
    in every identifier are taken for one: a first name is many people's.
    """
    names = given.schema.of_role(Role.IDENTIFIER)
    if said := [column.name for column in given.schema if column.person]:
        return said
    if any(
        given[name].n_unique() == given.height > given[name].null_count() == 0 for name in names
    ):
        key = repeated_key(given)
        return [] if key is None else [key]
    return list(names)


def _numbered(series: pl.Series) -> np.ndarray:
    """int64: equal values by equal numbers 0.., -1 where missing."""
    return encode(series).codes.astype(np.int64) - 1


def _repeats(codes: np.ndarray) -> bool:
    return bool((np.bincount(codes[codes >= 0]) > 1).any())


def _joint(listed: Sequence[np.ndarray]) -> np.ndarray:
    """int64: equal combinations by equal numbers 0.."""
    joint = listed[0]
    for own in listed[1:]:
        joint = np.unique(joint * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    return joint


def _strata(given: Table, strata: str | Sequence[str] | None) -> np.ndarray:
    """int64 (n,): the stratum of each record; missing is a value of its own."""
    names = [strata] if isinstance(strata, str) else list(strata or ())
    return _joint(
        [np.zeros(given.height, dtype=np.int64), *(_numbered(given[name]) + 1 for name in names)]
    )


def _drawn(
    weight: np.ndarray, stratum: np.ndarray, share: float, rng: np.random.Generator
) -> np.ndarray:
    """bool: units drawn at random, each with the same chance.

    In a random order, stratum by stratum (or else by size), every so-manieth unit is drawn: a
    systematic sample, which has the share of every stratum (or size) within one unit. There is at
    least one, and one is left.
    """
    lots = rng.permutation(int(stratum.max()) + 1)
    # Not by both: strata alike in sizes would be in step with the draw.
    by = weight if lots.size == 1 else lots[stratum]
    order = np.lexsort((rng.random(weight.size), by))
    passed = np.floor(np.arange(weight.size + 1) * share + rng.random())
    chosen = np.zeros(weight.size, dtype=bool)
    chosen[order[np.diff(passed) > 0]] = True
    if not chosen.any():
        chosen[rng.integers(weight.size)] = True
    elif chosen.all():
        chosen[rng.integers(weight.size)] = False
    return chosen
