"""Findings on the parts of a release, each class whole in one of them, made one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from ..data.schema import Kind, Schema
from ..protocols import Criterion, Finding

_LEAST = (
    *("k", "k_records", "k_category", "with_missing", "without_missing"),
    *("different_values", "different_categories"),
)
_MOST = ("largest_share",)
_ADDED = (
    *("classes", "records", "records_in_broken_classes", "classes_that_lack_a_value"),
    "cells_missing_or_suppressed",
)
_MEAN = "mean"
"""Over records."""
_HOW: Mapping[str, Callable[[list[Any]], Any]] = {
    **dict.fromkeys(_LEAST, min),
    **dict.fromkeys(_MOST, max),
    **dict.fromkeys(_ADDED, sum),
}


def joined(findings: Sequence[Finding], records: Sequence[int]) -> Finding:
    """What counting all classes at once would have found: of several limits the first that is
    broken anywhere is told, and of its figures the worst."""
    part = min((one.part for one in findings if not one.met), default=0)
    told = [one for one in findings if one.part == part]
    worst = min(told, key=lambda one: one.value if one.at_least else -one.value)
    return replace(
        worst,
        met=all(one.met for one in findings),
        broken=sum(one.broken for one in findings),
        of=sum(one.of for one in findings),
        detail=_details(findings, records),
    )


def _details(findings: Sequence[Finding], records: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in findings for name in one.detail):
        said = [one.detail[name] for one in findings if name in one.detail]
        if name == _MEAN:
            found[name] = mean(said, records)
        else:
            found[name] = _HOW[name](said) if name in _HOW else said[0]
    return found


def mean(values: Sequence[float], records: Sequence[int]) -> float:
    """The mean of parts that hold so many records each."""
    whole = fsum(value * many for value, many in zip(values, records, strict=True))
    return whole / max(sum(records), 1)


def gap_of_sets(criterion: Criterion, schema: Schema) -> str:
    """Why a criterion on values cannot be counted on parts: of sets, what is counted are items, and
    their counts in the whole are not handed over."""
    named = str(criterion.parameters().get("column", ""))
    names = [named] if named in schema else schema.confidential
    sets = [name for name in names if schema[name].kind == Kind.SET]
    if not sets:
        return ""
    return f"{criterion.name} of the sets of {sets[0]!r} is counted on a table in memory only"
