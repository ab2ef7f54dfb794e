"""The room Utility: original beside release, by column, by pair and by any measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import InputError, ParameterError
from sfumato.release.looking.pairs import Pairs, keep_pairs
from sfumato.release.report.words import figure
from sfumato.studio.desk import Desk
from sfumato.studio.rooms import utility
from tests.studio.trials import HOSTILE, PLAN, asked, desk_of, done, people, trial_of


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A plan with a trial."""
    found = desk_of(tmp_path_factory.mktemp("utility"))
    trial_of(found)
    return found


def _pairs(desk: Desk) -> Pairs:
    job = desk.current("protect")
    assert job is not None
    return Pairs(job.folder)


def test_the_table_of_a_pair_is_counted(tmp_path: Path) -> None:
    frame = people()
    table = sf.table(frame.select("sex", "smokes"), quasi=["sex"])
    masked = sf.table(frame.select("sex", pl.lit(True).alias("smokes")), quasi=["sex"])
    keep_pairs(tmp_path, Pair.of(table, masked))
    found = Pairs(tmp_path).table(0, 1)
    assert found.rows == ["f", "m"]
    assert found.columns == ["false", "true"]
    for r, sex in enumerate(("f", "m")):
        for c, smokes in enumerate((False, True)):
            here = frame.filter((pl.col("sex") == sex) & (pl.col("smokes") == smokes)).height
            assert found.before[r, c] == pytest.approx(here / frame.height)
    assert found.after[:, 0].sum() == 0
    assert found.after.sum() == pytest.approx(1)
    moved = sf.measure("marginals", table, masked).value
    assert found.moved == pytest.approx(moved)


def test_pairs_are_those_of_the_measure(desk: Desk) -> None:
    found = _pairs(desk)
    listed = found.moved(100)
    assert listed
    assert listed == sorted(listed, key=lambda one: -one.moved)
    for one in listed:
        single = not any(found.columns[j]["item"] for j in (one.first, one.second))
        if single:
            assert found.table(one.first, one.second).moved == pytest.approx(one.moved)


def test_shares_add_up_whatever_is_put_together(desk: Desk) -> None:
    found = _pairs(desk)
    for i in range(len(found.names)):
        for j in range(i):
            table = found.table(i, j)
            assert table.before.sum() == pytest.approx(1)
            assert table.after.sum() == pytest.approx(1)
            assert table.before.shape == (len(table.rows), len(table.columns))


def test_bins_of_numbers_say_what_they_hold(tmp_path: Path) -> None:
    x = pl.DataFrame({"x": np.arange(100.0), "y": [None, *range(99)]})
    table = sf.table(x, quasi=["x", "y"])
    keep_pairs(tmp_path, Pair.of(table, table))
    found = Pairs(tmp_path).table(0, 1)
    assert found.rows[0].startswith("0 to ")
    assert found.rows[-1].endswith(" to 99")
    assert found.columns[-1] == "missing"
    assert found.before[0, -1] == pytest.approx(0.01)
    assert found.moved == 0


@pytest.mark.parametrize(
    "part", ["columns", "pair", "correlations", "measures", "model", "any", "nonsense"]
)
def test_pages_of_a_trial(desk: Desk, part: str) -> None:
    page = str(utility.ROOM.page(asked(desk, "utility", part=part)))
    assert "notice private" in page
    assert "<b>x" not in page
    assert "style=" not in page


def test_every_published_column_is_drawn(desk: Desk) -> None:
    page = str(utility.ROOM.page(asked(desk, "utility")))
    for name in ("age", "sex", "&lt;b&gt;x", "income", "ill", "smokes"):
        assert f"<strong>{name}</strong>" in page


def test_many_columns_come_page_by_page(tmp_path: Path) -> None:
    names = [f"c{j:02d}" for j in range(30)]
    frame = pl.DataFrame({name: np.arange(60) % (j + 2) for j, name in enumerate(names)})
    lines = [f'{name} = {{ role = "confidential", kind = "integer" }}' for name in names[1:]]
    columns = "\n".join(['c00 = { role = "quasi", kind = "integer" }', *lines])
    plan = '[input]\npath = "people.csv"\n\n[columns]\n' + columns
    plan += '\n\n[[steps]]\nuse = "mondrian"\nk = 2\n\n[require]\nexposure = { at-most = 1.0 }\n'
    found = desk_of(tmp_path, plan + '\n[output]\npath = "release"\n', frame)
    trial_of(found)

    def drawn(**query: object) -> set[str]:
        page = str(utility.ROOM.page(asked(found, "utility", **query)))
        return {name for name in names if f"<strong>{name}</strong>" in page}

    assert drawn() == set(names[:12])
    assert drawn(page=2) == set(names[24:]) == drawn(page=99)
    assert drawn(column=13) == set(names[12:24])


