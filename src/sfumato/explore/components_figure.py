"""The figure of kernel principal components: two distributions, component against component.

On the diagonal the densities of the original and of the release, with the component's eigenvalue,
the share of the variance up to it, and p. Above it their contours, over the released records in
grey. Below it the released records as far as they reach, those furthest out drawn strongest, in the
colours of their groups. No record of the original is drawn, only smooth densities, within quantiles
that ten records lie beyond and without contours around fewer than ten. They are still made from the
original, and its owner decides whether to publish them.

A component's records are shown from the original's median, in robust deviations of the original;
the scale is logarithmic beyond one where a few records lie far out, as high powers make them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import numpy as np

from ..kernels.statistics.contours import bandwidth, contours, density_on, enclosed, heights_around
from ..release.report.figures import legible
from .components import Components

# Okabe & Ito's colours, which stay apart for colour-blind readers.
ORIGINAL, RELEASE = "#0072b2", "#d55e00"
_GROUPS = ("#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#000000", "#0072b2", "#d55e00")
_INK, _FAINT, _GREY = "#33383f", "#e9ecef", "#a9afb7"
_SERIES = ("original (smoothed)", "release")
_ALL = "Components were found in the original itself: p tends to be too small for other people."
_HALF = "Components were found in one half of the original; the other half is shown."
_PANEL, _GAP = 150, 8
_LINE, _GRID = 160, 64
_SHARES = (0.3, 0.6, 0.9)
"""Parts of a density's mass that its contours enclose."""
_POINTS, _FURTHEST = 800, 300
"""Records drawn in each panel, and how many of them are those furthest out."""
_MOST_GROUPS = 16
_HEAVY = 12.0
"""Components that reach further than this, in robust deviations, have a logarithmic scale."""
_FEW = 10
"""Contours around fewer records are not drawn."""
_SMOOTHER = 1.3  # contours need wider kernels than curves to be calm


@dataclass(frozen=True)
class Ruler:
    """The scale of one component: where a projection is drawn."""

    centre: float
    unit: float
    heavy: bool

    @staticmethod
    def of(x: np.ndarray, y: np.ndarray) -> Ruler:
        """The scale for an original and its release."""
        low, centre, high = np.quantile(x, (0.25, 0.5, 0.75)).tolist()
        unit = (high - low) / 1.35 or float(x.std()) or 1.0
        ends = [abs(end - centre) for end in _middle(x, y)]
        return Ruler(centre, unit, max(ends) > _HEAVY * unit)

    def drawn(self, values: np.ndarray) -> np.ndarray:
        """Places on the figure."""
        u = (values - self.centre) / self.unit
        return np.sign(u) * np.log1p(np.abs(u)) if self.heavy else u

    def axis(self, reach: tuple[float, float]) -> dict[str, Any]:
        """Where its ticks are, and how they read."""
        if not self.heavy:
            return {"tickCount": 4}
        far = math.expm1(max(abs(end) for end in reach))
        steps = [10.0**e for e in range(0, 9, 1 if far < 2_000 else 2) if 10.0**e <= far]
        ticks = [0.0, *(sign * math.log1p(step) for step in steps for sign in (-1, 1))]
        reading = "format((datum.value < 0 ? -1 : 1) * (exp(abs(datum.value)) - 1), '.1~s')"
        values = sorted(tick for tick in ticks if reach[0] <= tick <= reach[1])
        return {"values": values, "labelExpr": reading}


def chart(found: Components, components: int, title: str) -> Any:
    """A matrix of panels, one row and one column for each of the first components."""
    compared = found.compared
    many = max(1, min(components, compared.gaps.size))
    tables = compared.original[:, :many], compared.masked[:, :many]
    rulers = [Ruler.of(*(t[:, j] for t in tables)) for j in range(many)]
    x, y = (np.column_stack([r.drawn(t[:, j]) for j, r in enumerate(rulers)]) for t in tables)
    windows = [_window(x[:, j], y[:, j]) for j in range(many)]
    shown = _chosen(y)
    groups = None if found.groups is None else _readable(found.groups)
    points = alt.InlineData(values=_records(y, shown, groups))
    reach = [_padded(float(c.min()), float(c.max())) for c in y[shown].T]
    panels = []
    for i in range(many):
        for j in range(many):
            if i == j:
                panel = _diagonal(found, (x[:, i], y[:, i]), i, windows[i], rulers)
            elif j > i:
                panel = _above(x, y, (i, j), windows, points, rulers)
            else:
                panel = _below((i, j), reach, points, rulers, groups)
            panels.append(panel.properties(width=_PANEL, height=_PANEL))
    shares = ", ".join(f"{100 * share:.0f}" for share in _SHARES)
    whole = alt.concat(*panels, columns=many, spacing=_GAP, bounds="flush").properties(
        title=alt.TitleParams(
            legible([title or "Kernel principal components"], 120)[0],
            subtitle=[
                "Diagonal: densities along each component, from the original's median in robust "
                "deviations" + "; logarithmic beyond one" * any(r.heavy for r in rulers) + ".",
                f"Above: contours around {shares} % of the records, and released records "
                "in grey. Below: released records as far as they reach,",
                f"the outlying ones strongest. {_HALF if compared.held_out else _ALL}",
            ],
            color=_INK, subtitleColor=_INK, subtitleFontSize=11, anchor="start", offset=14,
        )
    )  # fmt: skip
    return whole.configure_view(stroke="#c9ced4").configure_legend(
        labelColor=_INK, titleColor=_INK, labelFontSize=11
    )


