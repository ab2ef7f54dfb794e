"""Twelve yearly releases of a register: who stays, who comes, who leaves, whose values change.

    python benchmarks/releases_over_time.py [--people 3000] [--years 12] [--seeds 0 1 2 3 4] [--k 5]

Every year a tenth of the people leave and as many come, three in a hundred move, and two in a
hundred get another confidential value. Each year's release is judged beside all before it that
were published. Four ways: `keep` (old people stay in their classes), `coarsen`, `another` (the
same, with another search every second year), and `alone` (no release looks at another, as without a
ledger). A release that is refused is not published.

The intruder knows everybody's quasi-identifiers and who is in which release. `smallest` is, over
all people, the smallest number of records of a release that are left to him when he strikes out
those whose confidential value does not occur in the person's class of another release (all pairs,
and all releases at once); `certain` is the share of people whose value is then known and was not
by the newest release alone. `left` subtracts: where the people of a class went on into one class
without others, what is missing there is what those who left had.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.criteria.classes import equivalence_classes
from sfumato.data.generators.register import hospital_frame
from sfumato.release.remedies import trying

trying.RUNS = 0  # a refusal is counted here, not mended

WAYS = ("keep", "coarsen", "another", "alone")
QUASI = ("born", "sex", "zip")


def population(n: int, seed: int) -> pl.DataFrame:
    """People of the hospital register, each once, with the group of their first diagnosis."""
    made = hospital_frame(n, seed)
    first = pl.col("diagnoses").list.first().cast(pl.String).str.slice(0, 1).fill_null("none")
    return made.select(
        pl.int_range(pl.len()).alias("person"),
        pl.col("birth_date").dt.year().alias("born"),
        pl.col("sex").cast(pl.String),
        pl.col("zip").cast(pl.String).str.slice(0, 3).alias("zip"),
        first.alias("ill"),
    )


def years(everybody: pl.DataFrame, people: int, many: int, seed: int) -> list[pl.DataFrame]:
    """The register of each year."""
    rng = np.random.default_rng(seed)
    inside, next_one = np.arange(people), people
    now, found = everybody, []
    for year in range(many):
        if year:
            gone = rng.choice(inside.size, people // 10, replace=False)
            came = np.arange(next_one, next_one + people // 10)
            inside, next_one = np.concatenate([np.delete(inside, gone), came]), came[-1] + 1
            now = changed(changed(now, "zip", 0.03, rng), "ill", 0.02, rng)
        found.append(now[inside.tolist()])
    return found


def changed(frame: pl.DataFrame, name: str, share: float, rng: np.random.Generator) -> pl.DataFrame:
    """Some people get the value of somebody else."""
    at = np.arange(frame.height)
    moved = rng.random(frame.height) < share
    at[moved] = rng.integers(0, frame.height, int(moved.sum()))
    return frame.with_columns(frame[name].gather(at).alias(name))


def plan(way: str, year: int, k: int, given: list[Path]) -> sf.Plan:
    """What is asked of a year's release."""
    search = "k-member" if way == "another" and year % 2 else "mondrian"
    how = "keep" if way == "keep" else "coarsen"
    paths = ", ".join(f'"{path}"' for path in given if way != "alone")
    return sf.Plan.parse(
        f'[input]\nperson = "person"\ngiven = [{paths}]\ngiven-join = "{how}"\n'
        f'[[steps]]\nuse = "{search}"\nk = {k}\n[require]\nk-anonymity = {k}\nexposure = false\n'
    )


def run(tables: list[pl.DataFrame], way: str, k: int, folder: Path) -> list[dict]:
    """One way through all years: what each release lost, and what it told."""
    rows, published = [], []
    for year, frame in enumerate(tables):
        table = sf.table(frame, identifier="person", quasi=list(QUASI), confidential=["ill"])
        paths = [path for path, _ in published]
        try:
            release = sf.protect(table, plan(way, year, k, paths), seed=2**80 + year, measures=())
            why = f"{way}: the ledger is asked by `given`"
            path = release.save(folder / f"{way}-{year}", ledger_exception=why)
        except sf.ReleaseRefused as refused:
            rows.append({"way": way, "year": year, "refused": True, "why": str(refused)})
            continue
        people = frame["person"].to_numpy()[release.pair.rows]
        published.append((path, seen(release, people)))
        loss = float(release.measure("ncp"))
        held = 1 - release.table.height / frame.height
        attack = attacked([one for _, one in published])
        rows.append(
            {"way": way, "year": year, "refused": False, "ncp": loss, "held": held} | attack
        )
        print(rows[-1], flush=True)
    return rows


