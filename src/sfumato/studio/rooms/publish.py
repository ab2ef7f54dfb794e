"""The room Publish."""

from __future__ import annotations

from ...release.report.parts import Markup, tag
from ..asked import Asked, Room


def _page(asked: Asked) -> Markup:
    return tag("p", "")


ROOM = Room("publish", "Publish", "What the public will see, and what is written where.", _page)
