"""Leaks that were planted are found, and releases of nobody's data are not accused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.classes.background_knowledge import BackgroundKnowledge
from sfumato.attacks.classes.disco import DiSCO
from sfumato.attacks.classes.homogeneity import Homogeneity
from sfumato.attacks.classes.repu import RepU
from sfumato.attacks.controlled import ControlledAttack
from sfumato.errors import MeasureError
from tests.attacks.membership.people import attacked
from tests.attacks.membership.people import people as everything

N = 2_400
ATTACKS: list[ControlledAttack] = [RepU(), DiSCO(), Homogeneity(), BackgroundKnowledge()]
names = pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.name)


def people(seed: int, n: int = N) -> sf.Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "place": rng.choice([f"p{i}" for i in range(30)], n),
            "income": np.round(rng.lognormal(10, 0.5, n), -2),
            "ill": rng.choice(list("uvwxyz"), n),
        }
    )
    return sf.table(frame, quasi=["age", "place", "income"], confidential=["ill"])


def grouped(table: sf.Table, groups: np.ndarray) -> sf.Table:
    """Ranges and sets of places in the place of values."""
    frame = table.frame.with_columns(pl.Series("group", groups))
    made = [
        pl.format("[{}, {}]", *(getattr(pl.col(c), end)().over("group") for end in ("min", "max")))
        for c in ("age", "income")
    ]
    places = "{" + pl.col("place").unique().sort().str.join(", ").over("group") + "}"
    frame = frame.with_columns(made[0].alias("age"), made[1].alias("income"), places.alias("place"))
    schema = table.schema
    for name in ("age", "place", "income"):
        schema = schema.with_column(schema[name].with_(generalized=True))
    return sf.Table(frame.drop("group"), schema)


def shuffled(table: sf.Table, seed: int = 0) -> sf.Table:
    return table.take(np.random.default_rng(seed).permutation(table.height))


def pairs(table: sf.Table, by: list[str]) -> sf.Table:
    """Classes of two who are side by side when sorted."""
    order = table.frame.with_row_index("i").sort(by)["i"].to_numpy()
    groups = np.empty(table.height, dtype=np.int64)
    groups[order] = np.arange(table.height) // 2
    return shuffled(grouped(table, groups))


def lower_end(attack: ControlledAttack, released: sf.Table, own: sf.Table, seed: int = 2) -> float:
    found = attacked(attack.name, own, released, people(seed))
    assert not found.detail.get("refuses")
    return max(one.interval[0] for one in found.private["advantages"].values())


def test_classes_of_two_with_one_value_tell_it() -> None:
    own = people(1)
    released = pairs(own, ["ill", "age", "place"])
    for attack in (DiSCO(), Homogeneity()):
        assert lower_end(attack, released, own) > 0.3


def test_classes_of_two_with_two_values_tell_it_to_who_knows_one_more() -> None:
    own = people(1)
    frame = own.frame.with_row_index("i")
    half = own.height // 2
    # The k-th by age with one of three diseases beside the k-th with another.
    ranks = np.argsort(np.argsort(frame["age"].to_numpy(), kind="stable"))
    few = np.isin(own["ill"].to_numpy(), list("uvw"))
    groups = np.full(own.height, -1)
    for mask in (few, ~few):
        rows = np.flatnonzero(mask)[np.argsort(ranks[mask])]
        groups[rows] = np.arange(rows.size)
    kept = np.flatnonzero(np.bincount(groups)[groups] == 2)
    assert kept.size > 1.8 * half
    own, groups = own.take(kept), groups[kept]
    released = shuffled(grouped(own, groups))
    found = {
        attack.name: attacked(attack.name, own, released, people(2))
        for attack in (Homogeneity(), BackgroundKnowledge())
    }
    low = {
        name: max(one.interval[0] for one in m.private["advantages"].values())
        for name, m in found.items()
    }
    assert low["background-knowledge"] > 0.2
    assert low["homogeneity"] < 0.05
    assert low["background-knowledge"] > low["homogeneity"] + 0.2


def test_diverse_classes_do_not_tell() -> None:
    """Six people with six values."""
    own = people(1)
    counts = own.frame["ill"].value_counts()["count"].min()
    order = own.frame.with_row_index("i").sort("age")
    groups = order.select(pl.col("i"), pl.int_range(pl.len()).over("ill").alias("g")).sort("i")["g"]
    kept = np.flatnonzero(groups.to_numpy() < counts)
    own = own.take(kept)
    released = shuffled(grouped(own, groups.to_numpy()[kept]))
    for attack in (DiSCO(), Homogeneity(), BackgroundKnowledge(facts=3)):
        found = attacked(attack.name, own, released, people(2))
        assert found.value <= 0.05
        assert not found.detail.get("refuses")


@names
def test_a_tenth_of_copies_is_found(attack: ControlledAttack) -> None:
    own, strangers = people(1), people(3)
    copied = own.frame.head(N // 10), strangers.frame.tail(N - N // 10)
    released = shuffled(sf.Table(pl.concat(copied), own.schema))
    assert lower_end(attack, released, own) > 0.05


@names
def test_what_is_drawn_of_strangers_is_not_accused(attack: ControlledAttack) -> None:
    own, strangers = people(1), people(3)
    rng = np.random.default_rng(0)
    drawn = [strangers[name].gather(rng.integers(0, N, N)) for name in strangers.names]
    for released in (strangers, strangers.with_columns(drawn)):
        found = attacked(attack.name, own, released, people(2))
        assert not found.detail.get("refuses")
        assert found.value <= 0.05


@names
def test_order_does_not_matter_and_nothing_is_altered(attack: ControlledAttack) -> None:
    own, others = people(1, 300), people(2, 300)
    released = pairs(own, ["age", "place"])
    before = [one.frame.clone() for one in (own, released, others)]
    found = attacked(attack.name, own, released, others)
    assert attacked(attack.name, own, released, others).detail == found.detail
    assert all(a.equals(b.frame) for a, b in zip(before, (own, released, others), strict=True))
    again = attacked(attack.name, own, shuffled(released, 5), others)
    assert again.private["advantages"] == found.private["advantages"]
    if attack.name != "background-knowledge":  # its facts are drawn person by person
        other = attacked(attack.name, shuffled(own, 6), released, shuffled(others, 7))
        for what, one in other.private["advantages"].items():
            assert one[:4] == pytest.approx(found.private["advantages"][what][:4])


def test_columns_that_are_not_there_and_secrets_that_nobody_has_are_named() -> None:
    own, others = people(1, 50), people(2, 50)
    bare = sf.table(own.frame, quasi=own.names)
    for name in ("homogeneity", "background-knowledge"):
        with pytest.raises(MeasureError, match="no confidential column"):
            attacked(name, bare, bare, others)
    with pytest.raises(MeasureError, match="'nobody' of `keys` cannot be attacked"):
        attacked("repu", own, own, others, keys=["nobody"])
    with pytest.raises(MeasureError, match="no keys to learn"):
        attacked("disco", own, own, others, keys=["ill"])
    alone, elsewhere = (one.without(["age", "place", "income"]) for one in (own, others))
    with pytest.raises(MeasureError, match="no column is known"):
        attacked("homogeneity", alone, alone, elsewhere)


@names
def test_dates_truth_values_and_missing_ones_are_looked_up(attack: ControlledAttack) -> None:
    own, others = (everything(300, seed, missing=True) for seed in (1, 2))
    pairs_of_them = sf.protect(own, sf.method("mondrian", k=2), seed=0).pair.masked
    for released, least in ((own, 0.5), (pairs_of_them, 0.0)):
        found = attacked(attack.name, own, shuffled(released), others)
        low = max(one.interval[0] for one in found.private["advantages"].values())
        # No record of a pair is by itself.
        assert low > least or (
            attack.name == "repu" and least == 0.0 and not found.per_record.any()
        )


def test_however_many_values_there_are_each_is_its_own() -> None:
    """More than bins: three thousand codes, and ranges of two of as many numbers."""
    n = 3_000
    codes = [f"c{i:05}" for i in range(2 * n)]
    own, others = (
        sf.table({"code": codes[i::2], "x": np.arange(i, 2 * n, 2)}, quasi=["code", "x"])
        for i in (0, 1)
    )
    by_code = attacked("repu", own, shuffled(own), others, keys=["code"])
    assert by_code.private["advantages"]["unique keys"].value > 0.99
    ranges = pl.format("[{}, {}]", pl.col("x") - pl.col("x") % 4, pl.col("x") - pl.col("x") % 4 + 2)
    frame = own.frame.with_columns(ranges.alias("x")).unique("x", maintain_order=True)
    schema = own.schema.with_column(own.schema["x"].with_(generalized=True))
    found = attacked("repu", own, sf.Table(frame, schema), others, keys=["x"])
    # All people inside lie in one range each; of the others, every second lies in none.
    one = found.private["advantages"]["unique keys"]
    assert one.inside == pytest.approx(1.0, abs=0.002)
    assert one.outside == pytest.approx(0.5, abs=0.002)


def test_labels_that_nobody_can_read_fit_nobody() -> None:
    own, others = people(1, 300), people(2, 300)
    labels = np.where(np.arange(300) < 150, "young", own["age"].cast(pl.String).to_numpy())
    schema = own.schema.with_column(own.schema["age"].with_(generalized=True))
    released = sf.Table(own.frame.with_columns(pl.Series("age", labels)), schema)
    found = attacked("repu", own, released, others)
    assert found.private["advantages"]["unique keys"].value == pytest.approx(0.5, abs=0.02)
    assert found.per_record is not None
    assert found.per_record[:150].max() == 0.0


@names
@pytest.mark.parametrize("column", ["age", "place", "income"])
def test_one_known_column_is_enough(attack: ControlledAttack, column: str) -> None:
    own, others = people(1, 400), people(2, 400)
    gone = [name for name in ("age", "place", "income") if name != column]
    own, others = own.without(gone), others.without(gone)
    found = attacked(attack.name, own, own, others)
    best = max(one.value for one in found.private["advantages"].values())
    assert best > 0.1 if column == "income" else best < 0.1


@pytest.mark.parametrize("name", ["homogeneity", "disco", "background-knowledge", "inference"])
@pytest.mark.parametrize("value", ["u", None])
def test_of_what_everybody_has_nothing_is_learnt(name: str, value: str | None) -> None:
    """And it is not judged beside what is learnt."""
    same = pl.Series("same", [value] * N, dtype=pl.String)
    tables = [people(seed) for seed in (1, 3, 2)]
    both = [
        sf.table(
            one.frame.with_columns(same), quasi=["age", "place", "income"],
            confidential=["ill", "same"], kinds={"same": "nominal"},
        )
        for one in tables
    ]  # fmt: skip
    found = attacked(name, *both)
    assert found.detail["one_value"] == ["same"]
    assert all(what.startswith("ill") for what in found.detail["trials"])
    assert found.value <= 0.05
    with pytest.raises(MeasureError, match="same: everybody has the same value"):
        attacked(name, *(one.without(["ill"]) for one in both))


def test_two_values_are_not_told_by_knowing_one_that_it_is_not() -> None:
    own, strangers, others = (
        one.with_columns([pl.Series("ill", np.where(one["ill"].is_in(["u", "v"]), "yes", "no"))])
        for one in (people(1), people(3), people(2))
    )
    with pytest.raises(MeasureError, match="shows more than 2 values"):
        attacked("background-knowledge", own, strangers, others)
