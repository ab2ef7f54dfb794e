"""Releases that are public already, and where people are in them.

Who is who comes from a release's private folder: keys of its people, and of each record which one
it was in the releases that were given when it was made, so that those who are no longer in the data
are followed, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ...bounds import from_json
from ...criteria.classes import equivalence_classes
from ...criteria.coverage.covering import covering
from ...data.exact import each
from ...data.linkage.earlier import data_file, read_published, read_release
from ...data.pair import Pair
from ...data.people.keys import found_again, person_keys
from ...data.table import Table
from ...errors import InputError, ParameterError
from ...protocols import Given
from ..ledger.book import mark_of
from ..staging import private_path
from .places import ABSENT

LINKS = "earlier.parquet"
"""In a private folder: for each earlier release, by its mark, the row there of each record."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """How people appear in a release that is public already."""

    name: str
    classes: np.ndarray
    """int64: the earlier class of each of today's people; -1 for those who are not in it."""
    how: str
    """How the two were brought together."""
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64: the class of each of its records; none where it has no private folder."""
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64: the record of each of today's people, -1 for none."""
    table: Table | None = None
    """What was published; None where nobody knows whose record is whose."""
    mark: str = ""
    links: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By the marks of releases before it: the row there of each record, -1 for none."""
    several: bool = False
    """Whether some of its people had several records."""

    @property
    def gone(self) -> np.ndarray:
        """The records of people who are not in today's data."""
        return np.setdiff1d(np.arange(self.labels.size), self.rows)


def read_all(paths: Sequence[str], original: Table) -> list[Earlier]:
    """The releases that are public already."""
    return [read_earlier(path, original) for path in paths]


def read_earlier(path: str, original: Table) -> Earlier:
    """An earlier release, and where each of today's people is in it."""
    release = read_release(path, original)
    names = [name for name in original.schema.quasi if name in release.schema]
    if not names:
        raise ParameterError(
            f"{path} shares no quasi-identifier with the data",
            remedy="leave it out of `given`: it cannot be joined",
        )
    name = Path(path).name
    known = _who_is_who(path, original)
    if known is None:
        return _where_they_fit(name, original, release, names)
    rows, earlier, by, several = known
    labels = equivalence_classes(release, _seen_by(path, release, names)).labels
    if labels.size != earlier:
        raise InputError(
            f"the private folder of {path} is not that of its data",
            remedy="put the right one beside it",
        )
    classes = np.where(rows >= 0, labels[rows], ABSENT)
    how = f"people were found again by {', '.join(by)}"
    folder = data_file(path).absolute().parent
    before = _links(folder, labels.size)
    return Earlier(name, classes, how, labels, rows, release, mark_of(folder), before, several)


def _seen_by(path: str, release: Table, names: Sequence[str]) -> list[str]:
    """Today's quasi-identifiers and those of the release: what was known of people then still is,
    though today's data leave it out."""
    own = read_published(path).schema.quasi
    return list(dict.fromkeys([*names, *(name for name in own if name in release.schema)]))


def _where_they_fit(name: str, original: Table, release: Table, names: Sequence[str]) -> Earlier:
    """Without a private folder: the same people, each wherever the labels cover them."""
    if release.height != original.height:
        raise ParameterError(
            f"{name} has {release.height:,} records and the data have {original.height:,}: nothing "
            "tells who came and who left",
            remedy="put its private folder (people.parquet) beside it",
        )
    found = covering(original, release, names)
    nowhere = np.flatnonzero(~np.any(found.bits, axis=1))
    if np.isin(found.person, nowhere).any():
        raise ParameterError(
            f"{name} does not cover all of today's people: its values are perturbed, or its people "
            "are others",
            remedy="put its private folder beside it, or judge the two by an attack",
        )
    how = "it has no private folder, so the same people are taken to be in both"
    return Earlier(name, found.signature, f"{how}, each where the labels fit")


def given_by(paths: Sequence[str]) -> Given:
    """These releases, and who is in them, for whoever attacks another one beside them."""
    return Given(tuple(paths), _rows_in)


def _rows_in(path: str, people: Table) -> np.ndarray | None:
    """The record of each of these people in a release, -1 for none; None where its private folder
    does not tell, or nothing tells who the people are."""
    known = _keys(path)
    if known is None or not known.by or any(name not in people.schema for name in known.by):
        return None
    return found_again(known.before, person_keys(people, known.by, known.secret))


