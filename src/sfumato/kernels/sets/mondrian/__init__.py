"""Mondrian on sets: cuts by item."""

from __future__ import annotations

from ._search import set_mondrian as set_mondrian
from ._upper import ItemCuts as ItemCuts
from ._upper import classes_of as classes_of
from ._upper import cut_sets as cut_sets
from ._upper import item_counts as item_counts
from ._upper import item_cuts as item_cuts
