"""SPSS, Stata and SAS: labels, what a file declares missing, and what is left behind."""

from __future__ import annotations

import base64
import builtins
import datetime as dt
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.io import read_back, read_with_notes, write_file
from sfumato.data.schema import Kind
from sfumato.errors import InputError, OutputError

pyreadstat = pytest.importorskip("pyreadstat")

SEX = {1.0: "male", 2.0: "female", 3.0: "other"}


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "sex": [1.0, 2.0, 2.0, 1.0],
            "health": [3.0, 1.0, 2.0, 3.0],
            "income": [1000.0, -8.0, 99999.0, 2500.0],
            "town": ["Bonn", "NA", "", "Kiel"],
        }
    )
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        file_label="secret study of ward 7",
        note="made by Dr. Moss",
        column_labels={"sex": "Sex of the respondent", "income": "Net income"},
        variable_value_labels={
            "sex": SEX,
            "health": {1.0: "bad", 2.0: "fair", 3.0: "good"},
            "income": {99999.0: "refused"},
        },
        missing_ranges={"income": [{"lo": -9, "hi": -1}, 99999], "town": ["NA"]},
        variable_measure={"health": "ordinal"},
    )
    return path


def test_labels_stand_for_codes(survey: Path) -> None:
    found, notes = read_with_notes(survey)
    assert found["sex"].to_list() == ["male", "female", "female", "male"]
    assert found.schema["sex"].kind == Kind.NOMINAL
    assert found.schema["sex"].label == "Sex of the respondent"
    assert found.schema["sex"].labels == tuple(SEX.items())
    assert found.schema["health"].kind == Kind.ORDINAL
    assert found.schema["health"].categories == ("bad", "fair", "good")
    assert "labels are shown in place of codes in 'sex', 'health'" in notes


def test_what_the_file_declares_missing_is_missing_and_counted(survey: Path) -> None:
    found, notes = read_with_notes(survey)
    assert found["income"].to_list() == [1000, None, None, 2500]
    assert found["town"].to_list() == ["Bonn", None, None, "Kiel"]
    what = "hold values that the file declares missing"
    assert f"missing: 2 cells of 'income' {what}" in notes
    assert f"missing: 1 cells of 'town' {what}" in notes


def test_stata_declares_missing_by_letters(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, "a", "b", None], "c": [1, 2, 3, 4, 5]}, dtype=object)
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path), missing_user_values={"a": ["a", "b"]})
    found, notes = read_with_notes(path)
    assert found["a"].to_list() == [1, 2, None, None, None]
    assert "missing: 2 cells of 'a' hold values that the file declares missing" in notes


def test_codes_stay_where_a_value_has_no_label(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [20.0, 31.0, 997.0]})
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"age": {997.0: "refused"}})
    found, notes = read_with_notes(path)
    assert found["age"].to_list() == [20, 31, 997]
    assert any(note.startswith("codes stay in 'age'") for note in notes)
    assert sf.read(path, sentinels=[997])["age"].to_list() == [20, 31, None]


