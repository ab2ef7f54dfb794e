"""The whole table: what columns tell about one another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from ..schema import Kind
from ..table import Table, kept_with
from .codes import stem
from .columns import judge
from .found import KNOWABLE, Found
from .places import is_grid, is_pair
from .relatives import come_back, households, names_beside, others
from .view import ENOUGH, View, sample, views
from .weights import weights

Finds = dict[str, Found]
_EAST = re.compile(r"(lo|lng|long|longi)(_|$)|[xyln]$")
_BATTERY, _UNNAMED = 4, 6
_STEPS = 11
_ANY_NAME = frozenset(("", "v", "var", "x", "c", "col", "column", "f", "field", "attr", "feature"))
_CERTAIN = 0.9
_DENSE, _PAIRS, _ROWS = 50_000, 2_000, 2_000


def recognize(table: Table) -> Finds:
    """What each column is found to be; columns for which nothing speaks are left out.

    It looks at a sample of 10,000 rows and at the whole of a column only where it counts how many
    different values it has; and once at a table, whoever asks.

    >>> from sfumato.data.table import table
    >>> found = recognize(table({"reach": ["ann@x.org", "bob@y.net"]}))["reach"]
    >>> found.what, found.item, found.why
    ('e-mail', 6, 'its values look like it')
    """
    # Roles and hierarchies say nothing of what a column holds.
    seen = tuple((one.name, one.kind, one.label, one.generalized) for one in table.schema)
    found: Finds = kept_with(table, ("recognized", seen), None, lambda: _found(table))
    return found


def _found(table: Table) -> Finds:
    seen = views(table)
    found = {name: one for name, view in seen.items() if (one := judge(view)) is not None}
    for look in (_coordinates, names_beside, others, households, come_back, _batteries, weights):
        found |= look(seen, found)
    return found


def _coordinates(seen: Mapping[str, View], found: Finds) -> Finds:
    """North beside east, in degrees or metres, which one column alone does not give away."""
    made: Finds = {}
    for one, other in pairwise(seen.values()):
        open_ = all(_is_open(found.get(v.name)) for v in (one, other))
        by_name = [v.name for v in (one, other) if _what(found, v) == "coordinate"]
        paired = open_ and (is_pair(one, other) or is_pair(other, one))
        # Metres of many people are all different, and look like codes.
        if paired or (not set(by_name) and _unnamed(found, one, other) and is_grid(one, other)):
            why = "beside its neighbour it looks like a coordinate"
            made |= {v.name: Found(v.name, "coordinate", why, 0.65) for v in (one, other)}
        elif len(by_name) == 1:
            rest = other if by_name[0] == one.name else one
            if _EAST.match(rest.plain) and len(rest.numbers):
                made[rest.name] = Found(rest.name, "coordinate", "it stands beside a latitude", 0.8)
    return made


def _unnamed(found: Finds, *both: View) -> bool:
    """Whether the names of columns say nothing about what they are."""
    return all(found[v.name].confidence <= 0.8 for v in both if v.name in found)


def _is_open(found: Found | None) -> bool:
    """Whether nothing has been found but how the values are spread."""
    return found is None or (found.what in ("measurement", "ordinal") and found.confidence < 0.7)


def _what(found: Finds, view: View) -> str:
    return found[view.name].what if view.name in found else ""


def _batteries(seen: Mapping[str, View], found: Finds) -> Finds:
    """Questions with the same few answers, by the numbers in their names or side by side.

    A trait that somebody numbered (race_1, race_2) is no opinion.
    """
    made: Finds = {}
    for group in (*_by_stem(seen), *_side_by_side(seen, found)):
        for view in group:
            if _what(found, view) not in KNOWABLE | {"trait"}:
                why = f"one of {len(group)} questions with the same answers"
                made[view.name] = Found(view.name, "likert", why, 0.8)
    return made


def _answers(view: View) -> frozenset[str]:
    """The few answers of a question, without numbers far above the others; none elsewhere."""
    if view.kind in (Kind.CONTINUOUS, Kind.DATE, Kind.SET) and not view.whole_numbers:
        return frozenset()
    if not 1 < view.distinct <= _STEPS:
        return frozenset()
    if not len(view.numbers):
        return frozenset(view.listed)
    levels = sorted({int(number) for number in view.numbers})
    while len(levels) > 2 and levels[-1] > levels[-2] + 1:
        levels.pop()  # 9 or 99 for "no answer"
    return frozenset(str(level) for level in levels if level >= 0)


def _by_stem(seen: Mapping[str, View]) -> list[list[View]]:
    """Columns named alike but for a number, with answers of one scale."""
    groups: dict[str, list[View]] = {}
    for view in seen.values():
        common = stem(view.plain)
        if common != view.plain and common not in _ANY_NAME and _answers(view):
            groups.setdefault(common, []).append(view)
    return [group for group in groups.values() if len(group) >= _BATTERY and _one_scale(group)]


def _one_scale(group: list[View]) -> bool:
    """Whether every question has at least half of all the answers."""
    answers = [_answers(view) for view in group]
    every = frozenset().union(*answers)
    return len(every) <= _STEPS and all(2 * len(one) >= len(every) for one in answers)


def _side_by_side(seen: Mapping[str, View], found: Finds) -> list[list[View]]:
    """Runs of columns with the same three answers or more, about which no name speaks."""
    runs: list[list[View]] = [[]]
    for view in seen.values():
        answers = _answers(view)
        if not _is_open(found.get(view.name)) or len(answers) < 3:
            runs.append([])
        elif runs[-1] and _answers(runs[-1][-1]) == answers:
            runs[-1].append(view)
        else:
            runs.append([view])
    return [run for run in runs if len(run) >= _UNNAMED]


def determined(
    table: Table, tellers: Sequence[str], told: Sequence[str]
) -> list[tuple[str, str, float]]:
    """Pairs of columns of which the first tells the second, and how often it is right.

    Among rows that share a value (at least five), the most frequent value of the other is right
    nine times in ten; between two tellers, the second must tell the first as well.
    """
    rows = sample(table)
    if len(tellers) * len(told) > _PAIRS:
        rows = rows.gather_every(max(1, rows.height // _ROWS))
    codes = {name: _codes(rows.get_column(name)) for name in dict.fromkeys((*tellers, *told))}
    made = []
    varied = [name for name in dict.fromkeys(told) if _varied(codes[name])]
    for first in (name for name in tellers if _repeats(codes[name])):
        for second in varied:
            if first == second:
                continue
            right = _guessed(codes[first], codes[second])
            if second in tellers and right >= _CERTAIN:
                right = min(right, _guessed(codes[second], codes[first]))
            if right >= _CERTAIN:
                made.append((first, second, right))
    return made


def _codes(series: pl.Series) -> np.ndarray:
    if isinstance(series.dtype, pl.List):
        return np.zeros(len(series), dtype=np.int64)
    return series.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()


def _repeats(codes: np.ndarray) -> bool:
    """Whether a column has several values that come back."""
    levels = len(np.unique(codes))
    return len(codes) >= 5 * ENOUGH and 4 <= levels <= len(codes) / 5


def _varied(codes: np.ndarray) -> bool:
    """Whether no value of a column is so frequent that anybody guesses it."""
    return bool(np.bincount(codes).max(initial=0) < 0.7 * len(codes))


def _guessed(first: np.ndarray, second: np.ndarray) -> float:
    """How often the most frequent partner is the right one, among values with enough records."""
    wide = int(second.max()) + 1
    cells = first * wide + second
    if (int(first.max()) + 1) * wide <= _DENSE:
        counts = np.bincount(cells, minlength=(int(first.max()) + 1) * wide).reshape(-1, wide)
        sizes, best = counts.sum(axis=1), counts.max(axis=1)
    else:
        held, counts = np.unique(cells, return_counts=True)
        groups = held // wide
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        sizes, best = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
    return float(np.where((sizes >= 5) & (best > 1), best, 0).sum() / max(1, len(first)))
