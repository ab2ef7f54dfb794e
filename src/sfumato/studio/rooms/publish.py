"""The room Publish: what everybody will see, what is written where, and the writing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError, PlanError
from ...release.plan.editing import edited
from ...release.plan.output import Output
from ...release.report.parts import Markup, clipped, join, table, tag
from ...release.staging import private_path
from .. import forms
from ..asked import Answer, Asked, Room
from ..jobs import Job
from ..widgets import (
    button,
    card,
    checkbox,
    details,
    field,
    form,
    hidden,
    link,
    notice,
    text_field,
    where,
    work,
)
from . import doubtful, placed, planned, trying

WRITING = "Writing the release"
_FIRST = ("path", "format", "shuffle", "suppressed", "precision")
_REST = ("escape_formulas", "ledger", "ledger_exception")


def _page(asked: Asked) -> Markup:
    missing = _missing(asked)
    ready = missing is None
    return join(
        (
            missing or "",
            _public(asked) if ready and not _large(asked) else "",
            _places(asked, ready=ready),
            _options(asked),
            _write(asked) if ready else _written(asked),
            _releases(asked),
        )
    )


# --- whether it may be published ---


def _large(asked: Asked) -> bool:
    """Whether its records do not come into memory, so that there is no trial."""
    try:
        plan = asked.desk.plan
    except PlanError:
        return False
    return plan.table is None and not plan.engine.in_memory


def _missing(asked: Asked) -> Markup | None:
    """What stands between the plan and its publication; None where nothing does."""
    desk = asked.desk
    if desk.problems:
        where_ = tag("p", link(asked, "protect", "Go to Protect"))
        return notice("Not yet: the plan has problems, which stand at the top.", where_)
    if placed.target(desk) is None:
        return notice("Not yet: the plan does not say where the release goes. Name a folder below.")
    if _large(asked):
        return None
    job, current = trying.trial(asked), desk.current("protect")
    again = form(asked, "publish/run", button("Try the plan", look="first"))
    there = tag("p", link(asked, "protect#run", "See it in Protect"))
    if job is None:
        return notice("Not yet: the plan was not tried. A trial shows what would be published.",
                      again)  # fmt: skip
    if job.state == "running":
        return work(asked, job)
    if current is None:
        return notice(
            "Not yet: the plan or its data were changed since they were last tried.", again
        )
    if current.state == "failed":
        return notice("Not yet: the plan was refused, or could not run.", there, look="bad")
    if current.state != "done":
        return join((work(asked, current), again))
    if not trying.is_met(current):
        return notice("Not yet: the trial does not meet every requirement.", there, look="bad")
    return None


# --- what everybody will see ---


def _public(asked: Asked) -> Markup:
    source = where(asked, "publish/file/report")
    return tag(
        "section",
        tag("h2", "What everybody will see"),
        tag("p", "This is the report that lies beside the data, as it will be published."),
        tag("iframe", src=source, title="The public report", class_="report", sandbox=""),
        tag("p", tag("a", "Open it by itself", href=source, target="_blank", rel="noopener"),
            class_="small"),
    )  # fmt: skip


def _report(asked: Asked) -> Answer:
    """The public report of the trial."""
    job = asked.desk.current("protect")
    path = None if job is None else job.folder / "release" / "report.html"
    if path is None or not path.is_file():
        return Answer(b"<!DOCTYPE html><title>Nothing</title><p>There is no trial of this plan.",
                      framed=True)  # fmt: skip
    return Answer(path.read_bytes(), framed=True)


# --- what is written where ---


def _places(asked: Asked, *, ready: bool) -> Markup:
    desk = asked.desk
    place = placed.target(desk)
    if place is None:
        return Markup("")
    job = desk.current("protect") if ready else None
    halves = [
        ("To be published", place, "release", False),
        ("Kept by you: never publish it", private_path(place), "release.private", True),
    ]
    parts = []
    for title, path, name, own in halves:
        found = [] if job is None else placed.files(job.folder / name, private=own)
        listed = (
            table(
                f"Files of {clipped(path.name, 60)}",
                ["File", "Size", "What it is"],
                [(one.name, placed.size(one.size), one.about) for one in found],
                (1,),
            )
            if found
            else ""
        )
        parts.append(
            card(
                tag("h3", title, " ", tag("span", "private", class_="tagged private"))
                if own
                else tag("h3", title),
                tag("p", tag("code", f"{path}/"), class_="paths"),
                listed,
            )
        )
    return tag(
        "section",
        tag("h2", "What is written where"),
        *parts,
        tag("ul", *(tag("li", one) for one in _facts(asked, job)), class_="paths"),
    )


def _facts(asked: Asked, job: Job | None) -> list[object]:
    """What else happens."""
    desk = asked.desk
    output = planned.section(desk, "output")
    shuffled = output.get("shuffle", True) is not False
    order = (
        "The records are put in random order, so that their place tells nothing."
        if shuffled
        else "The records stay in the order of your data: their place tells whose they are."
    )
    said: list[object] = [] if planned.section(desk, "table") else [order]
    book = placed.ledger(desk)
    if book is not None:
        kept = "is written down" if book.exists() else "is written down in a new file"
        said.append(
            join(("What was published of whom ", kept, ": ", tag("code", str(book)),
                  ". Keep it private, too."))
        )  # fmt: skip
    told = [] if job is None else job.result.get("ledger", ())
    said += [clipped(f"{one[:1].upper()}{one[1:]}.", 600) for one in told]
    if output.get("table"):
        said.append(f"The records become the table {clipped(output['table'], 60)} of a database.")
    return said


# --- options ---


def _options(asked: Asked) -> Markup:
    given = planned.section(asked.desk, "output")
    open_ = not given.get("path")
    inside = form(
        asked,
        "publish/output",
        forms.fields(Output, given, "output", only=_FIRST),
        details("More", forms.fields(Output, given, "output", only=_REST), id="output-more"),
        button("Keep this"),
        id="output-form",
    )
    about = "They are part of the plan: after a change it is tried again before it is published."
    return details(
        "Where it goes, and in which format", tag("p", about, class_="small"), inside,
        id="output", open=open_, class_="card",
    )  # fmt: skip


def _keep_output(asked: Asked) -> None:
    given = planned.section(asked.desk, "output")
    words = forms.words(Output, asked, "output", given)

    def change(text: str) -> str:
        for key in given:
            if key.replace("_", "-") not in words:
                text = edited(text, ("output", key), None)
        for key, value in words.items():
            old = key.replace("-", "_")
            written = old if old in given and key not in given else key
            if given.get(written) != value:
                text = edited(text, ("output", written), value)
        return text

    asked.desk.edit("where the release goes, and how it is written", change, asked.seen)


# --- writing ---


def _write(asked: Asked) -> Markup:
    desk = asked.desk
    job = desk.last("publish")
    running = job is not None and job.state == "running"
    inside: list[object] = []
    blocked = placed.in_the_way(desk)
    if blocked:
        names = ", ".join(clipped(one.name, 60) for one in blocked)
        inside += [
            tag("p", f"Already there: {names}."),
            checkbox("replace", "Replace what is there", id="replace", required=""),
        ]
    doubts = doubtful.doubts(desk, desk.current("protect"))
    if doubts:
        words = "I have read this, and publish all the same"
        inside += [
            doubtful.shown(doubts, "This release does not protect as releases usually do."),
            checkbox("doubtful", words, id="doubtful", required=""),
        ]
    if _conflict(job):
        hint = "The public report shows it."
        line = text_field("exception", "", id="exception", required="")
        inside.append(field("Why these people are published again", line, hint, id="exception"))
    off = {"disabled": ""} if running else {}
    again = _is_written(asked, job)
    look = "big" if again else "danger big" if doubts else "first big"
    inside.append(button("Write the release", look=look, **off))
    about = (
        "The records are masked, counted and written by the engine at once; there is no trial of "
        "what does not fit into memory. What does not hold is not written."
        if _large(asked)
        else "The release is made once more from the same plan with the same random numbers, "
        "counted again on the written bytes, and appears whole or not at all."
    )
    writing = join((tag("p", about), form(asked, "publish/write", *inside, id="write-form")))
    return tag(
        "section",
        tag("h2", "Write it", id="write"),
        _written(asked),
        details("Write it again", writing, id="again") if again else writing,
        aria_labelledby="write",
    )


def _is_written(asked: Asked, job: Job | None) -> bool:
    """Whether what is looked at was written, and is still there."""
    if job is None or job.state != "done" or not _there(job):
        return False
    trial = asked.desk.current("protect")
    return trial is not None and job.words.get("trial") == trial.name


def _there(job: Job) -> bool:
    return placed.is_release(Path(str(job.result.get("target", ""))))


def _conflict(job: Job | None) -> bool:
    """Whether the last writing stopped since people were published before."""
    if job is None or job.state != "failed":
        return False
    findings = job.error.get("findings", ())
    return any(one.get("requirement") == trying.LEDGER for one in findings)


def _publish(asked: Asked) -> str:
    """Begin to write the release of the trial that is looked at."""
    desk = asked.desk
    if _missing(asked) is not None:
        raise InputError("this plan cannot be published yet", remedy="see what is missing")
    if asked.seen is not None and asked.seen != desk.version:
        raise InputError("the plan was changed meanwhile", remedy="look at what would be written")
    if doubtful.doubts(desk, desk.current("protect")) and not asked.one("doubtful"):
        raise InputError(
            "this release does not protect as releases usually do",
            remedy="read what is said of it, and tick that you publish it all the same",
        )
    if placed.in_the_way(desk) and not asked.one("replace"):
        raise InputError(
            "there is a release at this place already",
            remedy="tick that it is to be replaced, or name another folder",
        )
    job = desk.last("publish")
    if job is not None and job.state == "running":
        raise InputError("a release is being written already", remedy="wait until it is done")
    words: dict[str, Any] = {"replace": bool(asked.one("replace"))}
    words["exception"] = asked.one("exception").strip()
    trial = None if _large(asked) else desk.current("protect")
    if trial is not None:
        words["trial"] = trial.name
    desk.start("publish", WRITING, words)
    return "publish#write"


def _run(asked: Asked) -> str:
    trying.run(asked)
    return "publish"


def _written(asked: Asked) -> Markup:
    """What came of the last writing."""
    job = asked.desk.last("publish")
    if job is None:
        return Markup("")
    if job.state == "failed" and job.error.get("findings"):
        broken = [one for one in job.error["findings"] if not one.get("met")]
        ways = [clipped(one.get("change", ""), 600) for one in job.error.get("remedies", ())]
        return notice(
            "It was not written.",
            tag("ul", *(tag("li", clipped(one.get("text", ""), 600)) for one in broken)),
            tag("ul", *(tag("li", one) for one in ways)) if ways else "",
            look="bad",
        )
    if job.state != "done":
        return work(asked, job)
    if not _there(job):
        return Markup("")
    place = Path(str(job.result["target"]))
    found = placed.verified(asked.desk, place)
    return join(
        (
            notice(
                "✓ The release is written.",
                tag("p", "Publish this folder: ", tag("code", f"{place}/"), class_="paths"),
                tag("p", _holds(found)),
                look="good",
            ),
            notice(
                "Keep this folder, and never publish it:",
                tag("p", tag("code", f"{private_path(place)}/"), class_="paths"),
                look="private",
            ),
        )
    )


def _holds(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "Nobody has checked it as it is now."
    if found.get("error"):
        return f"It could not be checked: {clipped(found['error'], 300)}"
    checks: Sequence[Mapping[str, Any]] = found.get("checks", ())
    broken = [one for one in checks if one.get("state") == "broken"]
    if broken:
        said = "; ".join(f"{one['about']}: {one['said']}" for one in broken)
        return f"✗ It does not hold: {clipped(said, 600)}"
    good = sum(one.get("state") == "holds" for one in checks)
    left = sum(one.get("state") == "not checked" for one in checks)
    more = f", {left} cannot be checked by the public folder alone" if left else ""
    return f"✓ It holds: checked by the public folder alone, {good} of {len(checks)} points{more}."


# --- what is there ---


def _releases(asked: Asked) -> Markup:
    found = placed.releases(asked.desk)
    if not found:
        return Markup("")
    return tag(
        "section",
        tag("h2", "Releases that are there"),
        *(_release(asked, i, one) for i, one in enumerate(found)),
    )


def _release(asked: Asked, number: int, folder: Path) -> Markup:
    listed = placed.files(folder)
    links = []
    for i, one in enumerate(listed):
        if one.size > placed.LARGEST:
            links.append(tag("li", f"{one.name}, {placed.size(one.size)}: in the folder"))
            continue
        address = where(asked, f"publish/file/public?release={number}&file={i}")
        links.append(tag("li", tag("a", one.name, href=address), f", {placed.size(one.size)}"))
    state = placed.verified(asked.desk, folder)
    return card(
        tag("h3", clipped(folder.name, 80)),
        tag("p", tag("code", f"{folder}/"), class_="paths"),
        tag("p", _holds(state)),
        form(
            asked, "publish/verify", hidden("number", number),
            button("Check it now", aria_label=f"Check {clipped(folder.name, 60)} now"),
            id=f"verify-{number}",
        ),
        details("Public files, to save a copy", tag("ul", *links), id=f"files-{number}"),
    )  # fmt: skip


def _verify(asked: Asked) -> str:
    found = placed.releases(asked.desk)
    folder = found[planned.number(asked.one("number"), len(found))]
    asked.desk.start("verify", f"Checking {clipped(folder.name, 60)}", {"target": str(folder)})
    return "publish"


def _download(asked: Asked) -> Answer:
    """A file of a written release's public folder, and nothing else."""
    found = placed.download(asked)
    if found is None:
        raise InputError("there is no such file", remedy="look at the releases again")
    name, body = found
    return Answer(body, "application/octet-stream", download=name)


ROOM = Room(
    "publish",
    "Publish",
    "What the public will see, and what is written where.",
    _page,
    actions={"run": _run, "output": _keep_output, "write": _publish, "verify": _verify},
    files={"report": _report, "public": _download},
)
