"""The scoreboard: releases by the rules of NIST's Collaborative Research Cycle, and attacked.

    python benchmarks/crc.py halves [--file adult] [--release sequential-trees] [--seeds 5]
    python benchmarks/crc.py whole

Both take --quick (does everything run?) and --json FILE, which is also where a run that was stopped
goes on. Files are national2019 by 10, 21 and 24 features, Adult and NHANES (28 columns of adults).

halves  People are split into A and B at random. Releases are made of A alone, and scored beside two
    yardsticks: B itself, a fresh sample of the same population, and a bootstrap of A. Goals: the
    k-marginal score at most 5 below B's; DiSCO at most B's plus 0.02; of A's unique records at most
    2 points more in the release than of B's (upper 95 % bound); advantage at most 0.05 in every
    attack that applies (upper bounds of `withstand`, B being the reference). Attacked are releases
    that keep the other goals under every seed; of all others that of seed 0.
whole   national2019 released from all of it, beside the rows that NIST published (shared data).

k-marginal is `marginals` with 20 quantile bins, by PUMA where there is one. Unique matches are the
target's unique records that stand in the release exactly: a generalized or suppressed cell equals
nothing. DiSCO is the mean over all sets of two fixed keys, two more and a target, numbers in the
same bins; `rare` is the same over targets of which one value holds for over 95 %.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import show
from casc import data_folder

import sfumato as sf
from sfumato.errors import SfumatoError

FRESH = "B, a fresh sample"
UPPER = 1.645
LIMITS = {"score": 5.0, "disco": 0.02, "unique": 0.02, "advantage": 0.05}
SEED = 2**70
"""Releases' seeds count from here: nobody guesses them, and a warning less is printed."""
Row = dict[str, Any]

TEN = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE"]
TEN += ["DVET", "DEYE"]
PUBLISHED = [
    ("AIM, epsilon 1", 10, 976, 14.11, 0.094),
    ("MST, epsilon 1", 10, 958, 12.47, 0.098),
    ("PATE-CTGAN, epsilon 10", 10, 805, 12.97, 0.125),
    ("k-anonymity k = 6 (sdcMicro), 18,720 records", 10, 907, 47.41, 0.329),
    ("CART (synthpop)", 21, 923, 2.54, None),
    ("ARF", 24, 691, 0.01, None),
    ("RTVAE", 24, 273, 0.00, None),
]
"""SDNist 2.5's sample reports: method, features, k-marginal, unique matches in percent, mean
DiSCO."""


class File(NamedTuple):
    """A file of people, and what is asked of it."""

    frame: pl.DataFrame
    confidential: list[str]
    fixed: tuple[str, str]
    """keys that every DiSCO has"""
    others: list[str]
    """further keys and targets"""
    group: str = ""
    """the column by which k-marginal parts people"""

    def table(self, frame: pl.DataFrame) -> sf.Table:
        """Some of the people, with roles."""
        quasi = [name for name in frame.columns if name not in self.confidential]
        return sf.table(frame, quasi=quasi, confidential=self.confidential)


def _national(features: int) -> File:
    read = pl.read_csv(data_folder() / "acs_excerpts" / "national2019.csv", infer_schema=False)
    numbers = ("AGEP", "PINCP", "POVPIP", "DENSITY", "WGTP", "PWGTP")
    frame = read.with_columns(pl.col(n).replace("N", None).cast(pl.Float64) for n in numbers)
    left_out = {10: set(frame.columns) - set(TEN), 21: {"DENSITY", "WGTP", "PWGTP"}, 24: set()}
    frame = frame.select(TEN) if features == 10 else frame.drop(left_out[features])
    secret = ["INDP", "INDP_CAT", "PINCP", "PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY"]
    secret = [name for name in (*secret, "DEYE", "DEAR") if name in frame.columns]
    others = [name for name in TEN if name not in ("RAC1P", "SEX")]
    return File(frame, secret, ("RAC1P", "SEX"), others, "" if features == 10 else "PUMA")


