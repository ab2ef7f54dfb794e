"""Counting the promises again, on the bytes that are about to be published.

This file shares nothing with the code that made the release: it reads the file back and groups
its rows. `import-linter` keeps it so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.io import read_back
from ..data.pair import Pair

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
    before: Pair | None = None,
) -> tuple[list[Finding], Table]:
    """Each criterion counted on the written file, and the file as a table.

    `before` is the pair that was written: its original and its alignment are for criteria that
    compare; its masked table is not looked at.
    """
    table = read_back(path, schema, suppressed=suppressed, escape_formulas=escape_formulas)
    if before is None:
        return [criterion.check(table) for criterion in criteria], table
    pair = Pair(before.original, table, before.rows)
    return [criterion.check_pair(pair) for criterion in criteria], table
