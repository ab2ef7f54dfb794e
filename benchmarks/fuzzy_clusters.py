"""Fuzzy clusters of Census after noise: the table of Torra's slides, ours beside it.

    python benchmarks/fuzzy_clusters.py [--variance]

Ten fuzzy clusters (m = 1.5) of the file with uncorrelated noise: d1 is the distance between the
cluster centres, d2 the sum of the squared changes of memberships, O.F. the objective function; two
executions, which differ in the random start alone. The slides do not say what the noise is a part
of: ours has that many tenths of a standard deviation, with --variance that share of the variances.
"""

from __future__ import annotations

import argparse

import numpy as np
import show
from casc import casc

import sfumato as sf

SLIDE = {
    0.0: ((3.21, 40.73, 2826.0), (3.93, 91.3, 2826)),
    0.1: ((3.21, 40.67, 2827.0), (3.97, 91.45, 2827)),
    0.2: ((3.17, 40.86, 2829.0), (3.94, 90.89, 2829)),
    0.4: ((0.32, 0.92, 2859.0), (4.07, 93.05, 2835)),
    0.6: ((3.28, 42.09, 2844.0), (6.92, 113.76, 2867)),
    0.8: ((3.48, 43.48, 2862.0), (4.19, 91.53, 2862)),
    1.0: ((3.55, 48.87, 2886.0), (4.37, 99.33, 2886)),
    1.2: ((2.24, 55.56, 2908.0), (2.75, 68.04, 2903)),
    1.4: ((1.44, 18.35, 2935.0), (4.53, 99.53, 2918)),
    1.6: ((2.27, 36.83, 2978.0), (6.98, 103.84, 2978)),
    1.8: ((2.71, 45.59, 3006.0), (4.68, 99.20, 2989)),
    2.0: ((4.24, 96.87, 3028.0), (2.70, 31.17, 3013)),
}
FIRST = (2851, 2829)
"""The objective function of the original in the two executions."""


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variance", action="store_true")
    given = parser.parse_args()
    census = casc("census")
    rows, originals = [], []
    for noise, printed in SLIDE.items():
        amount = noise if given.variance else (noise / 10) ** 2
        masked = census
        if noise:
            step = sf.method("uncorrelated-noise", amount=amount)
            masked = step.mask(census, np.random.default_rng(0)).table
        cells = [f"{noise:.1f}"]
        for seed, line in enumerate(printed):
            found = sf.measure("fuzzy-cluster-loss", census, masked, seed=seed)
            objective = found.detail["objective"]
            ours = (found.detail["d1"], found.detail["d2"] ** 2, objective["masked"])
            cells += [f"{a:.2f} ({b:g})" for a, b in zip(ours, line, strict=True)]
            originals.append(objective["original"])
        rows.append(cells)
    head = ["noise", *["d1", "d2", "O.F."] * 2]
    note = (
        f"O.F. of the original: {originals[0]:.0f} and {originals[1]:.0f} ({FIRST[0]}, {FIRST[1]})"
    )
    print(show.table("Fuzzy clusters of Census, ours (the slide's)", head, rows, note))


if __name__ == "__main__":
    main()