def _adult() -> File:
    frame = pl.read_csv(data_folder() / "adult" / "adult.csv", separator=";")
    others = [name for name in frame.columns if name not in ("race", "sex")]
    return File(frame, ["occupation", "salary-class"], ("race", "sex"), others)


def _nhanes() -> File:
    frame = pl.read_csv(data_folder() / "nhanes" / "nhanes_adults_28.csv").drop("seqn")
    words = [name for name in frame.columns if frame[name].n_unique() == 2]
    frame = frame.with_columns(pl.col(words).cast(pl.String))
    secret = ["hypertension", "diabetes", *(n for n in frame.columns if n not in words)]
    others = ["marital_married_partner", "us_born", "college", "insured", "hypertension"]
    others += ["diabetes", "ever_smoker", "cholesterol"]
    return File(frame, secret, ("male", "race_white"), others)


FILES: dict[str, Callable[[], File]] = {
    "national2019, 10": lambda: _national(10),
    "national2019, 21": lambda: _national(21),
    "national2019, 24": lambda: _national(24),
    "Adult": _adult,
    "NHANES": _nhanes,
}


@cache
def file_of(name: str) -> File:
    """One of the files."""
    return FILES[name]()


def _search(name: str, verb: str = "") -> Callable[[sf.Table], sf.Plan]:
    def plan(table: sf.Table) -> sf.Plan:
        then = sf.method(verb) if verb else None
        columns = list(table.names) if verb else list(table.schema.quasi)
        return sf.Plan(steps=(sf.Step(sf.method(name, k=5, columns=columns), then),))

    return plan


def _method(name: str, **more: Any) -> Callable[[sf.Table], sf.Plan]:
    def plan(table: sf.Table) -> sf.Plan:
        return sf.Plan(steps=(sf.Step(sf.method(name, columns=list(table.names), **more)),))

    return plan


def _exchanged(table: sf.Table) -> sf.Plan:
    """Numbers swapped by ranks, categories by chances."""
    numbers = [c.name for c in table.schema if c.kind in ("continuous", "integer")]
    words = [name for name in table.names if name not in numbers]
    parts = (("rank-swap", numbers), ("pram", words))
    return sf.Plan(steps=tuple(sf.Step(sf.method(n, columns=c)) for n, c in parts if c))


RELEASES: dict[str, Callable[[sf.Table], sf.Plan]] = {
    "sequential-trees": _method("sequential-trees"),
    "mdav, k = 5": _method("mdav", k=5),
    "mondrian, k = 5": _search("mondrian"),
    "mondrian, k = 5, swap": _search("mondrian", "swap"),
    "local-suppression, k = 5": _search("local-suppression"),
    "rank-swap and pram": _exchanged,
    "svd-swap": _method("svd-swap"),
    "spectral-rhs": _method("spectral-rhs"),
    "gaussian-copula": _method("gaussian-copula"),
    "univariate-synthesis": _method("univariate-synthesis"),
}
"""At their defaults but for k."""


class Codes(NamedTuple):
    """A file's people in numbers, column by column, and how its releases are read."""

    values: list[pl.Series]
    """the distinct values of each column, sorted; missing is the code after them"""
    edges: list[np.ndarray | None]
    """quantiles of numbers"""

    @classmethod
    def of(cls, target: pl.DataFrame) -> Codes:
        """Of the people who are scored."""
        values, edges = [], []
        for column in target:
            values.append(column.drop_nulls().unique().sort())
            cut = None
            if column.dtype.is_numeric() and len(values[-1]) > 20:
                inner = np.quantile(column.drop_nulls().to_numpy(), np.arange(1, 20) / 20)
                cut = np.unique(inner)
            edges.append(cut)
        return cls(values, edges)

    def exact(self, table: sf.Table) -> np.ndarray:
        """int64 (records, columns): a code for every value of the target; -1 for whatever equals
        none of them."""
        found = np.full((table.height, len(self.values)), -1, dtype=np.int64)
        for j, values in enumerate(self.values):
            column = table[values.name]
            known = column.cast(values.dtype, strict=False)
            place = pl.DataFrame({"v": values, "at": np.arange(len(values))})
            joined = known.rename("v").to_frame().join(place, on="v", how="left",
                                                       maintain_order="left")  # fmt: skip
            found[:, j] = joined["at"].fill_null(-1).to_numpy()
            found[column.is_null().to_numpy(), j] = len(values)
            found[table.suppressed(values.name), j] = -1
        return found

    def binned(self, exact: np.ndarray, frame: pl.DataFrame) -> np.ndarray:
        """The same with numbers in bins; numbers that nobody has are in one, too."""
        found = exact.copy()
        for j, (values, edges) in enumerate(zip(self.values, self.edges, strict=True)):
            if edges is None:
                continue
            read = frame[values.name].cast(pl.Float64, strict=False)
            number = read.is_not_null().to_numpy()
            found[:, j] = np.where(exact[:, j] == len(values), 20, -1)
            at = np.searchsorted(edges, read.fill_null(0.0).to_numpy(), side="right")
            found[number, j] = at[number]
        return found


