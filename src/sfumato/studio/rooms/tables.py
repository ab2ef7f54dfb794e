"""The room Tables."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room(
    "tables",
    "Tables",
    "Tables with totals: what is hidden, and what an attacker can work out.",
    _page,
)
