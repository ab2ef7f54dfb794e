"""Decision trees from noisy data: by class, on the noisy values, and on the original.

    .venv/bin/python benchmarks/noisy_trees.py

Agrawal & Srikant's first three functions of age, salary and level of education, 10,000 records,
seeds 0 to 4; ages and salaries get normal noise. Shown is the share of 5,000 other people's exact
records that each tree puts in the right group, the mean of the seeds and the least.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import show
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.release.records.recovered_tree import recover_tree

TRAIN, TEST, SEEDS = 10_000, 5_000, range(5)
NOISE = ["age", "salary"]
FUNCTIONS = ("first", "second", "third")
AMOUNTS = (0.1, 0.25, 0.5, 0.78)


def applicants(n: int, seed: list[int]) -> pl.DataFrame:
    """People, and the groups that the three functions put them in."""
    rng = np.random.default_rng(seed)
    age, salary = rng.uniform(20, 80, n), rng.uniform(20_000, 150_000, n)
    level = rng.integers(0, 5, n)
    third = np.digitize(age, [40, 60])
    low = np.array([50_000, 75_000, 25_000])[third]
    groups = {
        "first": (age < 40) | (age >= 60),
        "second": (salary >= low) & (salary <= low + 50_000),
        "third": (level >= third) & (level <= third + 1 + (third > 0)),
    }
    people = {"age": age, "salary": salary, "level": level}
    return pl.DataFrame(people | {name: np.where(one, "A", "B") for name, one in groups.items()})


def scores(amount: float, seed: int) -> dict[str, list[float]]:
    """For each function: by class, noisy, original."""
    people, others = applicants(TRAIN, [seed, 0]), applicants(TEST, [seed, 1])
    names = [*NOISE, "level"]
    table = sf.table(people, quasi=names, confidential=list(FUNCTIONS))
    noise = sf.method("uncorrelated-noise", amount=amount, columns=NOISE)
    release = sf.protect(table, noise, seed=seed, measures=())
    found = {}
    for target in FUNCTIONS:
        tree = recover_tree(release, target, columns=names)
        truth = others[target].to_numpy()
        rates = [float(np.mean(np.array(tree.predict(sf.table(others, quasi=names))) == truth))]
        for frame in (release.table.frame, people):
            plain = DecisionTreeClassifier(min_samples_leaf=tree.leaf, random_state=0)
            plain.fit(frame.select(names).to_numpy(), frame[target].to_numpy())
            rates.append(float(np.mean(plain.predict(others.select(names).to_numpy()) == truth)))
        found[target] = rates
    return found


def main() -> None:
    """Print the table."""
    rows = []
    for amount in AMOUNTS:
        taken = [scores(amount, seed) for seed in SEEDS]
        for target in FUNCTIONS:
            rates = np.array([one[target] for one in taken])
            cells = [
                f"{mean:.3f} ({least:.3f})"
                for mean, least in zip(rates.mean(0), rates.min(0), strict=True)
            ]
            rows.append([target, f"{amount:g}", *cells])
    header = ["function", "noise", "by class", "noisy values", "original"]
    print(show.table("Right groups of other people, mean (least) of five seeds", header, rows))


if __name__ == "__main__":
    main()
