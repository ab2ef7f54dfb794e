"""Which columns are worth keeping: what each tells about a target, beside a column of chance.

Katirai (2006) divides the mutual information of a column with the target by that of a random column
with as many different values, and leaves out columns whose ratio is below 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ..data.generalized.information import (
    QUANTILES,
    RARE,
    Estimable,
    estimable,
    mutual_information,
    target_codes,
    target_column,
)
from ..data.recognize.repeated import Repeated, repeated_fields
from ..data.schema import Role
from ..data.table import Table, table
from ..errors import MeasureError, ParameterError
from ..rng import stream
from ..texts import one_line

Against = Literal["random", "shuffled"]

BIAS = (
    "Mutual information counted on a sample is too large, the more so the more values a column "
    "has: by about (values - 1) x (classes - 1) / (1.39 x records) bits. A column of chance with "
    "as many values shows how much of a figure is that bias: the ratio of the two is near 1 where "
    "a column tells nothing."
)


@dataclass(frozen=True)
class ColumnReport:
    """What one column tells about the target."""

    name: str
    values: int
    """Different values."""
    counted: int
    """Different values, or ranges, that were left for the estimate."""
    records: int
    """Records that were left."""
    information: float
    """Mutual information with the target, in bits."""
    random: float
    """That of a column of chance with as many values, averaged over the repeats."""
    ratio: float | None
    """None where nothing can be estimated."""
    p: float | None
    """The chance that a column which tells nothing shows as much (likelihood-ratio test)."""
    keep: bool
    note: str = ""
    told_by: str = ""
    """Another column that nearly always tells this one."""


@dataclass(frozen=True, eq=False)
class InformationReport:
    """The columns of a table by what they tell about a target, for the owner of the data."""

    target: str
    classes: int
    """Classes of the target."""
    columns: list[ColumnReport]
    threshold: float
    repeats: int
    rare: int
    against: Against = "random"
    cut: bool = False
    """Whether the target's numbers were cut into classes."""

    @property
    def table(self) -> pl.DataFrame:
        """One row a column, in the order of the table."""
        rows = [vars(one) for one in self.columns]
        types = {
            "name": pl.String, "values": pl.Int64, "counted": pl.Int64, "records": pl.Int64,
            "information": pl.Float64, "random": pl.Float64, "ratio": pl.Float64,
            "p": pl.Float64, "keep": pl.Boolean, "note": pl.String, "told_by": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=types).rename({"name": "column"})

    @property
    def kept(self) -> list[str]:
        """The columns whose ratio reaches the threshold."""
        return [one.name for one in self.columns if one.keep]

    def text(self) -> str:
        """The report as lines of text, the most telling columns first."""
        ordered = sorted(self.columns, key=lambda one: (one.ratio is None, -(one.ratio or 0.0)))
        rows: list[tuple[str, ...]] = [("column", "values", "bits", self.against, "ratio", "p", "")]
        for one in ordered:
            ratio = "-" if one.ratio is None else _short(one.ratio)
            advice = "keep" if one.keep else "leave out"
            rows.append(
                (
                    one_line(one.name),
                    f"{one.values:,}",
                    f"{one.information:.4f}",
                    f"{one.random:.4f}",
                    ratio,
                    "-" if one.p is None else f"{one.p:.2g}" if one.p >= 1e-4 else "<0.0001",
                    f"{advice} ({one_line(one.note)})" if one.note else advice,
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 6)), row[6]]
            ).rstrip()
            for row in rows
        ]
        what = f"{self.classes} classes{', cut from its numbers' if self.cut else ''}"
        head = f"what each column tells about {one_line(self.target)} ({what}), in bits"
        chance = "a random column" if self.against == "random" else "the column in random order"
        foot = (
            f"{self.against}: {chance}, mean of {self.repeats}; values that occur fewer than "
            f"{self.rare} times are set aside; kept from a ratio of {self.threshold:g} on. p: the "
            "chance that a column which tells nothing shows as much."
        )
        return "\n".join([head, "", *lines, "", foot, BIAS])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        keys = ("target", "classes", "threshold", "repeats", "rare", "against")
        columns = [dict(vars(one)) for one in self.columns]
        return {**{key: getattr(self, key) for key in keys}, "columns": columns, "bias": BIAS}

    def __repr__(self) -> str:
        return (
            f"InformationReport({self.target}: keep {', '.join(self.kept) or 'nothing'} "
            f"of {len(self.columns)} columns)"
        )


