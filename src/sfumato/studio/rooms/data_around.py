"""The room Data: where the parts of its long page are, and what comes after it."""

from __future__ import annotations

from ...release.report.parts import Markup, count, tag
from ..asked import Asked
from ..widgets import link, notice
from .data_look import Look


def contents(found: Look, *, questions: bool) -> Markup:
    """Where the parts of this long page are."""
    parts = [
        ("questions", "Questions", questions),
        ("columns", "Columns", bool(found.columns)),
        ("the-records", "The records", True),
        ("the-file", "How the file is read", True),
    ]
    links = (tag("a", words, href=f"#{place}") for place, words, there in parts if there)
    return tag("nav", *links, class_="row contents", aria_label="On this page")


def after(asked: Asked, found: Look) -> Markup:
    """What comes after this room."""
    if not found.found or asked.desk.problems:
        return Markup("")
    open_ = sum(one.doubt is not None for one in found.columns)
    told = "" if not open_ else (
        f" {count(open_, 'column')} above {'is' if open_ == 1 else 'are'} still to be looked at: "
        "as long as nobody does, the draft's guess holds."
    )  # fmt: skip
    return notice(
        f"When the roles are right, say what must hold and try it.{told}",
        tag(
            "p", link(asked, "protect", "Next: Protect", class_="button first"),
            " or give columns ", link(asked, "hierarchies", "a hierarchy"), " before.",
        ),
    )  # fmt: skip
