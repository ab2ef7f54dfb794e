"""Which published records could be a person's: every one is asked."""

from __future__ import annotations

import numpy as np

from sfumato.data.table import Table


def fitting(original: Table, release: Table, names: list[str]) -> np.ndarray:
    """bool (originals, published): whether all labels of the record cover the person's values."""
    posets = {name: release.schema[name].bound for name in names}
    people = original.frame.select(names).rows(named=True)
    shown = release.frame.select(names).rows(named=True)
    return np.array(
        [
            [all(posets[n].leq(one[n], str(row[n])) for n in names) for row in shown]
            for one in people
        ]
    )
