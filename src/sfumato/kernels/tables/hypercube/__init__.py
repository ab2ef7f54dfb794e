"""The hypercube method: boxes that hide a cell."""

from __future__ import annotations

from ._boxes import CELL as CELL
from ._boxes import CODE as CODE
from ._boxes import Search as Search
from ._boxes import search as search
from ._demands import DEMAND as DEMAND
from ._demands import ENTRY as ENTRY
from ._demands import MOST as MOST
from ._demands import PARTS as PARTS
from ._demands import Demands as Demands
from ._demands import Way as Way
from ._demands import enter as enter
from ._demands import renew as renew
