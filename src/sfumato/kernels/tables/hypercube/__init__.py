"""The hypercube method: boxes that hide a cell."""

from __future__ import annotations

from ._boxes import Cells as Cells
from ._boxes import Cube as Cube
from ._boxes import Room as Room
from ._boxes import room as room
from ._cover import Demands as Demands
from ._cover import Hiding as Hiding
from ._cover import cover as cover
from ._cover import rows as rows
from ._cover import users as users
from ._improve import improve as improve
from ._share import PARTS as PARTS
from ._share import share_out as share_out
