"""What the gate of non-participation sees: copies x columns x noise, beside honest releases.

    .venv/bin/python benchmarks/gate_power.py                 twenty splits, 13 CPU minutes
    .venv/bin/python benchmarks/gate_power.py --splits 3      a look
    .venv/bin/python benchmarks/gate_power.py --data nhanes

For each split 2,500 participants, 2,500 people held out and 2,500 strangers are drawn from
national2019 (ten demographic columns, and eighteen of all) and from the adults of NHANES (28
columns). Releases: the strangers, svd-swap's output, either with some of its records exchanged for
participants' own, and svd-swap's output with participants' own values in seven of ten columns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import show
from casc import data_folder

import sfumato as sf
from sfumato.rng import stream

RECORDS = 2500
DEMOGRAPHIC = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE",
               "DVET", "DEYE")  # fmt: skip
MORE = (*DEMOGRAPHIC, "HISP", "NOC", "NPF", "INDP_CAT", "DREM", "DPHY", "DEAR", "PINCP")
NUMBERS = {"AGEP", "EDU", "PINCP_DECILE", "NOC", "NPF", "PINCP"}
RICHEST = {"national2019, 10": "PINCP_DECILE", "national2019, 18": "PINCP", "NHANES, 28": "glucose"}


class Split(NamedTuple):
    """Participants, the reference, strangers, and svd-swap's release of the participants."""

    people: pl.DataFrame
    others: pl.DataFrame
    strangers: pl.DataFrame
    swapped: pl.DataFrame


class Case(NamedTuple):
    """A release to be judged: strangers' or svd-swap's records, and what was put among them."""

    base: str
    share: float = 0.0
    noise: float = 0.0
    richest: bool = False
    columns: float = 1.0

    @property
    def told(self) -> list[str]:
        """Its cells in the table."""
        whom = " richest" if self.richest else ""
        return [self.base, f"{self.share:.0%}{whom}", f"{self.columns:.0%}", f"{self.noise:g}"]


CASES = [
    Case("strangers"),
    *(Case("strangers", share, noise) for share in (0.01, 0.03) for noise in (0.0, 0.1)),
    Case("svd-swap"),
    Case("svd-swap", 0.05),
    Case("svd-swap", 0.05, richest=True),
    Case("svd-swap", 1.0, columns=0.7),
    Case("svd-swap", 1.0, 0.1, columns=0.7),
]


def files(folder: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """The two surveys, the first with few and with many columns."""
    survey = folder / "acs_excerpts" / "national2019.csv"
    frame = pl.read_csv(survey, null_values=["N"], infer_schema_length=None)
    for names in (DEMOGRAPHIC, MORE):
        words = [pl.col(name).cast(pl.String) for name in names if name not in NUMBERS]
        yield f"national2019, {len(names)}", frame.select(names).with_columns(words)
    yield "NHANES, 28", pl.read_csv(folder / "nhanes" / "nhanes_adults_28.csv").drop("seqn")


def split(frame: pl.DataFrame, seed: int) -> Split:
    """People of one split, none of them twice."""
    order = np.random.default_rng(seed).permutation(frame.height)
    people, others, strangers = (frame[order[i * RECORDS :][:RECORDS]] for i in range(3))
    made = sf.method("svd-swap").mask(table(people), stream(seed, 1, "gate power"))
    return Split(people, others, strangers, made.table.frame.select(frame.columns))


def table(frame: pl.DataFrame) -> sf.Table:
    """Everything is a quasi-identifier."""
    return sf.table(frame, quasi=frame.columns)


def release(case: Case, parts: Split, seed: int, richest: str) -> pl.DataFrame:
    """The records of a case."""
    rng = np.random.default_rng([seed, 17])
    base = parts.strangers if case.base == "strangers" else parts.swapped
    size = round(case.share * RECORDS)
    names = base.columns
    if case.columns < 1:
        kept = rng.choice(len(names), round(case.columns * len(names)), replace=False)
        names = [names[j] for j in sorted(kept)]
    rows = rng.permutation(RECORDS)[:size]
    if case.richest:
        rows = parts.people[richest].arg_sort(descending=True, nulls_last=True)[:size].to_numpy()
    copied = _moved(parts.people, case.noise, rng)[rows]
    mixed = base[:size].with_columns(
        [copied[name].cast(base[name].dtype, strict=False) for name in names]
    )
    return pl.concat([mixed, base[size:]], how="vertical_relaxed")


def _moved(frame: pl.DataFrame, noise: float, rng: np.random.Generator) -> pl.DataFrame:
    """Every number of more than two values moved by at most so many deviations, whole ones to the
    nearest whole number."""
    moved = []
    for series in frame if noise else ():
        if series.dtype.is_numeric() and series.n_unique() > 3:
            spread = noise * float(series.std() or 0.0)  # type: ignore[arg-type]
            made = series + pl.Series(rng.uniform(-spread, spread, frame.height))
            moved.append(made.round().cast(series.dtype) if series.dtype.is_integer() else made)
    return frame.with_columns(moved)


def judged(case: Case, parts: Split, seed: int, richest: str) -> tuple[float, float, list[float]]:
    """The gate's figure, the thesis' form's (of svd-swap's records), and what the first sees."""
    tables = table(parts.people), table(release(case, parts, seed, richest))
    others = table(parts.others)
    found = sf.measure("non-participation", *tables, "none", reference=others)
    thesis = np.nan
    if case.base == "svd-swap":
        form = sf.measure("non-participation", *tables, "none", reference=others, form="thesis")
        thesis = float(form)
    copies = found.detail["copies"]
    chance = list(copies["agree_by_chance"].values())[:2]
    seen = [*chance, *copies["smallest_share"].values()]
    seen.append(found.detail["subsets"]["smallest_share"]["halves"])
    return float(found), thesis, seen


def rows_of(name: str, frame: pl.DataFrame, splits: int) -> Iterator[list[str]]:
    """A line for each case: how many of the splits were refused."""
    parts = [split(frame, seed) for seed in range(splits)]
    for case in CASES:
        began = time.process_time()
        taken = [judged(case, one, seed, RICHEST[name]) for seed, one in enumerate(parts)]
        ours, thesis = (np.array([one[i] for one in taken]) for i in (0, 1))
        seen = np.median([one[2] for one in taken], axis=0)
        took = (time.process_time() - began) / splits
        yield [
            name,
            *case.told,
            f"{(ours > 1).sum()}/{splits}",
            "" if np.isnan(thesis).any() else f"{(thesis > 1).sum()}/{splits}",
            f"{np.median(ours):.2f}",
            *(f"{share:.1%}" for share in seen),
            f"{took:.1f}",
        ]


def main() -> None:
    """Print the table, line by line as it comes, and then whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--data", default="", help="files whose names begin so")
    given = parser.parse_args()
    chosen: Callable[[str], bool] = lambda name: name.lower().startswith(given.data.lower())  # noqa: E731
    rows = []
    for name, frame in files(data_folder()):
        for row in rows_of(name, frame, given.splits) if chosen(name) else ():
            print(*row, sep="  ", flush=True)
            rows.append(row)
    header = ["data, columns", "records of", "copies", "columns", "noise (sd)", "refused",
              "thesis' form", "median", "agree by chance",
              "in intervals of 0.25 sd", "sees verbatim", "within 0.1 sd",
              "in half of the columns", "CPU s"]  # fmt: skip
    print(show.table("The gate's power", header, rows))


if __name__ == "__main__":
    main()
