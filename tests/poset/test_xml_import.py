"""The toolkit's XML files as parts of a plan."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.poset.files.dsg_xml import plan_columns, read_columns, toml_text
from sfumato.release.plan.plan import Plan

HIERARCHY = """<?xml version="1.0"?>
<Hierarchies>
  <RangePoset Name="Age_range_poset" LowerBound="0" UpperBound="120" MaxDiff="25" />
  <MatrixPoset Name="ICD9_Codes" RootNode="ID9000000">
    <Node ID="ID9000000" Name="*" Value="1" Parents="ID9000000"/>
    <Node ID="ID9000001" Name="008" Value="1" Parents="ID9000000"/>
    <Node ID="ID9000002" Name="031" Value="1" Parents="ID9000000"/>
    <Node ID="ID9000003" Name="038" Value="1" Parents="ID9000000"/>
  </MatrixPoset>
  <MatrixPoset Name="Zip" RootNode="r">
    <Node ID="r" Name="*" Value="4" Parents="r"/>
    <Node ID="a" Name="021" Value="3" Parents="r"/>
    <Node ID="b" Name="Cambridge" Value="2" Parents="r"/>
    <Node ID="c" Name="02139" Value="1" Parents="a b"/>
    <Node ID="d" Name="02141" Value="1" Parents="a,b"/>
  </MatrixPoset>
  <PowerPoset Name="Has_HIV" Bits="1"/>
  <DateOfBirthPoset Name="Age" BaseDate="20060101" AgeRanges="5,30,50,70,90"/>
  <SparseMatrixPoset Name="SparseMatrixPoset_ICD9" MatrixLatticeName="ICD9_Codes" Columns="39"/>
  <PassThroughPoset Name="MyPassThroughPoset"/>
  <SuppressionPoset Name="MySuppressionPoset"/>
  <Hierarchy Name="Other">
    <RangePoset Name="Age_range_poset" LowerBound="0" UpperBound="99.5"/>
  </Hierarchy>
</Hierarchies>
"""
COLUMNS = """
<TableDescription xmlns:xsi=http://www.w3.org/2001/XMLSchema-instance >
  <Column Name="Age_Year" Hierarchy="Default" Poset="Age_range_poset" Weight="3.023" />
  <Column Name="Gender" Hierarchy="Default" Poset="MySuppressionPoset" Weight="988.823" />
  <Column Name="mrn" Hierarchy="Default" Poset="MyPassThroughPoset" Weight="0"/>
  <Column Name="other dx" Poset="SparseMatrixPoset_ICD9" Weight="2.566" />
  <Column Name="zip" Poset="Zip"/>
  <Column Name="born" Poset="Age"/>
  <Column Name="hiv" Poset="Has_HIV"/>
  <Column Name="older" Hierarchy="Other" Poset="Age_range_poset"/>
