"""Readers meet anything: the outcome is a table or an error of ours, never another exception."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.data.io import read_with_notes, write
from sfumato.data.schema import Kind
from sfumato.data.table import Table, table
from sfumato.errors import SfumatoError

EXAMPLES = 2 * settings().max_examples
KINDS = [kind.value for kind in Kind]


def attempt(content: bytes, name: str, **options: Any) -> Table | None:
    """Read the bytes as a file of that name: the table, or None if it was refused with a reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            found, notes = read_with_notes(path, **options)
        except SfumatoError as error:
            assert str(error).strip()
            return None
    assert isinstance(found, Table)
    assert found.names
    assert all(isinstance(note, str) and note for note in notes)
    for column in found.schema:
        assert len(found[column.name].to_list()) == found.height
    return found


# Bytes that mean something to some reader, and any others.
PIECES = st.sampled_from(
    [
        b",",
        b";",
        b"\t",
        b"|",
        b'"',
        b"'",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b"a",
        b"1",
        b"1,5",
        b"1.234,5",
        b"NA",
        b"null",
        b"true",
        b"2000-01-01",
        b"1/2/2000",
        b"007",
        b"9" * 25,
        b"1e999",
        b"-",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x00",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"sep=;\n",
        b"[",
        b"inf",
        b".",
    ]
)
SOUP = st.lists(PIECES | st.binary(max_size=3), max_size=40).map(b"".join)


@settings(max_examples=EXAMPLES)
@given(
    content=SOUP,
    name=st.sampled_from(["f.csv", "f.tsv", "f.txt", "f.csv.gz", "f.dat"]),
    header=st.none() | st.booleans(),
)
@example(content=b'"', name="f.csv", header=True)
@example(content=b"\xff\xfe", name="f.csv", header=True)
@example(content=b"\xff\xfe\x00\xd8", name="f.csv", header=True)
@example(content=b"\x1f\x8b\x08", name="f.csv", header=True)
@example(content=b"a,b\n" + b"\xef\xbb\xbf,1\n", name="f.csv", header=True)
@example(content=b"sep=;\n", name="f.csv", header=True)
@example(content=b"sep=;\nsep=;\n", name="f.csv", header=False)
def test_soup_as_text(content: bytes, name: str, header: bool | None) -> None:
    options = {} if name.endswith(".dat") else {"header": header}
    attempt(content, name, **options)


@settings(max_examples=EXAMPLES)
@given(
    content=SOUP,
    kinds=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(KINDS)),
    decimal=st.sampled_from([None, ".", ","]),
    thousands=st.sampled_from([None, ".", ",", "'", " "]),
    sentinels=st.sampled_from([None, ["NA", 1], {"a": ["a"], "*": [-9]}]),
    missing=st.lists(st.sampled_from(["", "NA", "1", "a"]), max_size=2),
    encoding=st.sampled_from([None, "utf-8", "utf-16", "cp1252", "utf-7", "idna", "hex"]),
)
def test_soup_with_the_callers_word(
    content: bytes,
    kinds: dict[str, str],
    decimal: str | None,
    thousands: str | None,
    sentinels: Any,
    missing: list[str],
    encoding: str | None,
) -> None:
    attempt(
        b"a,b\n" + content,
        "f.csv",
        kinds=kinds,
        decimal=decimal,
        thousands=thousands,
        sentinels=sentinels,
        missing=missing,
        encoding=encoding,
        quasi=["a"],
    )


