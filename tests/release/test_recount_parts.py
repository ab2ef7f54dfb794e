"""Promises counted on parts of a release are those that are counted on all of it at once."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.io import write_file
from sfumato.data.io.back import restored
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.errors import MeasureError
from sfumato.measurement import Finding
from sfumato.protocols import Criterion
from sfumato.registry import entries
from sfumato.release.plan.requirement import Requirement, parse_requirement
from sfumato.release.records.evidence import Measuring
from sfumato.release.records.judging import judge
from sfumato.release.recount_parts import gaps, recount_parts
from sfumato.release.sql_recount import sql_recount

_ASKED: list[tuple[str, dict[str, Any]]] = [
    ("k-anonymity", {"k": 2}),
    ("average-risk", {"at-most": 0.5}),
    ("l-diversity", {"column": "ill", "at-least": 2}),
    ("l-diversity", {"column": "ill", "at-least": 2, "variant": "entropy"}),
    ("l-diversity", {"column": "ill", "at-least": 2, "variant": "recursive", "c": 2}),
    (
        "l-diversity",
        {
            "column": "ill",
            "at-least": 1,
            "variant": "recursive",
            "c": 3,
            "never-ruled-out": ["flu"],
            "c2": 0.3,
        },
    ),
    ("t-closeness", {"column": "ill", "at-most": 0.4}),
    ("t-closeness", {"column": "pay", "at-most": 0.4}),
    ("t-closeness", {"column": "pay", "at-most": 0.4, "distance": "equal"}),
    ("alpha-k-anonymity", {"column": "ill", "k": 2, "alpha": 0.7}),
    ("p-sensitive", {"k": 2, "p": 2}),
    ("p-alpha-sensitive", {"column": "ill", "k": 3, "p": 2, "alpha": 0.8}),
    ("beta-likeness", {"column": "ill", "at-most": 1.0}),
    ("beta-likeness", {"column": "ill", "at-most": 1.0, "variant": "enhanced", "missing": "value"}),
    ("delta-disclosure", {"column": "ill", "at-most": 1.0}),
]


def _required(asked: list[tuple[str, dict[str, Any]]]) -> list[Requirement]:
    found = [parse_requirement(name, words) for name, words in asked]
    assert not any(bad for _, bad in found)
    return [one for good, _ in found for one in good]


def _written(table: Table, folder: Path, parts: int, people: pl.Series | None = None) -> Path:
    (folder / "data").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(table.height), parts)):
        write_file(table.take(rows), folder / f"data/part-{i:05d}.parquet", "parquet")
    if people is not None:
        # The same records in the same order, divided in another way.
        (folder / "people").mkdir()
        for i, rows in enumerate(np.array_split(np.arange(table.height), parts + 1)):
            own = people.gather(pl.Series(rows)).to_frame()
            own.write_parquet(folder / f"people/part-{i:05d}.parquet")
    return folder / "data"


def _same(found: Finding, expected: Finding) -> None:
    bare: dict[str, Any] = {"detail": {}, "value": 0.0, "depends": None}
    assert replace(found, **bare) == replace(expected, **bare)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    wanted = dict(expected.detail)
    if "k_wildcard" in wanted:
        assert "other parts" in found.detail["k_wildcard"]
        wanted["k_wildcard"] = found.detail["k_wildcard"]
    assert set(found.detail) == set(wanted)
    for name, value in wanted.items():
        near = pytest.approx(value, abs=1e-12) if isinstance(value, float) else value
        assert found.detail[name] == near, name


_ROW = st.tuples(
    st.sampled_from(["[1, 2]", "[3, 4]", "*", None]),
    st.sampled_from(["a", "b", None]),
    st.sampled_from(["flu", "hiv", "gout", "*", "", None]),
    st.sampled_from([1.0, 2.5, 7.0, None]),
    st.sampled_from(["x", "y", "z", None]),
)


def _table(rows: list[tuple[Any, ...]]) -> tuple[Table, Table, pl.Series]:
    columns = {
        name: pl.Series(name, [row[j] for row in rows], dtype=dtype)
        for j, (name, dtype) in enumerate(
            (("age", pl.String), ("town", pl.String), ("ill", pl.String), ("pay", pl.Float64))
        )
    }
    made = sf.table(pl.DataFrame(columns), quasi=["age", "town"], confidential=["ill", "pay"])
    age = made.schema["age"].with_(generalized=True)
    hidden = made["ill"] == "*"
    ill = made["ill"].replace("*", None)
    masked = made.with_columns([ill], [age], {"ill": hidden.fill_null(False).to_numpy()})
    people = pl.Series("pid", [row[4] for row in rows], dtype=pl.String)
    return made, masked, people


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(_ROW, min_size=1, max_size=30),
    buckets=st.sampled_from([1, 2, 8]),
    parts=st.integers(1, 3),
)
def test_parts_are_judged_as_the_whole(
    rows: list[tuple[Any, ...]], buckets: int, parts: int
) -> None:
    original, masked, _ = _table(rows)
    required = _required(_ASKED)
    with tempfile.TemporaryDirectory() as place:
        folder = _written(masked, Path(place), parts)
        found = recount_parts(folder, masked.schema, required, buckets=buckets)
        read = _read(folder, masked)
    expected = judge(required, [Pair(original, read, None)], Measuring(1))
    for one, other in zip(found, expected, strict=True):
        _same(one, other)


def _read(folder: Path, masked: Table) -> Table:
    frame = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*"))])
    return restored(frame, masked.schema)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(_ROW, min_size=3, max_size=30), buckets=st.sampled_from([1, 2, 8]))
def test_people_are_counted_wherever_their_records_lie(
    rows: list[tuple[Any, ...]], buckets: int
) -> None:
    original, masked, people = _table([*rows, (*rows[0][:4], "x"), (*rows[1][:4], "x")])
    owned = sf.table(
        original.frame.with_columns(people),
        quasi=["age", "town"],
        confidential=["ill", "pay"],
        identifier=["pid"],
        person="pid",
    )
    asked = [_ASKED[i] for i in (0, 1, 2, 9, 10, 11)]
    asked.append(("k-anonymity", {"k": 2, "unit": "record"}))
    required = _required(asked)
    with tempfile.TemporaryDirectory() as place:
        folder = _written(masked, Path(place), 2, people)
        found = recount_parts(
            folder, masked.schema, required, buckets=buckets, people=Path(place) / "people",
            called="pid",
        )  # fmt: skip
        read = _read(folder, masked)
    pair = Pair(owned, read, np.arange(read.height))
    for one, other in zip(found, judge(required, [pair], Measuring(1)), strict=True):
        _same(one, other)


def test_what_cannot_be_counted_on_parts_is_named() -> None:
    """Every registered criterion counts on parts, or says why it does not."""
    _, masked, _ = _table([("*", "a", "flu", 1.0, "x")] * 3)
    listed = {}
    for entry in entries("criterion"):
        thing = entry.load()
        built = thing.build(
            {**thing.example, **({"column": "ill"} if "column" in thing.example else {})}
        )
        assert isinstance(built, Criterion)
        listed[entry.name] = built.gap(masked.schema)
    uncounted = {name for name, why in listed.items() if why}
    assert uncounted == {
        *("delta-presence", "k-map", "population-uniqueness"),
        *("k1-anonymity", "kk-anonymity", "km-anonymity", "positive-payout"),
    }
    wildcard = Requirement(KAnonymity(k=2, missing="wildcard"))
    assert gaps([wildcard], masked.schema)
    with pytest.raises(MeasureError, match="wildcard"):
        recount_parts(Path(), masked.schema, [wildcard])


def test_sql_counts_a_folder_of_parts_as_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = {"age": rng.integers(20, 30, 300), "ill": rng.choice(["flu", "hiv"], 300)}
    table = sf.table(frame, quasi=["age"], confidential=["ill"])
    release = tmp_path / "release"
    release.mkdir()
    _written(table, release, 4)
    table.frame.write_parquet(tmp_path / "lone.parquet")
    named: dict[str, Any] = {"quasi": ["age"], "confidential": ["ill"]}
    parts = sql_recount(release / "data", **named, memory=256 << 20, temporary=tmp_path)
    lone = sql_recount(tmp_path / "lone.parquet", **named)
    assert (parts.records, parts.classes, parts.smallest) == (300, lone.classes, lone.smallest)
    assert parts.confidential == lone.confidential
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lone.parquet", "release"]
