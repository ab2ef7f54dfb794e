"""The figures of a report: altair charts, and charts as inline SVG.

Charts are ordinary altair objects, so that a notebook or the studio can show the very same ones.
altair is imported when the first chart is made.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
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


def _rows(**columns: Sequence[Any] | np.ndarray) -> Any:
    """Plain rows for altair, without those that have something not to draw."""
    import altair as alt

    plain = [v.tolist() if isinstance(v, np.ndarray) else list(v) for v in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
    kept = [
        row for row in rows if not any(isinstance(v, float) and math.isnan(v) for v in row.values())
    ]
    return alt.InlineData(values=kept)


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


def _axis(**more: Any) -> Any:
    import altair as alt

    look = {"gridColor": _FAINT, "domainColor": "#9aa1aa", "tickColor": "#9aa1aa"}
    text = {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal"}
    return alt.Axis(**{**look, **text, **more})


def _order(names: Sequence[str]) -> Any:
    """Names in this order. (`sort` would write them into an expression that is then evaluated.)"""
    import altair as alt

    return alt.Scale(domain=list(names))


def _room(names: Sequence[str], size: float, most: int) -> dict[str, Any]:
    """Room for the labels of an axis: the page's font may be wider than the renderer's."""
    longest = max((len(name) for name in names), default=0)
    return {
        "labelLimit": most,
        "minExtent": min(math.ceil(0.62 * size * longest), most) + 6,
        "labelFontSize": size,
    }


def risk_chart(risks: Sequence[Risk]) -> Any:
    """Dots joined by a line: each risk before and after, and what chance alone would give."""
    import altair as alt

    names = legible([risk.name for risk in risks])
    points = [
        (name, series, value)
        for name, risk in zip(names, risks, strict=True)
        for series, value in (
            ("before", risk.before),
            ("after", risk.after),
            ("chance", risk.chance),
        )
        if value is not None
    ]
    lines = [
        (name, risk.before, risk.after)
        for name, risk in zip(names, risks, strict=True)
        if risk.before is not None
    ]
    y = alt.Y(
        "name:N",
        scale=_order(names),
        title=None,
        axis=_axis(**_room(names, 12, 230), ticks=False, labelPadding=9),
    )
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("value:Q", scale=scale, title="share or chance", axis=_axis(format="%", tickCount=5))
    layers = []
    if lines:
        data = _rows(
            name=[n for n, _, _ in lines], low=[b for _, b, _ in lines], high=[a for *_, a in lines]
        )
        layers.append(
            alt.Chart(data)
            .mark_rule(strokeWidth=3, color=_FAINT)
            .encode(y=y, x=alt.X("low:Q", scale=scale), x2="high:Q")
        )
    looks: tuple[tuple[str, dict[str, Any]], ...] = (
        ("before", {"shape": "circle", "filled": True, "color": "#8a919a", "size": 110}),
        ("after", {"shape": "diamond", "filled": True, "color": AFTER, "size": 170}),
        ("chance", {"shape": "stroke", "filled": False, "color": CHANCE, "size": 220, "angle": 90}),
    )
    for series, look in looks:
        chosen = [(n, v) for n, s, v in points if s == series]
        if chosen:
            data = _rows(name=[n for n, _ in chosen], value=[v for _, v in chosen])
            mark = alt.Chart(data).mark_point(opacity=1, strokeWidth=2.5, **look)
            layers.append(mark.encode(y=y, x=x))
    return _finished(alt.layer(*layers), _WIDE - 120, 38 * max(len(names), 1))


def sizes_chart(bins: SizeBins) -> Any:
    """Records by the size of their class, before and after, side by side."""
    import altair as alt

    many = len(bins.names)
    data = _rows(
        size=[*bins.names, *bins.names],
        series=["before"] * many + ["after"] * many,
        share=np.concatenate((bins.before, bins.after)),
    )
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X(
                "size:N",
                scale=_order(bins.names),
                title="records in the class",
                axis=_axis(labelAngle=-40 if many > 7 else 0, labelFontSize=11, ticks=False),
            ),
            xOffset=alt.XOffset("series:N", scale=_order(["before", "after"])),
            y=alt.Y("share:Q", title="share of records", axis=_axis(format="%", tickCount=5)),
            color=_colours(alt),
        )
    )
    return _finished(chart, _WIDE - 60, 190)


def _colours(alt: Any) -> Any:
    scale = alt.Scale(domain=["before", "after"], range=[BEFORE, AFTER])
    return alt.Color("series:N", scale=scale, legend=None)


def share_chart(names: Sequence[str], shares: np.ndarray, title: str) -> Any:
    """One series of bars: what only the owner sees."""
    import altair as alt

    chart = (
        alt.Chart(_rows(name=names, share=shares))
        .mark_bar(color=AFTER)
        .encode(
            x=alt.X(
                "name:N", scale=_order(names), title=title, axis=_axis(labelAngle=-30, ticks=False)
            ),
            y=alt.Y("share:Q", title="share of records", axis=_axis(format="%", tickCount=5)),
        )
    )
    return _finished(chart, _WIDE - 60, 170)


def column_chart(picture: Picture) -> Any:
    """One column, original against masked: grey for the original, blue for the release."""
    return _bar_chart(picture) if picture.form == "bars" else _histogram_chart(picture)


def _histogram_chart(picture: Picture) -> Any:
    import altair as alt

    dates = picture.form == "dates"
    ends: list[Any] = [day_text(e) for e in picture.edges] if dates else picture.edges.tolist()
    kind = "T" if dates else "Q"
    reach: dict[str, Any] = (
        {"type": "utc"} if dates else {"domain": [ends[0], ends[-1]], "nice": False}
    )
    axis = _axis(title=None, tickCount=4, grid=False, labelOverlap=True, labelFlush=True)
    if dates:
        axis = _axis(
            title=None, tickCount=4, grid=False, labelOverlap=True, format=_date_format(picture)
        )
    x = {"scale": alt.Scale(**reach), "axis": axis}
    y = alt.Y("share:Q", title=None, axis=_axis(format=".2~p", tickCount=4))
    bars = (
        alt.Chart(_rows(low=ends[:-1], high=ends[1:], share=picture.original))
        .mark_rect(color=BEFORE)
        .encode(x=alt.X(f"low:{kind}", **x), x2=f"high:{kind}", y=y, y2=alt.datum(0))
    )
    steps = np.append(picture.masked, picture.masked[-1])
    line = (
        alt.Chart(_rows(low=ends, share=steps))
        .mark_line(color=AFTER, strokeWidth=2, interpolate="step-after")
        .encode(x=alt.X(f"low:{kind}", **x), y=y)
    )
    return _finished(alt.layer(bars, line), _SMALL - 40, 110)


def _date_format(picture: Picture) -> str:
    span = picture.edges[-1] - picture.edges[0]
    return "%Y" if span > 1100 else "%b %Y" if span > 120 else "%d %b"


def _bar_chart(picture: Picture) -> Any:
    import altair as alt

    names = legible(picture.names)
    y = alt.Y(
        "name:N",
        scale=_order(names),
        title=None,
        axis=_axis(**_room(names, 10, 100), ticks=False, domain=False),
    )
    x = alt.X(
        "share:Q", title=None, axis=_axis(format=".2~p", tickCount=4), scale=alt.Scale(zero=True)
    )
    wide = (
        alt.Chart(_rows(name=names, share=picture.original))
        .mark_bar(color=BEFORE, height=alt.RelativeBandSize(0.82))
        .encode(y=y, x=x)
    )
    narrow = (
        alt.Chart(_rows(name=names, share=picture.masked))
        .mark_bar(color=AFTER, height=alt.RelativeBandSize(0.3))
        .encode(y=y, x=x)
    )
    return _finished(alt.layer(wide, narrow), _SMALL - 120, max(17 * len(names), 50))


def correlation_chart(found: Correlations) -> Any:
    """How far each correlation moved: the change in each cell, in words of colour and number."""
    import altair as alt

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
    axis = {"title": None, **_room(names, 10, 120), "ticks": False, "domain": False}
    encoded = alt.Chart(data).encode(
        y=alt.Y(
            "row:N",
            axis=_axis(**axis),
            scale=_order(names[1:]),
        ),
        x=alt.X(
            "column:N",
            scale=_order(names[:-1]),
            axis=_axis(**axis, labelAngle=-40),
        ),
    )
    # Orange to blue through white: both ends stay apart without red or green.
    colours = alt.Scale(domain=[-reach, 0, reach], range=["#b35806", "#f7f7f7", "#2166ac"])
    tiles = encoded.mark_rect(stroke="white").encode(
        color=alt.Color("change:Q", scale=colours, legend=None)
    )
    words = encoded.mark_text(fontSize=10).encode(
        text="text:N",
        color=alt.condition("datum.strong", alt.value("white"), alt.value(_INK)),
    )
    side = 40 * (len(names) - 1)
    return _finished(alt.layer(tiles, words), side, max(26 * (len(names) - 1), 30))


def _finished(chart: Any, width: int, height: int) -> Any:
    return (
        chart.properties(width=width, height=height, background="transparent")
        .configure(font="sans-serif", padding=2, aria=False)
        .configure_view(stroke=None)
    )


def svg(chart: Any, key: str, title: str, description: str = "") -> str:
    """A chart as SVG inside a page: named for screen readers, always the same bytes.

    `key` is this figure's own prefix for the identifiers inside it.
    """
    import vl_convert

    # allowed_base_urls: nothing outside this process is ever asked for anything.
    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[])
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
