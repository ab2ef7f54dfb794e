"""Runs Sfumato's side of one comparison with a masking peer and reports what it took.

    python masking_sfumato_worker.py kernel INPUT.npy OUTPUT.npy '{"k": 5}'

Reading the input and writing the output are not timed. The same work is done once on a few records
before the clock starts, so that compiled kernels are loaded.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
from gauge import Gauge
from masking_peer_worker import bound_memory, save

import sfumato as sf
from sfumato.errors import MeasureError
from sfumato.kernels.micro.ordering import optimal_univariate
from sfumato.kernels.uniques.minimal import minimal_uniques
from sfumato.kernels.uniques.scores import worth
from sfumato.release.plan.plan import Output, Plan
from sfumato.risk.uniqueness.cells import column_codes
from sfumato.rng import stream

_WARM = 400

RELEASES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "the originals": [],
    "swapped, pram": [("rank-swap", {"p": 5.0}), ("pram", {"change": 0.1})],
    "gaussian-copula": [("gaussian-copula", {})],
}
"""What the risk of synthetic and of masked records is measured on."""


def kernel(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """Optimal univariate microaggregation: an array in, labels out."""
    values, k = np.load(source), options["k"]
    optimal_univariate(values[: max(_WARM, 3 * k)], k)
    with gauge:
        labels = optimal_univariate(values, k)
    save(labels, target)
    return {}


def partition(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """The same by its name, from a data frame."""
    frame = pl.DataFrame({"value": np.load(source)})
    search = sf.method("optimal-univariate", k=options["k"])

    def work(given: pl.DataFrame) -> Any:
        return sf.partition(sf.table(given, quasi=["value"]), search, seed=1)

    work(frame.head(max(_WARM, 3 * options["k"])))
    with gauge:
        found = work(frame)
    save(found.labels, target)
    return {}


def pram(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """PRAM by given matrices, or by invariant ones that change a given share of each column."""
    frame = pl.DataFrame(_read(source)).select(options["columns"])
    if options.get("matrices"):
        methods = [sf.method("pram", matrix=options["matrices"])]
    else:
        methods = [
            sf.method("pram", columns=[name], change=share)
            for name, share in options["change"].items()
        ]

    def work(given: pl.DataFrame) -> tuple[sf.Table, list[Any]]:
        table, facts = sf.table(given, quasi=options["columns"]), []
        for number, method in enumerate(methods):
            out = method.mask(table, stream(1, number + 1, "pram"))
            table = out.table
            facts.append(out.facts)
        return table, facts

    # By another matrix: few records may not let as much change as is asked.
    few = sf.table(frame.head(_WARM), quasi=options["columns"])
    sf.method("pram").mask(few, stream(1, 1, "pram"))
    with gauge:
        table, facts = work(frame)
    _write(table.frame, target)
    if not options.get("matrices"):
        return {}
    return {"recovered": methods[0].recover(table, facts[0])["frequencies"]}


def suda(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """The same as `uniques`, by the measure `suda`, with scores and chances."""
    frame, most = pl.DataFrame(_read(source)), options["most"]

    def work(given: pl.DataFrame) -> sf.Table:
        table = sf.table(given, quasi=given.columns)
        sf.measure("suda", table, table, size=most)
        return table

    work(frame.head(_WARM))
    with gauge:
        table = work(frame)
    codes = column_codes(table, table.names)
    smallest = minimal_uniques(codes, most, worth(len(codes), most)).smallest
    save(np.bitwise_count(smallest).astype(np.int64), target)
    return {}


def uniques(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """The fewest columns in which each record is unique, by `uniques` on every subset."""
    frame = pl.DataFrame(_read(source))

    def work(given: pl.DataFrame) -> np.ndarray:
        fewest = np.zeros(given.height, dtype=np.int64)
        for size in range(1, options["most"] + 1):
            for some in itertools.combinations(given.columns, size):
                table = sf.table(given.select(some), quasi=list(some))
                alone = sf.measure("uniques", table, table).per_record
                fewest[(fewest == 0) & (alone == 1)] = size
        return fewest

    work(frame.head(_WARM))
    with gauge:
        found = work(frame)
    save(found, target)
    return {}


def release(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """One of RELEASES, in the order of the originals where there is one."""
    people = _people(source)
    _released(people.take(np.arange(_WARM)), options["release"])
    with gauge:
        found = _released(people, options["release"])
    _write(found.frame, target)
    return {}


def risk(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """One measure of linkage on one of RELEASES, with non-participants as a control."""
    people, others = _people(source), _people(options["others"])
    masked = _released(people, options["release"])
    align = "none" if options["release"] == "gaussian-copula" else "position"

    def work(original: sf.Table, published: sf.Table, sample: int) -> Any:
        return sf.measure(
            options["measure"], original, published, align, seed=1, reference=others, sample=sample
        )

    few = np.arange(_WARM)
    try:
        work(people.take(few), masked.take(few), 10)
        with gauge:
            found = work(people, masked, options["attacks"])
    except MeasureError as error:
        return {"refused": str(error)}
    return {
        "risk": float(found),
        "interval": list(found.interval),
        "success": float(found),
        "guessing": found.baseline,
        "at_least_as_close": found.detail["non_participants"]["at_least_as_close"],
    }


def prl(source: str, target: str, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """Fellegi-Sunter linkage of all records by exact agreement, the share of matches estimated."""
    both = np.load(source)
    names = [f"c{j}" for j in range(both.shape[2])]
    original, masked = (pl.DataFrame(codes, schema=names) for codes in both)

    def work(a: pl.DataFrame, b: pl.DataFrame) -> Any:
        return sf.measure(
            "prl",
            sf.table(a, quasi=names),
            sf.table(b, quasi=names),
            agreement="exact",
            ties="share",
            matches="estimated",
            sample=0,
        )

    work(original.head(_WARM), masked.head(_WARM))
    with gauge:
        found = work(original, masked)
    estimate = found.detail["estimates"][0]
    return {
        "m": estimate["m"],
        "u": estimate["u"],
        "share": estimate["share_of_matches"],
        "right": float(found),
    }


def _people(source: str) -> sf.Table:
    frame = pl.DataFrame(_read(source))
    return sf.table(frame, quasi=frame.columns)


def _released(people: sf.Table, name: str) -> sf.Table:
    steps = tuple(sf.step(sf.method(use, **words)) for use, words in RELEASES[name])
    if not steps:
        return people
    plan = Plan(steps=steps, output=Output(shuffle=False))
    return sf.protect(people, plan, seed=1, measures=()).table


def _read(source: str) -> pa.Table:
    with pa.OSFile(source) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def _write(frame: pl.DataFrame, target: str) -> None:
    # Plain strings: the peers read with other versions of Arrow and pandas.
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_file(target, table.schema) as sink:
        sink.write_table(table)


Work = Callable[[str, str, dict[str, Any], Gauge], dict[str, Any]]
TASKS: dict[str, Work] = {
    "kernel": kernel,
    "partition": partition,
    "pram": pram,
    "suda": suda,
    "uniques": uniques,
    "release": release,
    "risk": risk,
    "prl": prl,
}


def main() -> None:
    task, source, target, words = sys.argv[1:5]
    options = json.loads(words)
    bound_memory(options["gibibytes"])
    # Lazy names count as imports, so they are touched before the baseline is taken.
    _ = sf.table, sf.protect, sf.method, sf.partition, sf.measure, sf.step
    gauge = Gauge()
    found = TASKS[task](source, target, options, gauge)
    versions = {one: version(one) for one in ("sfumato", "numpy", "numba", "polars")}
    gauge.report(versions=versions, **found)


if __name__ == "__main__":
    main()
