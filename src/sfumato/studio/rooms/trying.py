"""The trial of a plan: the button, what came of it, and what would help where it is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ...release.plan.editing import edited
from ...release.report.parts import Markup, clipped, count, join, percent, tag
from ..asked import Asked
from ..jobs import Job
from ..widgets import (
    button,
    card,
    cards,
    checkbox,
    details,
    field,
    form,
    hidden,
    link,
    notice,
    private,
    stored,
    text_field,
    work,
)
from . import doubtful, planned

WHAT = "Trying the plan"
LEDGER = "ledger"
_UNDECIDED = ("", "undecided")


def shown(asked: Asked) -> Markup:
    """The part of the page."""
    about = (
        "A trial makes the release, counts every requirement on it and measures it. It stays in a "
        "folder that only you can enter; nothing is published."
    )
    return tag(
        "section",
        tag("h2", "Run", id="run"),
        tag("p", about),
        _open_roles(asked),
        _button(asked),
        _outcome(asked),
        aria_labelledby="run",
    )


def trial(asked: Asked) -> Job | None:
    """The newest trial, of whatever plan."""
    return asked.desk.last("protect")


def is_met(job: Job | None) -> bool:
    """Whether a trial met everything."""
    if job is None or job.state != "done":
        return False
    return all(one.get("met") for one in job.result.get("findings", ()))


def run(asked: Asked, like: str = "") -> str:
    """Begin a trial; `like` an earlier one, by its seed."""
    now = trial(asked)
    if now is not None and now.state == "running":
        raise InputError("a trial is under way already", remedy="wait until it is done, or end it")
    asked.desk.start("protect", WHAT, {"like": like} if like else {})
    return "protect#run"


def _button(asked: Asked) -> Markup:
    now = trial(asked)
    if now is not None and now.state == "running":
        return Markup("")
    off = {"disabled": ""} if asked.desk.problems else {}
    fresh = asked.desk.current("protect") is not None
    words = "Try the plan again" if fresh else "Try the plan"
    look = "" if fresh and is_met(now) else "first"
    pressed = button(words, look=f"{look} big".strip(), **off)
    told = "Mend the plan first: what is wrong with it stands at the top." if off else ""
    return form(
        asked, "protect/run", pressed, tag("p", told, class_="hint") if told else "", id="run-form"
    )


def _open_roles(asked: Asked) -> Markup:
    """Columns of which nobody said what they are stop every release."""
    words = planned.section(asked.desk, "columns")
    open_ = [
        name
        for name, one in words.items()
        if (one.get("role", "") if isinstance(one, Mapping) else one) in _UNDECIDED
    ]
    others = planned.section(asked.desk, "input").get("others", "undecided")
    open_ = open_ if others == "undecided" else []
    if not open_:
        return Markup("")
    few = ", ".join(clipped(name, 40) for name in open_[:3])
    more = f" and {len(open_) - 3} more" if len(open_) > 3 else ""
    return notice(
        f"Nobody has said yet what {few}{more} {'is' if len(open_) == 1 else 'are'}: a release "
        "stops there.",
        tag("p", link(asked, "data", "Say it in Data")),
    )


# --- what came of it ---


def _outcome(asked: Asked) -> Markup:
    job = trial(asked)
    if job is None:
        return Markup("")
    current = asked.desk.current("protect") is not None
    if job.state == "running":
        old = "" if current else notice("It tries the plan as it was when you began.")
        return join((work(asked, job), old))
    stale = "" if current else notice(
        "The plan or its data were changed since this trial. Try it again to see what it gives now."
    )  # fmt: skip
    if job.state == "done":
        return join((stale, _done(asked, job, current=current)))
    if job.state == "failed" and job.error.get("error") == "ReleaseRefused":
        return join((stale, _refused(asked, job, current=current)))
    return join((stale, work(asked, job)))


def _done(asked: Asked, job: Job, *, current: bool) -> Markup:
    found = job.result
    findings = found.get("findings", ())
    published = found.get("records", {}).get("published")
    records = f"{count(int(published), 'record')}: " if published is not None else ""
    if not findings:
        said, look = f"{records}nothing was required, so nothing was promised.", "note"
    elif is_met(job):
        said, look = f"✓ {records}every requirement is met.", "good"
    else:
        said, look = f"✗ {records}not every requirement is met.", "bad"
    doubts = doubtful.doubts(asked.desk, job) if current else []
    if doubts and look == "good":
        said, look = f"{records}every requirement is met, but they are weak.", "note"
    publish = link(asked, "publish", "publish it", class_="button" if doubts else "button first")
    next_ = (
        tag(
            "p",
            "Next: ",
            publish,
            " or look closer at ",
            link(asked, "risk", "whom it exposes"),
            " and ",
            link(asked, "utility", "what it keeps"),
            ".",
        )
        if current and not found.get("table")
        else tag(
            "p",
            "Next: ",
            publish,
            " or look closer at ",
            link(asked, "tables", "the table"),
            ".",
        )
        if current
        else ""
    )
    heads = [(title, value, aside) for title, value, aside, _ in found.get("headlines", ())]
    sentences = [tag("li", sentence) for *_, sentence in found.get("headlines", ())]
    table = stored(found["requirements"]) if found.get("requirements") else _listed(findings)
    notes = [tag("li", clipped(one, 600)) for one in found.get("notes", ())]
    return join(
        (
            doubtful.shown(doubts, "Look at this before you publish:"),
            notice(said, next_, look=look),
            card(
                tag("h3", "What was required, and what was counted"),
                private("Private until you publish: exact figures of your data."),
                tag("p", found["says"]) if found.get("says") else "",
                table,
            ),
            cards(heads) if heads else "",
            details("What these figures mean", tag("ul", *sentences), id="meanings")
            if sentences
            else "",
            details(count(len(notes), "note"), tag("ul", *notes), id="notes") if notes else "",
        )
    )


def _listed(findings: Sequence[Mapping[str, Any]]) -> Markup:
    """Requirements as sentences."""
    items = (
        tag("li", "✓ " if one.get("met") else "✗ ", clipped(one.get("text", ""), 600))
        for one in findings
    )
    return tag("ul", *items, class_="findings")


# --- refused ---


def _refused(asked: Asked, job: Job, *, current: bool) -> Markup:
    error = job.error
    findings = error.get("findings", ())
    broken = [one for one in findings if not one.get("met")]
    head = f"✗ Refused: {count(len(broken), 'requirement')} not met. Nothing was written."
    remedies = [(i, one) for i, one in enumerate(error.get("remedies", ()))]
    plans = [(i, one) for i, one in remedies if one.get("text")]
    hints = [one for _, one in remedies if not one.get("text")]
    of_ledger = any(one.get("requirement") == LEDGER for one in broken)
    found = [_remedy(asked, job, i, one, current=current) for i, one in plans]
    said = str(error.get("untried") or "")
    none = "" if plans or hints else tag(
        "p", "Nothing that was tried helps. Another method may, or one column less."
    )  # fmt: skip
    return join(
        (
            notice(head, _listed(broken), look="bad"),
            tag("h3", "What would help") if plans or hints else "",
            tag("p", "Each was tried on your data before it is offered.", class_="small")
            if plans
            else "",
            tag("div", *found, class_="grid wide-cards") if found else "",
            tag("ul", *(tag("li", clipped(one.get("change", ""), 600)) for one in hints))
            if hints
            else "",
            _reason(asked) if of_ledger else "",
            none,
            tag("p", said, class_="small") if said else "",
            tag("p", link(asked, "protect?pick=method", "Ask the adviser for another method")),
        )
    )


def _remedy(
    asked: Asked, job: Job, number: int, one: Mapping[str, Any], *, current: bool
) -> Markup:
    weaker = bool(one.get("weaker"))
    loss = one.get("loss")
    figures = [clipped(figure, 300) for figure in one.get("figures", ())]
    risk = (
        checkbox("accepted", "I accept more risk", id=f"remedy-{number}-accepted", required="")
        if weaker
        else ""
    )
    off = {} if current else {"disabled": ""}
    change = str(one.get("change", ""))
    title = "A weaker limit: more risk, or more loss" if weaker else _title(change)
    used = re.search(r'use = "([a-z0-9-]+)"', change)
    entry = planned.entry(used[1], *planned.DONE) if used and not weaker else None
    return card(
        tag("h3", title),
        tag("p", entry.summary) if entry else "",
        tag("p", tag("span", f"loses {percent(loss)}", class_="tagged"))
        if isinstance(loss, int | float)
        else "",
        details(
            "What changes, and what it gave",
            tag("p", tag("code", clipped(change, 600))),
            tag("ul", *(tag("li", f) for f in figures)) if figures else "",
            id=f"remedy-{number}",
            open=weaker,
        ),
        form(
            asked,
            "protect/remedy",
            hidden("job", job.name),
            hidden("number", number),
            risk,
            button(
                "Do this and try again",
                look="danger" if weaker else "first",
                aria_label=f"Do this and try again: {clipped(title, 80)}",
                **off,
            ),
            id=f"remedy-{number}-form",
        ),
    )


def _title(change: str) -> str:
    """A remedy in a few words.

    >>> _title('use = "mdav", k = 5 instead of mondrian'), _title('one more step: use = "mdav"')
    ('mdav instead of mondrian', 'One more step: mdav')
    >>> _title("steps.2: k = 25")
    'Step 2: k = 25'
    >>> _title('pay: role = "identifier", so that it is left out; steps.1: k = 8')
    'Leave pay out; step 1: k = 8'
    >>> _title('first step: use = "global-recoding", bins = { pay = 12 }')
    'First cut pay into 12 ranges'
    >>> _title('steps.3: criteria = [{ use = "l-diversity", at-least = 3.0, column = "ill" }]')
    'Step 3 itself keeps l-diversity'
    """
    found = re.fullmatch(r'use = "([a-z0-9-]+)".* instead of ([a-z0-9-]+)', change)
    if found and found[1] == found[2]:
        return f"{found[1]} with other settings"
    if found:
        return f"{found[1]} instead of {found[2]}"
    if found := re.match(r'one more step: use = "([a-z0-9-]+)"', change):
        return f"One more step: {found[1]}"
    if found := re.match(r'steps\.(\d+): criteria = \[\{ use = "([a-z0-9-]+)"[^\]]*\]$', change):
        return f"Step {found[1]} itself keeps {found[2]}"
    plain = re.sub(r"\bsteps\.(\d+):", r"step \1:", change)
    plain = "; ".join(_plainly(part) for part in plain.split("; "))
    return clipped(plain[:1].upper() + plain[1:], 120)


_PLAIN = (
    (r'(.+): role = "identifier", so that it is left out', r"leave \1 out"),
    (r'(.+): role = "quasi", so that it is masked', r"mask \1, too"),
    (
        r'first step: use = "global-recoding", bins = \{ (.+) = (\d+) \}',
        r"first cut \1 into \2 ranges",
    ),
)
"""Changes of a plan as one would say them; their exact words stand beside."""


def _plainly(change: str) -> str:
    for pattern, words in _PLAIN:
        if re.fullmatch(pattern, change):
            return re.sub(pattern, words, change)
    return change


def _reason(asked: Asked) -> Markup:
    """People who were published before need a reason, which everybody reads."""
    given = str(planned.section(asked.desk, "output").get("ledger-exception", ""))
    line = text_field("reason", given, id="reason", required="")
    hint = "The public report shows it."
    return card(
        tag("h3", "These people were published before"),
        tag("p", "Two releases of the same people can be laid over one another. Publish all the "
                 "same only where you know that this tells nothing more."),
        form(
            asked, "protect/exception", field("Why it is published again", line, hint, id="reason"),
            button("Keep this reason and try again"), id="reason-form",
        ),
    )  # fmt: skip


def remedy(asked: Asked) -> str:
    """The plan changed by a remedy, and tried again with the seed by which it was found."""
    job = asked.desk.jobs.named(asked.one("job"))
    listed = [] if job is None else [*job.error.get("remedies", ())]
    one = listed[planned.number(asked.one("number"), len(listed))]
    if job is None or job.asked.get("text") != asked.desk.text or not one.get("text"):
        raise InputError("the plan was changed since this was found", remedy="try the plan again")
    if one.get("weaker") and not asked.one("accepted"):
        raise InputError(
            "this asks for less than your plan does",
            remedy="tick that you accept more risk, or choose another way",
        )
    text = str(one["text"])
    what = f"a remedy: {clipped(one.get('change', ''), 120)}"
    asked.desk.edit(what, lambda _: text, asked.seen)
    return run(asked, like=job.name)


def exception(asked: Asked) -> str:
    """The reason why people are published again, and another trial."""
    reason = asked.one("reason").strip()
    if not reason:
        raise InputError("no reason was given", remedy="say why it is published again")
    asked.desk.edit(
        "why people are published again",
        lambda text: edited(text, ("output", "ledger-exception"), reason),
        asked.seen,
    )
    return run(asked)
