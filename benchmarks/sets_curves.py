"""Podgursky's figures 7-18 (Adult) and 20-21 (synthetic): utility kept and seconds against k.

    .venv/bin/python benchmarks/sets_curves.py adult|synthetic|baskets [--k 2 10 ...] [--seeds 0 1]
        [--only NAME ...] [--out build/sets]

Every release is counted again from what is published: k by hashing published sets, (k,1) by
counting the originals that contain them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from set_data import BASKETS, KS, adult_sets, basket_sets, synthetic

from sfumato.anonymity.sets.base import Sets
from sfumato.data.partition import Cover, Partition
from sfumato.kernels.sets.rows import common_items, take_rows, weights_of
from sfumato.release.plan.step import build

Row = dict[str, Any]

SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "MOND_EVEN": ("set-mondrian", {"choose": "even", "relaxed": False}),
    "MOND_ENTROPY": ("set-mondrian", {"choose": "entropy", "relaxed": False}),
    "MOND_UTILITY": ("set-mondrian", {}),
    "CLUSTER_RAND": ("set-cluster", {"neighbours": "random", "seeds": "far"}),
    "CLUSTER_LSH": ("set-cluster", {"neighbours": "lsh", "seeds": "far"}),
    "CLUSTER_ALL": ("set-cluster", {"neighbours": "all", "seeds": "far"}),
    "CLUSTER_LSH, Hamming": (
        "set-cluster",
        {"neighbours": "lsh", "seeds": "far", "hashing": "hamming"},
    ),
    "CLUSTER_LSH, dear seeds": ("set-cluster", {}),
    "ITER_CLUSTER_LSH": ("iter-cluster", {"neighbours": "lsh"}),
    "ITER_CLUSTER_ALL": ("iter-cluster", {"neighbours": "all"}),
    "TWO_PHASE": ("two-phase", {"start": "merged"}),
    "TWO_PHASE, better of two starts": ("two-phase", {}),
    "MOND_UTILITY + finisher 10 s": ("set-refine", {"seconds": 10.0}),
    "K1_LSH": ("k1-cluster", {"neighbours": "lsh"}),
    "K1_LSH, Hamming": ("k1-cluster", {"neighbours": "lsh", "hashing": "hamming"}),
    "K1_ALL": ("k1-cluster", {"neighbours": "all"}),
    "K1 top-down": ("k1-top-down", {}),
}
RANDOM = {
    *("CLUSTER_RAND", "CLUSTER_LSH", "CLUSTER_LSH, dear seeds", "CLUSTER_ALL"),
    *(
        "CLUSTER_LSH, Hamming",
        "K1_LSH, Hamming",
        "ITER_CLUSTER_LSH",
        "ITER_CLUSTER_ALL",
        "K1_LSH",
        "K1 top-down",
    ),
    "MOND_UTILITY + finisher 10 s",
}
SLOW = {"CLUSTER_ALL", "ITER_CLUSTER_ALL", "K1_ALL"}
"""Full searches: on Adult and the smallest baskets only."""


def published(sets: Sets, found: Partition | Cover) -> tuple[np.ndarray, np.ndarray]:
    """What each record shows, in compressed rows."""
    if isinstance(found, Cover):
        return common_items(sets.starts, sets.items, found.members, found.starts)
    shown = common_items(sets.starts, sets.items, found.order, found.starts)
    return take_rows(*shown, found.labels)


def recount(sets: Sets, shown: tuple[np.ndarray, np.ndarray], k: int, cover: bool) -> int:
    """The smallest number of records that show the same set, or of originals that contain it."""
    starts, items = shown
    texts = [items[starts[i] : starts[i + 1]].tobytes() for i in range(len(sets))]
    counts: dict[bytes, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    if not cover:
        return min(counts.values())
    holders: list[set[int]] = [set() for _ in range(sets.d)]
    for i in range(len(sets)):
        for item in sets.items[sets.starts[i] : sets.starts[i + 1]].tolist():
            holders[item].add(i)
    least = len(sets)
    for text, count in counts.items():
        if count >= k:
            continue  # those that show it contain it
        ids = sorted(np.frombuffer(text, dtype=items.dtype).tolist(), key=lambda a: len(holders[a]))
        inside = set.intersection(*(holders[a] for a in ids)) if ids else range(len(sets))
        least = min(least, len(inside))
    return max(least, 0) if least < len(sets) else k


def run(sets: Sets, name: str, k: int, seed: int) -> Row:
    """One search: its share of utility and of items kept, its seconds, and k as counted."""
    use, parameters = SEARCHES[name]
    search = build("partitioner", use, {"k": k, **parameters})
    start, busy = time.perf_counter(), time.process_time()
    found = search.search(sets, np.random.default_rng(seed))
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    shown = published(sets, found)
    counted = recount(sets, shown, k, isinstance(found, Cover))
    if counted < k:
        raise SystemExit(f"{name} broke its promise: {counted} < {k}")
    before = weights_of(sets.starts, sets.items, sets.utilities).sum()
    after = weights_of(*shown, sets.utilities).sum()
    return {
        "search": name,
        "k": k,
        "seed": seed,
        "seconds": round(seconds, 3),
        "cpu": round(cpu, 3),
        "utility": float(after / before),
        "items": shown[1].size / sets.items.size,
    }


def curves(
    sets: Sets, names: list[str], ks: list[int], seeds: list[int], tell: Callable[[str], None]
) -> list[Row]:
    """Every search at every k, random ones with every seed."""
    rows = []
    for name in names:
        run(sets.take(np.arange(min(len(sets), 2000))), name, 2, 0)  # compiled
        for k in ks:
            found = [run(sets, name, k, seed) for seed in (seeds if name in RANDOM else seeds[:1])]
            rows += found
            kept = " ".join(f"{100 * row['utility']:.2f}" for row in found)
            wall, cpu = (np.median([row[unit] for row in found]) for unit in ("seconds", "cpu"))
            tell(f"{name:32} k={k:<4} {kept} %   {wall:8.2f} s, {cpu:.2f} of processors")
    return rows


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("data", choices=["adult", "synthetic", "baskets"])
    words.add_argument("--k", type=int, nargs="+")
    words.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    words.add_argument("--only", nargs="+", choices=list(SEARCHES))
    words.add_argument("--out", type=Path, default=Path("build/sets"))
    given = words.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in BASKETS if given.data == "baskets" else [given.data]:
        sets = {"adult": adult_sets, "synthetic": synthetic}.get(name, lambda: basket_sets(name))()  # noqa: B023
        print(f"\n{name}: {len(sets):,} records, {sets.d:,} items, {sets.items.size:,} occurrences")
        chosen = given.only or [s for s in SEARCHES if s not in SLOW or len(sets) < 40_000]
        ks = given.k or ([2, 5, 10] if given.data == "baskets" else list(KS))
        rows = curves(sets, chosen, ks, given.seeds, lambda text: print(text, flush=True))
        (given.out / f"{name}.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
