"""A risk-utility map as a picture: loss to the right, risk upwards, a shape and a colour to each
method, every release a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...release.report.figures import ticks
from ...release.report.parts import Markup, clipped, join, number, tag
from .pictures import frame

_WIDE, _HIGH = 640.0, 360.0
_LEFT, _TOP, _BELOW = 66.0, 14.0, 50.0
# Okabe & Ito's colours, dark enough to be told on white; shapes tell methods apart too.
_COLOURS = ("#0072b2", "#b34a00", "#00795a", "#a3437a", "#8a6100", "#33383f", "#2b7fb0", "#7a4fa3")
_SHAPES = ("circle", "square", "up", "diamond", "cross", "down")
_INK, _FAINT = "#33383f", "#e4e7eb"


def looks(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a shape for each method; no two have both in common up to 24."""
    found = {}
    for i, method in enumerate(dict.fromkeys(methods)):
        found[method] = _COLOURS[i % len(_COLOURS)], _SHAPES[i % len(_SHAPES)]
    return found


def map_picture(
    points: Sequence[Mapping[str, Any]],
    axes: tuple[str, str],
    place_of: str,
    chosen: int | None,
    key: str = "map",
) -> Markup:
    """The points, which have a label, a method, a loss, a risk and perhaps `front`; `axes` names
    loss and risk in plain words."""
    look = looks([str(point["method"]) for point in points])
    right = _top([float(point["loss"]) for point in points])
    up = _top([float(point["risk"]) for point in points])

    def at(point: Mapping[str, Any]) -> tuple[float, float]:
        x = _LEFT + _WIDE * float(point["loss"]) / right
        return x, _TOP + _HIGH * (1 - float(point["risk"]) / up)

    front = sorted((p for p in points if p.get("front")), key=lambda p: (p["loss"], -p["risk"]))
    marks = [*_axes(right, up, axes), _front([at(point) for point in front])]
    # The one that is looked at last, and the first before it, so that no other covers them.
    order = sorted(range(len(points)), key=lambda i: (i == chosen, i == 0))
    for i in order:
        point = points[i]
        x, y = at(point)
        colour, form = look[str(point["method"])]
        told = (
            f"{clipped(point['label'], 80)}: {axes[0]} {number(float(point['loss']))}, "
            f"{axes[1]} {number(float(point['risk']))}" + (", front" if point.get("front") else "")
        )
        ring = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="13", fill="none", stroke="#d55e00",
                   stroke_width="3") if i == chosen else ""  # fmt: skip
        current = {"aria_current": "true"} if i == chosen else {}
        marks.append(
            tag("a", tag("title", told), mark(form, colour, x, y), ring, href=f"{place_of}{i}",
                id=f"{key}-point-{i}", aria_label=told, data_stay="", **current)
        )  # fmt: skip
    title = f"{axes[1]} against {axes[0]} of {len(points)} releases"
    about = "The lower left corner is best. Each mark is a release, and a link to its figures."
    box = f"0 0 {_LEFT + _WIDE + 24:.0f} {_TOP + _HIGH + _BELOW:.0f}"
    return tag("figure", frame(box, key, title, about, join(marks)), class_="wide")


def _top(values: Sequence[float]) -> float:
    """Where an axis ends: a round number above all of them."""
    most = max((v for v in values if v > 0), default=1.0)
    return next(t for t in ticks(0.0, 2 * most, 8) if t >= most * 1.0001)


def _axes(right: float, up: float, axes: tuple[str, str]) -> list[Markup]:
    marks = []
    bottom = _TOP + _HIGH
    for tick in ticks(0.0, right, 6):
        x = _LEFT + _WIDE * tick / right
        marks.append(_rule(x, _TOP, x, bottom, _FAINT))
        marks.append(_words(f"{tick:g}", x, bottom + 16, "middle"))
    for tick in ticks(0.0, up, 5):
        y = _TOP + _HIGH * (1 - tick / up)
        marks.append(_rule(_LEFT, y, _LEFT + _WIDE, y, _FAINT))
        marks.append(_words(f"{tick:g}", _LEFT - 6, y + 4, "end"))
    marks.append(_rule(_LEFT, bottom, _LEFT + _WIDE, bottom, _INK))
    marks.append(_rule(_LEFT, _TOP, _LEFT, bottom, _INK))
    middle = f"translate(14 {_TOP + _HIGH / 2:.0f}) rotate(-90)"
    marks.append(_words(f"{axes[0]} → worse", _LEFT + _WIDE / 2, bottom + 38, "middle"))
    marks.append(tag("g", _words(f"{axes[1]} → worse", 0, 0, "middle"), transform=middle))
    return marks


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str) -> Markup:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}",
               stroke=colour)  # fmt: skip


def _words(words: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", font_size="12", fill=_INK,
               text_anchor=anchor)  # fmt: skip


def _front(places: Sequence[tuple[float, float]]) -> Markup:
    """Steps from one release on the front to the next: no release is below them."""
    if len(places) < 2:
        return Markup("")
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
    for x, y in places[1:]:
        path += f"H{x:.1f}V{y:.1f}"
    return tag("path", d=path, fill="none", stroke=_INK, stroke_dasharray="4 3",
               stroke_width="1.3")  # fmt: skip


def mark(form: str, colour: str, x: float, y: float) -> Markup:
    """One shape."""
    if form == "circle":
        return tag(
            "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="6.5", fill=colour, fill_opacity="0.85"
        )
    paths = {
        "square": f"M{x - 6:.1f} {y - 6:.1f}h12v12h-12z",
        "up": f"M{x:.1f} {y - 7:.1f}l7 13h-14z",
        "down": f"M{x:.1f} {y + 7:.1f}l7 -13h-14z",
        "diamond": f"M{x:.1f} {y - 8:.1f}l7 8l-7 8l-7 -8z",
        "cross": f"M{x - 2.5:.1f} {y - 7:.1f}h5v4.5h4.5v5h-4.5v4.5h-5v-4.5h-4.5v-5h4.5z",
    }
    return tag("path", d=paths[form], fill=colour, fill_opacity="0.85")


def legend(methods: Sequence[str]) -> Markup:
    """Which shape is which method."""

    def item(method: str, colour: str, form: str) -> Markup:
        drawn = tag("svg", mark(form, colour, 10, 10), viewBox="0 0 20 20", width="18",
                    height="18", aria_hidden="true")  # fmt: skip
        return tag("li", drawn, " ", clipped(method, 60))

    listed = (item(method, *look) for method, look in looks(methods).items())
    return tag("ul", *listed, class_="legend shapes")
