"""Twenty million sets: seconds and memory of searches for k-anonymity, and how they grow.

    .venv/bin/python benchmarks/sets_scale.py [--records 20616891] [--k 10] [--curve]
        [--only MOND_EVEN MOND_UTILITY TWO_PHASE] [--folder build/sets]

The data are generated with latent interests (1,987 items, 40 to a set). Each search runs in a
process of its own, which reads Parquet, searches, publishes, writes Parquet, reads it back and
counts k again on what was written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

FULL = 20_616_891
CURVE = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, FULL)
NAMES = ("MOND_EVEN", "MOND_UTILITY", "TWO_PHASE", "K1 top-down")


def data(folder: Path, records: int) -> tuple[Path, float]:
    """The generated file, made if it is not there, and the seconds that took."""
    from sfumato.data.generators import write_targeting

    path = folder / f"targeting-{records}.parquet"
    start = time.perf_counter()
    if not path.exists():
        write_targeting(path, records, 1987, 40.0, seed=0)
    return path, time.perf_counter() - start


def one(path: Path, name: str, k: int) -> dict[str, Any]:
    """One search on one file, timed step by step."""
    from sets_curves import SEARCHES, published

    import sfumato as sf
    from sfumato.anonymity.sets.base import Sets
    from sfumato.criteria.k_anonymity import KAnonymity
    from sfumato.criteria.people.originals import K1Anonymity
    from sfumato.data.pair import Pair
    from sfumato.data.partition import Cover
    from sfumato.data.sets.table import SetTable
    from sfumato.kernels.sets.rows import weights_of
    from sfumato.release.plan.step import build

    use, parameters = SEARCHES[name]
    search = build("partitioner", use, {"k": k, **parameters})
    # Compiled before the clock starts.
    small = SetTable.read_parquet(path.with_name("targeting-2000.parquet"), "items")
    search.search(
        Sets(small.starts, small.items, np.ones(len(small.names))), np.random.default_rng(0)
    )
    times: dict[str, float] = {}

    def lap(what: str) -> None:
        nonlocal start
        now = time.perf_counter()
        times[what] = round(now - start, 2)
        start = now

    start = time.perf_counter()
    view = SetTable.read_parquet(path, "items")
    worth = dict(pl.read_csv(path.with_suffix(".items.csv")).iter_rows())
    utilities = np.array([worth[int(item)] for item in view.names.to_list()])
    lap("read")
    sets = Sets(view.starts, view.items, utilities)
    found = search.search(sets, np.random.default_rng(0))
    lap("search")
    shown = published(sets, found)
    before = float(weights_of(sets.starts, sets.items, utilities).sum())
    after = float(weights_of(*shown, utilities).sum())
    kept = {"utility": round(after / before, 4), "items": round(shown[1].size / sets.items.size, 4)}
    lap("publish")
    written = path.with_name(f"published-{path.stem}.parquet")
    SetTable(*shown, view.names, view.missing.copy()).write_parquet(written, replace=True)
    del shown
    lap("write")
    back = SetTable.read_parquet(written, "items")
    lap("read back")
    released = sf.table(back.to_column("items").to_frame(), quasi=["items"])
    if isinstance(found, Cover):
        original = sf.table(view.to_column("items").to_frame(), quasi=["items"])
        finding = K1Anonymity(k=k).check_pair(Pair(original, released, np.arange(len(view))))
    else:
        finding = KAnonymity(k=k).check(released)
    lap("recount")
    if not finding.met:
        raise SystemExit(f"{name} broke its promise: {finding}")
    written.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    counted = times["search"] + times["publish"] + times["recount"]
    return {
        "algorithm": name,
        "records": len(view),
        "k": k,
        **kept,
        "counted": finding.value,
        **times,
        "search + publish + recount": round(counted, 1),
        "peak GiB": round(peak, 2),
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--records", type=int, default=FULL)
    words.add_argument("--k", type=int, nargs="+", default=[10])
    words.add_argument("--curve", action="store_true", help="from 100,000 records on")
    words.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES[:3]))
    words.add_argument("--folder", type=Path, default=Path("build/sets"))
    words.add_argument("--one", nargs=3, metavar=("FILE", "NAME", "K"), help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.one:
        print(json.dumps(one(Path(given.one[0]), given.one[1], int(given.one[2]))))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    given.folder.mkdir(parents=True, exist_ok=True)
    data(given.folder, 2000)
    for records in CURVE if given.curve else (given.records,):
        path, seconds = data(given.folder, records)
        print(f"\n{records:,} records, generated in {seconds:.0f} s", flush=True)
        for name in given.only:
            for k in given.k:
                command = [sys.executable, __file__, "--one", str(path), name, str(k)]
                ran = subprocess.run(command, capture_output=True, text=True, check=False)
                if ran.returncode:
                    print(name, k, "failed:", ran.stderr[-600:])
                    continue
                print(ran.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
