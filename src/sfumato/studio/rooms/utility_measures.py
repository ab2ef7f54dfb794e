"""Measures of a trial that are asked for: of a model, or any by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ...errors import InputError
from ...registry import Entry, entries, find
from ...release.plan.plan import Plan
from ...release.report.parts import Markup, clipped, definitions, join, tag
from ...texts import one_line
from .. import forms
from ..asked import Asked
from ..jobs import Job
from ..widgets import (
    button,
    card,
    details,
    field,
    form,
    hidden,
    link,
    private,
    select,
    text_field,
    work,
)
from .trials import Trial, of_trial, trial

_MODELS = ("prediction-loss", "model-degradation", "analytic-validity")
_OF_MODELS = {
    "prediction-loss": "How much worse does a model predict that learns from the release?",
    "model-degradation": "How far do a model's predictions move when it is fed the release?",
    "analytic-validity": "How many of Winkler's checks of an analysis fail?",
}
_NOT = ("withstand", "function-loss")
"""What is asked for elsewhere, or by program alone."""
_RESULTS = 6
_PARAMETERS = "parameters"


def _plan(asked: Asked) -> Plan | None:
    return None if asked.desk.problems else asked.desk.plan


def model(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    """Whether a model that learns from the release is as good."""
    columns = [str(one["name"]) for one in told["columns"]]
    options = [("", "the plan's target, else the first confidential column")]
    options += [(str(j), clipped(one_line(name), 60)) for j, name in enumerate(columns)]
    which = [(name, _OF_MODELS[name]) for name in _MODELS]
    ask = form(
        asked,
        "utility/measure",
        hidden("of", "model"),
        field("What is predicted", select("target", options), id="target"),
        field("The question", select("name", which), "each is a measure of its own", id="name"),
        button("Find out", look="first"),
    )
    others = tag(
        "p",
        "Their other parameters (which model, how many folds): ",
        *_between([link(asked, f"utility?part=any&name={quote(n)}", n) for n in _MODELS], ", "),
        ".",
        class_="small",
    )
    head = tag("h2", "Does a model still learn the same?")
    about = tag(
        "p",
        "A model is trained on the original and on the release, and both are tested on the "
        "original. What the second does worse is what masking took from it.",
    )
    return join((card(head, about, ask, others), _results(asked, found, _MODELS)))


def any_measure(asked: Asked, found: Trial, told: Mapping[str, Any]) -> Markup:
    """Any measure by its name."""
    name = asked.query.get("name", "")
    known = {entry.name: entry for entry in _measures()}
    if name in known:
        return join((_one(asked, found, known[name]), _results(asked, found, (name,))))
    return join((_search(asked, known.values()), _results(asked, found, ())))


def _measures() -> list[Entry]:
    return [e for e in entries("measure") if e.name not in _NOT]


def _search(asked: Asked, known: Any) -> Markup:
    """All measures, narrowed by typing."""
    items = (
        tag(
            "li",
            link(asked, f"utility?part=any&name={quote(entry.name)}", entry.name),
            tag("span", f" {entry.summary}", class_="small"),
        )
        for entry in known
    )
    typed = text_field("search", "", id="search", type="search", data_narrow="#measures li")
    return card(
        tag("h2", "Any measure"),
        tag("p", "Every measure that Sfumato knows, of risk and of loss. Choose one by its name."),
        field("Search", typed, "by name or by what it says", id="search"),
        tag(
            "div",
            tag("ul", *items, id="measures"),
            class_="measures",
            role="region",
            aria_label="Measures",
            tabindex="0",
        ),
    )


def _one(asked: Asked, found: Trial, entry: Entry) -> Markup:
    """The parameters of a measure, and the button that takes it."""
    cls = entry.load()
    last = next((j for j in _done(asked, found) if j.words.get("name") == entry.name), None)
    given = {} if last is None else dict(last.words.get(_PARAMETERS) or {})
    plan = _plan(asked)
    columns = [] if plan is None else [*plan.columns]
    inside = forms.fields(cls, given, "p", columns=columns)
    paper = getattr(cls, "paper", "")
    return card(
        tag("h2", entry.name),
        tag("p", entry.summary),
        tag("p", f"Better when {cls.direction}.", class_="small"),
        form(
            asked,
            "utility/measure",
            hidden("name", entry.name),
            inside or tag("p", "It has no parameters.", class_="small"),
            button("Measure it", look="first"),
        ),
        tag("p", f"Published in: {paper}", class_="small") if paper else "",
        tag("p", link(asked, "utility?part=any", "All measures")),
    )


def _done(asked: Asked, found: Trial) -> list[Job]:
    return of_trial(asked, "measure", found.job)


def _results(asked: Asked, found: Trial, only: Sequence[str]) -> Markup:
    """What was asked for of this trial, the newest first."""
    jobs = [j for j in _done(asked, found) if not only or j.words.get("name") in only]
    if not jobs:
        return Markup("")
    shown = [work(asked, jobs[0])]
    for number, job in enumerate(jobs[:_RESULTS]):
        if job.state == "done":
            shown.append(_result(job, number))
    return join((tag("h2", "What was found"), *shown))


def _result(job: Job, number: int) -> Markup:
    """One measurement in words."""
    found = job.result
    lines: list[tuple[object, object]] = []
    if found["baseline"]:
        lines.append(("To compare with", found["baseline"]))
    if found["range"]:
        lines.append(("Range", found["range"]))
    lines.append(("Better", found["better"]))
    given = job.words.get(_PARAMETERS) or {}
    if given:
        asked = "; ".join(f"{key} = {value}" for key, value in given.items())
        lines.append(("Asked with", clipped(one_line(asked), 200)))
    said = tag("ul", *(tag("li", one) for one in found["says"])) if found["says"] else ""
    more = []
    for title, key, look in (("Details", "detail", False), ("For you alone", "private", True)):
        if found[key]:
            inside = definitions([(what, words) for what, words in found[key]])
            mark = private() if look else ""
            more.append(details(title, mark, inside, id=f"{key}-{number}-{job.name}"))
    name = tag("code", found["name"])
    return card(
        tag("h3", found["title"], " ", name if found["title"] != found["name"] else ""),
        tag("p", found["value"], class_="figure-value"),
        tag("p", found["meaning"]),
        said,
        definitions(lines),
        *more,
    )


def _between(parts: Sequence[object], what: str) -> list[object]:
    found: list[object] = []
    for one in parts:
        found += [what, one] if found else [one]
    return found


def begin(asked: Asked) -> str | None:
    """Begin to measure."""
    found = trial(asked)
    if found is None:
        raise InputError("there is no trial to measure", remedy="run one in Protect")
    name = asked.one("name")
    if name not in {entry.name for entry in _measures()}:
        raise InputError("there is no such measure", remedy="choose one of the list")
    by_model = asked.one("of") == "model"
    if by_model:
        parameters = _target(asked, found, name)
    else:
        parameters = forms.words(find(name, "measure").load(), asked, "p")
    words = {"trial": found.job.name, "name": name, _PARAMETERS: parameters}
    asked.desk.start("measure", f"Measuring {name}", words)
    return "utility?part=model" if by_model else f"utility?part=any&name={quote(name)}"


def _target(asked: Asked, found: Trial, name: str) -> dict[str, Any]:
    """The parameters that name a target, where the measure takes one."""
    from ..tasks.utility import KEPT

    text = asked.one("target")
    if not text:
        return {}
    columns = [str(one["name"]) for one in found.kept(KEPT).get("columns", ())]
    if not text.isdecimal() or int(text) >= len(columns):
        raise InputError("there is no such column", remedy="choose one of the list")
    if "target" not in find(name, "measure").load().model_fields:
        return {}
    return {"target": columns[int(text)]}
