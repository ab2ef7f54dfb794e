"""Filling suppressed and generalized cells of a release from what the release itself teaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ..data.codec import decode, encode
from ..data.schema import NUMERIC, SUPPRESSED, Column, Kind
from ..data.table import Table
from ..errors import MethodError
from ..poset.values.ranges import read_range
from ..poset.values.scale import scale_of
from ..poset.values.text import read_set, without_missing
from ..progress import report
from ..protocols import Poset
from .augmented import Reading, read
from .axis import BINS, MOST, Axis, axis_of
from .network import Network, fit, library
from .records import Records
from .released import MODELLED
from .structure import learn

_TYPES: dict[Kind, Any] = {
    Kind.INTEGER: pl.Int64,
    Kind.CONTINUOUS: pl.Float64,
    Kind.DATE: pl.Date,
    Kind.BOOLEAN: pl.Boolean,
}


def codebook(table: Table, name: str) -> tuple[Column, pl.Series]:
    """A column as it was before it was generalized, and the sorted values that it may hold.

    A column that holds values has those. One that was generalized has the leaves of the poset that
    its labels came from; where that is not known (a release read from a file), the values that its
    labels name: single ones, members of sets, ends of ranges, and the leaves of a declared
    hierarchy.
    """
    column, series = table.schema[name], table[name]
    if not column.generalized and not _has_labels(column, series):
        return column, encode(series).domain
    plain = column.with_(generalized=False, bound=None)
    if column.bound is not None:
        leaves = _leaves(column.bound)
        if column.kind == Kind.ORDINAL:  # its categories are labels now
            plain = plain.with_(categories=tuple(leaves))
        return plain, _typed(plain, leaves)
    found = _named(column, series)
    if column.poset is not None:
        try:
            tree = column.poset.bind([])
            found = list(dict.fromkeys([*_leaves(tree), *found]))
        except ValueError:
            pass  # it needs the values; the labels' own are all that is known
    if not found:
        raise MethodError(
            f"column {name!r} shows no value at all",
            remedy="declare its hierarchy as the column's poset, or leave it out of `columns`",
        )
    return plain, _typed(plain, found)


def _has_labels(column: Column, series: pl.Series) -> bool:
    """Whether text that was read from a file holds labels, though nobody says so."""
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum) or column.kind == Kind.ORDINAL:
        return False
    if column.kind in (*NUMERIC, Kind.DATE):
        return True
    words = series.drop_nulls().unique().cast(pl.String).to_list()
    return any(
        word == SUPPRESSED or word[:1] + word[-1:] in ("{}", "[]", "[)", "()")
        for word, _ in map(without_missing, words)
    )


def _leaves(poset: Poset) -> list[str]:
    codes = np.arange(1, poset.positions.size)
    return [_single(label) for label in poset.labels(codes, codes)]


def _single(label: str) -> str:
    """A value out of its label: one that could be misread is quoted there."""
    if not label.startswith("{"):
        return label
    try:
        members = read_set(label)
    except (ValueError, IndexError):
        return label
    return members[0] if len(members) == 1 else label


def _named(column: Column, series: pl.Series) -> list[str]:
    found: list[str] = []
    scale = scale_of([0]) if column.kind != Kind.DATE else None
    for label in series.drop_nulls().unique().cast(pl.String).sort().to_list():
        word, _ = without_missing(label)
        if word == SUPPRESSED:
            continue
        if word.startswith("{"):
            found += read_set(word)
            continue
        if column.kind in NUMERIC and scale is not None:
            try:
                ends = read_range(word, scale)
            except ValueError:
                found.append(word)
                continue
            found += [scale.text(end) for end in (ends.low, ends.high) if abs(end) < float("inf")]
            continue
        found.append(word)
    return list(dict.fromkeys(found))


def _typed(column: Column, words: Sequence[str]) -> pl.Series:
    """Values in the type of the column, sorted."""
    series = pl.Series(column.name, list(words), dtype=pl.String)
    if column.kind == Kind.ORDINAL:
        return (
            series.cast(pl.Enum(list(column.categories)), strict=False).drop_nulls().unique().sort()
        )
    kind = _TYPES.get(column.kind)
    if kind is None:
        return series.unique().sort()
    if column.kind == Kind.DATE:
        typed = series.str.to_date(strict=False)
    elif column.kind == Kind.BOOLEAN:
        typed = series.str.to_lowercase() == "true"
    else:
        typed = series.cast(pl.Float64, strict=False)
        typed = typed.cast(kind, strict=False) if column.kind == Kind.INTEGER else typed
    return typed.drop_nulls().unique().sort()


@dataclass(frozen=True, eq=False)
class Imputed:
    """A release with its open cells filled, once or several times."""

    tables: tuple[Table, ...]
    filled: Mapping[str, int]
    """Cells filled, by column."""
    network: Network
    """As learnt from the release; copies are drawn from variations of it."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Columns that could not be modelled, and why."""

    @property
    def table(self) -> Table:
        """The first copy."""
        return self.tables[0]

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {count:,}" for name, count in self.filled.items())
        return f"{len(self.tables)} x filled: {listed or 'nothing'}"


