"""Refining a partition by moves and swaps of points."""

from __future__ import annotations

from ._search import FIRST_CYCLE as FIRST_CYCLE
from ._search import best_labels as best_labels
from ._search import best_loss as best_loss
from ._search import compile_search as compile_search
from ._search import improvements as improvements
from ._search import run as run
from ._search import settle as settle
from ._search import start as start
from ._search import steps_done as steps_done
from ._state import Search as Search
