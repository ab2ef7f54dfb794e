"""A plan run out of core: what is refused, written and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ParameterError, PlanError, SchemaError
from sfumato.release.large import measuring
from sfumato.release.large import people as of_people
from sfumato.release.sql_recount import sql_recount
from tests.engines.people import in_pieces, people

HEAD = """
[engine]
use = "duckdb"
memory = "512 MiB"
[columns]
age = "quasi"
sex = "quasi"
pay = "confidential"
visits = "confidential"
region = "insensitive"
id = "identifier"
zip = "insensitive"
degree = "insensitive"
"""
STEP = '[[steps]]\nuse = "global-recoding"\nbins = { age = 20 }\n'
QUIET = "[require]\nexposure = false\n[measures]\n"


def run(folder: Path, text: str, frame: pl.DataFrame | None = None, **more: Any) -> Any:
    """A release of people in three pieces."""
    source = folder / "in"
    if not source.exists():
        in_pieces(people() if frame is None else frame, source, 3)
    return sf.protect(source, sf.Plan.parse(text), 2**90, **{"output": folder / "out", **more})


def test_one_file_and_parts_hold_the_same_records(tmp_path: Path) -> None:
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet}
    found = []
    for name in ("parts", "csv", "parquet"):
        target = tmp_path / name / "out"
        target.parent.mkdir()
        run(tmp_path, f'{HEAD}{STEP}{QUIET}[output]\nformat = "{name}"\n', output=target)
        data = target / "data" / "*.parquet" if name == "parts" else target / f"data.{name}"
        found.append(read.get(name, pl.read_parquet)(data).select(pl.all().cast(pl.String)))
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_the_alignment_tells_which_record_was_which(tmp_path: Path) -> None:
    run(tmp_path, f'{HEAD}{STEP}{QUIET}[output]\nformat = "parts"\n')
    made = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")
    rows = pl.read_parquet(tmp_path / "out.private" / "alignment" / "*.parquet")
    assert rows["published_row"].to_list() == list(range(made.height))
    before = people()[rows["original_row"]]
    assert made["pay"].equals(before["pay"])
    assert not before["pay"].equals(people()["pay"]), "the order tells nothing"


def test_people_with_several_records_are_counted_as_people(tmp_path: Path) -> None:
    several = people().with_columns(pl.col("id").str.slice(0, 6))
    promise = "[require]\nexposure = false\nk-anonymity = 5\n[measures]\n"
    text = f'[input]\nperson = "id"\n{HEAD}{STEP}{promise}[output]\nformat = '
    made = run(tmp_path, f'{text}"parts"\n', several)
    (finding,) = made.evidence.findings
    assert finding.detail["unit"] == "person"
    assert finding.detail["people"] == several["id"].n_unique()
    (tmp_path / "apart").mkdir()  # where another ledger is
    with pytest.raises(PlanError, match="parts"):
        run(tmp_path, f'{text}"csv"\n', output=tmp_path / "apart" / "out")


def test_namesakes_are_people_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in memory, whether all records are looked at or those of some values."""
    rows = range(people().height)
    namesakes = people().with_columns(
        name=pl.Series([f"Ann{i % 90} Doe" for i in rows]),
        remark=pl.Series([None if i % 50 else "called back twice, see file" for i in rows]),
    )
    text = f'{HEAD}name = "identifier"\nremark = "identifier"\n{STEP}{QUIET}'
    for most in (50_000, 300):
        monkeypatch.setattr(of_people, "SAMPLE", most)
        target = tmp_path / str(most) / "out"
        target.parent.mkdir()
        made = run(tmp_path, f'{text}[output]\nformat = "csv"\n', namesakes, output=target)
        assert made.evidence.records["published"] == namesakes.height


