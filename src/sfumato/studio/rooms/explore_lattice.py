"""The lattice of the room Explore: which levels may be published together, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...protocols import Partitioner
from ...registry import find
from ...release.plan.editing import edited, inserted, removed_step
from ...release.plan.plan import Plan
from ...release.report.parts import Markup, clipped, count, definitions, join, number, percent, tag
from ...release.report.parts import table as plain_table
from ...texts import one_line
from ..asked import Answer, Asked
from ..desk import digest
from ..forms import fields
from ..forms import words as form_words
from ..jobs import Job, seen
from ..widgets import button, card, cards, form, hidden, link, notice, private, where, work
from .lattice_picture import VERDICTS, lattice_picture, legend

NAME, PREFIX = "full-domain", "lattice"
_ASKED = ("k", "suppress", "measure")
_ROWS = 25
_SORTS: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "value": ("loss", lambda n: _cost(n)),
    "height": ("height", lambda n: n["height"]),
    "suppressed": ("hidden", lambda n: 2.0 if n["suppressed"] is None else n["suppressed"]),
    "classes": ("classes", lambda n: -(n["classes"] or 0)),
    "verdict": ("verdict", lambda n: [*VERDICTS].index(n["verdict"])),
}


def _cost(node: Mapping[str, Any]) -> tuple[int, float]:
    """What may be published first, by its measure; then by what it is at least."""
    if node["value"] is not None:
        return 0, float(node["value"])
    return 1, float("inf") if node["bound"] is None else float(node["bound"])


def view(asked: Asked) -> Markup:
    """The picture, or how to begin."""
    plan = asked.desk.plan
    at, step = _step(plan)
    job = _job(asked, plan)
    about = tag(
        "p", "Each column has levels, from exact to hidden. The lattice holds every way to choose "
        "a level for each: what may be published, and what is lost by it.",
    )  # fmt: skip
    begin = _begin(asked, plan, at, step)
    if job is None or job.state != "done":
        return card(tag("h2", "The lattice of levels"), about, work(asked, job), begin)
    found = _found(str(job.folder))
    node = asked.number("node", -1)
    node = node if 0 <= node < len(found["nodes"]) else -1
    listed = asked.number("rest", -1)
    shown: Mapping[str, Any] | None = None
    if 0 <= listed < len(found["rest"]):
        shown, node = found["rest"][listed], -1
    elif node >= 0:
        shown = found["nodes"][node]
    elif found["best"]:
        node = found["best"][0]
        shown = found["nodes"][node]
    own = _own(plan, found)
    known = {one["verdict"] for one in found["nodes"]}
    picture = lattice_picture(
        found, where(asked, "explore?view=lattice&node="), node if node >= 0 else None, own
    )
    said = [
        f"{count(int(found['size']), 'node')}, of which {found['looked_at']:,} were looked at; "
        "the bold lines join these. The darker a circle, the less is lost.",
    ]
    if found["best"]:
        said.append("Numbers rank the best.")
    if own is not None:
        said.append("The dashed frame is the one that the plan publishes.")
    if len(found["nodes"]) < found["size"]:
        said.append(f"Drawn are the best and what is around them: {len(found['nodes'])}.")
    ended = notice("The search ended early, so that there may be better ones.")
    drawn = card(
        tag("h2", "The lattice of levels"),
        private(),
        ended if found["ended"] else "",
        notice("No node keeps what is required. More may be hidden: raise the share of records "
               "that may be suppressed, or lower k.", look="bad") if not found["best"] else "",
        legend([*known]),
        tag("div", picture, class_="scroll", role="region", tabindex="0", id="lattice-scroll",
            aria_label="The lattice"),
        tag("p", " ".join(said), class_="small"),
    )  # fmt: skip
    again = tag("details", tag("summary", "Search again"), begin, id="lattice-again")
    # What is chosen stays in sight, however far down the picture one is.
    both = tag("div", _node(asked, plan, shown, found), drawn, class_="watched")
    return join((both, _table(asked, found), card(again)))


def _step(plan: Plan) -> tuple[int, dict[str, Any] | None]:
    """Where the plan's full-domain step is, with its words but for the levels; else where one would
    go: in the place of the first search or other method that could make a release."""
    for i, step in enumerate(plan.steps):
        if step.use.name == NAME:
            return i, {k: v for k, v in step.use.plan_words().items() if k != "levels"}
    for i, step in enumerate(plan.steps):
        # What masks by itself: levels beneath it would be those of records that are masked already.
        if isinstance(step.use, Partitioner) or step.use.candidate is not None:
            return i, None
    return len(plan.steps), None


def wanted_k(plan: Plan) -> int:
    """The k that a plan asks for: of its requirement, of a step, else five."""
    asked = [r.thing for r in plan.requirements if r.name == "k-anonymity"]
    for thing in (*asked, *(step.use for step in plan.steps)):
        k = getattr(thing, "k", None)
        if isinstance(k, int):
            return k
    return 5


def _words(plan: Plan, at: int, step: Mapping[str, Any]) -> dict[str, Any]:
    """What a search is asked: it stays the same whichever node the plan publishes."""
    plain = json.loads(json.dumps(step, default=str))
    columns = {n: c.to_plan() for n, c in plan.columns.items()}
    before = [one.to_plan() for one in plan.steps[:at]]
    told = json.dumps([plan.input.plan_words(), columns, before], sort_keys=True, default=str)
    return {"at": at, "step": plain, "of": digest(told)[:16]}


def _job(asked: Asked, plan: Plan) -> Job | None:
    """The search that still holds."""
    desk = asked.desk
    at, step = _step(plan)
    for job in desk.jobs:
        if job.kind != "lattice" or job.asked.get("input") != seen(desk.path, desk.text):
            continue
        asked_for = job.words.get("step", {}) if step is None else step
        if job.words == _words(plan, at, asked_for):
            return job
    return None


@lru_cache(maxsize=4)
def _found(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "lattice.json").read_text(encoding="utf-8"))
    return found


def _own(plan: Plan, found: Mapping[str, Any]) -> int | None:
    """The node that the plan publishes, where it says so."""
    for step in plan.steps:
        levels = dict(getattr(step.use, "levels", None) or {}) if step.use.name == NAME else {}
        for i, node in enumerate(found["nodes"]):
            if levels and levels == node["levels"]:
                return i
    return None


def _begin(asked: Asked, plan: Plan, at: int, step: Mapping[str, Any] | None) -> Markup:
    """The search, as the plan has it or as a form asks for it."""
    if step is not None:
        words = f"It is searched as step {at + 1} of the plan says ({NAME})."
        press = button("Search the lattice", look="first")
        return form(asked, "explore/search", tag("p", words, class_="small"), press)
    cls = find(NAME, "method").load()
    given = {"k": wanted_k(plan), "suppress": 0.02}
    about = (
        f"The plan has no {NAME} step. The lattice of its quasi-identifiers can be searched "
        "nevertheless: say what each node must keep."
    )
    return form(
        asked,
        "explore/search",
        tag("p", about, class_="small"),
        tag("div", fields(cls, given, PREFIX, only=_ASKED), class_="sides"),
        button("Search the lattice", look="first"),
        id="lattice-form",
    )


def _node(
    asked: Asked, plan: Plan, node: Mapping[str, Any] | None, found: Mapping[str, Any]
) -> Markup:
    """One node: its levels, what it costs, and a button that takes it."""
    if node is None:
        return Markup("")
    rows = [
        (clipped(one_line(name), 60), f"{level} of {found['highest'][name]}" + _where(level, found,
                                                                                name))
        for name, level in node["levels"].items()
    ]  # fmt: skip
    figures: list[tuple[object, object, object]] = []
    if node["value"] is not None:
        figures.append((found["measure"], number(node["value"]), ""))
    elif node["bound"] is not None:
        figures.append((found["measure"], f"≥ {number(node['bound'])}", "at least"))
    if node["suppressed"] is not None:
        aside = "" if node["verdict"] != "refused" else "would have to be"
        figures.append(("Records hidden", percent(node["suppressed"]), aside))
    if node["classes"] is not None:
        figures.append(("Classes", f"{node['classes']:,}", "that occur"))
    look = {"optimal": "good", "allowed": "good", "refused": "bad"}.get(node["verdict"], "")
    verdict = tag("span", f"{node['verdict']}: {VERDICTS[node['verdict']]}",
                  class_=f"tagged {look}")  # fmt: skip
    at, step = _step(plan)
    use = plan.steps[at].use.name if at < len(plan.steps) else ""
    says = (
        f"Its levels are written into step {at + 1} ({NAME})."
        if step is not None
        else f"Step {at + 1} ({use}) is replaced by {NAME} with these levels."
        if use
        else f"A step {NAME} with these levels is added."
    )
    if node["verdict"] not in ("optimal", "allowed"):
        says += " What is required may not be kept by it: the release would then be refused."
    take = form(
        asked,
        "explore/take-node",
        hidden("levels", json.dumps(node["levels"])),
        button("Take this node", look="first"),
        tag("p", says, class_="hint"),
        id="take-node",
    )
    title = "The best node" if node["verdict"] == "optimal" else "The chosen node"
    return card(
        tag("h2", title),
        tag("p", verdict),
        tag("div", tag("div", cards(figures), take), definitions(rows), class_="sides"),
        id="node",
        role="region",
        aria_label=title,
        tabindex="0",
    )


def _where(level: int, found: Mapping[str, Any], name: str) -> str:
    if not level:
        return ": as it is"
    return ": hidden" if level == found["highest"][name] else ""


def _table(asked: Asked, found: Mapping[str, Any]) -> Markup:
    """The nodes as a table: of small lattices those of the picture, else also the rest."""
    rest = [(f"rest={i}", node) for i, node in enumerate(found["rest"])]
    listed = [(f"node={i}", node) for i, node in enumerate(found["nodes"])] + rest
    wish = asked.query.get("sort", "value")
    key = _SORTS.get(wish, _SORTS["value"])[1]
    listed.sort(key=lambda one: key(one[1]))
    begin = min(asked.number("from"), max(len(listed) - 1, 0)) // _ROWS * _ROWS
    names = [*found["highest"]]
    sorts = tag(
        "p", "Sorted by ",
        join((
            link(asked, f"explore?view=lattice&sort={name}", words,
                 **({"aria_current": "true"} if name == wish else {}))
            for name, (words, _) in _SORTS.items()
        ), " · "),
        class_="small",
    )  # fmt: skip
    rows = [
        [
            link(asked, f"explore?view=lattice&{place}", "look"),
            tag("span", node["verdict"], class_="still"),
            number(node["value"]) if node["value"] is not None else "",
            percent(node["suppressed"]) if node["suppressed"] is not None else "",
            f"{node['classes']:,}" if node["classes"] is not None else "",
            *(str(node["levels"][name]) for name in names),
        ]
        for place, node in listed[begin : begin + _ROWS]
    ]
    heads = ["Node", "Verdict", found["measure"], "Hidden", "Classes"]
    heads += [clipped(one_line(name), 24) for name in names]
    caption = f"Nodes {begin + 1:,} to {begin + len(rows):,} of {len(listed):,}"
    pages = [
        link(asked, f"explore?view=lattice&sort={wish if wish in _SORTS else 'value'}&from={n}", w)
        for w, n in (("earlier", begin - _ROWS), ("next", begin + _ROWS))
        if 0 <= n < len(listed)
    ]
    save = tag("a", "Save all nodes as CSV", href=where(asked, "explore/file/lattice"),
               class_="button")  # fmt: skip
    return card(
        tag("h2", "The nodes as a table"),
        sorts,
        plain_table(caption, heads, rows, tuple(range(2, len(heads)))),
        tag("p", join(pages, " · ")) if pages else "",
        tag("p", save, " It tells how many stand out: it is private."),
    )


# --- what its forms do ---


def _search(asked: Asked) -> str:
    plan = asked.desk.plan
    at, step = _step(plan)
    if step is None:
        step = form_words(find(NAME, "method").load(), asked, PREFIX)
    words = _words(plan, at, step)
    asked.desk.start("lattice", "Searching the lattice", words)
    return "explore?view=lattice"


def _take(asked: Asked) -> str:
    """Write a node's levels into the plan."""
    plan = asked.desk.plan
    at, step = _step(plan)
    job = _job(asked, plan)
    if job is None or job.state != "done":
        raise InputError("the lattice is not that of the plan any more", remedy="search it again")
    found, levels = _found(str(job.folder)), _levels(asked.one("levels"))
    if not any(levels == node["levels"] for node in (*found["nodes"], *found["rest"])):
        raise InputError("there is no such node", remedy="choose one of the picture")
    told = ", ".join(f"{clipped(one_line(n), 20)} {v}" for n, v in levels.items())

    def change(text: str) -> str:
        if step is not None:
            return edited(text, ("steps", at, "levels"), levels)
        words = {"use": NAME, **job.words["step"], "levels": levels}
        text = inserted(text, at, words)
        return removed_step(text, at + 1) if at < len(plan.steps) else text

    asked.desk.edit(f"levels {told}", change, asked.seen)
    return "explore?view=lattice"


def _levels(text: str) -> dict[str, int]:
    try:
        found = json.loads(text)
        return {str(name): int(level) for name, level in found.items()}
    except (ValueError, TypeError, AttributeError):
        raise InputError("there is no such node", remedy="choose one of the picture") from None


def _csv(asked: Asked) -> Answer:
    job = _job(asked, asked.desk.plan)
    if job is None or job.state != "done":
        raise InputError("there is no lattice yet", remedy="search it")
    body = (job.folder / "lattice.csv").read_bytes()
    return Answer(body, "text/csv; charset=utf-8", download=f"{asked.desk.name}-lattice.csv")


ACTIONS: dict[str, Callable[[Asked], str | None]] = {"search": _search, "take-node": _take}
FILES = {"lattice": _csv}

__all__: Sequence[str] = ("ACTIONS", "FILES", "view", "wanted_k")
