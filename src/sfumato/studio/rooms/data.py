"""The room Data."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("data", "Data", "What each column is, and who may know it.", _page)
