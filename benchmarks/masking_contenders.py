"""Inputs and rows of the tables of `masking_peers.py`, which says what is compared and timed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import generate
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import show
from environment import Ran, run
from masking_sfumato_worker import RELEASES

Row = dict[str, Any]
Shares = dict[str, dict[str, float]]
"""For each column, the share of each category."""

PRAM_COLUMNS = list(generate.TEXT)
SIZES, ERRORS = (30, 12, 50, 8, 20, 100, 5), (0.05, 0.1, 0.15, 0.2, 0.1, 0.3, 0.05)
"""Categories of the seven columns to link by, and the chance that a value is drawn anew."""
EVALUATORS = ("linkability", "singling-out", "inference")
_SHORT = 1.0
_REPEATS = 3
_COMPILING = 600.0


@dataclass
class Bench:
    """What the command line asked for, and the versions that were met."""

    folder: Path
    quick: bool
    limit: float
    gibibytes: float
    pythons: dict[str, Path]
    """The interpreter for each peer that could be installed."""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        return self.folder / "out"

    def ours(self, task: str, source: Path, **options: Any) -> Ran:
        """Sfumato's side, in a process of its own."""
        return self._fastest("sfumato", task, source, options)

    def peer(self, name: str, source: Path, **options: Any) -> Ran:
        """One peer, in its environment."""
        if name not in self.pythons:
            return Ran(failure="not installed")
        return self._fastest(name, name, source, options)

    def compile(self, who: str, task: str, source: Path, **options: Any) -> None:
        """Let a contender compile what it then keeps: a fresh one takes minutes for that."""
        if who == "sfumato" or who in self.pythons:
            self._once(who, task, source, options, limit=_COMPILING)

    def _fastest(self, who: str, task: str, source: Path, options: Row) -> Ran:
        best: Ran | None = None
        for _ in range(_REPEATS):
            ran = self._once(who, task, source, options, limit=self.limit)
            if not ran.ok:
                return ran
            if best is None or ran.found["wall"] < best.found["wall"]:
                best = ran
            if self.quick or ran.found["wall"] > _SHORT:
                break
        assert best is not None
        found = best.found["versions"]
        beside = ", ".join(f"{name} {v}" for name, v in found.items() if name != who)
        self.versions[who] = f"{who} {found[who]} ({beside})"
        return best

    def _once(self, who: str, task: str, source: Path, options: Row, limit: float) -> Ran:
        python = sys.executable if who == "sfumato" else self.pythons[who]
        script = f"masking_{'sfumato' if who == 'sfumato' else 'peer'}_worker.py"
        words = json.dumps({**options, "gibibytes": self.gibibytes})
        self.target.unlink(missing_ok=True)
        return run(python, script, [task, str(source), str(self.target), words], limit=limit)


def costs(contender: str, ran: Ran) -> Row:
    """What every row has."""
    print(f"  {contender}: {ran.failure or show.seconds(ran.found['wall'])}", file=sys.stderr)
    return {
        "contender": contender,
        "s": ran.found.get("wall"),
        "cpu_s": ran.found.get("cpu"),
        "peak_bytes": ran.found.get("peak"),
        "failure": ran.failure,
    }


def microaggregation(bench: Bench) -> Iterator[Row]:
    """Optimal univariate groups."""
    source = bench.folder / "values.npy"
    np.save(source, np.arange(1_000.0))
    for k in (5, 100):
        for stable in (1, 2):
            bench.compile("microagg1d", "microagg1d", source, k=k, stable=stable)
        bench.compile("sfumato", "partition", source, k=k)
    for n in (20_000,) if bench.quick else (100_000, 1_000_000):
        values = np.random.default_rng(1).lognormal(size=n)
        np.save(source, values)
        for k in (5, 100):
            kernel: Row = {}
            for contender, ask, task, more in (
                ("sfumato kernel", bench.ours, "kernel", {}),
                ("sfumato optimal-univariate", bench.ours, "partition", {}),
                ("microagg1d", bench.peer, "microagg1d", {"stable": 1}),
                ("microagg1d, stable=2", bench.peer, "microagg1d", {"stable": 2}),
            ):
                ran = ask(task, source, k=k, **more)
                row = {"values": n, "k": k, **costs(contender, ran)}
                if ran.ok:
                    labels = np.load(bench.target)
                    row |= {"sse": sse(values, labels), "smallest": smallest(labels)}
                    kernel = kernel or row
                    row["times_kernel"] = row["s"] / kernel["s"]
                    row["sse_above"] = row["sse"] / kernel["sse"] - 1
                yield row


