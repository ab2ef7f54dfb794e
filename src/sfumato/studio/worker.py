"""Does one job in a process of its own: what is asked stands in a folder, and so does what comes of
it. `python -m sfumato.studio.worker FOLDER` is how `jobs` starts it."""

from __future__ import annotations

import json
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from ..aside import write_text
from ..errors import ReleaseRefused, SfumatoError
from ..progress import listening
from .jobs import ASKED, FAILED, FAR, FOUND
from .tasks import Work, task

_PACE = 0.2
"""Seconds between two notes of how far a job is."""


class _Teller:
    """Notes how far a job is, now and then."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.began, self.told, self.what = folder, time.monotonic(), 0.0, ""

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self.told < _PACE and what == self.what:
            return
        self.told, self.what = now, what
        found = {"what": what, "done": done, "of": of, "seconds": now - self.began}
        write_text(self.folder / FAR, json.dumps(found), private=True)


def work(folder: Path) -> int:
    """Do what is asked in a folder."""
    asked = json.loads((folder / ASKED).read_text(encoding="utf-8"))
    tell = _Teller(folder)
    tell("starting", 0, 0)
    one = Work(folder, Path(asked["plan"]), asked["text"], asked["words"], tell)
    try:
        with listening(tell):
            found = json.dumps(task(asked["kind"])(one))
    except SfumatoError as error:
        write_text(folder / FAILED, json.dumps(_told(error, one)), private=True)
        return error.exit_code
    except MemoryError:
        said = {"error": "MachineError", "message": "there is not enough memory for this"}
        write_text(folder / FAILED, json.dumps(said), private=True)
        return 4
    except Exception as error:
        traceback.print_exc()
        words = f"a fault in Sfumato ({type(error).__name__}); the log of this run has the details"
        said = {"error": "fault", "message": words, "remedy": f"see {folder.name}/log"}
        write_text(folder / FAILED, json.dumps(said), private=True)
        return 1
    write_text(folder / FOUND, found, private=True)
    return 0


def _told(error: SfumatoError, one: Work) -> dict[str, Any]:
    """An error as pages show it. A refusal's remedies come as the plan's text, changed."""
    if not isinstance(error, ReleaseRefused):
        return error.to_dict() | {"text": str(error)}
    from ..release.plan.rewriting import rewritten

    remedies = []
    for remedy in error.remedies:
        told: dict[str, Any] = {"change": str(remedy)}
        if hasattr(remedy, "plan"):
            told = {"change": remedy.change, "figures": [str(f) for f in remedy.findings]}
            told |= {"weaker": remedy.weaker, "loss": remedy.loss}
            told["text"] = rewritten(one.text, remedy.plan, one.base)
        remedies.append(told)
    findings = [finding.to_dict() | {"text": str(finding)} for finding in error.findings]
    return {
        "error": "ReleaseRefused",
        "text": str(error),
        "findings": findings,
        "remedies": remedies,
        "untried": error.untried,
    }


def main() -> None:
    # Whoever ends it gets what is left aside cleaned away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(work(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
