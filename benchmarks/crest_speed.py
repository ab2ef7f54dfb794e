"""How long CAMP-CREST takes, beside the same algorithm written naively.

    .venv/bin/python benchmarks/crest_speed.py [--quick]

Standard normal records of ten columns with three classes, and Medicare (NMES1988), each a whole
step from a table in memory to the masked table in memory: groups, then micro-perturbation, k = 5.
The naive versions (tests/oracle) look at every pair of records and at every candidate edge, at
the largest size that they can do in a minute; their tree must be the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import show
from casc import data_folder
from gauge import MIB, peak_bytes, resident_bytes

import sfumato as sf
from sfumato.kernels.crest._search import crest_tree
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree
from sfumato.rng import stream

ROOT = Path(__file__).resolve().parent.parent
NAIVE_RECORDS = {"tree by composite distance": 150, "minimum spanning tree": 1_500}


def normal(n: int, classes: int = 3) -> sf.Table:
    """Ten columns, equally large classes that lean on the first of them."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((n, 10))
    lean = x[:, 0] + draw.standard_normal(n)
    ends = np.quantile(lean, np.arange(1, classes) / classes)
    frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(10)}).with_columns(
        pl.Series("c", np.digitize(lean, ends)).cast(pl.String)
    )
    return sf.table(frame, quasi=frame.columns[:-1], confidential="c")


def medicare() -> sf.Table:
    """The 21 columns of the paper, chronic conditions as none, one, several."""
    frame = pl.read_csv(data_folder() / "medicare" / "nmes1988_numeric.csv")
    frame = frame.with_columns(pl.col("chronic").clip(0, 2).cast(pl.String))
    quasi = [name for name in frame.columns if name != "chronic"]
    return sf.table(frame, quasi=quasi, confidential="chronic")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def steps(quick: bool) -> None:
    """Whole steps, the smallest first so that the peak of memory is each one's own."""
    sizes = (2_000, 5_000, 5_000) if quick else (50_000, 100_000, 1_000_000)
    work = [
        ("Partial CAMP-CREST", "Medicare", medicare, {"partial": True}),
        ("CAMP-CREST", "Medicare", medicare, {}),
        ("CAMP-CREST", "normal", lambda: normal(sizes[0]), {}),
        ("Partial CAMP-CREST", "normal", lambda: normal(sizes[1]), {"partial": True}),
        ("CAMP-CREST", "normal", lambda: normal(sizes[1]), {}),
        ("CAMP-CREST", "normal, 64 classes", lambda: normal(sizes[1], 64), {}),
        ("CAMP-CREST", "normal", lambda: normal(sizes[2]), {}),
    ]
    sf.step(sf.method("crest")).run(normal(300), stream(0, 1, "warm"))
    sf.step(sf.method("crest", partial=True)).run(normal(300), stream(0, 1, "warm"))
    rows = []
    for name, data, make, words in work:
        table = make()
        step = sf.step(sf.method("crest", k=5, **words))
        before = resident_bytes()
        wall, processor = timed(lambda: step.run(table, stream(0, 1, "crest")))  # noqa: B023
        rows.append(
            [
                name,
                data,
                f"{table.height:,} x {len(table.schema.quasi)}",
                show.seconds(wall),
                show.seconds(processor),
                f"{max(peak_bytes() - before, 0) / MIB:.0f}",
            ]
        )
    header = ["method", "data", "size", "s", "CPU s", "peak MiB"]
    print(show.table("Whole steps, k = 5", header, rows), flush=True)


def naive() -> None:
    """The kernels beside their naive versions, which must agree."""
    sys.path.insert(0, str(ROOT))
    from tests.oracle import crest as slow_crest
    from tests.oracle import mst as slow_mst

    rows = []
    for name, n in NAIVE_RECORDS.items():
        table = normal(n)
        x = np.ascontiguousarray(table.frame.select(table.schema.quasi).to_numpy())
        classes = np.unique(table["c"].to_numpy(), return_inverse=True)[1].astype(np.int64)
        if name == "minimum spanning tree":
            found, begun = minimum_spanning_tree(x)[0], time.perf_counter()
            expected = slow_mst.minimum_spanning_tree(x)[0]
            slow = time.perf_counter() - begun
            quick = timed(lambda: minimum_spanning_tree(x))[0]  # noqa: B023
        else:
            found, begun = (
                crest_tree(x, classes, 5, 0.5, unit=0.1, start=0).edges,
                time.perf_counter(),
            )
            expected = slow_crest.crest_tree(x, classes.tolist(), 5, 0.5, 0.1, 0)
            slow = time.perf_counter() - begun
            quick = timed(lambda: crest_tree(x, classes, 5, 0.5, unit=0.1, start=0))[0]  # noqa: B023
        same = "yes" if np.array_equal(found, expected) else "NO"
        rows.append(
            [name, f"{n:,}", show.seconds(slow), f"{quick:.4f}", f"{slow / quick:,.0f}", same]
        )
    header = ["kernel", "records", "naive s", "s", "times faster", "same edges"]
    print(show.table("Beside the naive versions", header, rows), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How long CAMP-CREST takes.")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    steps(parser.parse_args().quick)
    naive()
