"""Mondrian: groups by recursive cuts (LeFevre et al. 2006)."""

from __future__ import annotations

from ._layout import Tree as Tree
from ._machine import borrow as borrow
from ._search import mondrian as mondrian
