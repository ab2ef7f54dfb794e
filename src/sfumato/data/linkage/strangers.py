"""People who are not in the data, for a control: with the types of the data, and really others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from ...errors import MeasureError, SchemaError
from ..codec import SQUARABLE
from ..kinds import Misfit, complaint, fit
from ..schema import MEASURED, SET_ASIDE, Column, Kind, Role
from ..sets.flat_lists import comparable
from ..table import Table

_SHARE = 0.01
"""Share of the reference from which on people who are in the data count."""
_SURE = 5.0
"""Standard errors beyond which they are there not by chance."""
_FEWEST = 100
"""Records from which on it is looked at how many repeat others."""
_WORTH = 0.8
"""Share of the reference that must be worth a record each, or those that repeat others go."""


def typed_as(others: Table, original: Table, names: Iterable[str]) -> Table:
    """The others with the data's types in these columns; raises where a column holds what they
    cannot. Categories that the data do not know are missing."""
    changed, complaints = [], []
    for name in names:
        series, own = others[name], original[name]
        try:
            found = _typed(series, own, original.schema[name])
        except Misfit as misfit:
            # Without its row: this may be told of people.
            told = complaint(name, Misfit(f"in the reference {misfit.cell}", misfit.remedy))
            complaints.append(told)
            continue
        if found is not series:
            changed.append(found)
    if complaints:
        raise SchemaError("the reference", complaints)
    columns = [original.schema[s.name].with_(role=others.schema[s.name].role) for s in changed]
    return others.with_columns(changed, columns) if changed else others


def shared_columns(others: Table, original: Table) -> list[str]:
    """The columns of both that say something of people; sets are compared nowhere."""
    return [
        column.name
        for column in original.schema
        if column.name in others.schema and column.role not in SET_ASIDE and column.kind != Kind.SET
    ]


def _typed(series: pl.Series, own: pl.Series, column: Column) -> pl.Series:
    if _beyond(series) and not _beyond(own):
        raise Misfit(
            "holds numbers that are infinite or too large to calculate with, and the data do not",
            "make them missing",
        )
    if series.dtype != own.dtype:
        if series.null_count() == len(series):
            return pl.Series(series.name, [None] * len(series), dtype=own.dtype)
        series = _as_type(series, own, column)
    return series


def _as_type(series: pl.Series, own: pl.Series, column: Column) -> pl.Series:
    category = column.generalized or column.kind not in (*MEASURED, Kind.BOOLEAN)
    if category:
        if series.dtype.is_nested() or own.dtype.is_nested():
            raise Misfit(f"holds {series.dtype}, and the data {own.dtype}", "give both one type")
        return series.cast(pl.String).cast(own.dtype, strict=False)
    fitted = fit(series, column.kind, ())
    try:
        found = fitted.cast(own.dtype, strict=False)
    except pl.exceptions.PolarsError:
        found = None
    if found is None or found.null_count() > fitted.null_count():
        raise Misfit(
            f"holds {series.dtype} beyond what the data hold as {own.dtype}",
            "give both one type, or leave the column out of the reference",
        )
    return found


def _beyond(series: pl.Series) -> bool:
    return series.dtype.is_float() and bool((series.abs() > SQUARABLE).any())


def unlike(others: pl.Series, own: pl.Series, column: Column) -> str:
    """Why a column tells nothing beside the data's, as it was given; empty where it does."""
    if others.is_empty() or own.null_count() == len(own):
        return ""
    if others.null_count() == len(others):
        return "people outside the data have no value of it"
    if (others.dtype == pl.Date) != (own.dtype == pl.Date) and column.kind == Kind.DATE:
        kinds = ("dates", "moments") if others.dtype == pl.Date else ("moments", "dates")
        return f"people outside the data have {kinds[0]} there, and those in it {kinds[1]}"
    if column.kind in MEASURED and not column.generalized:
        apart = others.min() > own.max() or others.max() < own.min()  # type: ignore[operator]
    else:
        known = own.unique().cast(pl.String)
        apart = not others.unique().drop_nulls().cast(pl.String).is_in(known.to_list()).any()
    return "people outside the data have none of the values of those in it" if apart else ""


