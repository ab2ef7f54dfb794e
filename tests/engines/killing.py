"""Plans run in a process of their own, in which something dies while jobs of Spark run.

    python -m tests.engines.killing PLAN... [--victim executor] [--stage "masking groups"]

Whom it concerns is stopped first, so that it cannot finish what it does, and killed once its
executor is seen to have a task and nothing moves any more. What happened is told as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import sfumato as sf

VICTIMS = ("", "executor", "worker", "slow", "java", "driver")
"""Nobody; an executor of Spark; one of its Python workers; a worker that is stopped until another
has done its task; the driver's Java; the driver."""
CLUSTER = "local-cluster[2,1,1024]"
SPECULATION = {
    "spark.pyspark.python": sys.executable,
    "spark.driver.host": "127.0.0.1",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.task.duration.threshold": "3s",
}
"""Spark's words for doing slow tasks twice, on a cluster of which this machine is all hosts."""
_EXECUTOR, _DAEMON = "CoarseGrainedExecutorBackend", "pyspark.daemon"
_STILL = 1.5


@dataclass
class Killer:
    """Hears how far a plan has come, and strikes in the first stage whose name begins so."""

    victim: str
    stage: str
    told: dict[str, Any] = field(default_factory=dict)
    _heard: tuple[str, int, int] = ("", 0, 0)
    _at: float = 0.0
    _thread: threading.Thread | None = None

    def __call__(self, what: str, done: int, of: int) -> None:
        self._heard, self._at = (what, done, of), time.monotonic()
        if what.endswith("again)"):
            self.told["noticed"] = what
        if (
            not self.victim
            or self._thread
            or "died" in self.told
            or not what.startswith(self.stage)
            or done >= of
        ):
            return
        if self.victim in ("java", "driver"):
            self.told |= {"died": self.victim, "when": [what, done, of]}
            print(json.dumps(self.told), flush=True)
            [java] = psutil.Process().children()
            os.kill(java.pid if self.victim == "java" else os.getpid(), signal.SIGKILL)
        self._thread = threading.Thread(target=self._strike, daemon=True)
        self._thread.start()

    def _strike(self) -> None:
        # A cluster of two hosts is no child of this process.
        root = psutil.Process(os.getppid() if self.victim == "slow" else os.getpid())
        victim = _found(root, _EXECUTOR if self.victim == "executor" else _DAEMON)
        executor = victim if self.victim == "executor" else victim.parent().parent()
        port = {c.laddr.port for c in executor.net_connections() if c.status == "LISTEN"}
        victim.suspend()
        while time.monotonic() - self._at < _STILL or not _tasks_of(port):
            time.sleep(0.1)
        self.told |= {"when": list(self._heard), "tasks": _tasks_of(port)}
        if self.victim == "slow":
            while self._heard[0].partition(" (")[0] == self.told["when"][0].partition(" (")[0]:
                time.sleep(0.1)
            self.told |= {"died": "", "overtaken": victim.status() == psutil.STATUS_STOPPED}
            victim.resume()
            return
        victim.kill()
        _gone(victim)
        self.told["died"] = self.victim


def _found(root: psutil.Process, word: str) -> psutil.Process:
    """The busiest of the processes below another that are called so. Of Spark's Python daemons,
    the workers are those that a daemon has forked."""
    listed = root.children(recursive=True)
    named = {one.pid: one for one in listed if word in _command(one)}
    if word == _DAEMON:
        named = {pid: one for pid, one in named.items() if one.ppid() in named}
    return max(named.values(), key=lambda one: sum(one.cpu_times()[:2]))


def _command(one: psutil.Process) -> str:
    try:
        return " ".join(one.cmdline())
    except psutil.Error:  # it has just ended
        return ""


def _gone(one: psutil.Process) -> None:
    """Wait until it is no more, or only its parent's to bury."""
    while one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.05)


def _tasks_of(ports: set[int]) -> int:
    """How many tasks the executor runs that listens there."""
    from pyspark import SparkContext

    listed = SparkContext._active_spark_context._jsc.sc().statusTracker().getExecutorInfos()
    return sum(one.numRunningTasks() for one in listed if one.port() in ports)


def run(
    plans: list[Path], seed: int, victim: str = "", stage: str = ""
) -> tuple[int, dict[str, Any], str]:
    """How a process ended that ran the plans, what it told, and what it complained of. All its
    processes are gone when this returns."""
    more = ["--seed", str(seed), "--victim", victim, "--stage", stage]
    command = [sys.executable, "-m", "tests.engines.killing", *map(str, plans), *more]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    said, complained = process.communicate()
    while _session(process.pid):
        time.sleep(0.1)
    lines = [line for line in said.splitlines() if line.startswith("{")]
    return process.returncode, json.loads(lines[-1]) if lines else {}, complained


@contextmanager
def two_hosts(folder: Path) -> Iterator[str]:
    """The address of a cluster of two hosts with an executor each: on one host, as local-cluster
    is, Spark does no task twice."""
    import pyspark

    with ExitStack() as until_stopped:

        def daemon(name: str, *words: str) -> subprocess.Popen[str]:
            home = Path(pyspark.__file__).parent
            command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *words]
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "SPARK_HOME": str(home)},
            )
            until_stopped.callback(process.wait)
            until_stopped.callback(process.kill)
            return process

        master = daemon("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        address = _said(master, r"spark://127\.0\.0\.1:\d+")
        for host in ("127.0.0.2", "127.0.0.3"):
            words = ["--host", host, "--cores", "1", "--memory", "1g", "--work-dir", str(folder)]
            worker = daemon("worker.Worker", *words, "--webui-port", "0", address)
            _said(worker, "Successfully registered")
        yield address


def _said(process: subprocess.Popen[str], pattern: str) -> str:
    """What a process says of itself, which is heard to the end."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(pattern, line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found[0]
    raise AssertionError(f"{process.args} ended")


def _session(number: int) -> list[int]:
    """The processes of a session that live."""
    found = []
    for one in psutil.process_iter():
        try:
            if os.getsid(one.pid) == number and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except (OSError, psutil.Error):
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("plans", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=2**90)
    parser.add_argument("--victim", choices=VICTIMS, default="")
    parser.add_argument("--stage", default="")
    given = parser.parse_args()
    killer = Killer(given.victim, given.stage)
    for path in given.plans:
        plan = sf.Plan.read(path)
        try:
            sf.protect(plan.input.path, plan, given.seed, progress=killer)
        except sf.SfumatoError as error:
            if given.victim != "java":
                raise
            killer.told["error"] = str(error)
    print(json.dumps(killer.told))


if __name__ == "__main__":
    main()
