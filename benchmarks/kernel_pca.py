"""Kernel PCA utility at 100,000 records: time, memory, and Nystrom beside exact components.

Records are drawn from the NHANES extract with replacement and blurred a little, so that there are
as many as wanted with the survey's columns; the release is another such draw.

    python benchmarks/kernel_pca.py [--records 100000] [--data ../shared/data/nhanes]
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.kernels.spectral.kernel_pca import Kernel, drawn_landmarks, kernel_components

BINARY = 15
"""The first columns have two values, the others are laboratory values."""


def population(frame: pl.DataFrame, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """n records like those of the frame."""
    x = frame.to_numpy().astype(float)[rng.integers(0, frame.height, n)]
    x[:, BINARY:] *= np.exp(rng.normal(0, 0.02, (n, x.shape[1] - BINARY)))
    return pl.DataFrame(x, schema=frame.columns)


def accuracy(frame: pl.DataFrame) -> None:
    """How far the shares of Nystrom's components are from the exact ones, at 5,000 records."""
    x = frame.to_numpy().astype(float)[:5000]
    z = np.hstack([2 * x[:, :BINARY] - 1, np.log(x[:, BINARY:])])
    centre, spread = z[:, BINARY:].mean(axis=0), z[:, BINARY:].std(axis=0)
    z[:, BINARY:] = (z[:, BINARY:] - centre) / spread
    for kind in ("polynomial", "exponential", "gaussian"):
        kernel = Kernel.of(kind, z)  # type: ignore[arg-type]
        start = time.perf_counter()
        exact = kernel_components(z, kernel, 20)
        print(f"{kind}: exact {time.perf_counter() - start:.1f} s")
        for m in (300, 1000):
            rng = np.random.default_rng(1)
            ways = {
                "by length": drawn_landmarks(z, kernel, m, rng),
                "evenly": rng.choice(len(z), m, replace=False),
            }
            for way, rows in ways.items():
                start = time.perf_counter()
                near = kernel_components(z, kernel, 20, landmarks=rows)
                off = np.abs(near.share / exact.share - 1).max()
                print(
                    f"  {m:5d} landmarks {way:9s} {time.perf_counter() - start:6.1f} s   "
                    f"shares differ by at most {off:.1%}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/nhanes"))
    parser.add_argument("--skip-accuracy", action="store_true")
    given = parser.parse_args()
    frame = pl.read_csv(given.data / "nhanes_adults_28.csv").drop("seqn")
    rng = np.random.default_rng(0)
    original, release = (population(frame, given.records, rng) for _ in range(2))
    start = time.perf_counter()
    found = sf.measure("kernel-pca", original, release, align="none", log="positive")
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{given.records:,} x {frame.width}: {took:.1f} s, {peak:.2f} GiB at most; "
        f"D {found.value:.4f}, "
        f"{found.detail['components'][-1]['cumulative']:.0%} of the variance"
    )
    if not given.skip_accuracy:
        accuracy(frame)


if __name__ == "__main__":
    main()
