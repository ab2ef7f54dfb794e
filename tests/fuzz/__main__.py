"""`python -m tests.fuzz`: cases until the time is up, or a number of them, and one table of what
became of them."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.cases import case
from tests.fuzz.running import Outcome, outcome

KINDS = ("released", "refused", "named error", "fault")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, help="60, unless there is a number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case alone; its folder is kept")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, help="so many cases, whatever the time")
    parser.add_argument("--methods", action="store_true", help="methods take turns: a property run")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    given = parser.parse_args()
    if given.case is not None:
        made = case(given.seed, given.case, cycle=given.methods)
        folder = given.keep / f"case-{given.case}"
        print(made.text())
        found = outcome(made, folder)
        print(f"{found}\nin {folder}")
        return int(found.kind == "fault")
    many = math.inf if given.cases is None else given.cases
    seconds = given.seconds or (60 if given.cases is None else math.inf)
    start = time.monotonic()
    outcomes: list[Outcome] = []
    with contextlib.suppress(KeyboardInterrupt):  # what was found until then is told
        while len(outcomes) < many and time.monotonic() - start < seconds:
            number = given.first + len(outcomes)
            outcomes.append(outcome(case(given.seed, number, cycle=given.methods)))
            if outcomes[-1].kind == "fault":
                print(outcomes[-1], flush=True)
            if len(outcomes) % 500 == 0:
                print(f"{len(outcomes)} in {time.monotonic() - start:.0f} seconds", flush=True)
    print(summary(outcomes, by_method=given.methods))
    print(f"{time.monotonic() - start:.0f} seconds, seed {given.seed}")
    return int(any(one.kind == "fault" for one in outcomes))


def summary(outcomes: list[Outcome], *, by_method: bool = False) -> str:
    """One table: how many ended how; reasons of errors, or methods, below."""
    many = Counter(one.kind for one in outcomes)
    lines = [f"{len(outcomes):>7} cases"]
    lines += [
        f"{many[kind]:>7} {kind} ({many[kind] / max(len(outcomes), 1):.1%})" for kind in KINDS
    ]
    counted = Counter(what for one in outcomes for what in one.counted)
    lines.append(f"{sum(counted.values()):>7} figures recounted")
    if by_method:
        rows = Counter((one.case.method, one.kind) for one in outcomes)
        lines.append(f"\n{'method':<28}" + "".join(f"{kind:>13}" for kind in KINDS))
        for method in sorted({one.case.method for one in outcomes}):
            lines.append(f"{method:<28}" + "".join(f"{rows[method, kind]:>13}" for kind in KINDS))
    criteria = Counter(
        (name, one.kind) for one in outcomes for name in one.case.require if name != "exposure"
    )
    lines.append(f"\n{'required':<28}" + "".join(f"{kind:>13}" for kind in KINDS))
    for name in sorted({name for name, _ in criteria}):
        lines.append(f"{name:<28}" + "".join(f"{criteria[name, kind]:>13}" for kind in KINDS))
    places = Counter((one.case.engine, one.case.output["format"]) for one in outcomes)
    told = ", ".join(f"{e} {f} {n}" for (e, f), n in sorted(places.items()))
    beside = sum(bool(one.case.given) for one in outcomes)
    lines.append(f"\n{told}; beside earlier releases {beside}")
    reasons = Counter(
        (one.kind, " ".join(one.why.split()[:9])) for one in outcomes if one.kind != "released"
    )
    lines += ["", *(f"{n:>7} {kind}: {why}" for (kind, why), n in reasons.most_common(40))]
    return "\n".join(lines)


if __name__ == "__main__":
    # No thread waits for another where cases are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
