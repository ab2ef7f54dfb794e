"""SVD swapping, Spectral-RHS and PICA by size: seconds and memory.

    python benchmarks/spectral_speed.py [--only NAME]

Records have 30 columns: 15 yes/no answers and 15 log-normal values that share factors, one in
fifty of them missing in one column. Every row runs in a process of its own, in which a call on
2,000 records has loaded the compiled kernels; encoding and decoding are included. A naive version
of SVD swapping (numpy's SVD of the whole table, one blind shuffle) runs beside ours. The command
fails where a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import polars as pl
import show
from gauge import cpu_seconds, peak_bytes

import sfumato as sf

CASES: dict[str, tuple[str, dict[str, Any], int, float]] = {
    "svd-swap, 1,000,000": ("svd-swap", {}, 1_000_000, 20.0),
    "svd-swap, exact, 1,000,000": ("svd-swap", {"repair": "exact"}, 1_000_000, 20.0),
    "naive SVD and one shuffle, 1,000,000": ("naive", {}, 1_000_000, float("inf")),
    "spectral-rhs, 1,000,000": ("spectral-rhs", {"k": 5}, 1_000_000, 30.0),
    "pica size 200, 10,000": ("pica", {"size": 200}, 10_000, 60.0),
    "pica size 200, 100,000": ("pica", {"size": 200}, 100_000, 180.0),
    "pica size 1000, 100,000": ("pica", {"size": 1000}, 100_000, 180.0),
}
LIMIT_GIB = 4.0


def survey(n: int) -> sf.Table:
    """Answers and values of n people."""
    rng = np.random.default_rng(0)
    shape = np.random.default_rng(1).normal(size=(5, 30))
    z = rng.normal(size=(n, 5)) @ shape / 3 + rng.normal(size=(n, 30))
    columns: dict[str, Any] = {f"answer{j}": z[:, j] > 0.5 for j in range(15)}
    columns |= {f"value{j}": np.exp(z[:, j] / 2).round(3) for j in range(15, 30)}
    frame = pl.DataFrame(columns)
    gone = pl.Series(rng.random(n) < 0.02)
    frame = frame.with_columns(value29=pl.when(gone).then(None).otherwise(pl.col("value29")))
    return sf.table(frame, quasi=frame.columns)


def naive(table: sf.Table) -> np.ndarray:
    """What a few lines of numpy do: no encoding, no tolerance, no decoding."""
    x = table.frame.fill_null(1.0).cast(pl.Float64).to_numpy()
    mean = x.mean(axis=0)
    u, d, v = np.linalg.svd(x - mean, full_matrices=False)
    rng = np.random.default_rng(0)
    return np.asarray(rng.permuted(u, axis=0) * d @ v + mean)


def run(name: str) -> None:
    """One case, in this process."""
    method, parameters, n, _ = CASES[name]

    def mask(table: sf.Table) -> Any:
        if method == "naive":
            return naive(table)
        return sf.protect(table, sf.method(method, **parameters), seed=1, measures=())

    mask(survey(2000))
    table = survey(n)
    began, cpu = time.perf_counter(), cpu_seconds()
    mask(table)
    print(json.dumps([time.perf_counter() - began, cpu_seconds() - cpu, peak_bytes()]))


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        run(given.case)
        return
    rows, missed = [], []
    for name, (_, _, _, limit) in CASES.items():
        if given.only not in name:
            continue
        done = subprocess.run(
            [sys.executable, __file__, "--case", name], capture_output=True, text=True, check=True
        )
        wall, cpu, peak = json.loads(done.stdout)
        rows.append(
            [name, show.seconds(wall), show.seconds(cpu), show.mebibytes(peak), f"{limit:g}"]
        )
        if wall > limit or peak > LIMIT_GIB * 2**30:
            missed.append(name)
    header = ["", "s", "CPU s", "MiB", "limit s"]
    print(show.table("Spectral methods, 30 columns", header, rows))
    if missed:
        raise SystemExit(f"over the limit: {', '.join(missed)}")


if __name__ == "__main__":
    main()
