"""One-to-one record linkage: both files are matched as a whole.

An intruder who knows that every masked record belongs to one person, and each person has but one,
links the files so that no masked record is used twice and the links are as close as possible in
sum. Where many records share a nearest one, this finds more than linking each by itself.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..data.linking import drawn
from ..kernels.blocks import distinct_rows
from ..kernels.cross_distances import cross_distances, nearest_few
from ..protocols import Context, Measure, Measurement
from .assignment import assigned
from .dbrl import link
from .distances import MEANINGS, Distance, Files, Points

_EXACT = 1_500
"""Records of the larger file up to which every pair is a candidate."""


class AssignmentLinkage(Measure):
    """Share of originals linked to their own masked record by the best one-to-one assignment.

    The sum of the squared distances is made as small as can be while no masked record is linked
    twice. Masked records that look alike cannot be told apart: a link to one of t counts 1/t if
    the own record is among them. Among assignments of the same sum one is drawn, without regard to
    the order of the files. The baseline is a masked record guessed at random.

    Up to 1,500 records every pair is a candidate. Above, only each record's nearest `candidates` of
    the other file are, in both directions; a record whose candidates are all taken stays without a
    link, and `detail` counts them. Files of more than `sample` records are matched in part: that
    many pairs of an original and its masked record are drawn. Fewer rivals make links easier, so
    the figure is then too high rather than too low.

    `detail["naive"]` is what linking each record by itself finds among the same records, and
    `detail["gain"]` what the assignment adds.
    """

    name: ClassVar[str] = "assignment-linkage"
    paper: ClassVar[str] = (
        "Jaro (1989), Advances in record-linkage methodology as applied to matching the 1985 "
        "census of Tampa, Florida, JASA 84; Herzog, Scheuren & Winkler (2007), Data quality and "
        "record linkage techniques"
    )
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs_alignment: ClassVar[bool] = True
    usual: ClassVar[bool] = False
    unit: ClassVar[str] = "%"

    columns: Annotated[
        tuple[str, ...],
        Field(description="columns that the intruder knows; the quasi-identifiers unless given"),
    ] = ()
    distance: Annotated[Distance, Field(description=MEANINGS)] = "standardized"
    candidates: Annotated[
        int, Field(ge=1, le=1000, description="nearest records considered in larger files")
    ] = 20
    sample: Annotated[
        int, Field(ge=2, le=50_000, description="records to match at most, drawn at random")
    ] = 10_000

    def measure(self, context: Context) -> Measurement:
        files = Files(context.pair, self.columns, self.distance, self.name)
        n, m = context.pair.original.height, context.pair.masked.height
        points = files.points(files.names)
        mine, theirs, own = _drawn(files.own, m, self.sample, context.rng)
        chosen, found = self._assign(points, mine, theirs, context.rng)
        # Masked records that look alike share a label.
        shown = np.where(np.isnan(files.y), np.nan, files.y + 0.0)[theirs]
        _, alike = distinct_rows(
            np.ascontiguousarray(shown).view(np.int64), np.ascontiguousarray(points.codes_b[theirs])
        )
        copies = np.bincount(alike)[alike]
        linked, released = chosen >= 0, own >= 0
        right = np.zeros(mine.size, dtype=bool)
        both = linked & released
        right[both] = alike[chosen[both]] == alike[own[both]]
        credit = np.where(right, 1.0 / copies[np.where(released, own, 0)], 0.0)
        whole = mine.size == n and theirs.size == m
        naive = link(points, files.own, mine) if whole else link(_part(points, mine, theirs), own)
        detail: dict[str, Any] = {
            "naive": float(naive.credit.mean()),
            "gain": float(credit.mean() - naive.credit.mean()),
            "distance": self.distance,
            "columns": files.names,
            "records": n,
            "masked_records": m,
            "candidates": found,
            "unlinked": int((~linked).sum()),
            "baseline": "a masked record guessed at random",
            "interval": "from every tie lost to every tie won",
            **points.place.idle,
        }
        if files.left_out:
            detail["left_out"] = files.left_out
        if gone := int((files.own < 0).sum()):
            detail["records_not_released"] = gone
        if not whole:
            detail["sample"] = int(mine.size)
            detail["limits"] = "matched in part: with fewer rivals links are easier to find"
        alone = right & (credit == 1.0)
        per_record = np.full(n, np.nan)
        per_record[mine] = credit
        return self.result(
            credit.mean(),
            interval=(float(alone.mean()), float(right.mean())),
            baseline=float(released.mean() / theirs.size),
            per_record=per_record,
            per_record_of="original",
            detail=detail,
        )

    def _assign(
        self, points: Points, mine: np.ndarray, theirs: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, str | int]:
        """For each of these originals the place in `theirs` of its link, -1 for none."""
        # By content first, then at random: what decides between equal sums is neither the order of
        # the files, which may be the truth, nor can it depend on it.
        one = _by_content(points.a[mine], points.codes_a[mine])[rng.permutation(mine.size)]
        two = _by_content(points.b[theirs], points.codes_b[theirs])[rng.permutation(theirs.size)]
        a, ca = points.a[mine][one], points.codes_a[mine][one]
        b, cb = points.b[theirs][two], points.codes_b[theirs][two]
        chosen = np.full(mine.size, -1, dtype=np.int64)
        if max(mine.size, theirs.size) <= _EXACT:
            from scipy.optimize import linear_sum_assignment

            rows, columns = linear_sum_assignment(cross_distances(a, b, ca, cb))
            chosen[one[rows]] = two[columns]
            return chosen, "every pair"
        there, far = nearest_few(a, b, ca, cb, self.candidates)
        back, farther = nearest_few(b, a, cb, ca, self.candidates)
        first = np.concatenate([np.repeat(np.arange(a.shape[0]), there.shape[1]), back.ravel()])
        second = np.concatenate([there.ravel(), np.repeat(np.arange(b.shape[0]), back.shape[1])])
        _, kept = np.unique(first * np.int64(b.shape[0]) + second, return_index=True)
        cost = np.concatenate([far.ravel(), farther.ravel()])[kept]
        found = assigned(
            first[kept],
            second[kept],
            -cost,
            a.shape[0],
            b.shape[0],
            # Dearer than any link, so that only those stay alone whose candidates are taken.
            unlinked=-(4.0 * cost.max(initial=0.0) + 1.0),
        )
        chosen[one] = np.where(found >= 0, two[found], -1)
        return chosen, self.candidates


def _drawn(
    own: np.ndarray, m: int, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Originals and masked records to match, and the place of each one's own among the latter."""
    n = own.size
    if max(n, m) <= size:
        return np.arange(n), np.arange(m), own
    mine = drawn(n, max(1, size * n // max(n, m)), rng)
    linked = own[mine][own[mine] >= 0]
    others = np.setdiff1d(np.arange(m), own[own >= 0])
    # Masked records that stem from nobody stay in the same proportion.
    if others.size:
        others = others[drawn(others.size, max(1, size * others.size // max(n, m)), rng)]
    theirs = np.sort(np.concatenate([linked, others]))
    place = np.full(m + 1, -1, dtype=np.int64)
    place[theirs] = np.arange(theirs.size)
    return mine, theirs, place[own[mine]]


def _part(points: Points, mine: np.ndarray, theirs: np.ndarray) -> Points:
    return Points(
        a=points.a[mine],
        b=points.b[theirs],
        codes_a=points.codes_a[mine],
        codes_b=points.codes_b[theirs],
        numbers=points.numbers,
        categories=points.categories,
        place=points.place,
    )


def _by_content(x: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The rows, ordered by what they hold."""
    keys = [*codes.T, *x.T]
    return np.lexsort(keys) if keys else np.arange(len(x))