def test_identifiers_that_come_back_are_not_guessed_among(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table that fits into memory the finer one is taken; of others one must be named."""
    several = people().with_columns(pl.col("id").str.slice(0, 6))
    several = several.with_columns(pl.col("id").alias("case")).sort("id")
    once = several["id"].rle_id().to_numpy()
    fixed = {"age": 20 + once % 60, "sex": pl.Series(["f", "m"])[once % 2]}
    several = several.with_columns(**{name: pl.Series(values) for name, values in fixed.items()})
    text = HEAD + 'case = "identifier"\n' + STEP + QUIET
    monkeypatch.setattr(of_people, "SAMPLE", 400)
    with pytest.raises(SchemaError, match="names the column that tells people apart"):
        run(tmp_path, f'{text}[output]\nformat = "parts"\n', several)
    named = text.replace("[columns]", '[input]\nperson = "case"\n[columns]')
    with pytest.raises(PlanError, match="by case"):
        run(tmp_path, f'{named}[output]\nformat = "csv"\n')
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_cell_that_does_not_fit_is_named_by_its_row(tmp_path: Path) -> None:
    words = people().with_columns(pl.col("visits").cast(pl.String))
    words = words.with_columns(
        pl.when(pl.int_range(pl.len()) == 700)
        .then(pl.lit("many"))
        .otherwise("visits")
        .alias("visits")
    )
    text = HEAD.replace(
        'visits = "confidential"', 'visits = { role = "confidential", kind = "integer" }'
    )
    with pytest.raises(SchemaError, match="many"):
        run(tmp_path, f"{text}{STEP}{QUIET}", words)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_columns_without_a_role_stop_it(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="has no role"):
        run(tmp_path, HEAD.replace('zip = "insensitive"\n', "") + STEP + QUIET)


def test_figures_of_a_sample_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SAMPLE", 200)
    text = (
        f"{HEAD}{STEP}[require]\nexposure = false\n[measures]\nmarginals = true\nuniques = true\n"
    )
    made = run(tmp_path, text)
    assert made.evidence.records == {"original": 1200, "published": 1200, "in the sample": 200}
    assert made.evidence["marginals"].detail[measuring.SAMPLED] == 200
    assert measuring.SAMPLED not in made.evidence["uniques"].detail
    told = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert told["records"]["in the sample"] == 200
    assert "200 records drawn at random" in (tmp_path / "out" / "report.html").read_text()


def test_anybody_can_count_the_parts_again(tmp_path: Path) -> None:
    text = f"{HEAD}{STEP}[require]\nexposure = false\nk-anonymity = 5\n[measures]\n"
    made = run(tmp_path, f'{text}[output]\nformat = "parts"\n')
    counted = sql_recount(tmp_path / "out")
    assert counted.records == people().height
    assert counted.smallest == made.evidence.findings[0].value


def test_it_must_be_said_where_it_goes_and_where_records_are(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nothing says where"):
        run(tmp_path, HEAD + STEP + QUIET, output="")
    with pytest.raises(ParameterError, match="reads records where they are"):
        sf.protect(people(), sf.Plan.parse(HEAD + STEP), engine="duckdb", output=tmp_path / "out")


@pytest.mark.parametrize("format", ["parts", "csv"])
@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_value_like_the_mark_is_refused_in_one_way(
    tmp_path: Path, engine: str, format: str
) -> None:
    # Read back as suppressed it would be no value of its own, and t-closeness understated.
    place = pl.int_range(pl.len())
    stars = people().with_columns(
        pl.when(place.is_in([700, 900])).then(pl.lit("*")).otherwise("region").alias("region"),
    )
    text = HEAD.replace('use = "duckdb"\nmemory = "512 MiB"', f'use = "{engine}"')
    output = f'[output]\nshuffle = false\nformat = "{format}"\n'

    def publish(more: str) -> None:
        made = run(tmp_path, f"{text}{STEP}{QUIET}{output}{more}", stars)
        if engine == "local":
            made.save(tmp_path / "out")

    with pytest.raises(OutputError, match=r"'region', record 701 holds '\*', the mark of supp"):
        publish("")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    publish('suppressed = "#"\n')
    assert (tmp_path / "out").is_dir()


def test_parts_are_assessed_compared_and_given(tmp_path: Path) -> None:
    run(tmp_path, f'{HEAD}{STEP}{QUIET}[output]\nformat = "parts"\n')
    found = sf.assess(tmp_path / "in", tmp_path / "out", quasi=["age", "sex"])
    assert found["class-sizes"].value >= 1
    local = HEAD.replace("duckdb", "local").replace('memory = "512 MiB"\n', "")
    promised = QUIET.replace("false", "false\nk-anonymity = 2")
    plan = sf.Plan.parse(local + STEP + promised)
    again = sf.protect(people(), plan, 2**91, given=tmp_path / "out", output=tmp_path / "again")
    assert len(again.evidence.findings) > 1


def test_columns_that_a_database_does_not_tell_apart_are_named(tmp_path: Path) -> None:
    frame = people().with_columns(AGE=pl.col("age"))
    with pytest.raises(PlanError, match="AGE: is 'age' but for its letters' case"):
        run(tmp_path, f'{HEAD}AGE = "quasi"\n{STEP}{QUIET}', frame)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["v", "n", "bucket"])
def test_columns_may_have_the_names_that_statements_use(tmp_path: Path, name: str) -> None:
    frame = people().with_columns(pl.when(pl.col("age") > 50).then("age").alias(name))
    steps = f'[[steps]]\nuse = "mondrian"\nk = 5\ncolumns = ["{name}", "age"]\n'
    promise = "[require]\nexposure = false\nk-anonymity = 2\n[measures]\n"
    head = HEAD.replace('sex = "quasi"', 'sex = "insensitive"')
    made = run(tmp_path, f'{head}{name} = "quasi"\n{steps}{promise}', frame)
    assert made.evidence.findings[0].value >= 5
