"""Sets made of categories, and of some items of other sets, against plain loops."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.io import read, read_with_notes
from sfumato.data.sets.enumeration import enumerate_sets, split_items
from sfumato.data.sets.items import item_utilities
from sfumato.data.sets.table import SetTable
from sfumato.data.table import Table
from sfumato.errors import InputError, PlanError, SchemaError
from sfumato.poset.sets.items import Items
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import read_input

JOBS = [
    ["Surgeon", "Doctor", "Employed", "*"],
    ["Dentist", "Doctor", "Employed", "*"],
    ["Clerk", "Office", "Employed", "*"],
    ["None", "Unemployed", "Unemployed?", "*"],
]
TREE = {"kind": "hierarchy", "levels": JOBS}


def people(**more: Any) -> Table:
    """Three people with a job each, but for one."""
    return sf.table(
        {"sex": ["f", "m", None], "job": ["Surgeon", None, "Clerk"], "age": [37, 40, 4], **more},
        quasi=["sex", "job", "age"],
        posets={"job": TREE},
    )


def test_a_surgeon_is_a_doctor_and_employed() -> None:
    made = people(pay=[1.0, 2.0, 3.0])
    found = enumerate_sets(made, ["job", "sex"])
    assert found["attributes"].to_list() == [
        ["job=Doctor", "job=Employed", "job=Surgeon", "sex=f"],
        ["sex=m"],
        ["job=Clerk", "job=Employed", "job=Office"],
    ]
    assert found.names == ["attributes", "age", "pay"]
    assert found.schema.quasi == ["attributes", "age"]
    assert str(found.schema["attributes"].kind) == "set"
    plain = enumerate_sets(made, ["job"], into="job", hierarchies=False, role="confidential")
    assert plain["job"].to_list() == [["job=Surgeon"], [], ["job=Clerk"]]
    assert (plain.names, plain.schema.confidential) == (["sex", "job", "age", "pay"], ["job"])
    assert made.names == ["sex", "job", "age", "pay"]


@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(["Surgeon", "Dentist", "Clerk", "None"]),
            st.none() | st.integers(-30, 90),
            st.none() | st.booleans(),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.integers(1, 30),
)
@settings(max_examples=60)
def test_every_record_has_its_values_and_their_ancestors(
    rows: list[tuple[Any, Any, Any]], hierarchies: bool, width: int
) -> None:
    frame = pl.DataFrame(
        rows, schema={"job": pl.String, "age": pl.Int64, "ill": pl.Boolean}, orient="row"
    )
    made = sf.table(frame, posets={"job": TREE}, quasi=["job"], confidential=["ill"])
    found = enumerate_sets(
        made, ["ill", "age", "job"], hierarchies=hierarchies, width={"age": width}
    )
    expected = []
    for job, age, ill in rows:
        items = set()
        if job is not None:
            line = next(row for row in JOBS if row[0] == job)
            items |= {f"job={label}" for label in (line[:-1] if hierarchies else line[:1])}
        if age is not None:
            low = age // width * width
            items.add(f"age=[{low}, {low + width - 1}]" if width > 1 else f"age={low}")
        if ill is not None:
            items.add(f"ill={str(ill).lower()}")
        expected.append(sorted(items))
    assert found["attributes"].to_list() == expected
    assert found.schema["attributes"].role == "quasi"


@pytest.mark.parametrize(
    ("poset", "expected"),
    [
        ({"kind": "bins", "edges": [[0, 20, 40], [0, 40]]},
         [["age=[0, 39]", "age=[20, 39]"], ["age=>=40"], ["age=[0, 19]", "age=[0, 39]"]]),
        ({"kind": "interval", "round-to": 10},
         [["age=[30, 39]"], ["age=[40, 49]"], ["age=[0, 9]"]]),
    ],
)  # fmt: skip
def test_numbers_are_binned_by_their_poset(poset: Any, expected: list[list[str]]) -> None:
    made = sf.table({"age": [37, 40, 4]}, posets={"age": poset})
    assert enumerate_sets(made, ["age"])["attributes"].to_list() == expected
    finest = [min(items, key=lambda item: (item == "age=[0, 39]", item)) for items in expected]
    plain = enumerate_sets(made, ["age"], hierarchies=False)["attributes"].to_list()
    assert plain == [[item] for item in finest]
    parts = sf.table({"x": [0.25, 0.74]})
    assert enumerate_sets(parts, ["x"], width=0.25)["attributes"].to_list() == [
        ["x=[0.25, 0.5)"], ["x=[0.5, 0.75)"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        (["age"], {}, "age: is integer, and each value of its own would be an item  -> width = {"),
        (["born"], {}, "born: is date, and each value"),
        (["jab"], {}, 'did you mean "job"'),
        ([], {}, "is made of no columns"),
        (["sex"], {"into": "age"}, "age: is there already"),
        (["sex"], {"width": {"age": 5}}, "age: has a width and is not listed"),
        (["age"], {"width": 0}, "width = 0 is no width"),
        (["age"], {"width": 1e-9}, "bins of width 1e-09"),
        (["tags"], {}, "tags: holds sets already"),
        (["odd"], {}, "odd: has the poset suppression, which has no groups of categories"),
    ],
)
def test_what_cannot_be_enumerated(
    columns: list[str], options: dict[str, Any], complaint: str
) -> None:
    made = people(born=[dt.date(2000, 1, 1)] * 3, tags=[["a"]] * 3, odd=["x"] * 3)
    odd = made.schema["odd"].with_(poset=sf.registry.find("suppression", "poset").load()())
    made = made.with_schema(made.schema.with_column(odd))
    with pytest.raises(SchemaError) as error:
        enumerate_sets(made, columns, **options)
    assert complaint in str(error.value)
    if columns == ["odd"]:
        found = enumerate_sets(made, ["odd"], hierarchies=False)
        assert found["attributes"].to_list() == [["odd=x"]] * 3


def test_tables_without_records() -> None:
    made = enumerate_sets(people().take(np.array([], dtype=np.int64)), ["sex", "age"], width=5)
    assert made["attributes"].to_list() == []


def test_adult_as_the_thesis_prepares_it(shared_data: Callable[[str], Path]) -> None:
    columns = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass",
               "occupation"]  # fmt: skip
    made = read(
        shared_data("adult") / "adult.csv",
        sets={"columns": columns, "hierarchies": False, "width": 5},
        quasi=["attributes"],
    )
    sets = SetTable.of(made, "attributes")
    assert (len(sets), len(sets.names)) == (30_162, 108)
    assert set(sets.sizes.tolist()) == {8}
    assert made.schema.quasi == ["attributes"]


# --- items of their own ---


@given(
    st.lists(st.none() | st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=8),
    st.sets(st.sampled_from("abcd"), min_size=1),
)
@settings(max_examples=60)
def test_sensitive_items_leave(values: list[list[str] | None], wanted: set[str]) -> None:
    made = sf.table(pl.DataFrame({"s": pl.Series(values, dtype=pl.List(pl.String))}), quasi=["s"])
    occurring = {item for value in values if value for item in value}
    if not wanted <= occurring:
        with pytest.raises(SchemaError, match="no set holds the item"):
            split_items(made, "s", sorted(wanted), into="t")
        return
    found = split_items(made, "s", sorted(wanted), into="t")
    for name, inside in (("s", False), ("t", True)):
        assert found[name].to_list() == [
            None if v is None else [item for item in v if (item in wanted) == inside]
            for v in values
        ]
    assert (found.schema.quasi, found.schema.confidential) == (["s"], ["t"])


def test_sensitive_items_keep_their_utilities() -> None:
    made = sf.table({"s": [[7, 8]]}, posets={"s": Items(utilities={"7": 3})}, quasi=["s"])
    found = split_items(made, "s", ["7"], into="t", role="target")
    assert item_utilities(found.schema["t"], pl.Series([7])).tolist() == [3]
    assert (str(found["t"].dtype), str(found.schema["t"].role)) == ("List(Int64)", "target")
    with pytest.raises(SchemaError, match="s: is there already"):
        split_items(made, "s", ["7"], into="s")
    with pytest.raises(SchemaError, match="no sensitive items are named"):
        split_items(made, "s", [], into="t")
    with pytest.raises(SchemaError, match="n: holds Int64, not sets"):
        split_items(sf.table({"n": [1]}), "n", ["1"], into="t")
    names = sf.table({"s": [["hiv test"]]})
    with pytest.raises(SchemaError, match="did you mean 'hiv test'"):
        split_items(names, "s", ["hiv tset"], into="t")


# --- files and plans ---


def test_reading_makes_sets(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,job,buys\nf,Surgeon,tea milk\nm,,milk\n")
    found, notes = read_with_notes(
        path,
        sets=[
            {"columns": ["sex", "job"], "into": "who"},
            {"column": "buys", "sensitive": ["tea"], "into": "apart"},
        ],
        posets={"job": TREE, "who": {"kind": "items", "utilities": {"sex=f": 2}}},
        quasi=["who", "buys"],
    )
    assert found.frame.rows() == [
        (["job=Doctor", "job=Employed", "job=Surgeon", "sex=f"], ["milk"], ["tea"]),
        (["sex=m"], ["milk"], []),
    ]
    assert found.schema.quasi == ["who", "buys"]
    assert found.schema.confidential == ["apart"]
    assert item_utilities(found.schema["who"], pl.Series(["sex=f"])).tolist() == [2]
    assert "2 columns became the sets in 'who'" in notes
    assert "1 items of 'buys' went to 'apart'" in notes
    again = read(path, sets={"columns": ["sex"]}, kinds={"attributes": "set"}, target="attributes")
    assert again.schema.of_role("target") == ["attributes"]
    chained = read(
        path,
        sets=[
            {"columns": ["sex", "job"]},
            {"column": "attributes", "sensitive": ["job=Surgeon"], "into": "t", "role": "target"},
        ],
    )
    assert chained["t"].to_list() == [["job=Surgeon"], []]
    assert chained.schema.of_role("target") == ["t"]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"columns": "sex"}, "columns = 'sex' is no list"),
        ({"columns": ["sex"], "wide": 5}, "is not understood"),
        ({"columns": ["sex"], "hierarchies": "yes"}, "neither true nor false"),
        ({"columns": ["sex"], "role": "quasy"}, "there is no role 'quasy'"),
        ({"column": "sex", "sensitive": ["f"]}, "is not understood"),
        ([{"columns": ["sex"]}, {"columns": ["job"]}], "two of them make the column 'attributes'"),
    ],
)
def test_descriptions_that_are_not_understood(tmp_path: Path, spec: Any, complaint: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,job\nf,x\n")
    with pytest.raises(InputError) as error:
        read(path, sets=spec)
    assert complaint in str(error.value)


def test_complaints_about_what_is_made_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,job\nf,x\n")
    with pytest.raises(SchemaError, match=r"people\.csv(.|\n)*attributes: holds lists"):
        read(path, sets={"columns": ["sex"]}, kinds={"attributes": "integer"})
    with pytest.raises(SchemaError, match=r"people\.csv"):
        read(path, sets={"columns": ["sex"]}, posets={"attributes": {"kind": "items", "x": 1}})
    with pytest.raises(SchemaError, match="there is no such role"):
        read(path, sets={"columns": ["sex"]}, quasy=["attributes"])


def test_long_tables_with_utilities(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("person,code,value\n1,07,3\n1,E11,0.5\n2,07,3\n3,,\n")
    spec = {"id": "person", "item": "code", "utility": "value"}
    found = read(path, sets=spec, quasi=["code"])
    assert found.frame.rows() == [("1", ["07", "E11"]), ("2", ["07"]), ("3", [])]
    worth = item_utilities(found.schema["code"], pl.Series(["07", "E11", "new"]))
    assert worth.tolist() == [3, 0.5, 1]
    frame = pl.DataFrame({"person": [1, 1, 2], "code": [9, 8, 9], "value": [2, 1, 2]})
    parquet = tmp_path / "long.parquet"
    frame.with_columns(pl.col("code").cast(pl.UInt16)).write_parquet(parquet)
    found = read(parquet, sets=spec)
    assert found["code"].dtype == pl.List(pl.UInt16)
    assert item_utilities(found.schema["code"], pl.Series([8, 9])).tolist() == [1, 2]
    with pytest.raises(SchemaError, match="give one of them"):
        read(parquet, sets=spec, posets={"code": Items()})


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("1,a,3\n2,a,4\n", "'value' of long.csv varies for the item 'a': 3 and 4"),
        ("1,a,3\n2,b,-1\n", "record 2 of long.csv: value = -1.0 is not a utility"),
        ("1,a,3\n2,b,\n", "record 2 of long.csv: value = None is not a utility"),
        ("1,a,x\n", "column 'value' of long.csv holds no numbers"),
    ],
)
def test_utilities_that_are_none(tmp_path: Path, lines: str, complaint: str) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"person,code,value\n{lines}")
    with pytest.raises(InputError) as error:
        read(path, sets={"id": "person", "item": "code", "utility": "value"})
    assert complaint in str(error.value)
    with pytest.raises(SchemaError, match="there is no such column"):
        read(path, sets={"id": "person", "item": "code", "utility": "worth"})


def test_plans(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age,buys\nf,37,tea\nm,40,milk\n")
    text = """
[input]
path = "people.csv"
sets = [
  { columns = ["sex", "age"], into = "who", width = { age = 5 } },
  { column = "buys", sensitive = ["tea"], into = "apart" },
]
[columns]
sex = { role = "quasi", poset = { kind = "value-set" } }
who = { role = "quasi", poset = { kind = "items", default = 2 } }
buys = "insensitive"
"""
    plan = Plan.parse(text)
    assert Plan.parse(plan.to_toml()) == plan
    found, _ = read_input(plan, tmp_path)
    assert found["who"].to_list() == [["age=[35, 39]", "sex=f"], ["age=[40, 44]", "sex=m"]]
    assert (found.schema.quasi, found.schema.confidential) == (["who"], ["apart"])
    release = sf.protect(found, plan, seed=1, require={"k-anonymity": 1}, measures=[])
    assert release.table["who"].len() == 2
    old = Plan.parse('[input]\nsets = { id = "person", item = "code" }\n')
    assert old.input.sets == {"id": "person", "item": "code"}
    with pytest.raises(PlanError, match=r"line 2.*is not understood"):
        Plan.parse('[input]\nsets = { colum = "x" }\n')
