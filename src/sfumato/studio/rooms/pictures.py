"""Figures of the report on the studio's pages, whose content policy knows no inline styles."""

from __future__ import annotations

from ...release.report.figures import Chart
from ...release.report.parts import Markup, join, tag


def picture(chart: Chart, key: str, title: str, description: str = "") -> Markup:
    """A chart as a figure, named for screen readers; `key` begins its identifiers."""
    return tag(
        "figure",
        frame(chart.box, key, title, description, Markup("".join(chart.marks)), role="img"),
        class_="wide",
    )


def frame(
    box: str, key: str, title: str, description: str, inside: object, *, role: str = "group"
) -> Markup:
    """An SVG around what is drawn: an image, or a group where what is inside can be chosen."""
    labels = f"{key}-title {key}-about" if description else f"{key}-title"
    named = [tag("title", title, id=f"{key}-title")]
    if description:
        named.append(tag("desc", description, id=f"{key}-about"))
    return tag("svg", join((*named, inside)), role=role, aria_labelledby=labels, viewBox=box)
