"""Searches on a GPU beside the CPU: seconds, what bounds them, and whether both find the same.

    python benchmarks/gpu.py [--only nearest ...] [--json build/gpu.json] [--keep]
    NUMBA_ENABLE_CUDASIM=1 python benchmarks/gpu.py --quick

It needs numpy, scipy, numba and numba-cuda alone (PYTHONPATH=src). Every search runs at its full
size on the GPU, three times, from arrays in the host's memory to arrays there; the median counts.
A first call on few records, which compiles, is told apart. Then both search 100,000 records in
full, and every distance, index and count is compared.

The ceilings are measured in the same run: a copy within the card's memory, a kernel of nothing but
multiplications with additions, and a copy from the host. What a search multiplied and read is
counted on the card; of the ceiling that it comes nearest to its share is told, for the whole call.
`--keep` writes what was measured of several sizes where `device = "auto"` reads it. `--quick`
compares few records on numba's simulator, whose seconds mean nothing and are not told.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from sfumato.kernels import device
from sfumato.kernels.device import working_on
from sfumato.kernels.gpu import _card
from sfumato.kernels.gpu import mdav as card_mdav
from sfumato.kernels.gpu import v_mdav as card_v_mdav
from sfumato.kernels.gpu._exact import SIMULATED
from sfumato.kernels.micro.mdav import mdav
from sfumato.kernels.micro.v_mdav import v_mdav
from sfumato.kernels.neighbours.linkage import nearest
from sfumato.kernels.neighbours.nearest_k import nearest_k
from sfumato.kernels.neighbours.own_rank import own_rank
from sfumato.kernels.neighbours.prediction import predictions

ROOT = Path(__file__).resolve().parents[1]
IN_FULL = 100_000
K = 5


def files(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of no structure, and the same with noise of half their deviation."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    return x, x + 0.5 * rng.normal(size=(n, d))


def linked(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    a, b = files(n, d)
    return lambda: nearest(a, b, own=np.arange(n))


def ranked(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    a, b = files(n, d)
    return lambda: own_rank(a, b, np.arange(n))


def neighbours(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    a, b = files(n, d)
    return lambda: nearest_k(a, b, K)


def predicted(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    a, b = files(n, d)
    return lambda: predictions(a, b, K)


def taken_part(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    """Participants and others, both predicted from a release."""
    a, b = files(n, d)
    others = np.random.default_rng(1).normal(size=(n, d))
    return lambda: [*predictions(a, b, K), *predictions(others, b, K)]


def grouped(n: int, d: int, k: int) -> Callable[[], Sequence[np.ndarray]]:
    x, none = files(n, d)[0], np.empty((n, 0), np.int32)
    return lambda: [mdav(x, none, [], k)]


def grown(n: int, d: int) -> Callable[[], Sequence[np.ndarray]]:
    x = files(n, d)[0]
    return lambda: [v_mdav(x, K, 0.2)]


class Row(NamedTuple):
    """One search."""

    name: str
    make: Callable[[int, int], Callable[[], Sequence[np.ndarray]]]
    n: int
    d: int
    goal: float | None
    """seconds on one H200"""


ROWS = (
    Row("linkage", linked, 1_000_000, 10, 1.5),
    Row("linkage", linked, 1_000_000, 50, 5.0),
    Row("own-rank", ranked, 1_000_000, 10, 1.5),
    Row("own-rank", ranked, 1_000_000, 50, 5.0),
    Row("prediction", predicted, 1_000_000, 28, 4.0),
    Row("mdav, k = 3", partial(grouped, k=3), 1_000_000, 10, 10.0),
    Row("mdav, k = 5", partial(grouped, k=5), 1_000_000, 50, 20.0),
    Row("v-mdav, k = 5", grown, 1_000_000, 10, None),
    Row("non-participation", taken_part, 100_000, 28, 5.0),
)
WORKS = {
    "nearest": linked,
    "nearest-k": neighbours,
    "own-rank": ranked,
    "mdav": partial(grouped, k=K),
    "v-mdav": grown,
}
"""What `device = "auto"` decides, each with a search that is that work and little else."""


class Ceilings(NamedTuple):
    """What this machine reaches at most."""

    products: float
    """multiplications with additions in single precision, a second"""
    memory: float
    """bytes read and written in the card's memory, a second"""
    host: float
    """bytes from the host to the card, a second"""


