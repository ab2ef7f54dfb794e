"""(k,1)-anonymity of sets: clusters and top-down growth."""

from __future__ import annotations

from ._cluster import k1_all as k1_all
from ._cluster import k1_near as k1_near
from ._top_down import k1_top_down as k1_top_down
