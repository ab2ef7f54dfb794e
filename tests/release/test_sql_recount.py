"""The recount by SQL, beside the criteria, which share no code with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.l_diversity import LDiversity
from sfumato.criteria.t_closeness import TCloseness
from sfumato.errors import InputError
from sfumato.release.sql_recount import sql_recount


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
    plan = sf.Plan.parse(f"[[steps]]\nuse = 'mondrian'\nk = 4\n[output]\nformat = '{format}'\n")
    release = sf.protect(people, plan, seed=1)
    folder = release.save(tmp_path / "out")
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
    folder = sf.protect(people, sf.method("mondrian", k=2), seed=1).save(tmp_path / "out")
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
