"""Which method? The adviser's questions, and the plans that it answers with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...release.plan import toml
from ...release.plan.editing import edited
from ...release.plan.plan import Plan
from ...release.plan.purpose import Purpose
from ...release.plan.questions import Question, answered, open_columns, questions
from ...release.plan.rewriting import rewritten
from ...release.report.parts import Markup, clipped, count, join, tag
from .. import forms
from ..asked import Asked
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
    private,
    select,
    text_field,
    work,
)
from . import planned

WHAT = "Looking for the best method"
SECONDS = 180
"""How long the search may take unless somebody says otherwise."""
_MORE = ("seconds", "trials", "totals", "weights", "at_most")
"""What else a purpose may say, beside the answers."""


def shown(asked: Asked) -> Markup:
    """The questions, and what came of the last search."""
    return join(
        (
            tag("p", link(asked, "protect", "Back to the plan")),
            tag("h2", "Which method?", id="which-method"),
            tag(
                "p",
                "Nobody knows it beforehand. So what may suit is tried on some of the people, "
                "attacked, and compared by what it keeps of what you need. Five answers say what "
                "that is; they are kept in the plan.",
            ),
            _outcome(asked),
            _form(asked),
        )
    )


def banner(asked: Asked) -> Markup:
    """On the page of the plan: that there is an answer, or a search."""
    job = asked.desk.last("advise")
    if job is None:
        return Markup("")
    place = link(asked, "protect?pick=method", "look")
    if job.state == "running":
        return tag("p", "The adviser is looking for a method: ", place, ".", class_="small")
    if job.state == "done" and job.result.get("plans"):
        many = count(len(job.result["plans"]), "plan")
        return tag("p", f"The adviser found {many}: ", place, ".", class_="small")
    return Markup("")


# --- the questions ---


def _purpose(asked: Asked) -> Purpose:
    return asked.desk.plan.purpose or Purpose()


def _form(asked: Asked) -> Markup:
    purpose, roles = _purpose(asked), planned.roles(asked.desk)
    if not roles:
        return notice(
            "The plan names no columns yet.", tag("p", link(asked, "data", "Say it in Data"))
        )
    given = purpose.plan_words()
    if purpose.seconds is None and purpose.trials is None:
        given["seconds"] = SECONDS
    asks = [_control(one, purpose, roles) for one in questions(purpose, roles)]
    more = forms.fields(Purpose, given, "purpose", columns=open_columns(roles), only=_MORE)
    running = (job := asked.desk.last("advise")) is not None and job.state == "running"
    off = {"disabled": ""} if running else {}
    return card(
        tag("h3", "What the release is for"),
        form(
            asked,
            "protect/advise",
            *asks,
            _keeping(asked),
            details("Time, totals and limits", more, id="purpose-more"),
            button("Look for the best method", look="first", **off),
            id="advise-form",
        ),
    )


def _control(one: Question, purpose: Purpose, roles: Mapping[str, Any]) -> Markup:
    id = f"ask-{one.key}"
    open_ = open_columns(roles)
    if one.key == "attackers":
        chosen = [*one.unchanged["attackers"]]
        boxes = (
            checkbox(id, clipped(n, 60), checked=n in chosen, value=n, id=f"{id}-{i}")
            for i, n in enumerate(roles)
        )
        legend = tag("legend", one.asks)
        return tag("fieldset", legend, tag("p", one.reason, class_="hint"), *boxes,
                   class_="boxes")  # fmt: skip
    if one.key == "target":
        options = [("", "none"), *((name, clipped(name, 60)) for name in open_)]
        return field(one.asks, select(id, options, one.unchanged["target"], id=id), one.reason,
                     id=id)  # fmt: skip
    if one.key == "uses":
        names = ", ".join(clipped(name, 40) for name in open_)
        hint = join((one.reason, tag("br"), f"Columns: {names}"))
        return field(one.asks, text_field(id, _uses(purpose, one), id=id), hint, id=id)
    yes = [("no", "no"), ("yes", "yes")]
    asks = one.asks.replace(" (yes or no)", "")
    return field(asks, select(id, yes, one.default, id=id), one.reason, id=id)


def _keeping(asked: Asked) -> Markup:
    """Whether what must hold may go: a method that changes values at random promises no groups."""
    names = list(dict.fromkeys(one.name for one in planned.requirements(asked.desk)))
    if not names:
        return Markup("")
    listed = ", ".join(clipped(name, 40) for name in names)
    options = [("yes", f"yes: {listed} must hold"), ("no", "no: attacks and exposure decide")]
    hint = (
        "Values that change at random cannot promise groups of people who are alike: after yes, "
        "methods that cannot keep what is required are left."
    )
    last = asked.desk.last("advise")
    usual = "no" if last is not None and last.words.get("bare") else "yes"
    shown = select("ask-keep", options, usual, id="ask-keep")
    asks = "Must everything that the plan requires now hold in any case?"
    return field(asks, shown, hint, id="ask-keep")


def _uses(purpose: Purpose, one: Question) -> str:
    """The groups of columns as they are typed; as TOML where a name holds what stands between."""
    plain = [name for use in purpose.uses for name in use]
    if any(sign in name for name in plain for sign in ',;"[') or any(
        name != name.strip() for name in plain
    ):
        return toml.value([list(use) for use in purpose.uses])
    return one.default


def ask(asked: Asked) -> str:
    """Keep the answers in the plan and begin the search; one that was ended goes on."""
    purpose, roles = _purpose(asked), planned.roles(asked.desk)
    given: dict[str, Any] = {}
    for one in questions(purpose, roles):
        id = f"ask-{one.key}"
        if one.key == "attackers":
            given["attackers"] = [name for name in asked.many(id) if name]
        elif one.key == "target":
            given["target"] = asked.one(id)
        elif one.key == "uses" and asked.one(id) == _uses(purpose, one):
            given |= one.unchanged
        else:
            given |= one.said(asked.one(id) or one.default)
    found = answered(purpose, given, roles)
    words = forms.words(Purpose, asked, "purpose", found.plan_words())
    before = planned.section(asked.desk, "purpose")

    def change(text: str) -> str:
        for key in before:
            if key.replace("_", "-") not in words:
                text = edited(text, ("purpose", key), None)
        for key, value in words.items():
            text = edited(text, ("purpose", key), _plain(value))
        return text if words else edited(text, ("purpose", "perturb"), True)

    asked.desk.edit("what the release is for", change, asked.seen)
    return _begin(asked, {"bare": True} if asked.one("ask-keep") == "no" else {})


def go_on(asked: Asked) -> str:
    """The same search for as long again: what was tried is not tried anew."""
    last = asked.desk.last("advise")
    return _begin(asked, {} if last is None else last.words)


def _begin(asked: Asked, words: Mapping[str, Any]) -> str:
    running = asked.desk.last("advise")
    if running is not None and running.state == "running":
        raise InputError("a search is under way already", remedy="wait until it is done, or end it")
    asked.desk.start("advise", WHAT, words)
    return "protect?pick=method"


def _plain(value: Any) -> Any:
    """Tuples as lists, which TOML knows."""
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


# --- the answer ---


def _outcome(asked: Asked) -> Markup:
    job = asked.desk.last("advise")
    if job is None:
        return Markup("")
    more = form(asked, "protect/go-on", button("Go on for as long again"), id="go-on")
    if job.state != "done":
        said = work(asked, job)
        if job.state == "ended":
            told = "What was tried is kept: the search goes on from there."
            said = join((said, tag("p", told), more))
        return said
    found = job.result
    same = job.asked.get("text") == asked.desk.text
    stale = "" if same else notice(
        "The plan was changed since. Taking one of these changes its steps and leaves the rest."
    )  # fmt: skip
    left = [tag("li", tag("strong", what), f": {why}") for what, why in found.get("left", ())]
    notes = [tag("li", clipped(one, 600)) for one in found.get("notes", ())]
    tried = count(int(found.get("trials", 0)), "trial")
    return join(
        (
            stale,
            tag("h3", f"By {tried}, {found.get('whom', '')}"),
            private("Private: it tells what attacks get of single releases."),
            *_cards(asked, job),
            join((tag("p", "Time was up before the search was done."), more))
            if found.get("short")
            else "",
            details("What was left, and why", tag("ul", *left), id="left") if left else "",
            details(count(len(notes), "note"), tag("ul", *notes), id="advice-notes")
            if notes
            else "",
        )
    )  # fmt: skip


def _cards(asked: Asked, job: Job) -> list[Markup]:
    found = job.result
    if not found.get("plans"):
        ways = [tag("li", clipped(one, 600)) for one in found.get("obstacles", ())]
        what = str(found.get("nothing", "nothing was found"))
        promised = any("cannot be promised" in why for _, why in found.get("left", ()))
        hint = tag(
            "p",
            "Several methods were left since they cannot promise what the plan requires. Ask again "
            "with no to the last question, and they are tried, too.",
        )  # fmt: skip
        return [
            notice(
                f"{what[:1].upper()}{what[1:]}.",
                tag("ul", *ways) if ways else "",
                hint if promised else "",
            )
        ]
    return [_plan(asked, job, i, one) for i, one in enumerate(found["plans"])]


def _plan(asked: Asked, job: Job, number: int, one: Mapping[str, Any]) -> Markup:
    open_ = "" if one.get("confirmed") else tag(
        "p", "Not confirmed: the search was ended before it was tried on others.", class_="small"
    )  # fmt: skip
    gone = ", ".join(clipped(name, 40) for name in job.result.get("gone", ()))
    figures = [tag("span", f"{what} {value}", class_="tagged") for what, value in one["figures"]]
    return card(
        tag("h3", f"{number + 1}. {one['label']}", " ",
            tag("span", "best", class_="tagged good") if number == 0 else ""),
        tag("p", clipped(f"It {one['why']}.", 900)),
        tag("p", clipped(f"How: {one['does']}.", 300), class_="small"),
        tag("p", join(figures, " ")),
        open_,
        tag("p", f"The plan then no longer requires {gone}.", class_="bad") if gone else "",
        form(
            asked, "protect/take-plan", hidden("job", job.name), hidden("number", number),
            button("Take this plan", look="" if number else "first",
                   aria_label=f"Take this plan: {one['label']}"),
            id=f"plan-{number}-form",
        ),
    )  # fmt: skip


def take(asked: Asked) -> str:
    """The plan with the steps of one that was found; comments stay."""
    job = asked.desk.jobs.named(asked.one("job"))
    listed = [] if job is None else [*job.result.get("plans", ())]
    one = listed[planned.number(asked.one("number"), len(listed))]
    desk, text = asked.desk, str(one["text"])
    if job is not None and job.asked.get("text") != desk.text:
        advised, now = Plan.parse(text, base=desk.base), desk.plan
        read = now.input.told({"others": advised.input.others})
        both = {**advised.columns, **now.columns}
        now = now.with_(steps=advised.steps, columns=both, input=read)
        if job.words.get("bare"):
            now = now.with_(requirements=advised.requirements)
        text = rewritten(desk.text, now, desk.base)
    desk.edit(f"the adviser's plan {clipped(one['label'], 60)}", lambda _: text, asked.seen)
    return "protect#what-is-done"
