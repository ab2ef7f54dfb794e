"""One measurement in words, with all that is known of it: for its owner."""

from __future__ import annotations

from typing import Any

from ...protocols import Measurement
from .parts import clipped, plain
from .words import baseline_words, figure, said, words

_HIDDEN = ("says", "baseline", "interval", "because")
"""Details that are told elsewhere."""
_MOST = 40


def told(m: Measurement) -> dict[str, Any]:
    """Title, value and what it is compared with, as texts; `detail` are pairs of what and words."""
    known = words(m.name)
    span = ""
    if m.interval is not None:
        span = " to ".join(figure(m.name, end) for end in m.interval)
        what = clipped(m.detail.get("interval", ""), 80)
        span += f" ({what})" if what else ""
    base = ""
    if m.baseline is not None:
        base = f"{figure(m.name, m.baseline)} ({baseline_words(m)})"
    detail = [(_words(key), plain(value)) for key, value in m.detail.items() if key not in _HIDDEN]
    private = [
        (_words(k), plain(v)) for k, v in m.private.items() if k not in (*_HIDDEN, "measurements")
    ]
    return {
        "name": m.name,
        "title": known.title,
        "meaning": known.meaning,
        "value": figure(m.name, m.value),
        "range": span,
        "baseline": base,
        "better": f"when {m.direction}",
        "says": [
            clipped(one, 400) for one in (*said(m, owner=True), m.detail.get("because", "")) if one
        ],
        "detail": detail[:_MOST],
        "private": private[:_MOST],
    }


def _words(key: Any) -> str:
    return clipped(str(key).replace("_", " "), 60)
