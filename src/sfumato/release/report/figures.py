"""The figures of a report, written as SVG: the same bytes every time, and nothing to be loaded.

Vega-Lite's renderer took a third of a release's time, and a control character in a name ended the
process. Six kinds of charts with two axes need no renderer.
"""

from __future__ import annotations

import datetime as dt
import html
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...texts import printable
from .columns import Picture, day_text
from .correlations import Correlations
from .risk import SizeBins

# Colours that stay apart for colour-blind readers (Okabe & Ito); shape and order tell the series
# apart too.
BEFORE, AFTER, CHANCE = "#b4bac2", "#0072b2", "#d55e00"
_INK, _FAINT, _DOT = "#33383f", "#e4e7eb", "#8a919a"
_WIDE, _SMALL = 540, 236
_LETTER = 0.62
"""The width of a letter beside its height: the page's font may be wide."""


@dataclass(frozen=True)
class Risk:
    """One line of the risk figure: shares between 0 and 1, None where there is no such figure."""

    name: str
    before: float | None
    after: float
    chance: float | None = None


@dataclass(frozen=True)
class Chart:
    """What is drawn, with the room that it takes around its origin."""

    marks: tuple[str, ...]
    width: float
    height: float
    left: float
    below: float

    @property
    def box(self) -> str:
        """Origin and size, with some room above and on the right for half a label."""
        size = f"{_short(self.left + self.width + 16)} {_short(8 + self.height + self.below)}"
        return f"{_short(-self.left)} -8 {size}"


def legible(names: Sequence[str], most: int = 40) -> list[str]:
    """Names that can be set: short, printable, on one line, and still all different.

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


def _short(number: float) -> str:
    """At most two decimals.

    >>> _short(2.0), _short(1 / 3), _short(-0.001)
    ('2', '0.33', '0')
    """
    return f"{round(number, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def _mark(name: str, **attributes: float | str) -> str:
    """One shape; an underscore in an attribute's name is a hyphen."""
    pairs = " ".join(
        f'{key.replace("_", "-")}="{value if isinstance(value, str) else _short(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name} {pairs}/>"


def _text(words: str, x: float, y: float, size: float, anchor: str, ink: str = _INK) -> str:
    """Words at a place; `anchor` says which end of them lies there."""
    return (
        f'<text x="{_short(x)}" y="{_short(y)}" font-size="{_short(size)}" fill="{ink}" '
        f'text-anchor="{anchor}">{html.escape(words)}</text>'
    )


def _rising(words: str, x: float, y: float, size: float, angle: int, anchor: str = "end") -> str:
    """Words that rise towards a place, or through it."""
    turned = f"translate({_short(x)} {_short(y)}) rotate(-{angle})"
    return f'<g transform="{turned}">{_text(words, 0, 0, size, anchor)}</g>'


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return _mark("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=width)


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return _mark("rect", x=x, y=y, width=width, height=height, fill=colour)


def _width_of(names: Iterable[str], size: float, most: float) -> float:
    """The room that labels need."""
    return min(_LETTER * size * max((len(name) for name in names), default=0), most) + 6


def _fitting(name: str, size: float, most: float) -> str:
    """A name cut to the room that it has."""
    letters = int(most / (_LETTER * size))
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers from low to high, about so many: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 1, 5), ticks(3, 97, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0, 60.0, 80.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((1, 2, 5, 10), key=lambda many: abs(math.log(many * power / rough))) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # From whole numbers: sums of a step would show their rounding.
    decimals = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, decimals) for i in range(first, last + 1)]


def _percent(share: float) -> str:
    """A share as people read it.

    >>> _percent(0.2), _percent(0.025), _percent(0.0004)
    ('20%', '2.5%', '0.04%')
    """
    return f"{100 * share:.3g}%"


def _drawable(values: np.ndarray) -> Iterator[tuple[int, float]]:
    """Places and values, without those that must not be drawn."""
    return ((i, float(v)) for i, v in enumerate(values) if not math.isnan(v))


def _top(*series: np.ndarray) -> float:
    """Where the axis of shares ends: a round number above all of them."""
    most = max((v for values in series for _, v in _drawable(values)), default=0.0) or 1.0
    above = ticks(0.0, most * 2, 8)
    return next(tick for tick in above if tick >= most - 1e-12)


def _share_axis(height: float, width: float, top: float, size: float, about: int) -> list[str]:
    """Lines across for round shares, with their labels on the left."""
    marks = []
    for tick in ticks(0.0, top, about):
        y = height * (1 - tick / top)
        marks.append(_rule(0, y, width, y, _FAINT))
        marks.append(_text(_percent(tick), -5, y + 0.35 * size, size, "end"))
    return marks


