"""The recount by SQL, beside the criteria, which share no code with it."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.app import run
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.t_closeness import TCloseness
from sfumato.errors import InputError
from sfumato.release.sql_recount import connected, sql_recount


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("name", ['sex "x"', "v", "n", "size", "k1", "here"])
def test_sql_counts_what_the_criteria_count(tmp_path: Path, format: str, name: str) -> None:
    rng = np.random.default_rng(1)
    ill = rng.choice(["flu", "gout", None, "*", 'a "b", c'], 120).tolist()
    people = sf.table(
        {
            "age": [None if a < 22 else int(a) for a in rng.integers(20, 60, 120)],
            name: rng.choice(["f", "m"], 120),
            "ill": ill,
        },
        quasi=["age", name],
        confidential=["ill"],
    )
    steps = "[[steps]]\nuse = 'mondrian'\nk = 4\n"
    plan = sf.Plan.parse(f"{steps}[output]\nformat = '{format}'\nsuppressed = '?'\n")
    release = sf.protect(people, plan, seed=1)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    found = sql_recount(folder)
    shown = release.table
    assert found.records == 120
    assert found.smallest == KAnonymity(k=2).check(shown).value
    few, far = found.confidential["ill"]
    assert few == LDiversity(at_least=1, column="ill").check(shown).value
    t = TCloseness(at_most=1, column="ill", distance="equal").check(shown).value
    assert far == pytest.approx(t, abs=1e-12)


def test_the_command_prints_the_figures_and_the_statements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = sf.table(
        {"age": [1, 1, 2, 2, 2], "ill": list("ababa")}, quasi=["age"], confidential="ill"
    )
    folder = sf.protect(people, sf.method("mondrian", k=2), seed=1).save(
        tmp_path / "out", allow_guessable_seed=True
    )
    with pytest.raises(SystemExit) as ended:
        run(["recount", str(folder), "--sql"])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "k = 2" in said
    assert "GROUP BY" in said
    lone = tmp_path / "lone.csv"
    lone.write_text("age\n1\n")
    with pytest.raises(InputError, match="quasi-identifiers"):
        sql_recount(lone)
    assert sql_recount(lone, quasi=["age"]).smallest == 1
    with pytest.raises(InputError, match="no column 'agee'"):
        sql_recount(lone, quasi=["agee"])
    lone.write_text("age\n")
    with pytest.raises(InputError, match="no records"):
        sql_recount(lone, quasi=["age"])


_ITEMS = st.lists(st.sampled_from(["a", "b", "c d", "*", "", "[x", '"']), max_size=4, unique=True)
_PLAIN = st.lists(st.sampled_from(["a", "b", "c", "-d", "'=e"]), max_size=4)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("items", [_ITEMS, _PLAIN], ids=["awkward", "plain"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_sets_are_counted_item_by_item(
    tmp_path: Path, format: str, items: st.SearchStrategy[list[str]], data: st.DataObject
) -> None:
    some = st.one_of(st.none(), items)
    rows = data.draw(st.lists(st.tuples(some, st.integers(0, 2), some), min_size=1, max_size=14))
    buys, sex, ill = (list(part) for part in zip(*rows, strict=True))
    frame = pl.DataFrame(
        {"buys": buys, "sex": sex, "ill": ill},
        schema={"buys": pl.List(pl.String), "sex": pl.Int64, "ill": pl.List(pl.String)},
    )
    quasi = ["sex", "buys"] if data.draw(st.booleans()) else ["sex"]
    shown = sf.table(frame, quasi=quasi, confidential=["ill"])
    file = tmp_path / f"data.{format}"
    sf.write(shown, file, replace=True)
    columns = [
        {"name": name, "role": role, "kind": kind, "published": True, "generalized": False}
        for name, role, kind in (
            ("buys", "quasi" if "buys" in quasi else "insensitive", "set"),
            ("sex", "quasi", "integer"),
            ("ill", "confidential", "set"),
        )
    ]
    (tmp_path / "evidence.json").write_text(json.dumps({"columns": columns}))
    found = sql_recount(file)
    assert found.smallest == KAnonymity(k=2).check(shown).value
    few, far = found.confidential["ill"]
    assert few == LDiversity(at_least=1, column="ill").check(shown).value
    t = TCloseness(at_most=1, column="ill").check(shown).value
    assert far == pytest.approx(t, abs=1e-12)
    assert found.to_dict()["counted by item"] == ["ill"]


def test_what_is_not_counted_is_said(tmp_path: Path) -> None:
    people = sf.table(
        {"age": [1, 1, 2, 2], "ill": [["a"], ["b"], ["a", "b"], []]},
        quasi=["age"],
        confidential=["ill"],
    )
    rule = {"at-least": 1, "variant": "entropy"}
    require = {"k-anonymity": 2, "l-diversity": rule}
    release = sf.protect(people, sf.method("mondrian", k=2), seed=1, require=require)
    found = sql_recount(release.save(tmp_path / "out", allow_guessable_seed=True))
    assert found.not_counted == ("entropy l-diversity of ill",)
    assert found.confidential["ill"] == (2, 0.0)


def test_categories_are_not_counted_by_sql(tmp_path: Path) -> None:
    people = sf.table(
        {"age": [1, 1, 2, 2], "ill": ["hiv", "flu", "flu", "hiv"]},
        quasi=["age"],
        confidential=["ill"],
    )
    rule = {"at-least": 2, "categories": [["hiv"], ["flu"]]}
    release = sf.protect(people, sf.method("mondrian", k=2), seed=1, require={"l-diversity": rule})
    found = sql_recount(release.save(tmp_path / "out", allow_guessable_seed=True))
    assert found.not_counted == ("category by category l-diversity of ill",)


@pytest.mark.parametrize("format", ["xlsx", "ods", "sav", "dta", "xpt", "arrow", "duckdb"])
def test_other_formats_say_that_sql_does_not_count_them(tmp_path: Path, format: str) -> None:
    people = sf.table({"age": [1, 1, 2, 2]}, quasi=["age"])
    plan = sf.Plan.parse(f"[[steps]]\nuse = 'mondrian'\nk = 2\n[output]\nformat = '{format}'\n")
    folder = sf.protect(people, plan, seed=1).save(tmp_path / "out", allow_guessable_seed=True)
    with pytest.raises(InputError, match="SQL counts CSV, TSV and Parquet") as refused:
        sql_recount(folder)
    assert "parquet" in (refused.value.remedy or "")


def test_ctrl_c_while_duckdb_counts_is_an_interrupt(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), connected(1 << 28, tmp_path, 1):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="another"), connected(1 << 28, tmp_path, 1):
        raise RuntimeError("another")
    assert not list(tmp_path.iterdir())
    many = "SELECT v % 99991 AS v, count(*) AS n FROM range(1000000000) t(v) GROUP BY 1"
    ringing = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    ringing.start()
    with pytest.raises(KeyboardInterrupt), connected(1 << 28, tmp_path, 1) as base:
        base.execute(many)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["csv", "parquet", "parts"])
def test_a_folder_s_name_is_no_pattern(tmp_path: Path, format: str) -> None:
    plan = sf.Plan.parse(f"[[steps]]\nuse = 'mondrian'\nk = 2\n[output]\nformat = '{format}'\n")
    for name, copies in (("out1", 3), ("out[1]", 2), ("out*", 4)):
        people = sf.table({"age": [1, 2, 3] * copies, "x'{0}": [1] * 3 * copies}, others="quasi")
        folder = sf.protect(people, plan, seed=1).save(tmp_path / name, allow_guessable_seed=True)
        assert sql_recount(folder).records == 3 * copies
