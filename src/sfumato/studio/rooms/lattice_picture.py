"""The lattice of levels as a picture: a row for each height, edges as short as may be, and every
node a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...release.report.parts import Markup, clipped, join, number, percent, tag
from ...texts import one_line
from .pictures import frame

_HIGH, _WIDEST = 56.0, 1150.0
_SIDE, _TOP = 78.0, 24.0
_SWEEPS = 6
_LIGHT, _DARK = (214, 232, 245), (0, 82, 138)
VERDICTS = {
    "optimal": "the best there is",
    "allowed": "keeps what is required",
    "refused": "does not",
    "ruled out": "not looked at: it cannot be among the best",
    "open": "not looked at: the search ended before",
}


def lattice_picture(
    found: Mapping[str, Any], place_of: str, chosen: int | None, own: int | None
) -> Markup:
    """The nodes that are drawn: `place_of` is the address that a node's number is added to,
    `chosen` is the one looked at and `own` the one that the plan has."""
    nodes, edges = found["nodes"], [tuple(edge) for edge in found["edges"]]
    rows = _rows(nodes, edges)
    widest = max(len(row) for row in rows)
    step = max(min(44.0, _WIDEST / widest), 20.0)
    width = step * max(widest, 9)
    at: dict[int, tuple[float, float]] = {}
    for i, row in enumerate(reversed(rows)):  # what hides most is on top
        y = _TOP + _HIGH * i
        for j, node in enumerate(row):
            at[node] = (_SIDE + width / 2 + step * (j - (len(row) - 1) / 2), y)
    lines = (_edge(nodes, at, a, b) for a, b in edges)
    tones = _tones(nodes)
    best = {node: rank for rank, node in enumerate(found["best"], 1)}
    marks = [
        _node(
            i, node, at[i], tones[i], place_of,
            rank=best.get(i), chosen=i == chosen, own=i == own,
        )
        for i, node in enumerate(nodes)
    ]  # fmt: skip
    height = _TOP + _HIGH * (len(rows) - 1) + _TOP
    sides = [
        tag("text", words, x="4", y=f"{y + 4:.0f}", font_size="11", fill="#545e6b")
        for words, y in (("hides most", _TOP), ("keeps most", height - _TOP))
    ]
    title = "The lattice: every way to choose a level for each column"
    about = (
        f"{len(nodes)} of {found['size']:,} nodes, from exact at the bottom to hidden at the top. "
        "Each is a link; the table below lists the others."
    )
    inside = join((*sides, tag("g", *lines), *marks))
    box = f"0 0 {_SIDE + width + step:.0f} {height:.0f}"
    drawn = frame(box, "lattice", title, about, inside)
    look = "wide broad" if widest > 26 else "wide"
    return tag("figure", drawn, class_=look, id="lattice-figure")


def _rows(nodes: Sequence[Mapping[str, Any]], edges: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Nodes by height, each row in the order in which its edges are short: a node goes towards the
    middle of those that it is tied to, row by row, up and down."""
    heights = sorted({node["height"] for node in nodes})
    rows = [[i for i, node in enumerate(nodes) if node["height"] == h] for h in heights]
    tied: dict[int, list[int]] = {i: [] for i in range(len(nodes))}
    for a, b in edges:
        tied[a].append(b)
        tied[b].append(a)
    place = {node: j - (len(row) - 1) / 2 for row in rows for j, node in enumerate(row)}
    for sweep in range(_SWEEPS):
        order = range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1)
        for i in order:
            beside = {*rows[i - 1]} if sweep % 2 == 0 and i else set()
            if sweep % 2 and i + 1 < len(rows):
                beside = {*rows[i + 1]}

            def middle(node: int, beside: set[int] = beside) -> float:
                near = [place[other] for other in tied[node] if other in beside]
                return sum(near) / len(near) if near else place[node]

            rows[i].sort(key=lambda node: (middle(node), place[node]))
            for j, node in enumerate(rows[i]):
                place[node] = j - (len(rows[i]) - 1) / 2
    return rows


