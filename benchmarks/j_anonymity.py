"""j-anonymity audited: a tenth of a known population is released, and every record is counted.

    python benchmarks/j_anonymity.py --data DATA [--seeds 5] [--k 5]

For Adult (all records are the population) and for a generated register. Beside it: how often the
prediction is right by what it states, and k-anonymity of the sample itself as one would have to
force it without a prediction.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.anonymity.population.j_anonymity import JAnonymity
from sfumato.anonymity.population.j_audit import audit_j_anonymity
from sfumato.models.augmented import axes_of, read
from sfumato.models.population_counts import Levels, PopulationCounts
from sfumato.models.records import Records
from sfumato.poset.trees.sources import Bins, Hierarchy, Prefix

QUASI = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)
STATED = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0)


def populations(data: Path | None, quick: bool) -> Iterator[tuple[str, sf.Table]]:
    """Name and table of each population."""
    if data is not None and (data / "adult" / "adult.csv").exists():
        home = data / "adult"
        frame = pl.read_csv(home / "adult.csv", separator=";")
        posets = {q: Hierarchy(path=str(home / f"adult_hierarchy_{q}.csv")) for q in QUASI}
        yield "Adult", sf.table(frame.select(QUASI), quasi=list(QUASI), posets=posets)
    register = sf.generators.hospital(5_000 if quick else 50_000, seed=1)
    year = register["birth_date"].dt.year().alias("born")
    frame = register.frame.select("sex", "zip", "admission_type").with_columns(year)
    edges = tuple(tuple(range(1900, 2041, step)) for step in (5, 10, 20))
    posets = {"zip": Prefix(lengths=(5, 3, 1)), "born": Bins(edges=edges)}
    frame = frame.with_columns(pl.col("admission_type").cast(pl.String))
    yield "register", sf.table(frame, kinds={"zip": "nominal"}, quasi=frame.columns, posets=posets)


def calibration(
    population: sf.Table, sample: sf.Table, k: int
) -> list[tuple[float, float, int, float, float]]:
    """For records as they are: what was stated, and how often k people were there."""
    # A small sample lacks values that people have.
    axes = axes_of(sample, sample.schema.quasi, population, missing=True)
    records = Records.of([read(axis, sample) for axis in axes])
    counts = PopulationCounts(records, population.height, k=k)
    plain = Levels(np.zeros_like(counts.states), counts.states)
    stated = counts.chances(plain, counts.part)[records.which]
    # Counted by the states of the network: a number in a bin, a ZIP at a coarser level.
    people = np.column_stack([read(axis, population).codes[:, 0] for axis in axes])
    both = np.vstack([counts.states[records.which], people])
    _, which = np.unique(both, axis=0, return_inverse=True)
    which = which.reshape(-1)
    n = records.which.size
    true = np.bincount(which[n:], minlength=which.max() + 1)[which[:n]] >= k
    known = counts.in_sample(plain)[records.which] >= k
    out = []
    for low, high in pairwise(STATED):
        here = (stated >= low) & (stated < high if high < 1 else stated <= 1) & ~known
        if here.sum() >= 10:
            found = float(stated[here].mean()), float(true[here].mean())
            out.append((low, high, int(here.sum()), *found))
    return out


def main() -> None:
    """Print one line for each seed, and what was stated beside what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    for name, population in populations(given.data, given.quick):
        print(f"\n{name}: {population.height:,} people, k = {given.k}, {given.share:.0%} released")
        n = int(population.height * given.share)
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            sample = population.take(np.sort(rng.choice(population.height, n, replace=False)))
            start = time.perf_counter()
            method = JAnonymity(k=given.k, population=population.height)
            found = method.mask(sample, rng)
            seconds = time.perf_counter() - start
            audit = audit_j_anonymity(population, found.table, k=given.k)
            ncp = sf.measure("ncp", sample, found.table).value
            forced = sf.step(sf.method("mondrian", k=given.k), then="generalize")
            other = sf.measure("ncp", sample, forced.run(sample, rng).table).value
            print(
                f"seed {seed}: {audit}; as is {audit.plain.mean():.1%} "
                f"(error {audit.error_as_is:.2%}), suppressed {audit.suppressed.mean():.2%}, "
                f"overdispersion {found.facts['overdispersion']}, NCP {ncp:.4f} "
                f"(mondrian on the sample {other:.4f}), {seconds:.1f} s"
            )
            if seed == 0:
                for low, high, count, stated, true in calibration(population, sample, given.k):
                    print(
                        f"  stated {low:.2f} to {high:.2f}: {count:5,} records, "
                        f"mean stated {stated:.3f}, true {true:.3f}"
                    )


if __name__ == "__main__":
    main()