def _short(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 1e6 else f"{ratio:.0e}"


def information_report(
    source: Any,
    target: str = "",
    *,
    columns: Sequence[str] = (),
    repeats: int = 10,
    rare: int = RARE,
    threshold: float = 2.0,
    quantiles: int = QUANTILES,
    against: Against = "random",
    rng: np.random.Generator | None = None,
) -> InformationReport:
    """What each column of a table tells about a target, before anything is anonymized.

    For each column: its mutual information with the target, that of a random column with as many
    values (the mean of `repeats`), and their ratio; columns with a ratio below `threshold` are
    better left out. Values that occur fewer than `rare` times are set aside first; numbers and
    dates of which most are rare are cut into ranges. `against="shuffled"` compares with the column
    itself in random order, which has the same bias even where a few values are very frequent.

    A ratio says that a column tells more than chance, not how much: a weak effect in many records
    has a large one. And a ratio above 2 may be chance: of columns with two values that tell nothing
    about two classes 16 % have one, of those with ten values 4 %; `p` says how likely that is.
    Columns are looked at one by one; what two tell together is not seen, but where one column tells
    another (race beside ethnic origin) it is said.

    >>> rng = np.random.default_rng(0)
    >>> ill = rng.integers(0, 2, 500)
    >>> people = {"age": 30 * ill + rng.integers(20, 60, 500), "shoe": rng.integers(35, 47, 500)}
    >>> information_report({**people, "ill": ill.astype(bool)}, "ill", rng=rng).kept
    ['age']
    """
    given = source if isinstance(source, Table) else table(source)
    _check(given, columns, repeats, rare, threshold, against)
    named = target_column(given, target, "the report")
    classes = target_codes(given, named, quantiles)
    rng = rng or stream(0, 0, "information-report")
    wanted = list(columns) or [
        c.name for c in given.schema if c.name != named and c.role != Role.WEIGHT
    ]
    found = []
    for name in wanted:
        read = estimable(given, name, rare)
        found.append(_column(given, name, read, classes, repeats, threshold, against, rng))
    found = _with_repeated(found, repeated_fields(given, wanted))
    known = given[named].drop_nulls()
    count = int(np.unique(classes[classes >= 0]).size)
    cut = known.n_unique() > count
    return InformationReport(named, count, found, threshold, repeats, rare, against, cut)


def _with_repeated(found: list[ColumnReport], repeated: list[Repeated]) -> list[ColumnReport]:
    """The same, with what is told by another column: together they count it twice."""
    by = {one.column: one for one in repeated}
    return [
        replace(
            one,
            told_by=by[one.name].by,
            note=", ".join(filter(None, (one.note, f"{by[one.name]}: one is enough"))),
        )
        if one.name in by
        else one
        for one in found
    ]


def _check(
    given: Table, columns: Sequence[str], repeats: int, rare: int, threshold: float, against: str
) -> None:
    if not given.height:
        raise MeasureError("the table has no records", remedy="give a table with records")
    for name in columns:
        given.schema[name]  # names what is missing
    wrong = {
        "repeats": repeats < 1,
        "rare": rare < 1,
        "threshold": not threshold > 0,
        "against": against not in ("random", "shuffled"),
    }
    for name, bad in wrong.items():
        if bad:
            remedy = '"random" or "shuffled"' if name == "against" else "a number above 0"
            raise ParameterError(f"{name} is out of its range", remedy=remedy)


def _column(
    given: Table,
    name: str,
    read: Estimable,
    classes: np.ndarray,
    repeats: int,
    threshold: float,
    against: Against,
    rng: np.random.Generator,
) -> ColumnReport:
    both = read.known & (classes >= 0)
    codes, answers = read.codes[both], classes[both]
    values = int(given[name].drop_nulls().n_unique())
    counted = int(np.unique(codes).size)
    information = mutual_information(codes, answers)
    if counted < 2:
        note = "every value is rare" if not counted else "one value is left"
        if values < 2:
            note = "it has no two values"
        return ColumnReport(
            name, values, counted, codes.size, information, 0.0, None, None, False, note
        )
    chance = []
    for _ in range(repeats):
        drawn = (
            rng.integers(0, counted, codes.size) if against == "random" else rng.permutation(codes)
        )
        chance.append(mutual_information(drawn, answers))
    random = float(np.mean(chance))
    # Two classes or values of which one is hardly there leave chance nothing to tell.
    ratio = information / random if random > 0 else None
    notes = []
    if read.cut:
        notes.append(f"cut into {counted} ranges")
    if read.set_aside:
        share = read.set_aside / given.height
        rounded = f"{share:.0%}" if share >= 0.01 else "less than 1%"
        notes.append(f"{rounded} of the records set aside")
    if ratio is None:
        notes.append("the target has one class" if np.unique(answers).size < 2 else "no estimate")
    keep = ratio is not None and ratio >= threshold
    from scipy.stats import chi2

    freedom = (counted - 1) * (np.unique(answers).size - 1)
    p = float(chi2.sf(2 * math.log(2) * codes.size * information, freedom)) if freedom else None
    return ColumnReport(
        name, values, counted, codes.size, information, random, ratio, p, keep, ", ".join(notes)
    )
