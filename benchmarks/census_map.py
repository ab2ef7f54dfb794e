"""A risk-utility map of Census: every method of the textbook, many parameters, one front.

    python benchmarks/census_map.py [--draws 1] [--figure map.svg] [--data map.csv]

Risk is DR = DLD/4 + PLD/4 + ID/2, averaged over intruders who know the first one to seven
variables; loss is the five-part IL, capped. Both in percent; seed 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from casc import casc

import sfumato as sf

NAMES = casc("census").names
BLOCKS = [NAMES[0:3], NAMES[3:6], NAMES[6:9], NAMES[9:13]]
GRID: list[dict[str, Any]] = [
    {"use": "rank-swap", "p": [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]},
    {"use": "rank-swap-p-distribution", "p": [2, 5, 10, 20]},
    {"use": "rank-swap-p-buckets", "buckets": [50, 20, 10, 5]},
    {"use": "similar-value-swap", "correlation": [0.99, 0.975, 0.9]},
    {"use": "data-shuffling", "columns": NAMES},
    {"use": "uncorrelated-noise", "amount": [0.01, 0.05, 0.1, 0.2, 0.5]},
    {"use": "correlated-noise", "amount": [0.01, 0.05, 0.1, 0.2, 0.5]},
    {"use": "resampled-noise", "amount": [0.05, 0.1, 0.5]},
    {"use": "coloured-mixture-noise", "amount": [0.05, 0.1, 0.5]},
    {"use": "normal-score-noise", "amount": [0.01, 0.05, 0.1, 0.5]},
    {"use": "density-noise", "amount": [0.2, 0.5, 1.0]},
    {"use": "multiplicative-noise", "amount": [0.01, 0.04, 0.1]},
    {"use": "mdav", "k": [3, 5, 10, 20, 50]},
    {"use": "refine", "k": [3, 5, 10, 20]},
    {"use": "mdav", "k": [3, 10], "then": "micro-perturbation"},
    {"use": "mdav", "k": [3, 10], "then": "swap"},
    {"use": "mdav", "k": [5, 20], "then": "condensation"},
    *({"use": "microaggregation", "blocks": BLOCKS, "by": {"use": "mdav", "k": k}}
      for k in (3, 5, 10)),
    {"use": "individual-ranking", "k": [3, 5, 10, 20]},
    {"use": "rounding", "share": [0.25, 0.5, 1.0]},
    {"use": "resampling", "t": [1, 3]},
    {"use": "lossy-compression", "quality": [90, 50, 10], "order": "first-component"},
    {"use": "distribution-distortion"},
    {"use": "ipso", "columns": NAMES[:7], "given": NAMES[7:], "variant": ["A", "C"]},
]  # fmt: skip


def main() -> None:
    """The front, and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    found = sf.risk_utility_map(
        casc("census"), GRID, risk="disclosure-risk", loss="information-loss",
        draws=given.draws, seed=0,
    )  # fmt: skip
    print(f"{found.data.height} releases, {found.front.height} on the front")
    for row in found.front.iter_rows(named=True):
        print(f"  {row['label']:<48} IL {row['loss']:6.2f}  DR {row['risk']:6.2f}")
    for label, why in found.failed.items():
        print(f"not made: {label}: {why}")
    for path in (given.figure, given.data):
        if path is not None:
            found.save(path, "Census: disclosure risk against information loss, in percent")


if __name__ == "__main__":
    main()
