"""Generated people for the tests of Bayesian networks."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.models.augmented import axes_of, read
from sfumato.models.records import Records
from sfumato.poset.trees.sources import Hierarchy

PLACES = tuple(
    (f"{city}{i}", city, land, "*")
    for land, cities in (("N", "AB"), ("S", "CD"))
    for city in cities
    for i in range(2)
)


def people(n: int, seed: int = 0) -> sf.Table:
    """Where one lives says what one does; age goes with both."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 8, n)
    job = (place // 4 + (rng.random(n) < 0.2)) % 2
    age = 20 + 3 * job + rng.integers(0, 6, n)
    return sf.table(
        {
            "place": [PLACES[i][0] for i in place],
            "job": np.array(["clerk", "smith"])[job],
            "age": age,
        },
        quasi=["place", "job", "age"],
        posets={"place": Hierarchy(levels=PLACES)},
    )


def records_of(table: sf.Table) -> Records:
    return Records.of([read(axis, table) for axis in axes_of(table, table.names)])
