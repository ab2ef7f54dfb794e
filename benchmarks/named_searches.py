"""Searches that Podgursky names and does not run, beside those that he runs and ours: loss, time.

    .venv/bin/python benchmarks/named_searches.py [tables] [hashing] [hierarchies] [km] [--k 5 10]

tables: one-pass k-means (Lin & Wei 2008) and its hybrid on Adult, by NCP with Adult's hierarchies.
hashing: CLUSTER and K1 with hash keys of single items (Gionis, Indyk & Motwani 1999), on Adult.
hierarchies: He & Naughton's top-down search, on groceries with their own hierarchy, web views with
one of fan-out 5, and Adult's columns. km: generalization (Terrovitis, Mamoulis & Kalnis 2008) and
suppression on the same sets. There NCP is the mean over all items of the records: 0 for one that is
shown, the share of all items that its lowest shown group has, 1 where nothing is shown of it.
Every release is counted again from what is published.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
from adult import QUASI
from casc import data_folder
from local_recoding import adult
from local_recoding import recount as smallest_class
from set_data import adult_sets
from sets_curves import published, recount, run

import sfumato as sf
from sfumato.anonymity.sets.base import Sets
from sfumato.criteria.sets import KmAnonymity
from sfumato.data.sets.enumeration import enumerate_sets
from sfumato.data.sets.items import item_parents
from sfumato.data.sets.table import SetTable
from sfumato.data.table import Table
from sfumato.release.plan.step import build

FANOUT = 5
SEEDS = (0, 1, 2)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """A result and its processor seconds."""
    start = time.process_time()
    return call(), time.process_time() - start


def tables(ks: Iterable[int]) -> None:
    """Groups of records, generalized."""
    table = adult(trees=True)
    small = table.take(np.arange(500))
    print(f"\nAdult, {table.height:,} records, hierarchies: NCP and processor seconds")
    for use in ("mondrian", "mdav", "k-member", "one-pass-k-means", "hybrid-k-means"):
        sf.partition(small, sf.method(use, k=5), seed=0)  # compiled
        for k in ks:
            found, cpu = timed(lambda: sf.partition(table, sf.method(use, k=k), seed=0))  # noqa: B023
            rng = np.random.default_rng(0)
            masked = sf.method("generalize").apply(table, found, QUASI, rng).table
            if smallest_class(masked)[0] < k:
                raise SystemExit(f"{use} broke its promise")
            loss = sf.measure("ncp", table, masked).value
            print(f"{use:20} k={k:<4} NCP {loss:.4f}   {cpu:8.2f} s", flush=True)


def hashing(ks: Iterable[int]) -> None:
    """The same searches with two kinds of hash keys."""
    sets = adult_sets()
    print(f"\nAdult as sets, {len(sets):,} records: utility kept, mean of seeds, and seconds")
    for name in ("CLUSTER_LSH", "CLUSTER_LSH, Hamming", "K1_LSH", "K1_LSH, Hamming"):
        run(sets.take(np.arange(2000)), name, 2, 0)
        for k in ks:
            rows = [run(sets, name, k, seed) for seed in SEEDS]
            kept = np.mean([100 * row["utility"] for row in rows])
            cpu = np.median([row["cpu"] for row in rows])
            print(f"{name:24} k={k:<4} {kept:6.1f} %   {cpu:6.2f} s", flush=True)


def closed(lists: pl.Series, parents: dict[str, str]) -> Table:
    """Sets with all that stands above their items, worth what each level adds to NCP."""
    worth = ncp_steps({*lists.explode().drop_nulls().to_list()}, parents)
    poset = {"kind": "items", "parents": parents, "utilities": worth}
    table = sf.table(pl.DataFrame({"s": lists}), quasi=["s"], posets={"s": poset})
    return enumerate_sets(table, ["s"], into="s")


def ncp_steps(items: set[str], parents: dict[str, str]) -> dict[str, float]:
    """By how much NCP falls when an item is shown below its parent."""
    leaves = items - set(parents.values())
    below: dict[str, int] = dict.fromkeys([*items, *parents, *parents.values()], 0)
    for leaf in leaves:
        at: str | None = leaf
        while at is not None:
            below[at] += 1
            at = parents.get(at)
    loss = {item: 0.0 if item in leaves else n / len(leaves) for item, n in below.items()}
    return {item: loss.get(parents.get(item, ""), 1.0) - loss[item] for item in loss}


def fanned(items: list[str]) -> dict[str, str]:
    """A hierarchy of even fan-out over items in their order, but for its root."""
    found: dict[str, str] = {}
    level, height = items, 0
    while len(level) > FANOUT:
        height += 1
        above = [f"g{height}.{i // FANOUT}" for i in range(len(level))]
        found |= dict(zip(level, above, strict=True))
        level = list(dict.fromkeys(above))
    return found


def hierarchical() -> Iterable[tuple[str, Table]]:
    """Sets with hierarchies."""
    home = data_folder() / "setvalued"
    goods = pl.read_csv(home / "groceries_items.csv")
    up: dict[str, str] = {}
    for item, group, kind in goods.select("item", "level2", "level1").rows():
        up |= {str(item): f"2:{group}", f"2:{group}": f"1:{kind}"}
    for name in ("groceries", "bms_webview1"):
        raw = (home / f"{name}.dat").read_text().splitlines()
        lists = pl.Series("s", [sorted(set(line.split())) for line in raw])
        everything = sorted({*lists.explode().drop_nulls().to_list()}, key=int)
        yield name, closed(lists, up if name == "groceries" else fanned(everything))
    found = enumerate_sets(adult(trees=True), list(QUASI), into="s")
    poset = found.schema["s"].poset
    assert poset is not None
    yield "adult", closed(found["s"], dict(poset.above()))


def seen(table: Table) -> tuple[Sets, np.ndarray]:
    """Sets as searches see them, and each item's NCP."""
    view = SetTable.of(table, "s")
    column = table.schema["s"]
    assert column.poset is not None
    worth = column.poset.utilities_of(view.names.to_list())
    assert worth is not None
    parents = item_parents(column, view.names)
    loss = 1.0 - worth
    for item in range(loss.size):
        at = parents[item]
        while at >= 0:
            loss[item] -= worth[at]
            at = parents[at]
    return Sets(view.starts, view.items, worth, parents), np.maximum(loss, 0.0)


