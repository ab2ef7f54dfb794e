"""Swapping in other spaces than svd-swap's and pica's (Lasko 2007, section 6.3), against the gate.

    .venv/bin/python benchmarks/spectral_spaces.py                  all parts, seeds 0 to 4
    .venv/bin/python benchmarks/spectral_spaces.py --part series --seeds 0

spaces   polynomial and kernel spaces, the manifold, trees of components: 2,000 adults of NHANES (28
         columns) and 2,000 records of national2019 (18 columns), and as many people held out
series   24 measurements of each of 2,000 generated people as one row or as features
levels   categories in hierarchies (Adult): coordinates for the leaves alone, or for every level

Shown: the gate of non-participation (passes up to 1), changes of correlations between coordinates
(mean and 99th percentile), and the mean distance along 20 kernel components; for strangers too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import show
from casc import data_folder
from gate_power import files
from scipy.optimize import minimize
from scipy.stats import ks_2samp
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import SpectralEmbedding

import sfumato as sf
from sfumato.data.points.encoding import Encoding
from sfumato.kernels.spectral.basis import spectral_basis
from sfumato.kernels.spectral.clusters import merged, spectral_clusters
from sfumato.kernels.spectral.component_tree import parents, swapped_along
from sfumato.kernels.spectral.fast_ica import components
from sfumato.kernels.spectral.smoothed_scores import smoothed
from sfumato.poset.trees.sources import Hierarchy
from sfumato.rng import stream

RECORDS = 2000
Swap = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def permuted(scores: np.ndarray, rng: np.random.Generator, width: int = 50) -> np.ndarray:
    """Scores drawn anew among their neighbours, each column in an order of its own."""
    return rng.permuted(smoothed(scores, width, rng), axis=0)


def by_method(name: str, **parameters: Any) -> Swap:
    """A registered method's points."""
    one = sf.method(name, **parameters)
    return lambda x, rng: one.swapped(x, rng).values


