"""Mondrian: groups by recursive cuts (LeFevre et al. 2006)."""

from __future__ import annotations

from ._layout import Tree as Tree
from ._layout import pack as pack
from ._machine import borrow as borrow
from ._search import Choose as Choose
from ._search import mondrian as mondrian
from ._upper import Cuts as Cuts
from ._upper import counts_of as counts_of
from ._upper import routed as routed
from ._upper import starts_of as starts_of
from ._upper import upper_cuts as upper_cuts
