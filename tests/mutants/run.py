"""Does the suite bite? A sample of mutants, each run against the tests of its own room.

    python -m tests.mutants.run --sample 600 --seed 1 --jobs 2 --only criteria

strata.toml says which files are mutated and which tests answer for them; survivors.toml why those
that are left are left. A server for each stratum collects its tests and notes which lines each test
comes by; for each mutant it forks a process with the fault planted, which runs the tests that come
by, until one fails. What is settled on import gets a process that imports everything anew.
"""

from __future__ import annotations

import argparse
import collections
import functools
import gc
import glob
import importlib
import importlib.machinery
import json
import math
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .operators import Mutant, Source

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LEAST_IN_STRATUM = 20
FLAGS = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"]


class Tests:
    """Runs collected tests in a forked process, and stops at the first failure."""

    def __init__(self, job: Callable[[Tests, pytest.Session], None]) -> None:
        self.job, self.failed = job, ""
        self.setup: dict[str, set[tuple[str, int]]] = collections.defaultdict(set)
        self.lines: set[tuple[str, int]] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.job(self, session)
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        before, self.lines = self.lines, self.setup[fixturedef.argname]
        yield
        self.lines = before

    def run(self, items: list[pytest.Item]) -> str:
        """The first test that fails, or nothing."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return self.failed

    def traced(
        self, items: list[pytest.Item], files: set[str]
    ) -> dict[str, tuple[float, set[tuple[str, int]]]]:
        """For each test its seconds, and the lines of these files that it comes by."""

        def line(frame: types.FrameType, event: str, _: object) -> object:
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: types.FrameType, event: str, _: object) -> object:
            return line(frame, event, _) if frame.f_code.co_filename in files else None

        found = {}
        threading.settrace(call)
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.lines, began = set(), time.process_time()
            sys.settrace(call)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            found[item.nodeid] = (time.process_time() - began, self.lines)
        for item in items:
            for fixture in getattr(item, "fixturenames", ()):
                found[item.nodeid][1].update(self.setup[fixture])
        return found


def forked(work: Callable[[], str], folder: Path, seconds: float) -> int:
    """A process that writes what kills its mutant into `folder`; its own temporary files, a limit
    on processor time and on memory."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    folder.mkdir()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
    try:
        (folder / "killer").write_text(work(), encoding="utf-8")
    except BaseException as error:  # a mutant may do anything
        (folder / "killer").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
    os._exit(0)


class Pool:
    """Some processes at a time; what came of each goes to `done`."""

    def __init__(self, jobs: int, done: Callable[[Mutant, str], None]) -> None:
        self.jobs, self.done = jobs, done
        self.running: dict[int, tuple[Mutant, Path, float]] = {}

    def start(self, mutant: Mutant, work: Callable[[], str], seconds: float) -> None:
        self.wait(self.jobs - 1)
        folder = Path(tempfile.mkdtemp(prefix="mutant-")) / "run"
        pid = forked(work, folder, seconds)
        self.running[pid] = (mutant, folder, time.monotonic() + 20 * seconds)

    def wait(self, left: int = 0) -> None:
        while len(self.running) > left:
            for pid, (mutant, folder, deadline) in list(self.running.items()):
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                if not os.waitpid(pid, os.WNOHANG)[0]:
                    continue
                killer = folder / "killer"
                what = killer.read_text(encoding="utf-8") if killer.exists() else "out of time"
                shutil.rmtree(folder.parent, ignore_errors=True)
                del self.running[pid]
                self.done(mutant, what)
            time.sleep(0.01)


