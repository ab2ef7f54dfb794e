"""The share of records that it pays to attack, beside the oracle."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.people.attacker_economics import NoAttack
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.protocols import Context
from sfumato.risk.attacker_economics import PayingAttacks
from tests.oracle import economics as oracle

codes = st.lists(st.integers(0, 4), min_size=1, max_size=40)


def _context(before: Table, after: Table, reference: Table | None = None) -> Context:
    return Context(Pair.of(before, after, "none"), np.random.default_rng(0), reference=reference)


@given(codes, codes, st.integers(1, 40), st.integers(1, 6))
def test_the_share_is_that_of_the_oracle(
    before: list[int], after: list[int], gain: int, cost: int
) -> None:
    worth = oracle.Worth(Fraction(1), Fraction(1), Fraction(gain), Fraction(cost))
    pays, paid = (
        [oracle.pays(Fraction(f), worth) for f in oracle.alike(rows)] for rows in (after, before)
    )
    tables = [table({"q": rows}, quasi=["q"]) for rows in (before, after)]
    found = PayingAttacks(gain=gain, cost=cost).measure(_context(*tables))
    assert found.value == pytest.approx(sum(pays) / len(pays))
    assert found.baseline == pytest.approx(sum(paid) / len(paid))
    assert found.per_record is not None
    assert found.per_record.tolist() == pays
    assert found.detail["attacked_records"] == sum(pays)
    assert (found.value == 0) == NoAttack(gain=gain, cost=cost).check(tables[1]).met


def test_a_journalist_looks_at_the_population() -> None:
    t = table({"q": list("aab"), "w": [3.0, 2.0, 8.0]}, quasi=["q"], weight=["w"])
    words = {"gain": 10.0, "cost": 2.0}
    # 2 and 1 in the file, 5 and 8 by the weights: 10 / 5 just breaks even.
    assert PayingAttacks(**words).measure(_context(t, t)).value == 1.0
    journalist = PayingAttacks(**words, intruder="journalist")
    assert journalist.measure(_context(t, t)).value == 0.0
    others = table({"q": list("aaabbbc")}, quasi=["q"])
    plain = table({"q": list("aab")}, quasi=["q"])
    found = journalist.measure(_context(plain, plain, others))
    assert found.value == pytest.approx(1 / 3)  # 2 + 3 are enough, 1 + 3 are not
    whole = journalist.model_copy(update={"reference": "population"})
    assert whole.measure(_context(plain, plain, others)).value == 1.0


def test_it_can_be_required_of_a_release() -> None:
    rng = np.random.default_rng(2)
    t = sf.table({"age": rng.integers(20, 60, 60)}, quasi=["age"])
    release = sf.protect(
        t,
        sf.method("mondrian", k=6),
        seed=1,
        require={"paying-attacks": {"gain": 6.0, "cost": 1.0}},
        measures=[sf.method("paying-attacks", gain=60.0, cost=1.0)],
    )
    assert release.evidence.findings[0].value == 0.0
    # What was attacked before masking is the owner's.
    assert release.public().evidence["paying-attacks"].baseline is None


def test_people_are_counted_where_they_have_several_records() -> None:
    """Three people with two records each, two of them alike: nothing hides the third."""
    frame = {"pid": list("aabbcc"), "q": list("xxxxyy"), "w": [2.0, 2, 3, 3, 5, 5]}
    t = table(frame, identifier=["pid"], quasi=["q"], weight=["w"])
    masked = t.without(["pid"])
    words = {"gain": 10.0, "cost": 5.0}
    found = PayingAttacks(**words).measure(_aligned(t, masked))
    assert (found.value, found.baseline) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found.per_record is not None
    assert found.per_record.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.detail["people"]
    assert found.depends is None  # whose the records are is not published
    assert PayingAttacks(**words).measure(_aligned(t, t)).depends == "release"
    assert not NoAttack(**words).check(t).met
    # By the weights 5 and 5 people; of records it would be 10 and 10.
    journalist = PayingAttacks(gain=10.0, cost=2.0, intruder="journalist")
    assert journalist.measure(_aligned(t, masked)).value == 0.0
    dearer = journalist.model_copy(update={"cost": 1.9})
    assert dearer.measure(_aligned(t, masked)).value == 1.0


def test_people_are_counted_beside_a_reference() -> None:
    t = table({"pid": list("aabbcc"), "q": list("xxxxyy")}, identifier=["pid"], quasi=["q"])
    words = {"gain": 10.0, "cost": 4.0, "intruder": "journalist"}
    others = table({"q": list("xyy")}, quasi=["q"])
    # 2 + 1 people and 1 + 2: 10 / 3 is less than 4, and more than 3.
    for cost, share in ((4.0, 0.0), (3.0, 1.0)):
        measure = PayingAttacks(**words | {"cost": cost})
        assert measure.measure(_aligned(t, t.without(["pid"]), others)).value == share
    # The population holds each person once: two and two, as many as the sample or more.
    everybody = table({"q": list("xxyy")}, quasi=["q"])
    whole = PayingAttacks(**words, reference="population")
    assert whole.measure(_aligned(t, t.without(["pid"]), everybody)).value == 1.0


def _aligned(before: Table, after: Table, reference: Table | None = None) -> Context:
    return Context(Pair.of(before, after), np.random.default_rng(0), reference=reference)
