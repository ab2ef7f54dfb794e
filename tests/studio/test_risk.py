"""The room Risk: who is easiest to find, why, and what attacks get."""

from __future__ import annotations

import itertools
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.release.looking.people import PAGE, Found, People, keep_people
from sfumato.release.looking.reasons import reasons
from sfumato.studio.desk import Desk
from sfumato.studio.rooms import risk
from tests.studio.trials import HOSTILE, PLAN, asked, desk_of, done, people, trial_of

QUASI = ["age", "sex", HOSTILE]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A plan with a trial."""
    found = desk_of(tmp_path_factory.mktemp("risk"))
    trial_of(found)
    return found


def _alike() -> list[int]:
    frame = people().with_columns(pl.len().over(QUASI).alias("alike"))
    return frame["alike"].to_list()


def _people(desk: Desk) -> People:
    job = desk.current("protect")
    assert job is not None
    return People(job.folder)


def _every(found: People, **what: object) -> list[tuple[int, int, int]]:
    rows = []
    for first in itertools.count(0, PAGE):
        page = found.page(first, **what)  # type: ignore[arg-type]
        rows += [(one.row, one.before, one.after) for one in page.records]
        if first + PAGE >= page.total:
            return rows
    raise AssertionError


# --- what is kept ---


def test_everybody_is_there_with_the_records_like_them(desk: Desk) -> None:
    rows = _every(_people(desk))
    alike = _alike()
    assert sorted(row for row, _, _ in rows) == list(range(240))
    assert all(before == alike[row] for row, before, _ in rows)
    assert all(after >= 4 for _, _, after in rows)


def test_the_riskiest_come_first(desk: Desk) -> None:
    found = _people(desk)
    risks = [one.risk for one in found.page().records]
    assert risks == sorted(risks, key=lambda one: -(one or 0.0))
    assert risks[0] == pytest.approx(1 / found.page().records[0].after)


def test_values_are_those_of_the_file(desk: Desk) -> None:
    frame = people()
    for one in _people(desk).page().records:
        row = frame.row(one.row, named=True)
        assert one.values == tuple(None if row[n] is None else str(row[n]) for n in QUASI)


def test_alone_only(desk: Desk) -> None:
    rows = _every(_people(desk), alone="before")
    alike = _alike()
    assert {row for row, _, _ in rows} == {i for i, many in enumerate(alike) if many == 1}
    assert _people(desk).page(alone="after").total == 0


def test_a_value_is_looked_for_by_its_place(desk: Desk) -> None:
    found, frame = _people(desk), people()
    place = found.places(1, "m", "")
    assert place is not None
    rows = {row for row, _, _ in _every(found, column=1, values=place)}
    assert rows == set(np.flatnonzero((frame["sex"] == "m").to_numpy()).tolist())
    ages = found.places(0, "20", "25")
    assert ages is not None
    rows = {row for row, _, _ in _every(found, column=0, values=ages)}
    assert rows == set(np.flatnonzero(frame["age"].is_between(20, 25).fill_null(False)).tolist())


def test_a_column_puts_them_in_order(desk: Desk) -> None:
    found = _people(desk)
    ages = [one.values[0] for one in found.page(by="q0", down=True).records]
    known = [int(one) for one in ages if one is not None]
    assert known == sorted(known, reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_reasons_are_those_of_a_search_over_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3 + j, 40) for j in range(5)]
    for place in range(10):
        found = reasons(codes, place)

        def alone(chosen: tuple[int, ...], place: int = place) -> bool:
            same = np.logical_and.reduce([codes[j] == codes[j][place] for j in chosen])
            return int(same.sum()) == 1

        every = [c for k in range(1, 6) for c in itertools.combinations(range(5), k) if alone(c)]
        least = [c for c in every if not any(set(o) < set(c) for o in every)]
        assert sorted(found.sets) == sorted(least)
        for j in range(5):
            rest = [i for i in range(5) if i != j]
            same = np.logical_and.reduce([codes[i] == codes[i][place] for i in rest])
            assert found.without[j] == int(same.sum()) - 1


def test_the_smallest_set_of_the_list_is_among_the_reasons(desk: Desk) -> None:
    found = _people(desk)
    for one in found.page(alone="before").records[:20]:
        why = found.reasons(one.place)
        if one.smallest:
            assert tuple(found.names.index(n) for n in one.smallest) in why.sets
            assert len(one.smallest) == len(why.sets[0])


def test_what_is_published_of_a_record(desk: Desk) -> None:
    job = desk.current("protect")
    assert job is not None
    found = People(job.folder)
    release = pl.read_csv(job.folder / "release" / "data.csv", infer_schema_length=0)
    rows = pl.read_parquet(job.folder / "release.private" / "alignment.parquet")
    at = dict(zip(rows["original_row"].to_list(), rows["published_row"].to_list(), strict=True))
    for one in found.page(by="row").records:
        published = release.row(at[one.row], named=True)
        told = found.published(one.place)
        assert told is not None
        assert [text or "" for text in told] == [published[n] or "" for n in QUASI]


def test_records_of_one_person_are_no_company() -> None:
    age, person = np.array([30, 30, 41]), np.array([0, 0, 1])
    assert reasons([age], 0).alike == 1
    assert reasons([age], 0, person).sets == ((0,),)


def test_dates_sets_and_missing_values_are_kept(tmp_path: Path) -> None:
    table = sf.table(
        pl.DataFrame(
            {
                "born": ["2001-02-03", None, "1999-12-31"],
                "likes": [["b", "a"], ["a", "b"], None],
                "ok": [True, None, False],
            }
        ).with_columns(pl.col("born").str.to_date()),
        quasi=["born", "likes", "ok"],
    )
    keep_people(tmp_path, table, Found())
    found = People(tmp_path)
    texts = {one.row: one.values for one in found.page().records}
    assert texts[0] == ("2001-02-03", "a b", "true")
    assert texts[1] == (None, "a b", None)
    assert texts[2] == ("1999-12-31", None, "false")
    assert found.places(0, "2000-01-01", "") == found.places(0, "2001-02-03", "2001-02-03")
    with pytest.raises(InputError, match="no date"):
        found.places(0, "soon", "")


# --- pages ---


def test_before_a_trial_the_file_can_be_looked_at(tmp_path: Path) -> None:
    found = desk_of(tmp_path)
    page = str(risk.ROOM.page(asked(found, "risk")))
    assert "The file as it is" in page
    assert "risk/assess" in page
    assert "Attacks" not in page
    done(found, "assess", {"suda": True})
    page = str(risk.ROOM.page(asked(found, "risk")))
    assert "How many look alike" in page
    assert "suda" in page
    assert "notice private" in page
    listed = str(risk.ROOM.page(asked(found, "risk", part="people")))
    assert "Alike before" in listed
    assert "Alike after" not in listed


@pytest.mark.parametrize("part", ["overview", "people", "attacks", "nonsense"])
def test_pages_of_a_trial(desk: Desk, part: str) -> None:
    page = str(risk.ROOM.page(asked(desk, "risk", part=part)))
    assert "<b>x" not in page
    assert "<i>n</i>" not in page
    assert "style=" not in page
    if part != "attacks":
        assert "notice private" in page


def test_a_record_says_why(desk: Desk) -> None:
    found = _people(desk)
    one = found.page(alone="before").records[0]
    page = str(risk.ROOM.page(asked(desk, "risk", part="people", record=one.place)))
    assert f"Row {one.row + 1} of the file" in page
    assert "Whoever knows" in page
    assert "&lt;b&gt;x" in page


def test_what_is_typed_stands_in_no_address(desk: Desk) -> None:
    form = {"column": "2", "low": "<i>n</i>"}
    place = risk.ROOM.actions["find"](asked(desk, "risk", form))
    assert place is not None
    assert "i%3E" not in place
    assert "<" not in place
    query = dict(parse_qsl(urlsplit(place).query))
    page = str(risk.ROOM.page(asked(desk, "risk", **query)))
    many = int((people()[HOSTILE] == "<i>n</i>").sum())
    assert f"of {many}" in page
    assert "&lt;i&gt;n&lt;/i&gt;" in page
    with pytest.raises(InputError, match="no record"):
        risk.ROOM.actions["find"](asked(desk, "risk", {"column": "2", "low": "nowhere"}))
    with pytest.raises(InputError, match="no such column"):
        risk.ROOM.actions["find"](asked(desk, "risk", {"column": "9", "low": "x"}))


def test_a_range_is_kept_until_another_column_is_chosen(desk: Desk) -> None:
    query = {"part": "people", "column": 0, "of": 0, "from": 2, "to": 7, "alone": "before"}
    assert "Only where age" in str(risk.ROOM.page(asked(desk, "risk", **query)))
    page = str(risk.ROOM.page(asked(desk, "risk", **{**query, "column": 1})))
    assert "Only where" not in page


def test_odd_queries_are_no_fault(desk: Desk) -> None:
    for query in (
        {"column": "99", "value": "3"},
        {"column": "0", "from": "5", "to": "2"},
        {"column": "0", "value": "99999"},
        {"by": "q99"},
        {"first": "99999999"},
        {"record": "99999999"},
        {"alone": "nobody", "down": "x"},
    ):
        assert risk.ROOM.page(asked(desk, "risk", part="people", **query))


def test_a_changed_plan_is_told(tmp_path: Path) -> None:
    found = desk_of(tmp_path)
    trial_of(found)
    assert "was changed since" not in str(risk.ROOM.page(asked(found, "risk")))
    found.edit("k", lambda text: text.replace("k = 4", "k = 6"))
    assert "was changed since" in str(risk.ROOM.page(asked(found, "risk")))


def test_attacks_are_tried_on_the_trial(desk: Desk) -> None:
    trial = desk.current("protect")
    assert trial is not None
    words = {"trial": trial.name, "attacks": ["homogeneity"], "seconds": 60.0}
    job = done(desk, "attack", words)
    assert [row[0] for row in job.result["beside"]] == ["homogeneity"]
    page = str(risk.ROOM.page(asked(desk, "risk", part="attacks")))
    assert "What attacks got" in page
    assert "not shown" in page
    assert "yours alone" in page


def test_an_attack_that_is_none_is_left_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[object, ...]] = []
    monkeypatch.setattr(Desk, "start", lambda self, *a: begun.append(a))
    trial = desk.current("protect")
    assert trial is not None
    form = {"attacks": ["disco", "evil"], "minutes": "2"}
    risk.ROOM.actions["attack"](asked(desk, "risk", form))
    want = {"trial": trial.name, "attacks": ["disco"], "seconds": 120.0}
    assert begun == [("attack", "Attacking the release", want)]
    with pytest.raises(InputError):
        risk.ROOM.actions["attack"](asked(desk, "risk", {"minutes": "0"}))


# --- other plans ---


def test_nobody_is_singled_out_without_what_others_know(tmp_path: Path) -> None:
    plan = PLAN.replace('role = "quasi"', 'role = "insensitive"').replace("k-anonymity = 4", "")
    plan = plan.replace('use = "mondrian"\nk = 4', 'use = "rank-swap"\ncolumns = ["income"]\np = 5')
    found = desk_of(tmp_path, plan)
    trial_of(found)
    assert "No column is marked" in str(risk.ROOM.page(asked(found, "risk")))
    assert "No column is marked" in str(risk.ROOM.page(asked(found, "risk", part="people")))


def test_nobodys_records(tmp_path: Path) -> None:
    plan = PLAN.replace("k-anonymity = 4", "")
    plan = plan.replace('use = "mondrian"\nk = 4', 'use = "sequential-trees"')
    plan = plan.replace('ill = { role = "confidential"', 'ill = { role = "identifier"')
    found = desk_of(tmp_path, plan)
    trial_of(found)
    assert "are nobody" in str(risk.ROOM.page(asked(found, "risk")))
    page = str(risk.ROOM.page(asked(found, "risk", part="people")))
    assert "stands out in the original" in page
    assert "Alike after" not in page


def test_changed_values_are_judged_by_linkage(tmp_path: Path) -> None:
    plan = PLAN.replace("k-anonymity = 4", "")
    plan = plan.replace('use = "mondrian"\nk = 4', 'use = "rank-swap"\np = 5')
    found = desk_of(tmp_path, plan)
    trial_of(found)
    page = str(risk.ROOM.page(asked(found, "risk", part="people")))
    assert "nearest to it (record linkage)" in page


def test_tables_are_looked_at_elsewhere(tmp_path: Path) -> None:
    plan = '[input]\npath = "people.csv"\n\n[table]\ndimensions = ["sex"]\n'
    page = str(risk.ROOM.page(asked(desk_of(tmp_path, plan), "risk")))
    assert "table with totals" in page
    assert "/tables" in page
