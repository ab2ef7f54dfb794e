"""The adviser's answer as files: plans, a table of the trials and one page of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ...aside import write_text
from ...errors import OutputError
from ...machine import cannot_write
from ...release.plan.plan import Plan
from ...release.report.page import Page, write_page
from ...release.report.parts import Markup, clipped, count, join, paragraphs, table, tag
from ...release.report.words import glossary
from ..figure_files import image_of
from .answer import Advice, Advised
from .sentences import percent

PAGE, TRIALS = "index.html", "trials.csv"
_ADVISED = re.compile(r"[1-5]-[A-Za-z0-9.-]+\.toml")
_UNCONFIRMED = (
    "It is not confirmed: the search was ended before it was tried on the people who had no part "
    "in the choice. With more time or trials the same command goes on."
)
TRIED = "tried"
"""A folder with the plan of every trial."""


def save(advice: Advice, folder: Path, text_of: Callable[[Plan], str] = Plan.to_toml) -> Path:
    """Write everything, the page last: where it is, all is."""
    names = file_names(advice)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / TRIED).mkdir(exist_ok=True, mode=0o700)
        for old in folder.iterdir():
            # A plan of an earlier answer beside these would read as one of them. It was tried.
            was = _ADVISED.fullmatch(old.name) and (folder / TRIED / old.name[2:]).is_file()
            if was and old.name not in names.values():
                old.unlink()
        for one in advice.plans:
            write_text(folder / names[one.label], text_of(one.plan), private=True)
        for label, plan in advice.tried.items():
            write_text(folder / tried_at(label), text_of(plan), private=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    write_text(folder / TRIALS, advice.trials.write_csv(), private=True)
    page = folder / PAGE
    write_page(page, _page(advice, names))
    return page


def file_names(advice: Advice) -> dict[str, str]:
    """The file of each plan that is shown, by its label."""
    return {one.label: f"{i}-{_slug(one.label)}.toml" for i, one in enumerate(advice.plans, 1)}


def tried_at(label: str) -> str:
    """Where the plan of a trial is, below the answer's folder."""
    return f"{TRIED}/{_slug(label)}.toml"


def _slug(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")


def _page(advice: Advice, names: dict[str, str]) -> str:
    parts = []
    if advice.plans:
        parts.append(("plans", "What each was found to do", _figures(advice)))
    parts.append(("map", "All that was tried on everybody", _map(advice)))
    parts.append(("left", "What was left, and why", _left(advice)))
    parts.append(("how", "How this was found", _how(advice)))
    return Page(
        "Which method to take: Sfumato's advice",
        "Which method to take",
        f"By {count(advice.trials.height, 'trial')}, {advice.whom}.",
        "it tells what attacks get of single releases, unrounded. It must not be published.",
        _verdict(advice, names),
        parts,
    ).render(glossary, owner=True)


def _verdict(advice: Advice, names: dict[str, str]) -> Markup:
    if not advice.plans:
        said = [one.said() for one in advice.obstacles]
        ways = tag("ul", *(tag("li", clipped(one, 600)) for one in said))
        why = (
            join((tag("p", "What is in the way, and what relaxing it would buy:"), ways))
            if said
            else tag("p", f"{advice.unknown[:1].upper()}{advice.unknown[1:]}.")
        )
        head = tag("h2", advice.nothing[:1].upper() + advice.nothing[1:])
        return tag("section", head, why, class_="verdict broken")
    first, *rest = advice.plans
    items = [tag("li", _item(one, names)) for one in rest]
    beside = (
        join((tag("p", "Also worth a look, each better in another respect:"), tag("ul", *items)))
        if items
        else ""
    )
    command = tag("code", f"sfumato protect {names[first.label]}")
    run = tag("p", "To run it, in the folder of this page: ", command)
    head = tag("h2", f"Take {first.label}")
    state = "met" if first.confirmed is not None else "open"
    open_ = "" if first.confirmed is not None else tag("p", _UNCONFIRMED)
    return tag("section", head, _said(first), open_, run, beside, class_=f"verdict {state}")


def _said(one: Advised) -> Markup:
    return paragraphs([clipped(f"It {one.why}.", 600), f"How: {one.does}."])


def _item(one: Advised, names: dict[str, str]) -> Markup:
    return join((tag("strong", one.label), f" {clipped(one.why, 600)} (", one.does, "). ",
                 tag("code", names[one.label])))  # fmt: skip


def _figures(advice: Advice) -> Markup:
    rows = []
    for one in advice.plans:
        halves = [("chosen", one.figures)]
        if one.confirmed is not None:
            halves.append(("confirmed", one.confirmed))
        for said, found in halves:
            rows.append([
                f"{one.label}, {said}", percent(found.loss), percent(found.risk),
                percent(found.high), f"{found.attacked:,}", f"{found.cpu:.1f}",
            ])  # fmt: skip
    head = ["plan", "loses", "attacks get", "at most", "attacked", "CPU s"]
    figures = table("Of the people by whom it was chosen, and of the others", head, rows,
                    range(1, 6))  # fmt: skip
    worst = max((row for one in advice.plans for row in one.figures.columns.items()),
                key=lambda row: row[1], default=None)  # fmt: skip
    names = list(advice.plans[0].figures.columns) if worst else []
    detail = [
        [clipped(name, 60), *(percent(one.figures.columns.get(name, 1.0)) for one in advice.plans)]
        for name in names
    ]
    columns = table(
        "What each column alone loses", ["column", *(one.label for one in advice.plans)], detail,
        range(1, len(advice.plans) + 1),
    )  # fmt: skip
    return join((figures, columns))


def _map(advice: Advice) -> Markup:
    found = advice.map()
    if found.data.is_empty():
        return tag("p", "Nothing could be released.")
    try:
        drawn = image_of(found.figure(), Path("map.svg")).decode()
    except OutputError as error:
        return tag("p", error.message, class_="small")
    said = "To the right what a release loses, upwards what attacks get beyond the control; where "
    said += "attacks were ended by the first that got too much, others may get more."
    return tag("figure", tag("div", Markup(drawn), class_="wide"), tag("figcaption", said))


def _left(advice: Advice) -> Markup:
    rows = [[name, clipped(why, 600)] for name, why in advice.left]
    return table("Methods and chains", ["what", "why it was left"], rows)


def _how(advice: Advice) -> Markup:
    chosen, others = advice.people
    both = (
        "What was best was released from the second part too, with the first as the control: both "
        "figures stand above."
    )
    said = [
        f"The people were parted at random into {chosen:,} and {others:,}; whoever belongs "
        "together stayed together. Plans were tried on samples of the first part, the best of them "
        "on all of it. Each was attacked by the red team, with the second part as the control.",
        *[both] * any(one.confirmed is not None for one in advice.plans),
        "A release of everybody has twice as many people. What was promised is counted again when "
        "it is made, and attacks too, where the plan requires it (withstand).",
        f"Every trial is a row of {TRIALS}, with its seed; its plan is in {TRIED}/. The search has "
        f"the seed {advice.seed}, by which the people were parted.",
        *(f"{note[:1].upper()}{note[1:]}." for note in advice.notes),
    ]
    return paragraphs(said)
