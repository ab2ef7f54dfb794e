"""What every table needs: the setting of a run, a contender's process, and the row it becomes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adapters
import generate
import polars as pl
from environment import Ran, run
from score import Score, read_output, score

from sfumato.errors import SfumatoError

TABLES = ("start", "adult", "checks", "faults", "suppression", "scale")
Row = dict[str, Any]
Trees = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Setting:
    """What the command line asked for."""

    folder: Path
    """For inputs and outputs, removed at the end."""
    data: Path | None
    """The benchmark data, if there are any."""
    peers: Path | None
    """The peers' interpreter, if they are to run."""
    quick: bool
    only: tuple[str, ...]
    limit: float

    @property
    def target(self) -> Path:
        """Where contenders write; one after the other."""
        return self.folder / "masked.csv"

    def wants(self, table: str, contender: str) -> bool:
        """Whether a row is to be made."""
        found = (word == table if word in TABLES else word in contender for word in self.only)
        return not self.only or any(found)

    def sfumato(self, task: str, source: Path, seed: str = "random", **options: Any) -> Ran:
        """One of Sfumato's contenders, in a process of its own."""
        return self._run(sys.executable, "sfumato_worker.py", [task, str(source)], options, seed)

    def peer(self, name: str, source: Path, seed: str = "random", **options: Any) -> Ran:
        """One peer, in its own environment."""
        assert self.peers is not None
        return self._run(self.peers, "peer_worker.py", [name, str(source)], options, seed)

    def _run(
        self, python: Path | str, script: str, words: list[str], options: Row, seed: str
    ) -> Ran:
        self.target.unlink(missing_ok=True)
        words = [*words, str(self.target), json.dumps(options)]
        return run(python, script, words, limit=self.limit, environment={"PYTHONHASHSEED": seed})


def say(text: str) -> None:
    """Tell on the standard error what is running, since some of it takes minutes."""
    print(f"  {text}", file=sys.stderr, flush=True)


def row(contender: str, ran: Ran, scored: Score | str = "", **more: Any) -> Row:
    """What is known about one contender."""
    found: Row = {
        "contender": contender,
        "wall_s": ran.found.get("wall"),
        "cpu_s": ran.found.get("cpu"),
        "process_s": ran.whole,
        "peak_bytes": ran.found.get("peak"),
        "version": ran.found.get("version"),
        "failure": ran.failure,
        **more,
    }
    if isinstance(scored, Score):
        found |= {
            "ncp": scored.ncp,
            "ncp_by_tree": scored.ncp_by_tree,
            "k": scored.k,
            "rows_lost": scored.lost,
        }
    else:
        found["failure"] = ran.failure or scored
    return found


def worth(
    ran: Ran, target: Path, original: pl.DataFrame, quasi: Sequence[str], trees: Trees
) -> Score | str:
    """The score of labels that Sfumato reads, or of hierarchies' labels; or why there is none."""

    def read(raw: pl.DataFrame) -> pl.DataFrame:
        return adapters.from_hierarchy(raw, original, quasi, trees) if trees else raw

    return _scored(ran, target, original, quasi, trees, read)


def anonypy_worth(
    ran: Ran, target: Path, original: pl.DataFrame, quasi: Sequence[str]
) -> Score | str:
    """The score of anonypy's classes with counts; or why there is none."""

    def read(raw: pl.DataFrame) -> pl.DataFrame:
        return adapters.from_anonypy(raw, original, quasi)

    return _scored(ran, target, original, quasi, {}, read)


def _scored(
    ran: Ran,
    target: Path,
    original: pl.DataFrame,
    quasi: Sequence[str],
    trees: Trees,
    read: Callable[[pl.DataFrame], pl.DataFrame],
) -> Score | str:
    if not ran.ok:
        return ran.failure
    raw = read_output(target)
    try:
        return score(read(raw), original, quasi, raw, trees)
    except (SfumatoError, adapters.UnreadableCellError) as error:
        # One output that cannot be scored must not cost the figures of all the others.
        return f"not scored: {error}"


def write_hierarchies(folder: Path) -> dict[str, str]:
    """The generated records' hierarchies as files in ARX's layout."""
    paths = {}
    for name, levels in generate.hierarchies().items():
        path = folder / f"hierarchy-{name}.csv"
        path.write_text("".join(";".join(line) + "\n" for line in levels), encoding="utf-8")
        paths[name] = str(path)
    return paths