def ncp(sets: Sets, loss: np.ndarray, shown: tuple[np.ndarray, np.ndarray]) -> float:
    """The mean loss of the records' own items, by the lowest that is shown of each one's line."""
    assert sets.parents is not None
    row = np.repeat(np.arange(len(sets)), np.diff(sets.starts))
    held = np.unique(row * sets.d + sets.items)
    told = np.repeat(np.arange(len(sets)), np.diff(shown[0])) * sets.d + shown[1]
    inner = np.isin(np.arange(sets.d), sets.parents)
    own = ~inner[sets.items]
    assert held.size == sets.items.size
    row, at = row[own], sets.items[own].astype(np.int64)
    found = np.ones(at.size)
    left = np.ones(at.size, dtype=bool)
    while left.any():
        hit = left & np.isin(row * sets.d + at, told)
        found[hit] = loss[at[hit]]
        left &= ~hit & (sets.parents[at] >= 0)
        at = np.where(left, sets.parents[at], at)
    return float(found.mean())


def hierarchies(ks: Iterable[int]) -> None:
    """k-anonymity of sets that hold what stands above their items."""
    for data, table in hierarchical():
        sets, loss = seen(table)
        print(f"\n{data}: {len(sets):,} sets, {sets.d:,} items and groups: NCP and seconds")
        for use in ("set-top-down", "set-mondrian", "two-phase", "set-cluster"):
            build("partitioner", use, {"k": 5}).search(
                sets.take(np.arange(1000)), np.random.default_rng(0)
            )
            for k in ks:
                search = build("partitioner", use, {"k": k})
                found, cpu = timed(lambda: search.search(sets, np.random.default_rng(0)))  # noqa: B023
                shown = published(sets, found)
                if recount(sets, shown, k, False) < k:
                    raise SystemExit(f"{use} broke its promise")
                print(
                    f"{use:20} k={k:<4} NCP {ncp(sets, loss, shown):.4f}   {cpu:8.2f} s", flush=True
                )


def km(ks: Iterable[int]) -> None:
    """k^m-anonymity, m = 2."""
    for data, table in hierarchical():
        sets, loss = seen(table)
        print(f"\n{data}, m = 2: NCP and seconds")
        for use in ("km-generalization", "km-suppression"):
            method = build("method", use, {"k": 5, "m": 2})
            method.mask(table.take(np.arange(500)), np.random.default_rng(0))
            for k in ks:
                method = build("method", use, {"k": k, "m": 2})
                found, cpu = timed(lambda: method.mask(table, np.random.default_rng(0)))  # noqa: B023
                if not KmAnonymity(k=k, m=2).check(found.table).met:
                    raise SystemExit(f"{use} broke its promise")
                view = SetTable.of(found.table, "s")
                names = {name: at for at, name in enumerate(SetTable.of(table, "s").names)}
                number = np.array([names[name] for name in view.names], dtype=np.int64)
                lost = ncp(sets, loss, (view.starts, number[view.items]))
                print(f"{use:20} k={k:<4} NCP {lost:.4f}   {cpu:8.2f} s", flush=True)


PARTS = {"tables": tables, "hashing": hashing, "hierarchies": hierarchies, "km": km}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("parts", nargs="*", default=list(PARTS), choices=[*PARTS, []])
    words.add_argument("--k", type=int, nargs="+", default=[5, 10, 50])
    given = words.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for part in given.parts or PARTS:
        PARTS[part](given.k)


if __name__ == "__main__":
    main()
