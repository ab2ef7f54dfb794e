"""Figures of a release larger than memory: counted on all records where counts tell them, else on a
sample of records, whose size is said with each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...data.pair import Pair
from ...data.partition import SUPPRESSED_LABEL, Partition
from ...engines.counts import Counts
from ...engines.relation import Relation
from ...engines.sampled import sampled_pair
from ...errors import MeasureError
from ...measurement import SAMPLED
from ...protocols import Measure, Measurement
from ...risk.exposure.exposure import Exposure
from ...risk.exposure.scale import exposure_at_scale
from ...rng import Key, stream
from ..plan.requirement import EXPOSURE
from ..records.evidence import Measuring
from .gaps import NOT_OF_A_SAMPLE, of_a_sample
from .shown import shown

SAMPLE = 50_000
"""Records that figures are taken of where not all records can be looked at."""


def sample_of(original: Relation, masked: Relation, seed: int) -> Pair:
    """Some originals, and what became of them."""
    return sampled_pair(original, masked, Key.of_seed(seed).of("sample"), SAMPLE)


@dataclass(frozen=True, eq=False)
class OnSample(Measuring):
    """Takes measures of a sample, but none that would be wrong there."""

    def measured(self, measure: Measure, pair: Pair) -> Measurement:
        if measure.name == EXPOSURE or not of_a_sample(measure):
            raise MeasureError(f"it {NOT_OF_A_SAMPLE}")
        found = super().measured(measure, pair)
        return replace(found, detail={**found.detail, SAMPLED: pair.original.height})


@dataclass(frozen=True, eq=False)
class OnAll(OnSample):
    """Takes measures of all records, by counts; the others of the sample."""

    original: Relation | None = None
    masked: Relation | None = None

    @cached_property
    def _counts(self) -> Counts:
        assert self.original is not None
        assert self.masked is not None
        return Counts(self.original, self.masked)

    def measured(self, measure: Measure, pair: Pair) -> Measurement:
        assert self.original is not None
        assert self.masked is not None
        if isinstance(measure, Exposure):
            key = Key.of_seed(self.seed).of("exposure")
            rng = stream(self.seed, 0, f"measure/{measure.name}")
            return exposure_at_scale(measure, self.original, self.masked, key, rng, self.mechanism)
        if measure.by_counts:
            return measure.from_counts(self._counts)
        return super().measured(measure, pair)

    def public(self) -> OnShown:
        """What takes the figures that everybody may see."""
        assert self.original is not None
        seen = shown(self._counts)
        # Nothing that was taken before is handed on: it would be the owner's figure of all records.
        return OnShown(
            self.seed, self.partition, None, self.mechanism,
            original=seen, masked=self.masked, same=seen is self.original,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnShown(OnAll):
    """Takes measures of the original as the release lets anyone see it, of all records or of the
    sample. Without it all are of the sample, and so are those that one record far out can move:
    they are rounded by how far out the records of the sample lie."""

    same: bool = False
    """Whether nothing is hidden of any record."""

    def _of_all(self, measure: Measure) -> bool:
        return (measure.by_counts or measure.name == EXPOSURE) and not measure.squares

    def tells(self, measure: Measure, hides: bool) -> bool:
        if self._of_all(measure):
            return self.same
        return not (hides or measure.by_counts)

    def measured(self, measure: Measure, pair: Pair) -> Measurement:
        if self.original is not None and self._of_all(measure):
            return super().measured(measure, pair)
        return OnSample.measured(self, measure, pair)


def no_groups(pair: Pair) -> Partition:
    """Of perturbed records: none is in a group."""
    return Partition(np.full(pair.masked.height, SUPPRESSED_LABEL, dtype=np.int64))