</TableDescription>
"""


def files(tmp_path: Path, hierarchy: str = HIERARCHY, columns: str = COLUMNS) -> tuple[Path, Path]:
    one, other = tmp_path / "Hierarchy.xml", tmp_path / "Columns.xml"
    one.write_text(hierarchy, encoding="utf-8")
    other.write_text(columns, encoding="utf-8")
    return one, other


def test_all_kinds_of_posets(tmp_path: Path) -> None:
    found = {one.name: toml_text(one.words) for one in read_columns(*files(tmp_path))}
    assert found["Age_Year"] == (
        '{ role = "quasi", poset = { kind = "interval", low = 0, high = 120, max-width = 25 } }'
    )
    assert found["Gender"] == '{ role = "quasi", poset = { kind = "suppression" } }'
    assert found["mrn"] == '{ role = "insensitive", poset = { kind = "pass-through" } }'
    assert found["hiv"] == '{ role = "quasi", poset = { kind = "power-set", bits = 1 } }'
    assert found["older"] == (
        '{ role = "quasi", poset = { kind = "interval", low = 0, high = 99.5 } }'
    )
    assert 'kind = "birth-date", ages = [5, 30, 50, 70, 90], base = "2006-01-01"' in found["born"]
    assert '02139 = ["021", "Cambridge"]' in found["zip"]
    assert 'kind = "code-frequency", over = { kind = "partial-order"' in found["other dx"]
    assert "columns = 39" in found["other dx"]
    assert "values" not in found["other dx"]  # one value for all says nothing


def test_the_columns_of_a_plan(tmp_path: Path) -> None:
    text = plan_columns(*files(tmp_path))
    plan = Plan.parse(text)
    assert list(plan.columns) == [
        "Age_Year", "Gender", "mrn", "other dx", "zip", "born", "hiv", "older",
    ]  # fmt: skip
    zips = plan.columns["zip"].poset
    assert zips is not None
    poset = zips.bind(["02139", "02141"])
    assert poset.lub(["02139", "02141"]) == "Cambridge"
    assert poset.measure("Cambridge") == pytest.approx(1 / 3)
    codes = plan.columns["other dx"].poset
    assert codes is not None
    assert codes.bind(["008:2 031", "008"]).lub(["008:2 031", "008"]) == "008:1-2 031:0-1"
    last = text.strip().split("\n")[-1]
    weights = tomllib.loads(last.removeprefix("# "))["importance"]
    assert weights["Gender"] == 988.823
    assert "mrn" not in weights
    # What a plan was made of comes back from it.
    assert Plan.parse(plan.to_toml()).columns == plan.columns


def test_measures_below_zero_that_fall_upwards(tmp_path: Path) -> None:
    """Value-MI of the thesis: minus what each node tells about the target."""
    hierarchy = """<x><MatrixPoset Name="Zip" RootNode="r">
    <Node ID="r" Name="*" Value="0" Parents="r"/>
    <Node ID="a" Name="021" Value="-0.75" Parents="r"/>
    <Node ID="c" Name="02139" Value="-0.5" Parents="a"/>
    <Node ID="d" Name="02141" Value="-0.25" Parents="a"/>
    <Node ID="e" Name="10001" Value="-1" Parents="r"/>
    </MatrixPoset><SparseMatrixPoset Name="Zips" MatrixLatticeName="Zip" Columns="3"/></x>"""
    columns = """<x><Column Name="zip" Poset="Zip"/><Column Name="zips" Poset="Zips"/></x>"""
    plan = Plan.parse(plan_columns(*files(tmp_path, hierarchy, columns)))
    source = plan.columns["zip"].poset
    assert source is not None
    assert source.parameters()["values"] == {
        "*": 0, "021": -0.75, "02139": -0.5, "02141": -0.25, "10001": -1,
    }  # fmt: skip
    poset = source.bind(["02139", "02141", "10001"])
    assert poset.lub(["02139", "02141"]) == "021"
    assert poset.measure("021") < poset.measure("02139") < poset.measure("02141")
    assert poset.measure("*") == 1
    codes = plan.columns["zips"].poset
    assert codes is not None
    assert codes.bind(["02139", "02141"]).lub(["02139", "02139"]) == "02139:1"


@pytest.mark.parametrize(
    ("hierarchy", "columns", "says"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><x/>', COLUMNS, "Hierarchy.xml declares a document type"),
        (HIERARCHY, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "Columns.xml declares"),
        ("<x><y></x>", COLUMNS, "line 1: it is no XML"),
        ("<x><TreePoset Name='t'/></x>", COLUMNS, "there is no <TreePoset>"),
        ("<x><RangePoset/></x>", COLUMNS, "a <RangePoset> has no Name"),
        ("<x><RangePoset Name='a'/><RangePoset Name='a'/></x>", COLUMNS, "defined twice"),
        ("<x><RangePoset Name='a' LowerBound='low'/></x>", COLUMNS,
         "<RangePoset> 'a': LowerBound='low' is no number"),
        ("<x><RangePoset Name='a' LowerBound='nan'/></x>", COLUMNS, "LowerBound='nan' is no"),
        ("<x><RangePoset Name='a' UpperBound='-inf'/></x>", COLUMNS, "UpperBound='-inf' is no num"),
        ("<x><RangePoset Name='a' UpperBound='1_0'/></x>", COLUMNS, "'1_0' is no number"),
        ("<x><RangePoset Name='a' LowerBound='5' UpperBound='3'/></x>", COLUMNS,
         "<RangePoset> 'a': the domain would run from 5 down to 3"),
        ("<x><RangePoset Name='a' MaxDiff='0'/></x>", COLUMNS, "<RangePoset> 'a': MaxDiff .*n 0"),
        ("<x><PowerPoset Name='a' Bits='1e400'/></x>", COLUMNS,
         "<PowerPoset> 'a': Bits='1e400' is no number"),
        ("<x><PowerPoset Name='a' Bits='2.5'/></x>", COLUMNS, "Bits='2.5' is no whole number"),
        ("<x><PowerPoset Name='a' Bits='1e300'/></x>", COLUMNS, "Bits='1e300' is no whole number"),
        ("<x><PowerPoset Name='a' Bits='63'/></x>", COLUMNS, "<PowerPoset> 'a': Bits .* 62"),
        ("<x><DateOfBirthPoset Name='a' AgeRanges='5,3'/></x>", COLUMNS, "'a': AgeRanges .*larger"),
        ("<x><DateOfBirthPoset Name='a' AgeRanges='5,9999'/></x>", COLUMNS, "AgeRanges .* 500"),
        ("<x><DateOfBirthPoset Name='a' AgeRanges='5' BaseDate='20061399'/></x>", COLUMNS,
         "<DateOfBirthPoset> 'a': BaseDate='20061399' is no date"),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a' Parents='2'/>"
         "<Node ID='2' Name='b' Parents='1'/></MatrixPoset></x>", COLUMNS,
         "<MatrixPoset> 'm': .* in a circle: \"a\" -> \"b\" -> \"a\""),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a' Value='-1'/>"
         "<Node ID='2' Name='b' Parents='1'/><Node ID='3' Name='c' Parents='1' Value='-2'/>"
         "</MatrixPoset></x>", COLUMNS, "<MatrixPoset> 'm': \"b\" has no value"),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a' Value='much'/>"
         "<Node ID='2' Name='b' Parents='1' Value='2'/></MatrixPoset></x>", COLUMNS,
         "Value='much' is no number"),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a' Value='x'/></MatrixPoset></x>", COLUMNS,
         "<Node> 'a': Value='x' is no number"),
        ("<x><MatrixPoset Name='m'/></x>", COLUMNS, "'m' has no <Node>"),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a'/><Node ID='1' Name='b'/>"
         "</MatrixPoset></x>", COLUMNS, "the ID '1' to two nodes"),
        ("<x><MatrixPoset Name='m'><Node ID='1' Name='a'/></MatrixPoset>"
         "<SparseMatrixPoset Name='s' MatrixLatticeName='m' Columns='0'/></x>", COLUMNS,
         "<SparseMatrixPoset> 's': Columns "),
        (HIERARCHY, "<t><Column Name='a' Poset='Age' Weight='nan'/></t>",
         "Columns.xml: <Column> 'a': Weight='nan' is no number"),
        (HIERARCHY, "<t><Column Name='a' Poset='Age' Weight='-1'/></t>", "Weight='-1' is below"),
        ("<x><PowerPoset Name='a'/></x>", COLUMNS, "has no Bits"),
        ("<x><DateOfBirthPoset Name='a' AgeRanges='old'/></x>", COLUMNS, "is no list of ages"),
        ("<x><DateOfBirthPoset Name='a' AgeRanges='5' BaseDate='now'/></x>", COLUMNS, "is no date"),
        ("<x><SparseMatrixPoset Name='a' MatrixLatticeName='b'/></x>", COLUMNS, "no MatrixPoset"),
        ("<x><MatrixPoset Name='m'><Node ID='a' Name='x' Parents='b'/></MatrixPoset></x>", COLUMNS,
         "unknown parent 'b'"),
        ("<x><MatrixPoset Name='m' RootNode='z'><Node ID='a' Name='x'/></MatrixPoset></x>", COLUMNS,
         "has the root 'z'"),
        ("<x><MatrixPoset Name='m'><Node ID='a' Name='x'/>"
         "<Node ID='b' Name='x'/></MatrixPoset></x>", COLUMNS, "one name to two nodes"),
        (HIERARCHY, "<t><Column Name='a' Poset='none'/></t>", "does not define"),
        (HIERARCHY, "<t/>", "has no <Column>"),
        (HIERARCHY, "<t><Column Name='a' Poset='Age'/><Column Name='a' Poset='Age'/></t>", "twice"),
    ],
)  # fmt: skip
def test_bad_files_are_refused(tmp_path: Path, hierarchy: str, columns: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        plan_columns(*files(tmp_path, hierarchy, columns))


def test_posets_at_any_depth(tmp_path: Path) -> None:
    deep = 200_000
    inside = "<RangePoset Name='a' LowerBound='0' UpperBound='1e300'/>"
    hierarchy = "<x>" * deep + inside + "</x>" * deep
    text = plan_columns(*files(tmp_path, hierarchy, "<t><Column Name='c' Poset='a'/></t>"))
    poset = Plan.parse(text + '[[steps]]\nuse = "mondrian"\n').columns["c"].poset
    assert poset is not None
    assert poset.parameters() == {"low": 0, "high": 1e300}


def test_a_weight_of_nothing_is_told(tmp_path: Path) -> None:
    columns = "<t><Column Name='c' Poset='Age' Weight='0'/></t>"
    text = plan_columns(*files(tmp_path, columns=columns))
    assert '# Weight 0, which no search takes; they count as others do: "c"' in text
    assert list(Plan.parse(text).columns) == ["c"]


@given(st.text(min_size=1), st.text(min_size=1), st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_printed_is_a_plan(name: str, label: str, high: float) -> None:
    words = {"kind": "partial-order", "parents": {label: ["a" + label]}, "values": {label: high}}
    text = f"{toml_text({name: words})}"
    assert tomllib.loads(f"c = {text}")["c"] == {name: words}


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        plan_columns(tmp_path / "a.xml", tmp_path / "b.xml")
