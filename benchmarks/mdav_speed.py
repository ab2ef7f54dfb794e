"""Exact MDAV: seconds and memory by size, beside the naive oracle of the tests.

    python benchmarks/mdav_speed.py [--sizes 10000 100000 1000000] [--k 5] [--naive-limit 60]

Records are standard normal with ten columns (seed 0). Every size runs in a process of its own, in
which a small call has loaded the compiled kernels; only the call of `mdav` is timed. Memory is the
largest resident set minus what was resident when the input and the kernels were there.

The oracle computes every distance to every record that is left. It gets more records as long as the
next run should stay below the limit, given that its time grows with the square; the last one is
shown, with the kernel's time for the same records. The ratio is of processor times. The command
fails if the groups differ.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

from gauge import MIB, Gauge

COLUMNS = 10
FIRST = 1_000
ROOT = Path(__file__).resolve().parents[1]


def _records(n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).normal(size=(n, COLUMNS)), np.empty((n, 0), np.int32)


def _kernel(n: int, k: int) -> tuple[Gauge, Any]:
    from sfumato.kernels.micro.mdav._search import mdav

    mdav(*_records(max(FIRST, 2 * k)), [], k)
    x, codes = _records(n)
    gauge = Gauge()
    with gauge:
        found = mdav(x, codes, [], k)
    return gauge, found


def _work(n: int, k: int) -> None:
    """The kernel alone, in this process; tells its parent."""
    gauge, found = _kernel(n, k)
    gauge.report(groups=int(found.max()) + 1)


def _work_naive(n: int, k: int) -> None:
    """The oracle and the kernel on the same records, in this process; tells its parent."""
    import numpy as np

    sys.path.insert(0, str(ROOT))
    from tests.oracle.mdav import mdav as oracle

    kernel, found = _kernel(n, k)
    x, codes = _records(n)
    gauge = Gauge()
    with gauge:
        expected = oracle(x, codes, np.empty(0), k)
    gauge.report(
        same=bool(found.tolist() == expected), kernel_wall=kernel.wall, kernel_cpu=kernel.cpu
    )


def _ask(kind: str, n: int, k: int) -> dict[str, Any]:
    """Run one worker and read what it tells."""
    command = [sys.executable, __file__, "--worker", kind, "--sizes", str(n), "--k", str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{kind} with {n} records failed:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def _show(*cells: str) -> None:
    print("".join(f"{cell:>13}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument(
        "--naive-limit", type=float, default=60.0, help="seconds for the oracle; 0 leaves it out"
    )
    parser.add_argument("--worker", choices=["kernel", "naive"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work = _work if given.worker == "kernel" else _work_naive
        work(given.sizes[0], given.k)
        return

    print(f"exact MDAV, standard normal records of {COLUMNS} columns, k = {given.k}\n")
    _show("records", "k", "wall s", "CPU s", "peak MiB", "groups")
    for n in given.sizes:
        told = _ask("kernel", n, given.k)
        peak = f"{told['peak'] / MIB:,.0f}"
        _show(
            f"{n:,}", f"{given.k}", f"{told['wall']:.3f}", f"{told['cpu']:.3f}", peak,
            f"{told['groups']:,}",
        )  # fmt: skip
    if given.naive_limit <= 0:
        return

    n = FIRST * -(-2 * given.k // FIRST)
    told = _ask("naive", n, given.k)
    while told["same"]:
        growth = min(4.0, math.sqrt(0.8 * given.naive_limit / told["wall"]))
        if growth < 1.2:
            break
        n = int(n * growth) // FIRST * FIRST
        told = _ask("naive", n, given.k)
    print("\nbeside the naive oracle\n")
    _show("records", "k", "naive s", "naive CPU s", "MDAV s", "MDAV CPU s", "ratio", "groups")
    _show(
        f"{n:,}", f"{given.k}", f"{told['wall']:.2f}", f"{told['cpu']:.2f}",
        f"{told['kernel_wall']:.3f}", f"{told['kernel_cpu']:.3f}",
        f"{told['cpu'] / told['kernel_cpu']:,.0f}", "the same" if told["same"] else "DIFFERENT",
    )  # fmt: skip
    if not told["same"]:
        raise SystemExit("the kernel's groups are not those of the oracle")


if __name__ == "__main__":
    main()
