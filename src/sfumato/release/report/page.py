"""The frame of a report: one HTML page that needs nothing else, in two faces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import NamedTuple

from ...aside import write_text
from ...errors import OutputError
from .parts import Markup, definitions, join, tag

Part = tuple[str, str, Markup]
"""A section: its key, its title, and what it says."""


class Page(NamedTuple):
    """What a report is about."""

    title: str
    heading: str
    about: str
    warning: str
    """What the owner's report shows, and why it must stay private."""
    verdict: Markup
    parts: Sequence[Part]
    caution: str = ""
    """What readers of both faces must know first."""

    def render(
        self, terms: Callable[[str], Iterable[tuple[object, object]]], *, owner: bool
    ) -> str:
        """The whole page; `terms` explains those that the text uses."""
        body = join(_section(*part) for part in self.parts)
        listing = [*((key, title) for key, title, _ in self.parts), ("glossary", "Terms")]
        content = tag(
            "main",
            self._header(owner),
            self.verdict,
            _contents(listing),
            body,
            _section("glossary", "Terms", definitions(terms(f"{self.verdict}{body}"))),
        )
        css = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
        head = (
            '<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"{tag('title', ('PRIVATE: ' if owner else '') + self.title)}\n<style>\n{css}</style>"
        )
        top = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>'
        return f"{top}\n<body>\n{content}\n</body>\n</html>\n"

    def _header(self, owner: bool) -> Markup:
        face, private = "owner's" if owner else "public", tag("strong", "Keep private.")
        warning = f" This is the owner's report: {self.warning}"
        return tag(
            "header",
            tag("p", f"Sfumato · {face} report", class_="brand"),
            tag("h1", self.heading),
            tag("p", self.about),
            tag("p", private, warning, class_="banner", role="note") if owner else "",
            tag("p", tag("strong", "Caution: "), self.caution, class_="banner", role="note")
            if self.caution
            else "",
        )


def write_page(path: Path, text: str) -> None:
    """Write a page that shows an original, whole or not at all, for its owner's eyes."""
    write_text(path, text, private=True)


def check_page(path: str | Path) -> Path:
    """Refuse a path that no page can be written to, before there is one to write."""
    path = Path(path)
    if path.suffix != ".html":
        raise OutputError(
            f"a report cannot be written as {path.name}", remedy="a name that ends in .html"
        )
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}", remedy="make it first")
    return path


def version() -> str:
    """That of Sfumato."""
    try:
        return metadata.version("sfumato")
    except metadata.PackageNotFoundError:
        return "unknown"


def _contents(listing: Sequence[tuple[str, str]]) -> Markup:
    """Links to the sections."""
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, title in listing)
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _section(key: str, title: str, content: Markup) -> Markup:
    """One section under its heading."""
    return tag("section", tag("h2", title, id=key), content, aria_labelledby=key)
