"""Does jobs in a process of its own: the path of imports, the ground and then jobs come in pickled,
and what came of each goes out. This file is run by its path."""

from __future__ import annotations

import pickle
import signal
import sys


def work() -> None:
    """Until there are no more."""
    # Whoever started this ends it, after noting what is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what methods print must not get among the answers
    sys.path[:] = pickle.load(given)
    ground = pickle.load(given)
    while True:
        try:
            job = pickle.load(given)
        except EOFError:
            return
        try:
            answer = pickle.dumps((True, ground.tried(job)))
        except Exception as error:
            answer = _told(error)
        out.write(answer)
        out.flush()


def _told(error: Exception) -> bytes:
    try:
        pickle.loads(made := pickle.dumps((False, error)))
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return made


if __name__ == "__main__":
    work()
