"""The frame of a report: one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from .parts import Markup, tag


def page(title: str, content: Markup, *, owner: bool) -> str:
    """The whole page, its style inside."""
    css = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{tag('title', ('PRIVATE: ' if owner else '') + title)}\n<style>\n{css}</style>"
    )
    top = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>'
    return f"{top}\n<body>\n{content}\n</body>\n</html>\n"


def contents(listing: Sequence[tuple[str, str]]) -> Markup:
    """Links to the sections."""
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, title in listing)
    return tag("nav", tag("ul", *links), aria_label="Contents")


def section(key: str, title: str, content: Markup) -> Markup:
    """One section under its heading."""
    return tag("section", tag("h2", title, id=key), content, aria_labelledby=key)
