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
from ...protocols import Measure, Measurement
from ...risk.exposure.exposure import Exposure
from ...risk.exposure.scale import exposure_at_scale
from ...rng import Key, stream
from ..plan.requirement import EXPOSURE
from ..records.evidence import Measuring
from ..report.words import SAMPLED
from .gaps import NOT_OF_A_SAMPLE, of_a_sample

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

    @property
    def public(self) -> Measuring:
        """What takes the figures that everybody may see, of the sample as the release shows it."""
        return OnSample(self.seed, self.partition, None, self.mechanism)


def no_groups(pair: Pair) -> Partition:
    """Of perturbed records: none is in a group."""
    return Partition(np.full(pair.masked.height, SUPPRESSED_LABEL, dtype=np.int64))
