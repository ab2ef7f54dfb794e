"""A new release beside those that are public already.

Two releases of the same people can each be k-anonymous and yet single somebody out together
(Sweeney's complementary and temporal release attacks). An intruder who puts a person's records of
both side by side sees the pair of classes, so at least k people must share every pair. Whoever is
in one release only has a pair, too, with nothing on the other side: subtracting one release from
the other leaves those who came, and those who left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...criteria.coverage.covering import covering
from ...data.codec import encode
from ...data.generalized.label_places import Labels
from ...data.linkage.earlier import data_file, read_release
from ...data.pair import Pair
from ...data.partition import Partition
from ...data.people.keys import found_again, person_keys
from ...data.people.repeated import repeated_key
from ...data.schema import SUPPRESSED, Kind, Role
from ...data.table import Table
from ...errors import InputError, ParameterError
from ...methods.verbs.generalize import Generalize
from ...poset.values.text import or_missing, says_missing
from ...protocols import Finding
from ..plan.plan import Plan
from ..publish import private_path
from .masking import Draft

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Earlier:
    """How people appear in a release that is public already."""

    name: str
    classes: np.ndarray
    """int64: the earlier class of each of today's people; -1 for those who are not in it."""
    left: np.ndarray
    """int64: the classes of the earlier records of people who are not in today's data."""
    how: str
    """How the two were brought together."""


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
    if known is not None:
        rows, earlier, by = known
        labels = equivalence_classes(release, names).labels
        if labels.size != earlier:
            raise InputError(
                f"the private folder of {path} is not that of its data",
                remedy="put the right one beside it",
            )
        classes = np.where(rows >= 0, labels[rows], ABSENT)
        gone = np.setdiff1d(np.arange(labels.size), rows)
        return Earlier(name, classes, labels[gone], f"people were found again by {', '.join(by)}")
    return _where_they_fit(name, original, release, names)


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
    nobody = np.zeros(0, dtype=np.int64)
    return Earlier(name, found.signature, nobody, f"{how}, each where the labels fit")


def _who_is_who(path: str, original: Table) -> tuple[np.ndarray, int, list[str]] | None:
    """The earlier record of each of today's people (-1: none), how many there are, and the columns
    that people are known by; None without a private folder."""
    folder = private_path(data_file(path).absolute().parent)
    if not (folder / "people.parquet").is_file():
        return None
    try:
        notes = json.loads((folder / "seed.json").read_text(encoding="utf-8"))
        before = pl.read_parquet(folder / "people.parquet")["person"]
        secret, by = int(notes["seed"]), list(notes["people"])
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        raise InputError(f"{folder} cannot be read", remedy="restore it, or move it away") from None
    absent = [name for name in by if name not in original.schema]
    if absent:
        raise ParameterError(
            f"{path} knows people by {', '.join(by)}, and the data have no {absent[0]!r}",
            remedy="bring the column back, or move the private folder away",
        )
    rows = found_again(before, person_keys(original, by, secret))
    if rows.size and len(before) and not (rows >= 0).any():
        raise ParameterError(
            f"nobody of {path} is among today's people by {', '.join(by)}",
            remedy="leave it out if its people are others; else its private folder does not fit",
        )
    return rows, len(before), by


def joined(plan: Plan, draft: Draft) -> tuple[Draft, list[Finding]]:
    """The draft, coarsened if that is asked for, and whether it stands beside the earlier ones."""
    k = _wanted_k(plan)
    if draft.pair.rows is None or draft.copies:
        raise ParameterError(
            "a release whose records are no one person's cannot be joined with an earlier one",
            remedy="remove `given`, or use a step that generalizes",
        )
    masked = draft.pair.masked.schema
    sets = [name for name in masked.quasi if masked[name].kind == Kind.SET]
    if any(not masked[name].generalized for name in sets):
        raise ParameterError(
            f"published sets ({', '.join(sets)}) cannot be joined with an earlier release",
            remedy='remove `given`, or publish labels: then = "generalize"',
        )
    earlier = [read_earlier(path, draft.pair.original) for path in plan.input.given]
    notes = [f"joined with {one.name}: {one.how}" for one in earlier]
    if plan.input.given_join == "coarsen":
        seen = _numbered([one.classes for one in earlier])[draft.pair.rows]
        units = k.units(draft.pair.original)[draft.pair.rows]
        draft, coarsening = _coarsened(draft, seen, units, k.k)
        notes += coarsening
    findings = _findings(k, draft.pair, earlier)
    return replace(draft, notes=(*draft.notes, *notes)), findings