def quietly(arguments: list[str], plugin: Tests) -> None:
    """pytest without a word."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    pytest.main([*FLAGS, *arguments], plugins=[plugin])


def serve(
    mutants: list[Mutant], sources: dict[str, Source], tests: list[str], jobs: int, tell: int
) -> None:
    """In a process of its own: the mutants of one stratum's functions; results as lines of JSON."""

    def told(**what: object) -> None:
        os.write(tell, (json.dumps(what) + "\n").encode())

    def job(plugin: Tests, session: pytest.Session) -> None:
        if plugin.failed:
            told(broken=f"{plugin.failed} cannot be collected")
            return
        for file in sources:
            name = Path(file).with_suffix("").relative_to("src").parts
            importlib.import_module(".".join(name).removesuffix(".__init__"))
        functions = functions_of({source.path for source in sources.values()})
        gc.freeze()
        found = baseline(plugin, session, {source.path for source in sources.values()})
        if isinstance(found, str):
            told(broken=found)
            return
        told(seconds=sum(seconds for seconds, _ in found.values()))
        pool = Pool(jobs, lambda mutant, by: told(mutant=mutants.index(mutant), by=by))
        for mutant in mutants:
            source = sources[mutant.file]
            chosen = reaching(mutant, source.path, session.items, found)
            if not chosen:
                told(mutant=mutants.index(mutant), by="")
                continue

            def work(source=source, mutant=mutant, chosen=chosen) -> str:  # type: ignore[no-untyped-def]
                plant(source, mutant, functions)
                return plugin.run(chosen)

            pool.start(mutant, work, 20 + 5 * sum(found[item.nodeid][0] for item in chosen))
        pool.wait()

    quietly(tests, Tests(job))


def baseline(
    plugin: Tests, session: pytest.Session, files: set[str]
) -> dict[str, tuple[float, set[tuple[str, int]]]] | str:
    """What each test comes by, found in a forked process so that this one stays as it is.

    Test files must not compute on import: threads that libraries start do not survive a fork.
    """
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))

    def work() -> str:
        traced = plugin.traced(session.items, files)
        (folder / "traced").write_bytes(pickle.dumps(traced))
        return plugin.failed

    os.waitpid(forked(work, folder / "run", 3600), 0)
    killer = folder / "run" / "killer"
    failed = killer.read_text(encoding="utf-8") if killer.exists() else "a test without end"
    found = f"{failed} fails without a mutant" if failed else (folder / "traced").read_bytes()
    shutil.rmtree(folder)
    return found if isinstance(found, str) else pickle.loads(found)


def reaching(
    mutant: Mutant,
    path: str,
    items: list[pytest.Item],
    found: dict[str, tuple[float, set[tuple[str, int]]]],
) -> list[pytest.Item]:
    """The tests that come by, those of the module's own test file first, then the quick ones; at
    last the rest of their files, which may share what a test before them made."""
    first, last = mutant.lines
    lines = {(path, number) for number in range(first, last + 1)}
    reach = {item.nodeid for item in items if found[item.nodeid][1] & lines}
    files = {item.path for item in items if item.nodeid in reach}
    stem = Path(mutant.file).stem

    def order(item: pytest.Item) -> tuple[bool, bool, float]:
        return item.nodeid not in reach, stem not in item.path.stem, found[item.nodeid][0]

    return sorted((item for item in items if item.path in files), key=order)


def functions_of(files: set[str]) -> dict[tuple[str, str, int], list[types.FunctionType]]:
    """The live functions of some files, wherever they are held: by class, decorator or importer."""
    found: dict[tuple[str, str, int], list[types.FunctionType]] = collections.defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__code__.co_filename in files:
            code = thing.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(thing)
    return found


def plant(
    source: Source,
    mutant: Mutant,
    functions: dict[tuple[str, str, int], list[types.FunctionType]],
) -> None:
    """The mutated code in every live copy of its function."""
    assert mutant.outermost is not None
    stack = [source.planted(mutant)]
    while stack:
        code = stack.pop()
        if (code.co_qualname, code.co_firstlineno) == mutant.outermost:
            for function in functions[source.path, *mutant.outermost]:
                function.__code__ = code
            return
        stack += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]


