"""A desk whose jobs are done here and at once, by the same worker that does them elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.aside import write_text
from sfumato.release.report.parts import Markup
from sfumato.studio import jobs
from sfumato.studio.asked import Asked, Room
from sfumato.studio.desk import Desk
from sfumato.studio.tasks import protecting
from sfumato.studio.worker import work

PLAN = """# what the office decided
[input]
path = "people.csv"

[columns]
id = "identifier"
age = "quasi"  # known to neighbours
sex = "quasi"
disease = "confidential"

[[steps]]
use = "drop"  # the identifiers

[[steps]]
use = "mondrian"  # groups
k = 5

[require]
k-anonymity = 5  # by law

[measures]
class-sizes = true

[output]
path = "out"
"""


class _Done:
    def poll(self) -> int:
        return 0


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done before `start` returns, and always draw the same seeds."""
    seeds = count(2**100)
    monkeypatch.setattr(protecting, "draw_seed", lambda: next(seeds))

    def begun(folder: Path, asked: str) -> Any:
        (folder / jobs.LOCK).touch()
        write_text(folder / jobs.ASKED, asked, private=True)
        work(folder)
        return _Done()

    monkeypatch.setattr(jobs, "_begun", begun)


def people(folder: Path, many: int = 60) -> None:
    """A file of people who do not exist."""
    rng = np.random.default_rng(1)
    frame = {
        "id": range(1000, 1000 + many),
        "age": rng.integers(20, 60, many),
        "sex": rng.choice(["f", "m"], many),
        "disease": rng.choice(["flu", "cough", "measles"], many),
    }
    pl.DataFrame(frame).write_csv(folder / "people.csv")


def desk(folder: Path, text: str = PLAN) -> Desk:
    """A plan on the desk."""
    (folder / "plan.toml").write_text(text)
    return Desk(folder / "plan.toml")


def page(room: Room, at: Desk, **query: str) -> Markup:
    """A room's page."""
    return room.page(Asked(at, query, here=f"/plan/{at.key}/{room.key}"))


def do(room: Room, action: str, at: Desk, /, **form: str | list[str]) -> str | None:
    """What a form of the room does; names of fields may have dots for two underscores."""
    listed: Mapping[str, Any] = {
        name.replace("__", "."): [value] if isinstance(value, str) else value
        for name, value in form.items()
    }
    deed: Callable[[Asked], str | None] = room.actions[action]
    return deed(Asked(at, form={"version": [at.version], **listed}))


def answered(at: Desk, kind: str, found: Mapping[str, Any]) -> jobs.Job:
    """A job that was done with the plan as it is, and what came of it."""
    at.make_room()
    folder = at.jobs._room(kind) if at.jobs.folder.is_dir() else at.room / "jobs" / f"00001-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    asked = {"kind": kind, "what": kind, "words": {}, "plan": str(at.path), "text": at.text}
    asked |= {"input": jobs.seen(at.path, at.text)}
    write_text(folder / jobs.ASKED, json.dumps(asked), private=True)
    write_text(folder / jobs.FOUND, json.dumps(found), private=True)
    return jobs.Job(folder)
