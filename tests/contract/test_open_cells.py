"""No linkage finds fewer than classes imply, whatever suppresses or generalizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.data.generalized.label_places import Labels, has_labels
from sfumato.data.pair import Pair
from sfumato.data.schema import SUPPRESSED
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, SfumatoError
from sfumato.registry import Entry
from sfumato.release.plan.step import build
from sfumato.release.records.evidence import Measuring
from tests.contract.catalogue import each, usual
from tests.contract.test_steps import KINDS, run

OPENING = ("local-suppression", "random-suppression", "full-domain", "mondrian", "local-recoding")
"""Some that are sure to leave cells open, lest nothing be tested."""


def released(entry: Entry) -> Pair | None:
    """What a method makes of a table with gaps; None where it leaves no cell open."""
    table = usual(entry, missing=True)
    try:
        outcome = run(entry, table)
    except SfumatoError:
        return None
    names = [name for name in table.schema.quasi if name in outcome.table.schema]
    if not outcome.linked or not any(opens(table, outcome.table, name) for name in names):
        return None
    rows = np.arange(table.height) if outcome.rows is None else outcome.rows
    return Pair(table, outcome.table, rows)


def opens(original: Table, masked: Table, name: str) -> bool:
    labels = has_labels(original.schema[name], masked.schema[name], masked[name])
    return bool(labels or masked.suppressed(name).any())


def covers(pair: Pair, name: str, value: Any, cell: Any, hidden: bool) -> bool:
    """Whether a published cell could be a person's, asked of the column's poset."""
    if hidden or cell == SUPPRESSED or cell is None or value is None:
        return hidden or cell in (SUPPRESSED, value)
    if has_labels(pair.original.schema[name], pair.masked.schema[name], pair.masked[name]):
        if str(value) == cell:
            return True
        return bool(Labels.of(pair.original, name).poset(cell).leq(value, cell))
    return set(cell) <= set(value) if isinstance(cell, list) else bool(cell == value)


def implied(pair: Pair) -> float:
    """The share found by picking at random among the records that look like one's own, for those
    whom their own record fits."""
    names = [name for name in pair.original.schema.quasi if name in pair.masked.schema]
    hidden = {name: pair.masked.suppressed(name) for name in names}
    shown = pair.masked.frame.select(names).rows(named=True)
    looks: list[Hashable] = [
        tuple((str(row[n]), bool(hidden[n][at])) for n in names) for at, row in enumerate(shown)
    ]
    many = Counter(looks)
    people = pair.original.frame.select(names).rows(named=True)
    total = 0.0
    for masked, original in enumerate(pair.rows):
        person, row = people[original], shown[masked]
        fits = all(covers(pair, n, person[n], row[n], bool(hidden[n][masked])) for n in names)
        total += fits / many[looks[masked]]
    return total / pair.original.height


@each(*KINDS)
def test_linkages_find_what_classes_imply(entry: Entry) -> None:
    pair = released(entry)
    assert pair is not None or entry.name not in OPENING
    if pair is None:
        return
    try:
        floor = implied(pair)
    except MeasureError as refused:
        # Labels of its own, which no measure can read.
        assert "cannot be read" in str(refused)
        return
    for name in ("record-linkage", "prl"):
        found = Measuring(0).take(build("measure", name, {}), pair)
        assert found.value >= floor - 1e-9, f"{name}: below {floor}"
        assert found.detail["intruder"]


def test_whom_top_coding_hides_is_looked_for_at_the_top() -> None:
    rng = np.random.default_rng(0)
    people = {"age": rng.integers(18, 96, 200).tolist(), "sex": rng.choice(["f", "m"], 200)}
    original = table(people, quasi=["age", "sex"])
    steps = [sf.method("top-bottom-coding", columns=["age"], top=80), sf.method("mondrian", k=5)]
    pair = sf.protect(original, steps, seed=0, require={"exposure": False}).pair
    marketer = Measuring(0).take(build("measure", "marketer-risk", {}), pair)
    for name in ("record-linkage", "prl", "dbrl"):
        assert Measuring(0).take(build("measure", name, {}), pair).value >= marketer.value - 1e-9
