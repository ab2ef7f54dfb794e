"""Exposure of 1,000,000 records of twenty columns: CPU and wall seconds, each in a fresh process.

    python benchmarks/exposure_speed.py [--records 1000000] [CASE ...]

Tables hold categories, whole and broken numbers, dates, codes and identifiers: published as they
are, after Mondrian, with noise, with suppressed cells, drawn anew (so that records are nobody's),
and in long form, four records to a person. Cold: nothing compiled is at hand. What is made before
does not count, nor does what Python imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
import polars as pl
import show
from gauge import Gauge

LIMIT = 10.0
CASES = ("plain", "mondrian", "noise", "suppressed", "synthetic", "people")


def people(n: int, seed: int = 0) -> pl.DataFrame:
    """Twenty columns of every kind."""
    rng = np.random.default_rng(seed)
    begun = np.datetime64("1930-01-01")
    frame: dict[str, Any] = {"patient": rng.permutation(n) + 10_000_000}
    frame["age"] = rng.integers(0, 100, n)
    frame["born"] = begun + rng.integers(0, 30_000, n)
    frame["admitted"] = np.datetime64("2015-01-01") + rng.integers(0, 3650, n)
    frame["zip"] = np.array([f"{z:05d}" for z in range(0, 99_999, 33)])[rng.integers(0, 3000, n)]
    frame["town"] = np.array([f"town {t}" for t in range(400)])[rng.geometric(0.02, n) % 400]
    for j, m in enumerate((2, 3, 5, 8, 20, 60)):
        frame[f"trait{j}"] = np.array([f"t{v}" for v in range(m)])[rng.integers(0, m, n)]
    frame["children"] = rng.poisson(1.5, n)
    frame["rooms"] = rng.integers(1, 9, n)
    frame["wage"] = rng.lognormal(10, 0.5, n).round(0).astype(np.int64)
    for j in range(4):
        frame[f"lab{j}"] = rng.lognormal(1, 0.5, n).round(2)
    frame["illness"] = np.array([f"E{v:02d}" for v in range(90)])[rng.integers(0, 90, n)]
    return pl.DataFrame(frame)


def made(case: str, n: int) -> tuple[Any, Any, np.ndarray | None, tuple[Any, ...]]:
    """The original, what is published of it, whose records these are, and by which steps."""
    import sfumato as sf

    frame = people(n)
    if case == "people":
        frame = frame.with_columns(pl.col("patient") // 4)
    quasi = [name for name in frame.columns if name[:3] not in ("pat", "lab", "ill")]
    roles = {"identifier": ["patient"], "quasi": quasi}
    table = sf.table(frame, **roles, others="confidential")
    order = np.random.default_rng(1).permutation(n)
    if case == "synthetic":
        return table, sf.table(people(n, 2), **roles, others="confidential"), None, ()
    step = {
        "mondrian": sf.method("mondrian", k=5),
        "noise": sf.method("correlated-noise", amount=0.2, columns=["age", "wage", "lab0"]),
        "suppressed": sf.method("rare-values", k=200),
    }.get(case)
    if step is None:
        return table, table.without(["patient"]).take(order), order, ()
    masked = sf.step(step).run(table, np.random.default_rng(1)).table
    return table, masked.without(["patient"]).take(order), order, (step,)


def work(case: str, n: int, kept: str) -> None:
    """One measurement, told as a line of JSON."""
    from sfumato.data.pair import Pair
    from sfumato.protocols import Context
    from sfumato.risk.exposure.exposure import Exposure

    original, masked, rows, steps = made(case, n)
    # Only what the measure itself compiles is to count.
    os.environ["NUMBA_CACHE_DIR"] = kept
    gauge = Gauge()
    with gauge:
        context = Context(Pair(original, masked, rows), np.random.default_rng(0), mechanism=steps)
        found = Exposure().measure(context)
    gauge.report(value=found.value, because=found.detail.get("because", ""))


def run(case: str, n: int, kept: str) -> dict[str, Any]:
    """One measurement in a process of its own."""
    call = [sys.executable, __file__, case, "--records", str(n), "--work", kept]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=CASES, metavar="CASE")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.cases[0], asked.records, asked.work)
        return
    rows = []
    for case in asked.cases:
        with tempfile.TemporaryDirectory() as kept:
            cold, warm = (run(case, asked.records, kept) for _ in range(2))
        times = [found[unit] for found in (cold, warm) for unit in ("cpu", "wall")]
        rows.append(
            [
                f"{case} {asked.records:,} x 20",
                *map(show.seconds, times),
                f"{warm['value']:.3f}",
                show.mebibytes(warm["peak"]),
                show.against(warm["cpu"], LIMIT),
            ]
        )
        print(*rows[-1], warm["because"], sep="  ", file=sys.stderr, flush=True)
    print(show.table("Exposure", ["", "cold CPU s", "s", "CPU s", "s", "singled out", "MiB",
                                  "limit CPU s"], rows))  # fmt: skip


if __name__ == "__main__":
    main()
