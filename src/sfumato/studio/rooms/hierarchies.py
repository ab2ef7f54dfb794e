"""The room Hierarchies."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("hierarchies", "Hierarchies", "How values become coarser, level by level.", _page)
