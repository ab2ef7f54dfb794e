"""The room Explore."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("explore", "Explore", "What else could be done, and what each way costs.", _page)
