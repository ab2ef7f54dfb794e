"""What else could be done: the lattice of levels, the map of methods, trials side by side."""

from __future__ import annotations

import json
from typing import Any

from ...aside import write_text
from ...errors import InputError, ParameterError
from ...explore.compare import Line, compare, shown
from ...explore.lattice import lattice
from ...explore.map_points import MOST_RECORDS, points, some, tries
from ...release.plan.rewriting import rewritten
from ...release.plan.step import Step, build
from ...release.records.run import read_input
from ...release.report.words import figure, words
from . import Work

DRAWN, IN_A_ROW = 300, 13
"""Nodes up to which a lattice is drawn whole, and how many of a height are of a larger one."""
LISTED = 3_000
"""Nodes that are listed; a file holds them all."""


def space(work: Work) -> dict[str, Any]:
    """The solution space of full-domain generalization, at the place of a step of the plan."""
    plan = work.plan
    if not plan.engine.in_memory:
        raise ParameterError(
            f"records of the engine {plan.engine.name} are not searched here",
            remedy="take the engine local and a part of the records to choose levels",
        )
    work.tell("reading the records", 0, 0)
    records, _ = read_input(plan, work.base)
    step = Step(build("method", "full-domain", work.words["step"]))
    steps = (*plan.steps[: int(work.words["at"])], step)
    found = lattice(records, plan.with_(steps=steps), best=10, progress=work.tell)
    work.tell("what is drawn of it", 0, 0)
    found.save(work.folder / "lattice.csv")
    told = found.told(DRAWN, IN_A_ROW, LISTED)
    write_text(work.folder / "lattice.json", json.dumps(told), private=True)
    return {"size": found.size, "looked_at": found.looked_at}


def risk_map(work: Work) -> dict[str, Any]:
    """A risk-utility map; what was tried before is remembered beside the plan, also where the work
    was ended."""
    plan, asked = work.plan, work.words
    if not plan.engine.in_memory:
        raise ParameterError(
            f"records of the engine {plan.engine.name} are not tried here",
            remedy="take the engine local and a part of the records",
        )
    work.tell("reading the records", 0, 0)
    whole, _ = read_input(plan, work.base)
    records = some(whole, int(asked.get("records") or MOST_RECORDS))
    tried = tries(records, plan, list(asked["methods"]), [int(k) for k in asked.get("k", ())])
    wish = {key: asked[key] for key in ("risk", "loss", "draws") if asked.get(key)}
    journal = work.folder.parent.parent / "map.journal"
    found = points(records, plan, tried, wish, journal=journal, progress=work.tell)
    for one in found["points"]:
        steps = tried[one.pop("place")].steps
        one["plan"] = rewritten(work.text, plan.with_(steps=steps), work.base)
    return found | {"of": whole.height}


def side_by_side(work: Work) -> dict[str, Any]:
    """Trials side by side, by the figures that they kept."""
    folders = [work.folder.parent / str(name) / "release" for name in work.words["trials"]]
    for folder in folders:
        if not folder.is_dir():
            raise InputError("one of the trials is not kept any more", remedy="choose others")
    found = compare(*folders)
    lines = [_read(line) for line in found.lines]
    # How the command line would compare them is nothing to be told here.
    notes = [note.partition(": --original")[0] for note in found.notes]
    return {"lines": lines, "notes": notes}


def _read(line: Line) -> dict[str, Any]:
    """One figure of all trials, as it is read."""
    measured = line.about in ("risk", "utility")

    def told(value: float | str | None) -> str:
        if measured and isinstance(value, float | int):
            return figure(line.name, float(value))
        return shown(value)

    return {
        "about": line.about,
        "name": line.name,
        "title": words(line.name).title if measured else line.name,
        "better": line.better,
        "values": [told(value) for value in line.values],
        "best": _best(line) if measured else [],
    }


def _best(line: Line) -> list[int]:
    """The places of the best figures; none where all are alike."""
    known = [v for v in line.values if isinstance(v, float | int)]
    if len(known) < 2 or min(known) == max(known) or line.better not in ("lower", "higher"):
        return []
    best = min(known) if line.better == "lower" else max(known)
    return [i for i, value in enumerate(line.values) if value == best]