def joined_again(plan: Plan, pair: Pair) -> list[Finding]:
    """The same findings on a table that was read back."""
    earlier = [read_earlier(path, pair.original) for path in plan.input.given]
    return _findings(_wanted_k(plan), pair, earlier)


@dataclass(frozen=True)
class _K:
    """How many people, or households, must share what is seen."""

    k: int
    unit: str

    def column(self, original: Table) -> str | None:
        """The column whose different values are counted; None where a record is a person."""
        if self.unit != "household":
            return repeated_key(original) if self.unit == "person" else None
        names = original.schema.of_role(Role.HOUSEHOLD)
        if not names:
            raise ParameterError(
                'unit = "household" needs a column of households', remedy='role = "household"'
            )
        return names[0]

    def units(self, original: Table) -> np.ndarray:
        """What is counted, for each original record."""
        name = self.column(original)
        if name is None:
            return np.arange(original.height)
        return np.asarray(encode(original[name]).codes.astype(np.int64))


def _wanted_k(plan: Plan) -> _K:
    for requirement in plan.requirements:
        if requirement.name == "k-anonymity":
            unit = getattr(requirement.thing, "unit", "record")
            return _K(int(getattr(requirement.thing, "k", 0)), unit)
    raise ParameterError(
        "`given` asks that k people share every pair of classes, and no k is required",
        remedy="[require] k-anonymity = 5",
    )


def _numbered(parts: Sequence[np.ndarray]) -> np.ndarray:
    """One number for each combination of numbers."""
    _, number = np.unique(np.column_stack(parts), axis=0, return_inverse=True)
    return np.asarray(number.reshape(-1).astype(np.int64))


