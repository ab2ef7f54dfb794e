"""Refining groups of sets."""

from __future__ import annotations

from ._search import STEPS as STEPS
from ._search import Search as Search
from ._search import begin as begin
from ._search import epoch as epoch
