"""Who is who from one release to the next: what is not known is not guessed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused

PLAN = (
    "[[steps]]\nuse = 'mondrian'\nk = 5\n"
    "[require]\nexposure = false\nk-anonymity = {k = 5, unit = 'UNIT'}\n"
)


def people(many: int = 40) -> pl.DataFrame:
    """Two ages, two towns, ten people of each pair; sex goes with the town in seven of ten."""
    return pl.DataFrame(
        {
            "no": [f"p{i}" for i in range(many)],
            "age": [30 if i < many // 2 else 60 for i in range(many)],
            "town": [f"t{i // 10 % 2}" for i in range(many)],
            "sex": ["m" if (i % 10 < 7) == (i // 10 % 2 == 0) else "w" for i in range(many)],
            "house": [f"h{i // 5}" for i in range(many)],
            "ill": ["abcd"[i % 4] for i in range(many)],
        }
    )


def protect(frame: pl.DataFrame, *given: Path, unit: str = "person") -> sf.Release:
    quasi = [name for name in ("age", "town", "sex") if name in frame.columns]
    home = {"household": "house"} if "house" in frame.columns else {}
    table = sf.table(frame, person="no", quasi=quasi, confidential=["ill"], **home)
    plan = sf.Plan.parse(PLAN.replace("UNIT", unit))
    return sf.protect(table, plan, seed=2**80, given=given, measures=())


def test_what_the_earlier_release_showed_counts_though_todays_data_leave_it_out(
    tmp_path: Path,
) -> None:
    first = protect(people().drop("sex", "house")).save(tmp_path / "first")
    with pytest.raises(ReleaseRefused, match="joined with first is 3"):
        protect(people().drop("town", "house"), first)


def test_people_without_a_key_are_not_taken_for_one_another(tmp_path: Path) -> None:
    nameless = pl.when(pl.int_range(pl.len()) % 6 == 1).then(None).otherwise(pl.col("no"))
    frame = people().drop("house").with_columns(no=nameless)
    first = protect(frame).save(tmp_path / "first")
    with pytest.raises(ParameterError, match=r"7 records have no no \(row 3\)"):
        protect(frame.reverse(), first)


def test_one_person_with_five_records_who_left_is_one(tmp_path: Path) -> None:
    once = people().drop("house", "sex")
    frame = pl.concat([once, *[once[:1]] * 4])
    first = protect(frame)
    assert first.evidence.findings[0].value == 10  # people, not records
    folder = first.save(tmp_path / "first")
    with pytest.raises(ReleaseRefused, match="joined with first is 1"):
        protect(frame.filter(pl.col("no") != "p0"), folder)


def test_a_household_of_five_that_left_is_not_five_households(tmp_path: Path) -> None:
    frame = people(160).drop("sex", "town")
    folder = protect(frame, unit="household").save(tmp_path / "first")
    with pytest.raises(ReleaseRefused, match="joined with first is 1"):
        protect(frame[5:], folder, unit="household")