def sse(values: np.ndarray, labels: np.ndarray) -> float:
    """Squared distances to the means of the groups."""
    _, group = np.unique(labels, return_inverse=True)
    means = np.bincount(group, weights=values) / np.bincount(group)
    return float(((values - means[group]) ** 2).sum())


def smallest(labels: np.ndarray) -> int:
    """Records of the smallest group."""
    return int(np.unique(labels, return_counts=True)[1].min())


def pram(bench: Bench) -> Iterator[Row]:
    """Post-randomization."""
    for n in (1_000,) if bench.quick else (10_000, 100_000):
        source = bench.folder / "people.arrow"
        generate.write(n, "mixed", source)
        before = _shares(source)
        ran = bench.peer("pram", source, columns=PRAM_COLUMNS, m=0.8, alpha=0.5)
        yield {"records": n, **costs("pram", ran), **_pram_worth(bench, ran, before, {})}
        if not ran.ok:
            continue
        matrices = ran.found["matrices"]
        bias = _expected(before, matrices)
        change = {
            name: sum(f * (1 - matrices[name][c][c]) for c, f in before[name].items())
            for name in PRAM_COLUMNS
        }
        ran = bench.ours("pram", source, columns=PRAM_COLUMNS, matrices=matrices)
        worth = _pram_worth(bench, ran, before, bias)
        yield {"records": n, **costs("sfumato, the peer's matrices", ran), **worth}
        ran = bench.ours("pram", source, columns=PRAM_COLUMNS, change=change)
        worth = _pram_worth(bench, ran, before, before)
        yield {"records": n, **costs("sfumato, invariant", ran), **worth}


def suda(bench: Bench) -> Iterator[Row]:
    """The fewest columns in which each record is unique."""
    source = bench.folder / "people.arrow"
    for n in (1_000,) if bench.quick else (10_000, 100_000):
        generate.write(n, "mixed", source)
        yield from fewest_columns(bench, source, n, 3)


def fewest_columns(bench: Bench, source: Path, n: int, most: int) -> Iterator[Row]:
    """The fewest columns in which each record is unique, of at most so many."""
    first: Row = {}
    for contender, ask, task in (
        ("sfumato suda", bench.ours, "suda"),
        ("sfumato uniques, by subset", bench.ours, "uniques"),
        ("suda", bench.peer, "suda"),
    ):
        ran = ask(task, source, most=most)
        row = {"records": n, **costs(contender, ran)}
        if ran.ok:
            fewest = np.load(bench.target)
            first = first or {**row, "fewest": fewest}
            row["same"] = bool(np.array_equal(first["fewest"], fewest))
            row["uniques"] = np.bincount(fewest, minlength=most + 1)[1:].tolist()
            row["times"] = row["cpu_s"] / first["cpu_s"]
        yield row


def synthetic(bench: Bench) -> Iterator[Row]:
    """Risk by anonymeter's evaluators and by record linkage."""
    n, attacks = (1_500, 100) if bench.quick else (10_000, 1_000)
    everybody = generate.adult_like(2 * n)
    people, others, released = (
        bench.folder / f"{name}.arrow" for name in ("people", "others", "released")
    )
    _write(everybody.slice(0, n), people)
    _write(everybody.slice(n, n), others)
    names = everybody.column_names
    peer = {
        "people": str(people), "others": str(others), "released": str(released),
        "known": [names[:4], names[4:]], "secret": "occupation", "n_cols": 4,
    }  # fmt: skip
    for number, release in enumerate(RELEASES):
        made = bench.ours("release", people, release=release)
        if not made.ok:
            yield {"release": release, **costs("sfumato", made)}
            continue
        bench.target.replace(released)
        for evaluator in EVALUATORS:
            asked = {**peer, "evaluator": evaluator}
            if not number:
                bench.compile("anonymeter", "anonymeter", people, **asked, attacks=10)
            ran = bench.peer("anonymeter", people, **asked, attacks=attacks)
            yield _risk(release, f"anonymeter {evaluator}", ran, "strangers")
        for measure in ("record-linkage", "dbrl"):
            ran = bench.ours(
                "risk", people, others=str(others), release=release, measure=measure,
                attacks=attacks,
            )  # fmt: skip
            yield _risk(release, f"sfumato {measure}", ran, "at_least_as_close")


