"""What a measure's figure tells of the original is declared, and the claim holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from sfumato.data.linkage.seen import seen
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.errors import SfumatoError
from sfumato.protocols import Measurement
from sfumato.registry import Entry
from sfumato.release.plan.step import Step, build
from sfumato.release.records.evidence import Measuring
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters, suited
from tests.contract.tables import given
from tests.contract.test_judges import strangers

STEPS = {
    "mondrian": Step(build("partitioner", "mondrian", {"k": 3})),
    "local-suppression": Step(build("method", "local-suppression", {"k": 3})),
    "top-bottom-coding": Step(
        build("method", "top-bottom-coding", {"columns": ["age", "pay"], "top_count": 3})
    ),
    "set-mondrian": Step(build("partitioner", "set-mondrian", {"k": 3})),
}


def table_for(entry: Entry) -> Table:
    return given(suited(entry))


def release_of(entry: Entry, how: str) -> Pair:
    table = table_for(entry)
    return Pair.of(table, STEPS[how].run(table, stream(0, 1, "x")).table)


def ways(entry: Entry) -> list[str]:
    if needs_sets(entry):
        return ["set-mondrian"]
    return ["mondrian", "local-suppression", "top-bottom-coding"]


def figure(entry: Entry, pair: Pair) -> Measurement | None:
    """The figure of the original as the release lets anyone see it."""
    built = build(entry.kind, entry.name, parameters(entry, pair.original))
    others = strangers(pair.original) if built.needs_reference else None
    try:
        return Measuring(0, reference=others).take(built, seen(pair))
    except SfumatoError:
        return None


def altered(pair: Pair, row: int, seed: int) -> Pair | None:
    """The pair with hidden cells of one original record altered at will; None if it hides none."""
    rng = np.random.default_rng(seed)
    changed = []
    for column in pair.original.schema:
        before, after = pair.original[column.name], pair.masked[column.name]
        hidden = bool(pair.masked.suppressed(column.name)[row])
        numeric = before.dtype.is_numeric() and after.dtype.is_numeric()
        # What stands at the published end may be anything beyond it.
        extreme = numeric and after[row] == after.max() != before[row]
        if not (hidden or extreme) or not (numeric or before.dtype == pl.String):
            continue
        values = before.to_list()
        if extreme:
            values[row] = values[row] + int(rng.integers(1, 10**6))
        elif numeric:
            values[row] = before.dtype.to_python()(rng.integers(-(10**6), 10**6))
        else:
            values[row] = f"nobody else's {rng.integers(1000)}"
        changed.append(pl.Series(column.name, values, dtype=before.dtype))
    if not changed:
        return None
    return Pair(pair.original.with_columns(changed), pair.masked, pair.rows)


def plain(found: Measurement) -> Any:
    words = found.to_dict()
    if found.depends == "release":
        words.pop("baseline", None)  # before masking; it has its own rule
    return words


@each("measure", "attack")
def test_every_measure_says_what_its_figure_depends_on(entry: Entry) -> None:
    declared = entry.load()
    assert declared.depends in ("release", "domain", "records", "values")
    assert declared.decimals is None or declared.decimals <= 4


@each("measure", "attack")
def test_what_depends_on_the_release_alone_says_nothing_of_what_it_hides(entry: Entry) -> None:
    if entry.load().depends not in ("release", "domain"):
        return
    tried = 0
    for how in ways(entry):
        pair = release_of(entry, how)
        found = figure(entry, pair)
        if found is None or found.depends not in ("release", "domain"):
            continue
        hiding = [row for row in range(pair.original.height) if altered(pair, row, 0) is not None]
        for seed, row in enumerate(hiding[:: max(1, len(hiding) // 6)]):
            other = altered(pair, row, seed)
            assert other is not None
            again = figure(entry, other)
            assert again is not None
            assert plain(again) == plain(found), how
            tried += 1
    assert tried


@each("measure", "attack")
def test_one_record_moves_a_share_of_records_by_a_few_nths(entry: Entry) -> None:
    if entry.load().depends != "records":
        return
    pair = release_of(entry, ways(entry)[0])
    found = figure(entry, pair)
    assert found is not None
    low, high = entry.load().bounds
    assert math.isfinite(high - low)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        order = np.arange(pair.original.height)
        order[int(rng.integers(order.size))] = int(rng.integers(order.size))
        other = figure(entry, Pair(pair.original.take(order), pair.masked, pair.rows))
        assert other is not None
        assert abs(other.value - found.value) <= 5 * (high - low) / order.size
