"""Before there is a plan: which file to open, and the wait until it is read."""

from __future__ import annotations

from pathlib import Path

from ...addresses import ELSEWHERE
from ...release.looking.files import ENDINGS
from ...release.report.parts import Markup, clipped, join, tag
from ..asked import Asked
from ..folder import Folder
from ..trust import passwords
from ..widgets import button, card, form, hidden, lone, notice, work
from .data_reading import failed

_MOST = 30
"""Names that are written out."""


def front(folder: Folder, name: str) -> Markup:
    """What may be opened."""
    found = folder.listing(name)
    above = str(Path(name).parent) if name else ""
    up = tag("a", "The folder above", href=_at("" if above == "." else above)) if name else ""
    beyond = ""
    if found.beyond:
        words = f"This folder holds {found.beyond:,} more files than are shown here."
        beyond = notice(words)
    inside = (tag("li", tag("a", f"{Path(one).name}/", href=_at(one))) for one in found.folders)
    return join(
        (
            tag("h1", "Which file shall be published?"),
            tag(
                "p",
                "A file about people, or a plan that was begun. Nothing leaves this machine.",
                class_="about",
            ),
            _drop(),
            _chosen("Plans", found.plans, "Go on with a plan"),
            _chosen("Data files", found.data, "Begin with a file: a plan is drafted beside it"),
            beyond,
            tag("h2", "Folders") if name or found.folders else "",
            up,
            tag("ul", *inside, class_="files"),
        )
    )


def drafting(asked: Asked) -> Markup:
    """While the plan of a file is drafted; a draft that failed can be told how to read the file."""
    table = asked.desk.last("draft-table")
    if table is not None:
        retry = form(asked, "tables/again", button("Try again", look="first"))
        return work(asked, table, again=retry)
    job = asked.desk.last("draft")
    if job is None:
        return tag("p", "There is no plan here any more. ", tag("a", "Open a file", href="/files"))
    if job.state == "done":  # somebody took the plan away
        again = form(asked, "data/draft", button("Draft it again", look="first"))
        return join((tag("p", "The plan of this file is not there any more."), again))
    other = tag("p", tag("a", "Open another file", href="/files"))
    if job.state == "running":
        return join((work(asked, job), other))
    return join((failed(asked, job, "data/draft"), other))


def reaching(asked: Asked) -> Markup:
    """What the plan would reach outside of the folder, before it does."""
    names = asked.desk.beyond
    listed = tag("ul", *(tag("li", tag("code", clipped(one, 300))) for one in names[:_MOST]))
    more = f"and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    about = (
        "A plan may name whatever its author liked. Let it only if you wrote it, or know what "
        "these are. You are asked again when the studio is started anew, and not at all when it is "
        "started in a folder that holds all of them."
    )
    if passwords(asked.desk.text):
        allowed = tag("p", f"An address holds a password. Take it out in an editor; {ELSEWHERE}.")
    else:
        allowed = form(asked, "allow", button("Let it read them", look="first"), id="allow-form")
    return card(
        tag("h2", "This plan reaches outside of the folder"),
        tag("p", "Nothing of this was read yet:"),
        listed,
        tag("p", more) if more else "",
        tag("p", about),
        allowed,
    )


def _at(folder: str) -> str:
    from urllib.parse import quote

    return f"/files?folder={quote(folder)}"


def _drop() -> Markup:
    ends = ",".join(ENDINGS)
    return tag(
        "form",
        tag("label", "Drop a file here, or choose one", for_="file"),
        lone("input", type="file", name="file", id="file", accept=f"{ends},.gz,.toml"),
        button("Take it", look="first"),
        tag("p", "It is copied into the folder that the studio was started in.", class_="hint"),
        method="post",
        action="/upload",
        enctype="multipart/form-data",
        class_="drop",
        data_drop="",
    )


def _chosen(title: str, names: list[str], about: str) -> Markup:
    if not names:
        return Markup("")
    items = (
        tag(
            "li",
            tag(
                "form",
                hidden("file", name),
                tag("button", Path(name).name, type="submit", class_="file"),
                method="post",
                action="/open",
            ),
        )
        for name in names
    )
    listed = tag("ul", *items, class_="files")
    return join((tag("h2", title), tag("p", about, class_="small"), listed))
