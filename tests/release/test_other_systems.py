"""Windows and macOS as far as Linux can play them: what only POSIX or Linux has is taken away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MACOS = """
import os
for name in ("sched_getaffinity", "sched_setaffinity", "posix_fallocate", "posix_fadvise"):
    if hasattr(os, name):
        delattr(os, name)
"""

WINDOWS = """
# Libraries were built for this system and may look for it; they come before.
import altair, duckdb, highspy, numba, polars, pyarrow, scipy.stats, sklearn.cluster, vl_convert
import errno, fcntl, os, shutil, sys, types

flags, flock, LOCK = fcntl.fcntl, fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
locks = []

def locking(descriptor, how, length):
    flock(descriptor, LOCK)
    locks.append(how)

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "pty", "tty", "syslog"):
    sys.modules[name] = None

def fsync(descriptor, real=os.fsync):
    if flags(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Windows flushes only what can be written to")
    real(descriptor)

def opened(path, *how, real=os.open, is_dir=os.path.isdir, **more):
    if not isinstance(path, int) and is_dir(path) and "dir_fd" not in more:
        raise PermissionError(errno.EACCES, "Windows opens no folders", str(path))
    return real(path, *how, **more)

os.fsync, os.open = fsync, opened
shutil._use_fd_functions = False  # rmtree by paths, as there
shutil.rmtree.avoids_symlink_attacks = False
for name in (
    "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "geteuid",
    "getegid", "getgid", "getuid", "getgroups", "getpgid", "getloadavg", "killpg", "lchown",
    "mkfifo", "nice", "sched_getaffinity", "setsid", "statvfs", "sysconf", "uname",
):
    if hasattr(os, name):
        delattr(os, name)
"""

EVERY_MODULE = """
import importlib, pkgutil
import sfumato
for found in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
    if found.name != "sfumato.__main__":
        importlib.import_module(found.name)
"""

RELEASE = """
import sys
from pathlib import Path
import sfumato as sf

folder = Path(sys.argv[1])
people = sf.table({"age": [30, 31, 32, 50, 51, 52] * 4, "job": ["a", "b"] * 12}, quasi=["age"])
sf.write(people, folder / "people.csv")
read = sf.read(folder / "people.csv", quasi=["age"], confidential=["job"])
for seed in (1, 2):
    release = sf.protect(read, sf.method("mdav", k=3), seed=seed, measures=())
    release.save(folder / "out", replace=seed == 2, allow_guessable_seed=True)
left = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
assert left == ["out", "out.private", "people.csv", "sfumato.ledger"], left
assert (folder / "out" / "data.csv").read_text().count("\\n") == 25
"""


def run(script: str, folder: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("system", [MACOS, WINDOWS], ids=["macos", "windows"])
def test_every_module_is_imported(system: str, tmp_path: Path) -> None:
    run(system + EVERY_MODULE, tmp_path)


@pytest.mark.parametrize(
    ("system", "told"), [(MACOS, ""), (WINDOWS, "assert locks, 'nothing was locked'")],
    ids=["macos", "windows"],
)  # fmt: skip
def test_a_release_is_made_saved_and_replaced(system: str, told: str, tmp_path: Path) -> None:
    run(system + RELEASE + told, tmp_path)
