"""Controlled adjustment (L1, L2) of the CSPLIB instances, and controlled rounding of some tables.

    python benchmarks/tables_adjustment.py [--seconds 30] [names ...]

The lower protection level is the upper one, capped at what the bounds leave. A change is weighted
by 1 / value. The gap is what the method proved: of L1 by integer programming, of L2 by branch and
bound; "-" where nothing was proven.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from table_data import CSPLIB, as_table, csplib, synthetic, tau

from sfumato.errors import SfumatoError
from sfumato.tabular.perturbation.adjustment import ControlledAdjustment, moved_enough
from sfumato.tabular.perturbation.rounding import ControlledRounding
from sfumato.tabular.threats.problem import Problem

ROUNDED = {"targus": 1000.0, "table7": 500.0, "table8": 5.0, "hier13": 5.0, "dale": 5.0,
           "toysarah": 1e5, "cbs": 5.0, "osorio": 5.0, "table1": 1e4, "table3": 100.0}  # fmt: skip


def run(name: str, problem: Problem, method, label: str) -> None:
    begun = time.perf_counter()
    try:
        found = method.protect(as_table(problem), problem, np.random.default_rng(0))
    except SfumatoError as error:
        print(f"{name:16} {label:12} {time.perf_counter() - begun:8.1f} s  {error}", flush=True)
        return
    largest = np.maximum(np.abs(problem.values), np.abs(found.published))
    size = np.abs(problem.relations.matrix) @ largest
    off = float((np.abs(problem.relations.sums(found.published)) / np.maximum(size, 1e-300)).max())
    gap = "-" if found.gap is None else f"{found.gap:.2%}"
    more = ""
    if isinstance(method, ControlledAdjustment):
        more = f"all moved: {bool(moved_enough(problem, found.published).all())}"
        change = np.abs(found.published - problem.values) / np.maximum(np.abs(problem.values), 1)
        more += f", mean relative change {change.mean():.4f}"
    else:
        more = f"base {found.facts['base']:g}, steps {found.facts['steps']}"
    print(
        f"{name:16} {label:12} {problem.n:7,} cells {int(problem.primary.sum()):5,} sensitive  "
        f"objective {found.cost:14.6g}  gap {gap:>7}  {time.perf_counter() - begun:7.1f} s  "
        f"off {off:.0e}  {more}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--large", action="store_true", help="rounding of 100,000 cells too")
    parser.add_argument("names", nargs="*", default=CSPLIB)
    asked = parser.parse_args()
    for name in asked.names or CSPLIB:
        problem = csplib(name)
        for distance in ("L1", "L2"):
            method = ControlledAdjustment(
                excess=0, distance=distance, integer=False, seconds=asked.seconds
            )
            run(name, problem, method, distance)
        if name in ROUNDED:
            base = ROUNDED[name]
            run(name, problem, ControlledRounding(base=base, seconds=asked.seconds), "rounding")
    if asked.large:
        for name, problem in (
            ("tau, 3 dim.", tau("industry-size-region")),
            ("made up, 3 dim.", synthetic(((10, 10), (5, 8), (20,)), 300_000)),
        ):
            run(name, problem, ControlledRounding(base=100.0), "rounding")


if __name__ == "__main__":
    main()
