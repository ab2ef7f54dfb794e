"""The complaint that no hiding protects a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import MethodError

if TYPE_CHECKING:
    from ..cells.table import CellTable


class Unprotectable(MethodError):
    """Some cells cannot be protected by hiding cells; `cells` are their numbers."""

    def __init__(self, cells: list[int], message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cells = cells

    def named(self, table: CellTable) -> MethodError:
        """The same with the cells' codes."""
        names = "; ".join(table.name(cell) for cell in self.cells[:5])
        more = f" and {len(self.cells) - 5:,} more" if len(self.cells) > 5 else ""
        return MethodError(
            f"not protected even if everything were hidden that may be: {names}{more}",
            remedy=self.remedy,
        )
