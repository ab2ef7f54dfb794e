"""Synthetic records from given marginals: every column by its own shares, independent of others.

The generator of Katirai's toolkit: it makes tables of any size for experiments with searches, out
of nothing but published frequencies. Nobody in them exists, and nothing holds between columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...errors import Complaint, InputError, ParameterError, SchemaError
from ..table import Table, table

Marginals = Mapping[str, Mapping[Any, float]]

_COLUMNS = ("column", "value", "share")


def from_marginals(
    marginals: Marginals | str | Path | Any,
    rows: int,
    rng: np.random.Generator,
    **words: Any,
) -> Table:
    """A table of independent columns whose values are drawn with the shares given.

    Shares are weights: counts do as well, and each column's are divided by their sum. Instead of a
    mapping there may be a CSV file, or a frame, of the columns `column`, `value` and `share`; an
    empty value is a missing one, as None is in a mapping. Further words (`quasi=`, `kinds=`,
    `posets=` ...) are those of `sf.table`.

    >>> rng = np.random.default_rng(0)
    >>> shares = {"sex": {"f": 0.51, "m": 0.49}, "rooms": {1: 20, 2: 50, 3: 30}}
    >>> made = from_marginals(shares, 1000, rng, quasi=["sex", "rooms"])
    >>> made.height, made["rooms"].value_counts(sort=True)["rooms"].to_list()
    (1000, [2, 3, 1])
    """
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
        raise ParameterError(f"rows = {rows!r} is no number of rows", remedy="0 or more")
    if isinstance(marginals, str | Path):
        marginals = read_marginals(marginals)
    elif not isinstance(marginals, Mapping):
        marginals = _from_frame(marginals, "the frame")
    _check(marginals)
    made = []
    for name, shares in marginals.items():
        weights = np.array([float(share) for share in shares.values()])
        # Scaled first: the sum of very large counts could overflow.
        weights = weights / weights.max()
        drawn = rng.choice(len(weights), size=int(rows), p=weights / weights.sum())
        made.append(pl.Series(name, list(shares), strict=False).gather(drawn))
    return table(pl.DataFrame(made), **words)


def read_marginals(path: str | Path) -> dict[str, dict[Any, float]]:
    """Marginals from a CSV file of column, value, share.

    Values are numbers where all of a column's are, else text.
    """
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{path} cannot be read as marginals: {error}", remedy="a CSV of column,value,share"
        ) from error
    return _from_frame(frame, str(path))


def _from_frame(given: Any, what: str) -> dict[str, dict[Any, float]]:
    frame = given if isinstance(given, pl.DataFrame) else table(given).frame
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise InputError(
            f"{what} has no column {missing[0]!r}",
            remedy=f"marginals have the columns {', '.join(_COLUMNS)}",
        )
    found: dict[str, dict[Any, float]] = {}
    read = zip(*(frame[name].to_list() for name in _COLUMNS), strict=True)
    for row, (column, value, share) in enumerate(read, 1):
        if column is None:
            raise InputError(f"row {row} of {what} names no column", remedy="name it")
        try:
            number = float(share)
        except (TypeError, ValueError):
            raise InputError(
                f"row {row} of {what}: {share!r} is no share", remedy="a number of 0 or more"
            ) from None
        shares = found.setdefault(str(column), {})
        if value in shares:
            raise InputError(
                f"row {row} of {what} gives the value {value!r} of column {column!r} again",
                remedy="give each value once",
            )
        shares[value] = number
    return {name: _typed(shares) for name, shares in found.items()}


def _typed(shares: dict[Any, float]) -> dict[Any, float]:
    """Numbers where every value is written as one, without changing how any reads."""
    for kind in (int, float):
        try:
            typed = {None if value is None else kind(value): s for value, s in shares.items()}
        except (TypeError, ValueError):
            continue
        same = all(
            value is None or not isinstance(value, str) or _canonical(value, kind)
            for value in shares
        )
        if same and len(typed) == len(shares):
            return typed
    return shares


def _canonical(text: str, kind: type) -> bool:
    """Whether a number is written plainly: 02139 is a code and no number."""
    if kind is int:
        return str(int(text)) == text
    return math.isfinite(float(text)) and not (text.lstrip("-")[:1] == "0" and text[1:2].isdigit())


def _check(marginals: Marginals) -> None:
    """Complain about everything at once."""
    complaints = []
    if not marginals:
        raise ParameterError("there are no marginals", remedy='{"sex": {"f": 0.51, "m": 0.49}}')
    for name, shares in marginals.items():
        if not isinstance(shares, Mapping) or not shares:
            complaints.append(Complaint(str(name), "has no shares", "give a share for each value"))
            continue
        for value, share in shares.items():
            number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
            if not number or not math.isfinite(share) or share < 0:
                what = f"the share of {value!r} is {share!r}"
                complaints.append(Complaint(str(name), what, "give a number of 0 or more"))
        kinds = {_kind(value) for value in shares if value is not None}
        if len(kinds) > 1:
            what = f"mixes {' and '.join(sorted(kinds))}"
            complaints.append(Complaint(str(name), what, "write all values as text"))
        numbers = [s for s in shares.values() if isinstance(s, int | float | np.number)]
        if len(numbers) == len(shares) and not any(s > 0 for s in numbers):
            complaints.append(Complaint(str(name), "has only shares of 0", "give one above 0"))
    if complaints:
        raise SchemaError("the marginals", complaints)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth values"
    return "numbers" if isinstance(value, int | float | np.number) else type(value).__name__