def test_two_codes_of_one_meaning_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    labels = {"a": {1.0: "yes", 2.0: "yes", 3.0: "no"}}
    pyreadstat.write_sav(
        pl.DataFrame({"a": [1.0, 2.0, 3.0]}), str(path), variable_value_labels=labels
    )
    assert sf.read(path)["a"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_codes_and_labels_are_written_back_but_only_those_held(
    suffix: str, survey: Path, tmp_path: Path
) -> None:
    found = sf.read(survey)
    path = tmp_path / f"out.{suffix}"
    write_file(found, path)
    reader = pyreadstat.read_sav if suffix == "sav" else pyreadstat.read_dta
    frame, meta = reader(str(path), output_format="polars")
    assert frame["sex"].cast(pl.Float64).to_list() == [1.0, 2.0, 2.0, 1.0]
    assert meta.variable_value_labels["sex"] == {1: "male", 2: "female"}
    assert "income" not in meta.variable_value_labels
    assert meta.column_names_to_labels["sex"] == "Sex of the respondent"
    back = read_back(path, found.schema)
    assert back.frame.equals(found.frame)


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_codes_survive_a_search_where_values_do(suffix: str, tmp_path: Path) -> None:
    """All of sex is still a value, region is not: its labels are text, which is noted once."""
    frame = pl.DataFrame(
        {"sex": [1.0, 2.0] * 20, "region": [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0] * 5}
    )
    labels = {"sex": SEX, "region": {float(i): f"Region {i}" for i in range(1, 5)}}
    pyreadstat.write_sav(frame, str(tmp_path / "s.sav"), variable_value_labels=labels)
    (tmp_path / "plan.toml").write_text(
        f'[input]\npath = "{tmp_path / "s.sav"}"\n[columns]\nsex = "quasi"\nregion = "quasi"\n'
        f'[[steps]]\nuse = "mondrian"\nk = 10\n[output]\nformat = "{suffix}"\n'
    )
    release = sf.protect(sf.read(tmp_path / "s.sav"), tmp_path / "plan.toml", seed=1)
    release.save(tmp_path / "out", allow_guessable_seed=True)
    said = [note for note in release.evidence.notes if "codes" in note]
    assert len(said) == 1
    assert "labels: region, since" in said[0]
    reader = pyreadstat.read_sav if suffix == "sav" else pyreadstat.read_dta
    written, meta = reader(str(tmp_path / "out" / f"data.{suffix}"), output_format="polars")
    assert meta.variable_value_labels == {"sex": {1: "male", 2: "female"}}
    assert set(written["sex"].cast(pl.Float64)) == {1.0, 2.0}
    assert written["region"].dtype == pl.String


def test_nothing_of_the_original_is_left(survey: Path, tmp_path: Path) -> None:
    found = sf.read(survey)
    for suffix in ("sav", "dta", "xpt"):
        path = tmp_path / f"out.{suffix}"
        write_file(found, path)
        raw = path.read_bytes()
        for word in (b"secret", b"Moss", b"refused", b"other", str(tmp_path).encode(), b"NA  "):
            assert word not in raw, (suffix, word)
        assert not re.search(rb"20[23]\d \d\d:\d\d|[A-Z]{3}2\d:\d\d:", raw), suffix


def test_a_hidden_category_is_written_as_text(survey: Path, tmp_path: Path) -> None:
    found = sf.read(survey).without(["health", "town"])
    sex = pl.Series("sex", ["male", None, "female", "male"])
    hidden = {"sex": np.array([False, True, False, False])}
    write_file(found.with_columns([sex], suppressed=hidden), tmp_path / "t.sav")
    frame, meta = pyreadstat.read_sav(str(tmp_path / "t.sav"), output_format="polars")
    assert frame["sex"].to_list() == ["male", "*", "female", "male"]
    assert meta.variable_value_labels == {}


@pytest.mark.parametrize(
    ("suffix", "columns", "what"),
    [
        ("sav", {"home town": ["a"]}, "'home town' cannot be a name in a sav file"),
        ("xpt", {"größe": [1]}, "'größe' cannot be a name in a xpt file"),
        ("xpt", {"x" * 40: [1]}, "cannot be a name in a xpt file"),
        ("dta", {"Age": [1], "age": [2]}, "'age' differs from 'Age' only in capitals"),
        ("sav", {"with": [1]}, "'with' cannot be a name"),
        ("sav", {"a": [2**60]}, "record 1 holds 1152921504606846976"),
        ("sav", {"a": ["x "]}, "record 1 holds 'x ', which a sav file cannot"),
        ("dta", {"a": ["x", ""]}, "record 2 holds an empty text"),
        ("xpt", {"a": [float("inf")]}, "record 1 holds inf"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    suffix: str, columns: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises(OutputError, match=re.escape(what)) as refused:
        sf.write(sf.table(columns), tmp_path / f"t.{suffix}")
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_the_error_says_how_to_get_it(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def none(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(InputError, match="need the package pyreadstat") as unread:
        sf.read(survey)
    with pytest.raises(OutputError, match="need the package pyreadstat") as unwritten:
        sf.write(sf.table({"a": [1]}), survey.with_name("t.dta"))
    for absent in (unread, unwritten):
        assert "sfumato[stat]" in (absent.value.remedy or "")
    assert not survey.with_name("t.dta").exists()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.sav").write_bytes(b"$FL2 nothing")
    with pytest.raises(InputError, match="cannot be read as a file of SPSS"):
        sf.read(tmp_path / "t.sav")


def test_transport_files_keep_long_names_and_dates(tmp_path: Path) -> None:
    frame = pl.DataFrame({"date_of_first_admission": ["2020-01-31"], "x": [1.5]})
    made = sf.table(frame.with_columns(pl.col("date_of_first_admission").str.to_date()))
    sf.write(made, tmp_path / "t.xpt")
    assert sf.read(tmp_path / "t.xpt").frame.equals(made.frame)


def test_transport_files_get_labels_in_place_of_codes(survey: Path, tmp_path: Path) -> None:
    write_file(sf.read(survey), tmp_path / "t.xpt")
    assert sf.read(tmp_path / "t.xpt")["sex"].to_list() == ["male", "female", "female", "male"]


def test_whoever_asks_for_numbers_gets_the_codes(survey: Path) -> None:
    assert sf.read(survey, kinds={"sex": "integer"})["sex"].to_list() == [1, 2, 2, 1]


@pytest.mark.parametrize("suffix", ["sav", "dta"])
@pytest.mark.parametrize(
    "labels",
    [
        ((0.5, "half"), (1.5, "more")),
        (("a", "alpha"), ("b", "beta")),
        (("long_code_1", "alpha"), ("long_code_2", "beta")),
        ((1.0, "x" * 60), (2.0, "é" * 60)),
        ((1e12, "vast"), (2.0, "small")),
    ],
)
def test_labels_come_back_whatever_the_codes(
    suffix: str, labels: tuple[tuple[float | str, str], ...], tmp_path: Path
) -> None:
    made = sf.table({"w": [labels[1][1], labels[0][1], None]})
    made = made.with_schema(made.schema.with_column(made.schema["w"].with_(labels=labels)))
    write_file(made, tmp_path / f"t.{suffix}")
    assert read_back(tmp_path / f"t.{suffix}", made.schema).frame.equals(made.frame)


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt"])
def test_long_labels_of_variables_do_not_stop_a_release(suffix: str, tmp_path: Path) -> None:
    made = sf.table({"w": [1, 2]})
    made = made.with_schema(made.schema.with_column(made.schema["w"].with_(label="é why " * 60)))
    write_file(made, tmp_path / f"t.{suffix}")
    assert sf.read(tmp_path / f"t.{suffix}").schema["w"].label.startswith("é why é why")


@pytest.mark.parametrize(("suffix", "length"), [("sav", 120), ("sav", 200), ("dta", 200)])
def test_long_labels_of_values_are_written_whole(suffix: str, length: int, tmp_path: Path) -> None:
    made = sf.table({"w": ["x" * length, "y" * length]})
    labels = ((1.0, "x" * length), (2.0, "y" * length))
    made = made.with_schema(made.schema.with_column(made.schema["w"].with_(labels=labels)))
    write_file(made, tmp_path / f"t.{suffix}")
    assert read_back(tmp_path / f"t.{suffix}", made.schema).frame.equals(made.frame)


def test_labels_beyond_every_length_are_refused(tmp_path: Path) -> None:
    made = sf.table({"w": ["x" * 40_000]})
    labels = ((1.0, "x" * 40_000),)
    made = made.with_schema(made.schema.with_column(made.schema["w"].with_(labels=labels)))
    with pytest.raises(OutputError, match="the labels of 'w' are too long"):
        write_file(made, tmp_path / "t.dta")


def test_portable_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.por"
    frame = pl.DataFrame({"SEX": [1.0, 2.0, None]})
    pyreadstat.write_por(frame, str(path), column_labels={"SEX": "Sex of the respondent"})
    found = sf.read(path)
    assert found["SEX"].to_list() == [1, 2, None]
    assert found.schema["SEX"].label == "Sex of the respondent"


# Nothing that can be installed writes these two; they were made with ReadStat's C functions.
SAS = (
    "c-muNK!8K98WT2)2%g_NiGzXjxM7ckynvvw5`(cZBa<N`M2QFk12ZFvxG|%$F@uN*g90-n%$#7yU<Ef%A6FO05XWHG"
    "5CvR-fdByMM^e}D{ro0JBpMY6Krkbku%(`XiGiW7sZVBJX$6wFv7VuUo`J5Rp_zf6p`o53x^Wd2X7OewC_)WBe)&&f"
    "7+w90U3dPWxpNeZf>AIEM!_f;1*2dTjDk@x3P!;w7&KreqTh-F`q`iiCVmDUAa#QW!qs3#Rd)a?E`g>$g9}1OFrkX`"
    "K*eKV0?-co1x^TUgC<_WiCw(~4)s4cAhZLTdv@RuufQR0K|mbMS}6En4;i@VhiL0sbHFJ-FAr%910sI$M?Fjj+E@r!"
    "zM*3=L|x||2k*n%a`K26D;Wi&U=)mkQ7{VV0sj5|4+hlM&xu350|N^c>^ETGB2&Kx18T$PA4L0q4Ol%6rCAtQfo%eq"
    "TS4ZtF#P?G+6ejs)$4&~2e@g$!pOjZ#uq^2OQ7&k&Hj((E(Qh_sLOSrv<=jCE@&aj0CXpYyF}3EY`}9mA+7<zt`Q6%"
    "9N-wq;FnsWkeQd9pPS0S;N&0V2UO!4;vepZ&C?$6aDo7K8l_JjcGR$jwbR(p+HGuTerH5;A3Fa(nmSfAb*yOVgAvW2"
    "=zM50B$y6=5vlIyf6DUZPy^q906BhO;5!h2TjWqaADX<Nff7o-WyWDXy15GI<_Vz6o1>+Z|066uXw@Gj6~OWt6B?fz"
    "jn9k5=SSmn(9EYCNNGz1$sQgsTZTxRS%5AD)i+!yqIGZ<Gwz@P0{~4||6>"
)
CATALOGUE = (
    "c-rmUKTE?<6o=t++akK9kfEC)oejC91|5S&DMSn24&6kgg5aM?=va3rKZ?$xxH$Gx=-}k$szIVjs11mV@;(p_`JI!)"
    "C3_<B<^K76|JrU&ZZ79#;Xz-t7OiIBitDPHRv#m_NL>~3K(zz0ZE@-<+hZc*Y;==&J?cj$?mOR+3TyArC%w&dZu~mA"
    "igL9mov=h2rFhlzJHFmpP7Y7bM!7ujwD0*#T8F-;wWrJLMl0cN*eOKgWc&0nyJj4D`uP9=00000000000000000000"
    "fC_`e?4&jOM#lQ_rXDX700000000000QhsBW_C?HsQ8CptyF(sYf5(eQtql;_pUVEkmJ3h;pgp~91IHq000000RO`q"
    "@<KN;"
)


def unpacked(text: str, path: Path) -> Path:
    path.write_bytes(zlib.decompress(base64.b85decode(text)))
    return path


def test_sas_files_are_read(tmp_path: Path) -> None:
    found = sf.read(unpacked(SAS, tmp_path / "t.sas7bdat"))
    days = [dt.date(1949, 12, 31), dt.date(1960, 1, 1), dt.date(1980, 1, 1)]
    assert found["SEX"].to_list() == [1, 2, 2]
    assert found["PAY"].to_list() == [1000.5, None, 2500.25]
    assert found["BORN"].to_list() == days
    assert found["TOWN"].to_list() == ["Bonn", None, "Köln"]
    assert found.schema["PAY"].label == "Net income"


def test_a_catalogue_beside_a_sas_file_names_its_codes(tmp_path: Path) -> None:
    path = unpacked(SAS, tmp_path / "t.sas7bdat")
    unpacked(CATALOGUE, tmp_path / "t.sas7bcat")
    found, notes = read_with_notes(path)
    assert found["SEX"].to_list() == ["male", "female", "female"]
    assert notes == ["labels are shown in place of codes in 'SEX'"]
    assert sf.read(path, kinds={"SEX": "integer"})["SEX"].to_list() == [1, 2, 2]
    (tmp_path / "t.sas7bcat").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as a SAS catalogue"):
        sf.read(path)


def test_sas_files_are_written_as_transport_files(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="sas7bdat is read but not written") as refused:
        sf.write(sf.table({"a": [1]}), tmp_path / "t.sas7bdat")
    assert "xpt" in (refused.value.remedy or "")
