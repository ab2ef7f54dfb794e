"""The room Utility."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("utility", "Utility", "What the release still says.", _page)
