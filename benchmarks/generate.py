"""Records that look like a census extract, as many as wanted, the same for everyone.

Eight quasi-identifiers, three of them whole numbers and five of them text, with the uneven
frequencies and the dependences (age with marital status, education with occupation) that make real
quasi-identifiers hard to hide. No record is copied from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.ipc

Shape = Literal["mixed", "integers"]

_CHUNK = 500_000

# value -> the group above it; the order is that of frequency.
SEX = {"male": "*", "female": "*"}
MARITAL = {
    "married": "with spouse",
    "never married": "single",
    "divorced": "single",
    "separated": "single",
    "widowed": "single",
    "spouse absent": "single",
    "spouse in forces": "with spouse",
}
WORK = {
    "private": "business",
    "self-employed": "business",
    "local government": "government",
    "own company": "business",
    "state government": "government",
    "federal government": "government",
    "unpaid": "none",
    "never worked": "none",
}
OCCUPATION = {
    "professional": "office",
    "craft": "manual",
    "manager": "office",
    "clerical": "office",
    "sales": "service",
    "other service": "service",
    "machine operator": "manual",
    "transport": "manual",
    "cleaning": "manual",
    "farming": "manual",
    "technician": "office",
    "guard": "service",
    "household": "service",
    "armed forces": "service",
}
_REGIONS = {"Europe": 15, "Asia": 11, "Americas": 12, "Africa": 3}
COUNTRY = {
    f"country of {region} {number:02d}": region
    for region, count in _REGIONS.items()
    for number in range(1, count + 1)
}
TEXT: Mapping[str, Mapping[str, str]] = {
    "sex": SEX,
    "marital-status": MARITAL,
    "native-country": COUNTRY,
    "workclass": WORK,
    "occupation": OCCUPATION,
}
NUMBERS: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    # lowest, highest, widths of the bins above each value
    "age": (17, 90, (5, 10, 20)),
    "education-years": (1, 16, (2, 4)),
    "hours-per-week": (1, 99, (10, 20)),
}
COLUMNS = (
    "age",
    "sex",
    "education-years",
    "marital-status",
    "native-country",
    "workclass",
    "occupation",
    "hours-per-week",
)


def adult_like(rows: int, shape: Shape = "mixed", seed: int = 20_240_131) -> pa.Table:
    """`rows` records; "integers" gives the same records with codes in place of the text."""
    return pa.Table.from_batches(list(batches(rows, shape, seed)))


def batches(rows: int, shape: Shape, seed: int = 20_240_131) -> Iterator[pa.RecordBatch]:
    """The same records, some at a time."""
    for number, start in enumerate(range(0, rows, _CHUNK)):
        # A generator for each chunk: the first million is the same whatever follows it.
        rng = np.random.Generator(np.random.PCG64([seed, number]))
        codes = _codes(min(_CHUNK, rows - start), rng)
        yield _batch(codes, shape)


def write(rows: int, shape: Shape, path: Path) -> None:
    """The records as an Arrow file, so that every contender reads the same bytes."""
    table = adult_like(rows, shape)
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)


def hierarchies() -> dict[str, list[list[str]]]:
    """For each column its hierarchy in ARX's layout: one row per leaf, then its ancestors."""
    found: dict[str, list[list[str]]] = {}
    for name, groups in TEXT.items():
        flat = set(groups.values()) == {"*"}
        found[name] = [[v, "*"] if flat else [v, group, "*"] for v, group in groups.items()]
    for name, (low, high, widths) in NUMBERS.items():
        rows = []
        for value in range(low, high + 1):
            bins = [(value // width * width, width) for width in widths]
            rows.append([str(value), *(f"{b}-{b + w - 1}" for b, w in bins), "*"])
        found[name] = rows
    return {name: found[name] for name in COLUMNS}


def _codes(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers as they are and categories as 0..m-1, for n people."""
    age = np.clip(17 + rng.gamma(2.6, 8.4, n), 17, 90).astype(np.int64)
    sex = (rng.random(n) < 0.33).astype(np.int64)
    school = np.clip(np.rint(rng.normal(10.1, 2.6, n)), 1, 16).astype(np.int64)
    # The young are unmarried, the old widowed: the draw is shifted along the list by age.
    marital = _pick(n, len(MARITAL), 0.55, rng)
    marital = np.where((age < 26) & (rng.random(n) < 0.7), 1, marital)
    marital = np.where((age > 68) & (rng.random(n) < 0.35), 4, marital)
    country = np.where(rng.random(n) < 0.9, 0, _pick(n, len(COUNTRY), 0.93, rng))
    work = np.where(rng.random(n) < 0.65, 0, _pick(n, len(WORK), 0.72, rng))
    # Years of school move the occupation towards the office.
    skilled = rng.random(n) < (school - 1) / 18
    occupation = _pick(n, len(OCCUPATION), 0.88, rng)
    occupation = np.where(skilled, np.array([0, 2, 3, 10])[rng.integers(0, 4, n)], occupation)
    hours = np.where(rng.random(n) < 0.47, 40, np.rint(rng.normal(40, 14, n)))
    return {
        "age": age,
        "sex": sex,
        "education-years": school,
        "marital-status": marital,
        "native-country": country,
        "workclass": work,
        "occupation": occupation,
        "hours-per-week": np.clip(hours, 1, 99).astype(np.int64),
    }


def _pick(n: int, size: int, ratio: float, rng: np.random.Generator) -> np.ndarray:
    """Categories whose frequencies fall by the same ratio from one to the next."""
    share = ratio ** np.arange(size)
    ends = np.cumsum(share / share.sum())
    return np.searchsorted(ends[:-1], rng.random(n)).astype(np.int64)


def _batch(codes: Mapping[str, np.ndarray], shape: Shape) -> pa.RecordBatch:
    arrays = []
    for name in COLUMNS:
        column = pa.array(codes[name])
        if shape == "mixed" and name in TEXT:
            column = _words(list(TEXT[name])).take(column)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def _words(values: Sequence[str]) -> pa.Array:
    return pa.array(values, type=pa.string())
