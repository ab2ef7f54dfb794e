"""What a release pays its publisher, beside the oracle."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError
from sfumato.protocols import Context, Measurement
from sfumato.utility.generalized.payout import Payout
from tests.contract.tables import given as given_table
from tests.contract.test_judges import masked as masked_table
from tests.oracle import economics as oracle

LABELS = [
    ("[20, 30]", Fraction(1, 2)), ("[20, 25]", Fraction(1, 4)), ("25", Fraction(0)),
    ("*", Fraction(1)),
]  # fmt: skip
AMOUNTS = st.tuples(st.integers(1, 99), st.integers(0, 99), st.integers(1, 99), st.integers(1, 9))
VALUES = [20, 20, 25, 30, 40]


def _original(n: int) -> Table:
    return table({"age": [VALUES[i % 5] for i in range(n)]}, quasi=["age"])


def _taken(measure: Payout, original: Table, masked: Table) -> Measurement:
    rows = np.arange(masked.height)
    return measure.measure(Context(Pair(original, masked, rows), np.random.default_rng(0)))


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=25), st.integers(5, 9), AMOUNTS)
def test_the_figure_is_that_of_the_oracle(
    rows: list[tuple[str, Fraction]], more: int, amounts: tuple[int, int, int, int]
) -> None:
    worth = oracle.Worth(*map(Fraction, amounts))
    words = dict(zip(worth._fields, map(float, amounts), strict=True))
    original = _original(len(rows) + more)
    frame = pl.DataFrame({"age": [label for label, _ in rows]})
    masked = Table(frame, Schema(c.with_(generalized=True) for c in original.schema))
    alike = map(Fraction, oracle.alike([label for label, _ in rows]))
    each = [(lost, f) for (_, lost), f in zip(rows, alike, strict=True)]
    paid = [oracle.payout(lost, f, worth) for lost, f in each]
    found = _taken(Payout(**words), original, masked)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx([float(one) for one in paid])
    # Records that were dropped pay nothing.
    assert found.value == pytest.approx(float(sum(paid) / len(original.frame) / worth.benefit))
    assert found.private["total"] == pytest.approx(float(sum(paid)))
    pays = [oracle.pays(f, worth) and lost < 1 for lost, f in each]
    assert found.detail["attacked_records"] == sum(pays)
    values = original["age"].to_list()
    raw = [oracle.payout(Fraction(0), Fraction(f), worth) for f in oracle.alike(values)]
    assert found.baseline == pytest.approx(float(sum(raw) / len(raw) / worth.benefit))


def test_where_nobody_attacks_it_is_what_ncp_leaves() -> None:
    before, after = given_table("ordinary"), masked_table("ordinary", "mondrian")
    words = {"gain": 1.0, "cost": 1.0}
    pays = sf.measure("payout", before, after, **words)
    assert pays.value == pytest.approx(1.0 - sf.measure("ncp", before, after).value)
    assert pays.detail["attacked_records"] == 0
    untouched = sf.measure("payout", before, before, **words)
    assert (untouched.value, untouched.baseline) == (1.0, 1.0)


def test_sets_pay_what_they_show() -> None:
    before, after = given_table("sets"), masked_table("sets", "set-mondrian")
    pays = sf.measure("payout", before, after, gain=1.0, cost=1.0)
    assert pays.value == pytest.approx(1.0 - sf.measure("ncp", before, after).value)


def test_a_journalist_finds_fewer() -> None:
    t = table({"q": list("aab"), "w": [3.0, 2.0, 8.0]}, quasi=["q"], weight=["w"])
    words = {"benefit": 10.0, "penalty": 8.0, "gain": 10.0, "cost": 1.0}
    assert sf.measure("payout", t, t, **words).per_record.tolist() == [6.0, 6.0, 2.0]
    found = sf.measure("payout", t, t, intruder="journalist", **words)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 5, 10 - 8 / 5, 10 - 8 / 8])
    plain, others = table({"q": list("aab")}, quasi=["q"]), table({"q": list("aaabbbc")})
    words |= {"intruder": "journalist"}
    found = sf.measure("payout", plain, plain, reference=others, **words)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 5, 10 - 8 / 5, 10 - 8 / 4])
    whole = sf.method("payout", reference="population", **words)
    found = sf.measure(whole, plain, plain, reference=others)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 3] * 3)


def test_the_public_figure_is_rounded_by_what_one_record_can_move() -> None:
    rng = np.random.default_rng(4)
    t = sf.table({"pay": rng.integers(0, 9999, 4000)}, quasi=["pay"])
    panel = [sf.method("payout"), sf.method("ncp")]
    release = sf.protect(t, sf.method("mondrian", k=50), seed=2**80, measures=panel)
    private, public = release.evidence["payout"], release.public().evidence["payout"]
    assert private.value < 1 - release.evidence["ncp"].value
    assert public.value == round(public.value, 2)
    assert public.per_record is None
    assert "attacked_records" not in public.detail
    assert not public.private
    dear = Payout(benefit=1.0, penalty=1000.0).result(0.0)
    assert dear.width == 3001.0


def test_a_limit_is_a_requirement() -> None:
    rng = np.random.default_rng(4)
    t = sf.table({"age": rng.integers(20, 60, 400)}, quasi=["age"])
    step = sf.method("mondrian", k=5)
    met = sf.protect(t, step, seed=1, require={"payout": {"at-least": 0.5}}, measures=())
    assert met.evidence.met
    with pytest.raises(sf.ReleaseRefused, match="payout"):
        sf.protect(t, step, seed=1, require={"payout": {"at-least": 0.99}}, measures=())


def test_amounts_are_numbers_and_quasi_identifiers_are_needed() -> None:
    for words in ({"benefit": 0.0}, {"penalty": -1.0}, {"gain": float("nan")}):
        with pytest.raises(ParameterError):
            Payout.build(words)
    t = table({"x": [1, 2]})
    with pytest.raises(MeasureError, match="quasi-identifiers"):
        sf.measure(Payout(), t.with_schema(t.schema), t)


def test_people_are_counted_where_they_have_several_records() -> None:
    frame = {"pid": list("aabbcc"), "q": list("xxxxyy"), "w": [2.0, 2, 3, 3, 4, 4]}
    t = table(frame, identifier=["pid"], quasi=["q"], weight=["w"])
    masked = t.without(["pid"])
    words = {"benefit": 10.0, "penalty": 8.0, "gain": 10.0, "cost": 1.0}
    found = sf.measure("payout", t, masked, **words)
    assert found.per_record.tolist() == [6.0, 6.0, 6.0, 6.0, 2.0, 2.0]
    assert found.baseline == found.value == pytest.approx(28 / 60)
    assert found.detail["people"]
    assert found.depends is None  # whose the records are is not published
    assert sf.measure("payout", t, t, **words).depends == "values"
    words |= {"intruder": "journalist"}
    found = sf.measure("payout", t, masked, **words)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 5] * 4 + [10 - 8 / 4] * 2)
    others = table({"q": list("xyy")}, quasi=["q"])
    found = sf.measure("payout", t, masked, reference=others, **words)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 3] * 6)
    whole = sf.method("payout", reference="population", **words)
    found = sf.measure(whole, t, masked, reference=others)
    assert found.per_record.tolist() == pytest.approx([10 - 8 / 2] * 6)