def impute(
    release: Table,
    columns: Sequence[str] = (),
    *,
    way: Literal["draw", "mode"] = "draw",
    m: int = 1,
    seed: int = 0,
    parents: int = 2,
    most: int = MOST,
    bins: int = BINS,
) -> Imputed:
    """Fill suppressed and generalized cells, from a network learnt from the release itself.

    Cells are drawn from their distribution given everything else that the record shows, one after
    the other, so that they fit together ("draw"), or set to their most probable value one by one
    ("mode"). A filled value always lies within the published label. Missing values stay missing.

    Draws are for analysis (take several, `m`, and combine them by Rubin's rules): no filled cell is
    anybody's value. The network's probabilities are learnt anew for every copy, from records that
    are weighed at random (Rubin's Bayesian bootstrap), so that the copies differ as much as the
    probabilities are uncertain; which columns are linked is found once, and that uncertainty is
    left out.

    >>> from sfumato.data.table import table
    >>> shown = table({"sex": ["f"] * 9 + ["m"] * 9 + ["{f, m}"],
    ...                "job": ["nurse"] * 9 + ["smith"] * 9 + ["smith"]}, quasi=["sex", "job"])
    >>> impute(shown, way="mode").table["sex"].to_list()[-1]
    'm'
    """
    library()
    if m < 1 or (way == "mode" and m > 1):
        raise MethodError(f"m = {m} copies cannot be made", remedy='m = 1, or more of way = "draw"')
    axes, left_out = _axes(release, columns, most, bins)
    readings = [read(axis, release) for axis in axes]
    records = Records.of(readings)
    network = learn(records, parents=parents)
    wanted = [a for a, axis in enumerate(axes) if not columns or axis.name in columns]
    open_cells = {a: np.flatnonzero(_open(readings[a], release)) for a in wanted}
    rng = np.random.default_rng(seed)
    copies = []
    for number in range(m):
        report("filling copies", number, m)
        used = network if way == "mode" else _drawn(network, records, rng)
        copies.append(_filled(release, used, readings, open_cells, way, rng))
    filled = {axes[a].name: int(rows.size) for a, rows in open_cells.items() if rows.size}
    return Imputed(tuple(copies), filled, network, left_out)


def _axes(
    release: Table, columns: Sequence[str], most: int, bins: int
) -> tuple[list[Axis], dict[str, str]]:
    named = [release.schema[name].name for name in columns]
    names = named + [n for n in release.schema.of_role(*MODELLED) if n not in named]
    axes, left_out = [], {}
    for name in names:
        try:
            column, domain = codebook(release, name)
            axes.append(axis_of(column, domain, most=most, bins=bins))
        except MethodError as error:
            if name in named:
                raise
            left_out[name] = error.message.removeprefix(f"column {name!r} ")
    if not axes:
        raise MethodError(
            "there is no column to learn from", remedy="name columns in `columns`, or give roles"
        )
    return axes, left_out