def refuse_the_same(original: Table, others: Table) -> None:
    """Raise where people outside are people in the data.

    Of records that are there twice among both, at most one half is once in either if the people are
    others, however alike they are: more are the same people. So it is with their identifiers.
    """
    shared = [name for name in others.schema.names if name in original.schema]
    named = [name for name in shared if original.schema[name].role == Role.IDENTIFIER]
    told = shared_columns(others, original)
    for names, what, remedy in (
        (told, "records", "name people who are not in the data"),
        (
            named,
            "identifiers",
            "name people who are not in the data, or leave identifiers out of the reference if "
            "they were numbered anew",
        ),
    ):
        keys = _keys(original, others, names)
        if keys is None:
            continue
        own, theirs = (_counted(side, keys) for side in (0, 1))
        both = int(((own == 1) & (theirs == 1)).sum())
        apart = int((own + theirs == 2).sum()) - both
        excess = both - apart
        if excess > max(_SHARE * others.height, _SURE * np.sqrt(both + apart)):
            raise MeasureError(
                f"of the {what} that the reference has once, {both / (theirs == 1).sum():.0%} are "
                "in the data once, far more than chance explains: it holds people of the data",
                remedy=remedy,
            )


def _keys(original: Table, others: Table, names: Sequence[str]) -> tuple[np.ndarray, ...] | None:
    """int64: equal records by equal numbers, of both; None where nothing is compared. Whose cells
    are all missing is nobody's equal, and has -1."""
    names = [
        name
        for name in names
        if original[name].dtype == others[name].dtype and not _numbered(original, others, name)
    ]
    if not names or not others.height or not original.height:
        return None
    series = [
        comparable(pl.concat([original[name], others[name]])).alias(str(i))
        for i, name in enumerate(names)
    ]
    frame = pl.DataFrame(series)
    codes = np.unique(frame.hash_rows().to_numpy(), return_inverse=True)[1].reshape(-1)
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
    codes[empty] = -1
    return codes[: original.height], codes[original.height :]


def _numbered(original: Table, others: Table, name: str) -> bool:
    """Whether a column only numbers the records of each file: the same number is once in both, and
    whoever has it agrees in nothing else more often than anybody."""
    sides = [table[name] for table in (original, others)]
    if any(s.dtype.is_nested() or s.n_unique() < len(s) for s in sides):
        return False
    own, theirs = (
        pl.DataFrame({"by": s, row: np.arange(len(s))})
        for s, row in zip(sides, ("own", "theirs"), strict=True)
    )
    met = own.join(theirs, on="by")
    rest = [other for other in shared_columns(others, original) if other != name]
    if met.is_empty() or not rest:
        return False
    for other in rest:
        if original[other].dtype != others[other].dtype:
            continue
        pair = original[other].gather(met["own"]), others[other].gather(met["theirs"])
        shares = [s.rename("by").to_frame().group_by("by").len() for s in pair]
        joined = shares[0].join(shares[1], on="by")
        chance = float((joined["len"] * joined["len_right"].cast(pl.Float64)).sum()) / len(met) ** 2
        agree = float((pair[0] == pair[1]).fill_null(False).mean() or 0.0)  # type: ignore[arg-type]
        if agree - chance > _SURE * np.sqrt(chance * (1 - chance) / len(met)) + _SURE / len(met):
            return False
    return True


def _counted(side: int, keys: tuple[np.ndarray, ...]) -> np.ndarray:
    width = int(max(codes.max() for codes in keys)) + 1
    return np.bincount(keys[side][keys[side] >= 0], minlength=max(width, 1))


def worth(original: Table, others: Table) -> np.ndarray:
    """Rows of the others that count as people of their own.

    Where the reference has far fewer different records than as many people in the data have, it is
    worth as many as these have so many different ones. They are taken evenly from all, in the order
    of what they hold: of a few people who are repeated, each about once.
    """
    everybody = np.arange(others.height)
    keys = _keys(original, others, shared_columns(others, original))
    if keys is None:
        return everybody
    own, theirs = (np.unique(codes, return_counts=True)[1] for codes in keys)
    size = int(min(own.sum(), theirs.sum()))
    wanted = _different(theirs, size)
    if size < _FEWEST or _different(own, int(_WORTH * size)) <= wanted:
        return everybody
    low, high = 1, size
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _different(own, middle) < wanted - 1e-6 else (low, middle)
    many = max(low, theirs.size)
    order = np.argsort(keys[1], kind="stable")
    return np.sort(order[(np.arange(many) * others.height) // many])


def _different(counts: np.ndarray, drawn: int) -> float:
    """How many different records so many have, drawn from records that are there so often."""
    return float((1.0 - (1.0 - drawn / counts.sum()) ** counts).sum())