Seen = tuple[dict[int, int], dict[int, Counter], dict[int, str]]


def seen(release: sf.Release, people: np.ndarray) -> Seen:
    """The class of each person, the values of each class, and each person's value."""
    labels = equivalence_classes(release.table).labels.tolist()
    ill = release.table["ill"].cast(pl.String).to_list()
    counts: dict[int, Counter] = {}
    for label, value in zip(labels, ill, strict=True):
        counts.setdefault(label, Counter())[value] += 1
    who = people.tolist()
    return dict(zip(who, labels, strict=True)), counts, dict(zip(who, ill, strict=True))


def attacked(published: list[Seen]) -> dict[str, float]:
    """What an intruder makes of the newest release beside all before it."""
    classes, counts, own = published[-1]
    smallest_pair = smallest_all = min(sum(c.values()) for c in counts.values())
    certain = 0
    for who, label in classes.items():
        values = set(counts[label])
        for before, shown, _ in published[:-1]:
            if who in before:
                both = set(counts[label]) & set(shown[before[who]])
                smallest_pair = min(smallest_pair, fitting(counts[label], both, own[who]))
                values &= set(shown[before[who]])
        smallest_all = min(smallest_all, fitting(counts[label], values, own[who]))
        certain += values == {own[who]} and len(counts[label]) > 1
    return {
        "smallest of pairs": smallest_pair,
        "smallest of all": smallest_all,
        "certain": certain / len(classes),
        "left": min((subtracted(one, published[-1]) for one in published[:-1]), default=0),
    }


def fitting(counts: Counter, values: set[str], own: str) -> int:
    """Records that fit; all of them where the true value was struck out, since it changed."""
    return sum(counts[v] for v in values) if own in values else sum(counts.values())


def subtracted(before: Seen, now: Seen) -> int:
    """The fewest people who left a class and whose values are what is missing there; a large number
    where nobody can be subtracted."""
    classes, counts, _ = before
    later, shown, _ = now
    whence: dict[int, set[int]] = {}
    for who, label in later.items():
        whence.setdefault(label, set()).add(classes.get(who, -1))
    went: dict[int, set[int]] = {}
    left: Counter = Counter()
    for who, label in classes.items():
        if who in later:
            went.setdefault(label, set()).add(later[who])
        else:
            left[label] += 1
    fewest = 10**6
    for label, many in left.items():
        to = went.get(label, set())
        if all(whence[one] == {label} for one in to):
            rest = counts[label] - sum((shown[one] for one in to), Counter())
            if rest.total() == many:  # else values changed, and the difference misleads
                fewest = min(fewest, many)
    return fewest


def show(rows: list[dict]) -> None:
    """Means over years and seeds, and by year."""
    frame = pl.DataFrame([{k: v for k, v in row.items() if k != "why"} for row in rows])
    later = frame.filter(pl.col("year") > 0)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=80):
        print(
            later.group_by("way", maintain_order=True).agg(
                pl.col("ncp").mean(),
                pl.col("held").mean(),
                pl.col("refused").sum(),
                pl.len().alias("of"),
                pl.col("smallest of pairs", "smallest of all", "left").min(),
                pl.col("certain").mean(),
            )
        )
        print(
            frame.group_by("year", "way", maintain_order=True)
            .agg(pl.col("ncp", "held").mean())
            .pivot(on="way", index="year", values=["ncp", "held"])
        )
    for row in rows:
        if row["refused"]:
            print(row["way"], row["year"], row["why"].splitlines()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--years", type=int, default=12)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    given = parser.parse_args()
    rows = []
    for seed in given.seeds:
        more = given.people // 10 * given.years
        tables = years(population(given.people + more, seed), given.people, given.years, seed)
        for way in given.ways:
            with tempfile.TemporaryDirectory() as folder:
                rows += [{"seed": seed, **row} for row in run(tables, way, given.k, Path(folder))]
    show(rows)


if __name__ == "__main__":
    main()
