"""Resampling as the slide describes it: draw, sort, average, put in place by rank."""

from __future__ import annotations

from collections.abc import Sequence


def averages(values: Sequence[float], samples: Sequence[Sequence[int]]) -> list[float]:
    """The averaged order statistics of the samples, given as places among the sorted values."""
    ordered = sorted(values)
    drawn = [sorted(ordered[i] for i in picks) for picks in samples]
    return [sum(sample[j] for sample in drawn) / len(drawn) for j in range(len(values))]


def by_rank(values: Sequence[float], replacements: Sequence[float]) -> list[float]:
    """For distinct values: the j-th smallest becomes the j-th replacement."""
    place = {value: j for j, value in enumerate(sorted(values))}
    return [replacements[place[value]] for value in values]
