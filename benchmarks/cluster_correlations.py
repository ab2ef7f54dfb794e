"""Cluster indices beside averaged probabilistic loss over many masked files of Census.

    python benchmarks/cluster_correlations.py [--starts 5] [--warm]

The table of Torra's slides has the correlation of each index with aPIL over 215 masked files, 162
of them microaggregated; it does not name the files. Ours are as many: MDAV in blocks of 2 to 10
variables with k = 3 to 20 (162), rank swapping with p = 1 to 20, uncorrelated noise of 17 amounts
and lossy compression of 16 qualities. 15 clusters by k-means from the same random start, seed 0.
With --warm k-means on the masked file starts at the original's centres.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import show
from casc import casc

import sfumato as sf

INDICES = ("rand", "jaccard", "adjusted-rand", "wallace", "mantaras")
SLIDE = {
    "rand": (-0.79281, -0.86099),
    "jaccard": (-0.89094, -0.94859),
    "adjusted-rand": (-0.91609, -0.96114),
    "wallace": (-0.92559, -0.97593),
    "mantaras": (0.91617, 0.97216),
}


def files(names: list[str]) -> Iterator[tuple[bool, Any]]:
    """Whether a file is microaggregated, and the method that makes it."""
    for width in range(2, 11):
        blocks = [names[i : i + width] for i in range(0, len(names), width)]
        if len(blocks[-1]) == 1:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
        for k in range(3, 21):
            by = {"use": "mdav", "k": k}
            yield True, sf.method("microaggregation", blocks=blocks, by=by)
    for p in range(1, 21):
        yield False, sf.method("rank-swap", p=p)
    for amount in np.geomspace(0.001, 1.0, 17):
        yield False, sf.method("uncorrelated-noise", amount=float(amount))
    for quality in np.linspace(5, 95, 16):
        yield False, sf.method("lossy-compression", quality=round(float(quality)))


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    census = casc("census")
    rows = []
    for averaged, method in files(census.names):
        masked = sf.step(method).run(census, np.random.default_rng(0)).table
        found = sf.measure("cluster-loss", census, masked, starts=given.starts, warm=given.warm)
        indices = [found.detail["indices"][name] for name in INDICES]
        loss = sf.measure("probabilistic-loss", census, masked).value
        rows.append([averaged, *indices, loss])
    table = np.array(rows, dtype=float)
    lines = []
    for j, name in enumerate(INDICES, 1):
        cells = [name]
        for at, chosen in enumerate((table, table[table[:, 0] == 1])):
            ours = float(np.corrcoef(chosen[:, j], chosen[:, -1])[0, 1])
            cells.append(f"{ours:.3f} ({SLIDE[name][at]:.3f})")
        lines.append(cells)
    head = ["index", f"all {len(table)} files", f"{int(table[:, 0].sum())} microaggregated"]
    print(show.table("Correlation with aPIL, ours (the slide's)", head, lines))


if __name__ == "__main__":
    main()
