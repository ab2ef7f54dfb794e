"""What the narrowest label of a group needs: values of which somebody in the group holds one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ...data.generalized.label_places import Labels
from ...data.schema import NUMERIC, SUPPRESSED
from ...errors import MeasureError
from ...kernels.coverage.tight_labels import Terms, terms
from ...poset.values.text import without_missing
from ..field import Field
from .hidden import guessable, medians


class Needs:
    """The needs of the labels of one column."""

    def __init__(self, field: Field, j: int) -> None:
        self.field, self.j, self.name = field, j, field.names[j]
        self.reader = Labels.of(field.pair.original, self.name)
        self.bins = field.coded().bins[j]
        self.spread = guessable(self.bins.spread)
        self._found: dict[int, tuple[np.ndarray, Terms]] = {}

    def of(self, record: int) -> tuple[np.ndarray, Terms]:
        """The bins that a released record's cell may be, and what its label needs of them."""
        place = int(self.bins.after[record])
        if place not in self._found:
            row = self.spread[place]
            bins = np.sort(row.indices).astype(np.int64)
            label = self.field.pair.masked[self.name][record]
            needs = [need for need in self._needs(str(label), bins) if need.any()]
            found = np.array(needs, dtype=bool).reshape(len(needs), bins.size)
            self._found[place] = bins, terms(found)
        return self._found[place]

    def _needs(self, label: str, bins: np.ndarray) -> Iterator[np.ndarray]:
        """Masks over the bins; none where the label cannot be read, or is that of anything."""
        missing = bins == self.bins.count - 1
        base, _ = without_missing(label)
        if label == SUPPRESSED or base == SUPPRESSED:
            return
        try:
            structure = self.reader.poset(base).structure
        except MeasureError:
            return
        if structure.sets is not None:
            for at in np.flatnonzero(~missing).tolist():
                yield np.arange(bins.size) == at
        elif structure.tree is not None:
            yield from self._children(structure.tree, base, bins)
        elif structure.line is not None:
            yield from self._ends(base, bins, missing)

    def _children(self, tree: Any, label: str, bins: np.ndarray) -> Iterator[np.ndarray]:
        """Somebody is outside each child: else its label had been enough."""
        node = tree.node(label)
        for child in tree.child_idx[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist():
            if tree.shown[child] != child:  # the group's own value, shown as the group
                continue
            covered = self.reader.covered(tree.label_of_node[child])
            if covered is not None:
                own = self._bin_of[covered]
                yield ~np.isin(bins, own[own >= 0])

    def _ends(self, label: str, bins: np.ndarray, missing: np.ndarray) -> Iterator[np.ndarray]:
        """Somebody is at each end, or as near as rounding leaves it."""
        source, places = self.reader.column.poset, np.flatnonzero(~missing)
        step = None if source is None else source.interval_step
        if not step:
            for at in places[[0, -1]].tolist():
                yield np.arange(bins.size) == at
            return
        ends = self.reader.range(label)
        if ends is None or self.reader.column.kind not in NUMERIC:
            return
        low, high = self.reader.position(ends.low), self.reader.position(ends.high)
        lies = medians(self.field, self.j)[bins]
        with np.errstate(invalid="ignore"):
            yield lies < low + step
            yield lies > high - step

    @cached_property
    def _bin_of(self) -> np.ndarray:
        """int64: the bin of each of the original's values, -1 where no attacked person has it."""
        coded = self.field.coded()
        codes = np.concatenate((coded.inside[:, self.j], coded.outside[:, self.j]))
        known = dict(zip(self.field.people[self.name].to_list(), codes.tolist(), strict=True))
        return np.array([known.get(one, -1) for one in self.reader.domain.to_list()], dtype=int)
