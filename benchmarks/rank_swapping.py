"""Rank swapping on Census and EIA: the table of Torra's slides, ours beside it.

    python benchmarks/rank_swapping.py [--seeds 10] [--jobs 2] [--leave]

For p = 2, 4, ..., 20 percent: IL, RSLD, DLD, PLD, ID and Score, averaged over seeds; linkages over
intruders who know the first 1 to 7 variables. Census has its thirteen variables, EIA the ten
revenues and sales. The slide's Score column fits neither of the formulas printed above it; all of
its rows fit DR = RSLD/3 + DLD/6 + PLD/6 + ID/3 ("printed"), which is what Score means here too.

With p = 20 the slide links and discloses more than rank swapping allows when every value finds a
partner. --leave shows what explains most of it: a swap that draws its partner from the next p ranks
without looking, and leaves the value where it is if that one is taken or lies beyond the end.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import polars as pl
import show
from casc import casc

import sfumato as sf
from sfumato.release.plan.plan import Output, Plan

IN_ORDER = Output(shuffle=False)
SWAPS = tuple(range(2, 21, 2))
FIGURES = ("IL", "RSLD", "DLD", "PLD", "ID", "Score")
SLIDE = {
    "census": [
        (3.89, 77.73, 73.52, 71.28, 93.98, 42.63), (6.54, 66.65, 58.40, 42.92, 83.09, 36.67),
        (10.57, 54.65, 43.76, 22.49, 72.12, 31.93), (16.54, 41.28, 32.13, 11.74, 62.11, 29.16),
        (20.18, 29.21, 23.64, 6.03, 53.28, 26.31), (23.46, 19.87, 18.96, 3.46, 47.17, 24.77),
        (28.93, 16.14, 15.63, 2.06, 43.39, 25.86), (35.16, 13.81, 13.59, 1.29, 40.78, 27.97),
        (32.52, 12.21, 11.50, 0.83, 38.90, 25.81), (35.12, 10.88, 10.87, 0.59, 37.33, 26.55),
    ],
    "eia": [
        (4.24, 43.27, 21.71, 16.85, 93.10, 28.06), (9.67, 12.54, 10.61, 4.79, 82.09, 21.89),
        (14.63, 7.69, 7.40, 2.03, 72.21, 21.42), (18.71, 6.12, 5.98, 1.12, 63.90, 21.61),
        (22.87, 5.60, 5.19, 0.69, 57.09, 22.37), (26.60, 5.39, 4.87, 0.51, 51.64, 23.25),
        (29.42, 5.28, 4.55, 0.32, 47.49, 23.91), (32.38, 5.19, 4.54, 0.23, 44.19, 24.82),
        (34.22, 5.20, 4.54, 0.22, 41.42, 25.28), (36.27, 5.15, 4.36, 0.18, 38.97, 25.87),
    ],
}  # fmt: skip


def run(cell: tuple[str, int, int, bool]) -> list[float]:
    """One release's figures."""
    file, p, seed, leave = cell
    table = casc(file)
    if file == "eia":
        table = table.without(["UTILITYID"])
    method = sf.method("rank-swap", p=p)
    if leave:
        masked = leaving(table, int(p * table.height / 100), np.random.default_rng(seed))
    else:
        masked = sf.protect(table, Plan(steps=(sf.step(method),), output=IN_ORDER), seed=seed,
                            measures=()).table  # fmt: skip
    risk = sf.measure("disclosure-risk", table, masked, weights="printed", mechanism=method)
    # The slide's loss is not capped: zeros are left out, and other changes count in full.
    loss = float(sf.measure("information-loss", table, masked, zeros="leave-out"))
    parts = risk.detail["parts"]
    known = [parts[name] for name in ("RSLD", "DLD", "PLD", "ID")]
    return [loss, *known, (loss + risk.value) / 2]


def leaving(table: sf.Table, reach: int, rng: np.random.Generator) -> sf.Table:
    """Rank swapping by a walk that leaves a value alone where the partner drawn cannot be had."""
    series = []
    for name in table.names:
        x = table[name].to_numpy()
        order = np.lexsort((rng.random(x.size), x))
        taken, source = np.zeros(x.size, dtype=bool), np.arange(x.size)
        for i, step in enumerate(rng.integers(1, reach + 1, x.size)):
            other = i + int(step)
            if not taken[i] and other < x.size and not taken[other]:
                source[[i, other]] = other, i
                taken[[i, other]] = True
        swapped = np.empty_like(x)
        swapped[order] = x[order[source]]
        series.append(pl.Series(name, swapped))
    return table.with_columns(series)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--leave", action="store_true")
    given = parser.parse_args()
    leave = given.leave
    cells = [(f, p, s, leave) for f in SLIDE for p in SWAPS for s in range(given.seeds)]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        found = dict(zip(cells, pool.map(run, cells), strict=True))
    for file, printed in SLIDE.items():
        rows = []
        for p, slide in zip(SWAPS, printed, strict=True):
            draws = np.array([found[file, p, seed, leave] for seed in range(given.seeds)])
            means = draws.mean(axis=0)
            rows.append(
                [f"rs {p}"]
                + [f"{ours:.2f} ({theirs:.2f})" for ours, theirs in zip(means, slide, strict=True)]
            )
            spread = np.ptp(draws, axis=0)
            rows[-1].append(f"{spread.max():.2f}")
        print(show.table(
            f"{file}: ours, mean of seeds 0 to {given.seeds - 1} (the slide's)",
            ["", *FIGURES, "widest range over seeds"], rows,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
