"""Large cubes: seconds and memory of protection and audit.

    .venv/bin/python benchmarks/tables_scale.py [--seed 0] [--only hypercube]

The cubes are made up (`table_data.sparse_cube`): three dimensions, two of them hierarchical, about
2 % of the non-empty cells sensitive. About 100,000 cells are protected by modular-suppression and
audited in full; about 1,000,000 by hypercube, audited on 1,000 sensitive cells drawn at random.
Each runs in a process of its own, whose peak memory is told.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

SMALL = ((10, 10), (5, 8), (20,))
LARGE = ((10, 10), (10, 10), (80,))
RUNS = (
    ("modular-suppression", SMALL, None),
    ("hypercube", SMALL, None),
    ("hypercube", LARGE, 1000),
)


def one(method: str, shape: tuple[tuple[int, ...], ...], sample: int | None, seed: int) -> None:
    """One run, told as JSON."""
    from table_data import sparse_cube

    from sfumato.registry import find
    from sfumato.tabular.audit.audit import audit

    began = time.perf_counter()
    problem = sparse_cube(shape, seed)
    made = time.perf_counter()
    used = time.process_time()
    rng = np.random.default_rng(seed)
    # No rule is asked here, and no method looks at more than the problem.
    outcome = find(method, "table-method").load()().protect(None, problem, rng)  # type: ignore[arg-type]
    protected = time.perf_counter()
    cpu = time.process_time() - used
    found = audit(
        problem,
        outcome.lower,
        outcome.upper,
        witnesses=outcome.witnesses,
        exact=False,
        sample=sample,
        rng=rng,
    )
    secondary = outcome.hidden & ~problem.primary
    print(
        json.dumps(
            {
                "method": method,
                "cells": problem.n,
                "non-empty": int((~problem.fixed).sum()),
                "sensitive": int(problem.primary.sum()),
                "seconds to make": round(made - began, 1),
                "seconds to protect": round(protected - made, 1),
                "CPU seconds to protect": round(cpu, 1),
                "seconds to audit": round(time.perf_counter() - protected, 1),
                "audited": len(found),
                "too narrow": int((~found.enough).sum()),
                "linear programs": found.programs,
                "secondary": int(secondary.sum()),
                "suppressed share of value": round(
                    float(problem.values[secondary].sum() / problem.values.sum()), 5
                ),
                "GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one method")
    parser.add_argument("--run", type=int, help="the number of one run, in this process")
    asked = parser.parse_args()
    if asked.run is not None:
        one(*RUNS[asked.run], asked.seed)
        return
    for number, (method, _, _) in enumerate(RUNS):
        if asked.only in (None, method):
            command = [sys.executable, __file__, "--run", str(number), "--seed", str(asked.seed)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
