"""Katirai's experiments (figures 19 to 26): Greedy against Partition, by measure and by size.

    .venv/bin/python benchmarks/ambiguators.py              everything, seeds 0 to 7
    .venv/bin/python benchmarks/ambiguators.py --quick      small sizes, one seed

Records are generalized to k = 3 and handed to a cost model that was trained on other records of the
same kind. Two figures count. The *error* is the model's mean absolute error about the true costs,
as in the thesis; a release that blurs a bad prediction can have a smaller one than the originals.
The *shift* is how far the prediction for a person moves from the one for the original record, on
average: only what is kept makes it small. Beside both stand those of a constant, the median of the
others. Ranges become their middles and generalized categories what a reader expects of them, as in
the thesis. `all` has columns that the model does not use ("extraneous"); `used` only those that it
does. Samples of different sizes share nobody.

Greedy leaves sets that overlap, (k,1)-anonymity, which is less than what Partition gives; "Greedy
to k" makes classes, and is what Partition can be compared with.

The thesis' 1,000 patients and its model are not public. Two files stand in for them: the generated
register, with its charges in thousands, and Medicare (NMES1988), with a cost index of our own, 1
for each visit, 5 for an emergency, 40 for a stay in hospital, as log(1 + cost). The target of the
measures of information is whether the cost is among the highest quarter.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import show
from casc import data_folder
from scipy import stats
from sklearn.linear_model import Ridge

import sfumato as sf
from sfumato.data.points.encoding import Encoding

K = 3
SIZES = (50, 100, 500, 1000)
SEEDS = range(8)
MEASURES = {"Vinterbo": "height", "Col-MI": "column-mi", "Value-MI": "value-mi"}
SEARCHES: dict[str, tuple[str, dict[str, str]]] = {
    "Greedy": ("greedy", {}),
    "Greedy to k": ("greedy", {"repair": "k"}),
    "Partition": ("farthest-pair", {}),
}
MOST_BY_MODEL = 500
THESIS = {
    ("all", "Greedy"): "PMI", ("all", "Partition"): "Vinterbo or Col-MI",
    ("used", "Greedy"): "Vinterbo", ("used", "Partition"): "Col-MI",
}  # fmt: skip


@dataclass(frozen=True)
class File:
    """Records, the columns that the model uses, the extraneous ones, and the cost."""

    name: str
    frame: pl.DataFrame
    used: tuple[str, ...]
    extraneous: tuple[str, ...]
    posets: Mapping[str, object]

    def columns(self, fields: str) -> tuple[str, ...]:
        """The columns that are anonymized."""
        return self.used if fields == "used" else (*self.used, *self.extraneous)


Scores = Mapping[tuple[str, str], tuple[float, float]]
"""By search and measure: the model's error, and the shift of its prediction."""


def interval(values: Sequence[float]) -> str:
    """The mean over the seeds, and what to add and take away for 95 % (Student's t)."""
    mean = f"{np.mean(values):.3g}"
    if len(values) == 1:
        return mean
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return f"{mean} \u00b1 {half:.2g}"


def register() -> File:
    """The generated register, a record for each admission."""
    frame = sf.generators.hospital(6000, seed=11).frame.select(
        age=(pl.col("admission_date") - pl.col("birth_date")).dt.total_days() // 365,
        sex=pl.col("sex").cast(pl.String),
        stay=pl.col("length_of_stay"),
        admission=pl.col("admission_type").cast(pl.String),
        diagnosis=pl.col("diagnoses").list.first(),
        zip=pl.col("zip"),
        ethnicity=pl.col("ethnicity"),
        cost=pl.col("charges") / 1000,
    )
    posets = {
        **{name: {"kind": "suppression"} for name in ("sex", "admission", "ethnicity")},
        "diagnosis": {"kind": "prefix", "lengths": [3, 1]},
        "zip": {"kind": "prefix", "lengths": [5, 3, 1]},
    }
    used = ("age", "sex", "stay", "admission", "diagnosis")
    return File("register", frame.drop_nulls(), used, ("zip", "ethnicity"), posets)


def medicare() -> File | None:
    """NMES1988, with the logarithm of a cost index."""
    path = data_folder() / "medicare" / "nmes1988.csv"
    if not path.exists():
        return None
    visits = sum((pl.col(n) for n in ("nvisits", "ovisits", "novisits")), pl.col("visits"))
    frame = pl.read_csv(path).with_columns(
        cost=(1 + visits + 5.0 * pl.col("emergency") + 40.0 * pl.col("hospital")).log(),
        age=(pl.col("age") * 10).round(0).cast(pl.Int64),
    )
    used = ("age", "gender", "health", "chronic", "adl", "insurance", "hospital", "emergency")
    extraneous = ("region", "afam", "married", "school", "employed")
    words = [n for n in (*used, *extraneous) if frame[n].dtype == pl.String]
    posets = {name: {"kind": "suppression"} for name in words}
    return File("Medicare", frame.select(*used, *extraneous, "cost"), used, extraneous, posets)


