"""What each engine cannot run, as `gaps.tsv` lists it: `python -m tests.engines.gaps` writes anew.

The list is strict: whoever closes a gap takes it from the list, and no gap opens unseen.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.protocols import Engine
from sfumato.registry import entries
from sfumato.release.large.gaps import runs_as_it_comes

FILE = Path(__file__).with_name("gaps.tsv")
KINDS = ("method", "partitioner", "verb", "criterion", "measure", "attack")


def found() -> list[str]:
    """One line for each engine and each thing that it does not run."""
    lines = []
    for entry in entries("engine"):
        engine: Engine = entry.load()()
        for kind in KINDS:
            missing = [e.name for e in entries(kind) if not runs_as_it_comes(e, engine)]
            lines += [f"{engine.name}\t{kind}\t{name}" for name in sorted(missing)]
    return lines


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in found()), encoding="utf-8")