def _tones(nodes: Sequence[Mapping[str, Any]]) -> list[float]:
    """How dark each node that may be published is: the less is lost, the darker."""
    values = [node["value"] for node in nodes if node["value"] is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = (high - low) or 1.0
    return [0.0 if n["value"] is None else 1 - (n["value"] - low) / span for n in nodes]


def _edge(
    nodes: Sequence[Mapping[str, Any]], at: Mapping[int, tuple[float, float]], a: int, b: int
) -> Markup:
    """An edge; bolder where both ends were looked at, which is the path of the search."""
    seen = all(nodes[i]["verdict"] in ("optimal", "allowed", "refused") for i in (a, b))
    (x1, y1), (x2, y2) = at[a], at[b]
    look = {"stroke": "#5b6673", "stroke_width": "1.6"} if seen else {"stroke": "#dde2e8"}
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", **look)


def _node(
    i: int,
    node: Mapping[str, Any],
    at: tuple[float, float],
    tone: float,
    place_of: str,
    *,
    rank: int | None,
    chosen: bool,
    own: bool,
) -> Markup:
    x, y = at
    ring: list[Markup] = []
    if chosen:
        ring.append(tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="15", fill="none",
                        stroke="#d55e00", stroke_width="3"))  # fmt: skip
    if own:
        ring.append(tag("rect", x=f"{x - 14:.1f}", y=f"{y - 14:.1f}", width="28", height="28",
                        fill="none", stroke="#1f2630", stroke_width="2",
                        stroke_dasharray="4 3"))  # fmt: skip
    number_ = ""
    if rank is not None and node["verdict"] != "optimal":
        ink = "#ffffff" if tone > 0.55 else "#1f2630"
        number_ = tag("text", str(rank), x=f"{x:.1f}", y=f"{y + 3.5:.1f}", font_size="10",
                      fill=ink, text_anchor="middle", aria_hidden="true")  # fmt: skip
    told = told_of(node) + (", in the plan" if own else "")
    current = {"aria_current": "true"} if chosen else {}
    return tag(
        "a",
        tag("title", told),
        shape(node["verdict"], x, y, tone),
        *ring,
        number_,
        href=f"{place_of}{i}",
        id=f"node-{i}",
        aria_label=told,
        data_stay="",
        **current,
    )


def shape(verdict: str, x: float, y: float, tone: float = 0.6) -> Markup:
    """The shape of a verdict: each has its own, so that colour is not all that tells."""
    if verdict == "optimal":
        points = []
        for k in range(10):
            r, (c, s) = (13.0, 5.6)[k % 2], _TURNS[k]
            points.append(f"{x + r * s:.1f},{y - r * c:.1f}")
        return tag("polygon", points=" ".join(points), fill="#00528a", stroke="#00304f")
    if verdict == "allowed":
        mixed = (round(a + tone * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
        fill = "#" + "".join(f"{part:02x}" for part in mixed)
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="9", fill=fill, stroke="#00528a")
    if verdict == "refused":
        box = tag("rect", x=f"{x - 6:.1f}", y=f"{y - 6:.1f}", width="12", height="12",
                  fill="#fbe3d6", stroke="#b34a00")  # fmt: skip
        cross = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
        return tag("g", box, tag("path", d=cross, stroke="#b34a00", stroke_width="1.5"))
    if verdict == "open":
        path = f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z"
        return tag("path", d=path, fill="#ffffff", stroke="#5b6673", stroke_dasharray="2 2")
    return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="5", fill="#ffffff", stroke="#8a919a")


_TURNS = (
    (1.0, 0.0), (0.809, 0.588), (0.309, 0.951), (-0.309, 0.951), (-0.809, 0.588),
    (-1.0, 0.0), (-0.809, -0.588), (-0.309, -0.951), (0.309, -0.951), (0.809, -0.588),
)  # fmt: skip
"""Cosine and sine of the ten corners of a star."""


def legend(verdicts: Sequence[str]) -> Markup:
    """What the shapes mean."""

    def item(verdict: str) -> Markup:
        mark = tag("svg", shape(verdict, 15, 15), viewBox="0 0 30 30", width="26", height="26",
                   aria_hidden="true")  # fmt: skip
        return tag("li", mark, " ", tag("strong", verdict), f": {VERDICTS[verdict]}")

    return tag("ul", *(item(one) for one in VERDICTS if one in verdicts), class_="legend shapes")


def told_of(node: Mapping[str, Any]) -> str:
    """A node in one line."""
    levels = ", ".join(f"{clipped(one_line(n), 30)} {v}" for n, v in node["levels"].items())
    told = [levels, node["verdict"]]
    if node["value"] is not None:
        told.append(f"loss {number(node['value'])}")
    elif node["bound"] is not None:
        told.append(f"loss at least {number(node['bound'])}")
    if node["suppressed"]:
        told.append(f"{percent(node['suppressed'])} hidden")
    return "; ".join(told)
