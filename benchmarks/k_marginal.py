"""Random samples of national2019 scored by `marginals`, beside SDNist's reports.

    python benchmarks/k_marginal.py [--draws 20]

Every line has the score that SDNist 2.5 reports (one draw of theirs), the mean of ours, the
standard deviation of one draw, and the CPU seconds of one measurement.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

import sfumato as sf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.golden.test_marginals import SCORES, TEN, national


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    target = national(Path(os.environ.get("SFUMATO_DATA", beside)) / "acs_excerpts")
    print("features  percent  SDNist    mean     sd   CPU s")
    for features, shares in SCORES.items():
        chosen = target.select(TEN if features == 10 else target.columns)
        group = "" if features == 10 else "PUMA"
        for percent, reported in shares.items():
            scores = []
            start = time.process_time()
            for seed in range(draws):
                rng = np.random.default_rng(seed)
                size = round(chosen.height * percent / 100)
                rows = rng.choice(chosen.height, size, replace=False)
                loss = sf.measure("marginals", chosen, chosen[rows], align="none", group=group)
                scores.append(1000.0 * (1.0 - loss.value))
            spent = (time.process_time() - start) / draws
            figures = f"{np.mean(scores):6.1f}  {np.std(scores):5.1f}  {spent:6.3f}"
            print(f"{features:8}  {percent:6}%  {reported:6}  {figures}")


if __name__ == "__main__":
    main()
