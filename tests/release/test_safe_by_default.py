"""What a newcomer tried and could publish: each of these must stop, or be said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReleaseRefused, SchemaError
from sfumato.release.plan.draft import draft_plan
from sfumato.release.plan.plan import Plan
from sfumato.release.sql_recount import sql_recount

pytestmark = pytest.mark.exposure


def register(folder: Path, n: int = 600) -> Path:
    path = folder / "register.csv"
    sf.write(sf.generators.hospital(n, seed=1), path)
    return path


def drafted(path: Path) -> Plan:
    return Plan.parse(draft_plan(path, path=str(path)))


def test_columns_without_a_role_are_not_published(tmp_path: Path) -> None:
    table = sf.read(
        register(tmp_path), quasi=["birth_date", "sex", "zip"], confidential=["diagnoses"]
    )
    step = sf.method("mondrian", k=5)
    with pytest.raises(SchemaError) as stopped:
        sf.protect(table, step, seed=1, require={"k-anonymity": 5})
    said = {complaint.where: complaint.remedy for complaint in stopped.value.complaints}
    assert said["name"].startswith("identifier")
    assert said["record_no"].startswith("identifier")
    for way in ("[input] others", "--others", 'others="drop"'):
        assert way in said[""]


def test_what_nobody_named_can_be_dropped(tmp_path: Path) -> None:
    path = register(tmp_path)
    named = {"quasi": ["birth_date", "sex", "zip"], "confidential": ["smoker"]}
    table = sf.read(path, others="drop", **named)
    assert table.names == ["birth_date", "sex", "zip", "smoker"]
    release = sf.protect(table, sf.method("mondrian", k=5), seed=1, require={"k-anonymity": 5})
    assert set(release.table.names) == set(table.names)
    plan = Plan.parse(
        f'[input]\npath = "{path}"\nothers = "drop"\n[columns]\nzip = "quasi"\nsex = "quasi"\n'
        '[[steps]]\nuse = "mondrian"\n'
    )
    assert sf.protect(sf.read(path), plan, seed=1).table.names == ["sex", "zip"]
    with pytest.raises(SchemaError, match="insensitve"):
        sf.read(path, others="insensitve")


def test_undecided_columns_can_be_measured(tmp_path: Path) -> None:
    table = sf.read(register(tmp_path), quasi=["sex", "zip"])
    assert "name" in table.schema.of_role("undecided")
    assert sf.assess(table, table, align="position")["uniques"].value >= 0


def people(n: int = 400, seed: int = 0) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    return {
        "sex": rng.choice(["f", "m"], n).tolist(),
        "age": rng.integers(18, 90, n).tolist(),
        "lat": np.round(rng.uniform(47, 54, n), 5).tolist(),
        "lon": np.round(rng.uniform(7, 14, n), 5).tolist(),
        "pay": np.round(rng.lognormal(10, 0.5, n), 2).tolist(),
    }


def test_coordinates_are_not_a_measurement(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    pl.DataFrame(people()).write_csv(path)
    plan = drafted(path)
    for name in ("lat", "lon"):
        assert str(plan.columns[name].role) in ("identifier", "quasi")
    table = sf.table(people(), quasi=["sex", "age"], confidential=["lat", "lon", "pay"])
    with pytest.raises(ReleaseRefused, match="lat"):
        sf.protect(table, sf.method("mondrian", k=5), seed=1, require={"k-anonymity": 5})


def test_codes_that_are_no_diagnoses_are_not_published_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = {
        f"q{j}": rng.choice([f"A{j}{i}" for i in range(1, 4 + j % 3)], 500).tolist()
        for j in range(1, 8)
    }
    path = tmp_path / "codes.csv"
    pl.DataFrame(frame).write_csv(path)
    assert {str(column.role) for column in drafted(path).columns.values()} == {"quasi"}


def test_a_column_that_determines_another_undoes_its_generalization() -> None:
    rng = np.random.default_rng(0)
    area = rng.integers(0, 30, 600)
    frame = {
        "area": [f"district {a:02d}" for a in area],
        "density": [100 + 37 * int(a) for a in area],
        "age": rng.integers(18, 80, 600).tolist(),
    }
    table = sf.table(frame, quasi=["area", "age"], insensitive="density")
    steps = [sf.method("mondrian", k=20, columns=["area", "age"])]
    with pytest.raises(ReleaseRefused, match="density gives back area"):
        sf.protect(table, steps, seed=1, require={"k-anonymity": 2, "record-linkage": 1.0})


def test_a_file_without_a_header_keeps_its_first_person_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    rows = [f"{20 + i % 50},{'fm'[i % 2]},{1000 + 17 * i}" for i in range(200)]
    path.write_text("\n".join(rows) + "\n")
    table = sf.read(path)
    assert table.height == 200
    assert table.names == ["column_1", "column_2", "column_3"]


def test_opinions_are_not_sixty_quasi_identifiers(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = {f"item_{j}": rng.integers(1, 6, 300).tolist() for j in range(60)}
    path = tmp_path / "survey.csv"
    pl.DataFrame({"age": rng.integers(18, 90, 300), **frame}).write_csv(path)
    plan = drafted(path)
    quasi = [name for name, column in plan.columns.items() if str(column.role) == "quasi"]
    assert quasi == ["age"]


def test_a_shuffled_release_is_not_compared_by_position() -> None:
    table = sf.generators.hospital(800, seed=1)
    release = sf.protect(table, [sf.method("drop"), sf.method("mondrian", k=8)], seed=1)
    own = release.evidence["record-linkage"].value
    found = sf.assess(table, release.data)
    assert "record-linkage" not in found or found["record-linkage"].value == pytest.approx(own)
    assert found.notes


def test_a_drafted_plan_of_the_register_releases(tmp_path: Path) -> None:
    path = register(tmp_path, 1500)
    plan = drafted(path)
    release = sf.protect(sf.read(path), plan, seed=1)
    assert not {"name", "record_no"} & set(release.table.names)
    assert release.evidence["exposure"].value <= 0.2


def visits(people: int = 300, seed: int = 0) -> dict[str, list[object]]:
    """About three visits each: what is known of a person is the same in all of them."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.geometric(0.3, people))
    born, sex = rng.integers(1930, 2005, people), rng.choice(["f", "m"], people)
    return {
        "pid": [f"P{w:05d}" for w in who],
        "born": born[who].tolist(),
        "sex": sex[who].tolist(),
        "ward": rng.choice(list("abcdefgh"), who.size).tolist(),
        "cost": np.round(rng.lognormal(6, 1, who.size), 2).tolist(),
    }