def on(where: device.Device, work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and what was found; it ends where the GPU did not do what it was to do."""
    with working_on(where) as said:
        begun = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - begun
    if said:
        sys.exit(f"the GPU did not do it: {said}")
    return seconds, found


def same(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    """Bit by bit."""
    return all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in zip(one, other, strict=True)
    )


@cuda.jit
def _multiply(out: Any, rounds: int) -> None:
    i = cuda.grid(1)
    x = np.float32(i) * np.float32(1e-9)
    a = b = c = d = e = f = g = h = x
    for _ in range(rounds):
        a = a * x + x
        b = b * x + x
        c = c * x + x
        d = d * x + x
        e = e * x + x
        f = f * x + x
        g = g * x + x
        h = h * x + x
    out[i] = a + b + c + d + e + f + g + h


def ceilings() -> Ceilings:
    """Each the best of five."""

    def best(work: Callable[[], Any]) -> float:
        work()
        cuda.synchronize()
        taken = []
        for _ in range(5):
            begun = time.perf_counter()
            work()
            cuda.synchronize()
            taken.append(time.perf_counter() - begun)
        return min(taken)

    size, rounds = 1 << 22, 4096
    out = cuda.device_array(size, np.float32)
    products = 8 * size * rounds / best(lambda: _multiply[size // 256, 256](out, rounds))
    here = np.ones(1 << 27)
    source, target = cuda.to_device(here), cuda.device_array(here.size)
    memory = 2 * here.nbytes / best(lambda: target.copy_to_device(source))
    host = here.nbytes / best(lambda: target.copy_to_device(here))
    return Ceilings(products, memory, host)


def floor(meter: _card.Meter, most: Ceilings) -> tuple[str, float]:
    """What takes longest at the ceilings, and the seconds that it takes there."""
    floors = {
        "arithmetic": meter.products / most.products,
        "the card's memory": meter.read / most.memory,
        "copies from and to the host": (meter.sent + meter.fetched) / most.host,
    }
    name = max(floors, key=lambda one: floors[one])
    return name, floors[name]


def measured(row: Row, most: Ceilings | None, quick: bool) -> dict[str, Any]:
    """One line of the table."""
    n = 24 if quick else row.n
    full = min(n, 24 if quick else IN_FULL)
    first, _ = on("gpu", row.make(min(n, 1000), row.d))
    work = row.make(n, row.d)
    with _card.metered() as meter:
        on("gpu", work)
    line: dict[str, Any] = {
        "work": row.name,
        "records": n,
        "columns": row.d,
        "goal": row.goal,
        "sent": meter.sent,
        "fetched": meter.fetched,
        "products": meter.products,
        "loaded": meter.loaded + meter.read,
        "scored": meter.products / (float(n) ** 2 * row.d),
    }
    both = row.make(full, row.d)
    seconds, found = on("gpu", both)
    cpu, right = on("cpu", both)
    line |= {"compared": full, "same": same(found, right)}
    if most is not None:
        taken = median(on("gpu", work)[0] for _ in range(3))
        name, least = floor(meter, most)
        near = least > taken / 2
        line |= {
            "first": first,
            "seconds": taken,
            "share": least / taken,
            "bound by": name if near else f"the host and waiting, then {name}",
            "gpu there": seconds,
            "cpu there": cpu,
        }
    return line


def shown(lines: list[dict[str, Any]]) -> str:
    """The table."""
    head = ["work", "records", "columns", "scored of all pairs", "sent MB", "fetched MB",
            "loaded GB"]  # fmt: skip
    timed = bool(lines) and "seconds" in lines[0]
    if timed:
        head += ["GPU s", "goal s", "first call s", "share of its ceiling", "bound by"]
    head += ["compared", "same"] + (["GPU s there", "CPU s there"] if timed else [])
    rows = [head, ["---"] * len(head)]
    for one in lines:
        pairs = f"{one['scored']:.3f}" if one["products"] else ""
        row = [one["work"], f"{one['records']:,}", str(one["columns"]), pairs,
               f"{one['sent'] / 1e6:,.1f}", f"{one['fetched'] / 1e6:,.1f}",
               f"{one['loaded'] / 1e9:,.1f}"]  # fmt: skip
        if timed:
            row += [f"{one['seconds']:.2f}", str(one["goal"] or ""), f"{one['first']:.1f}",
                    f"{one['share']:.0%}", one["bound by"]]  # fmt: skip
        row += [f"{one['compared']:,}", "yes" if one["same"] else "NO"]
        if timed:
            row += [f"{one['gpu there']:.2f}", f"{one['cpu there']:.2f}"]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lines_of_seconds() -> dict[str, dict[str, list[float]]]:
    """By work, the line through the logarithms of seconds, for each device."""
    found: dict[str, dict[str, list[float]]] = {}
    for work, make in WORKS.items():
        terms, cpu, gpu = [], [], []
        for n in (3_000, 10_000, 30_000, 100_000):
            for d in (2, 5, 10, 28, 50):
                search = make(n, d)
                on("gpu", search)
                terms.append([1.0, np.log(n), np.log(n), np.log(d), np.log(K)])
                gpu.append(np.log(median(on("gpu", search)[0] for _ in range(3))))
                cpu.append(np.log(on("cpu", search)[0]))
        # Sizes of both files went up together: the shortest solution shares the slope among them.
        line = [np.linalg.lstsq(np.array(terms), np.array(y), rcond=None)[0] for y in (cpu, gpu)]
        found[work] = {"cpu": line[0].tolist(), "gpu": line[1].tolist()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", help="names of searches")
    parser.add_argument("--json", type=Path, help="file that gets all numbers")
    parser.add_argument("--quick", action="store_true", help="few records, on numba's simulator")
    parser.add_argument("--keep", action="store_true", help='write what "auto" decides by')
    given = parser.parse_args()
    if given.quick != SIMULATED:
        sys.exit("--quick and NUMBA_ENABLE_CUDASIM=1 go together")
    if reason := _card.why_none():
        sys.exit(f"nothing to measure: {reason}")
    fit: Any = nullcontext()
    if given.quick:
        card_mdav.FEW = card_v_mdav.FEW = 0  # else so few rows are all left to the CPU
        sys.path.insert(0, str(ROOT))
        from tests.kernels.gpu.simulator import fit as made_fit

        fit = made_fit()
    with fit:
        most = None if given.quick else ceilings()
        rows = [row for row in ROWS if not given.only or row.name in given.only]
        lines = []
        for row in rows:
            lines.append(measured(row, most, given.quick))
            print(shown(lines[-1:]), file=sys.stderr, flush=True)
    told = {"card": _card.name(), "ceilings": most and most._asdict(), "rows": lines}
    print(f"{told['card']}, ceilings {told['ceilings']}\n\n{shown(lines)}")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(told, indent=1))
    if given.keep and not given.quick:
        lines_by_work = {"card": _card.name(), "works": lines_of_seconds()}
        device.MEASURED.write_text(json.dumps(lines_by_work, indent=1) + "\n")
    if not all(one["same"] for one in lines):
        sys.exit("the GPU and the CPU differ")


if __name__ == "__main__":
    main()
