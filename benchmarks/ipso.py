"""IPSO on EIA: how many records each linkage finds; the table of Torra's slides, ours beside it.

    python benchmarks/ipso.py [--seeds 5]

v1 to v10 are the ten revenues and sales; v1, v2, v7, v8 and v9 are masked together, given the other
five. The intruder knows one, three or all five of them. The slide's first block is what the fitted
values give, without any draw. Its headings of the two Mahalanobis distances are interchanged: the
thousands of links come from the covariance between the files, which takes the true alignment.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import show
from casc import casc

import sfumato as sf
from sfumato.release.plan.plan import Output, Plan

LINKAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "DBRL1": ("dbrl", {"distance": "standardized"}),
    "DBRL2": ("dbrl", {"distance": "standardized-difference"}),
    "Mahalanobis, linked": ("dbrl", {"distance": "mahalanobis-linked"}),
    "Mahalanobis": ("dbrl", {"distance": "mahalanobis"}),
    "KDBRL": ("dbrl", {"distance": "kernel"}),
    "PRL": ("prl", {}),
}
KNOWN = {"v1": [0], "v1 v7 v8": [0, 6, 7], "v1 v2 v7 v8 v9": [0, 1, 6, 7, 8]}
SLIDE = {
    "fitted": [(14, 9, 9, 9, 14, 8), (16, 15, 18, 9, 16, 16), (65, 121, 3206, 143, 63, 159)],
    "B": [(14, 9, 9, 9, 14, 8), (17, 15, 18, 8, 17, 16), (65, 120, 3194, 135, 62, 159)],
    "C": [(11, 11, 11, 11, 11, 10), (6, 6, 14, 8, 6, 5), (53, 53, 773, 46, 54, 93)],
}


def main() -> None:
    """The three blocks, and IPSO-A as its paper draws it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    eia = casc("eia").without(["UTILITYID"])
    names = eia.names
    masked = [names[i] for i in KNOWN["v1 v2 v7 v8 v9"]]
    given = [name for name in names if name not in masked]
    for variant in ("fitted", "A", "B", "C"):
        method = sf.method("ipso", variant=variant, columns=masked, given=given)
        draws = [0] if variant == "fitted" else range(seeds)
        plan = Plan(steps=(sf.step(method),), output=Output(shuffle=False))
        tables = [sf.protect(eia, plan, seed=seed, measures=()).table for seed in draws]
        rows = []
        for i, (label, places) in enumerate(KNOWN.items()):
            known = [names[j] for j in places]
            row = [label]
            for j, (measure, words) in enumerate(LINKAGES.values()):
                links = [
                    eia.height * float(sf.measure(measure, eia, table, columns=known, **words))
                    for table in tables
                ]
                printed = f" ({SLIDE[variant][i][j]})" if variant in SLIDE else ""
                row.append(f"{np.mean(links):.1f}{printed}")
            rows.append(row)
        title = f"IPSO, {variant}: links of {eia.height:,} (the slide's)"
        print(show.table(title, ["known", *LINKAGES], rows))


if __name__ == "__main__":
    main()
