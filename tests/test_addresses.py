"""What may be told of addresses; tests/cli/test_access.py looks at all that is shown of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.addresses import bare, hidden, holds_secret, is_address
from sfumato.data.io.source import locate
from sfumato.errors import Complaint, InputError


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("postgresql://db", "postgresql://db"),
        ("POSTGRES+psycopg://ann:pw@db/x", "postgresql://ann@db/x"),
        ("postgresql://:pw@/x", "postgresql:///x"),
        ("postgresql://ann:pw@[::1]:5432,db:5433/x", "postgresql://ann@[::1]:5432,db:5433/x"),
        ("postgresql://db/x?passfile=/p&sslmode=require&user=ann", "postgresql://db/x?sslmode=require&user=ann"),
        ("postgresql://db/x?p%61ssword=pw", "postgresql://db/x"),
        ("postgresql://ann:pw", "postgresql://***"),
        ("postgresql://ann:p w@db", "postgresql://***"),
        ("postgresql:/ann:pw@db", "postgresql://***"),
        ("password=pw host=db", "postgresql://***"),
        ("mysql://ann:pw@db/x", "mysql://***"),
        ("duckdb:///x.duckdb?key=pw", "duckdb://***"),
        ("duckdb:////data/x.duckdb", "duckdb:////data/x.duckdb"),
        ("data/user=5/part.parquet", "data/user=5/part.parquet"),
        ("user=5/host=a/part.parquet", "user=5/host=a/part.parquet"),
        ("C:/data/ann@home.csv", "C:/data/ann@home.csv"),
    ],
)  # fmt: skip
def test_a_plan_s_address(address: str, plain: str) -> None:
    assert bare(address) == plain
    assert bare(plain) == plain
    assert not is_address(address) or "pw" not in plain


def test_which_addresses_hold_secrets() -> None:
    assert holds_secret("postgresql://ann:pw@db")
    assert holds_secret("host=db password=pw")
    assert holds_secret("postgresql:/ann:pw@db")
    assert holds_secret("postgresql://db?PASSWORD=pw")
    assert not holds_secret("postgresql://ann@db/x?sslmode=require")
    assert not holds_secret("data/visits.csv")


def test_every_error_hides_them() -> None:
    assert "pw" not in str(InputError("no postgresql://ann:pw@db/x here"))
    assert "pw" not in Complaint("input.path", "got 'postgres://ann:pw@db'").what
    assert "pw" not in hidden("ann:pw@db/x")
    assert hidden("column mail, record 5: 'a@b.org' is no number") == (
        "column mail, record 5: 'a@b.org' is no number"
    )


def test_a_file_that_is_there_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spark:2024.csv").write_text("a\n1\n")
    assert sf.read("spark:2024.csv")["a"].to_list() == [1]
    with pytest.raises(InputError, match="not well formed"):
        locate("spark:2025.csv")
