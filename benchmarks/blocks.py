"""What `blocks` lose beside the whole: the share of cells that local-suppression takes out.

    python benchmarks/blocks.py [--records 20000 200000] [--blocks 0 5000 1000] [--seeds 0 1 2 3 4]

The records are generated (`generate.py`: eight quasi-identifiers, numbers and text), others for
each seed. Everything is compiled before the first is timed.
"""

from __future__ import annotations

import argparse
import time

import generate
import polars as pl

import sfumato as sf


def share(table: sf.Table, k: int, blocks: int) -> float:
    """The share of cells that are suppressed."""
    step = sf.method("local-suppression", k=k, blocks=blocks)
    return float(step.mask(table, None).facts["share of cells"])


def people(records: int, seed: int) -> sf.Table:
    """Generated records, all of their columns quasi-identifiers."""
    frame = pl.from_arrow(generate.adult_like(records, "mixed", seed))
    return sf.table(frame, quasi=list(generate.COLUMNS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--blocks", type=int, nargs="+", default=[0, 5_000, 1_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("-k", type=int, default=3)
    args = parser.parse_args()
    share(people(2_000, 0), args.k, 500)
    for records in args.records:
        tables = [people(records, seed) for seed in args.seeds]
        for blocks in args.blocks:
            begun = time.process_time()
            found = [share(table, args.k, blocks) for table in tables]
            took = (time.process_time() - begun) / len(tables)
            each = " ".join(f"{one:.2%}" for one in found)
            mean = sum(found) / len(found)
            print(f"{records:>9,} blocks {blocks:>6,}: {each}  mean {mean:.2%}  {took:.1f} CPU s")


if __name__ == "__main__":
    main()
