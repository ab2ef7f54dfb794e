"""Minimum spanning trees, and groups cut from them."""

from __future__ import annotations

from ._cut import cut_by_ratio as cut_by_ratio
from ._cut import cut_longest as cut_longest
from ._cut import cut_t_close as cut_t_close
from ._mst import minimum_spanning_tree as minimum_spanning_tree