def _diagonal(
    found: Components,
    tables: tuple[np.ndarray, np.ndarray],
    j: int,
    window: tuple[float, float],
    rulers: list[Ruler],
) -> Any:
    # One width for both, so that a difference of the curves is one of the records.
    width = max(bandwidth(tables[0]), (window[1] - window[0]) / _LINE)
    low, high = window
    at = low + (np.arange(_LINE) + 0.5) * (high - low) / _LINE
    curves = [density_on(t[:, None], (window,), _LINE, (width,)) for t in tables]
    values = [
        {"at": float(a), "height": float(h), "series": series}
        for series, curve in zip(_SERIES, curves, strict=True)
        for a, h in zip(at, curve, strict=True)
    ]
    top = 1.6 * max(float(curve.max()) for curve in curves) or 1.0  # room for the words
    lines = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1.8, clip=True)
        .encode(
            x=_placed(alt.X, "at", window, rulers[j], j == 0, "top"),
            y=alt.Y("height:Q", axis=None, scale=alt.Scale(domain=[0, top], nice=False)),
            stroke=_series(),
        )
    )
    row = found.compared.rows()[j]
    words: list[tuple[str, int, int, Any, Any, int]] = [
        (f"kPC {j + 1}", 9, 17, "bold", "left", 13),
        (f"λ {_short(row['eigenvalue'])}", _PANEL - 8, 15, "normal", "right", 11),
        (f"cum {row['cumulative']:.0%}", _PANEL - 8, 29, "normal", "right", 11),
        (f"p {_chance(row['p'])}", _PANEL - 8, 43, "normal", "right", 11),
        (f"D {row['distance']:.3f}", 9, 33, "normal", "left", 11),
    ]
    layers = [lines]
    for text, across, down, weight, align, size in words:
        layers.append(
            alt.Chart(alt.InlineData(values=[{"text": text}]))
            .mark_text(align=align, fontSize=size, fontWeight=weight, color=_INK)
            .encode(x=alt.value(across), y=alt.value(down), text="text:N")
        )
    return alt.layer(*layers)


def _above(
    x: np.ndarray,
    y: np.ndarray,
    place: tuple[int, int],
    windows: list[tuple[float, float]],
    points: Any,
    rulers: list[Ruler],
) -> Any:
    """Contours of both tables, component i upwards and j to the right."""
    i, j = place
    last = len(rulers) - 1
    across = _placed(alt.X, f"c{j}", windows[j], rulers[j], i == 0, "top")
    up = _placed(alt.Y, f"c{i}", windows[i], rulers[i], j == last, "right")
    dots = (
        alt.Chart(points)
        .mark_circle(aria=False, size=5, color=_GREY, opacity=0.45, clip=True)
        .encode(x=across, y=up)
    )
    values: list[dict[str, Any]] = []
    box = (windows[i], windows[j])
    step = [(high - low) / _GRID for low, high in box]
    widths = tuple(
        max(_SMOOTHER * bandwidth(x[:, c], 2), s) for c, s in zip(place, step, strict=True)
    )
    for series, table in zip(_SERIES, (x, y), strict=True):
        density = density_on(table[:, place], box, _GRID, widths)
        for height in heights_around(density, _SHARES):
            for number, line in enumerate(contours(density, height) if height > 0 else []):
                if enclosed(line) * step[0] * step[1] * height * len(table) < _FEW:
                    continue
                same = {"series": series, "line": f"{series}{height}{number}"}
                for n, (a, b) in enumerate(line.tolist()):
                    right, top = box[1][0] + (b + 0.5) * step[1], box[0][0] + (a + 0.5) * step[0]
                    values.append({"across": right, "up": top, **same, "step": n})
    lines = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1.3, clip=True)
        .encode(
            x=alt.X("across:Q", scale=alt.Scale(domain=list(windows[j]), nice=False)),
            y=alt.Y("up:Q", scale=alt.Scale(domain=list(windows[i]), nice=False)),
            stroke=_series(),
            detail="line:N",
            order="step:Q",
        )
    )
    return alt.layer(dots, lines)


