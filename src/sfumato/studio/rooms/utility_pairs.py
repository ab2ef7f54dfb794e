"""Two columns beside one another, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ...release.looking.pairs import Crossed, Pairs
from ...release.report.parts import Markup, clipped, join, percent, table, tag
from ...texts import one_line
from ..asked import Asked
from ..widgets import button, card, field, link, select
from .trials import asking, kept_along

_LISTED = 12
_STRONG = (0.001, 0.01, 0.03)
"""Differences from which a cell is tinted, more and more."""


def part(asked: Asked, pairs: Pairs, matrix: Mapping[str, Any]) -> Markup:
    """The table of the two columns that were chosen, and the pairs that moved most."""
    names = pairs.names
    if len(names) < 2:
        return card(tag("p", "There are no two columns that both tables have."))
    moved = pairs.moved(_LISTED)
    first, second = (moved[0].first, moved[0].second) if moved else (0, 1)
    i, j = asked.number("a", first), asked.number("b", second)
    i, j = (i if i < len(names) else first), (j if j < len(names) else second)
    if i == j:
        j = next(k for k in range(len(names)) if k != i)
    short = [clipped(one_line(name), 60) for name in names]
    options = [(str(k), name) for k, name in enumerate(short)]
    chosen = asking(
        asked,
        "utility",
        kept_along(part="pair"),
        field("One column", select("a", options, str(i)), id="a"),
        field("The other", select("b", options, str(j)), id="b"),
        button("Show"),
        auto=True,
        aria_label="Which two columns",
    )
    found = pairs.table(i, j)
    return join(
        (
            card(tag("h2", "Two columns together"), chosen, _said(pairs, found, i, j, matrix)),
            card(_cross(found, short[i], short[j]), _notes(found)),
            _moved(asked, short, moved),
        )
    )


def _said(pairs: Pairs, found: Crossed, i: int, j: int, matrix: Mapping[str, Any]) -> Markup:
    """How far the pair moved, by the measure and by its correlation."""
    words = (
        f"Original and release are {percent(found.moved)} apart in this table: 0\u00a0% is no "
        "change, 100\u00a0% nothing in common. The measure marginals is the mean of this over "
        "all pairs."
    )
    a, b = (str(pairs.columns[k]["name"]) for k in (i, j))
    names = matrix.get("names", [])
    rows: list[object] = [tag("p", words)]
    if a in names and b in names and a != b:
        at = names.index(a), names.index(b)
        before, after = (matrix[side][at[0]][at[1]] for side in ("before", "after"))
        rows.append(tag("p", _correlation(before, after)))
    return join(rows)


def _correlation(before: float | None, after: float | None) -> str:
    if before is None:
        return "Their correlation is not known: too few records have both."
    told = f"Their correlation was {before:.3f}"
    return (
        f"{told} and is {after:.3f}." if after is not None else f"{told}; there is none any more."
    )


def _cross(found: Crossed, first: str, second: str) -> Markup:
    """Shares before and after, with their differences."""
    rows, columns = found.rows, found.columns
    before, after = _with_sums(found.before), _with_sums(found.after)
    head = [f"{first} \\ {second}", *(clipped(one_line(c), 40) for c in columns), "all"]
    body: list[list[object]] = []
    for r, name in enumerate([*rows, "all"]):
        cells = [_cell(before[r, c], after[r, c]) for c in range(len(columns) + 1)]
        body.append([clipped(one_line(name), 40) or "(empty)", *cells])
    caption = f"Share of all records by {first} and {second}: before → after"
    return table(caption, head, body, (*range(1, len(columns) + 2),), "cross")


def _with_sums(shares: np.ndarray) -> np.ndarray:
    """The table with the sums of its rows and columns."""
    wide = np.column_stack([shares, shares.sum(axis=1)])
    return np.vstack([wide, wide.sum(axis=0)])


def _cell(before: float, after: float) -> Markup:
    change = after - before
    size = sum(abs(change) >= least for least in _STRONG)
    look = f"cell {'up' if change > 0 else 'down'}{size}" if size else "cell"
    sign = f"{100 * change:+.1f}".replace("-", "−") if abs(change) >= 0.0005 else "="
    if before == 0 and after < 1e-12:
        return tag("span", "–", class_="cell")
    shown = f"{_share(before)} → {_share(after)}"
    return tag("span", shown, tag("span", sign, class_="change"), class_=look)


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if value >= 0.0005 or value == 0 else "<0.1"


def _notes(found: Crossed) -> Markup:
    notes = [
        "In percent of all records; below each cell the difference in points, tinted where it is "
        "larger. Many values are put together: neighbours of a scale, else the rarest."
    ]
    if found.spread:
        notes.append(
            "Published labels and suppressed cells stand for several values: they are spread over "
            "them as the release's own exact cells are, as the measure does."
        )
    return join(tag("p", one, class_="small") for one in notes)


def _moved(asked: Asked, names: list[str], moved: list[Any]) -> Markup:
    """The pairs that moved most."""
    if not moved:
        return Markup("")
    rows = []
    for one in moved:
        place = "utility?" + urlencode({"part": "pair", "a": one.first, "b": one.second})
        pair = link(asked, place, f"{names[one.first]} and {names[one.second]}")
        rows.append([pair, percent(round(one.moved, 4))])
    return card(table("The pairs that moved most", ["Pair", "Moved by"], rows, (1,)))