def fewest_people(release: sf.Release) -> int:
    """By hand: different people among the records that look alike."""
    rows = pl.Series(release.pair.rows)
    shown = release.table.frame.with_columns(who=release.pair.original["pid"].gather(rows))
    classes = shown.group_by(release.table.schema.quasi).agg(pl.col("who").n_unique())
    return int(classes["who"].min())


def test_five_visits_of_one_patient_are_not_five_people() -> None:
    roles = {"quasi": ["born", "sex", "ward"], "identifier": ["pid"], "confidential": ["cost"]}
    table = sf.table(visits(), **roles)
    steps = [sf.method("drop"), sf.method("mondrian", k=5)]
    require = {"k-anonymity": 5, "record-linkage": 0.2}
    with pytest.raises(ReleaseRefused, match=r"k-anonymity of people is [1-4] ") as refused:
        sf.protect(table, steps, seed=1, require=require)
    assert f"300 people have {table.height:,} records, by `pid`" in str(refused.value)
    first = refused.value.remedies[0]
    assert not first.weaker
    release = sf.protect(table, first.plan, seed=1)
    assert fewest_people(release) >= 5
    # Records may still be counted by whoever says so.
    release = sf.protect(table, steps, seed=1, require={"k-anonymity": {"k": 5, "unit": "record"}})
    assert fewest_people(release) < 5


def test_a_drafted_plan_of_visits_counts_people(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    pl.DataFrame(visits()).write_csv(path)
    text = draft_plan(path, path=str(path))
    assert f"300 people have {len(visits()['pid']):,} records, by `pid`" in text
    release = sf.protect(sf.read(path), Plan.parse(text), seed=1)
    assert fewest_people(release) >= 5
    assert "pid" not in release.table.names
    folder = release.save(tmp_path / "release", allow_guessable_seed=True)
    report, evidence = (folder / "report.html").read_text(), (folder / "evidence.json").read_text()
    assert f"300 people have {release.table.height:,} records" in report
    assert '"people": 300' in evidence
    # SQL sees records alone, and says so.
    assert "person by person k-anonymity" in sql_recount(folder).not_counted
    # Which records are one person's is not in anything that is published.
    for one in set(visits()["pid"]):
        assert str(one) not in report
        assert str(one) not in evidence