def linkage(bench: Bench) -> Iterator[Row]:
    """Fellegi-Sunter on all pairs."""
    over: set[str] = set()
    for n in (300,) if bench.quick else (1_000, 2_000, 4_000, 10_000):
        both = persons_twice(n)
        source = bench.folder / "codes.npy"
        np.save(source, both)
        m, u = _truth(both)
        for contender in ("sfumato prl", "recordlinkage", "splink"):
            if contender in over:
                continue
            own = contender == "sfumato prl"
            ran = bench.ours("prl", source) if own else bench.peer(contender, source)
            if not ran.ok:
                over.add(contender)
            row = {"records": n, **costs(contender, ran)}
            if ran.ok:
                found = ran.found
                row |= {
                    "m_error": float(np.abs(np.array(found["m"]) - m).max()),
                    "u_error": float(np.abs(np.array(found["u"]) - u).max()),
                    "matches": found["share"] * n * n,
                    "right": found["right"],
                }
            yield row


def persons_twice(n: int) -> np.ndarray:
    """(2, n, 7) codes: the same persons in both files, some values of the second drawn anew."""
    rng = np.random.default_rng(7)
    first = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    second = first.copy()
    for j, (size, error) in enumerate(zip(SIZES, ERRORS, strict=True)):
        anew = rng.random(n) < error
        second[anew, j] = rng.integers(0, size, int(anew.sum()))
    return np.stack([first, second])


def _truth(both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """m and u, the true matches known."""
    n = both.shape[1]
    m, u = [], []
    for a, b in zip(both[0].T, both[1].T, strict=True):
        size = int(max(a.max(), b.max())) + 1
        equal = int(np.bincount(a, minlength=size) @ np.bincount(b, minlength=size))
        own = int((a == b).sum())
        m.append(own / n)
        u.append((equal - own) / (n * n - n))
    return np.array(m), np.array(u)


def _risk(release: str, contender: str, ran: Ran, control: str) -> Row:
    row = {"release": release, **costs(contender, ran)}
    found = ran.found
    if "refused" in found:
        # Nothing was measured, so that there are no seconds either.
        return row | {"s": None, "cpu_s": None, "peak_bytes": None, "refused": found["refused"]}
    keys = ("risk", "interval", "success", "guessing")
    return row | {key: found.get(key) for key in keys} | {"control": found.get(control)}


def _shares(path: Path) -> Shares:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        frame = pl.DataFrame(reader.read_all())
    return {
        name: dict(frame[name].cast(pl.String).value_counts(normalize=True).iter_rows())
        for name in PRAM_COLUMNS
    }


def _expected(before: Shares, matrices: dict[str, dict[str, dict[str, float]]]) -> Shares:
    """The frequencies that the matrices lead to, on average."""
    return {
        name: {to: sum(f * rows[c].get(to, 0.0) for c, f in before[name].items()) for to in rows}
        for name, rows in matrices.items()
    }


def _apart(before: Shares, after: Shares) -> float:
    """Total variation distance, averaged over the columns."""
    found = []
    for name, shares in before.items():
        keys = set(shares) | set(after[name])
        gaps = [abs(shares.get(key, 0.0) - after[name].get(key, 0.0)) for key in keys]
        found.append(sum(gaps) / 2)
    return float(np.mean(found))


def _pram_worth(bench: Bench, ran: Ran, before: Shares, expected: Shares) -> Row:
    if not ran.ok:
        return {}
    source = bench.folder / "people.arrow"
    with pa.OSFile(str(source)) as one, pa.OSFile(str(bench.target)) as other:
        pair = [pl.DataFrame(pa.ipc.open_file(file).read_all()) for file in (one, other)]
    changed = [
        (pair[0][name].cast(pl.String) != pair[1][name].cast(pl.String)).to_numpy().mean()
        for name in PRAM_COLUMNS
    ]
    row: Row = {"changed": float(np.mean(changed)), "drawn": _apart(before, _shares(bench.target))}
    row["expected"] = _apart(before, expected or _expected(before, ran.found["matrices"]))
    if recovered := ran.found.get("recovered"):
        total = {name: sum(counts.values()) for name, counts in recovered.items()}
        back = {
            name: {key: count / total[name] for key, count in counts.items()}
            for name, counts in recovered.items()
        }
        row["recovered"] = _apart(before, back)
    return row


def _write(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)


TABLES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "microaggregation": microaggregation,
    "pram": pram,
    "suda": suda,
    "synthetic": synthetic,
    "linkage": linkage,
}
