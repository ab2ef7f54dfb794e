"""The room Protect."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("protect", "Protect", "What must hold, and what is done to the records.", _page)
