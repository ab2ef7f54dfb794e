"""Who took part, told by scores that meet again: svd-swap by permutation and by tree.

    .venv/bin/python benchmarks/tree_members.py

2,000 records of NHANES and of national2019, and as many other people, seeds 0 to 2. The intruder
knows whole records and looks on the release's own components how near a released score comes to a
person's (single scores), and how near a pair of scores that are neighbours in the release's tree
(pairs). AUC: how often a participant has a smaller mean log distance than another person.
"""

from __future__ import annotations

import numpy as np
import show
from casc import data_folder
from gate_power import files
from scipy.spatial import cKDTree
from spectral_spaces import drawn

import sfumato as sf
from sfumato.data.points.encoding import Encoding
from sfumato.kernels.spectral.basis import spectral_basis
from sfumato.kernels.spectral.component_tree import parents
from sfumato.kernels.statistics.auc import auc_of_small
from sfumato.rng import stream


def nearness(people: np.ndarray, released: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """The summed logarithms of distances to the nearest released point, group by group."""
    found = np.zeros(len(people))
    for one in groups:
        found += np.log(cKDTree(released[:, one]).query(people[:, one])[0] + 1e-4)
    return found


def main() -> None:
    """Print the table."""
    rows = []
    for name, frame in files(data_folder()):
        if name == "national2019, 10":
            continue
        for by in ("permutation", "tree"):
            for smooth in (0, 50):
                taken = []
                for seed in range(3):
                    people, others, _ = drawn(frame, seed)
                    encoding = Encoding.of(people, people.names)
                    x, strange = encoding.encode(people), encoding.encode(others)
                    method = sf.method("svd-swap", by=by, smooth=smooth)
                    made = method.swapped(x, stream(seed, 5, by)).values
                    basis = spectral_basis(made)
                    mine, theirs, shown = (
                        (z - basis.mean) @ basis.axes / basis.scale * np.sqrt(len(z))
                        for z in (x, strange, made)
                    )
                    pairs = [[a, b] for a, b in parents(shown) if b >= 0]
                    ways = ([[j] for j in range(shown.shape[1])], pairs)
                    took_part = np.repeat([1.0, 0.0], [len(mine), len(theirs)])
                    both = np.vstack([mine, theirs])
                    taken.append([auc_of_small(nearness(both, shown, w), took_part) for w in ways])
                cells = [
                    f"{low:.2f}-{high:.2f}"
                    for low, high in zip(np.min(taken, 0), np.max(taken, 0), strict=True)
                ]
                rows.append([name, by, str(smooth), *cells])
    header = ["data", "by", "smooth", "single scores", "pairs"]
    print(show.table("AUC of participants against others, least and largest seed", header, rows))


if __name__ == "__main__":
    main()
