"""Labels made finer, where it is known how far that can go."""

from __future__ import annotations

from itertools import product
from time import monotonic
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.cells import downcoding
from sfumato.attacks.cells.downcoding import Downcoding
from sfumato.attacks.cells.needs import Needs
from sfumato.attacks.field import Field
from sfumato.attacks.withstand import DEADLINE
from sfumato.data.codec import bind
from sfumato.errors import MeasureError
from sfumato.poset.values.text import set_label
from sfumato.protocols import Measurement
from tests.attacks.cells.planted import context, labelled, people, without
from tests.oracle import cells as oracle

SEARCH = (sf.method("mondrian", k=2, columns=["age", "born"]),)


def published(own: sf.Table, **how: Any) -> sf.Release:
    return sf.protect(own, sf.method("mondrian", columns=["age", "born"], **how), seed=1)


def attacked(release: sf.Release, others: sf.Table, **more: Any) -> Measurement:
    pair = release.pair
    given = context(
        pair.original, pair.masked, others, rows=pair.rows, mechanism=release.plan.mechanism, **more
    )
    return Downcoding().measure(given)


def test_narrow_labels_give_their_ends_away() -> None:
    own, others = people(2500, 1), people(2500, 2)
    two = attacked(published(own, k=2), others).detail["trials"]["labels"]
    five = attacked(published(own, k=5), others).detail["trials"]["labels"]
    assert two["advantage"] > five["advantage"] + 0.05
    assert five["interval"][0] > 0.02
    assert two["control"] < two["success"] - 0.1


def test_labels_that_need_nobody_give_nothing_away() -> None:
    # The same search is named, but decades are published whoever is in them.
    own, others = people(2500, 3), people(2500, 4)
    decades = [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in own["age"]]
    found = Downcoding().measure(
        context(own, labelled(own, {"age": decades}), others, mechanism=SEARCH)
    )
    trial = found.detail["trials"]["labels"]
    assert trial["advantage"] == pytest.approx(0.0, abs=0.03)
    assert trial["success"] == pytest.approx(0.1, abs=0.03)


def test_two_people_under_two_values_hold_one_each() -> None:
    # The job follows from the place, which is told of the first of two people: the other's job is
    # what is left. Their class is told apart by an interval that covers everybody.
    own, others = people(2400, 5), people(2400, 6)
    job, rows = own["job"].to_list(), np.random.default_rng(0).permutation(2400).tolist()
    labels, ages, second = [""] * 2400, [""] * 2400, np.zeros(2400, dtype=bool)
    for at in range(0, 2400, 2):
        a, b = rows[at], rows[at + 1]
        labels[a] = labels[b] = set_label(sorted({job[a], job[b]}))
        ages[a] = ages[b] = f"[{10 - at}, {90 + at}]"
        second[b] = True
    released = labelled(own, {"job": labels, "age": ages}).with_columns(
        [own["place"].set(pl.Series(second), None)], suppressed={"place": second}
    )
    step = sf.method("mondrian", k=2, columns=["job", "age"])
    given = context(own, released, others, mechanism=(step,))
    found = Downcoding().measure(given).detail["trials"]["labels"]
    # Two labels each, unless both have one job; nobody's age is learnt.
    same = np.mean([label.startswith("j") for label in labels])
    wanted = (1 - same) / 2
    assert found["success"] == pytest.approx(wanted, abs=0.03)
    # A stranger in the second place has either of the two jobs.
    assert found["control"] == pytest.approx(wanted * 0.75, abs=0.06)
    assert found["naive"] == pytest.approx(wanted / 2, abs=0.05)


def test_it_applies_where_a_search_left_labels() -> None:
    own, others = people(300, 7), people(300, 8)
    release = published(own, k=3)
    pair = release.pair
    with pytest.raises(MeasureError, match="plan has none"):
        Downcoding().measure(context(own, pair.masked, others, rows=pair.rows))
    with pytest.raises(MeasureError, match="plan has none"):
        Downcoding().measure(context(own, without(own, 0.3, ["luck"]), others, mechanism=SEARCH))
    with pytest.raises(MeasureError):
        Downcoding().measure(
            context(own, pair.masked, others, aligned=False, mechanism=release.plan.mechanism)
        )


