"""What the first minute costs: CPU and wall seconds, cold and warm, beside their targets.

    python benchmarks/first_minute.py                       the demo, a first protect, four methods
    python benchmarks/first_minute.py demo protect mondrian what is named
    python benchmarks/first_minute.py --all                 every method and search

Cold: compiled code is kept in a new, empty folder, so that every kernel is compiled. Warm: the same
once more. CPU seconds are those of the process and its children, user and system; wall seconds also
tell how far the work ran side by side. Methods run on 1,000 records of the generated register with
their default parameters; those that need parameters or another kind of table say so.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLD = {"demo": 35.0, "protect": 10.0}
WARM = {"protect": 2.0}
MOST = 12.0
"""CPU seconds that no method may take cold."""
METHODS = ("mdav", "mondrian", "local-recoding", "local-suppression")
RECORDS = 1000

STEP = """
import sys
from pathlib import Path
from sfumato.errors import SfumatoError
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import protect, read_input

plan = Plan.read(Path(sys.argv[1]))
table, _ = read_input(plan, Path(sys.argv[1]).parent)
try:
    protect(table, plan, 0)
except SfumatoError as error:
    print(type(error).__name__, str(error).splitlines()[0])
"""


def spent(command: list[str], folder: Path, cache: Path) -> tuple[float, float, str]:
    """CPU and wall seconds of a command, and the last line that it printed."""
    environment = dict(os.environ)
    # An installed package has its bytecode; to compile the sources at each start is no one's lot.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    lines = done.stdout.splitlines()
    return cpu, wall, lines[-1] if lines else ""


def prepare(folder: Path) -> None:
    """The register of 4,000 records with its draft, and a smaller one for single methods."""
    from sfumato.data.generators import hospital
    from sfumato.data.io import write
    from sfumato.release.plan.draft import draft_plan

    for name, records in (("register", 4000), ("small", RECORDS)):
        write(hospital(records, 0), folder / f"{name}.csv")
        text = draft_plan(folder / f"{name}.csv", path=f"{name}.csv")
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def command(name: str, folder: Path) -> list[str]:
    """What is run for one line of the table."""
    program = [sys.executable, "-c", "from sfumato.cli import main; main()"]
    if name == "demo":
        return [*program, "demo", "--output", "demo", "--replace"]
    if name == "protect":
        return [*program, "protect", "register.toml", "--replace"]
    return [sys.executable, "-c", STEP, str(one_step(name, folder))]


def one_step(name: str, folder: Path) -> Path:
    """The drafted plan with one step of its own, without requirements and without measures."""
    from sfumato.release.plan.plan import Plan
    from sfumato.release.plan.step import Step, build

    drafted = Plan.read(folder / "small.toml")
    step = Step(build("method|partitioner", name, {}))
    plan = drafted.with_(steps=(*drafted.steps[:2], step), requirements=(), measures=())
    target = folder / f"{name}.toml"
    target.write_text(plan.to_toml(), encoding="utf-8")
    return target


def every() -> list[str]:
    """All registered methods and searches."""
    from sfumato.registry import entries

    return [entry.name for kind in ("method", "partitioner") for entry in entries(kind)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="demo, protect, or methods and searches")
    parser.add_argument("--all", action="store_true", help="every registered method and search")
    asked = parser.parse_args()
    names = asked.names or ["demo", "protect", *(every() if asked.all else METHODS)]
    print(f"{'':<28} {'cold: CPU':>9} {'wall':>6} {'target':>7} {'warm: CPU':>10} {'wall':>6}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(folder)
        for number, name in enumerate(names):
            show(name, folder, folder / f"cache{number}")


def show(name: str, folder: Path, cache: Path) -> None:
    """One line of the table; a star marks what takes more than its target."""
    from sfumato.errors import SfumatoError

    try:
        run = command(name, folder)
    except SfumatoError as error:
        print(f"{name:<28} not run: {str(error).splitlines()[0]}", flush=True)
        return
    cold, warm = spent(run, folder, cache), spent(run, folder, cache)
    most, later = COLD.get(name, MOST), WARM.get(name)
    star = " *" if cold[0] > most or (later is not None and warm[0] > later) else ""
    target = f"{most:g}" if later is None else f"{most:g}/{later:g}"
    refused = "" if name in COLD else f"  {warm[2]}"
    print(
        f"{name:<28} {cold[0]:>9.1f} {cold[1]:>6.1f} {target:>7} {warm[0]:>10.1f} {warm[1]:>6.1f}"
        f"{star}{refused}",
        flush=True,
    )


if __name__ == "__main__":
    main()