def _drawn(network: Network, records: Records, rng: np.random.Generator) -> Network:
    """The same links with probabilities drawn as uncertain as they are: a Bayesian bootstrap."""
    share = rng.exponential(size=records.which.size)
    weights = np.bincount(records.which, share, records.weights.size)
    weights *= records.weights.sum() / weights.sum()
    strength = float(network.facts["strength"])
    weighed = records.weighing(weights)
    tables = fit(weighed, network.nodes, network.parents, strength, refine=True)
    return replace(network, tables=tables)


def _open(reading: Reading, release: Table) -> np.ndarray:
    hidden = release.suppressed(reading.axis.name)
    found: np.ndarray = (reading.open | hidden) & ~reading.absent
    return found


def _filled(
    release: Table,
    network: Network,
    readings: Sequence[Reading],
    open_cells: Mapping[int, np.ndarray],
    way: str,
    rng: np.random.Generator,
) -> Table:
    """One copy. Records that show the same, and were given the same so far, are asked for once."""
    places = np.column_stack([reading.place for reading in readings])
    chosen = np.full(places.shape, -1, dtype=np.int64)
    series, columns = [], []
    for a, rows in open_cells.items():
        axis = readings[a].axis
        if rows.size:
            key = np.column_stack([places[rows], chosen[rows]])
            if way == "mode":
                key[:, places.shape[1] :] = -1
            distinct, which = np.unique(key, axis=0, return_inverse=True)
            order = np.argsort(which.reshape(-1), kind="stable")
            ends = np.searchsorted(which.reshape(-1)[order], np.arange(distinct.shape[0] + 1))
            for i, pattern in enumerate(distinct):
                chance = network.engine.posterior(_evidence(readings, pattern), [a])[0]
                mine = rows[order[ends[i] : ends[i + 1]]]
                if way == "mode":
                    chosen[mine, a] = int(chance.argmax())
                else:
                    chosen[mine, a] = rng.choice(chance.size, size=mine.size, p=_sure(chance))
        elif not release.schema[axis.name].generalized:
            continue
        values = _values(readings[a], rows, chosen[rows, a], way, rng)
        series.append(decode(values + 1, axis.domain, axis.name))
        columns.append(axis.column.with_(generalized=False, bound=None))
    nothing = {one.name: np.zeros(release.height, dtype=bool) for one in series}
    return release.with_columns(series, columns, nothing)


def _sure(chance: np.ndarray) -> np.ndarray:
    return np.asarray(chance / chance.sum())


def _evidence(readings: Sequence[Reading], pattern: np.ndarray) -> list[np.ndarray | None]:
    """Labels, and single states where a cell was filled before."""
    found: list[np.ndarray | None] = []
    for a, reading in enumerate(readings):
        state = int(pattern[len(readings) + a])
        if state >= 0:
            likelihood = np.zeros(reading.axis.size())
            likelihood[state] = 1.0
            found.append(likelihood)
            continue
        shown = reading.likelihood[int(pattern[a])]
        found.append(None if bool((shown == shown[0]).all()) else shown)
    return found


def _values(
    reading: Reading, rows: np.ndarray, states: np.ndarray, way: str, rng: np.random.Generator
) -> np.ndarray:
    """int64 (n,): the place of each cell's value in the domain, -1 missing. In a state of several
    values, one that the label covers: in the middle of them, or at random."""
    axis = reading.axis
    single = np.array([-1 if c is None or c.size != 1 else int(c[0]) for c in reading.covers])
    place = np.where(reading.absent, -1, single[reading.place])
    options: dict[tuple[int, int], np.ndarray] = {}
    for row, content, state in zip(rows, reading.place[rows], states, strict=True):
        key = int(content), int(state)
        if key not in options:
            inside = np.flatnonzero(axis.state_of == state)
            covered = reading.covers[content]
            options[key] = inside if covered is None else np.intersect1d(inside, covered)
        found = options[key]
        middle = way == "mode" or found.size == 1
        place[row] = found[found.size // 2 if middle else int(rng.integers(found.size))]
    return place
