"""Releases side by side, as one page of HTML that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from ..release.report.page import Page, check_page, write_page
from ..release.report.parts import Markup, clipped, paragraphs, table, tag
from ..release.report.words import glossary, words
from .compare import TITLES, Comparison, Line, shown


def write(found: Comparison, path: str | Path) -> Path:
    """Write the page, readable by its owner alone."""
    page = check_page(path)
    parts = [
        (about, title.capitalize(), _part(found, title, lines))
        for about, title in TITLES.items()
        if (lines := [line for line in found.lines if line.about == about])
    ]
    said = f"Releases: {', '.join(clipped(name, 60) for name in found.names)}."
    text = Page(
        f"{len(found.names)} releases compared: Sfumato report",
        "Releases side by side",
        said,
        "it compares releases with their original, unrounded. It must not be published.",
        tag("section", tag("p", "Lower is better unless it says otherwise."), _notes(found)),
        parts,
    ).render(glossary, owner=True)
    write_page(page, text)
    return page


def _notes(found: Comparison) -> Markup:
    return paragraphs([clipped(note, 600) for note in found.notes], class_="small")


def _part(found: Comparison, title: str, lines: list[Line]) -> Markup:
    rows = [[_what(line), *(shown(value) for value in line.values)] for line in lines]
    names = [clipped(name, 60) for name in found.names]
    right = range(1, len(names) + 1) if lines[0].about != "requirement" else ()
    return table(title.capitalize(), ["", *names], rows, tuple(right))


def _what(line: Line) -> Markup | str:
    if line.about not in ("risk", "utility"):
        return line.name
    better = " (higher is better)" if line.better == "higher" else ""
    return tag("span", words(line.name).title, better, " ", tag("code", line.name))
