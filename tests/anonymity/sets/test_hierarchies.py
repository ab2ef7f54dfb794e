"""Searches in a hierarchy of items, run on tables beside their oracles."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.sets.enumeration import enumerate_sets
from tests.oracle.km_cut import km_cut
from tests.oracle.set_top_down import closed, set_top_down

_PARENTS = [7, 7, 8, 8, 8, 9, -1, 9, 9, -1]


def _drawn(seed: int) -> tuple[list[list[int]], sf.Table]:
    rng = np.random.default_rng(seed)
    sets = [np.flatnonzero(row).tolist() for row in rng.random((40, 10)) < 0.2]
    above = {str(item): str(up) for item, up in enumerate(_PARENTS) if up >= 0}
    table = sf.table(
        {"s": [[str(item) for item in one] for one in sets]},
        quasi=["s"],
        posets={"s": {"kind": "items", "parents": above}},
    )
    return closed(sets, _PARENTS), enumerate_sets(table, ["s"], into="s")


@pytest.mark.parametrize("seed", range(4))
def test_groups_publish_what_all_of_them_hold(seed: int) -> None:
    whole, table = _drawn(seed)
    found = sf.method("set-top-down", k=4)
    shown = sf.protect(table, found, seed=0, require={"k-anonymity": 4}).table["s"].to_list()
    classes = set_top_down(whole, [1] * 10, _PARENTS, 4)
    expected = [
        [str(item) for item in sorted(set.intersection(*(set(whole[row]) for row in rows)))]
        for rows in classes
        for _ in rows
    ]
    assert sorted(shown) == sorted(expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_holds_for_every_set(seed: int) -> None:
    whole, table = _drawn(seed)
    use = sf.method("km-generalization", k=4, m=2)
    release = sf.protect(table, use, seed=0, require={"km-anonymity": {"k": 4, "m": 2}})
    gone = km_cut(whole, [1] * 10, _PARENTS, 4, 2)
    expected = [[str(item) for item in one if item not in gone] for one in whole]
    assert sorted(release.table["s"].to_list()) == sorted(expected)
