"""Information loss of MDAV on the CASC files, as the microaggregation literature reports it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.kernels.groups import group_means
from sfumato.kernels.micro.mdav._search import mdav

EIA = ["UTILITYID"] + [
    f"{sector}{measure}"
    for sector, sold in [("RES", "SALES"), ("COM", "SALES"), ("IND", "SALES"), ("OTH", "RSALES"),
                         ("TOT", "SALES")]
    for measure in ("REVENUE", sold)
]  # fmt: skip

PUBLISHED = {
    "tarragona": {3: 16.933, 4: 19.546, 5: 22.462, 10: 33.193},
    "census": {3: 5.692, 4: 7.495, 5: 9.088, 10: 14.156},
    "eia": {3: 0.483, 4: 0.671, 5: 1.667, 10: 3.840},
}


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name, figures in PUBLISHED.items() for k in figures]
)
def test_information_loss(
    name: str,
    k: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    frame = pl.read_csv(shared_data("casc") / f"{name}.csv")
    raw = frame.select(EIA if name == "eia" else pl.all()).to_numpy().astype(float)
    # Whether n or n - 1 divides is one factor for all columns: it cancels in SSE / SST.
    x = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    labels = mdav(x, np.empty((len(x), 0), np.int32), [], k)
    assert np.bincount(labels).min() >= k
    loss = 100 * float(np.sum((x - group_means(labels, x)[labels]) ** 2) / np.sum(x**2))
    golden_record(f"MDAV {name} k={k}", PUBLISHED[name][k], round(loss, 3))
    assert round(loss, 3) == PUBLISHED[name][k]
