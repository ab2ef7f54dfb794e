"""Tables drawn from given marginals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.data.generators.marginals import from_marginals, read_marginals
from sfumato.errors import InputError, ParameterError, SchemaError, SfumatoError
from sfumato.kernels.statistics.information import mutual_information


def test_columns_have_their_shares_and_are_independent() -> None:
    shares = {"sex": {"f": 0.51, "m": 0.49}, "rooms": {1: 20, 2: 50, 3: 30, 4: 0}}
    made = from_marginals(shares, 20_000, np.random.default_rng(1), quasi=["sex", "rooms"])
    assert made.schema.quasi == ["sex", "rooms"]
    assert made["rooms"].dtype == pl.Int64
    assert made["rooms"].max() == 3
    counts = np.bincount(made["rooms"].to_numpy(), minlength=4)[1:]
    assert chisquare(counts, 20_000 * np.array([0.2, 0.5, 0.3])).pvalue > 1e-3
    assert (made["sex"] == "f").mean() == pytest.approx(0.51, abs=0.02)
    sex = (made["sex"] == "f").to_numpy().astype(int)
    assert mutual_information(sex, made["rooms"].to_numpy()) < 0.001
    again = from_marginals(shares, 20_000, np.random.default_rng(1))
    assert again.frame.equals(made.frame)


@given(
    st.dictionaries(
        st.text("xyz", min_size=1, max_size=3),
        st.dictionaries(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 5), max_size=4),
        max_size=3,
    ),
    st.integers(0, 30),
)
def test_it_draws_only_what_has_a_share_or_names_an_error(
    shares: dict[str, dict[int | None, float]], rows: int
) -> None:
    try:
        made = from_marginals(shares, rows, np.random.default_rng(0))
    except SfumatoError as error:
        assert not shares or any(not sum(column.values()) for column in shares.values())
        assert str(error).strip()
        return
    assert made.height == rows
    for name, column in shares.items():
        assert set(made[name].to_list()) <= {value for value, share in column.items() if share}


def test_a_file_of_marginals(tmp_path: Path) -> None:
    where = tmp_path / "shares.csv"
    where.write_text(
        "column,value,share\nsex,f,0.5\nsex,m,0.5\nzip,02139,1\nzip,10001,3\n"
        "age,20,1\nage,30,2\nage,,1\nincome,1.5,1\nincome,2,1\n"
    )
    assert read_marginals(where) == {
        "sex": {"f": 0.5, "m": 0.5},
        "zip": {"02139": 1.0, "10001": 3.0},
        "age": {20: 1.0, 30: 2.0, None: 1.0},
        "income": {1.5: 1.0, 2.0: 1.0},
    }
    made = from_marginals(where, 200, np.random.default_rng(0), quasi=["zip"])
    assert [str(made.schema[name].kind) for name in made.names] == [
        "nominal", "nominal", "integer", "continuous",
    ]  # fmt: skip
    assert made["age"].null_count() > 0
    frame = pl.DataFrame({"column": ["a"], "value": ["x"], "share": [2]})
    assert from_marginals(frame, 2, np.random.default_rng(0))["a"].to_list() == ["x", "x"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("column,value\na,x\n", "share"),
        ("column,value,share\na,x,much\n", "row 1"),
        ("column,value,share\na,x,1\na,x,2\n", "again"),
        ("column,value,share\n,x,1\n", "names no column"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, match: str) -> None:
    where = tmp_path / "shares.csv"
    where.write_text(text)
    with pytest.raises(InputError, match=match):
        read_marginals(where)
    with pytest.raises(InputError, match="cannot be read"):
        read_marginals(tmp_path / "none.csv")


def test_every_complaint_at_once() -> None:
    rng = np.random.default_rng(0)
    wrong = {"a": {}, "b": {"x": -1.0}, "c": {"x": float("nan")}, "d": {"x": 1, 2: 1}, "e": {1: 0}}
    with pytest.raises(SchemaError) as caught:
        from_marginals(wrong, 3, rng)
    assert {complaint.where for complaint in caught.value.complaints} == set("abcde")
    for rows in (-1, 2.5, True):
        with pytest.raises(ParameterError):
            from_marginals({"a": {"x": 1}}, rows, rng)  # type: ignore[arg-type]