def synthetic(rng: np.random.Generator, rows: int = 100) -> sf.Table:
    """Figure 19: a census block, an age and five traits, all independent of one another."""
    block = rng.integers(0, 6**4, rows)
    digits = ["".join("123456"[(b // 6**p) % 6] for p in (3, 2, 1, 0)) for b in block]
    columns: dict[str, object] = {"block": digits, "age": rng.integers(0, 90, rows)}
    columns |= {f"trait{i}": rng.choice(["no", "yes"], rows) for i in range(5)}
    return sf.table(
        columns, quasi=list(columns), posets={"block": {"kind": "prefix", "lengths": [4, 3, 2, 1]}}
    )


def figure_19(seeds: Sequence[int]) -> None:
    """Mean loss by Vinterbo's measure on independent columns."""
    rows = []
    for k in (2, 3, 5, 8):
        found: dict[str, list[float]] = defaultdict(list)
        for seed in seeds:
            table = synthetic(np.random.default_rng(seed))
            for name, (use, more) in SEARCHES.items():
                search = sf.method(use, k=k, measure="height", **more)
                step = sf.step(search, then="generalize")
                release = sf.protect(table, step, seed=seed, measures=())
                found[name].append(release.measure("weighted-height").value)
        apart = np.array(found["Partition"]) - found["Greedy to k"]
        rows.append([str(k), *(interval(found[name]) for name in SEARCHES), interval(apart)])
    title = "Figure 19: independent columns, 100 rows; mean sum of heights, at most 7"
    header = ["k", *SEARCHES, "Partition - Greedy to k"]
    print(show.table(title, header, rows, "Thesis: Greedy is lower."))


def scores(file: File, fields: str, sizes: Sequence[int], seed: int) -> dict[int, Scores]:
    """Samples of every size that share nobody, and a model that has seen none of them."""
    order = np.random.default_rng(seed).permutation(file.frame.height)
    cuts = np.cumsum([0, *sizes])
    names = list(file.columns(fields))
    posets = {n: p for n, p in file.posets.items() if n in names}
    whole = sf.table(file.frame, quasi=names, posets=posets)
    encoding = Encoding.of(whole, list(file.used), log="never")
    others = file.frame[order[cuts[-1] :]]
    learnt = encoding.encode(sf.table(others, quasi=names, posets=posets))
    costs = others["cost"].to_numpy()
    model = Ridge(alpha=1.0).fit(learnt, costs)
    high = float(file.frame["cost"].quantile(0.75) or 0.0)
    found: dict[int, Scores] = {}
    for size, (start, stop) in zip(sizes, itertools.pairwise(cuts.tolist()), strict=True):
        people = file.frame[order[start:stop]].with_columns(high=pl.col("cost") > high)
        told = {"quasi": names, "insensitive": ["cost"], "target": ["high"], "posets": posets}
        table = sf.table(people, **told)
        cost, guess = people["cost"].to_numpy(), model.predict(encoding.encode(table))
        constant = np.median(costs)
        taken = {("originals", ""): (float(np.abs(guess - cost).mean()), 0.0)}
        taken["constant", ""] = tuple(float(np.abs(constant - one).mean()) for one in (cost, guess))
        for (search, by), step in steps(size).items():
            release = sf.protect(table, step, seed=seed, measures=())
            rows = release.pair.rows if release.pair.rows is not None else np.arange(size)
            now = model.predict(encoding.encode(release.table))
            error, shift = np.abs(now - cost[rows]).mean(), np.abs(now - guess[rows]).mean()
            taken[search, by] = (float(error), float(shift))
        found[size] = taken
    return found


def steps(size: int) -> dict[tuple[str, str], object]:
    """Every search by every measure."""
    found = {}
    for (search, (use, more)), (measure, by) in itertools.product(
        SEARCHES.items(), MEASURES.items()
    ):
        target = {} if by == "height" else {"target": "high"}
        found[search, measure] = sf.method(use, k=K, measure=by, **target, **more)
    if size <= MOST_BY_MODEL:
        for search in ("Greedy", "Greedy to k"):
            use, more = SEARCHES[search]
            found[search, "model"] = sf.method(use, k=K, measure="model", target="cost", **more)
    return {key: sf.step(search, then="generalize") for key, search in found.items()}


def experiment(file: File, sizes: Sequence[int], seeds: Sequence[int]) -> None:
    """Figures 20 to 26 on one file."""
    for fields in ("used", "all"):
        by_seed = {s: scores(file, fields, sizes, s) for s in seeds}
        taken = {(n, s): by_seed[s][n] for n in sizes for s in seeds}
        keys = [("originals", ""), ("constant", "")]
        keys += [*itertools.product(SEARCHES, MEASURES), ("Greedy", "model")]
        keys += [("Greedy to k", "model")]
        rows = []
        for key in keys:
            each = {n: [taken[n, s][key] for s in seeds if key in taken[n, s]] for n in sizes}
            cells = [
                f"{np.mean([one[which] for one in each[n]]):.3g}" if each[n] else "-"
                for which in (0, 1)
                for n in sizes
            ]
            rows.append([" ".join(key).strip(), *cells])
        title = f"{file.name}, fields: {fields}; means over the samples, k = {K} (figures 20-24)"
        header = ["", *(f"{what}, {n} rows" for what in ("error", "shift") for n in sizes)]
        note = f"Greedy by a model up to {MOST_BY_MODEL} rows: it asks about all pairs."
        print(show.table(title, header, rows, note))
        votes(file.name, fields, taken, sizes, seeds)
        against(file.name, fields, taken, sizes, seeds)


def against(
    name: str, fields: str, taken: Mapping[tuple[int, int], Scores], sizes: Sequence[int],
    seeds: Sequence[int],
) -> None:  # fmt: skip
    """Figures 20 and 21: Partition and Greedy, both with classes of k, on the same samples."""
    rows = []
    for which, what in enumerate(("error", "shift")):
        for measure in (*MEASURES, "best run"):
            cells = []
            for n in sizes:
                least = {
                    search: [
                        min(taken[n, s][search, m][which] for m in MEASURES)
                        if measure == "best run"
                        else taken[n, s][search, measure][which]
                        for s in seeds
                    ]
                    for search in ("Partition", "Greedy to k")
                }
                apart = np.array(least["Partition"]) - least["Greedy to k"]
                cells.append(interval(apart.tolist()))
            rows.append([what, measure, *cells])
    title = f"{name}, fields: {fields}; Partition - Greedy to k, above 0 where Greedy is better"
    header = ["", "measure", *(f"{n} rows" for n in sizes)]
    known = f"95 % intervals (t, {len(seeds)} seeds). " if len(seeds) > 1 else ""
    note = f"{known}Thesis: Partition's best run wins always."
    print(show.table(title, header, rows, note))


def votes(
    name: str, fields: str, taken: Mapping[tuple[int, int], Scores], sizes: Sequence[int],
    seeds: Sequence[int],
) -> None:  # fmt: skip
    """Figures 25 and 26: which measure wins, a ballot for each size and seed."""
    rows = []
    for which, what in enumerate(("error", "shift")):
        for search, fewest in itertools.product(SEARCHES, (min(sizes), sorted(sizes)[1])):
            some = [(n, s) for n in sizes for s in seeds if n >= fewest]
            ballots = [{m: taken[at][search, m][which] for m in MEASURES} for at in some]
            total = {
                m: sum(n * ballot[m] for (n, _), ballot in zip(some, ballots, strict=True))
                for m in MEASURES
            }
            first = {m: sum(share_of_first(ballot, m) for ballot in ballots) for m in MEASURES}
            majority = f"{best(first)} ({max(first.values()) / len(ballots):.0%})"
            least = best({m: -value for m, value in total.items()})
            known = THESIS[fields, search.removesuffix(" to k")] if what == "error" else ""
            rows.append(
                [what, search, f"{fewest} and more", condorcet(ballots), majority, least, known]
            )
    title = f"{name}, fields: {fields}; best measure (figures 25 and 26)"
    header = ["by", "search", "sizes", "Condorcet", "majority", "total", "thesis"]
    print(show.table(title, header, rows))


def alike(a: float, b: float) -> bool:
    """Whether two scores are a tie."""
    return math.isclose(a, b, rel_tol=1e-9)


def share_of_first(ballot: Mapping[str, float], measure: str) -> float:
    """1 for the best of a ballot, divided among those that tie."""
    least = min(ballot.values())
    firsts = [m for m in ballot if alike(ballot[m], least)]
    return (measure in firsts) / len(firsts)


def best(points: Mapping[str, float]) -> str:
    """Whoever has the most points, all of them where they tie."""
    most = max(points.values())
    return " = ".join(m for m in points if alike(points[m], most))


def condorcet(ballots: Sequence[Mapping[str, float]]) -> str:
    """The measures that win the most two-way races; a tie is half a vote for each."""
    wins: Counter[str] = Counter(dict.fromkeys(MEASURES, 0))
    for a, b in itertools.combinations(MEASURES, 2):
        ahead = sum(
            0.5 if alike(ballot[a], ballot[b]) else float(ballot[a] < ballot[b])
            for ballot in ballots
        )
        wins[a] += ahead * 2 > len(ballots)
        wins[b] += ahead * 2 < len(ballots)
    return best(wins)


def main() -> None:
    """Print every table."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="small sizes, one seed")
    quick = options.parse_args().quick
    seeds = range(1) if quick else SEEDS
    sizes = SIZES[:2] if quick else SIZES
    figure_19(seeds)
    for file in (register(), medicare()):
        if file is None:
            print("\nMedicare is not here: set SFUMATO_DATA")
        else:
            experiment(file, sizes, seeds)


if __name__ == "__main__":
    main()
