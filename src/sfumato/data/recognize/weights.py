"""Sampling weights: by names that the values allow, by their mean, and which of several counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..schema import Kind
from .found import Found
from .view import ENOUGH, View

_FIRST = ("final", "pw", "person", "fnl", "samp", "survey")
_BRIEF = re.compile(r"^w\d*$|(^|_)w_")
_OF_BODIES = re.compile(r"birth|body|_(kg|lbs?|grams?)$|korper|koerper|geburt|naiss|nacer|nascita")
_BARE = (
    *("weight", "wt", "gewicht", "peso", "poids", "waga", "body_weight", "korpergewicht", "vikt"),
    *("vaegt", "vekt", "вес", "vaha", "gew"),
)
_LIGHT, _HEAVY = 35.0, 100.0
_FEW = 5
_POPULATION = 10
"""The mean from which on weights add up to a population far larger than the table."""
_NORMED, _LARGEST = 0.002, 50
_DISTINCT = "nearly every record has its own, so that whoever knows it finds the person: round it"


def is_weight(view: View) -> bool:
    """Whether numbers under a name for weights can be such: positive, and no body's weight."""
    if not len(view.numbers) or view.kind == Kind.BOOLEAN or view.range[0] < 0:
        return False
    if _BRIEF.search(view.plain) and not _weighs(view):
        return False
    return view.distinct > 2 and not view.named(_OF_BODIES) and not _is_body(view)


def _weighs(view: View) -> bool:
    """Whether positive numbers of many values have a mean near one, or add up to a population."""
    if len(view.numbers) < ENOUGH or view.range[0] <= 0 or view.distinct <= _FEW:
        return False
    mean = float(view.numbers.mean())
    return view.column.kind == Kind.CONTINUOUS and (0.8 <= mean <= 1.25 or mean >= _POPULATION)


def is_normed(view: View) -> bool:
    """Whether numbers that no name explains have just the mean one, as weights are made to have."""
    if len(view.numbers) < 5 * ENOUGH or view.range[0] <= 0 or view.spread < 0.1:
        return False
    return abs(float(view.numbers.mean()) - 1) < _NORMED and view.range[1] < _LARGEST


def _is_body(view: View) -> bool:
    """Whether numbers under a bare word for weight look like kilograms (or pounds) of people."""
    bare = view.plain.rstrip("0123456789_") in _BARE
    if not bare or len(view.numbers) < 3:
        return False
    low, middle, high = np.quantile(view.numbers, (0.1, 0.5, 0.9))
    scale = 2.2 if middle > 110 else 1.0
    return bool(_LIGHT <= middle / scale <= _HEAVY and 0.4 * middle < low and high < 1.8 * middle)


def weights(seen: Mapping[str, View], found: Mapping[str, Found]) -> dict[str, Found]:
    """One weight is chosen and names the others; what nobody shares is said to be a key."""
    listed = [one for one in found.values() if one.what == "weight"]
    if not listed:
        return {}

    def rank(one: Found) -> tuple[bool, float]:
        return not seen[one.column].plain.startswith(_FIRST), -one.confidence

    chosen = min(listed, key=rank).column
    others = ", ".join(one.column for one in listed if one.column != chosen)
    made = {}
    for one in listed:
        if one.column == chosen:
            why = f"{one.why}; others are {others}" if others else one.why
            sure = one.confidence
        else:
            why, sure = f"another weight beside {chosen}", 0.4
        why = f"{why}; {_DISTINCT}" if seen[one.column].unique else why
        made[one.column] = replace(one, why=why, confidence=sure)
    return made
