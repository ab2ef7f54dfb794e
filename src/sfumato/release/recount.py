"""Counting the promises again, on the bytes that are about to be published.

This file shares nothing with the code that made the release: it reads the file back and groups
its rows. `import-linter` keeps it so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.io import read_back

if TYPE_CHECKING:
    from ..data.schema import Schema
    from ..data.table import Table
    from ..protocols import Criterion, Finding


def recount(
    path: Path,
    schema: Schema,
    criteria: Iterable[Criterion],
    *,
    suppressed: str,
    escape_formulas: bool,
) -> tuple[list[Finding], Table]:
    """Each criterion counted on the written file, and the file as a table."""
    table = read_back(path, schema, suppressed=suppressed, escape_formulas=escape_formulas)
    return [criterion.check(table) for criterion in criteria], table
