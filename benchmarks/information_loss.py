"""Information loss of every microaggregation on Tarragona, Census and EIA, beside MDAV.

    .venv/bin/python benchmarks/information_loss.py            every search, Refine for 1 s and 20 s
    .venv/bin/python benchmarks/information_loss.py --only refine --seconds 100 --jobs 2

Each cell is 100 * SSE / SST on z-scores for one k. Searches that draw at random run with the seeds
0 to 4, all printed as lowest - highest. "published" is the best of the literature that names a
figure for the file (TFRP-2 and MDAV-MHM), "target" a local search of 100 s.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import show
from casc import FILES, casc, information_loss

SIZES = (3, 4, 5, 10)
SEEDS = (0, 1, 2, 3, 4)

TARGETS = {
    "tarragona": {3: 14.51, 4: 17.15, 5: 20.16, 10: 30.13},
    "census": {3: 4.72, 4: 6.08, 5: 7.34, 10: 11.53},
    "eia": {3: 0.349, 4: 0.483, 5: 0.730, 10: 1.940},
}
PUBLISHED = {
    "tarragona": {3: 16.881, 5: 21.847, 10: 33.088},
    "census": {3: 5.652, 5: 8.980, 10: 13.959},
    "eia": {3: 0.408, 5: 0.910, 10: 2.590},
}

Cell = tuple[str, str, int, int, dict[str, Any]]
"""File, row, k, seed, and the search's parameters (with its name under "use")."""


def searches() -> dict[str, tuple[dict[str, Any], bool]]:
    """Each row: the search, and whether it draws at random."""
    return {
        "mdav": ({}, False),
        "v-mdav": ({}, False),
        "md": ({}, False),
        "mhm": ({}, False),
        "mhm nearest-point": ({"use": "mhm", "tour": "nearest-point"}, False),
        "projected": ({}, False),
        "projected z-scores": ({"use": "projected", "projection": "z-scores"}, False),
        "mst": ({}, False),
        "ward": ({}, False),
        "matching": ({}, False),
        "clusterer KMeans": ({"use": "clusterer", "estimator": "KMeans"}, True),
        "fuzzy": ({}, True),
        "fuzzy, no draw": ({"use": "fuzzy", "draw": False}, True),
        "genetic": ({}, True),
    }


def run(cell: Cell) -> tuple[Cell, float, float]:
    """One cell: its loss and seconds."""
    import sfumato as sf

    file, _, k, seed, words = cell
    table = casc(file)
    parameters = {key: value for key, value in words.items() if key != "use"}
    search = sf.method(words["use"], k=k, **parameters)
    # Compiled kernels are loaded before the clock starts, and before Refine's starts.
    sf.partition(casc("tarragona").take(list(range(60))), _short(search), seed=0)
    begun = time.perf_counter()
    labels = sf.partition(table, search, seed=seed).labels
    return cell, information_loss(table, labels), time.perf_counter() - begun


def _short(search: Any) -> Any:
    return search.model_copy(update={"seconds": 0.2}) if hasattr(search, "seconds") else search


def main() -> None:
    arguments = _arguments()
    rows = {name: (words, random) for name, (words, random) in searches().items()}
    for seconds in arguments.seconds:
        words = {"use": "refine", "steps": 10**12, "seconds": seconds}
        rows[f"refine {seconds:g} s"] = (words, True)
    if arguments.only:
        rows = {name: row for name, row in rows.items() if any(o in name for o in arguments.only)}
    cells: list[Cell] = [
        (file, name, k, seed, {"use": name, **words})
        for file in arguments.files
        for name, (words, random) in rows.items()
        for k in arguments.k
        for seed in (arguments.seeds if random else (0,))
    ]
    losses: dict[tuple[str, str, int], list[float]] = {}
    slowest: dict[tuple[str, str], float] = {}
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for (file, name, k, _, _), loss, seconds in pool.map(run, cells):
            losses.setdefault((file, name, k), []).append(loss)
            slowest[file, name] = max(slowest.get((file, name), 0.0), seconds)
    for file in arguments.files:
        _print(file, list(rows), arguments.k, losses, slowest)


def _print(
    file: str,
    names: list[str],
    sizes: list[int],
    losses: dict[tuple[str, str, int], list[float]],
    slowest: dict[tuple[str, str], float],
) -> None:
    body = [
        [name, *(_range(losses[file, name, k]) for k in sizes), show.seconds(slowest[file, name])]
        for name in names
    ]
    for name, figures in (("published", PUBLISHED), ("target", TARGETS)):
        body.append([name, *(f"{figures[file].get(k, float('nan')):.3f}" for k in sizes), ""])
    header = ["search", *(f"k={k}" for k in sizes), "slowest s"]
    print(show.table(f"Information loss on {file}", header, body), flush=True)


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.3f}", f"{max(values):.3f}"
    return low if low == high else f"{low} - {high}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Information loss, every search beside MDAV.")
    parser.add_argument("--files", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--k", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--only", nargs="+", default=[], help="searches with this in their name")
    parser.add_argument("--seconds", nargs="+", type=float, default=[1.0, 20.0])
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time")
    return parser.parse_args()


if __name__ == "__main__":
    main()