@settings(max_examples=EXAMPLES)
@given(
    cells=st.lists(st.binary(max_size=12) | PIECES, min_size=1, max_size=6),
    kind=st.sampled_from(KINDS),
)
@example(cells=[b"9223372036854775808", b"1"], kind="integer")
@example(cells=[b"1e999", b"NaN"], kind="integer")
@example(cells=[b"99999-01-01"], kind="date")
@example(cells=[b"0000-00-00"], kind="date")
@example(cells=[b"2300-01-01T00:00:00.123456789"], kind="date")
@example(cells=["²".encode(), "٣".encode()], kind="continuous")
def test_any_cells_under_any_kind(cells: list[bytes], kind: str) -> None:
    quoted = [b'"' + cell.replace(b'"', b'""') + b'"' for cell in cells]
    content = b"\n".join([b"x,y", *(cell + b",1" for cell in quoted)])
    options: dict[str, Any] = {"categories": {"x": ["1", "a"]}} if kind == "ordinal" else {}
    attempt(content, "f.csv", kinds={"x": kind}, delimiter=",", **options)
    plain = attempt(content, "f.csv", delimiter=",", header=True)
    if plain is not None:
        assert plain.height == len(cells)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """Sound files of every format, to be mutated."""
    folder = tmp_path_factory.mktemp("seeds")
    given_table = table(
        pl.DataFrame(
            {
                "n": [1, None, 3],
                "x": [0.5, None, 1e300],
                "w": ["a", 'q"\n', None],
                "o": pl.Series(["lo", "hi", None], dtype=pl.Enum(["lo", "hi"])),
                "s": [["a"], [], None],
            }
        )
    )
    for name in ("f.csv", "f.tsv", "f.parquet", "f.arrow", "f.sqlite"):
        write(given_table, folder / name)
    milder = given_table.with_columns([pl.Series("x", [0.5, None, 1e30])])  # for SAS
    for name in ("f.xlsx", "f.ods", "f.sav", "f.dta", "f.xpt"):
        write(milder, folder / name)
    write(table({"items": [["1", "2"], ["3"]]}), folder / "f.dat")
    (folder / "f.csv.gz").write_bytes(gzip.compress((folder / "f.csv").read_bytes(), mtime=0))
    return lambda name: (folder / name).read_bytes()


def mutated(content: bytes, data: st.DataObject) -> bytes:
    """The content with some bytes changed, cut out, doubled, or cut off."""
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, max(len(content) - 1, 0)))
        to = data.draw(st.integers(where, min(len(content), where + 16)))
        change = data.draw(st.sampled_from(["replace", "cut", "double", "end", "insert"]))
        new = data.draw(PIECES | st.binary(max_size=4))
        content = {
            "replace": content[:where] + new + content[where + len(new) :],
            "cut": content[:where] + content[to:],
            "double": content[:to] + content[where:to] + content[to:],
            "end": content[:where],
            "insert": content[:where] + new + content[where:],
        }[change]
    return content


@pytest.mark.parametrize(
    "name",
    [
        *("f.csv", "f.tsv", "f.csv.gz", "f.dat", "f.parquet", "f.arrow", "f.sqlite"),
        *("f.xlsx", "f.ods", "f.sav", "f.dta", "f.xpt"),
    ],
)
@given(data=st.data())
def test_mutated_files(seeds: Callable[[str], bytes], name: str, data: st.DataObject) -> None:
    attempt(mutated(seeds(name), data), name)


@given(
    content=st.binary(max_size=64),
    prefix=st.sampled_from([b"", b"PAR1", b"ARROW1\0\0", b"\0" * 8 + b"DUCK"]),
)
@pytest.mark.parametrize(
    "name",
    [
        *("f.parquet", "f.arrow", "f.sqlite", "f.db", "f.duckdb"),
        *("f.xlsx", "f.xls", "f.ods", "f.sav", "f.por", "f.dta", "f.xpt", "f.sas7bdat"),
    ],
)
def test_noise_as_typed_files(content: bytes, prefix: bytes, name: str) -> None:
    assert attempt(prefix + content, name) is None or content == b""


@given(
    source=st.text(max_size=20)
    | st.builds(
        "{}://{}".format,
        st.sampled_from(["sqlite", "duckdb", "file", "http", "mysql", "", "SQLITE"]),
        st.text(max_size=12),
    )
)
@example(source="file://")
@example(source="sqlite:///")
@example(source="~nobody-at-all/x.csv")
@example(source="x" * 5000 + ".csv")
def test_any_words_as_a_source(source: str) -> None:
    with pytest.raises(SfumatoError):
        read_with_notes(source)