class _Keys(NamedTuple):
    """What a private folder knows of people."""

    before: pl.Series
    """the key of each record's person"""
    secret: int
    by: list[str]
    several: bool


def _keys(path: str) -> _Keys | None:
    """None without a private folder."""
    folder = private_path(data_file(path).absolute().parent)
    if not (folder / "people.parquet").is_file():
        return None
    try:
        notes = from_json((folder / "seed.json").read_text(encoding="utf-8"))
        before = pl.read_parquet(folder / "people.parquet")["person"]
        return _Keys(before, int(notes["seed"]), list(notes["people"]), bool(notes["several"]))
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        raise InputError(f"{folder} cannot be read", remedy="restore it, or move it away") from None


def _who_is_who(path: str, original: Table) -> tuple[np.ndarray, int, list[str], bool] | None:
    """The earlier record of each of today's people (-1: none), how many there are, the columns that
    people are known by, and whether some had several records; None without a private folder."""
    known = _keys(path)
    if known is None:
        return None
    before, secret, by, several = known
    absent = [name for name in by if name not in original.schema]
    if absent:
        raise ParameterError(
            f"{path} knows people by {', '.join(by)}, and the data have no {absent[0]!r}",
            remedy="bring the column back, or move the private folder away",
        )
    _check_named(original, by)
    rows = found_again(before, person_keys(original, by, secret))
    if rows.size and len(before) and not (rows >= 0).any():
        raise ParameterError(
            f"nobody of {path} is among today's people by {', '.join(by)}",
            remedy="leave it out if its people are others; else its private folder does not fit",
        )
    return rows, len(before), by, several


def _check_named(original: Table, by: Sequence[str]) -> None:
    """People without a key would be taken for one another."""
    nameless = original.frame.select(
        pl.all_horizontal(one.is_null() for one in each(by))
    ).to_series()
    if nameless.any():
        raise ParameterError(
            f"{int(nameless.sum())} records have no {', '.join(by)} (row "
            f"{int(nameless.arg_true()[0]) + 1}): nothing tells who of an earlier release they are",
            remedy="fill the column, or leave these records out",
        )


def _links(folder: Path, height: int) -> dict[str, np.ndarray]:
    """Which record each was in the releases before it, as its private folder says."""
    path = private_path(folder) / LINKS
    if not path.is_file():
        return {}
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path} cannot be read", remedy="restore it, or move it away") from None
    if frame.height != height:
        raise InputError(
            f"{path} is not that of its data", remedy="put the right private folder beside it"
        )
    return {name: frame[name].to_numpy().astype(np.int64) for name in frame.columns}


def links(paths: Sequence[str], pair: Pair) -> pl.DataFrame:
    """For each published record, its row in every earlier release whose people are known."""
    assert pair.rows is not None
    found = [one for one in read_all(paths, pair.original) if one.mark]
    return pl.DataFrame({one.mark: one.rows[pair.rows] for one in found})


def gone_people(earlier: Sequence[Earlier]) -> np.ndarray:
    """int64 (people, releases): the records of those who are no longer in the data, -1 for none.

    Nobody, where it is not known of each two releases who of them is in both: one person must not
    count as two.
    """
    if len(earlier) > 1 and not all(
        a.mark and b.mark and (a.mark in b.links or b.mark in a.links)
        for i, a in enumerate(earlier)
        for b in earlier[:i]
    ):
        return np.zeros((0, len(earlier)), dtype=np.int64)
    first = np.concatenate(([0], np.cumsum([one.labels.size for one in earlier])))
    tails, heads = [], []
    for i, one in enumerate(earlier):
        for j, other in enumerate(earlier):
            to = one.links.get(other.mark, np.zeros(0, dtype=np.int64))
            at = np.flatnonzero(to >= 0)
            tails.append(first[i] + at)
            heads.append(first[j] + to[at])
    tail, head = np.concatenate(tails), np.concatenate(heads)
    many = int(first[-1])
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    graph = sparse.coo_matrix((np.ones(tail.size), (tail, head)), shape=(many, many))
    person = connected_components(graph, directed=False)[1]
    found = np.full((int(person.max(initial=-1)) + 1, len(earlier)), ABSENT, dtype=np.int64)
    for i, one in enumerate(earlier):
        found[person[first[i] + one.gone], i] = one.gone
    return found[(found >= 0).any(axis=1)]
