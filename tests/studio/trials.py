"""Plans with trials, for the rooms that look at them: tasks are done here, not in processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.studio.asked import Asked
from sfumato.studio.desk import Desk
from sfumato.studio.jobs import Job, seen
from sfumato.studio.tasks import Work, task

HOSTILE = "<b>x"
SEED = 2**70

PLAN = """
[input]
path = "people.csv"

[columns]
age = { role = "quasi", kind = "integer" }
sex = { role = "quasi", kind = "nominal" }
"<b>x" = { role = "quasi", kind = "nominal" }
income = { role = "confidential", kind = "continuous" }
spent = { role = "confidential", kind = "continuous" }
ill = { role = "confidential", kind = "set" }
smokes = { role = "target", kind = "boolean" }

[[steps]]
use = "mondrian"
k = 4

[require]
k-anonymity = 4
exposure = { at-most = 1.0 }

[output]
path = "release"
"""


def people(n: int = 240) -> pl.DataFrame:
    """People with ages, sexes, places with markup, sets and gaps."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 60, n)
    income = np.round(rng.normal(30_000, 5_000, n) + 300 * age, -3)
    return pl.DataFrame(
        {
            "age": [None if i % 40 == 7 else int(one) for i, one in enumerate(age)],
            "sex": rng.choice(["f", "m"], n),
            HOSTILE: rng.choice(["<i>n</i>", "=1+1", 'a"b', "south"], n),
            "income": [None if i % 30 == 3 else float(one) for i, one in enumerate(income)],
            "spent": np.round(income * 0.7 + rng.normal(0, 2_000, n), -3),
            "ill": ["flu" if i % 2 else "flu gout" if i % 3 else "" for i in range(n)],
            "smokes": rng.random(n) < 0.3,
        }
    )


def desk_of(folder: Path, plan: str = PLAN, frame: pl.DataFrame | None = None) -> Desk:
    """A plan on the desk, with its file."""
    (people() if frame is None else frame).write_csv(folder / "people.csv")
    path = folder / "plan.toml"
    path.write_text(plan, encoding="utf-8")
    return Desk(path)


def done(desk: Desk, kind: str, words: dict[str, Any] | None = None) -> Job:
    """A job that is done, as its process would have left it."""
    desk.make_room()
    jobs = desk.room / "jobs"
    jobs.mkdir(exist_ok=True)
    folder = jobs / f"{len([*jobs.iterdir()]) + 1:05d}-{kind}"
    folder.mkdir()
    given = words or {}
    asked = {"kind": kind, "what": kind, "words": given, "plan": str(desk.path)}
    asked |= {"text": desk.text, "input": seen(desk.path, desk.text)}
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    found = task(kind)(Work(folder, desk.path, desk.text, given, lambda *_: None))
    (folder / "result.json").write_text(json.dumps(found), encoding="utf-8")
    return Job(folder)


def trial_of(desk: Desk) -> Job:
    """A trial of the plan as it is."""
    return done(desk, "protect", {"seed": SEED})


def asked(desk: Desk, room: str, form: dict[str, Any] | None = None, **query: object) -> Asked:
    """A request to a room."""
    given = {k: v if isinstance(v, list) else [str(v)] for k, v in (form or {}).items()}
    texts = {k: str(v) for k, v in query.items()}
    return Asked(desk, texts, given, {}, f"/plan/{desk.key}/{room}")
