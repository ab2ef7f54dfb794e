"""Releases of which everybody knows whether they give people away, to try a red team on.

    for case in cases("register", 9_000, seed=0):
        case.name, case.original, case.released, case.control, case.plain

Three samples of one population are drawn that share nobody: the people of the data, people held
out, and strangers. Five releases must be refused: `raw` (the data, in another order),
`pseudonymized` (the data under other names), `homogeneous` (Mondrian's classes of two and three
within each value of the first confidential column, so that whoever finds a class knows the value),
`copies` (strangers, but every tenth record is a person's own), `overfitted` (every record is a
person's own with one value drawn anew and its fractions a little moved). Two must pass: `others`
(the strangers) and `independent` (every column drawn by itself from the strangers' column).

The populations are the generated register, any number of people, and thirds of Adult and of
national2019 (ten demographic columns) where the benchmark data are present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from casc import data_folder

import sfumato as sf

PERSON = "person"
"""The identifier."""
COPIED = 0.1
MOVED = 1e-3
"""How far an overfitted record's fractions lie from the person's, in standard deviations."""


class Population(NamedTuple):
    """Who may know what: the quasi-identifiers, and what is confidential."""

    quasi: list[str]
    confidential: list[str]


POPULATIONS = {
    "register": Population(
        ["age", "sex", "ethnicity", "zip", "admission_type", "length_of_stay"],
        ["diagnosis", "smoker", "glucose", "charges"],
    ),
    "adult": Population(
        ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"],
        ["occupation", "salary-class"],
    ),
    "national2019": Population(
        ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU"],
        ["PINCP_DECILE", "DVET", "DEYE"],
    ),
}


class Samples(NamedTuple):
    """Three samples that share nobody."""

    people: sf.Table
    control: sf.Table
    strangers: sf.Table


class Case(NamedTuple):
    """A release, whose it is, and people who are not in it."""

    name: str
    original: sf.Table
    released: sf.Table
    control: sf.Table
    plain: pl.DataFrame
    """The release for readers that know no intervals and sets: middles, and values drawn of a
    class, in the original's types and without the identifier."""

    @property
    def must_fail(self) -> bool:
        """Whether a red team has to refuse it."""
        return self.name in MUST_FAIL


def patients(n: int, seed: int) -> sf.Table:
    """Of the generated register."""
    return _table(_register(n, seed), "register")