def test_the_correlation_of_two_numbers(desk: Desk) -> None:
    names = _pairs(desk).names
    query = {"a": names.index("income"), "b": names.index("spent")}
    page = str(utility.ROOM.page(asked(desk, "utility", part="pair", **query)))
    frame = people().drop_nulls("income")
    r = np.corrcoef(frame["income"], frame["spent"])[0, 1]
    assert f"correlation was {r:.3f}" in page


def test_odd_pairs_are_no_fault(desk: Desk) -> None:
    for query in ({"a": 0, "b": 0}, {"a": 999, "b": 1}, {"a": "x"}):
        assert utility.ROOM.page(asked(desk, "utility", part="pair", **query))


def test_before_a_trial_it_says_what_to_do(tmp_path: Path) -> None:
    page = str(utility.ROOM.page(asked(desk_of(tmp_path), "utility")))
    assert "Run a trial in Protect" in page


def test_any_measure_by_name(desk: Desk) -> None:
    page = str(utility.ROOM.page(asked(desk, "utility", part="any", name="marginals")))
    assert 'name="p.quantiles"' in page
    trial = desk.current("protect")
    assert trial is not None
    plain = done(desk, "measure", {"trial": trial.name, "name": "marginals", "parameters": {}})
    words = {"trial": trial.name, "name": "marginals", "parameters": {"quantiles": 5}}
    job = done(desk, "measure", words)
    original, release = desk.base / "people.csv", trial.folder / "release"
    again = sf.assess(original, release, plan=desk.path, measures="marginals")["marginals"]
    assert plain.result["value"] == figure("marginals", again.value) != job.result["value"]
    page = str(utility.ROOM.page(asked(desk, "utility", part="any", name="marginals")))
    assert "quantiles = 5" in page
    assert job.result["value"] in page
    assert 'value="5"' in page


def test_measures_are_begun_with_what_was_asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[object, ...]] = []
    monkeypatch.setattr(Desk, "start", lambda self, *a: begun.append(a))
    trial = desk.current("protect")
    assert trial is not None
    act = utility.ROOM.actions["measure"]
    act(asked(desk, "utility", {"name": "marginals", "p.quantiles": "7"}))
    want = {"trial": trial.name, "name": "marginals", "parameters": {"quantiles": 7}}
    assert begun == [("measure", "Measuring marginals", want)]
    with pytest.raises(ParameterError):
        act(asked(desk, "utility", {"name": "marginals", "p.quantiles": "1"}))
    with pytest.raises(InputError):
        act(asked(desk, "utility", {"name": "nonsense"}))


def test_a_model_has_the_target_that_was_chosen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[object, ...]] = []
    monkeypatch.setattr(Desk, "start", lambda self, *a: begun.append(a))
    act = utility.ROOM.actions["measure"]
    page = str(utility.ROOM.page(asked(desk, "utility", part="model")))
    place = page.split(">smokes<")[0].rsplit('value="', 1)[1].rstrip('"')
    act(asked(desk, "utility", {"of": "model", "name": "prediction-loss", "target": place}))
    assert begun[0][2]["parameters"] == {"target": "smokes"}  # type: ignore[index]
    act(asked(desk, "utility", {"of": "model", "name": "analytic-validity", "target": place}))
    assert begun[1][2]["parameters"] == {}  # type: ignore[index]


def test_a_trial_that_is_gone_is_said(desk: Desk) -> None:
    with pytest.raises(InputError, match="not there any more"):
        done(desk, "measure", {"trial": "../../x", "name": "ncp"})


def test_copies_and_nobodys_records(tmp_path: Path) -> None:
    plan = PLAN.replace("k-anonymity = 4", "")
    plan = plan.replace(
        'use = "mondrian"\nk = 4', 'use = "multiple-imputation"\ncolumns = ["income"]\nm = 2'
    )
    found = desk_of(tmp_path, plan)
    trial_of(found)
    assert "2 tables are published together" in str(utility.ROOM.page(asked(found, "utility")))


def test_tables_are_looked_at_elsewhere(tmp_path: Path) -> None:
    plan = '[input]\npath = "people.csv"\n\n[table]\ndimensions = ["sex"]\n'
    page = str(utility.ROOM.page(asked(desk_of(tmp_path, plan), "utility")))
    assert "table with totals" in page


def test_hostile_names_are_text(desk: Desk) -> None:
    assert HOSTILE in _pairs(desk).names
