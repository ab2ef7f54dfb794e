"""How well estimates of risk in the population hold: samples of populations that are known.

    .venv/bin/python benchmarks/population_risk.py               1, 5 and 20 %, seeds 0 to 4
    .venv/bin/python benchmarks/population_risk.py --seeds 1     a look
    .venv/bin/python benchmarks/population_risk.py --data fert

The populations are national2019, Census 1980 fertility and 200,000 records of the generated
register. A sample is drawn either with equal chances, or with chances that differ by a factor of
up to 4 between strata: by family size, which is no quasi-identifier, by race and by age, which are.
Either has a column of weights, 1 over the chance, which all estimates use.

tau1 is the number of records in the sample that are unique in the population, estimated by the
log-linear models (poisson, gamma) and by the models of class sizes; tau2 the sum of 1/F over the
sample uniques; found the same over all records. Beside the truth stands each estimate's bias, and
where it has an interval (plus and minus 1.96 standard errors), how many of them hold the truth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import show
from casc import data_folder

import sfumato as sf
from sfumato.registry import entries

SHARES = (0.01, 0.05, 0.2)
REGISTER = 200_000
WEIGHT = "weight"


class People(NamedTuple):
    """A population: its quasi-identifiers, and how much sooner some are drawn than others."""

    name: str
    frame: pl.DataFrame
    odds: np.ndarray


class Estimate(NamedTuple):
    """One figure of one sample."""

    of: str
    name: str
    truth: float
    found: float
    error: float = np.nan

    @property
    def covers(self) -> bool:
        """Whether its interval holds the truth."""
        return abs(self.found - self.truth) <= 1.96 * self.error


def populations(folder: Path) -> Iterator[People]:
    """The three of them."""
    frame = pl.read_csv(folder / "acs_excerpts" / "national2019.csv", infer_schema_length=0)
    family = frame["NPF"].cast(pl.Int64, strict=False).fill_null(1).clip(1, 4).to_numpy()
    keys = ["PUMA", "AGEP", "SEX", "RAC1P", "MSP", "EDU"]
    yield People("national2019", frame.select(keys), family.astype(float))
    frame = pl.read_csv(folder / "census1980_fertility" / "fertility.csv.gz")
    yield People("fertility", frame, np.where(frame["afam"] == "yes", 4.0, 1.0))
    frame = sf.generators.hospital(REGISTER, seed=0).frame
    born = frame["birth_date"].dt.year()
    keys = ["sex", "ethnicity", "admission_type", "length_of_stay"]
    made = frame.select(keys).with_columns(born=born, district=frame["zip"].str.slice(0, 3))
    yield People("register", made, np.where((born < 1945).fill_null(False), 4.0, 1.0))


def sample(people: People, share: float, design: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a sample, and their weights."""
    rng = np.random.default_rng(seed)
    n = people.frame.height
    if design == "equal":
        rows = np.sort(rng.choice(n, round(share * n), replace=False))
        return rows, np.full(rows.size, 1 / share)
    chance = np.minimum(1.0, share * people.odds / people.odds.mean())
    rows = np.flatnonzero(rng.random(n) < chance)
    return rows, 1 / chance[rows]


def estimates(people: People, rows: np.ndarray, weight: np.ndarray) -> Iterator[Estimate]:
    """Every estimate of a sample, beside its truth."""
    keys = people.frame.columns
    cell = people.frame.select(pl.struct(keys).rank("dense").cast(pl.Int64)).to_series().to_numpy()
    size, drawn = np.bincount(cell), np.bincount(cell[rows], minlength=int(cell.max()) + 1)
    alone = size[drawn == 1]
    unique, matches = float((alone == 1).sum()), float((1 / alone).sum())
    everybody = float((1 / size[cell[rows]]).sum())
    frame = people.frame[rows].with_columns(pl.Series(WEIGHT, weight))
    table = sf.table(frame, quasi=keys, weight=WEIGHT)
    n = rows.size
    told = sf.measure("log-linear-risk", table, table).detail
    for mixture in ("poisson", "gamma"):
        for tau, truth in (("tau1", unique), ("tau2", matches)):
            found, error = told[mixture][tau], told[mixture][f"{tau}_error"]
            yield Estimate(tau, mixture, truth, found, error)
    told = sf.measure("uniqueness-estimates", table, table)
    for model, word in told.detail["models"].items():
        yield Estimate("tau1", model, unique, word.get("share", np.nan) * n)
    yield Estimate("tau1", "dankar", unique, told.value * n)
    if any(entry.name == "global-risk" for entry in entries("measure")):
        found = sf.measure("global-risk", table, table).value * n
        yield Estimate("found", "global-risk", everybody, found)


def told_of(people: People, share: float, design: str, seeds: int) -> dict[str, str]:
    """A line of the table, by its header; every seed is printed as it comes."""
    taken: dict[tuple[str, str], list[Estimate]] = {}
    for seed in range(seeds):
        began = time.process_time()
        for one in estimates(people, *sample(people, share, design, seed)):
            taken.setdefault((one.of, one.name), []).append(one)
        took = time.process_time() - began
        print(f"{people.name} {share:.0%} {design}, seed {seed}, {took:.1f} CPU s:")
        for (of, name), found in taken.items():
            print(f"  {of} by {name}: truth {found[-1].truth:.1f}, estimate {found[-1].found:.1f}")
    line = {"population": people.name, "sample": f"{share:.0%}", "chances": design}
    for of, name in sorted(taken, key=lambda key: ("tau1", "tau2", "found").index(key[0])):
        found = taken[of, name]
        apart = np.array([one.found / one.truth - 1 for one in found])
        answers = int((~np.isnan(apart)).sum())
        line[of] = f"{np.mean([one.truth for one in found]):,.0f}"
        line[f"{of} {name}"] = f"{np.nanmean(apart):+.0%}" if answers else "no answer"
        if not np.isnan(found[0].error):
            line[f"{of} {name}"] += f", {sum(one.covers for one in found)} of {seeds}"
        elif 0 < answers < seeds:
            line[f"{of} {name}"] += f" ({answers} answers)"
    return line


def main() -> None:
    """Print every seed, and then the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", default="", help="populations whose names begin so")
    given = parser.parse_args()
    lines = [
        told_of(people, share, design, given.seeds)
        for people in populations(data_folder())
        if people.name.startswith(given.data)
        for share in SHARES
        for design in ("equal", "unequal")
    ]
    title = "Truth, bias and intervals that hold the truth, means over the seeds"
    print(show.table(title, [*lines[0]], [[*line.values()] for line in lines]))


if __name__ == "__main__":
    main()
