"""The curves of `sets_curves.py` as a figure: utility kept and seconds against k.

.venv/bin/python benchmarks/sets_figure.py build/sets/adult.json docs/figures/sets-adult.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import altair as alt
import polars as pl
import vl_convert


def figure(rows: list[dict[str, object]]) -> alt.HConcatChart:
    """Two panels with the mean over the seeds; a search keeps its colour in both."""
    frame = (
        pl.DataFrame(rows)
        .group_by("search", "k", maintain_order=True)
        .agg(pl.col("utility").mean(), pl.col("cpu").mean().clip(0.005))
    )
    order = (
        frame.filter(pl.col("k") == 10).sort("utility", descending=True).get_column("search")
    ).to_list()
    base = alt.Chart(alt.Data(values=frame.to_dicts())).mark_line(point=alt.OverlayMarkDef(size=14))
    k = alt.X("k:Q", title="k", scale=alt.Scale(type="log"))
    colour = alt.Color(
        "search:N",
        sort=order,
        title=None,
        scale=alt.Scale(scheme="tableau20"),
        legend=alt.Legend(labelLimit=320),
    )
    kept = alt.Y("utility:Q", title="utility kept", axis=alt.Axis(format="%"))
    spent = alt.Y("cpu:Q", title="processor seconds", scale=alt.Scale(type="log"))
    size = {"width": 330, "height": 300}
    return alt.hconcat(
        base.encode(k, kept, colour).properties(**size),
        base.encode(k, spent, colour).properties(**size),
    )


if __name__ == "__main__":
    made = figure(json.loads(Path(sys.argv[1]).read_text()))
    target = Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".png":
        target.write_bytes(vl_convert.vegalite_to_png(made.to_json(), scale=1.5))
    else:
        target.write_text(vl_convert.vegalite_to_svg(made.to_json()))
