"""Special uniques and separating columns: seconds and memory, beside a peer and naive versions.

    python benchmarks/suda_speed.py [--records 30000] [--size 4] [--limit 300] [--skip-peers]

The first table is `suda` on ten independent categorical columns of 100, 60, 50, 30, 20, 12, 10, 8,
5 and 2 values, the r-th of a column drawn in proportion to r^-0.7 (seed 0): the measure from a data
frame, `uniques` on every set of columns, and the package suda of PyPI, installed on demand in
.venv-peers. Each runs in a process of its own, with 8 GiB at most; reading and compiling are left
out. What is compared is the fewest columns in which each record is unique, the same for all. The
package's scores are others: it counts sets of which a part is unique already, too.

The second is the search of `separation` and `distinction` on thirty columns of 60 to 2 values that
depend on three hidden factors (seed 0), beside the same search made to look at every set.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import show
from environment import PeersUnavailableError, peers_python
from masking_contenders import Bench, fewest_columns

from sfumato.kernels.uniques.separating import Aim, best_sets

VALUES = (100, 60, 50, 30, 20, 12, 10, 8, 5, 2)
LIMIT = 10.0
"""Processor seconds of `suda` on 1,000,000 records, sets of at most four columns."""


def people(n: int) -> pl.DataFrame:
    """Independent columns, a few values common and many rare."""
    rng = np.random.default_rng(0)
    frame = {}
    for values in VALUES:
        chance = np.arange(1.0, values + 1) ** -0.7
        frame[f"of {values}"] = rng.choice(values, n, p=chance / chance.sum())
    return pl.DataFrame(frame)


def dependent(n: int, columns: int = 30) -> tuple[list[np.ndarray], np.ndarray]:
    """Different records of columns that depend on one another, and how often each occurs."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 3))
    codes = []
    for values in np.geomspace(60, 2, columns).round().astype(int):
        x = 0.8 * hidden @ rng.normal(size=3) + rng.normal(size=n)
        codes.append(np.digitize(x, np.quantile(x, np.sort(rng.random(values - 1)))))
    frame = pl.DataFrame(np.column_stack(codes).astype(np.int32))
    counted = frame.group_by(frame.columns, maintain_order=True).len()
    rows = counted.drop("len").to_numpy()
    return [np.ascontiguousarray(one) for one in rows.T], counted["len"].to_numpy().astype(np.int64)


def suda(bench: Bench, n: int, size: int) -> str:
    """The table of special uniques."""
    source = bench.folder / "people.arrow"
    people(n).write_ipc(source)
    limit = LIMIT if (n, size) == (1_000_000, 4) else None
    rows = [
        [f"{n:,} x 10, size {size}: {row['contender']}", show.seconds(row["s"]) or row["failure"],
         show.seconds(row["cpu_s"]), show.mebibytes(row["peak_bytes"]),
         "" if row["failure"] else f"{row['times']:.1f}",
         " / ".join(f"{many:,}" for many in row.get("uniques", [])),
         {True: "yes", False: "NO"}.get(row.get("same", ""), ""),
         show.against(row["cpu_s"], limit) if row["contender"] == "sfumato suda" else ""]
        for row in fewest_columns(bench, source, n, size)
    ]  # fmt: skip
    header = ["", "s", "CPU s", "MiB", "x CPU", "unique by 1 / 2 / ..", "same", "limit CPU s"]
    return show.table("Special uniques", header, rows)


def separating(n: int) -> str:
    """The table of separating sets."""
    codes, weight = dependent(n)
    rows = []
    aims: tuple[Aim, Aim] = ("separation", "distinction")
    for aim in aims:
        few = [one[:100] for one in codes], weight[:100]
        best_sets(*few, 2, 10, aim, 1_000)
        for size in (3, 4):
            total = sum(comb(len(codes), k) for k in range(1, size + 1))
            cpu = time.process_time()
            found, looked = best_sets(codes, weight, size, 10, aim, total)
            cpu = time.process_time() - cpu
            proved = all(one.at_most is None for one in found)
            every = None
            if size == 3:
                every = time.process_time()
                everything, _ = best_sets(codes, weight, size, total, aim, total)
                every = time.process_time() - every
                for one, other in zip(found, everything, strict=True):
                    assert [_worth(t, aim) for t in one.sets] == [
                        _worth(t, aim) for t in other.sets[:10]
                    ]
            rows.append([f"{n:,} x 30, size {size}: {aim}", show.seconds(cpu), f"{looked:,}",
                         f"{total:,}", "yes" if proved else "NO", show.seconds(every)])  # fmt: skip
    header = ["", "CPU s", "sets looked at", "of", "proved", "all of them CPU s"]
    return show.table("Separating columns", header, rows)


def _worth(told: tuple[object, int, int], aim: Aim) -> int:
    return told[1] if aim == "separation" else told[2]


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--skip-peers", action="store_true")
    asked = parser.parse_args()
    pythons = {}
    if not asked.skip_peers:
        try:
            pythons["suda"] = peers_python()
        except (PeersUnavailableError, OSError) as error:
            print(f"the peer could not be installed: {error}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="sfumato-suda-") as place:
        bench = Bench(Path(place), quick=True, limit=asked.limit, gibibytes=8.0, pythons=pythons)
        print(suda(bench, asked.records, asked.size), flush=True)
        print("", *bench.versions.values(), sep="\n")
    print(separating(asked.records))


if __name__ == "__main__":
    main()