def risk_chart(risks: Sequence[Risk]) -> Chart:
    """Dots joined by a line: each risk before and after, and what chance alone would give."""
    names = legible([risk.name for risk in risks])
    width, step = _WIDE - 120, 38
    height = step * max(len(names), 1)
    marks = []
    for tick in ticks(0, 1, 5):
        marks.append(_rule(width * tick, 0, width * tick, height, _FAINT))
        marks.append(_text(_percent(tick), width * tick, height + 16, 11, "middle"))
    marks.append(_text("share or chance", width / 2, height + 33, 11, "middle"))
    for i, (name, risk) in enumerate(zip(names, risks, strict=True)):
        y = step * (i + 0.5)
        marks.append(_text(_fitting(name, 12, 230), -10, y + 4, 12, "end"))
        after = width * risk.after
        if risk.before is not None and math.isfinite(risk.before):
            before = width * risk.before
            marks.append(_rule(before, y, after, y, _FAINT, 3))
            marks.append(_mark("circle", cx=before, cy=y, r=6, fill=_DOT))
        around = f"M{_short(after)} {_short(y - 8)}l6 8l-6 8l-6-8z"
        marks.append(_mark("path", d=around, fill=AFTER))
        if risk.chance is not None and math.isfinite(risk.chance):
            chance = width * risk.chance
            marks.append(_rule(chance, y - 8, chance, y + 8, CHANCE, 2.5))
    return Chart(tuple(marks), width, height, 10 + _width_of(names, 12, 230), 38)


def sizes_chart(bins: SizeBins) -> Chart:
    """Records by the size of their class, before and after, side by side."""
    series = ((bins.before, BEFORE), (bins.after, AFTER))
    turn = 40 if len(bins.names) > 7 else 0
    return _columns(bins.names, series, "records in the class", 190, turn)


def share_chart(names: Sequence[str], shares: np.ndarray, title: str) -> Chart:
    """One series of bars: what only the owner sees."""
    return _columns(names, ((shares, AFTER),), title, 170, 30)


def _columns(
    names: Sequence[str],
    series: Sequence[tuple[np.ndarray, str]],
    title: str,
    height: float,
    turn: int,
) -> Chart:
    """Bars that stand beside each other under one name, with labels that may be turned."""
    width, top = _WIDE - 60, _top(*(values for values, _ in series))
    marks = _share_axis(height, width, top, 11, 5)
    step = width / max(len(names), 1)
    bar = 0.8 * step / len(series)
    for place, (values, colour) in enumerate(series):
        for i, value in _drawable(values):
            x, tall = step * (i + 0.1) + bar * place, height * value / top
            marks.append(_rect(x, height - tall, bar, tall, colour))
    marks.append(_rule(0, height, width, height, _DOT))
    for i, name in enumerate(names):
        x = step * (i + 0.5)
        label = _text(name, x, height + 15, 11, "middle")
        marks.append(_rising(name, x + 3, height + 12, 11, turn) if turn else label)
    room = 18.0
    if turn:
        room += math.sin(math.radians(turn)) * _width_of(names, 11, 200)
    marks.append(_text(title, width / 2, height + room + 16, 11, "middle"))
    marks.append(_rising("share of records", -44, height / 2, 11, 90, "middle"))
    return Chart(tuple(marks), width, height, 58, room + 22)


def column_chart(picture: Picture) -> Chart:
    """One column, original against masked: grey for the original, blue for the release."""
    return _bar_chart(picture) if picture.form == "bars" else _histogram_chart(picture)