def uniques(people: np.ndarray, released: np.ndarray) -> np.ndarray:
    """bool: of the people who are unique, who stands in the release."""
    _, first, counts = np.unique(people, axis=0, return_index=True, return_counts=True)
    alone = people[first[counts == 1]]
    known = {row.tobytes() for row in np.ascontiguousarray(released)}
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(alone)], dtype=bool)


def disco(of: File, people: np.ndarray, released: np.ndarray) -> tuple[float, float]:
    """The mean over all sets of keys and targets, and over those whose target is rare."""
    place = {name: j for j, name in enumerate(of.frame.columns)}
    fixed = [place[name] for name in of.fixed]
    found: dict[bool, list[float]] = {False: [], True: []}
    for pair in combinations(of.others, 2):
        keys = [*fixed, *(place[name] for name in pair)]
        both = np.concatenate((released[:, keys], people[:, keys]))
        _, label = np.unique(both, axis=0, return_inverse=True)
        label = label.reshape(-1)
        theirs, own = label[: len(released)], label[len(released) :]
        order = np.argsort(theirs, kind="stable")
        starts = np.flatnonzero(np.diff(theirs[order], prepend=-1))
        groups = theirs[order][starts]
        whole = (released[:, keys] >= 0).all(axis=1)[order][starts]
        for name in of.others:
            if name in pair:
                continue
            values = released[order, place[name]]
            low = np.minimum.reduceat(values, starts)
            one = whole & (low == np.maximum.reduceat(values, starts)) & (low >= 0)
            said = np.full(int(label.max()) + 1, -2)
            said[groups[one]] = low[one]
            target = people[:, place[name]]
            rare = np.bincount(target).max() > 0.95 * target.size
            found[bool(rare)].append(float((said[own] == target).mean()))
    everything = found[False] + found[True]
    return float(np.mean(everything)), float(np.mean(found[True])) if found[True] else math.nan


def figures(of: File, target: pl.DataFrame, released: sf.Table) -> Row:
    """What is said of a release beside the people it is compared with."""
    codes = Codes.of(target)
    exact, own = codes.exact(released), codes.exact(of.table(target))
    hits = uniques(own, exact)
    mean, rare = disco(of, codes.binned(own, target), codes.binned(exact, released.frame))
    points = 1000.0 * (1.0 - loss(of, target, released))
    return {"records": released.height, "score": points, "uniques": hits.size,
            "unique": float(hits.mean()), "disco": mean, "rare": rare}  # fmt: skip


def loss(of: File, target: pl.DataFrame, released: sf.Table) -> float:
    """The mean total variation over pairs of columns, by the group where there is one."""
    return float(sf.measure("marginals", of.table(target), released, align="none", group=of.group))


def released(of: File, target: pl.DataFrame, name: str, seed: int) -> tuple[sf.Release, float]:
    """A release of these people, and the CPU seconds that it took."""
    table = of.table(target)
    began = time.process_time()
    found = sf.protect(table, RELEASES[name](table), seed=SEED + seed, require={"exposure": False})
    return found, time.process_time() - began


