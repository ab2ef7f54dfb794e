"""model-mixture: what their families tell apart, and how much each is worth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels.synthesis.stacking import stacking_weights
from sfumato.methods.synthetic.model_mixture import ModelMixture
from sfumato.methods.synthetic.ranks import GaussianCopula, RankSynthesizer
from sfumato.protocols import Outcome
from tests.oracle import synthetic as oracle


def crossed(n: int, seed: int = 0) -> sf.Table:
    """In one half two numbers rise together, in the other one falls where the other rises: no
    correlation at all, and the town tells which half it is."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 2, n)
    x = rng.normal(size=n)
    y = np.where(half == 1, x, -x) + 0.3 * rng.normal(size=n)
    gap = np.where(rng.random(n) < 0.1, None, np.where(half == 1, "east", "west"))
    town = pl.Series(gap.tolist(), dtype=pl.String)
    frame = pl.DataFrame({"x": np.exp(x / 2), "y": y, "town": town})
    return sf.table(frame, quasi=["x", "y", "town"])


def made(method: RankSynthesizer, table: sf.Table, seed: int = 1) -> Outcome:
    return method.mask(table, np.random.default_rng(seed))


def slopes(table: sf.Table) -> list[float]:
    """The correlation of log x and y in each town."""
    found = []
    for town in ("east", "west"):
        part = table.frame.filter(pl.col("town") == town)
        found.append(float(np.corrcoef(np.log(part["x"]), part["y"])[0, 1]))
    return found


def test_groups_that_differ_are_kept_where_a_copula_loses_them() -> None:
    table = crossed(2500)
    before = slopes(table)
    assert before[0] > 0.9 > -0.9 > before[1]
    found = made(ModelMixture(components=8), table)
    east, west = slopes(found.table)
    assert east > 0.6
    assert west < -0.6
    assert max(map(abs, slopes(made(GaussianCopula(), table).table))) < 0.3
    assert found.table["town"].null_count() == pytest.approx(250, abs=75)
    assert not found.linked
    for name in ("x", "y"):
        ours, theirs = found.table[name].to_numpy(), table[name].to_numpy()
        quantiles = np.linspace(0.05, 0.95, 7)
        off = np.quantile(ours, quantiles) - np.quantile(theirs, quantiles)
        assert np.abs(off).max() < 0.2 * theirs.std()


def test_a_normal_table_is_drawn_by_one_normal() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3)) @ np.array([[1, 0.8, 0.4], [0, 0.6, 0], [0, 0, 0.9]])
    table = sf.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}, quasi=["a", "b", "c"])
    for weigh in ("stacking", "posterior"):
        found = made(ModelMixture(components=4, weigh=weigh), table)
        assert found.facts["models"]["one normal"] > 0.7
        after = np.corrcoef(found.table.frame.to_numpy().T)
        assert np.abs(after - np.corrcoef(x.T)).max() < 0.08


def test_weights_are_the_best_of_all_that_were_tried() -> None:
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(60, 2)) - np.array([0.0, 0.3])
    wanted = oracle.best_share(dense[:, 0].tolist(), dense[:, 1].tolist())
    assert stacking_weights(dense)[0] == pytest.approx(wanted, abs=1e-3)


def test_no_component_rests_on_few_records() -> None:
    """One person far out has no component of their own, and few records have none at all."""
    table = crossed(60)
    one = ModelMixture(fewest=20)
    assert {name.split()[0] for name in made(one, table).facts["models"]} <= {
        "one",
        "2",
        "independent",
    }
    with pytest.raises(sf.SfumatoError, match="15 records are too few for any of the models"):
        made(one, crossed(15))


def test_the_same_seed_gives_the_same_records_and_a_number_of_them_can_be_asked_for() -> None:
    table = crossed(300)
    first, again = (made(ModelMixture(components=2, records=70), table).table for _ in range(2))
    assert first.height == 70
    assert first.frame.equals(again.frame)