def test_it_stops_in_time() -> None:
    own = people(300, 9)
    release = published(own, k=3)
    given = context(
        own, release.pair.masked, people(300, 10), rows=release.pair.rows,
        mechanism=release.plan.mechanism,
    )  # fmt: skip
    given.kept[DEADLINE] = monotonic() - 1.0
    with pytest.raises(MeasureError, match="its time was over"):
        Downcoding().measure(given)


@pytest.mark.parametrize("missing", [False, True])
def test_same_seed_same_result_and_nothing_changed(missing: bool) -> None:
    own, others = people(700, 11, missing=missing), people(700, 12, missing=missing)
    release = sf.protect(own, sf.method("mondrian", k=3), seed=1)
    before = own.frame.clone(), release.pair.masked.frame.clone()
    first, again = attacked(release, others), attacked(release, others)
    assert own.frame.equals(before[0])
    assert release.pair.masked.frame.equals(before[1])
    assert first.detail == again.detail
    assert first.detail["trials"]["labels"]["advantage"] > 0
    assert attacked(release, others, seed=6).detail["trials"] != first.detail["trials"]


def test_blocks_change_nothing_and_large_classes_need_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, others = people(700, 13), people(700, 14)
    release = published(own, k=3)
    whole = attacked(release, others).detail
    monkeypatch.setattr(downcoding, "_RECORDS", 50)
    assert attacked(release, others).detail == whole
    monkeypatch.setattr(downcoding, "MEMBERS", 1)
    found = attacked(release, others).detail["trials"]["labels"]
    assert found["in_large_classes"] == 1.0
    assert found["success"] < whole["trials"]["labels"]["success"] - 0.02


def one_column(kind: str, label: str | None = None) -> tuple[Field, sf.Table]:
    """A release of one column, all cells of which show a label."""
    source: dict[str, Any] = {
        "ends": None,
        "rounded": {"kind": "interval", "round_to": 5},
        "sets": {"kind": "value-set"},
        "tree": {
            "kind": "hierarchy",
            "levels": [[f"c{i}", f"r{i // 3}", f"s{i // 6}", "*"] for i in range(12)],
        },
    }[kind]
    values: list[Any] = [f"c{i}" for i in range(12)] if kind == "tree" else list("abcdef")
    if kind in ("ends", "rounded"):
        values = list(range(21, 33))
    own = sf.table({"x": values}, quasi=["x"], posets={"x": source} if source else {})
    released = labelled(own, {"x": [label or str(values[0])] * own.height})
    return Field.of(context(own, released, own), 0), own


@pytest.mark.parametrize("kind", ["ends", "rounded", "sets", "tree"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_label_needs_what_it_came_about_by(kind: str, seed: int) -> None:
    """Groups that meet the needs of a label are those that it is the least upper bound of."""
    rng = np.random.default_rng(seed)
    _, own = one_column(kind)
    values = own["x"].to_list()
    poset = bind(own.schema["x"], own["x"])
    group = rng.choice(np.array(values, dtype=object), rng.integers(2, 4), replace=False)
    label = str(poset.lub(group.tolist()))
    if label == "*":
        return
    field, _ = one_column(kind, label)
    bins, terms = Needs(field, 0).of(0)
    code = dict(zip(values, field.coded().inside[:, 0].tolist(), strict=True))
    under = [v for v in values if poset.leq(v, label)]
    assert sorted(bins.tolist()) == sorted(code[v] for v in under)
    wanted = oracle.pairs_of(label, under, poset.lub)
    for two in product(under, repeat=2):
        if kind == "rounded" and two[0] == two[1]:
            continue  # published as it is, which no need says
        held = np.isin(bins, [code[v] for v in two])
        met = sum(s for u, s in zip(terms.union, terms.sign, strict=True) if not (u & held).any())
        assert (met == 1.0) == (two in wanted), (two, label)


def test_a_label_of_values_that_no_attacked_person_has_needs_nothing() -> None:
    own, others = people(60, 11), people(60, 12)
    place = own["place"].to_list()
    labels = [set_label(sorted({place[i - i % 2], place[i - i % 2 + 1]})) for i in range(60)]
    released = labelled(own, {"place": labels})
    field = Field.of(context(own, released, others), 3)  # three are attacked
    needs = Needs(field, field.names.index("place"))
    found = [needs.of(record) for record in range(released.height)]
    nobody = [terms for bins, terms in found if not bins.size]
    assert nobody
    assert len(nobody) < len(found)
    assert all(terms.union.shape == (1, 0) for terms in nobody)
