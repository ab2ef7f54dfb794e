"""Reading back the bytes that are about to be published, so that promises are counted on them.

This file shares nothing with the code that made the release. `import-linter` keeps it so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ..data.io import read_back
from ..data.pair import Pair


def written_pairs(
    files: Iterable[Path], before: Pair, *, suppressed: str, escape_formulas: bool
) -> list[Pair]:
    """The original beside each written file.

    Of the pair that was written, the masked table gives its schema alone; original and alignment
    are for requirements that compare.
    """
    read = partial(read_back, suppressed=suppressed, escape_formulas=escape_formulas)
    schema = before.masked.schema
    return [Pair(before.original, read(path, schema), before.rows) for path in files]
