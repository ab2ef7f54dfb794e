"""One-to-one record linkage: both files are matched as a whole.

An intruder who knows that every masked record belongs to one person, and each person has but one,
links the files so that no masked record is used twice and the links are as close as possible in
sum. Where many records share a nearest one, this finds more than linking each by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.linkage.linked import Credit, facts_of
from ...data.linkage.linking import drawn
from ...kernels.neighbours.cross_distances import cross_distances, least_few, nearest_few
from ...protocols import Context, Measurement
from .assignment import assigned, look_alikes, mixed, shared_credit
from .base import LinkageMeasure
from .dbrl import link
from .distances import MEANINGS, Distance, Files, Points
from .open_file import OpenFile, said

_EXACT = 1_500
"""Records of the larger file up to which every pair is a candidate."""
_PAIRS = 2_500_000_000
"""Pairs whose distances may be taken."""
_ASSIGNMENT = "the best assignment"


class AssignmentLinkage(LinkageMeasure):
    """Share of originals linked to their own masked record by the best one-to-one assignment.

    The sum of the squared distances is made as small as can be while no masked record is linked
    twice. Masked records that look alike cannot be told apart: a link to one of t counts 1/t if
    the own record is among them. Among assignments of the same sum one is drawn, without regard to
    the order of the files. The baseline is a masked record guessed at random.

    Up to 1,500 records every pair is a candidate. Above, only each record's nearest `candidates` of
    the other file are, in both directions; a record whose candidates are all taken stays without a
    link, and `detail` counts them.

    Of more than `sample` originals that many are drawn (fewer where the masked file is so large
    that there would be more than 2.5 thousand million pairs) and matched to the whole masked file.
    Those who are not drawn claim no masked record, so that the figure is near that of linking each
    by itself; an intruder who matches all of them may find more.

    Labels, sets and suppressed cells are taken as by `record-linkage`: a link to a record that fits
    costs less than any other. Where linking each by itself finds more, that is the figure, and
    `detail["intruder"]` says which it is.

    `detail["naive"]` is what linking each of the same originals by itself to the whole masked file
    finds, and `detail["gain"]` what the assignment adds.
    """

    name: ClassVar[str] = "assignment-linkage"
    paper: ClassVar[str] = (
        "Jaro (1989), Advances in record-linkage methodology as applied to matching the 1985 "
        "census of Tampa, Florida, JASA 84; Herzog, Scheuren & Winkler (2007), Data quality and "
        "record linkage techniques"
    )

    distance: Distance = Field("standardized", description=MEANINGS)
    candidates: int = Field(
        20, ge=1, le=1000, description="nearest records considered in larger files"
    )
    sample: int = Field(
        10_000, ge=2, le=50_000, description="originals to match at most, drawn at random"
    )

    def measure(self, context: Context) -> Measurement:
        files = Files(context.pair, self.columns, self.distance, self.name)
        n, m = context.pair.original.height, context.pair.masked.height
        points = files.points(files.names)
        most = max(1, min(files.most(self.sample), _PAIRS // m))
        mine = drawn(n, most, context.rng)
        chosen, candidates = self._assign(files, points, mine, context.rng)
        alike = None if points.open is None else points.open.classes.labels
        credit = shared_credit(
            chosen,
            files.own[mine],
            look_alikes(files.x[mine], points.codes_a[mine]),
            look_alikes(files.y, points.codes_b) if alike is None else alike,
        )
        naive = link(points, files.own, mine)
        found = Credit(credit, int((credit == 1.0).sum()), int((credit > 0).sum()))
        intruder = _ASSIGNMENT
        if points.open is not None and naive.credit.value > found.value:
            # Whoever has a class to pick from, or a record that fits, need not assign any.
            found, intruder = naive.credit, naive.intruder
        detail: dict[str, Any] = {
            "naive": naive.credit.value,
            "gain": found.value - naive.credit.value,
            **said([intruder] if points.open else []),
            "distance": self.distance,
            "columns": files.names,
            **facts_of(context.pair, files.own, files.left_out),
            "candidates": candidates,
            "unlinked": int((chosen < 0).sum()),
            **points.place.idle,
        }
        if sampled := mine.size < n:
            detail["limits"] = "originals that were not drawn claim no masked record"
        interval = found.interval(sampled)
        return self.linked(context, files.own, mine, found.records, interval, detail)

    def _assign(
        self, files: Files, points: Points, mine: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, str | int]:
        """For each of these originals the masked record that it is linked to, -1 for none."""
        # What decides between equal sums is neither the order of the files, which may be the truth,
        # nor can it depend on it.
        one = mixed(files.x[mine], points.codes_a[mine], rng)
        two = mixed(files.y, points.codes_b, rng)
        a, ca = points.a[mine][one], points.codes_a[mine][one]
        b, cb = points.b[two], points.codes_b[two]
        open_costs = _open_costs(points.open, mine[one], a, two) if points.open else None
        chosen = np.full(mine.size, -1, dtype=np.int64)
        if max(mine.size, two.size) <= _EXACT:
            from scipy.optimize import linear_sum_assignment

            every = open_costs(0, len(a)) if open_costs else cross_distances(a, b, ca, cb)
            rows, columns = linear_sum_assignment(every)
            chosen[one[rows]] = two[columns]
            return chosen, "every pair"
        whole = mine.size == files.own.size
        if open_costs:
            there, far, back, farther = least_few(open_costs, len(a), len(b), self.candidates)
        else:
            there, far = nearest_few(a, b, ca, cb, self.candidates)
            if whole:
                back, farther = nearest_few(b, a, cb, ca, self.candidates)
        first, second = np.repeat(np.arange(len(a)), there.shape[1]), there.ravel()
        cost = far.ravel()
        if whole:
            # Where all compete, a masked record that is few people's own nearest is somebody's.
            first = np.concatenate([first, back.ravel()])
            second = np.concatenate([second, np.repeat(np.arange(len(b)), back.shape[1])])
            _, kept = np.unique(first * np.int64(len(b)) + second, return_index=True)
            cost = np.concatenate([cost, farther.ravel()])[kept]
            first, second = first[kept], second[kept]
        found = assigned(
            first,
            second,
            -cost,
            len(a),
            len(b),
            # Dearer than any link, so that only those stay alone whose candidates are taken.
            unlinked=-(4.0 * cost.max(initial=0.0) + 1.0),
        )
        chosen[one] = np.where(found >= 0, two[found], -1)
        return chosen, self.candidates


def _open_costs(
    file: OpenFile, rows: np.ndarray, x: np.ndarray, two: np.ndarray
) -> Callable[[int, int], np.ndarray]:
    """What it costs to link some of these originals to each masked record: little where it fits."""
    compared, member = file.compared(file.pair.original, rows, x), file.classes.labels[two]
    return lambda low, high: compared.costs(low, high)[:, member]
