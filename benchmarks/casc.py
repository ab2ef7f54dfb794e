"""The three files on which the microaggregation literature compares its algorithms.

Quasi-identifiers are all columns of Tarragona and Census, and of EIA the number of the utility and
its ten revenues and sales.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf

FILES = ("tarragona", "census", "eia")
_EIA = ["UTILITYID"] + [
    f"{sector}{figure}"
    for sector, sold in [("RES", "SALES"), ("COM", "SALES"), ("IND", "SALES"), ("OTH", "RSALES"),
                         ("TOT", "SALES")]
    for figure in ("REVENUE", sold)
]  # fmt: skip


def data_folder() -> Path:
    """Where the benchmark data are."""
    named = os.environ.get("SFUMATO_DATA")
    root = Path(__file__).resolve().parent.parent
    folder = Path(named) if named else root.parent / "shared" / "data"
    if not folder.is_dir():
        raise SystemExit(f"benchmark data not found in {folder}: set SFUMATO_DATA")
    return folder


def casc(name: str) -> sf.Table:
    """One of the three files."""
    frame = pl.read_csv(data_folder() / "casc" / f"{name}.csv")
    frame = frame.select(_EIA) if name == "eia" else frame
    return sf.table(frame.cast(pl.Float64), quasi=frame.columns)


def information_loss(table: sf.Table, labels: np.ndarray) -> float:
    """100 * SSE / SST of the z-scored columns, counted without the kernels that are compared."""
    x = table.frame.to_numpy()
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    sse = sum(float(np.sum((part - part.mean(axis=0)) ** 2)) for part in _parts(z, labels))
    return 100 * sse / float(np.sum(z**2))


def _parts(z: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(labels, kind="stable")
    return np.split(z[order], np.flatnonzero(np.diff(labels[order])) + 1)