def on_import(source: Source, mutant: Mutant, tests: list[str]) -> str:
    """In a process of its own that has not imported the module: what fails with the fault in it."""
    code, usual = source.planted(mutant), importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> object:
        return code if loader.path == source.path else usual(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    stem = Path(mutant.file).stem
    plugin = Tests(lambda plugin, session: plugin.failed or plugin.run(session.items))
    quietly(sorted(tests, key=lambda test: stem not in test), plugin)
    return plugin.failed


def sampled(strata: list[dict[str, object]], size: int, seed: int) -> dict[str, list[Mutant]]:
    """A share of each stratum's mutants: by how many there are, and never a mere handful."""
    every = {}
    for stratum in strata:
        patterns = stratum["files"]
        files = sorted({f for pattern in patterns for f in glob.glob(pattern, root_dir=ROOT)})
        stratum["sources"] = {file: Source(ROOT, file) for file in files}
        found = [mutant for source in stratum["sources"].values() for mutant in source.mutants()]
        every[stratum["name"]] = sorted(found, key=lambda mutant: mutant.rank(seed))
    total = sum(map(len, every.values()))
    least = min(LEAST_IN_STRATUM, size // len(every) or 1)
    return {name: m[: max(least, round(size * len(m) / total))] for name, m in every.items()}


def mutate(stratum: dict[str, object], mutants: list[Mutant], jobs: int) -> dict[Mutant, str]:
    """What killed each mutant of a stratum; nothing for those that live."""
    name, tests, sources = stratum["name"], stratum["tests"], stratum["sources"]
    by: dict[Mutant, str] = {}

    def done(mutant: Mutant, what: str) -> None:
        by[mutant] = what
        print(f"{name} {len(by)}/{len(mutants)}: {mutant.file}: {mutant.function}: {mutant.change}")
        print(f"    {f'killed by {what}' if what else 'SURVIVED'}", flush=True)

    inside = [mutant for mutant in mutants if mutant.outermost is not None]
    ask, tell = os.pipe()
    sys.stdout.flush()
    if not (server := os.fork()):
        os.close(ask)
        serve(inside, sources, tests, jobs, tell)
        os._exit(0)
    os.close(tell)
    seconds = 0.0
    with open(ask, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "broken" in line:
                sys.exit(f"{name}: {line['broken']}")
            if "seconds" in line:
                seconds = line["seconds"]
                print(f"{name}: its tests take {seconds:.0f} s of processor time", flush=True)
            else:
                done(inside[line["mutant"]], line["by"])
    os.waitpid(server, 0)
    pool = Pool(jobs, done)
    for mutant in mutants:
        if mutant.outermost is None:
            source = sources[mutant.file]
            work = functools.partial(on_import, source, mutant, tests)
            pool.start(mutant, work, 60 + 5 * seconds)
    pool.wait()
    return by


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=600, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--only", action="append", help="a stratum; may be given several times")
    parser.add_argument("--match", default="", help="part of the file's name or of the change")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ.setdefault("CI", "mutants")  # Hypothesis draws the same examples every time
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    config = tomllib.loads((HERE / "strata.toml").read_text(encoding="utf-8"))
    known = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))
    reasons = {(s["file"], s["function"], s["change"]): s["reason"] for s in known["survivor"]}
    for module in config["preload"]:
        importlib.import_module(module)
    sample = sampled(config["stratum"], given.sample, given.seed)
    began, rows, left = time.monotonic(), [], []
    for stratum in config["stratum"]:
        if given.only and stratum["name"] not in given.only:
            continue
        chosen = [m for m in sample[stratum["name"]] if given.match in f"{m.file} {m.change}"]
        by = mutate(stratum, chosen, given.jobs)
        lives = [mutant for mutant in chosen if not by[mutant]]
        told = sum(mutant.key in reasons for mutant in lives)
        rows.append((stratum["name"], len(chosen), len(lives), told))
        left += lives
    print("\nsurvivors")
    for mutant in left:
        # As survivors.toml has them.
        print(f"\n[[survivor]]  # line {mutant.lines[0]}")
        for name, words in zip(("file", "function", "change"), mutant.key, strict=True):
            print(f"{name} = {json.dumps(words, ensure_ascii=False)}")
        print(f"reason = {json.dumps(reasons.get(mutant.key, 'NONE GIVEN'), ensure_ascii=False)}")
    rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2, 3))))
    heads = f"{'stratum':<12}{'mutants':>8}{'killed':>8}{'share':>8}"
    print(f"\n{heads}{'survivors with a reason':>25}")
    for name, count, lives, told in rows:
        share = (count - lives) / max(count, 1)
        print(f"{name:<12}{count:>8}{count - lives:>8}{share:>8.1%}{f'{told} of {lives}':>25}")
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = sum(sum(resource.getrusage(who)[:2]) for who in whose)
    print(f"{time.monotonic() - began:.0f} s, {used:.0f} s of processor time")
    _, count, lives, _ = rows[-1]
    sys.exit(int(count - lives < 0.9 * count))


if __name__ == "__main__":
    main()
