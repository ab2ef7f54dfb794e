"""What a first run of a method compiles: functions, signatures and CPU seconds.

    python benchmarks/compile_time.py mdav [local-recoding ...] [--set steps=2000] [--full]

Each method runs alone, in a process of its own with an empty cache of compiled code, on the
discharge register, on synthetic sets or on a table of businesses, whatever it takes; `--full` makes
a whole release with its evidence instead. The title gives the CPU seconds of the process (user and
system, imports included) cold, and once more with the cache that the first run has filled. Then
come the compiled functions, dearest first: the seconds of a function are without those of the
functions that it calls and that were compiled on its way. Searches with a clock stop sooner the
longer compiling takes: give them steps.

A function with several signatures is compiled once for each: give its arrays one type and layout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import show
from gauge import cpu_seconds
from numba.core import event

PARAMETERS: dict[str, dict[str, Any]] = {
    "drop": {"columns": ["name"]},
    "hash": {"columns": ["name"]},
    "pseudonymize": {"columns": ["name"]},
    "global-recoding": {"levels": {"age": 1}},
    "top-bottom-coding": {"top_share": 0.05, "bottom_share": 0.05},
}
"""What a method must be told to run at all."""


class Compiled(event.Listener):
    """Listens to numba, and adds up what each compilation takes."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)
        self._open = threading.local()
        event.register("numba:compile", self)

    def on_start(self, happened: event.Event) -> None:
        """Something is compiled from here on."""
        self._stack().append([time.thread_time(), 0.0])

    def on_end(self, happened: event.Event) -> None:
        """It has been compiled; what was compiled within it is not counted as its own."""
        begun, within = self._stack().pop()
        took = time.thread_time() - begun
        if self._stack():
            self._stack()[-1][1] += took
        function = happened.data["dispatcher"].py_func
        name = f"{function.__module__.removeprefix('sfumato.')}.{function.__qualname__}"
        signature = ", ".join(str(one) for one in happened.data["args"])
        self.seconds[name, signature] += took - within

    def _stack(self) -> list[list[float]]:
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        found: list[list[float]] = self._open.stack
        return found


def run(name: str, given: argparse.Namespace) -> None:
    """The method in this process; tells its parent."""
    import sfumato as sf
    from sfumato.registry import find
    from sfumato.rng import stream

    compiled = Compiled()
    kind, records = find(name).kind, given.records
    said = (one.partition("=") for one in given.set)
    parameters = {**PARAMETERS.get(name, {}), **{key: json.loads(v) for key, _, v in said}}
    if kind == "table-method":
        cells = sf.tabulate(sf.generators.businesses(records, seed=1), ["size", "region"], seed=1)
        rules = [sf.method("p-percent", p=10), sf.method("minimum-frequency", minimum=3)]
        sf.protect(cells, sf.method(name, **parameters), rules=rules, seed=1)
    else:
        verb = name if kind == "verb" else None
        step = sf.step(sf.method("mondrian" if verb else name, **parameters), then=verb)
        table = _table(name, records)
        if given.full:
            sf.protect(table, step, seed=1)
        else:
            step.run(table, stream(1, 1, name))
    functions = [(*key, seconds) for key, seconds in compiled.seconds.items()]
    print(json.dumps({"cpu": cpu_seconds(), "functions": functions}))


def _table(name: str, records: int) -> Any:
    """The register, or sets for what acts on sets."""
    import sfumato as sf
    from sfumato.registry import find

    kinds = getattr(find(name).load(), "kinds", ())
    if tuple(kinds) == ("set",):
        return sf.generators.synthetic_sets(records, seed=1)
    return sf.generators.hospital(records, seed=1)


def measure(name: str, given: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the run tells with an empty cache, and what it tells after that."""
    with tempfile.TemporaryDirectory() as cache:
        told = [
            subprocess.run(
                [sys.executable, __file__, name, "--run", *given],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
            ).stdout
            for _ in range(2)
        ]
    cold, warm = (json.loads(one.strip().splitlines()[-1]) for one in told)
    return cold, warm


def main() -> None:
    """A table to a method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=JSON")
    parser.add_argument("--full", action="store_true", help="make a release with its evidence")
    parser.add_argument("--brief", action="store_true", help="only the first line of each")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(given.names[0], given)
        return
    passed = [*(f"--set={one}" for one in given.set), *(["--full"] if given.full else [])]
    for name in given.names:
        cold, warm = measure(name, [*passed, f"--records={given.records}"])
        functions = sorted(cold["functions"], key=lambda one: -one[2])
        spent = sum(one[2] for one in functions)
        title = (
            f"{name}: {cold['cpu']:.1f} CPU s cold, {warm['cpu']:.1f} warm; "
            f"{len(functions)} functions compiled in {spent:.1f}"
        )
        if given.brief:
            print(title, flush=True)
            continue
        rows = [[f"{s:.2f}", where, signature[:120]] for where, signature, s in functions]
        print(show.table(title, ["CPU s", "function", "signature"], rows), flush=True)


if __name__ == "__main__":
    main()