def polynomial(way: str) -> Swap:
    """Scores on the principal components of x_i and all x_i x_j are swapped; the way back reads the
    x_i off, or takes the x whose features are the nearest."""

    def swap(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, d = x.shape
        i, j = np.triu_indices(d)
        both = np.where(i == j, 1.0, np.sqrt(2.0))  # as the length of x x' counts them
        basis = spectral_basis(np.hstack([x, x[:, i] * x[:, j] * both]))
        made = basis.table(permuted(basis.scores, rng))
        z, squares = made[:, :d], np.zeros((n, d, d))
        if way == "read off":
            return z
        squares[:, i, j] = squares[:, j, i] = made[:, d:] / both

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            y = flat.reshape(n, d)
            off = y[:, :, None] * y[:, None, :] - squares
            slope = 2 * (y - z) + 4 * np.einsum("nij,nj->ni", off, y)
            return float(((y - z) ** 2).sum() + (off**2).sum()), slope.ravel()

        start = np.clip(z, x.min(axis=0), x.max(axis=0)).ravel()
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
        return found.x.reshape(n, d)

    return swap


def kernel(count: int = 100, **space: Any) -> Swap:
    """Scores on kernel components are swapped; kernel ridge regression leads back."""

    def swap(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        gamma = 1.0 / (2 * x.var(axis=0).sum())
        model = KernelPCA(
            count, gamma=gamma, fit_inverse_transform=True, alpha=0.1, eigen_solver="arpack",
            random_state=0, **space,
        )  # fmt: skip
        scores = model.fit_transform(x)
        return model.inverse_transform(permuted(scores, rng))

    return swap


def manifold(count: int = 10) -> Swap:
    """Places on the surface near which the records lie are swapped, and what lies off it apart."""

    def swap(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        gamma = 1.0 / (2 * x.var(axis=0).sum())
        found = SpectralEmbedding(count, affinity="rbf", gamma=gamma, random_state=0)
        places = found.fit_transform(x)
        places /= places.std(axis=0)
        back = KernelRidge(kernel="rbf", gamma=0.5 / count, alpha=0.1).fit(places, x)
        rest = spectral_basis(x - back.predict(places))
        return back.predict(permuted(places, rng)) + rest.table(permuted(rest.scores, rng))

    return swap


def swapped_tree(scores: np.ndarray, rng: np.random.Generator, way: str, width: int) -> np.ndarray:
    """Components of a tree move together, or each after its neighbour in the tree."""
    n = len(scores)
    tree = parents(scores)
    scores = smoothed(scores, min(width, n // 10), rng)
    if way == "along":
        return swapped_along(scores, tree, width, rng)
    out = np.empty_like(scores)
    order = np.arange(n)
    for here, above in tree:
        order = rng.permutation(n) if above < 0 else order
        out[:, here] = scores[order, here]
    return out


def trees(way: str, size: int | None, width: int) -> Swap:
    """Trees of principal components of the whole table, or of independent ones in clusters."""

    def swap(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        label = np.zeros(len(x), dtype=np.int64)
        if size:
            label, _ = merged(x, spectral_clusters(x, rng, size=size).label, size // 2, 3)
        out = np.empty_like(x)
        for c in range(label.max() + 1):
            rows = np.flatnonzero(label == c)
            found = components(x[rows], rng, kind="ica" if size else "pca")
            made = swapped_tree(found.scores, rng, way, width)
            out[rows] = found.centre + made @ found.basis
        return out

    return swap


SPACES: dict[str, Swap] = {
    "svd-swap": by_method("svd-swap"),
    "pica 200": by_method("pica", size=200),
    "polynomial, read off": polynomial("read off"),
    "polynomial, nearest": polynomial("nearest"),
    "kernel, Gaussian": kernel(kernel="rbf"),
    "kernel, polynomial of degree 4": kernel(kernel="poly", degree=4),
    "manifold": manifold(),
    "tree together, svd": trees("together", None, 50),
    "tree along, svd": by_method("svd-swap", by="tree"),
    "tree together, pica 200": trees("together", 200, 5),
    "tree along, pica 200": trees("along", 200, 5),
}


def figures(people: sf.Table, made: sf.Table, others: sf.Table) -> list[float]:
    """The gate, the mean and 99th percentile of changes of correlations, and the mean distance
    along kernel components."""
    gate = sf.measure("non-participation", people, made, "none", reference=others)
    encoding = Encoding.of(people, people.names)
    x, y = (encoding.encode(table) for table in (people, made))
    varies = (x.std(axis=0) > 1e-9) & (y.std(axis=0) > 1e-9)
    change = np.abs(np.corrcoef(y[:, varies].T) - np.corrcoef(x[:, varies].T))
    off = change[np.triu_indices(len(change), 1)]
    apart = sf.measure("kernel-pca", people, made, "none", components=20).detail["components"]
    return [
        float(gate),
        float(off.mean()),
        float(np.quantile(off, 0.99)),
        float(np.mean([one["distance"] for one in apart])),
    ]


def drawn(frame: pl.DataFrame, seed: int) -> tuple[sf.Table, sf.Table, sf.Table]:
    """Participants, others, and strangers where there are enough for them."""
    order = np.random.default_rng(seed).permutation(frame.height)
    parts = [frame[order[i * RECORDS :][:RECORDS]] for i in range(3)]
    first, second, third = (sf.table(part, quasi=part.columns) for part in parts)
    return first, second, third


def decoded(people: sf.Table, swap: Swap, rng: np.random.Generator) -> sf.Table:
    """A release by a way of swapping points."""
    encoding = Encoding.of(people, people.names)
    made = encoding.decode(swap(encoding.encode(people), rng), people, bounded=True)
    return people.with_columns(made.series, made.columns)


HEADER = ["data", "variant", "gate", "correlations, mean", "99th percentile", "components"]


def shown(name: str, variant: str, found: Sequence[Sequence[float]]) -> list[str]:
    """A row: the least and the largest of the seeds."""
    cells = [
        f"{low:.3g}-{high:.3g}"
        for low, high in zip(np.min(found, 0), np.max(found, 0), strict=True)
    ]
    return [name, variant, *cells]


def spaces(folder: Path, seeds: Sequence[int]) -> Iterator[list[str]]:
    """Swapping in other spaces."""
    for name, frame in files(folder):
        if name == "national2019, 10":
            continue
        parts = [drawn(frame, seed) for seed in seeds]
        for variant, swap in ({"strangers": None} | SPACES).items():
            found = []
            for seed, (people, others, strangers) in zip(seeds, parts, strict=True):
                began = time.perf_counter()
                rng = stream(seed, 1, variant)
                made = strangers if swap is None else decoded(people, swap, rng)
                took = time.perf_counter() - began
                found.append(figures(people, made, others))
                print(f"  {name} {variant} {seed}: {found[-1]}, {took:.1f} s", flush=True)
            yield shown(name, variant, found)


MONTHS = 24


def series_of(n: int, seed: Sequence[int]) -> np.ndarray:
    """People with a level, a trend, a spread and a memory of their own (n, months)."""
    rng = np.random.default_rng(seed)
    level, slope = rng.normal(0, 1, n), rng.normal(0, 0.03, n)
    spread, memory = np.exp(rng.normal(-0.5, 0.5, n)), rng.beta(3, 2, n)
    return simulated(level, slope, spread, memory, rng)


def simulated(
    level: np.ndarray,
    slope: np.ndarray,
    spread: np.ndarray,
    memory: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """A line, and an autoregression of the first order about it."""
    noise = rng.standard_normal((len(level), MONTHS))
    for t in range(1, MONTHS):
        noise[:, t] = memory * noise[:, t - 1] + np.sqrt(1 - memory**2) * noise[:, t]
    month = np.arange(MONTHS) - (MONTHS - 1) / 2
    return level[:, None] + slope[:, None] * month + spread[:, None] * noise


def features(y: np.ndarray) -> np.ndarray:
    """Level, slope, log spread about the line, and the memory's inverse hyperbolic tangent."""
    month = np.arange(MONTHS) - (MONTHS - 1) / 2
    level, slope = y.mean(axis=1), y @ month / (month @ month)
    rest = y - level[:, None] - slope[:, None] * month
    spread = rest.std(axis=1)
    memory = (rest[:, 1:] * rest[:, :-1]).mean(axis=1) / spread**2
    return np.column_stack([level, slope, np.log(spread), np.arctanh(np.clip(memory, -0.95, 0.95))])


def from_features(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Features are swapped, and series drawn that have them. A short series' own memory is too
    low on average, so that what is swapped is what series drawn with it would show."""
    x = features(y)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    made = mean + deviation * by_method("svd-swap")((x - mean) / deviation, rng)
    return simulated(made[:, 0], made[:, 1], np.exp(made[:, 2]), np.tanh(made[:, 3]), rng)


def series(_: Path, seeds: Sequence[int]) -> Iterator[list[str]]:
    """One row of 24 columns to a person, or four features."""
    ways: dict[str, Swap | None] = {
        "strangers": None,
        "svd-swap, one row": by_method("svd-swap"),
        "pica 200, one row": by_method("pica", size=200),
        "svd-swap of features": from_features,
    }
    names = [f"m{t:02}" for t in range(MONTHS)]
    for variant, swap in ways.items():
        found = []
        for seed in seeds:
            first, second, third = (series_of(RECORDS, [seed, part]) for part in range(3))
            made = third if swap is None else swap(first, stream(seed, 2, variant))
            tables = [
                sf.table(pl.DataFrame(one, schema=names), quasi=names)
                for one in (first, made, second)
            ]
            own = [
                ks_2samp(one, other).statistic
                for one, other in zip(features(first).T, features(made).T, strict=True)
            ]
            found.append([*figures(*tables), *own[2:]])
            print(f"  series {variant} {seed}: {found[-1]}", flush=True)
        yield shown("series", variant, found)


TREES = ("education", "occupation", "marital-status", "workclass", "native-country")


def climbed(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """For each column and level the group of every value: "education 1" is the lowest group."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name in TREES:
        lines = (folder / "adult" / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        rows = [line.split(";") for line in lines if line]
        found[name] = {
            f"{name} {level}": {row[0]: row[level] for row in rows}
            for level in range(1, len(rows[0]) - 1)
        }
    return found


def with_levels(people: sf.Table, groups: dict[str, dict[str, dict[str, str]]]) -> sf.Table:
    """The table with a column for every level."""
    columns = [
        people[name].cast(pl.String).replace_strict(of).alias(level)
        for name, levels in groups.items()
        for level, of in levels.items()
    ]
    frame = people.frame.with_columns(columns)
    return sf.table(frame, quasi=frame.columns)


def released(folder: Path, **parameters: Any) -> Callable[..., sf.Table]:
    """svd-swap of a table that knows its hierarchies."""
    posets = {name: Hierarchy(path=f"{folder}/adult/adult_hierarchy_{name}.csv") for name in TREES}
    method = sf.method("svd-swap", **parameters)

    def made(people: sf.Table, rng: np.random.Generator) -> sf.Table:
        table = sf.table(people.frame, quasi=people.names, posets=posets)
        return method.mask(table, rng).table

    return made


def tables_off(people: sf.Table, made: sf.Table, names: Sequence[str]) -> float:
    """Mean total variation of all two-way tables of these columns."""
    off = []
    for i, one in enumerate(names):
        for other in names[:i]:
            shares = [
                table.frame.group_by(one, other).len().with_columns(pl.col("len") / table.height)
                for table in (people, made)
            ]
            both = shares[0].join(shares[1], on=[one, other], how="full", coalesce=True)
            off.append(
                float((both["len"].fill_null(0) - both["len_right"].fill_null(0)).abs().sum()) / 2
            )
    return float(np.mean(off))


def levels(folder: Path, seeds: Sequence[int]) -> Iterator[list[str]]:
    """Adult's five columns with hierarchies, and age, sex, race and salary."""
    frame = pl.read_csv(folder / "adult" / "adult.csv", separator=";")
    groups = climbed(folder)
    ways: dict[str, Callable[..., sf.Table] | None] = {
        "strangers": None,
        "svd-swap": released(folder),
        "svd-swap, levels": released(folder, levels=True),
        "svd-swap, levels, tree": released(folder, levels=True, by="tree"),
    }
    highest = [list(of)[-1] for of in groups.values()]
    for variant, way in ways.items():
        found = []
        for seed in seeds:
            people, others, strangers = drawn(frame, seed)
            made = strangers if way is None else way(people, stream(seed, 3, variant))
            seen, told = (with_levels(table, groups) for table in (people, made))
            rest = ["sex", "race", "salary-class"]
            own = [tables_off(seen, told, [*some, *rest]) for some in (TREES, highest)]
            found.append([*figures(people, made, others), *own])
            print(f"  levels {variant} {seed}: {found[-1]}", flush=True)
        yield shown("Adult", variant, found)


PARTS = {
    "spaces": (spaces, []),
    "series": (series, ["spread of a person, KS", "memory of a person, KS"]),
    "levels": (levels, ["two-way tables, leaves", "two-way tables, groups"]),
}


def main() -> None:
    """Print the tables, part by part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--part", choices=PARTS, action="append")
    given = parser.parse_args()
    for part in given.part or PARTS:
        make, more = PARTS[part]
        rows = list(make(data_folder(), given.seeds))
        print(show.table(f"{part}: least and largest of the seeds", [*HEADER, *more], rows))


if __name__ == "__main__":
    main()
