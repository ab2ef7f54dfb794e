"""What the user says of single cells: rows with codes and a status, a cost, protection levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.exact import each
from ...errors import InputError, MethodError, suggest
from ...kernels.arrays import Bools, Floats, Ints
from ...poset.values.text import text
from .files import frame_of, numbers
from .table import PUBLISH, SAFE, SENSITIVE, STATUSES, ZERO, cell_name

_SECONDARY = -1
WORDS = {
    **{word: number for number, word in enumerate(STATUSES)},
    **dict.fromkeys(("s", "v", "ok", "published"), SAFE),
    **dict.fromkeys(("u", "a", "b", "c", "f", "unsafe", "primary"), SENSITIVE),
    **dict.fromkeys(("m", "x", "d", "secondary", "suppressed", "hidden", "interval"), _SECONDARY),
    **dict.fromkeys(("p", "z", "protected"), PUBLISH),
    **dict.fromkeys(("e", "n", "empty"), ZERO),
}
"""Statuses by their words and by the letters of tau-Argus (S, U, M, P, E; A to F in its long form)
and sdcTable (s, u, x, z)."""


def status_numbers(words: pl.Series) -> tuple[Ints, Bools]:
    """The status of each row, and whether it says that the cell is hidden. Missing is safe."""
    texts = [None if word is None else text(word).strip() for word in words.to_list()]
    found = np.zeros(len(texts), np.int64)
    for row, word in enumerate(texts):
        if not word:
            continue
        number = WORDS.get(word.lower())
        if number is None:
            close = suggest(word, STATUSES)
            listed = f"a status is {', '.join(STATUSES)}, or a letter of tau-Argus or sdcTable"
            raise InputError(
                f"row {row + 1}: there is no status {word!r}",
                remedy=f'did you mean "{close[0]}"?' if close else listed,
            )
        found[row] = number
    hidden = (found == SENSITIVE) | (found == _SECONDARY)
    return np.where(found == _SECONDARY, SAFE, found), hidden


@dataclass(frozen=True, eq=False)
class Said:
    """Status, cost and levels of every cell; None where nobody said anything."""

    status: Ints
    costs: Floats | None = None
    needs: tuple[Floats, Floats] | None = None


def stated(
    labels: pl.DataFrame, totals: Mapping[str, str], values: Floats, statuses: Any, costs: Any
) -> Said:
    """What rows of statuses and of costs say of the cells with these labels.

    A cell without a cost of its own costs its value. Where only one level is given, it holds on
    both sides.
    """
    n = labels.height
    status = np.zeros(n, np.int64)
    price: Floats | None = None
    up, down = np.full(n, np.nan), np.full(n, np.nan)
    if costs is not None and not _is_rows(costs):
        price = np.asarray(costs, dtype=np.float64)
        if price.shape != (n,):
            raise MethodError(
                f"{price.size:,} costs do not fit {n:,} cells", remedy="one to a cell, or rows"
            )
        costs = None
    for given, what in ((statuses, "statuses"), (costs, "costs")):
        if given is None:
            continue
        frame = frame_of(given, what)
        cells = cells_of(frame, labels, totals, what, extra=("status", "cost", "up", "down"))
        if "status" in frame.columns:
            status[cells] = status_numbers(frame["status"])[0]
        if "cost" in frame.columns:
            own = numbers(frame, "cost")
            price = np.abs(values) if price is None else price.copy()
            price[cells] = np.where(np.isnan(own), price[cells], own)
        for name, levels in (("up", up), ("down", down)):
            if name in frame.columns:
                levels[cells] = numbers(frame, name)
    zero = np.flatnonzero((status == ZERO) & (values != 0))
    if zero.size:
        where = cell_name(labels, int(zero[0]))
        raise MethodError(
            f"statuses: {where} is said to be zero, but it holds {values[zero[0]]:g}",
            remedy="take the status away, or correct the records",
        )
    up, down = np.where(np.isnan(up), down, up), np.where(np.isnan(down), up, down)
    if price is not None and (bad := np.flatnonzero(~(price >= 0) | ~np.isfinite(price))).size:
        where = cell_name(labels, int(bad[0]))
        raise MethodError(f"the cost of {where} is {price[bad[0]]:g}", remedy="give 0 or more")
    return Said(status, price, None if np.isnan(up).all() else (up, down))


def _is_rows(given: Any) -> bool:
    if isinstance(given, np.ndarray | pl.Series):
        return False
    if isinstance(given, Sequence) and not isinstance(given, str):
        return bool(len(given)) and isinstance(given[0], Mapping)
    return True


def cells_of(
    frame: pl.DataFrame,
    labels: pl.DataFrame,
    totals: Mapping[str, str],
    what: str,
    extra: Sequence[str] = (),
) -> Ints:
    """The cell that each row names by its codes; a dimension left out or empty is at its total."""
    for name in frame.columns:
        if name not in labels.columns and name not in extra:
            close = suggest(name, [*labels.columns, *extra])
            raise InputError(
                f"{what}: there is no dimension {name!r}",
                remedy=f'did you mean "{close[0]}"?'
                if close
                else f"the dimensions are {', '.join(labels.columns)}",
            )
    asked = pl.DataFrame(
        [
            pl.Series(
                name,
                [totals[name] if code is None else text(code) for code in frame[name].to_list()]
                if name in frame.columns
                else [totals[name]] * frame.height,
                dtype=pl.String,
            )
            for name in labels.columns
        ]
    )
    for name in asked.columns:
        known = set(labels[name].unique().to_list())
        for row, code in enumerate(asked[name].to_list(), 1):
            if code not in known:
                close = suggest(code, known) if len(known) <= 2000 else []
                raise InputError(
                    f"{what}, row {row}: {name} has no code {code!r}",
                    remedy=f'did you mean "{close[0]}"?' if close else "correct the code",
                )
    cells = labels.with_row_index("\x00cell")
    found = asked.join(cells, on=each(labels.columns), how="left", maintain_order="left")[
        "\x00cell"
    ]
    for row, cell in enumerate(found.to_list()):
        if cell is None:
            where = cell_name(asked, row)
            raise InputError(
                f"{what}, row {row + 1}: the tables have no cell {where}",
                remedy="leave the row out",
            )
    numbers_ = found.to_numpy().astype(np.int64)
    _, counts = np.unique(numbers_, return_counts=True)
    if (counts > 1).any():
        twice = np.flatnonzero(asked.is_duplicated().to_numpy())
        raise InputError(
            f"{what}: rows {twice[0] + 1} and {twice[1] + 1} name the same cell",
            remedy="keep one of them",
        )
    return numbers_
