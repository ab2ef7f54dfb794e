"""`python -m tests.fuzz.soak`: releases that are killed, raced, interrupted and out of disk.

Every run replaces one release, or makes it where there is none. After each, the public folder is
absent or whole: its evidence parses, a recount holds, and the alignment in the private folder leads
from its records back to the input, so that the two are halves of one release. It is written against
folders and exit codes alone, whatever makes them.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tests.fuzz.recount import read, recount

ACTIONS = ("run", "kill", "kill", "kill as it writes", "interrupt", "race", "full disk")
ENDS = {0: "released", 2: "error 2", 3: "refused", 4: "error 4", 130: "interrupted", -9: "killed"}
KEPT = "debt"
"""A column that no step changes: the alignment is checked by it."""
RECORDS = 400
DISK = 512 << 20
"""DuckDB keeps a reserve of its own."""
PLANS = (
    'use = "mondrian"\nk = {k}|csv|local',
    'use = "mdav"\nk = {k}|parquet|local',
    'use = "full-domain"\nk = {k}|parts|duckdb',
    'use = "mondrian"\nk = {k}|xlsx|local',
)
PLAN = """
[input]
path = "people.parquet"
[columns]
who = {{ role = "identifier" }}
age = {{ role = "quasi" }}
height = {{ role = "quasi" }}
debt = {{ role = "confidential" }}
[[steps]]
{step}
[require]
exposure = false
k-anonymity = {k}
[measures]
[output]
path = "out"
format = "{format}"
[engine]
use = "{engine}"
"""


class Soak:
    """One folder with an input and a release that is made over and over."""

    def __init__(self, folder: Path, seed: int, *, fills: bool) -> None:
        self.r = np.random.default_rng(seed)
        self.folder, self.fills = folder, fills
        self.work = folder / "work"
        self.work.mkdir()
        self.make = multiprocessing.get_context("forkserver")
        self.make.set_forkserver_preload([*WARM])
        rows = np.random.default_rng(seed)
        people = {
            "who": [f"p{i:05d}" for i in range(RECORDS)],
            "age": rows.integers(18, 90, RECORDS),
            "height": rows.normal(170, 12, RECORDS).round(1),
            "debt": rows.permutation(RECORDS),
        }
        self.input = self.work / "people.parquet"
        pd.DataFrame(people).to_parquet(self.input)
        self.debts = people["debt"]
        self.digest = hashlib.sha256(self.input.read_bytes()).hexdigest()
        self.usual = 5.0
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.runs = 0

    def round(self) -> tuple[str, str]:
        """One action, and how it ended; a fault is named with what is wrong."""
        action = str(self.r.choice(ACTIONS))
        stood = self.whole() is not None
        with self.full() if action == "full disk" and self.fills else contextlib.nullcontext():
            ended = self.act(action)
        bad = [(n, code) for n, code in ended if code not in ENDS or (action == "run" and code)]
        wrong = [f"exit code {code}: {self.said(n)}" for n, code in bad]
        try:
            stands = self.whole() is not None
        except Exception as error:
            return action, f"fault: {type(error).__name__}: {error} {wrong or ''}"
        killed = any(code == -9 for _, code in ended)
        if stood and not stands and not killed:
            wrong.append(f"the release is gone, though {[code for _, code in ended]} is no kill")
        if any(code == 0 for _, code in ended):
            left = [path.name for path in self.work.iterdir() if "staging" in path.name]
            wrong += [f"{left} is left after a release"] if left and not killed else []
            wrong += [] if stands or killed else ["released, and there is no release"]
        if hashlib.sha256(self.input.read_bytes()).hexdigest() != self.digest:
            wrong.append("the input changed")
        if wrong:
            return action, f"fault: {'; '.join(wrong)}"
        how = " + ".join(sorted(ENDS[code] for _, code in ended))
        return action, how + ("" if stands else ", no release stands")

    def act(self, action: str) -> list[tuple[int, int]]:
        """Runs, with their exit codes."""
        limit = 0
        if action == "full disk" and not self.fills:
            limit = int(self.r.integers(4096, 60_000))
        many = 2 if action == "race" else 1
        before = {path.name for path in self.work.iterdir()}
        begun, started = time.monotonic(), [self.start(limit) for _ in range(many)]
        if action in ("kill", "interrupt"):
            self.wait(started, self.r.uniform(0, 1.1 * self.usual))
        elif action == "kill as it writes":
            while started[0][1].is_alive() and {p.name for p in self.work.iterdir()} == before:
                time.sleep(0.001)
            self.wait(started, self.r.uniform(0, 0.2 * self.usual))
        if action != "run" and action not in ("race", "full disk"):
            number = signal.SIGINT if action == "interrupt" else signal.SIGKILL
            for _, process in started:
                if process.is_alive() and process.pid is not None:
                    os.kill(process.pid, number)
        for _, process in started:
            process.join()
        if action == "run":
            self.usual = 0.5 * self.usual + 0.5 * (time.monotonic() - begun)
        return [(number, int(process.exitcode or 0)) for number, process in started]

    def wait(self, started: list[tuple[int, BaseProcess]], seconds: float) -> None:
        started[0][1].join(seconds)

    def start(self, limit: int) -> tuple[int, BaseProcess]:
        """`sfumato protect --replace` with a plan and a seed of its own."""
        self.runs += 1
        k = int(self.r.integers(2, 6))
        step, form, engine = str(self.r.choice(PLANS)).format(k=k).split("|")
        plan = self.work / f"plan-{self.runs}.toml"
        for old in self.work.glob(f"plan-{self.runs - 4}.toml"):
            old.unlink()
        plan.write_text(PLAN.format(step=step, k=k, format=form, engine=engine))
        seed = str(2**64 + int(self.r.integers(1 << 62)))
        arguments = ["protect", str(plan), "--json", "--replace", "--seed", seed]
        process = self.make.Process(target=_child, args=(arguments, self.log(self.runs), limit))
        process.start()
        return self.runs, process

    def log(self, number: int) -> str:
        return str(self.logs / f"{number % 8}.txt")

    def said(self, number: int) -> str:
        return Path(self.log(number)).read_text(encoding="utf-8")[-3000:]

    def whole(self) -> str | None:
        """The seed of the release that stands; None where none does. Half of one raises."""
        public, private = self.work / "out", self.work / "out.private"
        if not public.exists():
            return None
        found = recount(public)
        assert not found.wrong, found.wrong
        assert private.is_dir(), "a public folder without its private one"
        seed = json.loads((private / "seed.json").read_text(encoding="utf-8"))["seed"]
        rows = _rows(private)
        assert len(read(public)) == 1
        published = read(public)[0][KEPT].astype(float).to_numpy()
        assert len(rows) == len(published), "the private half is of another release"
        same = published == self.debts[rows]
        assert same.all(), f"the private half is of another release: {(~same).sum()} records differ"
        return str(seed)

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """So little space that a run may not end."""
        ballast = self.folder / "ballast"
        free = shutil.disk_usage(self.folder).free
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - int(self.r.integers(4096, 400_000)))
        try:
            yield
        finally:
            ballast.unlink()


WARM = (
    *("tests.fuzz.recount", "sfumato.cli.app", "sfumato.release.records.run"),
    *("sfumato.release.large.run", "sfumato.anonymity.mondrian"),
)
"""Loaded once, so that runs are short and moments fall into the work itself."""


def _rows(private: Path) -> np.ndarray:
    place = private / "alignment.parquet"
    paths = [place] if place.exists() else sorted((private / "alignment").glob("*.parquet"))
    frame = pd.concat([pd.read_parquet(path) for path in paths])
    return frame.sort_values("published_row")["original_row"].to_numpy()


def _child(arguments: list[str], log: str, limit: int) -> None:
    os.environ.setdefault("SFUMATO_LEDGER_KEY", "the key of tests that protect nobody")
    written = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    from sfumato.cli.app import run

    run(arguments)


class Place(NamedTuple):
    """Where a soak lives, and whether its disk can be filled."""

    folder: Path
    fills: bool


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """A small disk of its own where that is allowed; else a folder, and limits to files."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-soak-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    fills = (
        shutil.which("mount") is not None
        and not subprocess.run(mount, capture_output=True).returncode
    )
    try:
        yield Place(folder, fills)
    finally:
        if fills:
            subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def summary(ends: Counter[tuple[str, str]]) -> str:
    lines = [f"{sum(ends.values()):>6} rounds"]
    for (action, how), many in sorted(ends.items()):
        lines.append(f"{many:>6} {action:<18} {how.splitlines()[0][:200]}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, help="so many, whatever the time")
    given = parser.parse_args()
    ends: Counter[tuple[str, str]] = Counter()
    start, faults = time.monotonic(), 0
    with place() as here:
        soak = Soak(here.folder, given.seed, fills=here.fills)
        print(f"a disk {'that fills' if here.fills else 'with limits to files'}, seed {given.seed}")
        while _more(given.rounds, sum(ends.values()), time.monotonic() - start < given.seconds):
            action, how = soak.round()
            ends[action, how] += 1
            if how.startswith("fault"):
                faults += 1
                print(f"round {sum(ends.values())}: {action}: {how}", flush=True)
    print(summary(ends))
    print(f"{time.monotonic() - start:.0f} seconds, {faults} faults")
    return int(faults > 0)


def _more(rounds: int | None, done: int, in_time: bool) -> bool:
    return in_time if rounds is None else done < rounds


if __name__ == "__main__":
    sys.exit(main())
