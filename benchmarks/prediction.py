"""The three prediction measures by size: seconds and memory, beside three nearest-neighbour tools.

    python benchmarks/prediction.py [--records 100000] [--peers 5000]

n originals against n released records of 28 columns made like those of a health survey: 15 yes/no
answers and 13 laboratory values, log-normal and correlated through six common factors. All of them
are predicted, none sampled. Peers find the five nearest only, for `--peers` originals against the
whole release, and are scaled up: scikit-learn by brute force and by k-d tree, and SciPy's cKDTree,
each on all cores. Figures of the peers' distances are compared with ours. The kernel is compiled
before the clock starts.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import show
from scipy.spatial import cKDTree
from scipy.stats import norm
from sklearn.neighbors import NearestNeighbors

from sfumato.kernels.neighbours.prediction import predictions

ANSWERS, LABS, FACTORS, K = 15, 13, 6, 5
LIMIT, LIMIT_GIB = 60.0, 4.0


def survey(n: int, seed: int) -> np.ndarray:
    """Encoded records: answers at -1 and +1, standardized logarithms of laboratory values."""
    shape, rng = np.random.default_rng(7), np.random.default_rng(seed)
    loads = shape.normal(size=(ANSWERS + LABS, FACTORS)) / 2
    loads /= np.sqrt((loads**2).sum(axis=1) + 1)[:, None]
    own = np.sqrt(1 - (loads**2).sum(axis=1))
    z = rng.normal(size=(n, FACTORS)) @ loads.T + rng.normal(size=(n, ANSWERS + LABS)) * own
    share = norm.ppf(shape.uniform(0.08, 0.5, size=ANSWERS))
    return np.hstack([np.where(z[:, :ANSWERS] < share, 1.0, -1.0), z[:, ANSWERS:]])


def timed(task: Callable[[], np.ndarray]) -> tuple[float, float, np.ndarray]:
    """Seconds, processor seconds and what was found."""
    begun, cpu = time.perf_counter(), time.process_time()
    found = task()
    return time.perf_counter() - begun, time.process_time() - cpu, found


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--peers", type=int, default=5_000)
    given = parser.parse_args()
    n, few = given.records, min(given.peers, given.records)
    targets, release = survey(n, 0), survey(n, 1)
    predictions(targets[:10], release[:100], K)
    wall, cpu, distance = timed(lambda: predictions(targets, release, K).distance)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = [["sfumato, all three measures", f"{wall:.1f}", f"{cpu:.1f}", "", ""]]
    d = targets.shape[1]

    def sklearn(algorithm: str) -> np.ndarray:
        tree = NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=-1).fit(release)
        return np.asarray(tree.kneighbors(targets[:few])[0])

    peers = {
        "scikit-learn brute force": lambda: sklearn("brute"),
        "scikit-learn k-d tree": lambda: sklearn("kd_tree"),
        "SciPy cKDTree": lambda: np.asarray(
            cKDTree(release).query(targets[:few], k=K, workers=-1)[0]
        ),
    }
    for name, task in peers.items():
        wall_peer, cpu_peer, found = timed(task)
        apart = np.abs(found[:, 0] / np.sqrt(d) - distance[:few]).max()
        wall_peer, cpu_peer = wall_peer * n / few, cpu_peer * n / few
        rows.append(
            [name, f"{wall_peer:.1f}", f"{cpu_peer:.1f}", f"{cpu_peer / cpu:.1f}", f"{apart:.1e}"]
        )
    header = ["tool", "seconds", "processor seconds", "times ours", "largest difference"]
    print(show.table(f"{n:,} against {n:,} records, {d} columns, k = {K}", header, rows))
    print(f"\nmemory at its peak {peak:.2f} GiB of {LIMIT_GIB:g}, limit {LIMIT:g} s")


if __name__ == "__main__":
    main()
