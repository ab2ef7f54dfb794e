"""Figures 4-3, 4-4, 5-2 and 5-3 of Lasko (2007), from our own releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from spectral import BASIC, LABS, NONLINEAR, PRIVACY, Sample

import sfumato as sf
from sfumato.explore.components import kernel_components

_COLOURS = ("#33383f", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_POINTS = 200
FEW = 10
"""Wrong matches below which an AUC has no weight."""


def draw_all(sample: Sample, folder: Path) -> Iterator[Path]:
    """Every figure, as SVG."""
    yield _save(curves(sample, ("reference", *BASIC[:-1])), folder / "figure-4-3.svg")
    yield _save(matches(sample), folder / "figure-4-4.svg")
    yield _save(curves(sample, ("reference", *NONLINEAR)), folder / "figure-5-2.svg")
    for name in ("reference", *NONLINEAR):
        table = sample.others if name == "reference" else sample.releases[name]
        path = folder / f"figure-5-3-{name.replace(' ', '-')}.svg"
        found = kernel_components(sample.people, table, log=LABS, scale="unstandardized")
        found.figure(path, title=name)
        yield path


def curves(sample: Sample, names: Sequence[str]) -> Any:
    """Distribution functions of the three measures: further right protects better."""
    panels = []
    for part in PRIVACY:
        rows = []
        for name in names:
            values = np.sort(getattr(sample.predicted(name), part))
            at = np.linspace(0, values.size - 1, _POINTS).astype(int)
            rows += [
                {"release": name, "value": float(values[i]), "share": (int(i) + 1) / values.size}
                for i in at
            ]
        panels.append(_lines(rows, f"prediction {part}", "release", names))
    return _look(alt.hconcat(*panels))


def matches(sample: Sample) -> Any:
    """Correct against incorrect matches, by the three measures."""
    rows = []
    for name in ("spectral-rhs", "additive noise"):
        found = sf.measure("matching-attack", sample.people, sample.releases[name], log=LABS)
        correct = np.asarray(found.private["correct"], dtype=bool)
        panels = []
        for part in PRIVACY:
            values = np.asarray(found.private[part])
            lines = []
            for label, chosen in (("correct", correct), ("incorrect", ~correct)):
                own = np.sort(values[chosen])
                at = np.linspace(0, own.size - 1, _POINTS).astype(int) if own.size else ()
                lines += [
                    {"match": label, "value": float(own[i]), "share": (int(i) + 1) / own.size}
                    for i in at
                ]
            wrong = int((~correct).sum())
            known = f"AUC {found.private['auc'][part]:.2f}" if wrong >= FEW else f"{wrong} wrong"
            title = f"{name}: prediction {part} ({known})"
            panels.append(_lines(lines, title, "match", ("correct", "incorrect")))
        rows.append(alt.hconcat(*panels))
    return _look(alt.vconcat(*rows))


def _lines(rows: list[dict[str, Any]], title: str, by: str, names: Sequence[str]) -> Any:
    scale = alt.Scale(domain=list(names), range=list(_COLOURS[: len(names)]))
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("value:Q", title=None),
            y=alt.Y("share:Q", title="share of the originals"),
            color=alt.Color(f"{by}:N", title=None, scale=scale),
        )
        .properties(width=250, height=210, title=title)
    )


def _look(chart: Any) -> Any:
    return (
        chart.configure_view(stroke=None)
        .configure_axis(gridColor="#e4e7eb")
        .configure_legend(orient="bottom")
    )


def _save(chart: Any, path: Path) -> Path:
    chart.save(str(path))
    return path
