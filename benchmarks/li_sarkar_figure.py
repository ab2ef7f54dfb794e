"""Figure 5 of Li & Sarkar (2013), drawn from what `li_sarkar.py` measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def draw(points: Sequence[tuple[str, float, float]], path: Path) -> None:
    """Figure 5 as SVG."""
    import altair as alt
    import vl_convert

    names = list(dict.fromkeys(name for name, *_ in points))
    ink = {"labelColor": "#33383f", "titleColor": "#33383f", "gridColor": "#e4e7eb",
           "titleFontWeight": "normal", "domainColor": "#9aa1aa"}  # fmt: skip
    data = alt.InlineData(values=[{"series": n, "linked": a, "abico": b} for n, a, b in points])
    colours = ["#d55e00", "#8a919a", "#009e73", "#0072b2"][: len(names)]
    chart = (
        alt.Chart(data)
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=45), strokeWidth=2)
        .encode(
            x=alt.X("linked:Q", title="linked or second closest, % of records",
                    scale=alt.Scale(reverse=True, domain=[0, 10]), axis=alt.Axis(**ink)),
            y=alt.Y("abico:Q", title="ABICO %", axis=alt.Axis(**ink, tickCount=6)),
            order=alt.Order("linked:Q"),
            color=alt.Color("series:N", title=None,
                            scale=alt.Scale(domain=names, range=colours),
                            legend=alt.Legend(orient="top", columns=2, labelLimit=260)),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=names), legend=None),
        )
        .properties(width=440, height=240)
        .configure(font="sans-serif")
        .configure_view(stroke=None)
    )  # fmt: skip
    path.write_text(vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[]))
