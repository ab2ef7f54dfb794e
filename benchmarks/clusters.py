"""Microaggregation and k-means on Census: the table of Torra's slides, ours beside it.

    python benchmarks/clusters.py [--seeds 5] [--warm]

Census by MDAV in blocks of three variables (the last of four), k = 3 to 9; 15 clusters by k-means,
compared with those of the original; averaged probabilistic information loss (aPIL); in the last row
the correlation of each index with aPIL over the seven files. K-means stops at local optima: ours is
the best of ten starts, the mean over seeds, and the row "the same file" is the original beside
itself from other starts. With --warm k-means on the masked file starts at the original's centres.
"""

from __future__ import annotations

import argparse

import numpy as np
import show
from casc import casc

import sfumato as sf

INDICES = ("rand", "jaccard", "adjusted-rand", "wallace", "mantaras")
SLIDE = {
    3: (0.943, 0.454, 0.594, 0.625, 0.416, 15.189),
    4: (0.943, 0.464, 0.602, 0.633, 0.425, 19.325),
    5: (0.936, 0.406, 0.542, 0.577, 0.472, 22.724),
    6: (0.936, 0.408, 0.545, 0.580, 0.473, 25.760),
    7: (0.929, 0.367, 0.499, 0.537, 0.500, 28.750),
    8: (0.933, 0.402, 0.538, 0.574, 0.479, 31.185),
    9: (0.925, 0.359, 0.488, 0.528, 0.513, 33.883),
}
CORRELATIONS = (-0.930, -0.882, -0.887, -0.882, 0.931, 1.000)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    seeds, warm = range(given.seeds), given.warm
    census = casc("census")
    names = census.names
    blocks = [names[0:3], names[3:6], names[6:9], names[9:13]]
    ours: dict[int, list[float]] = {}
    same: list[list[float]] = []
    for k in SLIDE:
        search = sf.method("microaggregation", blocks=blocks, by={"use": "mdav", "k": k})
        release = sf.protect(census, search, seed=0, measures=())
        runs = [release.measure("cluster-loss", starts=10, warm=warm, seed=seed) for seed in seeds]
        means = [float(np.mean([run.detail["indices"][i] for run in runs])) for i in INDICES]
        ours[k] = [*means, float(release.measure("probabilistic-loss"))]
    for seed in seeds:
        here, there = (
            sf.measure("cluster-loss", census, census, starts=10, seed=10 * seed + s, index="rand")
            for s in (0, 1)
        )
        same.append([1 - float(here.baseline or 0), 1 - float(there.baseline or 0)])
    rows = [
        [f"k={k}"] + [f"{a:.3f} ({b:.3f})" for a, b in zip(ours[k], SLIDE[k], strict=True)]
        for k in SLIDE
    ]
    table = np.array([ours[k] for k in SLIDE])
    correlation = [float(np.corrcoef(table[:, j], table[:, -1])[0, 1]) for j in range(6)]
    rows.append(
        ["correlation with aPIL"]
        + [f"{a:.3f} ({b:.3f})" for a, b in zip(correlation, CORRELATIONS, strict=True)]
    )
    print(show.table("ours (the slide's)", ["", *INDICES, "aPIL"], rows))
    print(f"\nThe same file from other starts: Rand index {np.mean(same):.3f} on average.")


if __name__ == "__main__":
    main()
