"""The figure of a risk-utility map: readable on paper, in grey too."""

from __future__ import annotations

from typing import Any

import altair as alt

from .risk_utility import RiskUtilityMap

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left",
           "triangle-right")  # fmt: skip
# Okabe & Ito's colours, which stay apart for colour-blind readers; shapes tell methods apart too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
_INK, _FAINT = "#33383f", "#e4e7eb"
_WIDTH, _HEIGHT = 620, 420
_WIDE, _HIGH = 0.022, 0.032
"""Two numbers closer than these shares of the figure would run into one another."""


def chart(found: RiskUtilityMap, title: str) -> Any:
    """Loss to the right, risk upwards: the lower left corner is where everybody wants to be."""
    rows = found.data.to_dicts()
    methods = list(dict.fromkeys(row["method"] for row in rows))
    data = alt.InlineData(values=rows)
    front = found.front.to_dicts()
    x = alt.X("loss:Q", title=_axis(found.loss), scale=alt.Scale(zero=False, nice=True))
    y = alt.Y("risk:Q", title=_axis(found.risk), scale=alt.Scale(zero=True, nice=True))
    repeat = -(-len(methods) // len(_COLOURS))
    colours = alt.Scale(domain=methods, range=list(_COLOURS * repeat)[: len(methods)])
    # Shifted at each repetition, so that no colour meets its shape again.
    shifted = [_SHAPES[(i + i // len(_SHAPES)) % len(_SHAPES)] for i in range(len(methods))]
    shapes = alt.Scale(domain=methods, range=shifted)
    legend = alt.Legend(orient="bottom", columns=4, symbolLimit=60, labelLimit=200)
    points = (
        alt.Chart(data)
        .mark_point(size=55, filled=True, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("method:N", title=None, scale=colours, legend=legend),
            shape=alt.Shape("method:N", scale=shapes),
            tooltip=["label:N", alt.Tooltip("loss:Q", format=".4g"),
                     alt.Tooltip("risk:Q", format=".4g")],
        )
    )  # fmt: skip
    line = (
        alt.Chart(alt.InlineData(values=front))
        .mark_line(color=_INK, strokeDash=[4, 3], strokeWidth=1.2, interpolate="step-after")
        .encode(x="loss:Q", y="risk:Q")
    )
    # Numbers beside the points, names in a list beside the figure: names would hide other points.
    placed = alt.Chart(alt.InlineData(values=_placed(found, front))).encode(
        x="at_loss:Q", y="at_risk:Q", text="number:N"
    )
    behind, names = (
        placed.mark_text(align="center", fontSize=11, fontWeight="bold", **look)
        for look in ({"stroke": "white", "strokeWidth": 3, "color": "white"}, {"color": _INK})
    )
    layers: Any = alt.layer(line, points, behind, names).properties(width=_WIDTH, height=_HEIGHT)
    lines = [{"line": i, "text": f"{i}  {row['label']}"} for i, row in enumerate(front, 1)]
    listed = (
        alt.Chart(alt.InlineData(values=lines))
        .mark_text(align="left", fontSize=11, color=_INK)
        .encode(x=alt.value(0), y=alt.Y("line:O", axis=None), text="text:N")
        .properties(width=210, height=15 * (len(front) + 1), title="the front")
    )
    layers = alt.hconcat(layers, listed, spacing=24)
    if title:
        layers = layers.properties(title=title)
    made: Any = layers.configure_view(stroke=None).configure_axis(
        gridColor=_FAINT, domainColor=_INK, labelColor=_INK, titleColor=_INK,
        labelFontSize=11, titleFontSize=12,
    ).configure_legend(labelFontSize=11)  # fmt: skip
    return made


def _axis(measure: Any) -> str:
    return f"{measure.name}{' (share)' if measure.unit == '%' else ''}"


def _placed(found: RiskUtilityMap, front: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the numbers of the front stand: below and to the left of their points, where no release
    can be, and moved on where one would cover another."""
    across, up = (
        max(float(found.data[side].max() or 0.0), 1e-12)  # type: ignore[arg-type]
        for side in ("loss", "risk")
    )
    placed: list[dict[str, Any]] = []
    for number, row in enumerate(front, 1):
        x, y = row["loss"] / across - 0.012, row["risk"] / up - 0.028
        while any(abs(x - p["x"]) < _WIDE and abs(y - p["y"]) < _HIGH for p in placed):
            y -= 0.005
        placed.append(
            {**row, "number": str(number), "x": x, "y": y, "at_loss": x * across, "at_risk": y * up}
        )
    return placed
