"""Record linkage by size: seconds, beside every pair compared in blocks.

    python benchmarks/linkage_speed.py [--records 100000]

Distance-based linkage of n originals against n masked records of ten columns (standard normal, with
noise or rank swapping), ties counted exactly; all of them are linked, none sampled. The naive
version compares every pair with the same numbers, in blocks, on a sample of 1,000 originals, and is
scaled up. Probabilistic linkage of 10,000 by 10,000 records and seven columns counts agreement
patterns. Kernels are compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import polars as pl
import show

import sfumato as sf

LIMITS = {"dbrl": 20.0, "prl": 5.0}


def pair(n: int, columns: int, method: Any) -> tuple[Any, Any]:
    """Normal records and their masked version, in the same order."""
    x = np.random.default_rng(0).normal(size=(n, columns))
    names = [f"v{j}" for j in range(columns)]
    table = sf.table(pl.DataFrame(x, schema=names), quasi=names)
    from sfumato.release.plan.plan import Output, Plan

    plan = Plan(steps=(sf.step(method),), output=Output(shuffle=False))
    return table, sf.protect(table, plan, seed=1, measures=()).table


def timed(name: str, original: Any, masked: Any, **words: Any) -> tuple[float, float, float]:
    """Seconds, processor seconds and the figure."""
    begun, cpu = time.perf_counter(), time.process_time()
    found = sf.measure(name, original, masked, **words)
    return time.perf_counter() - begun, time.process_time() - cpu, float(found)


def naive(original: Any, masked: Any, rows: int = 1000) -> float:
    """Seconds that all pairs would take, from a sample of the originals."""
    x, y = (t.frame.to_numpy() for t in (original, masked))
    x, y = ((t - t.mean(axis=0)) / t.std(axis=0) for t in (x, y))
    begun = time.perf_counter()
    squares = (y**2).sum(axis=1)
    for low in range(0, rows, 100):
        (squares - 2 * x[low : low + 100] @ y.T).argmin(axis=1)
    return (time.perf_counter() - begun) * len(x) / rows


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    n = parser.parse_args().records
    rows = []
    for label, method in (
        ("noise b=0.1", sf.method("correlated-noise", amount=0.1, restore=False)),
        ("noise b=1", sf.method("correlated-noise", amount=1.0, restore=False)),
        ("rank-swap p=5", sf.method("rank-swap", p=5)),
    ):
        timed("dbrl", *pair(500, 10, method))
        both = pair(n, 10, method)
        wall, cpu, share = timed("dbrl", *both, sample=0)
        all_pairs = naive(*both)
        rows.append([f"dbrl {n:,} x {n:,} x 10, {label}", show.seconds(wall), show.seconds(cpu),
                     f"{share:.4f}", show.seconds(all_pairs), f"{all_pairs / wall:.1f}",
                     show.against(wall, LIMITS["dbrl"])])  # fmt: skip
    swap = sf.method("rank-swap", p=5)
    timed("prl", *pair(500, 7, swap))
    small = pair(10_000, 7, swap)
    wall, cpu, share = timed("prl", *small)
    rows.append(["prl 10,000 x 10,000 x 7, rank-swap p=5", show.seconds(wall), show.seconds(cpu),
                 f"{share:.4f}", "", "", show.against(wall, LIMITS["prl"])])  # fmt: skip
    print(show.table(
        "Linkage", ["", "s", "CPU s", "linked", "all pairs s", "ratio", "limit s"], rows,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