def _histogram_chart(picture: Picture) -> Chart:
    """Grey bars for the original, a blue line in steps for the release."""
    width, height, edges = _SMALL - 40.0, 110.0, np.asarray(picture.edges, np.float64)
    low, high = float(edges[0]), float(edges[-1])
    x = width * (edges - low) / ((high - low) or 1.0)
    top = _top(picture.original, picture.masked)
    marks = _share_axis(height, width, top, 10, 4)
    for i, value in _drawable(picture.original):
        tall = height * value / top
        marks.append(_rect(x[i], height - tall, x[i + 1] - x[i], tall, BEFORE))
    steps, joined = "", False
    for i, value in enumerate(picture.masked):
        if not math.isnan(value):
            y = _short(height * (1 - value / top))
            steps += f"{'L' if joined else 'M'}{_short(x[i])} {y}L{_short(x[i + 1])} {y}"
        joined = not math.isnan(value)
    marks.append(_mark("path", d=steps or "M0 0", fill="none", stroke=AFTER, stroke_width=2))
    marks.append(_rule(0, height, width, height, _DOT))
    for place, label in _date_ticks(low, high) if picture.form == "dates" else _ticks(low, high):
        at = width * (place - low) / ((high - low) or 1.0)
        marks.append(_rule(at, height, at, height + 4, _DOT))
        marks.append(_text(label, at, height + 15, 10, "middle"))
    return Chart(tuple(marks), width, height, 40, 20)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers with their labels, fewer where these are long."""
    for about in (4, 3, 2, 1):
        found = [(tick, f"{tick:,.10g}") for tick in ticks(low, high, about)]
        if sum(len(label) + 1 for _, label in found) * _LETTER * 10 <= _SMALL - 40:
            break
    return found


def _date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """First days of years or months, or single days, by the span of days from 1970 on."""
    span = high - low
    if span <= 120:
        days = ticks(math.ceil(low), math.floor(high), 3)
        return [(day, f"{_day(day):%d %b}") for day in days if day == int(day)]
    first, last = _day(low), _day(high)
    months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
    step = 12 if span > 1100 else 1
    while len(found := [m for m in months if m % step == 0]) > 4:
        step = next((s for s in (2, 3, 6, 12, 24, 60, 120) if s > step), 2 * step)
    form = "%Y" if span > 1100 else "%b %Y"
    starts = (dt.date(month // 12, month % 12 + 1, 1) for month in found)
    placed = ((float((day - dt.date(1970, 1, 1)).days), f"{day:{form}}") for day in starts)
    return [(at, label) for at, label in placed if low <= at <= high]


def _day(number: float) -> dt.date:
    return dt.date.fromisoformat(day_text(number))


def _bar_chart(picture: Picture) -> Chart:
    """A bar to a category: the release's lies within the original's."""
    names, width, step = legible(picture.names), _SMALL - 120.0, 17
    height = max(step * len(names), 50)
    top = _top(picture.original, picture.masked)
    marks = []
    for tick in ticks(0.0, top, 3):
        marks.append(_rule(width * tick / top, 0, width * tick / top, height, _FAINT))
        marks.append(_text(_percent(tick), width * tick / top, height + 14, 10, "middle"))
    for values, colour, band in ((picture.original, BEFORE, 0.82), (picture.masked, AFTER, 0.3)):
        for i, value in _drawable(values):
            y = step * (i + 0.5 - band / 2)
            marks.append(_rect(0, y, width * value / top, band * step, colour))
    for i, name in enumerate(names):
        marks.append(_text(_fitting(name, 10, 100), -6, step * (i + 0.5) + 3.5, 10, "end"))
    return Chart(tuple(marks), width, height, 8 + _width_of(names, 10, 100), 18)


def correlation_chart(found: Correlations) -> Chart:
    """How far each correlation moved: the change in each cell, in words of colour and number."""
    change, names = found.after - found.before, legible(found.names)
    many, wide, tall = len(names) - 1, 40, 26
    height = max(tall * many, 30)
    reach = max(0.2, float(np.nanmax(np.abs(change), initial=0.0)))
    marks = []
    for i in range(1, len(names)):
        for j, moved in _drawable(change[i, :i]):
            x, y = wide * j, tall * (i - 1)
            cell = _rect(x, y, wide - 1, tall - 1, _colour(moved / reach))
            number = f"{moved:+.2f}".replace("-", "−") if round(moved, 2) else "0"
            ink = "white" if abs(moved) > 0.62 * reach else _INK
            marks += [cell, _text(number, x + wide / 2, y + tall / 2 + 3.5, 10, "middle", ink)]
    for i in range(many):
        row, column = (_fitting(name, 10, 120) for name in (names[i + 1], names[i]))
        marks.append(_text(row, -6, tall * (i + 0.5) + 3.5, 10, "end"))
        marks.append(_rising(column, wide * (i + 0.5) + 4, height + 10, 10, 40))
    longest = _width_of(names, 10, 120)
    return Chart(tuple(marks), wide * many, height, 8 + longest, 14 + 0.65 * longest)


def _colour(place: float) -> str:
    """Orange (-1) to blue (1) through white: both ends stay apart without red or green."""
    middle, end = (247, 247, 247), (33, 102, 172) if place > 0 else (179, 88, 6)
    mixed = (round(m + abs(place) * (e - m)) for m, e in zip(middle, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def svg(chart: Chart, key: str, title: str, description: str = "") -> str:
    """A chart as SVG inside a page, named for screen readers; `key` begins its identifiers. It has
    no style of its own, which the policy of a page may forbid."""
    named = f'<title id="{key}-t">{html.escape(printable(title))}</title>'
    named += (
        f'<desc id="{key}-d">{html.escape(printable(description))}</desc>' if description else ""
    )
    labels = f"{key}-t {key}-d" if description else f"{key}-t"
    widest = math.ceil(float(chart.box.split()[2]))
    return (
        f'<svg role="img" aria-labelledby="{labels}" viewBox="{chart.box}" '
        f'width="{widest}">{named}{"".join(chart.marks)}</svg>'
    )