def halves_of(of: File, seed: int, quick: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A and B."""
    order = np.random.default_rng(seed).permutation(of.frame.height)
    half = 1_000 if quick else of.frame.height // 2
    return of.frame[order[:half]], of.frame[order[half : 2 * half]]


def halves(given: argparse.Namespace, done: Done) -> Iterator[Row]:
    """Rows of yardsticks, of releases, and of attacks."""
    for name in given.file or FILES:
        of = file_of(name)
        parts = [halves_of(of, seed, given.quick) for seed in range(given.seeds)]
        for seed, (a, b) in enumerate(parts):
            drawn = np.random.default_rng([seed, 1]).integers(0, a.height, a.height)
            yield done.row(name, FRESH, seed, partial(figures, of, a, of.table(b)))
            yield done.row(
                name, "a bootstrap of A", seed, partial(figures, of, a, of.table(a[drawn]))
            )
        for release in given.release or RELEASES:
            kept = True
            for seed, (a, b) in enumerate(parts):
                row = done.row(name, release, seed, partial(_beside, of, a, b, release, seed))
                kept &= keeps(row, done.row(name, FRESH, seed))
                yield row
            for seed, (a, b) in enumerate(parts if kept else parts[:1]):
                make = partial(_attacked, of, a, b, release, seed)
                yield done.row(name, release, seed, make, "attacks")


def _beside(of: File, a: pl.DataFrame, b: pl.DataFrame, name: str, seed: int) -> Row:
    """A release of A beside A and, as to unique matches, beside B."""
    release, spent = released(of, a, name, seed)
    row = figures(of, a, release.table)
    codes = Codes.of(b)
    misses = uniques(codes.exact(of.table(b)), codes.exact(release.table))
    p, q = row["unique"], float(misses.mean())
    error = math.sqrt(p * (1 - p) / row["uniques"] + q * (1 - q) / misses.size)
    return {**row, "cpu": spent, "unique_of_B": q, "excess": p - q + UPPER * error}


def _attacked(of: File, a: pl.DataFrame, b: pl.DataFrame, name: str, seed: int) -> Row:
    """Every attack that applies, B being people who are not in the release."""
    release, _ = released(of, a, name, seed)
    began = time.process_time()
    found = sf.attack(release, reference=of.table(b), seed=seed)["withstand"]
    told = found.detail["attacks"]
    return {
        "advantage": found.value,
        "worst": found.detail["worst"],
        "cpu": time.process_time() - began,
        "not_shown": found.detail["because"] if found.detail.get("refuses") else "",
        "attacks": {name: [one["advantage"], one["upper"]] for name, one in told.items()},
    }


def whole(given: argparse.Namespace, done: Done) -> Iterator[Row]:
    """national2019 as NIST scores it."""
    for name in given.file or [name for name in FILES if name.startswith("national")]:
        of = file_of(name)
        people = of.frame[:2_000] if given.quick else of.frame
        for seed in range(given.seeds):
            drawn = np.random.default_rng([seed, 2]).integers(0, people.height, people.height)
            make = partial(figures, of, people, of.table(people[drawn]))
            yield done.row(name, "a bootstrap", seed, make)
        for release in given.release or RELEASES:
            for seed in range(given.seeds):
                yield done.row(name, release, seed, partial(_alone, of, people, release, seed))


def _alone(of: File, people: pl.DataFrame, name: str, seed: int) -> Row:
    release, spent = released(of, people, name, seed)
    return {**figures(of, people, release.table), "cpu": spent}


class Done:
    """Rows that were made, also by an earlier run."""

    def __init__(self, kept: Path | None) -> None:
        self._kept = kept
        self._rows: dict[str, Row] = {}
        if kept and kept.exists():
            self._rows = json.loads(kept.read_text(encoding="utf-8"))

    def row(
        self, file: str, release: str, seed: int, make: Callable[[], Row] | None = None,
        what: str = "",
    ) -> Row:  # fmt: skip
        """A row, made unless it is there."""
        key = " | ".join((file, release, str(seed), what))
        if key not in self._rows:
            assert make is not None
            print(key, file=sys.stderr)
            try:
                made = make()
            except SfumatoError as error:
                made = {"failure": str(error).splitlines()[0]}
            self._rows[key] = {"file": file, "release": release, "seed": seed, "what": what, **made}
            if self._kept:
                text = json.dumps(self._rows, indent=1)
                self._kept.write_text(text + "\n", encoding="utf-8")
        return self._rows[key]


def keeps(row: Row, fresh: Row) -> bool:
    """Whether a release keeps the goals that need no attack."""
    return "failure" not in row and (
        row["score"] >= fresh["score"] - LIMITS["score"]
        and row["disco"] <= fresh["disco"] + LIMITS["disco"]
        and row["excess"] <= LIMITS["unique"]
    )


def tables(rows: Sequence[Row], seeds: int) -> Iterator[str]:
    """One table to a file: means over the seeds, and the goals kept."""
    for name in dict.fromkeys(row["file"] for row in rows):
        lines = []
        mine = [row for row in rows if row["file"] == name]
        fresh = {row["seed"]: row for row in mine if row["release"] == FRESH}
        for release in dict.fromkeys(row["release"] for row in mine):
            of = [row for row in mine if row["release"] == release and not row["what"]]
            against = [row for row in mine if row["release"] == release and row["what"]]
            failed = [row["failure"] for row in of if "failure" in row]
            if failed:
                lines.append([release, *[""] * 8, failed[0][:60]])
                continue
            kept = [keeps(row, fresh[row["seed"]]) for row in of if "excess" in row and fresh]
            lines.append([
                release, _mean(of, "score", 1.0, 1), _mean(of, "unique", 100.0, 2),
                _mean(of, "unique_of_B", 100.0, 2), _mean(of, "excess", 100.0, 2, max),
                _mean(of, "disco", 1.0, 3), _mean(of, "cpu", 1.0, 1),
                f"{sum(kept)}/{len(kept)}" if kept else "",
                _attacks(against), _worst(against),
            ])  # fmt: skip
        for method, features, points, unique, meets in PUBLISHED:
            if name == f"national2019, {features}" and not fresh:
                lines.append([f"published: {method}", str(points), f"{unique:.2f}", "", "",
                              "" if meets is None else f"{meets:.3f}", "", "", "", ""])  # fmt: skip
        header = ["release", "k-marginal", "unique %", "of B %", "excess at most", "DiSCO", "CPU s",
                  "goals kept", "advantage (at most)", "by"]  # fmt: skip
        yield show.table(f"{name}: means over {seeds} seeds", header, lines)


def _mean(rows: Sequence[Row], key: str, times: float, digits: int, of: Any = np.mean) -> str:
    values = [row[key] * times for row in rows if key in row]
    return f"{of(values):.{digits}f}" if values else ""


def _attacks(rows: Sequence[Row]) -> str:
    """Every seed's largest estimate and bound, or why there are none."""
    return " ".join(
        row["failure"][:40] if "failure" in row
        else f"{max(found for found, _ in row['attacks'].values()):.3f} "
        f"({row['advantage']:.3f}{'*' if row['not_shown'] else ''})"
        for row in rows
    )  # fmt: skip


def _worst(rows: Sequence[Row]) -> str:
    told = [row for row in rows if "failure" not in row]
    return max(told, key=lambda row: row["advantage"])["worst"] if told else ""


def main() -> None:
    """One part: its rows, and its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=["halves", "whole"])
    parser.add_argument("--file", action="append", choices=list(FILES))
    parser.add_argument("--release", action="append", choices=list(RELEASES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few people, one seed")
    parser.add_argument(
        "--json", metavar="FILE", help="every figure; what it holds is not made again"
    )
    given = parser.parse_args()
    given.seeds = 1 if given.quick else given.seeds
    done = Done(Path(given.json) if given.json else None)
    rows = list({"halves": halves, "whole": whole}[given.part](given, done))
    print(*tables(rows, given.seeds), sep="\n")


if __name__ == "__main__":
    main()