def _below(
    place: tuple[int, int],
    reach: list[tuple[float, float]],
    points: Any,
    rulers: list[Ruler],
    groups: tuple[str, ...] | None,
) -> Any:
    i, j = place
    from_0_to_1 = partial(alt.Scale, domain=[0, 1], zero=False)
    encoded: dict[str, Any] = {
        "x": _placed(alt.X, f"c{j}", reach[j], rulers[j], i == len(rulers) - 1, "bottom"),
        "y": _placed(alt.Y, f"c{i}", reach[i], rulers[i], j == 0, "left"),
        "size": alt.Size("far:Q", legend=None, scale=from_0_to_1(range=[4, 26])),
        "opacity": alt.Opacity("far:Q", legend=None, scale=from_0_to_1(range=[0.18, 0.9])),
    }
    if groups is None:
        return alt.Chart(points).mark_circle(aria=False, color=RELEASE, clip=True).encode(**encoded)
    names = _group_names(groups)
    colours = [_GROUPS[k % len(_GROUPS)] for k in range(len(names))]
    encoded["fill"] = alt.Fill(
        "group:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(title="groups of the release", orient="bottom", columns=10),
    )
    return alt.Chart(points).mark_circle(aria=False, clip=True).encode(**encoded)


def _series() -> Any:
    return alt.Stroke(
        "series:N",
        scale=alt.Scale(domain=list(_SERIES), range=[ORIGINAL, RELEASE]),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3),
    )


def _placed(
    channel: Any, field: str, reach: tuple[float, float], ruler: Ruler, shown: bool, orient: str
) -> Any:
    """A field along x or y, on the scale of its component."""
    look: dict[str, Any] = {
        "orient": orient, "title": None, "gridColor": _FAINT, "domain": False, "labelColor": _INK,
        "tickColor": "#c9ced4", "labelFontSize": 10, "labelFlush": True, "labelOverlap": True,
        "labels": shown, "ticks": shown, **ruler.axis(reach),
    }  # fmt: skip
    scale = alt.Scale(domain=list(reach), nice=False)
    return channel(f"{field}:Q", scale=scale, axis=alt.Axis(**look))


def _middle(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The middle 99 % of both tables, or less where fewer than ten records would lie beyond."""
    ends = []
    for table in (x, y):
        cut = min(max(0.005, 10 / table.size), 0.25)
        ends.append(np.quantile(table, (cut, 1 - cut)))
    return float(min(e[0] for e in ends)), float(max(e[1] for e in ends))


def _window(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    low, high = _padded(*_middle(x, y))
    return round(low, 1), round(high, 1)


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = 0.05 * (high - low) or 0.5
    return low - pad, high + pad


def _chosen(y: np.ndarray) -> np.ndarray:
    """The released records that are drawn: those furthest out, and others spread evenly."""
    n = len(y)
    if n <= _POINTS:
        return np.arange(n)
    order = np.argsort(-np.abs(y).max(axis=1), kind="stable")
    rest = np.sort(order[_FURTHEST:])
    even = np.linspace(0, rest.size - 1, _POINTS - _FURTHEST).astype(np.int64)
    return np.sort(np.concatenate((order[:_FURTHEST], rest[even])))


def _records(
    y: np.ndarray, shown: np.ndarray, groups: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """Rows for the panels, with how far out each record lies among the released, from 0 to 1."""
    from scipy.stats import rankdata

    far = rankdata(np.abs(y).max(axis=1))[shown] / len(y)
    strong = np.clip((far - 0.5) * 2, 0, 1) ** 2
    names: list[str] = [] if groups is None else _group_names(groups)
    rows = []
    for n, row in enumerate(shown.tolist()):
        one: dict[str, Any] = {f"c{j}": round(float(v), 4) for j, v in enumerate(y[row])}
        one["far"] = round(float(strong[n]), 3)
        if groups is not None:
            one["group"] = groups[row] if groups[row] in names else names[-1]
        rows.append(one)
    return rows


def _readable(groups: tuple[str, ...]) -> tuple[str, ...]:
    names = sorted(set(groups))
    shown = dict(zip(names, legible(names), strict=True))
    return tuple(shown[group] for group in groups)


def _group_names(groups: tuple[str, ...]) -> list[str]:
    """The largest groups, numbers in their order, and one name for all others."""
    names, counts = np.unique(np.array(groups), return_counts=True)
    kept: list[str] = names[np.argsort(-counts, kind="stable")[:_MOST_GROUPS]].tolist()
    kept.sort(key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
    return kept + (["others"] if len(names) > len(kept) else [])


def _short(number: float) -> str:
    if not math.isfinite(number):
        return "very large"
    return f"{number:.2g}" if 0.01 <= number < 1000 else f"{number:.1e}".replace("e+0", "e")


def _chance(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.0e}".replace("e-0", "e-") if p > 1e-99 else "0"
