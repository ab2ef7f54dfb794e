"""One column with the cuts that are made in it, for its owner: he sees what falls between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .figures import (
    _DOT,
    _FAINT,
    _LETTER,
    BEFORE,
    CHANCE,
    Chart,
    _mark,
    _rect,
    _rule,
    _short,
    _text,
    _ticks,
)
from .figures import ticks as round_ticks

_WIDE, _HIGH, _HEAD = 620.0, 150.0, 22.0
_MOST_LABELS = 40


def cuts_chart(
    edges: np.ndarray,
    counts: np.ndarray,
    cuts: Sequence[tuple[float, int]],
) -> Chart:
    """Bars of how many records there are, and a line for each cut: the more levels it is kept up
    to, the bolder."""
    low, high = float(edges[0]), float(edges[-1])
    span = (high - low) or 1.0
    top = float(counts.max(initial=0.0)) or 1.0
    marks = []
    for tick in round_ticks(0.0, top, 3):
        y = _HEAD + _HIGH * (1 - tick / top)
        marks.append(_rule(0, y, _WIDE, y, _FAINT))
        marks.append(_text(f"{tick:,.10g}", -5, y + 4, 11, "end"))
    for i, many in enumerate(counts.tolist()):
        left, right = (_WIDE * (float(e) - low) / span for e in edges[i : i + 2])
        tall = _HIGH * many / top
        marks.append(_rect(left, _HEAD + _HIGH - tall, max(right - left - 0.5, 0.5), tall, BEFORE))
    bottom = _HEAD + _HIGH
    marks.append(_rule(0, bottom, _WIDE, bottom, _DOT))
    for place, label in _ticks(low, high):
        at = _WIDE * (place - low) / span
        marks.append(_rule(at, bottom, at, bottom + 4, _DOT))
        marks.append(_text(label, at, bottom + 16, 11, "middle"))
    marks += _lines(cuts, low, span)
    return Chart(tuple(marks), _WIDE, bottom, 52, 22)


def _lines(cuts: Sequence[tuple[float, int]], low: float, span: float) -> list[str]:
    """The cuts, those of most levels labelled first; labels that would touch are left out."""
    marks: list[str] = []
    taken: list[tuple[float, float]] = []
    highest = max((kept for _, kept in cuts), default=1)
    for cut, kept in sorted(cuts, key=lambda one: -one[1]):
        x = _WIDE * (cut - low) / span
        if not 0 <= x <= _WIDE:
            continue
        dash = "none" if kept == highest else "5 3" if kept == highest - 1 else "2 3"
        marks.append(
            _mark(
                "line", x1=x, y1=_HEAD - 4, x2=x, y2=_HEAD + _HIGH, stroke=CHANCE,
                stroke_width=min(1.0 + 0.75 * (kept - 1), 3.0), stroke_dasharray=dash,
            )
        )  # fmt: skip
        label = _short(cut) if abs(cut) < 1e6 else f"{cut:.4g}"
        half = 0.5 * _LETTER * 11 * len(label) + 3
        if len(taken) < _MOST_LABELS and all(x + half < a or x - half > b for a, b in taken):
            taken.append((x - half, x + half))
            marks.append(_text(label, x, _HEAD - 8, 11, "middle"))
    return marks
