"""Releases side by side in the room Explore: every kept trial, what it promises, and its plan."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InputError
from ...release.report.parts import Markup, clipped, count, join, table, tag
from ..asked import Asked
from ..jobs import Job
from ..widgets import button, card, checkbox, details, form, hidden, link, notice, private, work

_MOST = 6
"""Releases that are compared at once."""
_PARTS = {"published": "What is published", "requirement": "What must hold", "risk": "Risk",
          "utility": "Loss"}  # fmt: skip


def view(asked: Asked) -> Markup:
    """All trials, and those that were chosen side by side."""
    trials = [job for job in asked.desk.jobs if job.kind == "protect"]
    title = tag("h2", "Trials of this plan")
    if not trials:
        about = "A trial makes the whole release for your eyes alone. There is none yet."
        press = button("Try the plan as it is", look="first")
        return card(title, tag("p", about), form(asked, "explore/try", press))
    running = join(work(asked, job) for job in trials if job.state == "running")
    ended = [job for job in trials if job.state != "running"]
    now = asked.desk.text
    rows = [_row(asked, job, now) for job in ended]
    head = ("Trial", "What must hold", "Records", "Plan", "Compare")
    done = [job for job in ended if job.state == "done"]
    compare = (
        button("Compare those that are ticked", look="first")
        if len(done) > 1
        else tag("p", "With two trials or more, they can be compared here: change the plan and try "
                 "it again.", class_="small")
    )  # fmt: skip
    listed = form(asked, "explore/compare", table("Trials, the newest first", head, rows), compare,
                  id="trials-form")  # fmt: skip
    return join((running, card(title, private(), listed), _compared(asked), _plan(asked, now)))


def _number(job: Job) -> str:
    return str(int(job.name.partition("-")[0]))


def _when(job: Job) -> str:
    try:
        return time.strftime("%d %b, %H:%M", time.localtime(job.folder.stat().st_mtime))
    except OSError:
        return ""


def _row(asked: Asked, job: Job, now: str) -> list[object]:
    done, number = job.state == "done", _number(job)
    box: object = ""
    if done and not job.result.get("table"):
        box = checkbox(
            "trial", f"trial {number}", value=job.name, checked=job.name in _chosen(asked)
        )
    held = _findings(job)
    records = job.result.get("records") or {}
    many = f"{int(records['published']):,}" if isinstance(records.get("published"), int) else ""
    same = job.asked.get("text") == now
    plan = (
        "as it is now"
        if same
        else link(asked, f"explore?view=trials&plan={number}", "differs: look")
    )
    return [join((f"{number} ", tag("span", _when(job), class_="small"))), held, many, plan, box]


def _findings(job: Job) -> Markup | str:
    """What a trial promises, or why there is no release."""
    if job.state in ("ended", "lost"):
        return tag("span", "ended before it was done", class_="small")
    if job.state == "failed":
        refused = job.error.get("error") == "ReleaseRefused"
        broken = [str(f.get("requirement", "")) for f in job.error.get("findings", ())
                  if not f.get("met")]  # fmt: skip
        words = "refused" + (f": {', '.join(dict.fromkeys(broken))}" if broken else "")
        told = words if refused else str(job.error.get("message") or "it failed")
        remedy = clipped(job.error.get("remedy") or "", 160)
        return join((tag("span", clipped(told, 160), class_="bad"), f" → {remedy}" * bool(remedy)))
    found = job.result.get("findings") or []
    if not found:
        return tag("span", "nothing is required", class_="small")
    lines = (tag("li", clipped(str(f.get("text", "")), 120)) for f in found)
    return tag("ul", *lines, class_="plain")


def _chosen(asked: Asked) -> list[str]:
    """The trials of the newest comparison."""
    job = asked.desk.last("compare")
    return [] if job is None else [str(name) for name in job.words.get("trials", ())]


def _compared(asked: Asked) -> Markup:
    """The newest comparison."""
    job = asked.desk.last("compare")
    if job is None:
        return Markup("")
    if job.state != "done":
        return work(asked, job)
    names = [f"trial {int(name.partition('-')[0])}" for name in _chosen(asked)]
    lines: list[Mapping[str, Any]] = job.result.get("lines", [])
    parts: list[object] = []
    for about, title in _PARTS.items():
        rows = [_line(line) for line in lines if line["about"] == about]
        if rows:
            right = range(1, len(names) + 1) if about != "requirement" else ()
            parts.append(table(title, ["", *names], rows, tuple(right)))
    notes = (tag("p", clipped(note, 600), class_="small") for note in job.result.get("notes", ()))
    lower = tag("p", "Lower is better unless it says otherwise; the best of a line is bold.",
                class_="small")  # fmt: skip
    return card(tag("h2", "Side by side"), private(), lower, *notes, *parts, id="compared")


def _line(line: Mapping[str, Any]) -> list[object]:
    """One figure of all trials, the best of them marked."""
    better = " (higher is better)" if line["better"] == "higher" else ""
    name: object = line["title"]
    if line["about"] in ("risk", "utility"):
        name = join((line["title"], better, " ", tag("code", line["name"])))
    best = set(line.get("best") or ())
    values = [
        tag("strong", value, tag("span", " (best)", class_="hidden")) if i in best else value
        for i, value in enumerate(line["values"])
    ]
    return [name, *values]


def _plan(asked: Asked, now: str) -> Markup:
    """What differs between the plan of a trial and the plan as it is."""
    wanted = asked.number("plan", -1)
    job = next((j for j in asked.desk.jobs if j.kind == "protect" and _number(j) == str(wanted)),
               None)  # fmt: skip
    if job is None:
        return Markup("")
    text = str(job.asked.get("text", ""))
    lines = [
        *difflib.unified_diff(
            now.splitlines(), text.splitlines(), "the plan now", f"trial {wanted}", "", "", 1, ""
        )
    ]
    changed = sum(line[:1] in "+-" and line[:3] not in ("---", "+++") for line in lines)
    back = form(
        asked,
        "explore/back",
        hidden("job", job.name),
        button("Go back to this plan", look="first"),
        tag("p", "The whole text of the plan becomes what it was then; Undo takes it back.",
            class_="hint"),
        id="go-back",
    )  # fmt: skip
    shown = tag("pre", *(_marked(line) for line in lines[:400]), class_="diff", tabindex="0",
                aria_label="What differs")  # fmt: skip
    return card(
        tag("h2", f"The plan of trial {wanted}"),
        tag("p", f"{count(changed, 'line')} differ. Lines with - are in the plan now; those with + "
            "were in the plan of the trial."),
        shown if lines else notice("It is the plan as it is now."),
        back if lines else "",
        details("Its whole text", tag("pre", text), id="whole-plan"),
        id="plan-of-trial",
    )  # fmt: skip


def _marked(line: str) -> Markup:
    name = {"+": "ins", "-": "del"}.get(line[:1], "span")
    return tag(name if line[:3] not in ("---", "+++") else "span", line + "\n")


# --- what its forms do ---


def _compare(asked: Asked) -> str:
    kept = {j.name for j in asked.desk.jobs if j.kind == "protect" and j.state == "done"}
    names = [name for name in asked.many("trial") if name in kept]
    if not 2 <= len(names) <= _MOST:
        raise InputError(
            f"{len(names)} trials were ticked", remedy=f"tick two of them, or up to {_MOST}"
        )
    asked.desk.start("compare", "Comparing the trials", {"trials": sorted(names)})
    return "explore?view=trials"


def _back(asked: Asked) -> str:
    job = asked.desk.jobs.named(asked.one("job"))
    if job is None or job.kind != "protect":
        raise InputError("that trial is not kept any more")
    text = str(job.asked.get("text", ""))
    asked.desk.edit(f"the plan of trial {_number(job)}", lambda _: text, asked.seen)
    return "explore?view=trials"


def _try(asked: Asked) -> str:
    asked.desk.start("protect", "A trial of the plan", {})
    return "explore?view=trials"


ACTIONS: dict[str, Callable[[Asked], str | None]] = {
    "compare": _compare,
    "back": _back,
    "try": _try,
}
