"""Does jobs in a process of its own: the path of imports, the ground and then jobs come in pickled,
and what came of each goes out. This file is run by its path."""

from __future__ import annotations

import pickle
import signal
import sys
from typing import Any


def work() -> None:
    """Until there are no more."""
    # Whoever started this ends it, after noting what is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what methods print must not get among the answers
    sys.path[:] = pickle.loads(pickle.load(given))
    sent, ground = pickle.load(given), None
    while True:
        try:
            asked = pickle.load(given)
        except EOFError:
            return
        try:
            ground = pickle.loads(sent) if ground is None else ground
            job = pickle.loads(asked)
        except Exception as error:
            answer = pickle.dumps((False, False, f"{type(error).__name__}: {error}"))
        else:
            answer = _done(ground, job)
        out.write(answer)
        out.flush()


def _done(ground: Any, job: Any) -> bytes:
    try:
        return pickle.dumps((True, True, ground.tried(job)))
    except Exception as error:
        return _told(error)


def _told(error: Exception) -> bytes:
    try:
        pickle.loads(made := pickle.dumps((True, False, error)))
    except Exception:
        return pickle.dumps((True, False, RuntimeError(f"{type(error).__name__}: {error}")))
    return made


if __name__ == "__main__":
    work()
