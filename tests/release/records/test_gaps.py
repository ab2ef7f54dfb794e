"""Groups of which only some have a value: published as "[20, 29] or missing", read back as such."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.data.generalized.label_places import Labels, distinct_labels
from sfumato.data.generalized.model_ready import model_ready
from sfumato.data.table import Table
from sfumato.models.impute import impute
from sfumato.poset.values.text import without_missing
from sfumato.release.sql_recount import sql_recount

QUASI = ["age", "hours", "born", "town", "job", "school"]
TOWNS = [["Bern", "west", "*"], ["Thun", "west", "*"], ["Chur", "east", "*"], ["Sils", "east", "*"]]


def people(n: int = 400) -> Table:
    """Numbers, a date, a hierarchy, categories and an ordinal, of each 4 % missing."""
    rng = np.random.default_rng(5)
    days = rng.integers(0, 9000, n).tolist()
    columns: dict[str, list[Any]] = {
        "age": rng.integers(17, 90, n).tolist(),
        "hours": np.round(rng.normal(40, 9, n), 1).tolist(),
        "born": [dt.date(1950, 1, 1) + dt.timedelta(day) for day in days],
        "town": rng.choice(["Bern", "Thun", "Chur", "Sils"], n).tolist(),
        "job": rng.choice([f"job {i}" for i in range(12)], n).tolist(),
        "school": rng.choice(["low", "mid", "high"], n).tolist(),
        "ill": rng.choice(["flu", "gout", "none"], n, p=[0.2, 0.1, 0.7]).tolist(),
    }
    for values in columns.values():
        for i in np.flatnonzero(rng.random(n) < 0.04).tolist():
            values[i] = None
    frame = pl.DataFrame(columns, schema_overrides={"school": pl.Enum(["low", "mid", "high"])})
    towns = {"town": {"kind": "hierarchy", "levels": TOWNS}}
    return sf.table(frame, quasi=QUASI, confidential="ill", posets=towns)


PLAN = """
[[steps]]
use = "mondrian"
k = 5
[require]
exposure = false
k-anonymity = 5
[output]
format = "{format}"
"""


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_what_is_written_is_recounted(tmp_path: Path, format: str) -> None:
    given = people()
    release = sf.protect(given, sf.Plan.parse(PLAN.format(format=format)), seed=1)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    shown = release.table
    for name in QUASI:
        assert shown[name].cast(pl.String).str.ends_with(" or missing").any()
    if format != "xlsx":
        found = sql_recount(folder)
        assert found.smallest == KAnonymity(k=5).check(shown).value >= 5
        few, _ = found.confidential["ill"]
        assert few == LDiversity(at_least=1, column="ill").check(shown).value
    # Whoever assesses the folder later reads the same labels and counts the same loss.
    given.frame.write_parquet(tmp_path / "original.parquet")
    plan = sf.Plan.parse(
        'columns.town = { role = "quasi", poset = { kind = "hierarchy", levels = '
        f"{TOWNS!r} }} }}\n".replace("'", '"')
        + "".join(f'columns.{name}.role = "quasi"\n' for name in QUASI if name != "town")
        + 'columns.ill.role = "confidential"\ncolumns.school.categories = ["low", "mid", "high"]\n'
    )
    measures = ["ncp", "record-linkage", "exposure", "marginals"]
    later = sf.assess(str(tmp_path / "original.parquet"), folder, plan=plan, measures=measures)
    assert set(later.measurements) == set(measures)
    for name, one in later.measurements.items():
        assert one.value == pytest.approx(release.measure(name).value)


def _fits(reader: Labels, value: Any, label: str | None) -> bool:
    """Whether a value could have been published so, said once more."""
    if label == "*" or (label is None and value is None):
        return True
    if label is None:
        return False
    base, mixed = without_missing(label)
    return mixed if value is None else reader.poset(base).leq(value, base)


def test_labels_cover_the_values_of_their_group_and_missing_where_they_say_so() -> None:
    given = people()
    release = sf.protect(given, sf.method("mondrian", k=5), seed=1, require={"exposure": False})
    back = release.table.take(np.argsort(release.pair.rows))
    for name in QUASI:
        reader = Labels.of(given, name)
        labels, place = distinct_labels(back[name])
        covered = reader.coverage(reader.domain, labels)
        ranks = np.concatenate(([0], covered.ranks))[reader.codes]
        values = [None, *reader.domain.cast(pl.String).to_list()]
        values = values if name in ("town", "job", "school") else [None, *reader.domain.to_list()]
        for i, label in enumerate(labels):
            own = covered.of(i)
            assert set(ranks[place == i].tolist()) <= set(own.tolist())
            fits = [_fits(reader, value, label) for value in values]
            rank_of = np.concatenate(([0], covered.ranks))
            assert sorted(own.tolist()) == sorted(rank_of[fits].tolist())


def test_an_intruder_finds_nobody_more_often_than_the_classes_imply() -> None:
    given = people()
    release = sf.protect(given, sf.method("mondrian", k=5), seed=1, require={"exposure": False})
    linked = release.measure("record-linkage").value
    assert release.measure("marketer-risk").value <= linked + 1e-12
    assert linked <= release.measure("prosecutor-risk").value + 1e-12


def test_the_order_of_rows_is_found_again() -> None:
    given = people()
    release = sf.protect(given, sf.method("mondrian", k=5), seed=1, require={"exposure": False})
    back = release.table.take(np.argsort(release.pair.rows))
    found = sf.assess(given, back, measures=["ncp"])
    assert found.measurements["ncp"].value == pytest.approx(release.measure("ncp").value)
    shuffled = sf.assess(given, release.table, measures=["ncp", "record-linkage"])
    assert "record-linkage" not in shuffled.measurements


AGAIN = ["mondrian", "local-suppression", "local-recoding", "k-member", "full-domain"]


@pytest.mark.parametrize("again", AGAIN)
def test_labels_with_gaps_are_masked_again(again: str) -> None:
    given = people(200)
    steps = [sf.method("mondrian", k=3), sf.method(again, k=8)]
    release = sf.protect(given, steps, seed=1, require={"exposure": False, "k-anonymity": 8})
    assert release.evidence.findings[0].met
    before = sf.protect(given, steps[0], seed=1, require={"exposure": False})
    assert release.measure("ncp").value >= before.measure("ncp").value - 1e-12


def test_models_read_them() -> None:
    given = people()
    release = sf.protect(given, sf.method("mondrian", k=5), seed=1, require={"exposure": False})
    ready = model_ready(release.table, columns=["age", "born", "town", "school"])
    # A missing value that is hidden among others takes the place of one of them.
    assert set(ready.table["school"].drop_nulls().unique()) == {"low", "mid", "high"}
    assert ready.table["age"].null_count() < given["age"].null_count()
    filled = impute(release.table, ["age", "town", "school"]).tables[0]
    assert set(filled["school"].cast(pl.String).drop_nulls()) == {"low", "mid", "high"}
    assert filled["age"].cast(pl.Float64).is_between(17, 90).all()