def samples(population: str, n: int, seed: int) -> Samples:
    """Three times n people; of a file with fewer than 3 n, its thirds."""
    if population == "register":
        parts = [_register(n, 3 * seed + i) for i in range(3)]
    else:
        everybody = _adult() if population == "adult" else _national()
        order = np.random.default_rng([seed, 0]).permutation(everybody.height)
        n = min(n, everybody.height // 3)
        parts = [everybody[order[i * n : (i + 1) * n]] for i in range(3)]
    return Samples(*(_table(part, population) for part in parts))


def cases(population: str, n: int, seed: int, names: Iterable[str] | None = None) -> Iterator[Case]:
    """The releases of one seed, all of them unless named."""
    drawn = samples(population, n, seed)
    for name in RELEASES if names is None else names:
        rng = np.random.default_rng([seed, 1, list(RELEASES).index(name)])
        released, plain = RELEASES[name](drawn, rng)
        order = rng.permutation(released.height)
        plain = plain.drop(PERSON, strict=False)
        yield Case(name, drawn.people, released.take(order), drawn.control, plain[order])


def _raw(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    return drawn.people, drawn.people.frame


def _pseudonymized(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    return _like(drawn.people, _renamed(drawn.people.frame, rng))


def _others(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    return _like(drawn.people, _renamed(drawn.strangers.frame, rng))


def _copies(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    size = round(COPIED * drawn.people.height)
    rows = rng.permutation(drawn.people.height)[:size]
    mixed = pl.concat([drawn.people.frame[rows], drawn.strangers.frame[size:]])
    return _like(drawn.people, _renamed(mixed, rng))


def _overfitted(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    frame = drawn.people.frame
    names = [name for name in frame.columns if name != PERSON]
    anew = rng.integers(0, len(names), frame.height)
    made = []
    for j, name in enumerate(names):
        column = frame[name]
        if column.dtype.is_float():
            spread = MOVED * float(column.std() or 0.0)  # type: ignore[arg-type]
            column = column + spread * rng.standard_normal(frame.height)
        elsewhere = rng.integers(0, frame.height, frame.height)
        rows = np.where(anew == j, elsewhere, np.arange(frame.height))
        made.append(column.gather(rows).alias(name))
    return _like(drawn.people, _renamed(frame.with_columns(made), rng))


def _independent(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    frame = drawn.strangers.frame
    made = [column.gather(rng.integers(0, frame.height, frame.height)) for column in frame]
    return _like(drawn.people, _renamed(pl.DataFrame(made), rng))


def _homogeneous(drawn: Samples, rng: np.random.Generator) -> tuple[sf.Table, pl.DataFrame]:
    """A person whose value nobody shares cannot be in a class of two, and is left out."""
    people = drawn.people.without([PERSON])
    secret = people.schema.of_role("confidential")[0]
    quasi = people.schema.quasi
    search = sf.method("mondrian", k=2, strict=False)
    number = people.frame[secret].rank("dense").fill_null(0).to_numpy()
    order = np.argsort(number, kind="stable")
    labels, free = np.full(people.height, -1), 0
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        if rows.size > 1:
            found = sf.partition(people.take(rows), search, seed=0)
            assert isinstance(found, sf.Partition)
            labels[rows] = free + found.labels
            free += len(found.sizes)
    kept = np.flatnonzero(labels >= 0)
    people, groups = people.take(kept), sf.Partition.of(labels[kept])
    released = sf.method("generalize").apply(people, groups, quasi, rng).table
    return released, _plain(people.frame, groups.labels, quasi, rng)


def _plain(
    frame: pl.DataFrame, labels: np.ndarray, quasi: list[str], rng: np.random.Generator
) -> pl.DataFrame:
    """Numbers in the middle of their class, other values those of a random member."""
    order = np.lexsort((rng.random(labels.size), labels))
    first = np.flatnonzero(np.diff(labels[order], prepend=-1))
    size = np.diff(first, append=labels.size)
    made = []
    for name in quasi:
        column = frame[name]
        if column.dtype.is_numeric():
            least, most = pl.col(name).min(), pl.col(name).max()
            middle = ((least + most) / 2).over(pl.Series("class", labels))
            made.append(frame.select(middle.cast(column.dtype)).to_series())
        else:
            member = order[first[labels] + rng.integers(0, size[labels])]
            made.append(column.gather(member))
    return frame.with_columns(made)


def _like(people: sf.Table, frame: pl.DataFrame) -> tuple[sf.Table, pl.DataFrame]:
    return sf.Table(frame.select(people.names), people.schema), frame.select(people.names)


def _renamed(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Every record under a name of its own that tells nothing."""
    number = pl.Series(PERSON, rng.permutation(frame.height))
    return frame.with_columns("R" + number.cast(pl.String))


def _table(frame: pl.DataFrame, population: str) -> sf.Table:
    who = POPULATIONS[population]
    chosen = frame.select(PERSON, *who.quasi, *who.confidential)
    return sf.table(chosen, identifier=[PERSON], quasi=who.quasi, confidential=who.confidential)


def _register(n: int, seed: int) -> pl.DataFrame:
    """Patients with their ages for their birthdays, and the first of their diagnoses."""
    days = pl.col("admission_date") - pl.col("birth_date")
    return sf.generators.hospital(n, seed=seed).frame.with_columns(
        pl.col("admission_type", "smoker").cast(pl.String),
        (pl.lit(f"P{seed}-") + pl.col("record_no")).alias(PERSON),
        (days.dt.total_days() / 365.25).floor().cast(pl.Int64).alias("age"),
        pl.col("diagnoses").list.first().alias("diagnosis"),
    )


def _adult() -> pl.DataFrame:
    frame = pl.read_csv(data_folder() / "adult" / "adult.csv", separator=";")
    return _numbered(frame)


def _national() -> pl.DataFrame:
    source = data_folder() / "acs_excerpts" / "national2019.csv"
    frame = pl.read_csv(source, null_values=["N"], infer_schema_length=None)
    return _numbered(frame.with_columns(pl.exclude("AGEP", "EDU").cast(pl.String)))


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_row_index(PERSON).with_columns("P" + pl.col(PERSON).cast(pl.String))


Make = Callable[[Samples, np.random.Generator], tuple[sf.Table, pl.DataFrame]]
MUST_FAIL: dict[str, Make] = {
    "raw": _raw,
    "pseudonymized": _pseudonymized,
    "homogeneous": _homogeneous,
    "copies": _copies,
    "overfitted": _overfitted,
}
MUST_PASS: dict[str, Make] = {"others": _others, "independent": _independent}
RELEASES = {**MUST_FAIL, **MUST_PASS}
