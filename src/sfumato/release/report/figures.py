"""The figures of a report: charts in the words of Vega-Lite, and charts as inline SVG.

Charts are plain dictionaries: altair would look every word up in its schema, for each figure anew,
which takes longer than drawing. `altair.Chart.from_dict` makes altair's charts of them.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import day_text
from .parts import printable

if TYPE_CHECKING:
    from .columns import Picture
    from .correlations import Correlations
    from .risk import SizeBins

# Colours that stay apart for colour-blind readers (Okabe & Ito); shape and order tell the series
# apart too.
BEFORE, AFTER, CHANCE = "#b4bac2", "#0072b2", "#d55e00"
_INK, _FAINT = "#33383f", "#e4e7eb"
_WIDE, _SMALL = 540, 236

_TAG = re.compile(r"<[^<>]*>")
_ID = re.compile(r'<(?:clipPath|linearGradient|radialGradient|pattern|mask) id="([^"]+)"')
_SIZE = re.compile(r'<svg[^>]*? width="([0-9.]+)" height="([0-9.]+)" viewBox="([^"]+)"[^>]*>')
_LONG = re.compile(r"-?\d+\.\d{4,}")
# What says nothing inside a figure that has one name as a whole.
_IDLE = re.compile(r' (?:role|aria-[a-z]+|pointer-events|stroke-miterlimit|opacity)="(?!0)[^"]*"')
_EMPTY = re.compile(r'<path class="(?:foreground|background)"[^<>]*/>')


@dataclass(frozen=True)
class Risk:
    """One line of the risk figure: shares between 0 and 1, None where there is no such figure."""

    name: str
    before: float | None
    after: float
    chance: float | None = None


Chart = dict[str, Any]


def _rows(**columns: Sequence[Any] | np.ndarray) -> Chart:
    """Plain rows to draw, without those that have something not to draw."""
    plain = [v.tolist() if isinstance(v, np.ndarray) else list(v) for v in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
    kept = [
        row for row in rows if not any(isinstance(v, float) and math.isnan(v) for v in row.values())
    ]
    return {"values": kept}


def legible(names: Sequence[str], most: int = 40) -> list[str]:
    """Names that the renderer can set: short, printable, on one line, and still all different.

    It ends the whole process on a control character, so none may ever reach it.

    >>> legible(["a\\x00b", "", "a\\ufffdb"])
    ['a\ufffdb', '(empty)', 'a\ufffdb (2)']
    """
    found: list[str] = []
    for name in names:
        text = " ".join(printable(name).split()) or "(empty)"
        # Symbols without a shape, private ones and half ones would break or blur the layout.
        text = "".join(
            "\ufffd" if unicodedata.category(c) in ("Cn", "Co", "Cs") else c for c in text
        )
        text = text if len(text) <= most else f"{text[: most - 1]}…"
        tail, number = text, 1
        while tail in found:
            number += 1
            tail = f"{text} ({number})"
        found.append(tail)
    return found


def _axis(**more: Any) -> Chart:
    look = {"gridColor": _FAINT, "domainColor": "#9aa1aa", "tickColor": "#9aa1aa"}
    text = {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal"}
    return {**look, **text, **more}


def _order(names: Sequence[str]) -> Chart:
    """Names in this order. (`sort` would write them into an expression that is then evaluated.)"""
    return {"domain": list(names)}


def _name(field: str, **more: Any) -> Chart:
    return {"field": field, "type": "nominal", **more}


def _number(field: str, **more: Any) -> Chart:
    return {"field": field, "type": "quantitative", **more}


def _layer(data: Chart, mark: str, look: Chart, **encoding: Chart) -> Chart:
    return {"data": data, "mark": {"type": mark, **look}, "encoding": encoding}


def _room(names: Sequence[str], size: float, most: int) -> dict[str, Any]:
    """Room for the labels of an axis: the page's font may be wider than the renderer's."""
    longest = max((len(name) for name in names), default=0)
    return {
        "labelLimit": most,
        "minExtent": min(math.ceil(0.62 * size * longest), most) + 6,
        "labelFontSize": size,
    }


def risk_chart(risks: Sequence[Risk]) -> Chart:
    """Dots joined by a line: each risk before and after, and what chance alone would give."""
    names = legible([risk.name for risk in risks])
    named = list(zip(names, risks, strict=True))
    axis = _axis(**_room(names, 12, 230), ticks=False, labelPadding=9)
    y = _name("name", scale=_order(names), title=None, axis=axis)
    scale = {"domain": [0, 1]}
    axis = _axis(format="%", tickCount=5)
    x = _number("value", scale=scale, title="share or chance", axis=axis)
    layers = []
    lines = [(name, r.before, r.after) for name, r in named if r.before is not None]
    if lines:
        data = _rows(
            name=[n for n, _, _ in lines], low=[b for _, b, _ in lines], high=[a for *_, a in lines]
        )
        look: Chart = {"strokeWidth": 3, "color": _FAINT}
        ends = {"x": _number("low", scale=scale), "x2": {"field": "high"}}
        layers.append(_layer(data, "rule", look, y=y, **ends))
    looks: tuple[tuple[str, Chart], ...] = (
        ("before", {"shape": "circle", "filled": True, "color": "#8a919a", "size": 110}),
        ("after", {"shape": "diamond", "filled": True, "color": AFTER, "size": 170}),
        ("chance", {"shape": "stroke", "filled": False, "color": CHANCE, "size": 220, "angle": 90}),
    )
    for series, look in looks:
        chosen = [(n, getattr(r, series)) for n, r in named if getattr(r, series) is not None]
        if chosen:
            data = _rows(name=[n for n, _ in chosen], value=[v for _, v in chosen])
            look = {"opacity": 1, "strokeWidth": 2.5, **look}
            layers.append(_layer(data, "point", look, y=y, x=x))
    return _finished({"layer": layers}, _WIDE - 120, 38 * max(len(names), 1))


def _share() -> Chart:
    return _number("share", title="share of records", axis=_axis(format="%", tickCount=5))


def sizes_chart(bins: SizeBins) -> Chart:
    """Records by the size of their class, before and after, side by side."""
    many = len(bins.names)
    data = _rows(
        size=[*bins.names, *bins.names],
        series=["before"] * many + ["after"] * many,
        share=np.concatenate((bins.before, bins.after)),
    )
    axis = _axis(labelAngle=-40 if many > 7 else 0, labelFontSize=11, ticks=False)
    series = ["before", "after"]
    chart = _layer(
        data,
        "bar",
        {},
        x=_name("size", scale=_order(bins.names), title="records in the class", axis=axis),
        xOffset=_name("series", scale=_order(series)),
        y=_share(),
        color=_name("series", scale={"domain": series, "range": [BEFORE, AFTER]}, legend=None),
    )
    return _finished(chart, _WIDE - 60, 190)


def share_chart(names: Sequence[str], shares: np.ndarray, title: str) -> Chart:
    """One series of bars: what only the owner sees."""
    axis = _axis(labelAngle=-30, ticks=False)
    x = _name("name", scale=_order(names), title=title, axis=axis)
    chart = _layer(_rows(name=names, share=shares), "bar", {"color": AFTER}, x=x, y=_share())
    return _finished(chart, _WIDE - 60, 170)


def column_chart(picture: Picture) -> Chart:
    """One column, original against masked: grey for the original, blue for the release."""
    return _bar_chart(picture) if picture.form == "bars" else _histogram_chart(picture)


def _histogram_chart(picture: Picture) -> Chart:
    axis = _axis(title=None, tickCount=4, grid=False, labelOverlap=True)
    if picture.form == "dates":
        ends: list[Any] = [day_text(e) for e in picture.edges]
        axis["format"] = _date_format(picture)
        x = {"field": "low", "type": "temporal", "scale": {"type": "utc"}, "axis": axis}
    else:
        ends = picture.edges.tolist()
        axis["labelFlush"] = True
        x = _number("low", scale={"domain": [ends[0], ends[-1]], "nice": False}, axis=axis)
    y = _number("share", title=None, axis=_axis(format=".2~p", tickCount=4))
    bars = _rows(low=ends[:-1], high=ends[1:], share=picture.original)
    area: dict[str, Chart] = {"x": x, "x2": {"field": "high"}, "y": y, "y2": {"datum": 0}}
    steps = _rows(low=ends, share=np.append(picture.masked, picture.masked[-1]))
    line = {"color": AFTER, "strokeWidth": 2, "interpolate": "step-after"}
    layers = [
        _layer(bars, "rect", {"color": BEFORE}, **area),
        _layer(steps, "line", line, x=x, y=y),
    ]
    return _finished({"layer": layers}, _SMALL - 40, 110)


def _date_format(picture: Picture) -> str:
    span = picture.edges[-1] - picture.edges[0]
    return "%Y" if span > 1100 else "%b %Y" if span > 120 else "%d %b"


def _bar_chart(picture: Picture) -> Chart:
    names = legible(picture.names)
    axis = _axis(**_room(names, 10, 100), ticks=False, domain=False)
    y = _name("name", scale=_order(names), title=None, axis=axis)
    axis = _axis(format=".2~p", tickCount=4)
    x = _number("share", title=None, axis=axis, scale={"zero": True})
    layers = [
        _layer(
            _rows(name=names, share=shares),
            "bar",
            {"color": colour, "height": {"band": band}},
            y=y,
            x=x,
        )
        for shares, colour, band in ((picture.original, BEFORE, 0.82), (picture.masked, AFTER, 0.3))
    ]
    return _finished({"layer": layers}, _SMALL - 120, max(17 * len(names), 50))


def correlation_chart(found: Correlations) -> Chart:
    """How far each correlation moved: the change in each cell, in words of colour and number."""
    change, names = found.after - found.before, legible(found.names)
    cells = [
        (names[i], names[j], float(change[i, j]))
        for i in range(1, len(names))
        for j in range(i)
        if not math.isnan(change[i, j])
    ]
    reach = max([0.2, *(abs(d) for *_, d in cells)])
    data = _rows(
        row=[a for a, _, _ in cells],
        column=[b for _, b, _ in cells],
        change=[d for *_, d in cells],
        text=[f"{d:+.2f}".replace("-", "−") if round(d, 2) else "0" for *_, d in cells],
        strong=[abs(d) > 0.62 * reach for *_, d in cells],
    )
    look = {"title": None, **_room(names, 10, 120), "ticks": False, "domain": False}
    place = {
        "y": _name("row", axis=_axis(**look), scale=_order(names[1:])),
        "x": _name("column", axis=_axis(**look, labelAngle=-40), scale=_order(names[:-1])),
    }
    # Orange to blue through white: both ends stay apart without red or green.
    colours = {"domain": [-reach, 0, reach], "range": ["#b35806", "#f7f7f7", "#2166ac"]}
    colour = _number("change", scale=colours, legend=None)
    ink = {"condition": {"test": "datum.strong", "value": "white"}, "value": _INK}
    layers = [
        _layer(data, "rect", {"stroke": "white"}, color=colour, **place),
        _layer(data, "text", {"fontSize": 10}, text=_name("text"), color=ink, **place),
    ]
    side = 40 * (len(names) - 1)
    return _finished({"layer": layers}, side, max(26 * (len(names) - 1), 30))


def _finished(chart: Chart, width: int, height: int) -> Chart:
    view = {"continuousWidth": 300, "continuousHeight": 300, "stroke": None}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        **chart,
        "width": width,
        "height": height,
        "background": "transparent",
        "config": {"font": "sans-serif", "padding": 2, "aria": False, "view": view},
    }


def svg(chart: Chart, key: str, title: str, description: str = "") -> str:
    """A chart as SVG inside a page: named for screen readers, always the same bytes.

    `key` is this figure's own prefix for the identifiers inside it.
    """
    drawn = _drawn(json.dumps(chart))
    head = _SIZE.match(drawn)
    if head is None:
        raise AssertionError("the SVG does not begin as expected")
    width, _, box = head.groups()
    body = _tidied(drawn[head.end() :], key)
    named = f'<title id="{key}-t">{html.escape(printable(title))}</title>'
    named += (
        f'<desc id="{key}-d">{html.escape(printable(description))}</desc>' if description else ""
    )
    labels = f"{key}-t {key}-d" if description else f"{key}-t"
    return (
        f'<svg role="img" aria-labelledby="{labels}" viewBox="{box}" '
        f'style="max-width:{math.ceil(float(width))}px">{named}{body}'
    )


@lru_cache(maxsize=32)
def _drawn(chart: str) -> str:
    """A chart as the renderer draws it: once for both faces of a report, where they agree."""
    import vl_convert

    # allowed_base_urls: nothing outside this process is ever asked for anything.
    drawn: str = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    return drawn


def _tidied(body: str, key: str) -> str:
    """Shorter, and with identifiers counted anew: the renderer counts them as long as it lives.

    Only tags are touched: a category may be named like anything at all.
    """
    new = {old: f"{key}-{i}" for i, old in enumerate(dict.fromkeys(_ID.findall(body)))}

    def tidy(found: re.Match[str]) -> str:
        tag = found[0]
        if _EMPTY.fullmatch(tag):
            return ""
        tag = _LONG.sub(lambda m: f"{float(m[0]):.3f}".rstrip("0").rstrip("."), _IDLE.sub("", tag))
        for old, name in new.items():
            tag = tag.replace(f'id="{old}"', f'id="{name}"').replace(
                f"url(#{old})", f"url(#{name})"
            )
        return tag

    return _TAG.sub(tidy, body)