def _sizes(pairs: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Different units in each pair of classes."""
    distinct = np.unique(np.column_stack([pairs, units]), axis=0)
    return np.bincount(distinct[:, 0], minlength=int(pairs.max(initial=-1)) + 1)


def _findings(k: _K, pair: Pair, earlier: Sequence[Earlier]) -> list[Finding]:
    now = np.full(pair.original.height, ABSENT, dtype=np.int64)
    assert pair.rows is not None
    now[pair.rows] = equivalence_classes(pair.masked).labels
    units = k.units(pair.original)
    if k.unit == "household":
        # Whose household is not published is counted by the person.
        alone = now == ABSENT
        units[alone] = units.max(initial=0) + 1 + np.arange(int(alone.sum()))
    found = [_finding(one.name, [one], now, units, k.k) for one in earlier]
    if len(earlier) > 1:
        found.append(_finding("all of them", earlier, now, units, k.k))
    return found


def _finding(
    name: str, earlier: Sequence[Earlier], now: np.ndarray, units: np.ndarray, k: int
) -> Finding:
    before = np.column_stack([one.classes for one in earlier])
    # Those who are in none of the releases tell nothing.
    seen = (before >= 0).any(axis=1) | (now >= 0)
    rows = np.column_stack([before, now])[seen]
    who = units[seen]
    if len(earlier) == 1:
        gone = earlier[0].left
        rows = np.concatenate([rows, np.column_stack([gone, np.full(gone.size, ABSENT)])])
        who = np.concatenate([who, units.max(initial=0) + 1 + np.arange(gone.size)])
    pairs = _numbered(list(rows.T))
    sizes = _sizes(pairs, who)
    short = sizes < k
    side = np.zeros(sizes.size, dtype=bool)
    side[pairs[(rows < 0).any(axis=1)]] = True
    because = "an intruder who puts both releases side by side sees these classes"
    if (short & side).any():
        because += "; some hold those who are in one of them only, whom subtraction leaves"
    return Finding(
        requirement="k-anonymity",
        subject=f"k-anonymity joined with {name}",
        value=float(sizes.min()),
        limit=float(k),
        met=not bool(short.any()),
        at_least=True,
        broken=int(short.sum()),
        of=int(sizes.size),
        detail={"records_in_broken_classes": int(sizes[short].sum()), "because": because},
    )


def _coarsened(
    draft: Draft, before: np.ndarray, units: np.ndarray, k: int
) -> tuple[Draft, list[str]]:
    """Classes joined until every pair of classes has k people, at the least loss found."""
    masked = draft.pair.masked
    classes = equivalence_classes(masked)
    groups = Joining(masked, draft.pair.original, classes.first)
    now = classes.labels
    while joins := _round(groups, before, now, units, k):
        becomes = np.arange(now.max() + 1)
        for one, other in joins:
            groups.join(one, other)
            becomes[one] = other
        now = becomes[now]
    if np.array_equal(now, classes.labels):
        return draft, []
    partition = Partition.of(now)
    names = masked.schema.quasi
    outcome = Generalize().apply(masked, partition, names, np.random.default_rng(0))
    pair = Pair(draft.pair.original, outcome.table, draft.pair.rows)
    note = (
        "classes were joined after the last step, so that the release stands beside earlier ones; "
        "the figures of the steps are those before"
    )
    return replace(draft, pair=pair, partition=partition), [note]


def _round(
    groups: Joining, before: np.ndarray, now: np.ndarray, units: np.ndarray, k: int
) -> list[tuple[int, int]]:
    """Pairs of classes to join at once: no class is in two of them."""
    pairs = _numbered([before, now])
    sizes = _sizes(pairs, units)
    _, first = np.unique(pairs, return_index=True)
    order = np.argsort(before, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(before))))
    joins: list[tuple[int, int]] = []
    touched: set[int] = set()
    for row in first[sizes < k].tolist():
        one, at = int(now[row]), int(before[row])
        if one in touched:
            continue
        # Only classes with people of the same earlier class make this pair larger.
        others: list[Any] = np.unique(now[order[starts[at] : starts[at + 1]]]).tolist()
        partner = groups.cheapest(one, [o for o in others if o not in touched])
        if partner is not None:
            joins.append((one, partner))
            touched |= {one, partner}
    return joins


MOST_PARTNERS = 64
"""Classes that are compared before two are joined; more would take too long."""


class Joining:
    """Classes by the row that each begins with; labels are read by the original's posets."""

    def __init__(self, masked: Table, original: Table, first: np.ndarray) -> None:
        names = masked.schema.quasi
        self._readers = [Labels.of(original, name) for name in names]
        rows = pl.Series(first)
        shown = [
            masked[name].cast(pl.String, strict=False).gather(rows).to_list() for name in names
        ]
        self._labels: list[list[Any]] = [list(one) for one in zip(*shown, strict=True)]

    def cheapest(self, one: int, others: Sequence[int]) -> int | None:
        """The class that joining `one` with costs least."""
        candidates = [other for other in others if other != one][:MOST_PARTNERS]
        return min(candidates, key=lambda other: self._cost(one, other), default=None)

    def _joined(self, j: int, a: Any, b: Any) -> Any:
        if a == b:
            return a
        if SUPPRESSED in (a, b):
            return SUPPRESSED
        if a is None or b is None:
            return or_missing(a or b)
        try:
            return self._readers[j].poset(b if says_missing(b) else a).lub([a, b])
        except ValueError:
            return SUPPRESSED

    def _cost(self, one: int, other: int) -> float:
        total = 0.0
        for j, (a, b) in enumerate(zip(self._labels[one], self._labels[other], strict=True)):
            label = self._joined(j, a, b)
            if label is not None:
                total += 1.0 if label == SUPPRESSED else self._readers[j].measure(label)
        return total

    def join(self, one: int, other: int) -> None:
        """`other` becomes what the two have in common."""
        pairs = zip(self._labels[one], self._labels[other], strict=True)
        self._labels[other] = [self._joined(j, a, b) for j, (a, b) in enumerate(pairs)]
