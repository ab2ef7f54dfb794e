"""A column's hierarchy, looked at before anything is masked."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError, OutputError, ParameterError, SchemaError, UnknownName
from sfumato.poset.trees.sources import Prefix

ROWS = [["Bonn", "Germany", "*"], ["Ulm", "Germany", "*"], ["Nice", "France", "*"]]


def test_counts_by_hand() -> None:
    towns = {"town": ["Bonn", "Bonn", "Ulm", "Nice", None, "Germany"]}
    found = sf.hierarchy(towns, "town", kind="hierarchy", levels=[*ROWS, ["Rome", "Italy", "*"]])
    assert found.missing == 1
    assert found.preview(first=2).to_dicts() == [
        {
            "level": 0,
            "groups": 4,
            "smallest": 1,
            "median": 1.0,
            "largest": 2,
            "first": [{"label": "Bonn", "records": 2}, {"label": "Ulm", "records": 1}],
        },
        {
            "level": 1,
            "groups": 2,
            "smallest": 1,
            "median": 2.5,
            "largest": 4,
            "first": [{"label": "Germany", "records": 4}, {"label": "France", "records": 1}],
        },
        {
            "level": 2,
            "groups": 1,
            "smallest": 5,
            "median": 5.0,
            "largest": 5,
            "first": [{"label": "*", "records": 5}],
        },
    ]


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 99)), max_size=40),
    st.integers(1, 30),
    st.lists(st.integers(2, 3), max_size=2),
)
def test_counts_are_those_of_the_labels(
    ages: list[int | None], width: int, fanouts: list[int]
) -> None:
    frame = pl.DataFrame({"age": ages}, schema={"age": pl.Int64})
    found = sf.hierarchy(frame, "age", kind="bins", width=width, fanouts=fanouts)
    held = [age for age in ages if age is not None]
    by_value = {row[0]: row for row in found.rows()}
    assert set(by_value) == {str(age) for age in held}
    shown = found.preview(first=100)
    assert shown["level"].to_list() == list(range(len(fanouts) + 3))
    for level, one in enumerate(shown.to_dicts()):
        labels = pl.Series([by_value[str(age)][level] for age in held], dtype=pl.String)
        counts = dict(labels.value_counts().iter_rows())
        assert {group["label"]: group["records"] for group in one["first"]} == counts
        assert one["groups"] == len(counts)
        assert one["smallest"] == min(counts.values(), default=0)
        assert one["median"] == (np.median(list(counts.values())) if counts else 0)
    assert found.missing == len(ages) - len(held)


def test_a_column_keeps_its_own_or_takes_another() -> None:
    zips = sf.table({"zip": ["02138", "02139", "10001"]}, quasi=["zip"],
                    posets={"zip": Prefix(lengths=[5, 3])})  # fmt: skip
    assert sf.hierarchy(zips, "zip").source == Prefix(lengths=[5, 3])
    other = sf.hierarchy(zips, "zip", kind={"kind": "redaction", "hidden": [4]})
    assert other.rows()[0] == ["02138", "0****", "*"]
    assert sf.hierarchy(zips, "zip", Prefix(lengths=[5, 1])).rows()[0][1] == "0****"
    assert zips.schema["zip"].poset == Prefix(lengths=[5, 3])


def test_everything_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("Bonn;Germany;*\nUlm;Germany\nUlm;Bavaria;*\nNice;;*\n", encoding="utf-8")
    found = sf.hierarchy(
        {"town": ["Bonn", "bonn", "Rome"]}, "town", kind="hierarchy", path=str(path)
    )
    told = [str(one) for one in found.check()]
    assert len(told) == 4
    assert 'row 3: "Ulm" goes to "Bavaria", but in row 2 to "Germany"' in told[0]
    assert "row 4: column 2 is empty" in told[1]
    assert 'value "Rome" is not in the hierarchy town.csv' in told[2]
    assert 'value "bonn" is not in' in told[3]
    assert 'it has "Bonn": make the two alike' in told[3]
    for ask in (found.rows, found.preview, lambda: found.write(tmp_path / "x.csv")):
        with pytest.raises(SchemaError, match="the table has 4 problems"):
            ask()
    assert not (tmp_path / "x.csv").exists()
    assert sf.hierarchy({"x": [1, 2]}, "x", kind="interval").check()[0].where == "x"


def test_files_are_not_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    found = sf.hierarchy({"town": ["Bonn", "Ulm"]}, "town", kind="hierarchy", levels=ROWS)
    assert found.check() == []
    found.write(path)
    assert path.read_text() == "Bonn;Germany;*\nUlm;Germany;*\nNice;France;*\n"
    with pytest.raises(OutputError):
        found.write(path)
    found.write(path, replace=True)
    back = sf.hierarchy({"town": ["Bonn"]}, "town", kind="hierarchy", path=str(path))
    assert back.rows() == found.rows()


def test_partial_orders_have_rows_and_no_levels() -> None:
    parents = {"a": ["x", "y"], "b": ["x"]}
    found = sf.hierarchy({"v": ["a", "b"]}, "v", kind="partial-order", parents=parents)
    assert ["a", "x"] in found.rows()
    with pytest.raises(MethodError, match="have no levels"):
        found.preview()


def test_what_is_asked_for_must_be_there() -> None:
    people = {"age": [1, 2, 3], "sex": ["f", "m", "f"]}
    with pytest.raises(SchemaError, match="there is no such column"):
        sf.hierarchy(people, "none")
    with pytest.raises(UnknownName, match="poset named 'bin'"):
        sf.hierarchy(people, "age", kind="bin")
    with pytest.raises(ParameterError, match="without a kind"):
        sf.hierarchy(people, "age", width=5)
    with pytest.raises(ParameterError, match="has no such parameter"):
        sf.hierarchy(people, "age", kind="bins", widht=5)
    with pytest.raises(MethodError, match="suggests none"):
        sf.hierarchy(people, "sex")
    known = sf.table(people, quasi=["age", "sex"])
    released = sf.protect(known, sf.method("mondrian", k=3), seed=1, measures=())
    with pytest.raises(MethodError, match="holds labels already"):
        sf.hierarchy(released.table, "age", kind="bins", width=5)


SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("date", {"levels": ["month", "quarter", "year"]}),
    ("date", {"levels": ["week", "iso-year"]}),
    ("date", {"levels": ["weekday"]}),
    ("bins", {"width": 30, "fanouts": [3], "pattern": "{low} to {high}"}),
    ("redaction", {"hidden": [3, 6]}),
    ("priority", {"levels": 4}),
    ("priority", {"levels": 4, "other": "*"}),
    (
        "order",
        {
            "order": [(dt.date(2020, 1, 1) + dt.timedelta(n)).isoformat() for n in range(500)],
            "groups": [5, 5],
        },
    ),
]


@pytest.mark.parametrize("search", ["mondrian", "full-domain", "local-recoding"])
@pytest.mark.parametrize(("kind", "words"), SEARCHES)
def test_searches_publish_its_labels(
    search: str, kind: str, words: dict[str, Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(n)) for n in rng.integers(0, 500, 80)]
    values: list[Any] = [None, *days[1:]]
    if kind in ("redaction", "priority", "order"):
        values = [None if day is None else day.isoformat() for day in values]
    people = sf.table(
        {"day": values, "sex": rng.choice(["f", "m"], 80)},
        quasi=["day", "sex"],
        posets={"day": {"kind": kind, **words}},
    )
    release = sf.protect(
        people, sf.method(search, k=4), seed=1, require={"k-anonymity": 4}, measures=()
    )
    release.save(tmp_path / "out", allow_guessable_seed=True)
    poset = sf.hierarchy(people, "day").poset
    shown = [str(label) for label in release.table["day"].drop_nulls()]
    assert all(0 <= poset.measure(one.removesuffix(" or missing")) <= 1 for one in shown)
    assert 0 < sf.measure("ncp", people, release.table).value <= 1
