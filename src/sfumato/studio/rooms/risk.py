"""The room Risk."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("risk", "Risk", "Who is easiest to find, and what attacks got.", _page)
