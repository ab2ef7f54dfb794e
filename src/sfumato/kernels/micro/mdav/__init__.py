"""MDAV: maximum distance to average vector."""

from __future__ import annotations

from ._lanes import lowest_lane as lowest_lane
from ._search import add_up as add_up
from ._search import mdav as mdav
